"""Aggregates of windows over many segments at once: the rows of all keys, one key after another.

Rows are sorted by key and, within a key, by their order. A segment is the rows of one key, and no
window reaches over its ends; so the windows of all segments, one segment after another, begin and
end at positions that never fall, and one pass answers them all, without a call for each key.

    key          a a a a b c c c c c c d d
    starts       0       4 5           11      13
    windows      ╞═╡ ╞═══╡ ╞═════╡     ╞═╡
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation, check_aggregation, is_null
from windrow.aggregations.count import Count
from windrow.aggregations.custom import Custom
from windrow.aggregations.kinds import OrderedPairs
from windrow.aggregations.variance import Variance
from windrow.compiled.answers import Answers
from windrow.compiled.batch import Batch
from windrow.compiled.bounds import segment_bounds
from windrow.compiled.columns import Column, column
from windrow.compiled.custom import NotCompilable, custom_monoid
from windrow.compiled.hops import hop_bounds
from windrow.compiled.interpreted import NotCompiledWarning, objects, over_windows, packed
from windrow.compiled.kernels.places import bounded_first, bounded_last
from windrow.compiled.looped import looped
from windrow.compiled.monoids import monoid
from windrow.compiled.rollers import _check_types
from windrow.compiled.segmentation import Piece, Windows, in_threads
from windrow.compiled.segmented import segmented_answers
from windrow.compiled.sketches import sketched
from windrow.errors import InvalidArgument, whole_number

__all__ = [
    "Answers",
    "Windows",
    "aggregate",
    "hop_bounds",
    "positions_of_ends",
    "segment_bounds",
]

Masks = list[NDArray[np.bool_] | None]

_FINER = ("ns", "ps", "fs", "as")  # than the times of Python


def aggregate(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    *,
    nulls: Sequence[NDArray[np.bool_] | None] | None = None,
    threads: int = 1,
) -> Answers:
    """The aggregate of each window, with nulls apart; O(1) a row for what compiles.

    `nulls` marks the values of each column that are null, besides NaT and None; a NaN is a value.
    ArgMax, ArgMin and LongestRun take the measures alone and answer positions. The bits of the
    answers do not depend on `threads`.

    >>> from windrow import ArgMax, Max
    >>> loads, windows = np.array([3, 1, 2, 5, 4]), Windows(np.array([0, 3, 5]), rows=2)
    >>> aggregate(Max(), [loads], windows).values
    array([3, 3, 2, 5, 5])
    >>> aggregate(ArgMax(), [loads], windows).values
    array([0, 0, 2, 3, 3])
    """
    check_aggregation(aggregation, "aggregate")
    threads = whole_number("threads", threads, least=1)
    masks: Masks = [None] * len(columns) if nulls is None else list(nulls)
    _check_columns(aggregation, columns, masks, windows)
    masks = [mask if mask is not None and mask.any() else None for mask in masks]
    name = type(aggregation).__name__
    if name == "Count":
        mask = _mask(columns[0], masks[0]) if aggregation.columns and columns else None
        return _counts(mask, windows, threads)
    if name in ("First", "Last"):
        return _end(columns[0], _mask(columns[0], masks[0]), windows, last=name == "Last")
    given = [
        column(array, mask, "value", f"columns[{i}]")
        for i, (array, mask) in enumerate(zip(columns, masks, strict=True))
    ]
    compiled = [c for c in given if c is not None]
    if len(compiled) < len(given):
        return _interpreted(aggregation, columns, masks, windows)
    _check_types(aggregation, compiled[0])
    made = (
        segmented_answers(aggregation, compiled[0], windows, threads)
        or _sketched(aggregation, compiled[0], windows, threads)
        or _looped(aggregation, compiled, windows, threads)
        or _interpreted(aggregation, columns, masks, windows)
    )
    if isinstance(aggregation, Variance) and aggregation.ddof:
        return _of_samples(made, compiled[0].nulls, windows, threads)
    return made


def positions_of_ends(
    windows: Windows, nulls: NDArray[np.bool_] | None = None, *, last: bool
) -> Answers:
    """The position of each window's first row that is not null, or its last. O(rows + windows).

    >>> windows = Windows(np.array([0, 3]), rows=2)
    >>> positions_of_ends(windows, np.array([False, True, False]), last=False).values
    array([0, 0, 2])
    """
    made = np.empty(len(windows), np.int64)
    marks = np.zeros(windows.n, np.uint8) if nulls is None else nulls.astype(np.uint8)
    cursors = np.array([-1, 0])
    for here, lo, hi in windows.in_slices(Piece(0, len(windows))):
        (bounded_last if last else bounded_first)(marks, lo, hi, cursors, made[here])
    missing = made < 0
    made[missing] = 0
    return Answers(made, missing if missing.any() else None)


# -- the ways ------------------------------------------------------------------------------------


def _counts(nulls: NDArray[np.uint8] | None, windows: Windows, threads: int) -> Answers:
    """How many rows of each window are not null."""
    rows = Column(np.empty(0, np.int64), nulls, np.dtype(np.int64))
    counted = segmented_answers(Count("rows"), rows, windows, threads)
    assert counted is not None
    return counted


def _of_samples(
    made: Answers, nulls: NDArray[np.uint8] | None, windows: Windows, threads: int
) -> Answers:
    """Variances with null for a sample of one, for which the kernels have NaN."""
    if windows.rows is None or nulls is not None:
        alone = _counts(nulls, windows, threads).values <= 1
    else:
        alone = np.full(len(windows), windows.rows == 1)
        first = windows.starts[:-1][np.diff(windows.starts) > 0] - windows.first
        alone[first[first >= 0]] = True
    return Answers(made.values, alone if alone.any() else None)


def _end(values: NDArray[Any], nulls: NDArray[Any] | None, windows: Windows, last: bool) -> Answers:
    """First and Last of anything, by position."""
    found = positions_of_ends(windows, nulls, last=last)
    if not windows.n:
        return Answers(np.zeros(len(windows), values.dtype), found.missing)
    made = values[found.values]
    if values.dtype == object and found.missing is not None:
        made[found.missing] = None
    return Answers(made, found.missing)


def _sketched(
    aggregation: Aggregation, values: Column, windows: Windows, threads: int
) -> Answers | None:
    """The sketches' loops, slice by slice; None if it is none."""
    if sketched(aggregation, values, None, "auto", values.nulls is not None) is None:
        return None
    pieces = windows.pieces(threads, anywhere=aggregation.exact)
    begins = [p.begin for p in pieces if p.split is None]
    made: dict[int, Answers] = {}

    def run(begin: int) -> None:
        stop = next((b for b in begins if b > begin), len(windows))
        loop = sketched(aggregation, values, None, "auto", values.nulls is not None)
        assert loop is not None
        lo, hi = windows.bounds_of(begin, stop)
        loop.cursors[[0, 1, 3]] = lo[0] if lo.size else 0
        made[begin] = loop.roll(Batch([values], 0, [], True, 0, lo.size, lo, hi))

    in_threads(run, begins)
    return _joined([made[begin] for begin in begins])


def _joined(pieces: list[Answers]) -> Answers:
    if len(pieces) == 1:
        return pieces[0]
    missing = None
    if any(p.missing is not None for p in pieces):
        none = [np.zeros(p.values.size, np.bool_) for p in pieces]
        missing = np.concatenate(
            [n if p.missing is None else p.missing for p, n in zip(pieces, none, strict=True)]
        )
    return Answers(np.concatenate([p.values for p in pieces]), missing)


def _looped(
    aggregation: Aggregation, columns: list[Column], windows: Windows, threads: int
) -> Answers | None:
    """The compiled loop; None, and a warning for one's own functions, if it does not compile."""
    if isinstance(aggregation, Custom):
        try:
            own = custom_monoid(aggregation, tuple(str(c.data.dtype) for c in columns))
        except NotCompilable as error:
            warnings.warn(
                f"{aggregation!r} runs in the interpreter, far slower than compiled: {error}",
                NotCompiledWarning,
                stacklevel=3,
            )
            return None
        return looped(aggregation, own, columns, windows, threads)
    compiled = monoid(aggregation, str(columns[0].data.dtype), False)
    return None if compiled is None else looped(aggregation, compiled, columns, windows, threads)


def _interpreted(
    aggregation: Aggregation, columns: Sequence[NDArray[Any]], masks: Masks, windows: Windows
) -> Answers:
    """The algorithm in the interpreter, on values of Python's own."""
    unbound = copy.copy(aggregation)
    unbound.columns = ()  # it gets the values themselves
    gone = [_mask(a, m) for a, m in zip(columns, masks, strict=True)]
    values = objects([_fine_times(array) for array in columns], gone)
    if isinstance(aggregation, OrderedPairs):
        values = list(zip(values, range(len(values)), strict=True))
    made = over_windows(unbound, values, *windows.bounds())
    if type(aggregation).__name__ == "LongestRun":
        return _runs(made)
    return packed(made)


def _fine_times(array: NDArray[Any]) -> NDArray[Any]:
    """Times finer than Python's as NumPy's own, which a list would have as whole numbers."""
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] not in (
        "ns",
        "ps",
        "fs",
        "as",
    ):
        return array
    made = np.empty(array.size, object)
    made[:] = list(array)
    return made


def _runs(made: list[Any]) -> Answers:
    """Runs as the compiled loop gives them."""
    table = np.zeros(len(made), [(name, np.int64) for name in ("start", "end", "length", "span")])
    for i, run in enumerate(made):
        if run is not None:
            table[i] = tuple(run)
    missing = np.array([run is None for run in made], np.bool_)
    return Answers(table, missing if missing.any() else None)


# -- what goes in --------------------------------------------------------------------------------


def _check_columns(
    aggregation: Aggregation, columns: Sequence[Any], masks: Masks, windows: Windows
) -> None:
    name = type(aggregation).__name__
    wanted = aggregation.arity if isinstance(aggregation, Custom) else 1
    if len(columns) != wanted and name != "Count":
        raise InvalidArgument(f"{aggregation!r} takes {wanted} array(s), got {len(columns)}")
    if len(masks) != len(columns):
        raise InvalidArgument(f"nulls has {len(masks)} entries for {len(columns)} columns")
    for i, (array, mask) in enumerate(zip(columns, masks, strict=True)):
        for what, given in (("columns", array), ("nulls", mask)):
            if given is not None and given.shape != (windows.n,):
                raise InvalidArgument(
                    f"{what}[{i}] has shape {given.shape}; the windows are over {windows.n} rows"
                )


def _mask(array: NDArray[Any], given: NDArray[np.bool_] | None) -> NDArray[np.uint8] | None:
    """Which values are null, by themselves or as given; None if none is."""
    own = None
    if array.dtype.kind in "mM":
        own = np.isnat(array)
    elif array.dtype == object:
        own = np.fromiter(map(is_null, array), np.bool_, array.size)
    mask = own if given is None else given if own is None else own | given
    return None if mask is None or not mask.any() else mask.view(np.uint8)
