"""Python's arithmetic for compiled code: integers that never wrap, and conversions that are exact.

Numba's integers have 64 bits and wrap, and its `int` of a NaN is some number. Each function here
does what Python does, or raises where compiled code cannot.
"""

# What Numba compiles has no annotations: its types come from the arguments.
# mypy: disable-error-code="no-untyped-def, misc, operator"

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

_EXACT = 2**53  # every integer up to here is a float


def _is_whole(kind: Any) -> bool:
    return isinstance(kind, types.Integer | types.Boolean)


def _is_real(kind: Any) -> bool:
    return isinstance(kind, types.Float)


def are_numbers(*kinds: Any) -> bool:
    """Whether these types of Numba are integers or floats."""
    return all(_is_whole(kind) or _is_real(kind) for kind in kinds)


# -- integers that do not wrap -------------------------------------------------------------------


def _overflowing(name: str) -> Any:
    """An intrinsic for int64: the result of an instruction, and whether it overflowed."""

    @intrinsic
    def operation(context, a, b):
        returned = types.Tuple((types.int64, types.boolean))

        def generate(context, builder, signature, arguments):
            pair = getattr(builder, name)(*arguments)
            parts = [builder.extract_value(pair, i) for i in range(2)]
            return context.make_tuple(builder, signature.return_type, parts)

        return returned(types.int64, types.int64), generate

    return operation


_add, _subtract, _multiply = map(
    _overflowing, ("sadd_with_overflow", "ssub_with_overflow", "smul_with_overflow")
)


def add(a, b):
    """a + b."""
    return a + b


def subtract(a, b):
    """a − b."""
    return a - b


def multiply(a, b):
    """a · b."""
    return a * b


def _checked(function: Any, instruction: Any, plain: Any) -> None:
    """Let compiled code raise where `function` of two integers exceeds int64."""

    @overload(function)
    def chosen(a, b):
        if not (_is_whole(a) and _is_whole(b)):
            return plain

        def checked(a, b):
            result, wrapped = instruction(np.int64(a), np.int64(b))
            if wrapped:
                raise OverflowError("an integer exceeds int64; convert the values to float64")
            return result

        return checked


_checked(add, _add, lambda a, b: a + b)
_checked(subtract, _subtract, lambda a, b: a - b)
_checked(multiply, _multiply, lambda a, b: a * b)


def negative(a):
    """−a."""
    return -a


@overload(negative)
def _negative(a):
    return (lambda a: subtract(0, a)) if _is_whole(a) else (lambda a: -a)


def positive(a):
    """+a."""
    return +a


@overload(positive)
def _positive(a):
    return (lambda a: np.int64(a)) if _is_whole(a) else (lambda a: a)


def invert(a):
    """~a."""
    return ~a


@overload(invert)
def _invert(a):
    return (lambda a: ~np.int64(a)) if _is_whole(a) else None


def magnitude(a):
    """abs(a)."""
    return abs(a)


@overload(magnitude)
def _magnitude(a):
    if _is_whole(a):
        return lambda a: negative(a) if a < 0 else np.int64(a)
    return (lambda a: abs(a)) if _is_real(a) else None


def shift_left(a, b):
    """a << b."""
    return a << b


@overload(shift_left)
def _shift_left(a, b):
    if not (_is_whole(a) and _is_whole(b)):
        return None

    def shifted(a, b):
        value, by = np.int64(a), np.int64(b)
        if by < 0:
            raise ValueError("negative shift count")
        result = value << min(by, 62)
        if (by > 62 and value != 0) or (result >> min(by, 62)) != value:
            raise OverflowError("an integer exceeds int64; convert the values to float64")
        return result

    return shifted


def shift_right(a, b):
    """a >> b."""
    return a >> b


@overload(shift_right)
def _shift_right(a, b):
    if not (_is_whole(a) and _is_whole(b)):
        return None

    def shifted(a, b):
        if b < 0:
            raise ValueError("negative shift count")
        return np.int64(a) >> min(np.int64(b), 63)

    return shifted


def common_divisor(a, b):
    """math.gcd(a, b)."""
    return math.gcd(a, b)


@overload(common_divisor)
def _common_divisor(a, b):
    if not (_is_whole(a) and _is_whole(b)):
        return None
    return lambda a, b: math.gcd(magnitude(a), magnitude(b))


def floor_divide(a, b):
    """a // b."""
    return a // b


@overload(floor_divide)
def _floor_divide(a, b):
    if _is_whole(a) and _is_whole(b):
        return lambda a, b: negative(a) if b == -1 else np.int64(a) // np.int64(b)
    return (lambda a, b: float(a) // float(b)) if are_numbers(a, b) else None


def remainder(a, b):
    """a % b."""
    return a % b


@overload(remainder)
def _remainder(a, b):
    if _is_whole(a) and _is_whole(b):
        return lambda a, b: np.int64(0) if b == -1 else np.int64(a) % np.int64(b)
    return (lambda a, b: float(a) % float(b)) if are_numbers(a, b) else None


def quotient_and_remainder(a, b):
    """divmod(a, b)."""
    return divmod(a, b)


@overload(quotient_and_remainder)
def _quotient_and_remainder(a, b):
    if not are_numbers(a, b):
        return None
    return lambda a, b: (floor_divide(a, b), remainder(a, b))


@njit
def _rest_of_product(a, b, product):
    """What rounding took from the product of two floats (Dekker)."""
    scaled_a, scaled_b = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def divide(a, b):
    """a / b; of integers, the float that is nearest to their quotient."""
    return a / b


@overload(divide)
def _divide(a, b):
    if not are_numbers(a, b):
        return None
    if not (_is_whole(a) and _is_whole(b)):
        return lambda a, b: float(a) / float(b)

    def divided(a, b):
        x, y = np.int64(a), np.int64(b)
        if -_EXACT <= x <= _EXACT and -_EXACT <= y <= _EXACT:
            return float(x) / float(y)
        # A first quotient, and what it leaves of x: each is a high part of 53 bits and a low one.
        first = float(x) / float(y)
        x_high, y_high = float(x >> 11 << 11), float(y >> 11 << 11)
        x_low, y_low = float(x & 2047), float(y & 2047)
        product = first * y_high
        left = (x_high - product) - _rest_of_product(first, y_high, product)
        left += x_low - first * y_low
        return first + left / float(y)

    return divided


def power(a, b):
    """a ** b."""
    return a**b


@overload(power, prefer_literal=True)
def _power(a, b):
    if not are_numbers(a, b):
        return None
    if not (_is_whole(a) and _is_whole(b)):
        return lambda a, b: real_power(float(a), float(b))
    if isinstance(b, types.IntegerLiteral) and b.literal_value < 0:
        return lambda a, b: real_power(float(a), float(b))

    def raised(a, b):
        base, left = np.int64(a), np.int64(b)
        if left < 0:
            raise ValueError("a negative power of an integer is a float: write float(x) ** y")
        result = np.int64(1)
        while left > 0:
            if left & 1:
                result = multiply(result, base)
            left >>= 1
            if left > 0:
                base = multiply(base, base)
        return result

    return raised


def real_power(a, b):
    """a ** b of floats."""
    return a**b


@overload(real_power)
def _real_power(a, b):
    def raised(a, b):
        if a == 0.0 and b < 0.0:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        if a < 0.0 and math.isfinite(a) and math.isfinite(b) and b != math.floor(b):
            raise ValueError("a root of a negative number is complex")
        result = math.pow(a, b)
        if math.isinf(result) and math.isfinite(a) and math.isfinite(b):
            raise OverflowError("a power exceeds the largest float")
        return result

    return raised


# -- from floats to integers, and between them ---------------------------------------------------


def whole(x):
    """int(x)."""
    return int(x)


@overload(whole)
def _whole(x):
    if _is_whole(x):
        return lambda x: np.int64(x)
    if not _is_real(x):
        return None

    def converted(x):
        if x != x:
            raise ValueError("cannot convert float NaN to integer")
        if not -9223372036854775808.0 <= x < 9223372036854775808.0:
            raise OverflowError("a float exceeds int64")
        return np.int64(x)

    return converted


def nearest(x):
    """round(x)."""
    return round(x)


def lower_whole(x):
    """math.floor(x)."""
    return math.floor(x)


def upper_whole(x):
    """math.ceil(x)."""
    return math.ceil(x)


def _to_whole(function: Any, rounded: Any) -> None:
    """Let compiled code convert to an integer what a NumPy function has rounded."""

    @overload(function)
    def chosen(x):
        if _is_whole(x):
            return lambda x: np.int64(x)
        return (lambda x: whole(rounded(x))) if _is_real(x) else None


_to_whole(nearest, np.rint)
_to_whole(lower_whole, np.floor)
_to_whole(upper_whole, np.ceil)


def exact_float(x):
    """float(x), of a number that is a float."""
    return float(x)


@overload(exact_float)
def _exact_float(x):
    if not _is_whole(x):
        return lambda x: x

    def converted(x):
        if not -_EXACT <= x <= _EXACT:
            raise OverflowError("an integer past 2**53 meets floats; convert the values to float64")
        return float(x)

    return converted


# -- comparisons, exact between integers and floats ----------------------------------------------


def _sign_of_difference(i, x):
    """−1, 0 or 1 as the integer i is less than, equal to or greater than the float x, not NaN."""


@overload(_sign_of_difference)
def _compared(i, x):
    def sign(i, x):
        if -_EXACT <= i <= _EXACT:
            near = float(i)
            return 1 if near > x else -1 if near < x else 0
        if x >= 9223372036854775808.0:
            return -1
        if x < -9223372036854775808.0:
            return 1
        floor = np.int64(x)  # an integer past 2**53 equals no float that has a fraction
        return 1 if i > floor else -1 if i < floor else 0

    return sign


def _comparison(symbol: Any) -> Callable[..., Any]:
    """A comparison by an operator, for compiled code."""

    def compared(a, b):
        return symbol(a, b)

    unequal = symbol is operator.ne

    @overload(compared)
    def chosen(a, b):
        if _is_whole(a) and _is_real(b):
            return lambda a, b: (
                symbol(_sign_of_difference(np.int64(a), b), 0) if b == b else unequal
            )
        if _is_real(a) and _is_whole(b):
            return lambda a, b: (
                symbol(0, _sign_of_difference(np.int64(b), a)) if a == a else unequal
            )
        return lambda a, b: symbol(a, b)

    return compared


COMPARISONS = {
    symbol: _comparison(symbol)
    for symbol in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
}
_less, _greater = COMPARISONS[operator.lt], COMPARISONS[operator.gt]


def smaller(a, b):
    """min(a, b)."""
    return min(a, b)


def larger(a, b):
    """max(a, b)."""
    return max(a, b)


def _extreme(function: Any, before: Any) -> None:
    """Let compiled code take b only if it comes before a, as Python does."""

    @overload(function)
    def chosen(a, b):
        if (_is_whole(a) and _is_real(b)) or (_is_real(a) and _is_whole(b)):
            return lambda a, b: exact_float(b) if before(b, a) else exact_float(a)
        return lambda a, b: b if before(b, a) else a


_extreme(smaller, _less)
_extreme(larger, _greater)
