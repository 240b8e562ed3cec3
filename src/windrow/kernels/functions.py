"""A user's functions, written as the text of a module.

Numba keeps compiled code on disk only for functions of a file, and takes it back only while
that file's text is the same. `embed` therefore writes a user's functions, with all that they
refer to, as Python text that stands on its own: equal functions give equal text in every
process, and a function or a captured constant that changes gives another text.

A lambda's source cannot be cut out of its file reliably, so a function goes in as its bytecode:

    combine = _function('combine', b'...', (), {})       every function, bare, and then
    _bind(combine, {'np': _numpy, 'gcd': _0_gcd}, ())     its own globals and closure

Bare functions come first so that they may refer to each other and to themselves. Each has its
own globals, so two that mean different things by one name do not meet.

The text ends with `CACHEABLE = True`, or False where a function calls itself: Numba (0.68) keeps
code that calls a recursive function, but a process that takes it back from disk crashes.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import marshal
import math
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from windrow.errors import Unsupported

# The modules that Numba compiles calls into. A module of the user's own is refused: what it holds
# can change while the text that imports it stays the same, and old machine code would run.
_MODULES = {"builtins", "cmath", "functools", "math", "numba", "numpy", "operator", "random", "sys"}

# Functions in C whose signature does not say how many arguments an aggregation would give them.
_ARITY: dict[Callable[..., Any], int] = {
    **dict.fromkeys((max, min, math.gcd, math.lcm, math.hypot), 2),
    math.log: 1,
}

_REFUSED = {
    inspect.CO_GENERATOR: "is a generator function",
    inspect.CO_COROUTINE: "is a coroutine function",
    inspect.CO_ASYNC_GENERATOR: "is an asynchronous generator function",
    inspect.CO_VARKEYWORDS: "takes any keyword arguments (**)",
}

_PREAMBLE = """
def _code(code):
    constants = tuple(_code(c) if isinstance(c, _types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=__file__, co_consts=constants)


def _function(name, marshalled, defaults, keyword_defaults):
    code = _code(_marshal.loads(marshalled))
    cells = tuple(_types.CellType() for _ in code.co_freevars)
    names = {"__name__": __name__, "__builtins__": __builtins__}
    function = _types.FunctionType(code, names, name, defaults, cells)
    function.__kwdefaults__ = keyword_defaults or None
    return function


def _bind(function, names, captured):
    function.__globals__.update(names)
    for cell, value in zip(function.__closure__ or (), captured):
        cell.cell_contents = value
"""


class NotCompilable(Exception):
    """Why an aggregation runs in the interpreter."""


class NotEmbeddable(NotCompilable, Unsupported):
    """A function refers to something, or is something, that compiled code cannot hold."""


def embed(functions: Mapping[str, Callable[..., Any]], compiler: str = "numba.njit") -> str:
    """The text of a module part that defines each name as a function equivalent to the given one.

    The functions are not compiled yet, but what they call is: a helper becomes `compiler` of
    itself ("module.function"), with the options it had. Loops that call them may use Numba's cache
    if the text's own constant `CACHEABLE` is true. The text needs `__file__` and `__name__`, and a
    function that calls itself needs its module in `sys.modules`: an imported module has all three.
    Costs time in proportion to the functions' bytecode.

    >>> generated = {"__name__": "generated", "__file__": "generated.py"}
    >>> exec(embed({"combine": lambda a, b: a + b, "lower": float}), generated)
    >>> generated["lower"](generated["combine"](2, 3))
    5.0
    """
    text = _Text(*compiler.rsplit(".", 1))
    for name, function in functions.items():
        text.add(name, function)
    return str(text)


class _Text:
    """The text as it grows: imports, bare functions, and what each of them refers to."""

    def __init__(self, module: str, compiler: str) -> None:
        self.compiler = module, f"{_alias(module)}.{compiler}"
        self.imports = {"marshal", "types"}
        self.definitions: list[str] = []
        self.bindings: list[str] = []
        self.helpers: dict[int, str] = {}  # the name here of each helper, by its id
        self.unfinished: set[int] = set()  # the helpers whose references are being read
        self.recursive = False

    def __str__(self) -> str:
        # Bytes may mean other instructions to another Python, whose text must then be another.
        head = [f"# From the bytecode of {sys.implementation.cache_tag}."]
        head += [f"import {name} as {_alias(name)}" for name in sorted(self.imports)]
        tail = [*self.definitions, *self.bindings, f"CACHEABLE = {not self.recursive}", ""]
        return "\n".join([*head, "", _PREAMBLE, "", *tail])

    def add(self, name: str, function: Callable[..., Any]) -> None:
        """Define `name` as `function`."""
        function = function.py_func if isinstance(function, Dispatcher) else function
        imported = self.imported(function)
        if imported is not None:
            arguments = ", ".join(f"x{i}" for i in range(_arity(name, function)))
            wrapper = f"def {name}({arguments}):\n    return {imported}({arguments})\n\n"
            self.definitions.append(wrapper)
        elif isinstance(function, FunctionType):
            self.definitions.append(f"{name} = {self.bare(name, function, name)}")
            self.bind(name, function, name)
        else:
            raise _refusal(f"{name} is", function)

    def helper(self, function: Any, label: str) -> str:
        """The name here of a function that another one refers to; defined on first use."""
        self.recursive |= id(function) in self.unfinished
        if id(function) not in self.helpers:
            plain, given = function, {}
            if isinstance(function, Dispatcher):
                plain, given = function.py_func, function.targetoptions
            name = f"_{len(self.helpers)}_{plain.__code__.co_name.strip('<>')}"
            self.helpers[id(function)] = name
            self.unfinished.add(id(function))
            module, compiler = self.compiler
            self.imports.add(module)
            arguments = [self.bare(name, plain, label)]
            for option, value in given.items():
                if option != "nopython" and value is not None:
                    text = self.constant(value, f"{label} has for its option {option!r}")
                    arguments.append(f"{option}={text}")
            self.definitions.append(f"{name} = {compiler}({', '.join(arguments)})")
            self.bind(f"{name}.py_func", plain, label)
            self.unfinished.remove(id(function))
        return self.helpers[id(function)]

    def bare(self, name: str, function: FunctionType, label: str) -> str:
        """An expression for `function` without what it refers to; `label` names it in errors."""
        code = function.__code__
        for flag, what in _REFUSED.items():
            if code.co_flags & flag:
                raise NotEmbeddable(f"{label} {what}, which cannot become part of compiled code")
        given = function.__defaults__ or ()
        optional = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        keywords = function.__kwdefaults__ or {}
        text = {
            parameter: self.constant(value, f"{label}'s parameter {parameter!r} defaults to")
            for parameter, value in {**dict(zip(optional, given, strict=True)), **keywords}.items()
        }
        defaults = "".join(f"{text[parameter]}, " for parameter in optional)
        keyword_defaults = "".join(f"{key!r}: {text[key]}, " for key in keywords)
        # Numba's cache tells a file's functions apart by name and line and not by constants, so
        # each has a name of its own. From version 3 on, marshal notes which objects are shared,
        # which varies between processes.
        marshalled = marshal.dumps(_placeless(code).replace(co_name=name, co_qualname=name), 2)
        return f"_function({name!r}, {marshalled!r}, ({defaults}), {{{keyword_defaults}}})"

    def bind(self, target: str, function: FunctionType, label: str) -> None:
        """Give the function called `target` here the globals and the closure of `function`."""
        names, captured = "", ""
        for name in _global_names(function.__code__, label):
            if name in function.__globals__:
                value = function.__globals__[name]
                names += f"{name!r}: {self.reference(name, value, label)}, "
            elif not hasattr(builtins, name):
                raise NotEmbeddable(f"{label} refers to {name!r}, which is not defined")
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                raise NotEmbeddable(f"{label} refers to {name!r}, which is not defined") from None
            captured += f"{self.reference(name, value, label)}, "
        if names or captured:
            self.bindings.append(f"_bind({target}, {{{names}}}, ({captured}))")

    def reference(self, name: str, value: object, label: str) -> str:
        """An expression for what `name` means to the function called `label`."""
        if isinstance(value, FunctionType | Dispatcher) and self.imported(value) is None:
            return self.helper(value, f"{label}'s helper {name}")
        return self.constant(value, f"{label} refers to {name!r},")

    def constant(self, value: Any, referrer: str) -> str:
        """An expression for a value that is not a function; `referrer` begins the error."""
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes):
            return ascii(value)
        if kind is float:
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        if kind is complex:  # its repr loses the sign of a zero
            parts = (self.constant(part, referrer) for part in (value.real, value.imag))
            return f"complex({', '.join(parts)})"
        if kind is tuple:
            return f"({''.join(f'{self.constant(item, referrer)}, ' for item in value)})"
        if isinstance(value, np.generic) and value.dtype.char in "?bhilqBHILQefdFD":
            self.imports.add("numpy")
            return f"_numpy.{value.dtype.name}({self.constant(value.item(), referrer)})"
        if isinstance(value, np.dtype) and value.isbuiltin == 1 and not value.hasobject:
            self.imports.add("numpy")
            return f"_numpy.dtype({value.str!r})"
        imported = self.imported(value)
        if imported is None:
            raise _refusal(referrer, value)
        return imported

    def imported(self, value: Any) -> str | None:
        """An expression that imports `value`, if one of the known modules holds it."""
        name = getattr(value, "__name__", "")
        home = name if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
        module = sys.modules.get(home)
        if home.split(".")[0].lstrip("_") not in _MODULES or module is None:
            return None
        if value is module:
            self.imports.add(home)
            return _alias(home)
        if value is getattr(module, name, None):
            self.imports.add(home)
            return f"{_alias(home)}.{name}"
        return None


def _alias(module: str) -> str:
    return "_" + module.replace(".", "_")


def _arity(name: str, function: Callable[..., Any]) -> int:
    """How many arguments a wrapper of `function` takes."""
    if isinstance(function, np.ufunc):
        return function.nin
    if isinstance(function, type):
        return 1
    if function in _ARITY:
        return _ARITY[function]
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        called = function.__name__
        reason = f"{name} is {called}, which does not say how many arguments it takes"
        raise NotEmbeddable(f"{reason}: write a function that calls {called}") from None
    return sum(p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD for p in parameters)


def _placeless(code: CodeType) -> CodeType:
    """`code` without the place it was written at: every instruction on line 1 of no file."""
    units = len(code.co_code) // 2
    # Each entry of a line table covers up to eight code units: 0xE8 for "a line and no columns",
    # the units less one, and then how far the line is from the last.
    lines = [bytes((0xE8 | min(8, units - start) - 1, 0)) for start in range(0, units, 8)]
    constants = (_placeless(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(
        co_filename="",
        co_firstlineno=1,
        co_linetable=b"".join(lines),
        co_qualname=code.co_name,
        co_consts=tuple(constants),
    )


def _global_names(code: CodeType, label: str) -> dict[str, None]:
    """The names that `code` does not find in itself, in the order of its instructions."""
    names: dict[str, None] = {}
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            names[step.argval] = None
        elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            reason = f"{label} changes the global {step.argval!r}"
            raise NotEmbeddable(f"{reason}, which compiled code cannot do")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _global_names(constant, label)
    return names


def _refusal(referrer: str, value: object) -> NotEmbeddable:
    kind = "class" if isinstance(value, type) else type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    hint = " (import by name what is used of it)" if isinstance(value, ModuleType) else ""
    reason = f"{referrer} {article} {kind}, which cannot become part of compiled code{hint}"
    return NotEmbeddable(reason)


def first_line(error: Exception) -> str:
    """What Numba says is wrong, without where it came across it."""
    lines = [line.strip() for line in str(error).splitlines()]
    useful = [line for line in lines if line and not line.startswith(("Failed in", "-", "During"))]
    return useful[0].partition(". Raised from")[0] if useful else type(error).__name__
