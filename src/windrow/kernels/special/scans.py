"""Running sums within blocks of 64 values, in the processor's vectors.

Running sums are a chain of additions, each waiting for the one before. Eight values make two
vectors, and the sums within a vector a tree, in which it is added to itself with its numbers moved:

        a       b       c       d
        a       a+b     c       c+d             the first of each pair added to the second
        a       a+b     a+b+c   a+b+c+d         the second added to the third and the fourth

So the chain has one addition for eight values. The compiler makes no such code of a loop, so it is
written as LLVM's instructions on vectors, which every processor has in some form. The additions are
those of `running_sums`, on vectors instead of numbers: the sums have the same bits. Vectors of 8
take as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.compiled import inner
from windrow.kernels.special import Array
from windrow.vectors import DOUBLE, INT32, INT64, Vectors

BLOCK = 64
_ROW = 8  # values that `running_sums` takes at a time

_LANES = 4
_LONGS = ir.VectorType(INT64, _LANES)
_BYTES = ir.IntType(8).as_pointer()


@inner
def running_sums(x: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sums of the first 1 … 8 of eight values, as a tree; backwards, those of the last.

    1.4 times as fast as one chain of additions, whose latency it hides, 1.7 times as fast as
    vectors with masks, and more exact than the chain.
    """
    s01 = x[0] + x[1]
    s03 = s01 + (x[2] + x[3])
    s45 = x[4] + x[5]
    s47 = s45 + (x[6] + x[7])
    s06 = s03 + (s45 + x[6])
    return x[0], s01, s01 + x[2], s03, s03 + x[4], s03 + s45, s06, s03 + s47


# -- code that is being written ------------------------------------------------------------------


class Code(Vectors):
    """Instructions on vectors of four numbers, and what they are given: numbers or arrays.

    An integer behind an array says from where on it is given: slices of arrays are counted, and
    to count them takes as long as the instructions do.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        super().__init__(context, builder, signature, arguments, _LANES, DOUBLE)
        found: list[ir.Value] = []
        behind_array = False
        for kind, value in zip(signature.args, self.given, strict=True):
            if behind_array and isinstance(kind, types.Integer):
                found[-1] = builder.gep(found[-1], [value])
                behind_array = False
                continue
            behind_array = hasattr(kind, "ndim")
            found.append(value)
        self.given = found

    def pair(self, data: ir.Value, index: int) -> ir.Value:
        """A vector of two numbers."""
        return self.builder.load(self.place(data, index, ir.VectorType(DOUBLE, 2)), align=8)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The sums of the numbers of two vectors."""
        return self.builder.fadd(a, b)

    def shuffled(self, a: ir.Value, b: ir.Value, lanes: tuple[int, ...]) -> ir.Value:
        """Numbers of two vectors: those at places 0 to 3 of the first, 4 to 7 of the second."""
        mask = ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(a, b, mask)

    def whole(self, number: int) -> ir.Value:
        """A constant."""
        return ir.Constant(INT64, number)

    def at_least(self, first: int, least: ir.Value) -> ir.Value:
        """Which of four places, from the first one on, are at least so many."""
        places = ir.Constant(_LONGS, list(range(first, first + _LANES)))
        return self.builder.icmp_signed(">=", places, self.spread(least))

    def sums(self, block: ir.Value, backwards: bool) -> Iterator[tuple[int, Any, Any]]:
        """Of four values at a time: where they are, the sums up to them, and that of the eight."""
        add, moved = self.add, self.moved
        if backwards:
            pairs, halves, last = (1, 4, 3, 4), (2, 2, 4, 4), 0
        else:
            pairs, halves, last = (4, 0, 4, 2), (4, 4, 1, 1), _LANES - 1
        order = slice(None, None, -1 if backwards else 1)
        base = ir.Constant(DOUBLE, 0.0)
        for row in range(0, BLOCK, _ROW)[order]:
            places = [row, row + _LANES][order]
            values = [self.load(block, place) for place in places]
            near, far = (add(each, moved(each, pairs)) for each in values)
            near = add(near, moved(near, halves))
            far = add(add(far, moved(far, halves)), moved(near, (last,) * _LANES))
            bases, base = self.spread(base), add(base, self.number(far, last))
            yield places[0], add(bases, near), base
            yield places[1], add(bases, far), base


def _sums_within_block(backwards: bool) -> Any:
    """A compiled function (values, at, sums, at) over a block, from its beginning or its end."""

    @intrinsic
    def sums_within_block(
        typing_context: Any, values: Any, values_at: Any, sums: Any, sums_at: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder, signature, arguments)
            source, target = code.given
            for place, sums_here, _ in code.sums(source, backwards):
                code.store(sums_here, target, place)
            return context.get_dummy_value()

        return types.void(values, types.int64, sums, types.int64), generate

    return sums_within_block


# Element i of `sums` is the sum from the beginning of the block to i, or from i to its end. Both
# arrays have BLOCK numbers from their places on, which nothing checks.
prefix_sums = _sums_within_block(backwards=False)
suffix_sums = _sums_within_block(backwards=True)


@inner
def ask_for_block(values: Array, first: int) -> None:
    """Have the values of a block brought into the cache, while others are being computed."""
    for i in range(first, first + BLOCK, _ROW):
        _ask_for(values, i)  # type: ignore[call-arg]


@intrinsic
def _ask_for(typing_context: Any, array: Any, index: Any) -> Any:
    """Have what lies at `array[index]` brought into the cache; it may lie past the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        place = builder.bitcast(builder.gep(array.data, [index]), _BYTES)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, INT32, INT32, INT32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
        to_read, to_stay, data = (ir.Constant(INT32, flag) for flag in (0, 3, 1))
        builder.call(function, [place, to_read, to_stay, data])
        return context.get_dummy_value()

    return types.void(array, index), generate
