"""Running maxima of keys, eight at a time, in the processor's vectors.

A vector is compared with itself, its numbers moved by one place, by two and by four, so the chain
of maxima, each waiting for the one before, has one of them for eight keys.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.compiled import inner
from windrow.kernels.special import Array
from windrow.kernels.special.minmax import LOWEST, Order, key_of
from windrow.vectors import INT64, Vectors

_LANES = 8


def _maxima_of_eight(backwards: bool) -> Any:
    """A compiled function (keys, first, highest) that makes eight keys running maxima, in place.

    They begin with `highest`; the last of them is returned.
    """
    end = _LANES - 1
    last = 0 if backwards else end

    @intrinsic
    def maxima_of_eight(typing_context: Any, keys: Any, first: Any, highest: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Vectors(context, builder, signature, arguments, _LANES, INT64)
            keys, first, highest = code.given

            def maximum(a: ir.Value, b: ir.Value) -> ir.Value:
                return builder.select(builder.icmp_signed(">", a, b), a, b)

            found = code.load(keys, first)
            for by in (1, 2, 4):
                at = range(by, by + _LANES) if backwards else range(-by, _LANES - by)
                found = maximum(found, code.moved(found, [min(max(i, 0), end) for i in at]))
            code.store(maximum(found, code.spread(highest)), keys, first)
            return maximum(code.number(found, last), highest)

        return types.int64(keys, types.int64, types.int64), generate

    return maxima_of_eight


_maxima_up_to = _maxima_of_eight(backwards=False)
_maxima_from = _maxima_of_eight(backwards=True)


@inner
def suffix_maxima(bits: Array, order: Order, into: Array) -> None:
    """into[j] is the highest key from j on; the lowest of all behind the end."""
    for j in range(bits.size):
        into[j] = key_of(bits[j], order)
    highest = LOWEST
    into[bits.size] = highest
    left = bits.size % _LANES
    for j in range(bits.size - _LANES, left - 1, -_LANES):
        highest = _maxima_from(into, j, highest)
    for j in range(left - 1, -1, -1):
        highest = max(highest, into[j])
        into[j] = highest


@inner
def prefix_maxima(bits: Array, order: Order, into: Array) -> None:
    """into[j] is the highest key before j; the lowest of all for none."""
    into[0] = LOWEST
    rest = into[1:]
    for j in range(bits.size):
        rest[j] = key_of(bits[j], order)
    highest = LOWEST
    whole = bits.size - bits.size % _LANES
    for j in range(0, whole, _LANES):
        highest = _maxima_up_to(rest, j, highest)
    for j in range(whole, bits.size):
        highest = max(highest, rest[j])
        rest[j] = highest
