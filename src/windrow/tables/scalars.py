"""The operators and functions of expressions, over arrays and scalars of Arrow.

SQL's rules, where Spark's differ from others Spark's: a null makes the result null, AND and OR know
three values, NaN equals itself and is larger than any number, anything divided by 0 is null.
Integers are computed with 64 bits and never wrap around, other numbers as doubles; decimals stay
decimals under + - *. Types that have no meaning for an operator are a `Misfit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.tables.coercion import (
    Misfit,
    alike,
    booleans,
    family,
    floats,
    instants,
    null_like,
    numbers,
    texts,
    types_of,
)

_LARGEST = 9223372036854774784.0  # no double beyond it is an integer of 64 bits


# -- arithmetic ------------------------------------------------------------------------------


def _timely(a: Any, b: Any) -> bool:
    return bool({family(a), family(b)} & {"time", "duration"})


def _moment(value: Any) -> Any:
    """A date as the time at which it begins, a null as a duration, others as they are."""
    if pt.is_date(value.type):
        return pc.cast(value, pa.timestamp("s"))
    return pc.cast(value, pa.duration("us")) if pt.is_null(value.type) else value


def add(a: Any, b: Any) -> Any:
    """a + b: numbers, a time and a duration, two durations."""
    if not _timely(a, b):
        return pc.add_checked(*numbers(a, b))
    kinds = (family(a), family(b))
    if kinds == ("time", "time") or not set(kinds) <= {"time", "duration", "null"}:
        raise Misfit(f"takes numbers, or a time and an INTERVAL, not {types_of((a, b))}")
    return pc.add_checked(_moment(a), _moment(b))


def subtract(a: Any, b: Any) -> Any:
    """a - b: numbers, durations from times, and times from times, which is a duration."""
    if not _timely(a, b):
        return pc.subtract_checked(*numbers(a, b))
    kinds = (family(a), family(b))
    if kinds == ("time", "time"):
        return pc.subtract_checked(*instants(a, b))
    if kinds == ("duration", "time") or not set(kinds) <= {"time", "duration", "null"}:
        raise Misfit(f"takes numbers, two times, or a time and an INTERVAL, not {types_of((a, b))}")
    return pc.subtract_checked(_moment(a), _moment(b))


def multiply(a: Any, b: Any) -> Any:
    """a * b."""
    return pc.multiply_checked(*numbers(a, b))


def divide(a: Any, b: Any) -> Any:
    """a / b as a double; null if b is 0."""
    a, b = floats(a, b)
    return pc.divide(a, _not_zero(b))


def remainder(a: Any, b: Any) -> Any:
    """a % b with the sign of a; null if b is 0."""
    a, b = floats(a, b) if pt.is_decimal(a.type) or pt.is_decimal(b.type) else numbers(a, b)
    b = _not_zero(b)
    with np.errstate(invalid="ignore"):  # of an infinity it is NaN
        result = np.fmod(_numpy(a), _numpy(b))
    if isinstance(a, pa.Scalar) and isinstance(b, pa.Scalar):
        valid = a.is_valid and b.is_valid
        return pa.scalar(result.item() if valid else None, a.type)
    null = pc.or_(pc.is_null(a), pc.is_null(b))
    mask = null.to_numpy(zero_copy_only=False)
    return pa.array(np.broadcast_to(result, mask.shape), a.type, mask=mask)


def _not_zero(value: Any) -> Any:
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), null_like(value.type), value)


def _numpy(value: Any) -> Any:
    """As NumPy has it, 1 for null."""
    if isinstance(value, pa.Scalar):
        return np.asarray(value.as_py() if value.is_valid else 1, value.type.to_pandas_dtype())
    return pc.fill_null(value, pa.scalar(1, value.type)).to_numpy(zero_copy_only=False)


def negate(a: Any) -> Any:
    """-a."""
    return pc.negate_checked(a if family(a) == "duration" else numbers(a)[0])


def absolute(a: Any) -> Any:
    """|a|."""
    return pc.abs_checked(numbers(a)[0])


def rounded(a: Any, digits: int) -> Any:
    """The number with so many digits after the point, halves away from 0."""
    (a,) = numbers(a)
    return pc.round(a, ndigits=digits, round_mode="half_towards_infinity")


def whole(direction: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Floor or ceiling as an integer; null for NaN and for what 64 bits do not hold."""

    def function(a: Any) -> Any:
        (a,) = numbers(a)
        if pt.is_integer(a.type):
            return a
        if pt.is_floating(a.type):
            fits = pc.less_equal(pc.abs(a), pa.scalar(_LARGEST))
            a = pc.if_else(fits, a, null_like(a.type))
        return pc.cast(direction(a), pa.int64())

    return function


def of_float(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of doubles."""
    return lambda *values: function(*floats(*values))


def logarithm(a: Any) -> Any:
    """The natural logarithm; null for 0 and below, as in Spark."""
    (a,) = floats(a)
    return pc.ln(pc.if_else(pc.less_equal(a, pa.scalar(0.0)), null_like(a.type), a))


# -- comparing -------------------------------------------------------------------------------


def equal(a: Any, b: Any) -> Any:
    """a = b; NaN equals NaN."""
    a, b = _comparable(a, b)
    same = pc.equal(a, b)
    return pc.or_(same, pc.and_(pc.is_nan(a), pc.is_nan(b))) if pt.is_floating(a.type) else same


def less(a: Any, b: Any) -> Any:
    """a < b; NaN is larger than any number."""
    a, b = _comparable(a, b)
    below = pc.less(a, b)
    if not pt.is_floating(a.type):
        return below
    return pc.or_(below, pc.and_not(pc.is_nan(b), pc.is_nan(a)))


def _comparable(a: Any, b: Any) -> list[Any]:
    values = alike(a, b)
    return [pc.cast(v, pa.int64()) if pt.is_null(v.type) else v for v in values]


def negated(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The opposite of a comparison."""
    return lambda a, b: pc.invert(test(a, b))


def swapped(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison the other way round."""
    return lambda a, b: test(b, a)


def extreme(better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The value that none is better than, nulls left out: GREATEST and LEAST."""

    def function(*values: Any) -> Any:
        best, *rest = alike(*values)
        for value in rest:
            wins = pc.or_(pc.is_null(best), pc.fill_null(better(value, best), False))
            best = pc.if_else(wins, value, best)
        return best

    return function


# -- logic, nulls, strings, times ------------------------------------------------------------


def both(a: Any, b: Any) -> Any:
    """AND of three values."""
    return pc.and_kleene(*booleans(a, b))


def either(a: Any, b: Any) -> Any:
    """OR of three values."""
    return pc.or_kleene(*booleans(a, b))


def inverted(a: Any) -> Any:
    """NOT."""
    return pc.invert(booleans(a)[0])


def coalesce(*values: Any) -> Any:
    """The first that is not null."""
    return pc.coalesce(*alike(*values))


def null_if(a: Any, b: Any) -> Any:
    """a, or null where it equals b."""
    return pc.if_else(pc.fill_null(equal(a, b), False), null_like(a.type), a)


def joined(*values: Any) -> Any:
    """Strings one after the other; null if one is."""
    strings = texts(*values)
    return pc.binary_join_element_wise(*strings, pa.scalar("", strings[0].type))


def of_text(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of strings."""
    return lambda a: function(texts(a)[0])


def length(a: Any) -> Any:
    """The number of characters."""
    return pc.cast(pc.utf8_length(texts(a)[0]), pa.int64())


def field(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A part of a time: its year, its hour."""

    def part(a: Any) -> Any:
        if family(a) not in ("time", "null"):
            raise Misfit(f"takes times, not {types_of((a,))}")
        a = a if pt.is_timestamp(a.type) else pc.cast(a, pa.timestamp("s"))
        return pc.cast(function(a), pa.int64())

    return part
