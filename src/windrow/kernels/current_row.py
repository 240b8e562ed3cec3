"""Windows along the order without their current row.

Either side of the row may be a part by itself. But where one is short, as that of rows of equal
order behind the row is, its rows are gone through one by one; and where both are long, one pass
does for both: sums in regions (`special.around`), and the maxima of whole windows, of which those
are put right that are the current row's own. Whole numbers are summed exactly, so the row's is
subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.kernels.columns import Column
from windrow.kernels.compiled_states import Compiled
from windrow.kernels.gapped import Gapped, few_filled, looped
from windrow.kernels.named import Common, Find, Join
from windrow.kernels.special.around import room_for, sums_around
from windrow.kernels.special.joined import (
    add_short,
    divide_by_others,
    join_extremes,
    join_sums,
    mend_extremes,
    mend_places,
    raise_short,
)
from windrow.kernels.special.minmax import Order
from windrow.kernels.window_loop import run_loop
from windrow.windows.arrays import Positions, empty, in_threads, stretches
from windrow.windows.gaps import Around
from windrow.windows.lengths import add_lengths
from windrow.windows.positions import Piece, Windows

# A part of fewer rows than so many, on average, is gone through row by row.
_SHORT, _SHORT_EXTREMES = 8, 2
_ANY_ORDER: Order = (0, True)  # sums have none
# So many windows are summed from anew.
_CUT = 1 << 16
# So many rows are looked at for each row, to see what is the maximum without the current one.
_LOOKED = 8


class WithoutRow(Gapped):
    """A question about windows by their bounds, of which the current row alone is left out."""

    def __init__(
        self,
        aggregation: Aggregation,
        column: Column,
        around: Around,
        threads: int,
        common: Common | None = None,
        others: Sequence[Column] = (),
    ) -> None:
        super().__init__(
            aggregation, column, around, threads, common, others, windows=around.windows
        )
        self.around = around

    def with_gaps(self) -> Windows:
        """The windows as if nothing were left out of them."""
        return self.around.windows

    @cached_property
    def longest(self) -> int:
        """A number of rows that no window exceeds."""
        return self.around.windows.longest

    def sizes(self) -> NDArray[np.int64]:
        """How many rows each window has."""
        made = empty(len(self.windows), np.int64)
        made[:] = -1
        add_lengths(*self.around.windows.bounds(), made)
        return made

    def shorter_than(self, length: int) -> NDArray[np.bool_] | None:
        """Which windows have fewer rows; None if none has."""
        return self.around.windows.shorter_than(length + 1)

    def by_states(
        self,
        compiled: Compiled,
        data: tuple[NDArray[Any], ...],
        nulls: NDArray[np.uint8] | None,
    ) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
        """The results of windows by the states of their parts, and which of them have one."""
        aggregation, threads = self.aggregation, self.threads
        sides = self._sides(1)
        some = None if sides is None else few_filled(sides[1])
        if sides is None or some is None:
            return looped(aggregation, compiled, data, nulls, self.by_bounds(), threads)
        out, valid = run_loop(aggregation, compiled, data, nulls, sides[0], threads)
        parts = self.by_bounds(some)
        few, valid[some] = looped(aggregation, compiled, data, nulls, parts, threads)
        for into, found in zip(out, few, strict=True):
            into[some] = found
        return out, valid

    def sums(self, find: Find, values: NDArray[Any], mean: bool) -> NDArray[Any]:
        """The sums of windows, or the means; `find` finds sums of parts, of these values."""
        around = self.around
        lo, hi = around.windows.bounds()
        if values.dtype != np.float64:  # exact, so it is subtracted
            made = find(self.about(around.windows))
            made -= values[around.first :][: made.size]
        elif (sides := self._sides(_SHORT)) is not None:
            made = self._with_short(sides, find, join_sums, partial(add_short, values, _ANY_ORDER))
        else:
            return self._in_regions(values, mean)
        if mean:
            made = made if made.dtype == np.float64 else made.astype(np.float64)
            each = stretches(made.size, self.threads)
            in_threads(
                lambda p: divide_by_others(made[slice(*p)], lo[slice(*p)], hi[slice(*p)]), each
            )
        return made

    def _in_regions(self, values: NDArray[np.float64], mean: bool) -> NDArray[np.float64]:
        """The same in one pass; its bits do not depend on the number of threads."""
        around = self.around
        lo, hi = around.windows.bounds()
        made, longest = empty(lo.size, np.float64), around.windows.longest
        step = max(_CUT, 4 * longest)
        cuts = [(a, min(a + step, lo.size)) for a in range(0, lo.size, step)]
        shares = max(1, min(self.threads, len(cuts)))

        def fill(share: int) -> None:
            room = room_for(longest)
            for a, b in cuts[len(cuts) * share // shares : len(cuts) * (share + 1) // shares]:
                sums_around(values, lo, hi, around.first, a, b, mean, room, made)

        in_threads(fill, range(shares))
        return made

    def _sides(self, rows: int) -> tuple[Windows, Windows] | None:
        """The part of windows that may be long, and one of fewer rows on average, if one is so.

        As that of rows of equal order behind the current one.
        """
        around = self.around
        if min(around.before, around.behind) >= rows * len(self.windows):
            return None
        older, newer = self.parts
        return (older, newer) if around.behind <= around.before else (newer, older)

    def _with_short(
        self, sides: tuple[Windows, Windows], find: Find, join: Join, add: Callable[..., int]
    ) -> NDArray[Any]:
        """What `find` finds for the long side of windows, and `add` adds of the short one.

        Where that is long as well, `add` says so, and `join` joins what is found for it.
        """
        long, short = sides
        made, around, by = find(self.about(long)), self.around, 1 if short is self.parts[1] else -1
        lo, hi = short.bounds()
        longer: list[Positions] = []

        def fill(piece: tuple[int, int]) -> None:
            here, some = slice(*piece), empty(piece[1] - piece[0], np.int64)
            first = around.first + piece[0]
            count = add(first, by, lo[here], hi[here], made[here], some)
            longer.append(some[:count] + piece[0])

        in_threads(fill, stretches(made.size, self.threads))
        more = np.sort(np.concatenate(longer))
        if more.size:
            few = made[more]
            join(few, find(self.about(short.chosen(more))), few)
            made[more] = few
        return made

    def extremes(self, find: Find, bits: NDArray[np.int64], order: Order) -> NDArray[np.int64]:
        """The extremes of windows, by whichever way finds them soonest: all have the same bits."""

        def join(a: NDArray[Any], b: NDArray[Any], out: NDArray[Any]) -> None:
            join_extremes(a, b, order, out)

        sides = self._sides(_SHORT_EXTREMES)
        if sides is not None:
            return self._with_short(sides, find, join, partial(raise_short, bits, order))
        made = self._mended(find, partial(mend_extremes, bits), bits.size, order)
        return self.by_parts(find, join) if made is None else made

    def places(
        self,
        find: Find,
        join: Join,
        bits: NDArray[np.int64],
        nulls: NDArray[np.uint8],
        order: Order,
    ) -> NDArray[np.int64]:
        """Where the extremes of windows are, in the same way."""
        if self._sides(_SHORT_EXTREMES) is not None:
            return self.by_parts(find, join)
        made = self._mended(find, partial(mend_places, bits, nulls), bits.size, order)
        return self.by_parts(find, join) if made is None else made

    def _mended(
        self, find: Find, mend: Callable[..., int], rows: int, order: Order
    ) -> NDArray[np.int64] | None:
        """What `find` finds for whole windows, mended where it is of the current row.

        None if that would be too much to do.
        """
        around, looked = self.around, []
        made = find(self.about(around.windows))
        lo, hi = around.windows.bounds()
        most = _LOOKED * (rows + made.size)

        def run(piece: Piece) -> None:
            here, first = slice(piece.begin, piece.stop), around.first + piece.begin
            looked.append(mend(lo[here], hi[here], first, order, most, made[here]))

        in_threads(run, around.windows.pieces(self.threads, anywhere=True))
        return made if max(looked) <= most else None
