"""The edges of eight rows at once, among the next sixteen times.

    at          … 5 7 8 8 9 12 15 …      the times from `first` on, sixteen of them
    edges         6 6 8 9 9 9 10 13      the times of eight rows, moved back
    out         first + 1 1 2 4 4 4 5 6  how many of the sixteen are older than each edge

Each of the sixteen is compared with all eight edges by one instruction. Where the eight edges lie
further apart than sixteen times, this is not for them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.vectors import DOUBLE, INT64, Vectors

ROWS, NEXT = 8, 16
# No edge of eight rows is mostly further than so many of the next times: the others are then not
# compared.
_MOSTLY = 12


class _Times(Vectors):
    """Instructions on vectors of eight times, which are whole numbers or floats."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.floating = isinstance(signature.args[0].dtype, types.Float)
        item = DOUBLE if self.floating else INT64
        super().__init__(context, builder, signature, arguments, ROWS, item)

    def less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        if self.floating:
            return self.builder.fcmp_ordered("<", a, b)
        return self.builder.icmp_signed("<", a, b)

    def moved_by(self, times: ir.Value, shift: ir.Value, ends: list[ir.Value]) -> ir.Value:
        """Return the times + shift, held between the ends of the type as in `bounds._moved`."""
        add = self.builder.fadd if self.floating else self.builder.add
        first, last, before, behind = map(self.spread, ends)
        moved = add(times, self.spread(shift))
        moved = self.builder.select(self.less(behind, times), last, moved)
        return self.builder.select(self.less(times, before), first, moved)

    def older(self, times: ir.Value, edges: ir.Value, keep: ir.Value) -> ir.Value:
        """Return which times lie before their edges, or at them if these are not to be kept."""
        before = self.less(times, edges)
        if not self.floating:
            return before
        drop = self.spread(self.builder.icmp_signed("==", keep, ir.Constant(keep.type, 0)))
        at_edge = self.builder.fcmp_ordered("==", times, edges)
        return self.builder.or_(before, self.builder.and_(at_edge, drop))


@intrinsic
def fill_eight_edges(
    typing_context: Any, at: Any, row: Any, first: Any, shift: Any, ends: Any, keep: Any, out: Any
) -> Any:
    """Write the edges of the rows `row` … `row` + 7: positions, none of which is before `first`.

    It returns the last of them, found by itself so that the next eight rows need not wait for the
    others. Nothing checks that the arrays are as long.
    """
    assert out.dtype == types.int64

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Times(context, builder, signature, arguments)
        at, row, first, shift, ends, keep, out = code.given
        limits = [builder.extract_value(ends, i) for i in range(4)]
        edges = code.moved_by(code.load(at, row), shift, limits)
        counts = [code.spread(first), ir.Constant(ir.VectorType(INT64, ROWS), None)]
        one = code.spread(ir.Constant(INT64, 1))
        following = builder.gep(at, [first])

        def count(begin: int, end: int) -> None:
            for i in range(begin, end):
                time = code.spread(builder.load(builder.gep(following, [ir.Constant(INT64, i)])))
                more = builder.add(counts[i % 2], one)
                counts[i % 2] = builder.select(code.older(time, edges, keep), more, counts[i % 2])
            code.store(builder.add(*counts), out, row)

        furthest, last = code.spread(code.number(edges, ROWS - 1)), first
        for i in range(0, NEXT, ROWS):
            older = code.older(code.load(following, i), furthest, keep)
            count_older = builder.ctpop(builder.bitcast(older, ir.IntType(ROWS)))
            last = builder.add(last, builder.zext(count_older, INT64))
        count(0, _MOSTLY)
        beyond = builder.icmp_signed(">", last, builder.add(first, ir.Constant(INT64, _MOSTLY)))
        with builder.if_then(beyond, likely=False):
            count(_MOSTLY, NEXT)
        return last

    kind = at.dtype
    four = types.UniTuple(kind, 4)  # type: ignore[no-untyped-call]
    taken = (at, types.int64, types.int64, kind, four, types.boolean, out)
    return types.int64(*taken), generate
