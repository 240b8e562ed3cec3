"""Deviations from a reference and their squares, summed within eights of values, in vectors.

As `octets` sums the values of windows, these functions sum d = x − K and d², for a K that the
windows which end in a block, or in an octet, have in common. Octets lie in the lanes of a vector.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from windrow.kernels.special.octets import HALVES, OCTET, Turned, with_places
from windrow.kernels.special.past_cache import written
from windrow.kernels.special.scans import BLOCK

HALF = BLOCK // 2  # rows of four octets


class _Squared(Turned):
    """Instructions on deviations and squares, always as a pair of lists or of numbers."""

    def from_reference(self, values: list[ir.Value], reference: ir.Value) -> list[list[ir.Value]]:
        """d and d² of vectors."""
        d = [self.builder.fsub(each, reference) for each in values]
        return [d, [self.builder.fmul(each, each) for each in d]]

    def total(self, vectors: list[ir.Value]) -> ir.Value:
        """The sum of vectors, as a tree."""
        while len(vectors) > 1:
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [self.add(*pair) for pair in pairs]
        return vectors[0]

    def across(self, vector: ir.Value) -> ir.Value:
        """The sum of the numbers of a vector."""
        for lanes in ((2, 3, 4, 4), (1, 4, 4, 4)):
            vector = self.add(vector, self.moved(vector, lanes))
        return self.number(vector, 0)

    def sides(self, older: ir.Value, newer: list[ir.Value], half: int, reference: ir.Value) -> Any:
        """Of d and of d²: what windows have in two octets, and the sums of the older and newer."""
        made = []
        before = self.from_reference(self.columns(older, half), reference)
        for a, b in zip(before, self.from_reference(newer, reference), strict=True):
            suffixes, prefixes = self.running(a[::-1])[::-1], self.running(b)
            parts = [self.add(*pair) for pair in zip(suffixes, prefixes, strict=True)]
            made.append((parts, suffixes[0], prefixes[-1]))
        return made

    def between(self, found: Any, which: int, mid: ir.Value) -> list[ir.Value]:
        """What lies between the octets of windows, for both halves of a block."""
        older, newer = ([sides[which][i] for sides in found] for i in (1, 2))
        octets = [*older, *newer]  # as in `octets.window_sums`
        threes = [self.next_three(*octets[i : i + 2]) for i in range(3)]
        return [
            self.add(mid, self.add(self.add(threes[i], octets[i + 1]), threes[i + 1]))
            for i in range(2)
        ]

    def around_mean(
        self, totals: list[ir.Value], squares: list[ir.Value], shares: ir.Value
    ) -> list[ir.Value]:
        """M2 = Σd² - (Σd)²/n."""
        product = self.builder.fmul
        return [
            self.builder.fsub(square, product(total, product(total, shares)))
            for total, square in zip(totals, squares, strict=True)
        ]

    def means_less(
        self, totals: list[ir.Value], shares: ir.Value, values: list[ir.Value], reference: ir.Value
    ) -> list[ir.Value]:
        """The means of windows less their last values."""
        return [
            self.add(self.builder.fsub(reference, x), self.builder.fmul(total, shares))
            for total, x in zip(totals, values, strict=True)
        ]

    def store_rows(self, rows: list[ir.Value], into: ir.Value, half: int) -> None:
        """Write eight vectors as the rows of four octets."""
        for first in (0, 4):
            for i, octet in enumerate(self.turned(rows[first : first + 4])):
                self.store(octet, into, half + first + i * OCTET)


@written
def block_moments(typing_context: Any, block: Any, at: Any) -> Any:
    """The mean of a block less its first value, and the sum of squares around the mean."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Squared(context, builder, signature, arguments)
        (source,) = code.given
        first = builder.load(source)
        values = [code.load(source, i) for i in range(0, BLOCK, 4)]
        d = [builder.fsub(each, code.spread(first)) for each in values]
        share = ir.Constant(ir.DoubleType(), 1.0 / BLOCK)
        mean = builder.fmul(code.across(code.total(d)), share)
        d, squares = code.from_reference(d, code.spread(mean))
        rest, m2 = (code.across(code.total(each)) for each in (d, squares))
        m2 = builder.fsub(m2, builder.fmul(builder.fmul(rest, rest), share))
        mean = builder.fadd(mean, builder.fmul(rest, share))
        return context.make_tuple(builder, signature.return_type, [mean, m2])

    return types.UniTuple(types.float64, 2)(block, types.int64), generate


@written
def squares_of_first(typing_context: Any, block: Any, at: Any, count: Any, reference: Any) -> Any:
    """The sums of d and of d² of the first so many values of a block, of fewer than all."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Squared(context, builder, signature, arguments)
        source, number, reference = code.given
        references = code.spread(reference)
        sums = [cgutils.alloca_once_value(builder, code.zero) for _ in range(2)]
        octets = builder.lshr(builder.add(number, code.whole(OCTET - 1)), code.whole(3))
        with cgutils.for_range(builder, octets) as loop:
            place = builder.mul(loop.index, code.whole(OCTET))
            octet, left = builder.gep(source, [place]), builder.sub(number, place)
            for first in (0, 4):
                d = builder.fsub(code.load(octet, first), references)
                d = builder.select(code.at_least(first, left), code.zero, d)
                for each, more in zip(sums, (d, builder.fmul(d, d)), strict=True):
                    builder.store(code.add(builder.load(each), more), each)
        totals = [code.across(builder.load(each)) for each in sums]
        return context.make_tuple(builder, signature.return_type, totals)

    pair = types.UniTuple(types.float64, 2)
    return pair(block, types.int64, types.int64, types.float64), generate


def _windows_of_block(what: str) -> Any:
    """A compiled function for 64 windows that end in a block.

    `older` are the values with which they begin, `newer` those of the block. The sums of d and d²
    of all values between are given, and 1/w. It writes the sums of d and those of d²; or M2, and
    the means less the values of the block if they are asked for.
    """

    @written
    def windows_of_block(
        typing_context: Any, older: Any, older_at: Any, newer: Any, newer_at: Any, into: Any,
        into_at: Any, other: Any, other_at: Any, reference: Any, mid: Any, mid_square: Any,
        share: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = _Squared(context, builder, signature, arguments)
            begin, end, target, other, *numbers = code.given
            references, *mids, shares = map(code.spread, numbers)
            newer = [code.columns(end, half) for half in HALVES]
            found = [
                code.sides(begin, columns, half, references)
                for columns, half in zip(newer, HALVES, strict=True)
            ]
            between = [code.between(found, which, mids[which]) for which in range(2)]
            for i, half in enumerate(HALVES):
                totals, squares = (
                    [code.add(between[which][i], part) for part in found[i][which][0]]
                    for which in range(2)
                )
                if what == "sums":
                    code.store_rows(totals, target, half)
                    code.store_rows(squares, other, half)
                    continue
                code.store_rows(code.around_mean(totals, squares, shares), target, half)
                if what == "M2 and means":
                    means = code.means_less(totals, shares, newer[i], references)
                    code.store_rows(means, other, half)
            return context.get_dummy_value()

        places = with_places((older, newer, into, other))
        return types.void(*places, *[types.float64] * 4), generate

    return windows_of_block


window_m2s = _windows_of_block("M2")
window_m2s_and_means = _windows_of_block("M2 and means")
window_squares = _windows_of_block("sums")


@written
def octet_squares(
    typing_context: Any, older: Any, older_at: Any, newer: Any, newer_at: Any, parts: Any,
    parts_at: Any, octets: Any, octets_at: Any, apart: Any, count: Any,
) -> Any:  # fmt: skip
    """The sums of d and of d² that 32 windows have in the octets where they begin and end.

    Each octet's first value is the reference of the windows that end in it. `parts` are written as
    `put_squares_together` reads them. Of the newer octets are written, so many numbers `apart`:
    the references, the sums of d and of d², then the last values, and the sums of d and of d² of
    the last `count` values, for which those are the references.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Squared(context, builder, signature, arguments)
        begin, end, into, found, apart, count = code.given
        newer = code.columns(end, 0)
        (parts, _, total), (square_parts, _, total_square) = code.sides(begin, newer, 0, newer[0])
        for i, part in enumerate([*parts, *square_parts]):
            code.store(part, into, 4 * i)
        last = []
        for i, each in enumerate(newer[:-1]):
            kept = builder.icmp_signed(">=", code.whole(i), builder.sub(code.whole(OCTET), count))
            last.append(builder.select(kept, builder.fsub(each, newer[-1]), code.zero))
        ends = [
            code.total([*each, code.zero]) for each in (last, [builder.fmul(d, d) for d in last])
        ]
        for i, each in enumerate((newer[0], total, total_square, newer[-1], *ends)):
            code.store(each, found, builder.mul(apart, code.whole(i)))
        return context.get_dummy_value()

    places = with_places((older, newer, parts, octets))
    return types.void(*places, types.int64, types.int64), generate


def _put_together(with_means: bool) -> Any:
    """A compiled function for M2 of 32 windows, from what `octet_squares` wrote.

    Between the octets of a window lie `octets` others, and before these the end of one, of `count`
    values. What is known of them is moved to the reference of the windows. `share` is 1/w. Means
    are less the last value of a window, one of `newer`.
    """

    @written
    def put_together(
        typing_context: Any, parts: Any, parts_at: Any, found: Any, found_at: Any, newer: Any,
        newer_at: Any, out: Any, out_at: Any, means: Any, means_at: Any, apart: Any, octets: Any,
        count: Any, share: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = _Squared(context, builder, signature, arguments)
            source, found, newer, target, other, apart, octets, count, share = code.given
            references = code.load(found, 0)
            between = [cgutils.alloca_once_value(builder, code.zero) for _ in range(2)]

            def move(first: int, back: ir.Value, n: ir.Value) -> None:
                """Add so many values of the octet that is so far back."""
                fields = (builder.mul(apart, code.whole(first + i)) for i in range(3))
                at, total, square = (code.load(found, builder.sub(i, back)) for i in fields)
                away = builder.fsub(at, references)
                moved = builder.fmul(n, away)
                twice = code.add(code.add(total, total), moved)
                more = code.add(total, moved), code.add(square, builder.fmul(away, twice))
                for each, added in zip(between, more, strict=True):
                    builder.store(code.add(builder.load(each), added), each)

            with cgutils.for_range(builder, octets) as loop:
                back = builder.add(loop.index, code.whole(1))
                move(0, back, ir.Constant(code.type, [float(OCTET)] * 4))
            with builder.if_then(builder.icmp_signed(">", count, code.whole(0))):
                n = code.spread(builder.sitofp(count, ir.DoubleType()))
                move(3, builder.add(octets, code.whole(1)), n)
            totals, squares = (
                [
                    code.add(builder.load(each), code.load(source, first + 4 * i))
                    for i in range(OCTET)
                ]
                for each, first in zip(between, (0, HALF), strict=True)
            )
            shares = code.spread(share)
            code.store_rows(code.around_mean(totals, squares, shares), target, 0)
            if with_means:
                means = code.means_less(totals, shares, code.columns(newer, 0), references)
                code.store_rows(means, other, 0)
            return context.get_dummy_value()

        places = with_places((parts, found, newer, out, means))
        return types.void(*places, *[types.int64] * 3, types.float64), generate

    return put_together


put_squares_together = _put_together(with_means=False)
put_squares_and_means_together = _put_together(with_means=True)
