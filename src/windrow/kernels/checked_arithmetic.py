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


# What compiled code calls instead of functions and operators of Python.
REPLACED: dict[Any, Callable[..., Any]] = {}


def compiled_only(*originals: Any, **options: Any) -> Callable[..., Any]:
    """Decorate the choice of a function that only compiled code can call, instead of `originals`.

    What is decorated takes the types of the arguments and returns the function that is compiled for
    them, or None if there is none. `options` are those of `numba.extending.overload`.
    """

    def decorate(choose: Any) -> Callable[..., Any]:
        def function(*arguments):
            raise NotImplementedError("only compiled code can call this")

        function.__name__ = function.__qualname__ = choose.__name__
        overload(function, **options)(choose)
        REPLACED.update(dict.fromkeys(originals, function))
        return function

    return decorate


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


def _checked(name: str, plain: Any, *originals: Any) -> Callable[..., Any]:
    """Return the function `plain` for compiled code; of two integers, it raises past int64."""
    instruction = _overflowing(f"s{name}_with_overflow")

    @compiled_only(*originals)
    def chosen(a, b):
        if not (_is_whole(a) and _is_whole(b)):
            return plain

        def checked(a, b):
            result, wrapped = instruction(np.int64(a), np.int64(b))
            if wrapped:
                raise OverflowError("an integer exceeds int64; convert the values to float64")
            return result

        return checked

    return chosen


add = _checked("add", lambda a, b: a + b, operator.add, np.add)
subtract = _checked("sub", lambda a, b: a - b, operator.sub, np.subtract)
multiply = _checked("mul", lambda a, b: a * b, operator.mul, np.multiply)


@compiled_only(operator.neg)
def negative(a):
    """−a."""
    return (lambda a: subtract(0, a)) if _is_whole(a) else (lambda a: -a)


@compiled_only(operator.pos)
def positive(a):
    """+a."""
    return (lambda a: np.int64(a)) if _is_whole(a) else (lambda a: a)


@compiled_only(operator.invert)
def invert(a):
    """~a."""
    return (lambda a: ~np.int64(a)) if _is_whole(a) else None


@compiled_only(operator.abs, abs)
def magnitude(a):
    """abs(a)."""
    if _is_whole(a):
        return lambda a: negative(a) if a < 0 else np.int64(a)
    return (lambda a: abs(a)) if _is_real(a) else None


@compiled_only(operator.lshift)
def shift_left(a, b):
    """a << b."""
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


@compiled_only(operator.rshift)
def shift_right(a, b):
    """a >> b."""
    if not (_is_whole(a) and _is_whole(b)):
        return None

    def shifted(a, b):
        if b < 0:
            raise ValueError("negative shift count")
        return np.int64(a) >> min(np.int64(b), 63)

    return shifted


@compiled_only(math.gcd)
def common_divisor(a, b):
    """math.gcd(a, b)."""
    if not (_is_whole(a) and _is_whole(b)):
        return None
    return lambda a, b: math.gcd(magnitude(a), magnitude(b))


@compiled_only(operator.floordiv)
def floor_divide(a, b):
    """a // b."""
    if _is_whole(a) and _is_whole(b):
        return lambda a, b: negative(a) if b == -1 else np.int64(a) // np.int64(b)
    return (lambda a, b: float(a) // float(b)) if are_numbers(a, b) else None


@compiled_only(operator.mod)
def remainder(a, b):
    """a % b."""
    if _is_whole(a) and _is_whole(b):
        return lambda a, b: np.int64(0) if b == -1 else np.int64(a) % np.int64(b)
    return (lambda a, b: float(a) % float(b)) if are_numbers(a, b) else None


@compiled_only(divmod)
def quotient_and_remainder(a, b):
    """divmod(a, b)."""
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


@compiled_only(operator.truediv)
def divide(a, b):
    """a / b; of integers, the float that is nearest to their quotient."""
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


@compiled_only(operator.pow, pow, prefer_literal=True)
def power(a, b):
    """a ** b."""
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


@compiled_only()
def real_power(a, b):
    """a ** b of floats."""

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


@compiled_only(int, np.int64, math.trunc)
def whole(x):
    """int(x)."""
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


def _to_whole(original: Any, rounded: Any) -> None:
    """Replace a function by one that makes an integer of what a NumPy function has rounded."""

    @compiled_only(original)
    def chosen(x):
        if _is_whole(x):
            return lambda x: np.int64(x)
        return (lambda x: whole(rounded(x))) if _is_real(x) else None


_to_whole(round, np.rint)
_to_whole(math.floor, np.floor)
_to_whole(math.ceil, np.ceil)


@compiled_only()
def exact_float(x):
    """float(x), of a number that is a float."""
    if not _is_whole(x):
        return lambda x: x

    def converted(x):
        if not -_EXACT <= x <= _EXACT:
            raise OverflowError("an integer past 2**53 meets floats; convert the values to float64")
        return float(x)

    return converted


# -- comparisons, exact between integers and floats ----------------------------------------------


@compiled_only()
def _sign_of_difference(i, x):
    """−1, 0 or 1 as the integer i is less than, equal to or greater than the float x, not NaN."""

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
    """Return a comparison by an operator, for compiled code."""
    unequal = symbol is operator.ne

    @compiled_only(symbol)
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

    return chosen


_less, _greater = _comparison(operator.lt), _comparison(operator.gt)
for _other in (operator.eq, operator.ne, operator.le, operator.ge):
    _comparison(_other)


def _extreme(original: Any, before: Any) -> None:
    """Replace a function by one that takes b only if it comes before a, as Python's do."""

    @compiled_only(original)
    def chosen(a, b):
        if (_is_whole(a) and _is_real(b)) or (_is_real(a) and _is_whole(b)):
            return lambda a, b: exact_float(b) if before(b, a) else exact_float(a)
        return lambda a, b: b if before(b, a) else a


_extreme(min, _less)
_extreme(max, _greater)
