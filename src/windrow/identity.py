"""Digests of functions: of their code, and of all that the code refers to.

Two functions with the same digest do the same; a function that is changed, or that uses a constant
or another function of the user's that is changed, has another one. By its digest one sees whether a
state that was kept (in a store, in a checkpoint, as machine code on disk) belongs to a function.

    code, constants, defaults, closure
        └─ functions of the user's own modules: the same again
        └─ functions of Python and of installed packages: their names
        └─ objects: their type and their fields
        └─ whatever has an attribute `windrow_identity`: that text

The code is that of Python's interpreter, so another version of Python may see another function. A
name that the user gives instead (`windrow_identity = "spread 2"`) is the same for ever.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from windrow.errors import InvalidArgument

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_INSTALLED = ("site-packages", "dist-packages")
# What a class has that says nothing of what it does.
_ASIDE = frozenset({"__dict__", "__weakref__", "__doc__", "__annotations__", "__firstlineno__"})


def named(function: Any) -> str:
    """Return a function by its name, any other object as it prints, without its address.

    >>> from functools import partial
    >>> named(max), named(partial(max, 2, key=len)), named("v > 3")
    ('max', 'partial(max, 2, key=len)', 'v > 3')
    """
    if isinstance(function, functools.partial):
        arguments = [*map(named, function.args)]
        arguments += [f"{name}={named(value)}" for name, value in function.keywords.items()]
        return f"partial({', '.join([named(function.func), *arguments])})"
    name = getattr(function, "__qualname__", None)
    if name is None and callable(function):
        name = f"{type(function).__qualname__}(…)"
    return str(name or function)


def digest_of(thing: Any, into: str | None = None) -> str:
    """Return a digest of a function, or of any object, in hexadecimal digits.

    The functions of the installed package `into` are looked into, as the user's own are.

    >>> from functools import partial
    >>> digest_of(partial(pow, 2)) == digest_of(partial(pow, 2))
    True
    >>> digest_of(partial(pow, 2)) == digest_of(partial(pow, 3))
    False
    """
    digest = hashlib.sha256()
    _Walk(digest.update, into).add(thing)
    return digest.hexdigest()[:32]


class _Walk:
    """Feeds everything that an object refers to into a digest, always in the same order."""

    def __init__(self, feed: Callable[[bytes], None], into: str | None) -> None:
        self._feed, self._into = feed, into
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no address is used twice

    def add(self, value: Any) -> None:
        if isinstance(value, _PLAIN):
            self._say(f"{type(value).__name__} {value!r}")
            return
        if id(value) in self._seen:
            self._say(f"again {self._seen[id(value)]}")
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        identity = getattr(value, "windrow_identity", None)
        if isinstance(identity, str):
            self._say(f"known as {identity}")
            return
        # a function that Numba compiles, or one that writes machine code for it
        own = getattr(value, "py_func", getattr(value, "_defn", None))
        if isinstance(own, types.FunctionType):
            if self._into is not None:  # its machine code is asked for, not what it means
                self._say(getattr(value, "compiled_with", ""))
            value = own
        match value:
            case tuple() | list():
                self._all(type(value).__name__, value)
            case set() | frozenset():
                digests = sorted(digest_of(item, self._into) for item in value)
                self._all(type(value).__name__, digests)
            case dict() | types.MappingProxyType():
                self._mapping(value)
            case functools.partial():
                self._all("partial", (value.func, value.args, value.keywords))
            case types.MethodType():
                self._all("method", (value.__func__, value.__self__))
            case types.FunctionType():
                self._function(value)
            case types.CodeType():
                self._code(value)
            case type():
                self._class(value)
            case types.ModuleType() | types.BuiltinFunctionType():
                self._named(value)
            case _:
                self._object(value)

    def _say(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self._feed(len(data).to_bytes(8, "little") + data)

    def _all(self, what: str, values: Any) -> None:
        values = list(values)
        self._say(f"{what} {len(values)}")
        for value in values:
            self.add(value)

    # -- kinds of things ----------------------------------------------------------------------

    def _mapping(self, value: Any) -> None:
        self._all(type(value).__name__, (part for item in value.items() for part in item))

    def _named(self, value: Any) -> None:
        self._say(f"named {_name(value)}")

    def _function(self, value: Any) -> None:
        if _is_installed(value.__module__, self._into):
            self._named(value)
            return
        cells = [_content(cell) for cell in value.__closure__ or ()]
        self._all("function", (value.__code__, value.__defaults__, value.__kwdefaults__, cells))
        for name, used in globals_of(value, self._into):
            self._say(name)
            self.add(used)

    def _code(self, code: Any) -> None:
        self._say(f"code {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}")
        self._feed(code.co_code)
        self._all("constants", code.co_consts)
        self._all("names", (*code.co_names, *code.co_varnames, *code.co_freevars))

    def _class(self, value: Any) -> None:
        self._named(value)
        if not _is_installed(value.__module__, self._into):
            self._all("bases", value.__bases__)
            fields = {n: v for n, v in vars(value).items() if n not in _ASIDE}
            self._mapping({n: getattr(v, "__func__", v) for n, v in fields.items()})

    def _array(self, value: Any) -> None:
        if value.dtype.hasobject:
            self._all(f"array {value.shape}", value.ravel().tolist())
        else:
            self._say(f"array {value.dtype.str} {value.shape}")
            self._feed(value.tobytes())

    def _object(self, value: Any) -> None:
        if hasattr(value, "tobytes") and hasattr(value, "dtype"):
            self._array(value)
            return
        if isinstance(value, Callable) and hasattr(value, "__name__"):  # type: ignore[arg-type]
            self._named(value)
            return
        try:
            parts = _parts(value)
        except Exception:
            raise InvalidArgument(
                f"{value!r} has nothing that it could be recognised by after a restart: give it an "
                f"attribute windrow_identity, such as 'rates 1', or the aggregation a name="
            ) from None
        self._all(f"object {_name(type(value))}", parts)


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"


def _parts(value: Any) -> list[Any]:
    """Return what an object is made again from, as pickle does it."""
    reduce = copyreg.dispatch_table.get(type(value))
    reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
    if isinstance(reduced, str):  # the name of something in a module
        return [reduced]
    make, arguments, *rest = reduced
    state, items, entries = [*rest, None, None, None][:3]
    return [make, arguments, state, list(items or ()), list(entries or ())]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet: a function that speaks of itself
        return None


def globals_of(function: Any, into: str | None) -> Iterator[tuple[str, Any]]:
    """Yield names and values that a function's code uses of its module, and of modules there."""
    names = list(dict.fromkeys(_names(function.__code__)))
    known = function.__globals__
    for name in names:
        if name not in known:
            continue
        yield name, known[name]
        module = known[name]
        if isinstance(module, types.ModuleType) and not _is_installed(module.__name__, into):
            yield from ((n, vars(module)[n]) for n in names if n in vars(module))


def _names(code: Any) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


@functools.cache
def _is_installed(module: str | None, into: str | None) -> bool:
    """Whether a module is Python's or an installed package's, which are known by their names."""
    top = (module or "").partition(".")[0]
    if top in ("", "__main__") or (into is not None and top.startswith(into)):
        return False
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return file is not None and any(part in _INSTALLED for part in Path(file).parts)
