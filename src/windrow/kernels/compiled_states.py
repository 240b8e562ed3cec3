"""States as Numba compiles them: an aggregation's own functions, written into a module.

An aggregation says what its states are (`windrow.aggregations.algebra`); here its functions become
the text of a module, for values of one type. States of rows are compiled already, and a user's
plain functions are asked for their types first.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import types as python_types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import from_dtype, types
from numba.core.typing.templates import Signature

from windrow.aggregations.algebra import Algebra, RowAlgebra, number_type
from windrow.aggregations.base import Aggregation
from windrow.compiled import INNER, own_engine
from windrow.errors import Unsupported
from windrow.kernels import checked, checked_arithmetic, user_functions
from windrow.kernels.checked_arithmetic import exact_float
from windrow.kernels.functions import NotCompilable, embed, first_line
from windrow.kernels.user_functions import user_function


@dataclass(frozen=True)
class Monoid:
    """A state that is a tuple of numbers, as the text of a module.

    `unit`, `plus`, `answer`, `minus` and `defined` are names in `source`; `fields` are the types of
    a state's fields and `outputs` those of the result. `unit` takes as many values as `columns`
    says, and the position of a value behind them if the state is `positioned`.
    """

    fields: tuple[str, ...]
    outputs: tuple[str, ...]
    source: str
    unit: str = "unit"
    plus: str = "plus"
    answer: str = "answer"
    minus: str = ""
    defined: str = ""
    constants: tuple[Any, ...] = ()
    columns: int = 1
    positioned: bool = False
    error_model: str = "numpy"  # what a division by zero does: "python" raises


Compiled = Monoid | RowAlgebra


def compiled_state(
    aggregation: Aggregation, dtypes: Sequence[str], subtracting: bool = False
) -> Compiled | None:
    """The compiled form of the states over columns of such types; None if there is none.

    Types are "int64" or "float64". `subtracting` asks for states that can be subtracted from
    without a trace. `NotCompilable` tells why functions of the user's own cannot be compiled.

    >>> from windrow import Mean
    >>> compiled_state(Mean(), ["float64"]).fields
    ('float64', 'float64', 'int64')
    """
    if aggregation.functions is not None:
        return _own_monoid(aggregation, tuple(dtypes))
    rows = aggregation.rows(dtypes[0])
    if rows is not None:
        return rows
    algebra = aggregation.algebra(dtypes[0], subtracting)
    return None if algebra is None else _monoid(algebra, dtypes[0], aggregation.inputs)


def state_of(aggregation: Aggregation, dtypes: Sequence[str]) -> Compiled:
    """The same, or an error that says that there is none."""
    try:
        compiled = compiled_state(aggregation, dtypes)
    except NotCompilable as error:
        raise Unsupported(f"{aggregation!r} does not compile: {error}") from None
    if compiled is None:
        raise Unsupported(f"{aggregation!r} has no state of numbers that could travel")
    return compiled


@functools.lru_cache(maxsize=256)
def _monoid(algebra: Algebra, dtype: str, columns: int) -> Monoid:
    """The functions of an algebra as a text."""
    functions = {"unit": algebra.unit, "plus": algebra.plus, "answer": algebra.answer}
    for name, function in (("minus", algebra.minus), ("defined", algebra.defined)):
        if function is not None:
            functions[name] = function
    text = embed(functions)
    compiled = [f"{name} = inner({name})" for name in functions if name != "answer"]
    compiled.append("answer = inlined(answer)")  # a call of one with branches takes half of a row
    return Monoid(
        algebra.types(dtype),
        tuple(number_type(kind, dtype) for kind in algebra.outputs),
        "\n".join([text, *compiled]),
        minus="minus" if algebra.minus is not None else "",
        defined="defined" if algebra.defined is not None else "",
        constants=algebra.constants,
        columns=columns,
        positioned=algebra.positioned,
    )


# -- functions of the user's own: Numba tells what types their states have -----------------------

# What compiles the functions that a user's own functions call.
COMPILER = f"{user_function.__module__}.{user_function.__name__}"
_NAMES = ("user_lift", "user_combine", "user_lower", "user_inverse")


def _own_monoid(aggregation: Aggregation, dtypes: tuple[str, ...]) -> Monoid:
    """The monoid of the user's functions on values of these types."""
    functions = aggregation.functions or {}
    try:
        text = embed({f"user_{name}": each for name, each in functions.items()}, COMPILER)
        if not text.rstrip().endswith("CACHEABLE = True"):
            raise NotCompilable("a function calls itself, and compiled code has no limit to that")
    except NotCompilable:
        raise
    except Exception as error:  # of a function that is like no other
        raise NotCompilable(first_line(error)) from error
    found = _known(text, dtypes, "inverse" in functions, aggregation.unary_inverse)
    if isinstance(found, str):
        raise NotCompilable(found)
    return found


@functools.lru_cache(maxsize=256)  # asking Numba takes a tenth of a second
def _known(text: str, dtypes: tuple[str, ...], invertible: bool, unary: bool) -> Monoid | str:
    """The monoid of the functions that `text` defines, or why there is none."""
    try:
        with own_engine():
            return _typed(text, dtypes, invertible, unary)
    except NotCompilable as error:
        return str(error)
    except Exception as error:  # Numba raises what it likes on what it does not know
        return first_line(error)


def _typed(text: str, dtypes: tuple[str, ...], invertible: bool, unary: bool) -> Monoid:
    """The monoid of the functions that `text` defines."""
    scope = python_types.ModuleType("windrow_user_functions")
    scope.__dict__["__file__"] = __file__
    exec(text, scope.__dict__)
    names = _NAMES if invertible else _NAMES[:3]
    lift, combine, lower, *inverse = (
        user_function(scope.__dict__[name], **INNER) for name in names
    )
    state = returned(lift, tuple(from_dtype(np.dtype(d)) for d in dtypes))
    for _ in range(4):  # until combine gives back what it takes
        wider = _wider(state, returned(combine, (state, state)), "combine")
        if wider == state:
            break
        state = wider
    else:
        raise NotCompilable("combine does not return the type of state that it takes")
    answer = returned(lower, (state,))
    for each in inverse:
        if _wider(state, returned(each, (state,) * (1 if unary else 2)), "inverse") != state:
            raise NotCompilable("inverse does not return the type of state that it takes")
    fields, outputs = _fields(state, "lift"), _fields(answer, "lower")
    one = not isinstance(state, types.BaseTuple)
    source = _source(text, len(dtypes), fields, one, invertible, unary)
    return Monoid(
        tuple(fields),
        tuple(outputs),
        source,
        minus="minus" if invertible else "",
        columns=len(dtypes),
        error_model="python",
    )


def _source(
    text: str, columns: int, fields: list[str], one: bool, invertible: bool, unary: bool
) -> str:
    """The user's functions, and wrappers that make every state a tuple."""
    values = ", ".join(f"x{i}" for i in range(columns))
    a, b, s = ("a[0]", "b[0]", "s[0]") if one else ("a", "b", "s")
    lines = [
        text,
        f"# {meaning()}",
        f"from {user_function.__module__} import {user_function.__name__}",
        f"from {exact_float.__module__} import {exact_float.__name__}",
    ]
    bodies = {
        f"unit({values})": f"user_lift({values})",
        "plus(a, b)": f"user_combine({a}, {b})",
    }
    if invertible:
        bodies["minus(a, b)"] = f"user_inverse({a}, {b})"
        if unary:
            bodies["minus(a, b)"] = f"user_combine(user_inverse({b}), {a})"
    names = _NAMES if invertible else _NAMES[:3]
    lines += [f"{name} = {user_function.__name__}({name}, **{INNER})" for name in names]
    parts = ["s" if one else f"s[{i}]" for i in range(len(fields))]
    exact = (
        f"{exact_float.__name__}({part})" if field == "float64" else part
        for part, field in zip(parts, fields, strict=True)
    )
    lines.append(f"@inner\ndef state_of(s):\n    return ({', '.join(exact)},)")
    for head, body in bodies.items():
        lines.append(f"@inner\ndef {head}:\n    return state_of({body})")
    lines.append(f"@inner\ndef answer(s):\n    return user_lower({s})")
    return "\n".join(lines)


@functools.cache
def meaning() -> str:
    """A digest of how a user's functions are compiled: what is kept on disk depends on it."""
    modules = (checked, checked_arithmetic, user_functions)
    texts = map(inspect.getsource, modules)
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def returned(function: Any, arguments: tuple[types.Type, ...]) -> types.Type:
    """The type that a compiled function returns for arguments of such types."""
    function.compile(arguments)
    signature: Signature = function.overloads[arguments].signature
    return signature.return_type


def _wider(a: Any, b: Any, name: str) -> types.Type:
    """The type that both states fit in, of lift and of the function called `name`."""
    if isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple) and len(a) == len(b):
        pairs = zip(_members(a), _members(b), strict=True)
        return types.Tuple([_wider(x, y, name) for x, y in pairs])
    if isinstance(a, types.BaseTuple) or isinstance(b, types.BaseTuple):
        raise NotCompilable(f"lift makes a state of type {a}, {name} one of type {b}")
    names = {_scalar(a, "lift"), _scalar(b, name)}
    wide = next(name for name in ("float64", "int64", "boolean") if name in names)
    return getattr(types, wide)


def _fields(state: Any, name: str) -> list[str]:
    return [_scalar(member, name) for member in _members(state)]


def _members(state: Any) -> tuple[types.Type, ...]:
    return tuple(getattr(state, "types", (state,)))


def _scalar(member: types.Type, name: str) -> str:
    if isinstance(member, types.Float):
        return "float64"
    if isinstance(member, types.Boolean):
        return "boolean"
    if isinstance(member, types.Integer):
        return "int64"
    raise NotCompilable(
        f"{name} returns {member}, and only numbers and flat tuples of them compile"
    )
