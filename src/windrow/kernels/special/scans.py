"""Running sums within the blocks of a tile, two blocks at a time, in the processor's vectors.

Running sums are a chain of additions, each waiting for the one before, which a vector cannot
shorten. The blocks of a tile have nothing to do with each other, so each of a vector's two lanes
takes a block of its own; values come in and sums go out by transposing two vectors:

        block 0   a₀ a₁    transpose    a₀ b₀     the first of each block
        block 1   b₀ b₁    ────────▶    a₁ b₁     the second: added to the first

The compiler makes no such code of a loop, so it is written as LLVM's instructions on vectors, which
every processor has in some form. The additions are those of `running_sums`, on vectors instead of
numbers: the sums have the same bits. A rolling sum takes 1.3 ns a row instead of 1.6. With four
lanes it is 1.0 in the cache, but 1.9 instead of 1.5 where values come from memory, which such a
tile asks for in larger gulps.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.compiled import inner
from windrow.kernels.special import Array

BLOCK = 64
LANES = 2
TILE = LANES * BLOCK
_ROW = 8  # values that `running_sums` takes at a time

_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_BYTES, _INT32 = ir.IntType(8).as_pointer(), ir.IntType(32)


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


class _Vector:
    """Two numbers of the code that is being written; to add vectors writes an addition."""

    def __init__(self, builder: Any, value: ir.Value) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: _Vector) -> _Vector:
        return _Vector(self.builder, self.builder.fadd(self.value, other.value))

    def beside(self, other: _Vector, chosen: tuple[int, ...]) -> _Vector:
        """Chosen ones of the four numbers of both."""
        mask = ir.Constant(ir.VectorType(_INT32, LANES), list(chosen))
        return _Vector(self.builder, self.builder.shuffle_vector(self.value, other.value, mask))


def _transposed(rows: list[_Vector]) -> list[_Vector]:
    """Two vectors: the first numbers of the two given, and the second ones."""
    a, b = rows
    return [a.beside(b, (0, 2)), a.beside(b, (1, 3))]


def _sums_within_blocks(backwards: bool) -> Any:
    """A compiled function (tile, sums): from the beginning of each block, or from its end."""
    rows = range(0, BLOCK, _ROW)
    order = slice(None, None, -1 if backwards else 1)

    @intrinsic
    def sums_within_blocks(typing_context: Any, tile: Any, sums: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, target = (
                context.make_array(kind)(context, builder, array).data
                for kind, array in zip(signature.args, arguments, strict=True)
            )

            def places(data: ir.Value, row: int) -> list[ir.Value]:
                """Where two values of each block lie, from that of its values on."""
                indices = [ir.Constant(ir.IntType(64), BLOCK * i + row) for i in range(LANES)]
                pointer = _DOUBLES.as_pointer()
                return [builder.bitcast(builder.gep(data, [i]), pointer) for i in indices]

            base = _Vector(builder, ir.Constant(_DOUBLES, [0.0] * LANES))
            for row in rows[order]:
                values: list[_Vector] = []
                for pair in range(row, row + _ROW, LANES):
                    loaded = [builder.load(each, align=8) for each in places(source, pair)]
                    values += _transposed([_Vector(builder, each) for each in loaded])
                totals = running_sums.py_func(tuple(values[order]))
                made = [base + total for total in totals][order]
                base = base + totals[-1]
                for pair in range(0, _ROW, LANES):
                    stored = _transposed(made[pair : pair + LANES])
                    for vector, place in zip(stored, places(target, row + pair), strict=True):
                        builder.store(vector.value, place, align=8)
            return context.get_dummy_value()

        return types.void(tile, sums), generate

    return sums_within_blocks


# Element i of `sums` is the sum from the beginning of i's block to i, or from i to its end. Both
# arrays have TILE numbers, which nothing checks.
prefix_sums = _sums_within_blocks(backwards=False)
suffix_sums = _sums_within_blocks(backwards=True)


@inner
def ask_for_tile(values: Array, first: int) -> None:
    """Have the values of a tile brought into the cache, while others are being computed."""
    for i in range(first, first + TILE, _ROW):
        _ask_for(values, i)  # type: ignore[call-arg]


@intrinsic
def _ask_for(typing_context: Any, array: Any, index: Any) -> Any:
    """Have what lies at `array[index]` brought into the cache; it may lie past the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        place = builder.bitcast(builder.gep(array.data, [index]), _BYTES)
        kind = ir.FunctionType(ir.VoidType(), [_BYTES, _INT32, _INT32, _INT32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], kind)
        to_read, to_stay, data = (ir.Constant(_INT32, flag) for flag in (0, 3, 1))
        builder.call(function, [place, to_read, to_stay, data])
        return context.get_dummy_value()

    return types.void(array, index), generate
