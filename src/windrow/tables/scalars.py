"""The operators and functions of expressions, over arrays and scalars of Arrow.

SQL's rules, where Spark's differ from others Spark's: a null makes the result null, AND and OR know
three values, NaN equals itself and is larger than any number, anything divided by 0 is null.
Integers are computed with 64 bits and never wrap around, other numbers as doubles; decimals stay
decimals under + - *. Types that have no meaning for an operator are a `Misfit`.

Every operator says what its operands are brought to (`operands`), and the type of its result is
what it gives for them. Spark is told the same: no engine has types of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.tables.coercion import (
    Misfit,
    addends,
    alike,
    booleans,
    comparable,
    divided,
    floats,
    lengths,
    minuend_and_subtrahend,
    moments,
    null_like,
    numbers,
    roomy,
    signed,
    texts,
)
from windrow.tables.types import MOST_DIGITS, UNITS

_LARGEST = 9223372036854774784.0  # no double beyond it is an integer of 64 bits
_WHOLE = 2.0**54  # no double beyond it has a fraction
_SURE = 1e14  # below, no two numbers with one digit more are the same double
SHORT_SCALE = 6  # digits behind the point that a decimal keeps, whatever it is added to


class Operator:
    """A function of values that are brought to what it takes first.

    >>> Operator(pc.add, numbers)(pa.scalar(1), pa.scalar(0.5)).as_py()
    1.5
    """

    def __init__(self, function: Callable[..., Any], operands: Callable[..., list[Any]]) -> None:
        self.function, self.operands = function, operands

    def __call__(self, *values: Any) -> Any:
        """The result for values of any types, or a `Misfit`."""
        return self.function(*self.operands(*values))


def _over(operands: Callable[..., list[Any]]) -> Callable[[Callable[..., Any]], Operator]:
    return lambda function: Operator(function, operands)


# -- arithmetic ------------------------------------------------------------------------------


@_over(addends)
def add(a: Any, b: Any) -> Any:
    """a + b: numbers, a time and a duration, two durations."""
    return _exact(pc.add_checked, a, b)


@_over(minuend_and_subtrahend)
def subtract(a: Any, b: Any) -> Any:
    """a - b: numbers, durations from times, and times from times, which is a duration."""
    return _exact(pc.subtract_checked, a, b)


@_over(numbers)
def multiply(a: Any, b: Any) -> Any:
    """a * b."""
    return _exact(pc.multiply_checked, a, b)


def _exact(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Sums, differences and products; those of decimals have 38 digits at most, or are refused."""
    if not pt.is_decimal128(a.type) or not pt.is_decimal128(b.type):
        return function(a, b)
    digits, scale = _size(function is pc.multiply_checked, a.type, b.type)
    if digits <= MOST_DIGITS:
        return function(a, b)
    if scale > SHORT_SCALE:
        raise Misfit(
            f"has {digits} digits, {scale} of them behind the point, and a decimal {MOST_DIGITS}: "
            f"CAST to fewer, or to DOUBLE"
        )
    room = 2 * MOST_DIGITS - 1
    a = pc.cast(a, pa.decimal256(a.type.precision, a.type.scale))
    b = pc.cast(b, pa.decimal256(min(b.type.precision, room - a.type.precision), b.type.scale))
    return pc.cast(function(a, b), pa.decimal128(MOST_DIGITS, scale))


def _size(product: bool, a: pa.DataType, b: pa.DataType) -> tuple[int, int]:
    """The digits of a product, or of a sum, and those behind the point: as in SQL."""
    if product:
        return a.precision + b.precision + 1, a.scale + b.scale
    scale = max(a.scale, b.scale)
    return max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale


@_over(floats)
def divide(a: Any, b: Any) -> Any:
    """a / b as a double; null if b is 0."""
    return pc.divide(a, _not_zero(b))


@_over(divided)
def remainder(a: Any, b: Any) -> Any:
    """a % b with the sign of a; null if b is 0."""
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


negate = Operator(pc.negate_checked, signed)
absolute = Operator(pc.abs_checked, numbers)


def rounded(digits: int) -> Operator:
    """The number with so many digits after the point, halves away from 0."""

    def function(a: Any) -> Any:
        if pt.is_floating(a.type):
            return _as_written(a, digits)
        made = pc.round(roomy(a), ndigits=digits, round_mode="half_towards_infinity")
        if pt.is_decimal(a.type):  # 99.99 becomes 100.00
            size = min(MOST_DIGITS, a.type.precision + 1)
            made = pc.cast(made, pa.decimal128(size, a.type.scale))
        return made

    return Operator(function, numbers)


def _as_written(a: Any, digits: int) -> Any:
    """Doubles rounded as they are written: 2.675 is 2.68, though a little less is stored.

    A double is written as a half if it is the one that is nearest to it.
    """
    values = np.atleast_1d(_numpy(a))
    size, step = np.abs(values), 10.0 ** abs(digits)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = size * step if digits >= 0 else size / step
        below = np.floor(scaled)
        half = (2 * below + 1) / (2 * step) if digits >= 0 else (2 * below + 1) * (step / 2)
        above = below + (size >= half)
        made = np.copysign(above / step if digits >= 0 else above * step, values) + 0.0
    made = np.where(scaled < _WHOLE, made, values)  # beyond, no double has so many digits
    for i in np.flatnonzero((scaled >= _SURE) & (scaled < _WHOLE)):
        exact = Decimal(repr(float(values[i])))
        made[i] = float(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    if isinstance(a, pa.Scalar):
        return pa.scalar(made[0].item() if a.is_valid else None, a.type)
    return pa.array(made, a.type, mask=pc.is_null(a).to_numpy(zero_copy_only=False))


def whole(direction: Callable[[Any], Any]) -> Operator:
    """Floor or ceiling as an integer; null for NaN and for what 64 bits do not hold."""

    def function(a: Any) -> Any:
        if pt.is_integer(a.type):
            return a
        if pt.is_floating(a.type):
            fits = pc.less_equal(pc.abs(a), pa.scalar(_LARGEST))
            a = pc.if_else(fits, a, null_like(a.type))
        return pc.cast(direction(roomy(a)), pa.int64())

    return Operator(function, numbers)


def of_float(function: Callable[..., Any]) -> Operator:
    """A function of doubles."""
    return Operator(function, floats)


@_over(floats)
def logarithm(a: Any) -> Any:
    """The natural logarithm; null for 0 and below, as in Spark."""
    return pc.ln(pc.if_else(pc.less_equal(a, pa.scalar(0.0)), null_like(a.type), a))


# -- comparing -------------------------------------------------------------------------------


@_over(comparable)
def equal(a: Any, b: Any) -> Any:
    """a = b; NaN equals NaN."""
    same = pc.equal(a, b)
    return pc.or_(same, pc.and_(pc.is_nan(a), pc.is_nan(b))) if pt.is_floating(a.type) else same


@_over(comparable)
def same(a: Any, b: Any) -> Any:
    """Whether a and b are equal, or both null."""
    return pc.or_(pc.fill_null(equal.function(a, b), False), pc.and_(pc.is_null(a), pc.is_null(b)))


@_over(comparable)
def less(a: Any, b: Any) -> Any:
    """a < b; NaN is larger than any number."""
    below = pc.less(a, b)
    if not pt.is_floating(a.type):
        return below
    return pc.or_(below, pc.and_not(pc.is_nan(b), pc.is_nan(a)))


def negated(test: Operator) -> Operator:
    """The opposite of a comparison."""
    return Operator(lambda a, b: pc.invert(test.function(a, b)), test.operands)


def swapped(test: Operator) -> Operator:
    """A comparison the other way round."""
    return Operator(lambda a, b: test.function(b, a), test.operands)


def extreme(better: Operator) -> Operator:
    """The value that none is better than, nulls left out: GREATEST and LEAST."""

    def function(best: Any, *rest: Any) -> Any:
        for value in rest:
            wins = pc.or_(pc.is_null(best), pc.fill_null(better(value, best), False))
            best = pc.if_else(wins, value, best)
        return best

    return Operator(function, alike)


@_over(comparable)
def one_of(value: Any, *choices: Any) -> Any:
    """Whether a value is among others; null if that depends on a null."""
    found = pa.scalar(False)
    for choice in choices:
        found = pc.or_kleene(found, equal.function(value, choice))
    return found


@_over(comparable)
def between(value: Any, low: Any, high: Any) -> Any:
    """Whether low ≤ value ≤ high."""
    above, below = less.function(value, low), less.function(high, value)
    return pc.and_kleene(pc.invert(above), pc.invert(below))


# -- logic, nulls, strings, times ------------------------------------------------------------


both = Operator(pc.and_kleene, booleans)
either = Operator(pc.or_kleene, booleans)
inverted = Operator(pc.invert, booleans)
coalesce = Operator(pc.coalesce, alike)


def null_if(a: Any, b: Any) -> Any:
    """a, or null where it equals b."""
    return pc.if_else(pc.fill_null(equal(a, b), False), null_like(a.type), a)


@_over(texts)
def joined(*strings: Any) -> Any:
    """Strings one after the other; null if one is."""
    return pc.binary_join_element_wise(*strings, pa.scalar("", strings[0].type))


def of_text(function: Callable[[Any], Any]) -> Operator:
    """A function of strings."""
    return Operator(function, texts)


@_over(texts)
def length(a: Any) -> Any:
    """The number of characters."""
    return pc.cast(pc.utf8_length(a), pa.int64())


def field(function: Callable[[Any], Any]) -> Operator:
    """A part of a time: its year, its hour."""
    return Operator(lambda a: pc.cast(function(a), pa.int64()), moments)


def cut(unit: str) -> Operator:
    """A time as the beginning of its year, week or hour; weeks begin on Mondays."""
    return Operator(lambda a: pc.floor_temporal(a, unit=unit.lower()), moments)


@_over(lengths)
def seconds(a: Any) -> Any:
    """The length of a duration in seconds; that of a time is what went by since 1970."""
    ticks = pc.cast(pc.cast(a, pa.int64()), pa.float64(), safe=False)
    return pc.divide(ticks, pa.scalar(10.0**9 / UNITS[a.type.unit]))
