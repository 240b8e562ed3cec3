"""Questions about windows that have parts: what is found for the parts, put together.

        rows=(-2, 2), exclude="current row"      v₀ [v₁  v₂] v₃ [v₄  v₅] v₆
                                                    older       newer part of v₃'s window

Nothing is subtracted, so a value that is left out leaves no trace; `special.left_out` tells where
deviations may do so. Parts of so many rows are the last rows of other rows, as in `aggregate`: the
older one of the row before, the newer one of a row behind. Where both parts are of as many rows,
one pass of a kernel finds them all; and so it does for maxima where one is a few times as long, as
windows that overlap cover it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.kernels.columns import NO_NULLS, Column
from windrow.kernels.compiled_states import Compiled
from windrow.kernels.generate import loop_of
from windrow.kernels.named import SIZES, Common, Find, Join, Mend, Question
from windrow.kernels.special.joined import (
    divide_by_lengths,
    join_extremes,
    join_sums,
    own_places,
)
from windrow.kernels.special.minmax import Order
from windrow.kernels.special.rows_around import extremes_around_rows, sums_around_rows
from windrow.kernels.states import States, states_over, with_states_as_results
from windrow.kernels.window_loop import result_arrays
from windrow.windows.arrays import Positions, empty, in_threads, moved, stretches, widened
from windrow.windows.lengths import add_lengths, count_filled
from windrow.windows.positions import EVERY, FEW, Chosen, Piece, Windows, rows_apart

# Windows of maxima that overlap cover the parts of others, if they are so many or fewer.
_COVERING = 6
# So many rows are looked at for each row, to see what a window has without the current one.
LOOKED = 8
# With fewer rows on average, before the current one or behind it, it is often the extreme.
SHORT_EXTREMES = 2


class PartsQuestion(Question):
    """A question about windows that have parts."""

    def __init__(
        self,
        aggregation: Aggregation,
        column: Column,
        parts: Sequence[Windows],
        threads: int,
        common: Common | None = None,
        others: Sequence[Column] = (),
        windows: Windows | None = None,  # the whole ones, where parts wait to be asked for
    ) -> None:
        windows = parts[0] if windows is None else windows
        super().__init__(aggregation, column, windows, threads, common, others)
        self.parts = parts
        self.whole: Windows | None = None  # with the gap, where the parts are of so many rows
        if windows.rows is not None:
            older, newer = parts
            rows = sum(self.rows) + self.gap
            self.whole = Windows(
                older.starts, rows, older.first, ahead=newer.ahead, past=older.past
            )
            self.left_out = older.first

    @cached_property
    def alone(self) -> Positions | None:
        """The windows that are not put together from those of other rows.

        They are near the ends of their segments. None if they are many, or parts have any length.
        """
        return None if self.whole is None else self._apart(*(part.ahead for part in self.parts))

    def _apart(self, *aheads: int) -> Positions | None:
        """The windows for which a row that is so many ahead is not of their segment.

        None if they are many.
        """
        count = len(self.windows)
        found = rows_apart(self.windows.starts, *aheads) - self.windows.first
        found = found[(found >= 0) & (found < count)]
        return found if found.size * FEW <= count else None

    @property
    def rows(self) -> tuple[int, int]:
        """Of how many rows both parts are."""
        older, newer = (part.rows or 0 for part in self.parts)
        return older, newer

    @property
    def gap(self) -> int:
        """How many rows lie between parts of so many rows: those from the current one on."""
        older, newer = self.parts
        return newer.ahead - self.rows[1] - older.ahead

    @cached_property
    def longest(self) -> int:
        """A number of rows that no window exceeds."""
        return sum(part.longest for part in self.parts)

    def whole_windows(self) -> Windows:
        """The windows as if nothing were left out of them."""
        if self.whole is not None:
            return self.whole
        return Windows(self.windows.starts, lo=self.parts[0].lo, hi=self.parts[-1].hi)

    def by_states(
        self,
        compiled: Compiled,
        data: tuple[NDArray[Any], ...],
        nulls: NDArray[np.uint8] | None,
    ) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
        """The results of windows by the states of their parts, and which of them have one."""
        return looped(self.aggregation, compiled, data, nulls, self.by_bounds(), self.threads)

    def by_bounds(self, some: Chosen = EVERY) -> list[Windows]:
        """The parts of some windows, by their positions."""
        return [part.chosen(some) for part in self.parts]

    def last_rows(self, rows: int) -> Question:
        """The same question about the last rows of each row whose last rows are a part."""
        return self.about(Windows(self.windows.starts, rows, self.begin))

    @property
    def begin(self) -> int:
        """The first row whose last rows are a part."""
        return max(0, self.windows.first + self.windows.ahead)

    def about(self, windows: Windows) -> Question:
        """The same question about other windows."""
        return Question(self.aggregation, self.column, windows, self.threads)

    def joined(self, find: Find, join: Join) -> NDArray[Any]:
        """What `join` makes of what `find` finds for the parts, written over the older ones."""
        if self.alone is None:
            return self.by_parts(find, join, EVERY)
        found = {rows: find(self.last_rows(rows)) for rows in set(self.rows)}
        older, newer = (found[rows] for rows in self.rows)
        windows, count = self.windows, len(self.windows)
        a, b = (windows.first + part.ahead - self.begin for part in self.parts)
        low, high = max(0, -a), max(0, min(count, older.size - b))
        made = _over(older, a, low, count)

        def fill(k: int, stop: int, out: NDArray[Any]) -> None:
            join(older[a + k : a + stop], newer[b + k : b + stop], out)

        self._fill(fill, low, high, b - a, made)
        made[self.alone] = self.by_parts(find, join, self.alone)
        return made

    def sums(self, find: Find, values: NDArray[Any], mean: bool) -> NDArray[Any]:
        """The sums of windows, or the means; `find` finds sums of parts, of these values."""
        if values.dtype != np.float64 and self.left_out is not None:
            sums = self.of_whole(find)  # exact, so the row is subtracted
            sums -= values[self.left_out :][: sums.size]
            return sums
        if self.whole is not None:
            results = self._sums_around(self.whole, values, mean)
            if results is not None:
                return results
        sums = self.joined(find, join_sums)
        return self.per_row(sums, own=True) if mean else sums

    def of_whole(self, find: Find) -> NDArray[Any]:
        """What `find` finds for the windows as if nothing were left out of them.

        Those of so many rows are the last rows of others, as in `aggregate`.
        """
        windows, count = self.whole_windows(), len(self.windows)
        if windows.rows is None:
            return find(self.about(windows))
        alone = self._apart(windows.ahead)
        if alone is None or not count:
            return find(self.about(windows.chosen()))
        begin = windows.first + windows.ahead
        found = find(self.about(Windows(windows.starts, windows.rows, begin)))
        others = find(self.about(windows.chosen(alone)))
        return moved(found, others, alone, 0, count, own=True)

    def _sums_around(
        self, whole: Windows, values: NDArray[np.float64], mean: bool
    ) -> NDArray[np.float64] | None:
        """The sums of the rows around the current ones, these subtracted from whole windows.

        None if too many are too large for that.
        """
        longest = int(np.diff(whole.starts).max(initial=1))
        before, behind = (min(rows, longest) for rows in self.rows)
        first, count, looked = whole.first, len(whole), []
        out = empty(first + behind + count, np.float64)
        pieces = stretches(count, self.threads)
        most = LOOKED * count // len(pieces)

        def fill(piece: tuple[int, int]) -> None:
            begin, stop = (first + i for i in piece)
            frame = -before, behind
            looked.append(
                sums_around_rows(values, whole.starts, frame, begin, stop, mean, most, out)
            )

        in_threads(fill, pieces)
        return out[first + behind :] if max(looked) <= most else None

    def extremes(self, find: Find, bits: NDArray[np.int64], order: Order) -> NDArray[np.int64]:
        """The extremes of windows: those of others that overlap, and cover their parts."""
        aheads, rows = ([], 1) if self.whole is None else self._covering()
        if not 0 < len(aheads) <= _COVERING:
            return self.joined(find, lambda a, b, out: join_extremes(a, b, order, out))
        starts, first, count = self.windows.starts, self.windows.first, len(self.windows)
        out = empty(first + count, np.int64)
        places = np.array(aheads)

        def fill(piece: tuple[int, int]) -> None:
            begin, stop = (first + i for i in piece)
            extremes_around_rows(bits, starts, rows, places, begin, stop, order, out)

        in_threads(fill, stretches(count, self.threads))
        return out[first:]

    def places(self, find: Find, join: Join, mend: Mend) -> NDArray[np.int64]:
        """Where the extremes of windows are: of whole ones, mended where it is the current row.

        Unless that would be too much to do.
        """
        first, looked = self.left_out, []
        if first is None or self.one_sided(SHORT_EXTREMES):
            return self.joined(find, join)
        windows, places = self.whole_windows(), self.of_whole(find)
        most = LOOKED * 2 * places.size

        def run(piece: Piece) -> None:
            numbers = piece.begin + own_places(
                places[piece.begin : piece.stop], first + piece.begin
            )
            lo, hi = windows.chosen(numbers).bounds()
            looked.append(int((hi - lo).sum()))
            if looked[-1] <= most:
                places[numbers] = mend(lo, hi, first + numbers)

        in_threads(run, windows.pieces(self.threads, anywhere=True))
        return places if max(looked) <= most else self.joined(find, join)

    def one_sided(self, rows: int) -> bool:
        """Whether windows have fewer rows, on average, before their own or behind it."""
        return min(self.rows) < rows

    def _covering(self) -> tuple[list[int], int]:
        """Windows of so many rows that cover both parts: of the rows that are so many ahead.

        An even number of them.
        """
        rows, found = min(self.rows), []
        for part, length in zip(self.parts, self.rows, strict=True):
            found += [part.ahead - back for back in (*range(0, length - rows, rows), length - rows)]
        return sorted(found + found[len(found) // 2 * 2 :]), rows

    def by_parts(self, find: Find, join: Join, some: Chosen = EVERY) -> NDArray[Any]:
        """What `join` makes of what `find` finds for the parts of some windows, by their bounds."""
        older, *others = self.by_bounds(some)
        made = find(self.about(older))
        for part in others:
            filled = few_filled(part)
            if filled is None:
                join(made, find(self.about(part)), made)
            elif filled.size:  # as rows of equal order are, behind the current one
                few = made[filled]
                join(few, find(self.about(part.chosen(filled))), few)
                made[filled] = few
        return made

    def _fill(
        self,
        fill: Callable[[int, int, NDArray[Any]], Any],
        low: int,
        high: int,
        ahead: int,
        made: NDArray[Any],
    ) -> None:
        """Let `fill(k, stop, out)` fill results `low` … `high` − 1 in threads.

        They are written over what they are made of, and need what is so far `ahead`. What one
        thread needs of the next one's is used before anything is written.
        """
        pieces = [(low + a, low + b) for a, b in stretches(high - low, self.threads)]
        if any(b - a < 2 * ahead for a, b in pieces):
            pieces = [(low, high)]
        cuts = [(a, b - ahead, b) for a, b in pieces[:-1]] + [(*pieces[-1], pieces[-1][1])]
        last = [np.empty(b - end, made.dtype) for _, end, b in cuts]
        for (_, end, b), out in zip(cuts, last, strict=True):
            fill(end, b, out)
        in_threads(lambda cut: fill(cut[0], cut[1], made[cut[0] : cut[1]]), cuts)
        for (_, end, b), out in zip(cuts, last, strict=True):
            made[end:b] = out

    def sizes(self) -> NDArray[np.int64]:
        """How many rows each window has."""
        if self.left_out is not None:
            return self.whole_windows().lengths(fewer=1)
        made = empty(len(self.windows), np.int64)
        made[:] = 0
        for part in self.parts:
            add_lengths(*part.bounds(), made)
        return made

    def per_row(self, sums: NDArray[Any], own: bool) -> NDArray[np.float64]:
        """Sums divided by how many rows each window has; in place if nobody else has them."""
        means = sums if own and sums.dtype == np.float64 else sums.astype(np.float64)
        if self.whole is None:
            sizes = self.once(SIZES, self.sizes)
            np.divide(means, sizes, out=means, where=sizes > 0)
            return means
        (older, newer), starts, first = self.parts, self.whole.starts, self.whole.first
        ends = older.ahead + 1 - self.rows[0], newer.ahead
        divide_by_lengths(means, starts, ends, first, self.gap)
        return means

    def shorter_than(self, length: int) -> NDArray[np.bool_] | None:
        """Which windows have fewer rows; None if none has."""
        if self.whole is not None:  # the gap is in all of them
            return self.whole.shorter_than(length + self.gap)
        short = self.sizes() < length
        return short if short.any() else None

    def few_shorter_than(self, length: int) -> Positions | None:
        """The numbers of the windows with fewer rows, in no order; None if they are many."""
        return None if self.whole is None else self.whole.few_shorter_than(length + self.gap)


def _over(found: NDArray[Any], at: int, low: int, count: int) -> NDArray[Any]:
    """Room for so many results over what was found, from `at` on; the first `low` before it."""
    wide = widened(found, low, max(0, at + count - found.size))
    return np.empty(count, found.dtype) if wide is None else wide[max(0, at) :][:count]


def few_filled(windows: Windows) -> Positions | None:
    """Which windows have a row, if they are few."""
    lo, hi = windows.bounds()
    if int(count_filled(lo, hi)) * FEW > lo.size:
        return None
    return np.flatnonzero(hi > lo)


# -- any states of numbers -------------------------------------------------------------------------


def looped(
    aggregation: Aggregation,
    compiled: Compiled,
    data: tuple[NDArray[Any], ...],
    nulls: NDArray[np.uint8] | None,
    parts: Sequence[Windows],
    threads: int,
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
    """The results of windows by the states of their parts, and which of them have one."""
    first, *others, last = (
        states_over(aggregation, compiled, data, nulls, part, threads) for part in parts
    )
    for other in others:
        out, valid = _joined(aggregation, with_states_as_results(compiled), first, other)
        first = States(out, valid == 0)
    return _joined(aggregation, compiled, first, last)


def _joined(
    aggregation: Aggregation, compiled: Compiled, older: States, newer: States
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
    """What the loop makes of two states a window, each of which may be missing."""
    some = older.missing is not None or newer.missing is not None
    n = len(older)
    loop = loop_of("parts", aggregation, compiled, ["int64"], "range", some)
    fields = [each.fields + ((_present(each),) if some else ()) for each in (older, newer)]
    out, valid = result_arrays(compiled, n), np.ones(n, np.uint8)
    nothing = np.empty(0, np.int64)
    cursors, (*_, spare) = loop.start(1)
    loop.run(
        0, n, 0, 0, nothing, nothing, (nothing,), NO_NULLS, cursors, *fields, spare, out, valid
    )  # fmt: skip
    return out, valid


def _present(states: States) -> NDArray[np.int64]:
    """1 for each state that is not missing."""
    if states.missing is None:
        return np.ones(len(states), np.int64)
    return (~states.missing).astype(np.int64)
