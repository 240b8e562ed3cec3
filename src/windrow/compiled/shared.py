"""Many queries over the same rows: one set of slices, one FlatFIT (paper 002).

The rows are cut wherever a window of any query begins or ends. Each slice is aggregated once, and
one FlatFIT over the slices answers all windows that end at an edge, the longest first:

    query 0     ├───────────────┤
    query 1        ├────────┤
    query 2                 ├───────┤
    slices      ├──┼────────┼───┼───┤

An answer is that of its query alone: to the bit where the aggregation is exact, and to rounding
otherwise, since its ⊕ are grouped in another way.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation, check_aggregation
from windrow.aggregations.custom import Custom
from windrow.aggregations.kinds import OrderedPairs
from windrow.aggregations.sums import Sum
from windrow.algorithms.base import NOTHING
from windrow.compiled.answers import Answers, Riding, finished
from windrow.compiled.columns import NO_NULLS, Column, column
from windrow.compiled.custom import NotCompilable, custom_monoid
from windrow.compiled.generate import CURSORS, Kernel, dtype_of, kernel
from windrow.compiled.interpreted import NotCompiledWarning, objects, packed
from windrow.compiled.monoids import Monoid, monoid
from windrow.compiled.rollers import _check_types
from windrow.compiled.rows import Rows
from windrow.compiled.segments import Masks, Windows, _mask, _runs, aggregate
from windrow.compiled.sketches import RowsLoop, sketched
from windrow.errors import InvalidArgument
from windrow.windows.sharing import Slices

Positions = NDArray[np.int64]
# So many windows are answered in one call: their bounds and answers then stay in the cache.
_AT_ONCE = 1 << 15
_BYTES = 1 << 22
# Where there are fewer bounds than a row in so many they are sorted, else marked in an array of n.
_SPARSE = 64
# These have kernels of their own for the windows of one query.
_FAST = ("Max", "Min", "Range", "ArgMax", "ArgMin", "Sum", "Mean", "Count")
_NEVER = np.iinfo(np.int64).max


def aggregate_shared(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Sequence[tuple[Positions, Positions]],
    *,
    nulls: Sequence[NDArray[np.bool_] | None] | None = None,
) -> list[Answers]:
    """For each query (lo, hi) the aggregates of its windows [lo, hi) of rows; bounds never fall.

    A ⊕ a row and some 3 a window; `worth_sharing` tells whether that is less than one query after
    the other. As in `aggregate`, ArgMax, ArgMin and LongestRun answer positions. CountDistinct has
    no state that is worth sharing: its queries run one by one.

    >>> from windrow import Max
    >>> halves = np.array([0, 3]), np.array([3, 6])
    >>> last_two = np.array([0, 0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 5, 6])
    >>> answers = aggregate_shared(Max(), [np.array([3, 1, 2, 5, 4, 0])], [halves, last_two])
    >>> [each.values.tolist() for each in answers]
    [[3, 5], [3, 3, 2, 5, 5, 4]]
    """
    check_aggregation(aggregation, "aggregate_shared")
    masks: Masks = [None] * len(columns) if nulls is None else list(nulls)
    n = _check_columns(aggregation, columns, masks)
    for i, (lo, hi) in enumerate(windows):
        _check_bounds(f"windows[{i}]", lo, hi, n)
    name = type(aggregation).__name__
    if name == "CountDistinct":  # its kernel knows when a value leaves; sets do not
        one = np.array([0, n])
        return [
            aggregate(aggregation, columns, Windows(one, lo=lo, hi=hi), nulls=nulls)
            for lo, hi in windows
        ]
    cuts = _Cuts(windows, n)
    if name == "Count":  # it looks at no value
        mask = _mask(columns[0], masks[0]) if aggregation.columns else None
        given: list[Column | None] = [Column(np.zeros(n, np.int64), mask, np.dtype(np.int64))]
    else:
        given = [
            column(array, mask, "value", f"columns[{i}]")
            for i, (array, mask) in enumerate(zip(columns, masks, strict=True))
        ]
    compiled = [c for c in given if c is not None]
    answers = _compiled(aggregation, compiled, cuts) if len(compiled) == len(given) else None
    return answers or _interpreted(aggregation, columns, masks, cuts)


def worth_sharing(aggregation: Aggregation, queries: int, rows: int, windows: int) -> bool:
    """Whether the windows of so many queries, all counted, are answered faster together. O(1).

    Each query but the first saves a pass over the rows; but each window costs tens of nanoseconds,
    since FlatFIT is led by pointers, and alone it would not. As measured, a window must save 32
    rows where a query has a kernel of its own, and 4 where it runs Two-Stacks. So hopping windows
    share and windows of every row do not.

    >>> from windrow import Max
    >>> worth_sharing(Max(), 5, rows=10**6, windows=10**5)
    True
    >>> worth_sharing(Max(), 5, rows=10**6, windows=5 * 10**6)
    False
    """
    name = type(aggregation).__name__
    saved = 32 if name in _FAST else 4
    return name != "CountDistinct" and saved * windows <= (queries - 1) * rows


class _Cuts:
    """The rows, cut where any window begins or ends; positions become numbers of slices."""

    def __init__(self, windows: Sequence[tuple[Positions, Positions]], n: int) -> None:
        self.windows = windows
        self.rank: NDArray[Any] | None = None
        bounds = [bound for pair in windows for bound in pair]
        if sum(bound.size for bound in bounds) < n // _SPARSE:
            self.edges: Positions = np.unique(np.concatenate([np.empty(0, np.int64), *bounds]))
        else:
            edge = np.zeros(n + 1, np.bool_)
            for bound in bounds:
                edge[bound] = True
            self.edges = np.flatnonzero(edge)
            self.rank = np.cumsum(edge, dtype=np.int32 if n < 2**31 else np.int64)
            self.rank -= 1
        lengths = ((self.slices(hi) - self.slices(lo), hi - lo) for lo, hi in windows if lo.size)
        most = [(int(in_slices.max()), int(in_rows.max())) for in_slices, in_rows in lengths]
        self.longest, self.longest_in_rows = map(max, zip((1, 1), *most, strict=True))

    def slices(self, positions: Positions) -> NDArray[Any]:
        """The numbers of the slices that begin at these edges."""
        if self.rank is not None:
            return self.rank[positions]
        return np.searchsorted(self.edges, positions)

    def chunks(self, at_once: int) -> Iterator[list[slice]]:
        """The windows in the order of their ends, about so many at a time: a slice a query.

        Windows of one end stay together, so that no later one ends where an earlier one did.
        """
        sizes = [lo.size for lo, _ in self.windows]
        each = max(1, at_once // max(1, len(sizes)))
        done = [0] * len(sizes)
        while done != sizes:
            ends = [
                int(hi[at + each - 1])
                for (_, hi), at in zip(self.windows, done, strict=True)
                if at + each < hi.size
            ]
            stop = min(ends, default=_NEVER)
            past = [
                at + int(np.searchsorted(hi[at:], stop, side="right"))
                for (_, hi), at in zip(self.windows, done, strict=True)
            ]
            yield [slice(*pair) for pair in zip(done, past, strict=True)]
            done = past

    def in_slices(self, chunk: list[slice]) -> tuple[Positions, Positions, Positions, int]:
        """A chunk's lo and hi, where each query's begin, and the first slice of later windows."""
        lo, hi = (
            np.concatenate(
                [self.slices(w[k][here]) for w, here in zip(self.windows, chunk, strict=True)]
            ).astype(np.int64, copy=False)
            for k in (0, 1)
        )
        turns = np.cumsum([0, *(here.stop - here.start for here in chunk)], dtype=np.int64)
        later = [
            int(self.slices(w[0][here.stop : here.stop + 1])[0])
            for w, here in zip(self.windows, chunk, strict=True)
            if here.stop < w[0].size
        ]
        return lo, hi, turns, min(later, default=_NEVER)


# -- the ways ------------------------------------------------------------------------------------


def _compiled(aggregation: Aggregation, columns: list[Column], cuts: _Cuts) -> list[Answers] | None:
    """The compiled loop; None, and a warning for one's own functions, if it does not compile."""
    _check_types(aggregation, columns[0])
    sketch = sketched(aggregation, columns[0], None, "shared", columns[0].nulls is not None)
    if sketch is not None:
        return _sketches(sketch, columns[0], cuts)
    dtypes = tuple(str(c.data.dtype) for c in columns)
    if not isinstance(aggregation, Custom):
        found = monoid(aggregation, dtypes[0], False)
        return None if found is None else _numbers(aggregation, found, columns, cuts)
    try:
        own = custom_monoid(aggregation, dtypes)
    except NotCompilable as error:
        warnings.warn(
            f"{aggregation!r} runs in the interpreter, far slower than compiled: {error}",
            NotCompiledWarning,
            stacklevel=3,
        )
        return None
    return _numbers(aggregation, own, columns, cuts)


def _numbers(
    aggregation: Aggregation, compiled: Monoid, columns: list[Column], cuts: _Cuts
) -> list[Answers]:
    """States that are tuples of numbers."""
    _check_overflow(aggregation, columns[0], cuts)
    data = tuple(c.data for c in columns)
    masks = [c.nulls for c in columns if c.nulls is not None]
    nulls = np.bitwise_or.reduce(masks) if masks else NO_NULLS
    dtypes = tuple(str(d.dtype) for d in data)
    loop = kernel("shared", compiled, dtypes, "range", nulls.size > 0, aggregation.commutative)
    outs, valids = _outs(loop, cuts)
    for k, here, made, valid in _sweep(loop, data, nulls, cuts, _AT_ONCE):
        valids[k][here] = valid
        for out, part in zip(outs[k], made, strict=True):
            out[here] = part
    ddof = getattr(aggregation, "ddof", 0)
    if ddof:  # a sample of so few has no variance: null, where the loop says NaN
        for (lo, hi), valid in zip(cuts.windows, valids, strict=True):
            valid[_present(lo, hi, nulls) <= ddof] = 0
    riding = Riding([], aggregation)
    return [
        finished(aggregation, columns[0], riding, out, valid)
        for out, valid in zip(outs, valids, strict=True)
    ]


def _present(lo: Positions, hi: Positions, nulls: NDArray[np.uint8]) -> Positions:
    """How many values of each window are not null."""
    if not nulls.size:
        return hi - lo
    before = np.zeros(nulls.size + 1, np.int64)
    np.cumsum(nulls == 0, out=before[1:])
    return before[hi] - before[lo]


def _sketches(sketch: RowsLoop, values: Column, cuts: _Cuts) -> list[Answers]:
    """States that are rows: their answers become objects or numbers chunk by chunk."""
    width = sketch.sketch.out_width * np.dtype(sketch.sketch.out_dtype).itemsize
    at_once = max(1, min(_AT_ONCE, _BYTES // width))
    nulls = NO_NULLS if values.nulls is None else values.nulls
    outs, valids = _outs(sketch.kernel, cuts)
    for k, here, made, valid in _sweep(sketch.kernel, (values.data,), nulls, cuts, at_once):
        sketch._finish(made, tuple(out[here] for out in outs[k]), valid)
        valids[k][here] = valid
    return [
        finished(sketch.aggregation, values, sketch.riding, out, valid)
        for out, valid in zip(outs, valids, strict=True)
    ]


def _outs(loop: Kernel, cuts: _Cuts) -> tuple[list[Any], list[NDArray[np.uint8]]]:
    """Where the answers of each query go."""
    types = [dtype_of(output) for output in loop.monoid.outputs]
    outs = [tuple(np.zeros(lo.size, dtype) for dtype in types) for lo, _ in cuts.windows]
    return outs, [np.ones(lo.size, np.uint8) for lo, _ in cuts.windows]


def _sweep(
    loop: Kernel, data: tuple[Any, ...], nulls: NDArray[np.uint8], cuts: _Cuts, at_once: int
) -> Iterator[tuple[int, slice, Any, NDArray[np.uint8]]]:
    """Run the loop over all windows: (query, which of its windows, what it wrote, valid)."""
    cursors = np.zeros(CURSORS, np.int64)
    cursors[2] = capacity = max(4, 1 << (cuts.longest - 1).bit_length())
    partials, spare, pointers, passed, *_ = loop.buffers(capacity)
    for chunk in cuts.chunks(at_once):
        lo, hi, turns, later = cuts.in_slices(chunk)
        made = _room(loop, lo.size)
        valid = np.ones(lo.size, np.uint8)
        loop.run(
            0, lo.size, 0, later, lo, hi, data, nulls, cursors, partials, spare, pointers, passed,
            cuts.edges, turns[:-1].copy(), turns[1:], made, valid,
        )  # fmt: skip
        for k, here in enumerate(chunk):
            part = slice(int(turns[k]), int(turns[k + 1]))
            rows = made[part] if isinstance(loop.monoid, Rows) else tuple(m[part] for m in made)
            yield k, here, rows, valid[part]


def _room(loop: Kernel, size: int) -> Any:
    """Where the loop writes the answers of `size` windows."""
    if isinstance(loop.monoid, Rows):
        return np.empty((size, loop.monoid.out_width), loop.monoid.out_dtype)
    return tuple(np.empty(size, dtype_of(output)) for output in loop.monoid.outputs)


def _interpreted(
    aggregation: Aggregation, columns: Sequence[NDArray[Any]], masks: Masks, cuts: _Cuts
) -> list[Answers]:
    """The same on values of Python's own: strings, lists, and functions that do not compile."""
    aggregation = copy.copy(aggregation)
    aggregation.columns = ()  # it gets the values themselves
    values = objects(columns, [_mask(a, m) for a, m in zip(columns, masks, strict=True)])
    if isinstance(aggregation, OrderedPairs):
        values = list(zip(values, range(len(values)), strict=True))
    due = sorted(
        (past, first, query, i)
        for query, (lo, hi) in enumerate(cuts.windows)
        for i, (first, past) in enumerate(
            zip(cuts.slices(lo).tolist(), cuts.slices(hi).tolist(), strict=True)
        )
    )
    # what the windows from here on ask for: nothing before may stop a value of another kind
    floors = list(itertools.accumulate(reversed([first for _, first, _, _ in due]), min))[::-1]
    edges = cuts.edges.tolist()
    slices = Slices(aggregation)
    end = 0
    answers: list[list[Any]] = [[None] * lo.size for lo, _ in cuts.windows]
    for (past, first, query, i), floor in zip(due, floors, strict=True):
        end = max(end, floor)
        slices.keep(end - floor)
        while end < past:
            slices.append(slices.folded(values[edges[end] : edges[end + 1]]))
            end += 1
        state = slices.newest(past - first)
        state = aggregation.identity if state is NOTHING else state
        answers[query][i] = aggregation.lower(state)
    pack = _runs if type(aggregation).__name__ == "LongestRun" else packed
    return [pack(each) for each in answers]


# -- what goes in --------------------------------------------------------------------------------


def _check_columns(aggregation: Aggregation, columns: Sequence[Any], masks: Masks) -> int:
    """The number of rows."""
    wanted = aggregation.arity if isinstance(aggregation, Custom) else 1
    if len(columns) != wanted:
        raise InvalidArgument(f"{aggregation!r} takes {wanted} array(s), got {len(columns)}")
    if len(masks) != len(columns):
        raise InvalidArgument(f"nulls has {len(masks)} entries for {len(columns)} columns")
    lengths = {given.shape for given in (*columns, *masks) if given is not None}
    if len(lengths) > 1:
        raise InvalidArgument(f"columns and nulls differ in shape: {sorted(lengths)}")
    return len(columns[0])


def _check_bounds(name: str, lo: Positions, hi: Positions, n: int) -> None:
    for bound in (lo, hi):
        if bound.dtype != np.int64 or bound.shape != lo.shape or bound.ndim != 1:
            raise InvalidArgument(
                f"{name}: lo and hi must be arrays of int64, as long as each other; got "
                f"{lo.dtype} of {lo.shape} and {hi.dtype} of {hi.shape}"
            )
        if (bound[1:] < bound[:-1]).any():
            raise InvalidArgument(f"{name}: neither lo nor hi may fall")
    if lo.size and not (lo[0] >= 0 and hi[-1] <= n and (lo <= hi).all()):
        raise InvalidArgument(f"{name} must have 0 ≤ lo ≤ hi ≤ {n}, the number of rows")


def _check_overflow(aggregation: Aggregation, values: Column, cuts: _Cuts) -> None:
    """An integer sum is exact: refuse one that int64 does not hold."""
    whole = type(aggregation).__name__ in ("Sum", "Mean") and values.data.dtype == np.int64
    data = values.data
    if not whole or not data.size:
        return
    largest = max(abs(int(data.max())), abs(int(data.min())))
    if largest * cuts.longest_in_rows < 2**63:
        return
    # Two halves of 32 bits cannot overflow, and tell whether the whole does.
    halves = data >> 32, data & 0xFFFFFFFF
    sums = [_compiled(Sum(), [Column(half, values.nulls, half.dtype)], cuts) for half in halves]
    for i, (high, low) in enumerate(zip(*(each or [] for each in sums), strict=True)):
        total = high.values + (low.values >> 32)
        over = np.flatnonzero((total < -(2**31)) | (total >= 2**31))
        if over.size:
            raise OverflowError(
                f"{aggregation!r}: the sum of window {int(over[0])} of query {i} exceeds int64; "
                f"convert the values to float64"
            )
