"""A user's own aggregation as a compiled monoid; Numba tells what types its states have."""

from __future__ import annotations

import functools
import types as python_types
from typing import Any

import numpy as np
from numba import from_dtype, njit, types
from numba.core.errors import NumbaError
from numba.core.typing.templates import Signature

from windrow.aggregations.base import Aggregation
from windrow.kernels.compiled_states import Monoid
from windrow.kernels.functions import NotCompilable, NotEmbeddable, embed, first_line
from windrow.kernels.llvm import INNER

_NAMES = ("user_lift", "user_combine", "user_lower", "user_inverse")


def own_monoid(aggregation: Aggregation, dtypes: tuple[str, ...]) -> Monoid:
    """The monoid of the user's functions on values of these types."""
    functions = aggregation.functions or {}
    try:
        text = embed({f"user_{name}": function for name, function in functions.items()})
    except NotEmbeddable as error:
        raise NotCompilable(str(error)) from None
    return _typed(text, dtypes, "inverse" in functions, aggregation.unary_inverse)


@functools.lru_cache(maxsize=256)  # asking Numba takes a tenth of a second
def _typed(text: str, dtypes: tuple[str, ...], invertible: bool, unary: bool) -> Monoid:
    """The monoid of the functions that `text` defines."""
    scope = python_types.ModuleType("windrow_user_functions")
    scope.__dict__["__file__"] = __file__
    exec(text, scope.__dict__)
    lift, combine, lower = (njit(**INNER)(scope.__dict__[name]) for name in _NAMES[:3])
    try:
        state = _returned(lift, tuple(from_dtype(np.dtype(d)) for d in dtypes), "lift")
        for _ in range(4):  # until combine gives back what it takes
            wider = _wider(state, _returned(combine, (state, state), "combine"))
            if wider == state:
                break
            state = wider
        else:
            raise NotCompilable("combine does not return the type of state that it takes")
        answer = _returned(lower, (state,), "lower")
    except NumbaError as error:
        raise NotCompilable(first_line(error)) from None
    fields, outputs = _fields(state, "lift"), _fields(answer, "lower")
    one = not isinstance(state, types.BaseTuple)
    source = _source(text, len(dtypes), one, invertible, unary)
    return Monoid(
        tuple(fields),
        tuple(outputs),
        source,
        minus="minus" if invertible else "",
        columns=len(dtypes),
        error_model="python",
    )


def _source(text: str, columns: int, one: bool, invertible: bool, unary: bool) -> str:
    """The user's functions, and wrappers that make every state a tuple."""
    values = ", ".join(f"x{i}" for i in range(columns))
    a, b, s = ("a[0]", "b[0]", "s[0]") if one else ("a", "b", "s")
    lines = [text, *(f"{name} = inner({name})" for name in _NAMES[:3])]
    bodies = {
        f"unit({values})": f"user_lift({values})",
        "plus(a, b)": f"user_combine({a}, {b})",
    }
    if invertible:
        lines.append("user_inverse = inner(user_inverse)")
        bodies["minus(a, b)"] = f"user_inverse({a}, {b})"
        if unary:
            bodies["minus(a, b)"] = f"user_combine(user_inverse({b}), {a})"
    for head, body in bodies.items():
        lines.append(f"@inner\ndef {head}:\n    return {f'({body},)' if one else body}")
    lines.append(f"@inner\ndef answer(s):\n    return user_lower({s})")
    return "\n".join(lines)


def _returned(function: Any, arguments: tuple[types.Type, ...], name: str) -> types.Type:
    function.compile(arguments)
    signature: Signature = function.overloads[arguments].signature
    return signature.return_type


def _wider(a: Any, b: Any) -> types.Type:
    """The type that both states fit in."""
    if isinstance(a, types.BaseTuple) and isinstance(b, types.BaseTuple) and len(a) == len(b):
        return types.Tuple([_wider(x, y) for x, y in zip(_members(a), _members(b), strict=True)])
    if isinstance(a, types.BaseTuple) or isinstance(b, types.BaseTuple):
        raise NotCompilable(f"lift makes a state of type {a}, combine one of type {b}")
    names = {_scalar(a, "lift"), _scalar(b, "combine")}
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
