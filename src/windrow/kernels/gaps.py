"""Windows of which something is left out: what is found for their parts, put together.

        rows=(-2, 2), exclude="current row"      v₀ [v₁  v₂] v₃ [v₄  v₅] v₆
                                                    older       newer part of v₃'s window

Nothing is subtracted, so a value that is left out leaves no trace. Parts of so many rows are the
last rows of other rows, as in `aggregate`: the older one of the row before, the newer one of a row
behind. Where both parts are of as many rows, one pass of a kernel finds them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.kernels.aggregate import FEW, Inputs, Nulls, rows_apart
from windrow.kernels.columns import NO_NULLS, Column, any_null
from windrow.kernels.compiled_states import Compiled
from windrow.kernels.generate import loop_of
from windrow.kernels.named import Common, Find, Join, Question, counts
from windrow.kernels.results import ResultArray, finished
from windrow.kernels.routes import Route, route_over, trace
from windrow.kernels.special.joined import divide_by_lengths
from windrow.kernels.states import States, states_over, with_states_as_results
from windrow.kernels.window_loop import result_arrays
from windrow.windows.arrays import Positions, widened
from windrow.windows.positions import EVERY, Chosen, Windows

# So many results are put together at a time, and then written over what they are made of.
_TILE = 1 << 13


def knows_gaps(aggregation: Aggregation, way: Route, parts: int) -> bool:
    """Whether windows of so many parts can be answered on this way.

    A user's functions may fail, at a row that others can name.
    """
    if way.kernel is not None:
        return parts <= way.kernel.parts
    own = aggregation.functions is not None or isinstance(way.compiled, RowAlgebra)
    return way.compiled is not None and not own


def aggregate_parts(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    parts: Sequence[Windows],
    *,
    way: Route,
    nulls: Nulls = None,
    threads: int = 1,
    common: Common | None = None,
) -> ResultArray:
    """The aggregate of each window, which has such parts; as `aggregate`, O(1) a row.

    >>> from windrow import Max
    >>> from windrow.kernels.routes import route
    >>> parts = [Windows(np.array([0, 5]), rows=1, ahead=by) for by in (-1, 1)]
    >>> way = route(Max(), ["int64"], by_rows=True)
    >>> aggregate_parts(Max(), [np.array([3, 1, 2, 5, 4])], parts, way=way).values
    array([1, 3, 5, 4, 5])
    """
    given = Inputs(aggregation, columns, nulls, parts[0].n)
    asked = given.columns[0] if given.columns else None
    if asked is None or (way.kernel is not None and way.kernel.positional):
        asked = given.anything()
    question = Gapped(aggregation, asked, parts, threads, common, given.numbers[1:])
    if way.kernel is not None and way.kernel.in_blocks and question.alone is None:
        way = route_over(aggregation, given.columns, by_rows=False)
    trace(aggregation, way.name)
    if way.kernel is not None:
        made = way.kernel.run(question)
    else:
        assert way.compiled is not None
        kept = given.numbers
        data, gone = tuple(c.data for c in kept), any_null(kept)
        out, valid = looped(aggregation, way.compiled, data, gone, question.by_bounds(), threads)
        made = finished(aggregation, kept[0], out, valid)
    if aggregation.least < 2:
        return made
    few = few_in_parts(parts, given.absent(), aggregation.least, threads)
    return ResultArray(made.values, few)


def few_in_parts(
    parts: Sequence[Windows], nulls: NDArray[np.uint8] | None, least: int, threads: int = 1
) -> NDArray[np.bool_] | None:
    """Which windows have fewer values than `least` that are not null; None if none has."""
    rows = Column(np.empty(0, np.int64), nulls, np.dtype(np.int64))
    question = Gapped(Count("rows"), rows, parts, threads)
    if nulls is None:
        return question.shorter_than(least)
    few = np.asarray(counts.run(question).values < least)
    return few if few.any() else None


class Gapped(Question):
    """A question about windows that have parts.

    `alone` are the windows that are not put together from those of other rows, as they are near
    the ends of their segments. None says that no window is.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        column: Column,
        parts: Sequence[Windows],
        threads: int,
        common: Common | None = None,
        others: Sequence[Column] = (),
    ) -> None:
        super().__init__(aggregation, column, parts[0], threads, common, others)
        self.parts = parts
        self.whole: Windows | None = None  # with the gap, where the parts are of so many rows
        self.alone: Positions | None = None
        if all(part.rows is not None for part in parts):
            older, newer = parts
            first, count = older.first, len(older)
            rows = sum(self.rows) + self._gap
            self.whole = Windows(older.starts, rows, first, ahead=newer.ahead, past=older.past)
            alone = rows_apart(older.starts, older.ahead, newer.ahead) - first
            alone = alone[(alone >= 0) & (alone < count)]
            self.alone = alone if alone.size * FEW <= count else None

    @property
    def rows(self) -> tuple[int, int]:
        """Of how many rows both parts are."""
        older, newer = (part.rows or 0 for part in self.parts)
        return older, newer

    @property
    def _gap(self) -> int:
        """How many rows lie between parts of so many rows: those from the current one on."""
        older, newer = self.parts
        return newer.ahead - self.rows[1] - older.ahead

    def with_gaps(self) -> Windows:
        """The windows as if nothing were left out of them."""
        if self.whole is not None:
            return self.whole
        return Windows(self.windows.starts, lo=self.parts[0].lo, hi=self.parts[-1].hi)

    def by_bounds(self, some: Chosen = EVERY) -> list[Windows]:
        """The parts of some windows, by their positions."""
        return [part.chosen(some) for part in self.parts]

    def last_rows(self, rows: int) -> Question:
        """The same question about the last rows of each row whose last rows are a part."""
        return self._about(Windows(self.windows.starts, rows, self.begin))

    @property
    def begin(self) -> int:
        """The first row whose last rows are a part."""
        return max(0, self.windows.first + self.windows.ahead)

    def _about(self, windows: Windows) -> Question:
        return Question(self.aggregation, self.column, windows, self.threads)

    def joined(self, find: Find, join: Join) -> NDArray[Any]:
        """What `join` makes of what `find` finds for the parts."""
        if self.alone is None:
            return self._by_bounds(find, join, EVERY)
        found = {rows: find(self.last_rows(rows)) for rows in set(self.rows)}
        older, newer = ((found[rows],) for rows in self.rows)
        made = self.put_together(older, newer, lambda a, b, _, out: join(a[0], b[0], out))
        made[self.alone] = self._by_bounds(find, join, self.alone)
        return made

    def _by_bounds(self, find: Find, join: Join, some: Chosen) -> NDArray[Any]:
        older, *others = self.by_bounds(some)
        made = find(self._about(older))
        for part in others:
            lo, hi = part.bounds()
            filled = np.flatnonzero(hi > lo)
            if filled.size * FEW > len(part):
                join(made, find(self._about(part)), made)
            elif filled.size:  # as rows of equal order are, behind the current one
                few = made[filled]
                join(few, find(self._about(part.chosen(filled))), few)
                made[filled] = few
        return made

    def put_together(
        self,
        older: Sequence[NDArray[Any]],
        newer: Sequence[NDArray[Any]],
        join: Callable[[Any, Any, int, NDArray[Any]], Any],
    ) -> NDArray[Any]:
        """The results of windows that are not alone, from arrays for `last_rows`.

        `join` is given those of some windows, the row that the first is of, and where its results
        belong. They are written over the first of the `older` arrays, whose items are not asked for
        again: fresh memory costs as much as a kernel.
        """
        windows, count = self.windows, len(self.windows)
        a, b = (windows.first + part.ahead - self.begin for part in self.parts)
        low, high = max(0, -a), min(count, older[0].size - b)
        wide = widened(older[0], low, max(0, a + count - older[0].size))
        made = np.empty(count, older[0].dtype) if wide is None else wide[max(0, a) :][:count]
        scratch = np.empty(_TILE, made.dtype)
        for k in range(low, high, _TILE):
            stop = min(k + _TILE, high)
            into = scratch[: stop - k]
            before = [each[a + k : a + stop] for each in older]
            behind = [each[b + k : b + stop] for each in newer]
            join(before, behind, windows.first + k, into)
            made[k:stop] = into
        return made

    def sizes(self) -> NDArray[np.int64]:
        """How many rows each window has."""
        if self.whole is not None:
            made = self.whole.lengths()
            made -= self._gap
            return made
        return np.asarray(sum(part.lengths() for part in self.parts))

    def per_row(self, sums: NDArray[Any], own: bool) -> NDArray[np.float64]:
        """Sums divided by how many rows each window has; in place if nobody else has them."""
        if self.whole is None:
            return super().per_row(sums, own)
        means = sums if own and sums.dtype == np.float64 else sums.astype(np.float64)
        (older, newer), starts, first = self.parts, self.whole.starts, self.whole.first
        ends = older.ahead + 1 - self.rows[0], newer.ahead
        divide_by_lengths(means, starts, ends, first, self._gap)
        return means

    def shorter_than(self, length: int) -> NDArray[np.bool_] | None:
        """Which windows have fewer rows; None if none has."""
        if self.whole is not None:  # the gap is in all of them
            return self.whole.shorter_than(length + self._gap)
        short = self.sizes() < length
        return short if short.any() else None


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
