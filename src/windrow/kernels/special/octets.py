"""Sums of windows within eights of values, in the processor's vectors.

Eight rows are an octet, and eight octets a block. Windows that end in an octet begin in another
one, w−1 rows before: the sums of what they have in these two are running sums, forwards in the
newer octet and backwards in the older one. All octets of a block are summed at once, one in each
lane of a vector, so no addition waits for the lane beside it:

        rows of a block            lanes
        a₀ a₁ a₂ … a₇              a₀ b₀ c₀ d₀         b₀+b₁+b₂ and so on are sums of
        b₀ b₁ b₂ … b₇      →       a₁ b₁ c₁ d₁         vectors, one below the other
        c₀ c₁ c₂ … c₇              a₂ b₂ c₂ d₂
        d₀ d₁ d₂ … d₇              …

The compiler makes no such code of a loop, so it is written as LLVM's instructions on vectors of
four, which every processor has in some form. Vectors of eight take longer to turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from windrow.kernels.special.past_cache import written
from windrow.kernels.special.scans import BLOCK, Code

OCTET = 8
HALVES = (0, BLOCK // 2)  # where the octets of four lanes begin


class Turned(Code):
    """Instructions on the octets of a block, one in each lane."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        super().__init__(context, builder, signature, arguments)
        triple, _, features = context.codegen().magic_tuple()
        self.fuses = "+fma" in features.split(",") or triple.startswith(("aarch64", "arm64"))

    def turned(self, rows: list[ir.Value]) -> list[ir.Value]:
        """Four vectors whose n-th one has the n-th number of each."""
        a, b, c, d = rows
        even = self.shuffled(a, b, _EVEN), self.shuffled(c, d, _EVEN)
        odd = self.shuffled(a, b, _ODD), self.shuffled(c, d, _ODD)
        return [self.shuffled(*each, lanes) for lanes in (_FIRST, _LAST) for each in (even, odd)]

    def columns(self, block: ir.Value, half: int) -> list[ir.Value]:
        """The first, the second, … the eighth number of four octets."""
        made = []
        for place in range(half, half + OCTET, 2):
            a, b, c, d = (self.pair(block, place + i * OCTET) for i in range(4))
            ac, bd = self.shuffled(a, c, (0, 1, 2, 3)), self.shuffled(b, d, (0, 1, 2, 3))
            made += [self.fenced(self.shuffled(ac, bd, lanes)) for lanes in (_EVEN, _ODD)]
        return made

    def parts(
        self, older: ir.Value | None, newer: ir.Value, half: int
    ) -> tuple[list[ir.Value], ir.Value, ir.Value, ir.Value]:
        """What windows have in two octets, the sums of both octets, and what the newer one lost.

        Without older values, zeros stand for them.
        """
        suffixes = [self.zero] * OCTET
        if older is not None:
            suffixes = self.running(self.columns(older, half)[::-1])[::-1]
        values = self.columns(newer, half)
        prefixes = self.running(values)
        parts = [self.add(*pair) for pair in zip(suffixes, prefixes, strict=True)]
        return parts, suffixes[0], prefixes[-1], self.lost(values)

    def next_three(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The sums of the three numbers behind each of the first of two vectors."""
        first, second, third = (self.shuffled(a, b, tuple(range(i, i + 4))) for i in (1, 2, 3))
        return self.add(self.add(first, second), third)

    def fenced(self, vector: ir.Value) -> ir.Value:
        """The same vector, of which the compiler no longer knows how it came about.

        Of two columns and their sum it would make a horizontal addition, which takes as long as
        four instructions.
        """
        return self.call("llvm.arithmetic.fence", vector)

    def call(self, name: str, *vectors: ir.Value) -> ir.Value:
        """What one of LLVM's functions from vectors to a vector returns."""
        kind = ir.FunctionType(self.type, [self.type] * len(vectors))
        name = f"{name}.v{self.lanes}f64"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, vectors)

    def plus(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a + b, as 1·a + b where the processor has units for that, which are idle otherwise."""
        if not self.fuses:
            return self.add(a, b)
        ones = self.fenced(ir.Constant(self.type, [1.0] * self.lanes))
        return self.call("llvm.fma", a, ones, b)

    def minus(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The same for a − b."""
        return self.plus(a, self.builder.fneg(b))

    def two_sum(self, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The sum as it is rounded, and what rounding took from it (Knuth)."""
        minus = self.minus
        total = self.add(a, b)
        part = minus(total, a)
        return total, self.add(minus(a, minus(total, part)), minus(b, part))

    def exact_total(self, context: Any, signature: Any, sums: Any, losts: Any) -> ir.Value:
        """The sum of eight octets as it is rounded, and what rounding took from it and them."""
        total, lost = self.two_sum(*sums)
        lost = self.add(lost, self.add(*losts))
        for lanes in ((2, 3, 4, 4), (1, 4, 4, 4)):
            total, more = self.two_sum(total, self.moved(total, lanes))
            lost = self.add(self.add(lost, self.moved(lost, lanes)), more)
        numbers = [self.number(each, 0) for each in (total, lost)]
        return context.make_tuple(self.builder, signature.return_type, numbers)

    def counted_from(self, number: ir.Value, first: int) -> ir.Value:
        """The numbers of rows that are an octet apart, if the first of the block has this one."""
        places = [float(first + i * OCTET) for i in range(self.lanes)]
        return self.add(number, ir.Constant(self.type, places))

    def store_octets(
        self, quarters: list[list[ir.Value]], target: ir.Value, first: int, past_cache: ir.Value
    ) -> None:
        """Write four octets, of which there are the four beginnings and the four ends."""
        octets = list(zip(*quarters, strict=True))
        places = [(first + i * OCTET, first + i * OCTET + 4) for i in range(len(octets))]
        with self.builder.if_else(past_cache) as (past, otherwise):
            for branch, store in ((past, self.store_past_cache), (otherwise, self.store)):
                with branch:
                    for octet, at in zip(octets, places, strict=True):
                        for vector, place in zip(octet, at, strict=True):
                            store(vector, target, place)

    def running(self, values: list[ir.Value]) -> list[ir.Value]:
        """The sums of the first one, of the first two, … of eight vectors, as trees."""
        add = self.add
        a, b, c, d, e, f, g, h = values
        ab, cd, ef, gh = add(a, b), add(c, d), add(e, f), add(g, h)
        four = add(ab, cd)
        later = [e, ef, add(ef, g), add(ef, gh)]
        return [a, ab, add(ab, c), four, *(add(four, each) for each in later)]

    def lost(self, values: list[ir.Value]) -> ir.Value:
        """What rounding took from the sum of eight vectors."""
        lost = []
        while len(values) > 1:
            found = [self.two_sum(*values[i : i + 2]) for i in range(0, len(values), 2)]
            values = [total for total, _ in found]
            lost += [each for _, each in found]
        while len(lost) > 1:
            lost = [self.add(*lost[:2]), *lost[2:]]
        return lost[0]


_EVEN, _ODD, _FIRST, _LAST = (0, 4, 2, 6), (1, 5, 3, 7), (0, 1, 4, 5), (2, 3, 6, 7)


def with_places(arrays: Iterable[Any]) -> list[Any]:
    """The types of arrays, each with that of a place in it."""
    return [each for array in arrays for each in (array, types.int64)]


@written
def parts_of_windows(
    typing_context: Any, older: Any, older_at: Any, newer: Any, newer_at: Any, parts: Any,
    parts_at: Any, totals: Any, totals_at: Any,
) -> Any:  # fmt: skip
    """What 64 windows have in the octets where they begin, and in those where they end.

    `older` are the values with which they begin, `newer` those with which they end. `parts` are
    written as `put_together` reads them. The sums of the newer octets are written as well.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Turned(context, builder, signature, arguments)
        begin, end, into, into_totals = code.given
        for half in HALVES:
            parts, _, total, _ = code.parts(begin, end, half)
            for i, part in enumerate(parts):
                code.store(part, into, half + 4 * i)
            code.store(total, into_totals, half // OCTET)
        return context.get_dummy_value()

    return types.void(*with_places((older, newer, parts, totals))), generate


def _put_together(divided: bool) -> Any:
    """A compiled function (parts, high, low, out, number) that writes the results of 64 windows.

    To each part is added what lies between its octets, which is high + low of the octet. These sums
    are divided by the number, or multiplied by it.
    """

    @written
    def put_together(
        typing_context: Any, parts: Any, parts_at: Any, high: Any, high_at: Any, low: Any,
        low_at: Any, out: Any, out_at: Any, number: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Turned(context, builder, signature, arguments)
            source, highs, lows, target, number = code.given
            numbers = code.spread(number)
            scaled = builder.fdiv if divided else builder.fmul
            for half in HALVES:
                upper, lower = (code.load(each, half // OCTET) for each in (highs, lows))
                for first in (0, 4):
                    rows = []
                    for i in range(first, first + 4):
                        row = code.add(upper, code.add(lower, code.load(source, half + 4 * i)))
                        rows.append(scaled(row, numbers))
                    for i, octet in enumerate(code.turned(rows)):
                        code.store(octet, target, half + first + i * OCTET)
            return context.get_dummy_value()

        return types.void(*with_places((parts, high, low, out)), types.float64), generate

    return put_together


put_multiples_together = _put_together(divided=False)
put_quotients_together = _put_together(divided=True)


@written
def octet_ends(
    typing_context: Any, block: Any, at: Any, sums: Any, sums_at: Any, count: Any
) -> Any:
    """The sums of the last so many values of each octet of a block."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Turned(context, builder, signature, arguments)
        source, target, number = code.given
        kept = [code.at_least(first, builder.sub(code.whole(OCTET), number)) for first in (0, 4)]
        for half in HALVES:
            rows = []
            for i in range(half, half + BLOCK // 2, OCTET):
                near, far = (
                    builder.select(keep, code.load(source, i + first), code.zero)
                    for first, keep in zip((0, 4), kept, strict=True)
                )
                rows.append(code.add(near, far))
            a, b, c, d = code.turned(rows)
            code.store(code.add(code.add(a, b), code.add(c, d)), target, half // OCTET)
        return context.get_dummy_value()

    return types.void(*with_places((block, sums)), types.int64), generate


@written
def total_of_first(typing_context: Any, block: Any, at: Any, count: Any) -> Any:
    """The sum of the first so many values of a block, of fewer than all."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Turned(context, builder, signature, arguments)
        source, number = code.given
        rest = builder.and_(number, code.whole(OCTET - 1))
        octets = builder.lshr(number, code.whole(3))
        sums = [cgutils.alloca_once_value(builder, code.zero) for _ in (0, 4)]
        with cgutils.for_range(builder, octets) as loop:
            octet = builder.gep(source, [builder.mul(loop.index, code.whole(OCTET))])
            for each, place in zip(sums, (0, 4), strict=True):
                builder.store(code.add(builder.load(each), code.load(octet, place)), each)
        octet = builder.gep(source, [builder.mul(octets, code.whole(OCTET))])
        halves = []
        for each, place in zip(sums, (0, 4), strict=True):
            beyond = code.at_least(place, rest)
            last = builder.select(beyond, code.zero, code.load(octet, place))
            halves.append(code.add(builder.load(each), last))
        total = code.add(*halves)
        for lanes in ((2, 3, 4, 4), (1, 4, 4, 4)):
            total = code.add(total, code.moved(total, lanes))
        return code.number(total, 0)

    return types.float64(block, types.int64, types.int64), generate


def _windows_of_block(scaled: str = "", growing: bool = False) -> Any:
    """A compiled function for the 64 windows that end in a block.

    Its arguments are the values with which the windows begin, those of the block, where results go,
    the sum of all values between, as high + low, and whether results are to go past the cache, for
    which `out` has to lie at a multiple of 32 bytes. Sums are written as they are, or "multiplied"
    or "divided" by a number. It returns the sum of the block, as rounded and what rounding took.

    Nothing leaves windows that are growing: `older` is not read, and the number that sums are
    divided by grows by 1 from row to row.
    """

    @written
    def windows_of_block(
        typing_context: Any, older: Any, older_at: Any, newer: Any, newer_at: Any, out: Any,
        out_at: Any, high: Any, low: Any, number: Any, past_cache: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Turned(context, builder, signature, arguments)
            begin, end, target, *numbers, past_cache = code.given
            high, low, number = map(code.spread, numbers)
            begin = None if growing else begin
            parts, older_totals, newer_totals, lost = zip(
                *(code.parts(begin, end, half) for half in HALVES), strict=True
            )
            # the seven octets behind the one where a window begins, from eight older ones and eight
            # newer ones; three of them are lanes of two vectors that lie beside each other
            octets = [*older_totals, *newer_totals]
            threes = [code.next_three(*octets[i : i + 2]) for i in range(3)]
            for i, half in enumerate(HALVES):
                upper, below = code.two_sum(high, code.add(threes[i], octets[i + 1]))
                finite = builder.fcmp_ordered("==", builder.fsub(upper, upper), code.zero)
                # What rounding took is no number then; `low` has values of the window and stays.
                below = builder.select(finite, below, code.zero)
                lower = code.add(code.add(low, below), threes[i + 1])
                rows = [code.plus(upper, code.plus(lower, part)) for part in parts[i]]
                if scaled:
                    by = [
                        code.counted_from(number, half + j) if growing else number
                        for j in range(OCTET)
                    ]
                    scale = builder.fdiv if scaled == "divided" else builder.fmul
                    rows = list(map(scale, rows, by))
                quarters = [code.turned(rows[first : first + 4]) for first in (0, 4)]
                code.store_octets(quarters, target, half, past_cache)
            return code.exact_total(context, signature, newer_totals, lost)

        places = with_places((older, newer, out))
        pair = types.UniTuple(types.float64, 2)
        return pair(*places, *[types.float64] * 3, types.boolean), generate

    return windows_of_block


window_sums = _windows_of_block()
window_multiples = _windows_of_block("multiplied")
window_quotients = _windows_of_block("divided")
growing_sums = _windows_of_block(growing=True)
growing_means = _windows_of_block("divided", growing=True)


@written
def block_total(typing_context: Any, block: Any, at: Any) -> Any:
    """The sum of a block as the functions for its windows find it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Turned(context, builder, signature, arguments)
        (source,) = code.given
        octets = [code.columns(source, half) for half in HALVES]
        totals = [code.running(each)[-1] for each in octets]
        return code.exact_total(context, signature, totals, [code.lost(each) for each in octets])

    return types.UniTuple(types.float64, 2)(block, types.int64), generate
