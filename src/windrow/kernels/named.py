"""The commonest questions about the windows of many segments, each with a kernel of its own.

Every question has two kernels, one for the last w rows and one for windows given by their bounds;
`Question.fill` runs the one that fits, in as many threads as asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.kernels.columns import NO_NULLS, Column
from windrow.kernels.end_positions import ends, placed
from windrow.kernels.results import ResultArray, finished, restored
from windrow.kernels.special import bounded, integer_sums, joined, places, segmented
from windrow.kernels.special.minmax import Order
from windrow.kernels.special.scans import BLOCK
from windrow.kernels.whole_means import halves_means, rounded_mean
from windrow.windows.arrays import Positions, empty, in_threads, ordinary, roomy
from windrow.windows.positions import LONGEST, Piece, Windows

# What kernels find on their way, which several of them may want.
SUM, PRESENT, SIZES = "the sum", "how many values are not null", "how many rows there are"
HIGHEST, LOWEST = "the maximum", "the minimum"

# Find returns an array with an item for each window of a question. Join(a, b, into) writes what
# Find would return for whole windows, from its arrays for their older and their newer parts.
Find = Callable[["Question"], NDArray[Any]]
Join = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], Any]
# Mend(lo, hi, rows) returns what Find would for these windows, each without one of its rows. It
# looks at all their rows.
Mend = Callable[[Positions, Positions, Positions], NDArray[Any]]


class Common(NamedTuple):
    """Names of arrays that several questions about a column need, and those computed so far."""

    what: Collection[str]
    found: dict[str, Any]


_NOTHING_IN_COMMON = Common((), {})


class Kernel(NamedTuple):
    """A function that answers all windows at once.

    `how` says in words what it does, `combines` how many ⊕ that takes. It may know only windows of
    the last rows, and only values that are not null; one that is `positional` answers from where
    values stand, whatever they are. Most go by blocks of rows, where windows are the last ones.
    What it `finds` others may want as well.
    """

    run: Callable[[Question], ResultArray]
    how: str = "windows put together from blocks of 64 rows, by vector instructions"
    combines: str = "3 or fewer a row"
    state: str = "2 numbers for each row of the window"
    nulls: bool = True
    positional: bool = False
    in_blocks: bool = True  # whether it is faster where windows are the last rows
    finds: tuple[str, ...] = ()
    parts: int = 1  # how many a window may have, if something is left out of it
    # after how many rows the grouping of values repeats, where windows are the last so many rows
    grid: Callable[[int], int] = lambda rows: BLOCK * max(1, (rows - 1) // BLOCK)


def kernel_of(aggregation: Aggregation) -> Kernel | None:
    """The kernel that an aggregation names; None if it names none.

    >>> from windrow import Max, Product
    >>> kernel_of(Max()) is maxima, kernel_of(Product())
    (True, None)
    """
    return _kernel_at(aggregation.kernel) if aggregation.kernel else None


@functools.cache
def _kernel_at(path: str) -> Kernel:
    module, _, name = path.partition(":")
    kernel: Kernel = getattr(import_module(module), name)
    return kernel


class Question:
    """An aggregation of one column over windows; of pairs, `others` has the second column.

    What it has in `common` with others about the same column and windows is found once: sums and
    extremes, and how many values are not null. So a Sum, a Mean and a Count are one pass.
    """

    parts: Sequence[Windows] = ()  # of the windows, if something is left out of them
    # the row that alone is left out of the first window, as the next one is of the next
    left_out: int | None = None

    def __init__(
        self,
        aggregation: Aggregation,
        column: Column,
        windows: Windows,
        threads: int,
        common: Common | None = None,
        others: Sequence[Column] = (),
    ) -> None:
        self.common = common or _NOTHING_IN_COMMON
        self.aggregation, self.windows, self.threads = aggregation, windows, threads
        self.columns = (column, *others)
        self.column, self.data = column, column.data
        self.nulls = column.nulls if column.nulls is not None and column.nulls.any() else None
        self.floating = self.data.dtype == np.float64
        self.w = min(windows.rows or 1, LONGEST)

    def fill(
        self,
        by_rows: Callable[[int, int, NDArray[Any]], None],
        by_bounds: Callable[[Any, Any, int, NDArray[Any]], None] | None,
        dtype: Any,
        *,
        anywhere: bool = True,
    ) -> NDArray[Any]:
        """The array that the kernel for these windows has written.

        `by_rows` takes the rows from and to which it writes, `by_bounds` the windows and where
        the one before them ends. A kernel whose results depend on how values are grouped must
        not begin `anywhere`.
        """
        return self.fill_several(by_rows, by_bounds, (dtype,), anywhere=anywhere)[0]

    def fill_several(
        self,
        by_rows: Callable[..., None],
        by_bounds: Callable[..., None] | None,
        dtypes: Sequence[Any],
        *,
        anywhere: bool = True,
    ) -> list[NDArray[Any]]:
        """The same for a kernel that writes several arrays."""
        windows = self.windows
        if windows.rows is not None:
            first, n = windows.first, windows.n
            results = [roomy(n, dtype) for dtype in dtypes]
            pieces = windows.pieces(self.threads, anywhere=True)
            if len(pieces) == 1:
                by_rows(first, n, *results)
            else:
                in_threads(lambda p: by_rows(first + p.begin, first + p.stop, *results), pieces)
            return [out[first:] for out in results] if first else results
        assert by_bounds is not None, "this kernel is for rows only"
        results = [empty(len(windows), dtype) for dtype in dtypes]
        pieces = windows.pieces(self.threads, anywhere=anywhere)
        if len(pieces) == 1:
            by_bounds(windows.lo, windows.hi, 0, *results)
            return results

        def fill(piece: Piece) -> None:
            for numbers, lo, hi in windows.in_slices(piece):
                end = windows.end_before(piece.begin)
                by_bounds(lo, hi, end, *(out[numbers] for out in results))

        in_threads(fill, pieces)
        return results

    def joined(self, find: Find, join: Join) -> NDArray[Any]:
        """What `find` finds for the windows; where they have parts, what `join` makes of theirs."""
        return find(self)

    def whole_windows(self) -> Windows:
        """The windows as if nothing were left out of them."""
        return self.windows

    def places(self, find: Find, join: Join, mend: Mend) -> NDArray[np.int64]:
        """What `find` finds for the windows; where they have parts, for all of a window's."""
        return self.joined(find, join)

    def extremes(self, find: Find, bits: NDArray[np.int64], order: Order) -> NDArray[np.int64]:
        """What `find` finds for the windows; where they have parts, for all of a window's."""
        return find(self)

    def sums(self, find: Find, values: NDArray[Any], mean: bool) -> NDArray[Any]:
        """What `find` finds for the windows; where they have parts, sums (or means) from theirs."""
        return find(self)

    def once(self, what: str, find: Callable[..., NDArray[Any]], *arguments: Any) -> NDArray[Any]:
        """What `find(*arguments)` returns, or what it returned to another question."""
        if what not in self.common.what:
            return find(*arguments)
        if what not in self.common.found:
            self.common.found[what] = find(*arguments)
        return self.common.found[what]

    def answers(self, values: NDArray[Any], present: NDArray[np.int64] | None) -> ResultArray:
        """The results: values in the type of the column, null where nothing is `present`."""
        if present is None:
            missing = self.shorter_than(1)
        else:
            missing = present == 0
            missing = missing if missing.any() else None
        return restored(self.aggregation, self.column, (values,), missing)

    def shorter_than(self, length: int) -> NDArray[np.bool_] | None:
        """Which windows have fewer rows; None if none has."""
        return self.windows.shorter_than(length)

    def few_shorter_than(self, length: int) -> Positions | None:
        """The numbers of the windows with fewer rows, in no order; None if they are many."""
        return self.windows.few_shorter_than(length)

    def present(self) -> NDArray[np.int64] | None:
        """How many values of each window are not null; None if none is."""
        if self.nulls is None:
            return None
        return self.once(PRESENT, self.whole_sums, self.nulls ^ np.uint8(1))

    def sizes(self) -> NDArray[np.int64]:
        """How many rows each window has."""
        return self.once(SIZES, self.windows.lengths)

    def per_row(self, sums: NDArray[Any], own: bool) -> NDArray[np.float64]:
        """Sums divided by how many rows each window has; in place if nobody else has them."""
        return np.asarray(sums / np.maximum(self.sizes(), 1))

    def whole_sums(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The sum of int64 or of bytes in each window, modulo 2⁶⁴."""

        def find(part: Question) -> NDArray[np.int64]:
            windows, w = part.windows, part.w
            return part.fill(
                lambda a, b, out: integer_sums.segment_sums(values, windows.starts, w, a, b, out),
                lambda lo, hi, end, out: integer_sums.bounded_sums(values, lo, hi, out),
                np.int64,
            )

        return self.sums(find, values, mean=False)

    def filled(self, floating: float, whole: int) -> NDArray[Any]:
        """The values, with something that does not matter where they are null."""
        if self.nulls is None:
            return self.data
        return np.where(self.nulls, floating if self.floating else whole, self.data)

    def scratch(self, rows: int) -> NDArray[Any]:
        """What a kernel works in: rows that are longer than any window."""
        return np.empty((rows, self.longest + 1), self.data.dtype)

    @property
    def longest(self) -> int:
        """A number of rows that no window exceeds."""
        return self.windows.longest


# -- extrema -------------------------------------------------------------------------------------


def _extreme(question: Question, flip: int) -> NDArray[Any]:
    return question.once(LOWEST if flip else HIGHEST, _found_extreme, question, flip)


def _found_extreme(question: Question, flip: int) -> NDArray[Any]:
    data = question.filled(np.nan if flip else -np.inf, 2**63 - 1 if flip else -(2**63))
    bits, order = data.view(np.int64), (flip, question.floating)

    def find(part: Question) -> NDArray[np.int64]:
        return part.fill(
            lambda a, b, out: segmented.segment_extremes(
                bits, part.windows.starts, part.w, a, b, order, out
            ),
            lambda lo, hi, end, out: bounded.bounded_extremes(
                bits, lo, hi, end, order, -1, 0, part.scratch(2).view(np.int64), out
            ),
            np.int64,
        )

    return question.extremes(find, bits, order).view(data.dtype)


def _range(question: Question) -> ResultArray:
    with np.errstate(invalid="ignore"):  # of infinities
        values = _extreme(question, 0) - _extreme(question, -1)
    return question.answers(values, question.present())


def _places(question: Question, flip: int) -> ResultArray:
    data = question.data.view(np.int64)
    nulls = NO_NULLS if question.nulls is None else question.nulls
    order = (flip, question.floating)

    def find(part: Question) -> NDArray[np.int64]:
        def scratch() -> NDArray[np.int64]:
            return part.scratch(places.SCRATCH).view(np.int64)

        return part.fill(
            lambda a, b, out: places.segment_places(
                data, nulls, part.windows.starts, part.w, a, b, order, scratch(), out
            ),
            lambda lo, hi, end, out: places.bounded_places(
                data, nulls, lo, hi, end, order, scratch(), out
            ),
            np.int64,
        )

    def join(a: NDArray[Any], b: NDArray[Any], out: NDArray[Any]) -> None:
        joined.join_places(question.data, a, b, flip < 0, out)

    mend = functools.partial(joined.mend_places, data, nulls, order)
    positions = question.places(find, join, mend)
    if question.nulls is None:
        return question.answers(positions, None)
    valid = (positions >= 0).view(np.uint8)
    return finished(question.aggregation, question.column, (positions,), valid)


# -- sums ----------------------------------------------------------------------------------------


def _totals(question: Question, values: NDArray[np.float64], mean: bool) -> NDArray[np.float64]:
    divided = mean and not question.parts

    def find(part: Question) -> NDArray[np.float64]:
        return part.fill(
            lambda a, b, out: segmented.segment_sums(
                values, part.windows.starts, part.w, a, b, divided, out
            ),
            lambda lo, hi, end, out: bounded.bounded_sums(
                values, lo, hi, end, divided, -1, 0, part.scratch(2), out
            ),
            np.float64,
            anywhere=False,
        )

    return question.sums(find, values, mean)


def _summed(question: Question) -> NDArray[Any]:
    return question.once(SUM, _found_sum, question)


def _found_sum(question: Question) -> NDArray[Any]:
    values = question.filled(0.0, 0)
    if question.floating:
        return _totals(question, values, mean=False)
    _check_sums(question, values)
    return question.whole_sums(values)


def check_sums(
    aggregation: Aggregation,
    values: NDArray[Any],
    nulls: NDArray[Any] | None,
    windows: Windows,
    threads: int = 1,
    of: str = "",
) -> None:
    """Refuse integers of which a window's sum exceeds int64, if the aggregation adds them up.

    `of` says whose window it is, behind its number.
    O(1) a row where the largest value times the longest window fits; otherwise two sums a window.
    """
    if not aggregation.summed or values.dtype != np.int64:
        return
    values = ordinary(values)
    if nulls is not None:
        values = np.where(nulls, 0, values)
    column = Column(values, None, values.dtype)
    _check_sums(Question(aggregation, column, windows, threads), values, of)


def _check_sums(question: Question, values: NDArray[np.int64], of: str = "") -> None:
    halves = _halves(question, values)
    if halves is None:
        return
    over = np.flatnonzero((halves[0] < -(2**31)) | (halves[0] >= 2**31))
    if over.size:
        raise OverflowError(
            f"{question.aggregation!r}: the sum of window {int(over[0])}{of} exceeds int64; "
            f"convert the values to float64, or durations to a coarser unit"
        )


def _halves(
    question: Question, values: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The upper and the lower 32 bits of exact sums; None where all sums fit an int64."""
    if not values.size or not len(question.windows):
        return None
    if max(abs(int(values.max())), abs(int(values.min()))) * question.longest < 2**63:
        return None
    # The sums of halves of 32 bits cannot overflow.
    low = question.whole_sums(values & 0xFFFFFFFF)
    return question.whole_sums(values >> 32) + (low >> 32), low & 0xFFFFFFFF


def _sum(question: Question) -> ResultArray:
    return question.answers(_summed(question), question.present())


def _mean(question: Question) -> ResultArray:
    present = question.present()
    own = SUM not in question.common.what
    if present is None and question.floating and own:
        return question.answers(_totals(question, question.data, mean=True), None)
    if question.column.dtype.kind == "m":
        counted = question.sizes() if present is None else present
        return question.answers(rounded_mean(_summed(question), counted), present)
    if question.floating:
        sums = _summed(question)
    else:
        values = question.filled(0.0, 0)
        halves = _halves(question, values)
        if halves is not None:
            counted = np.maximum(question.sizes() if present is None else present, 1)
            return question.answers(halves_means(*halves, counted), present)
        sums = question.once(SUM, question.whole_sums, values)
    if present is None:
        return question.answers(question.per_row(sums, own), None)
    return question.answers(sums / np.maximum(present, 1), present)


# -- counts --------------------------------------------------------------------------------------


def _count(question: Question) -> ResultArray:
    present = None if question.aggregation.counts_nulls else question.present()
    return ResultArray(question.sizes() if present is None else present)


# -- the ends of windows -------------------------------------------------------------------------


def _end(question: Question, last: bool) -> ResultArray:
    """First and Last of anything, by position."""
    values = question.column.restore(question.data)

    if question.left_out is not None:
        found = ends(question.whole_windows(), question.nulls, last, question.left_out)
    else:
        found = question.joined(
            lambda part: ends(part.windows, question.nulls, last),
            lambda a, b, out: joined.join_ends(a, b, last, out),
        )
    positions = placed(found)
    if not question.windows.n:
        return ResultArray(np.zeros(len(question.windows), values.dtype), positions.missing)
    results = values[positions.values]
    if values.dtype == object and positions.missing is not None:
        results[positions.missing] = None
    return ResultArray(results, positions.missing)


def _nth(question: Question) -> ResultArray:
    """The n-th value of each window, by the positions of values. O(rows + windows)."""
    aggregation: Any = question.aggregation
    values = question.column.restore(question.data)
    lo, hi = question.windows.bounds()
    if question.nulls is not None:
        there = question.nulls == 0
        before = np.concatenate([[0], np.cumsum(there)])
        lo, hi, values = before[lo], before[hi], values[there]
    n = max(-values.size - 1, min(aggregation.n, values.size + 1))
    place = lo + n - 1 if n > 0 else hi + n
    missing = (place < lo) | (place >= hi)
    if not values.size:
        return ResultArray(np.zeros(place.size, values.dtype), missing)
    results = values[np.where(missing, 0, place)]
    if values.dtype == object:
        results[missing] = None
    return ResultArray(results, missing if missing.any() else None)


# -- which aggregations name ---------------------------------------------------------------------

_COUNTED = ("the rows are counted by their positions", "none", "none")
_AT_END = ("the value at the end of the window is looked up", "none", "none")

_BY_PLACE: dict[str, Any] = {"positional": True, "in_blocks": False}

maxima = Kernel(
    lambda question: question.answers(_extreme(question, 0), question.present()),
    finds=(HIGHEST,),
    parts=3,
)
minima = Kernel(
    lambda question: question.answers(_extreme(question, -1), question.present()),
    finds=(LOWEST,),
    parts=3,
)
ranges = Kernel(_range, finds=(HIGHEST, LOWEST), parts=3)
places_of_maxima = Kernel(lambda question: _places(question, 0), parts=3)
places_of_minima = Kernel(lambda question: _places(question, -1), parts=3)
sums = Kernel(_sum, finds=(SUM, PRESENT), parts=3)
means = Kernel(_mean, finds=(SUM, PRESENT, SIZES), parts=3)
counts = Kernel(_count, *_COUNTED, finds=(PRESENT, SIZES), parts=3, **_BY_PLACE)
firsts = Kernel(lambda question: _end(question, last=False), *_AT_END, parts=3, **_BY_PLACE)
lasts = Kernel(lambda question: _end(question, last=True), *_AT_END, parts=3, **_BY_PLACE)
nths = Kernel(_nth, *_AT_END, **_BY_PLACE)
