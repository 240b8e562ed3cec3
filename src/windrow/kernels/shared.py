"""Many queries over the same rows: one set of slices, one FlatFIT (paper 002).

The rows are cut wherever a window of any query begins or ends. Each slice is aggregated once, and
one FlatFIT over the slices gives the results of all windows that end at an edge, the longest first:

    query 0     ├───────────────┤
    query 1        ├────────┤
    query 2                 ├───────┤
    slices      ├──┼────────┼───┼───┤

A result is that of its query alone: to the bit where the aggregation is exact, and to rounding
otherwise, since its ⊕ are grouped in another way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation, check_aggregation
from windrow.algorithms.base import NOTHING
from windrow.errors import InvalidArgument
from windrow.kernels.aggregate import Inputs, Nulls, aggregate, with_least
from windrow.kernels.columns import NO_NULLS, Column, any_null
from windrow.kernels.compiled_states import Compiled, state_of
from windrow.kernels.generate import loop_of
from windrow.kernels.interpreted import packed, without_columns
from windrow.kernels.named import check_sums
from windrow.kernels.results import ResultArray, finished
from windrow.kernels.routes import FLATFIT, route_over, shares, trace
from windrow.kernels.states import States, lowered, with_states_as_results
from windrow.kernels.window_loop import (
    capacity_for,
    output_arrays,
    result_arrays,
    row_results,
    rows_at_once,
)
from windrow.windows.positions import Windows
from windrow.windows.sharing import SliceFlatFit

Positions = NDArray[np.int64]
# How many windows one call computes: their bounds and results then stay in the cache.
_AT_ONCE = 1 << 15
# Fewer bounds than one for this many rows are sorted; others are marked in an array of all rows.
_SPARSE = 64
_NEVER = np.iinfo(np.int64).max


def aggregate_shared(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Sequence[tuple[Positions, Positions]],
    *,
    nulls: Nulls = None,
) -> list[ResultArray]:
    """For each query (lo, hi) the aggregates of its windows [lo, hi) of rows; bounds never fall.

    A ⊕ a row and some 3 a window. As in `aggregate`, aggregations of pairs answer positions. What
    has no state of numbers but a kernel of its own runs one query after the other.

    >>> from windrow import Max
    >>> halves = np.array([0, 3]), np.array([3, 6])
    >>> last_two = np.array([0, 0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 5, 6])
    >>> results = aggregate_shared(Max(), [np.array([3, 1, 2, 5, 4, 0])], [halves, last_two])
    >>> [each.values.tolist() for each in results]
    [[3, 5], [3, 3, 2, 5, 5, 4]]
    """
    check_aggregation(aggregation, "aggregate_shared")
    given, queries = _inputs(aggregation, columns, windows, nulls)
    if not shares(aggregation):
        return [aggregate(aggregation, columns, each, nulls=nulls) for each in queries]
    route = route_over(aggregation, given.columns, sliced=True, kernels=False)
    trace(aggregation, route.name)
    cuts = _Cuts(windows, given.n)
    if route.compiled is None:
        results = _interpreted(without_columns(aggregation), given.values(), cuts)
    else:
        kept = given.numbers
        _check_sums(aggregation, kept, queries)
        results = [
            finished(aggregation, kept[0], out, valid)
            for out, valid in _compiled(aggregation, route.compiled, kept, cuts)
        ]
    gone = given.absent()
    pairs = zip(results, queries, strict=True)
    return [with_least(aggregation, each, gone, windows) for each, windows in pairs]


def shared_states(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Sequence[tuple[Positions, Positions]],
    *,
    nulls: Nulls = None,
) -> list[States]:
    """The same, with the states of the windows for results: tuples of numbers.

    >>> from windrow import Mean
    >>> halves = np.array([0, 3]), np.array([3, 6])
    >>> (states,) = shared_states(Mean(), [np.array([3, 1, 2, 5, 4, 0])], [halves])
    >>> [field.tolist() for field in states.fields]
    [[0, 0], [6, 9], [3, 3]]
    """
    given, queries = _inputs(aggregation, columns, windows, nulls)
    kept = given.numbers
    _check_sums(aggregation, kept, queries)
    compiled = with_states_as_results(state_of(aggregation, [str(c.data.dtype) for c in kept]))
    written = _compiled(aggregation, compiled, kept, _Cuts(windows, given.n))
    return [States(out, None if valid.all() else valid == 0) for out, valid in written]


def derived_results(
    aggregation: Aggregation,
    source: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    states: States,
    *,
    nulls: Nulls = None,
) -> ResultArray:
    """The results of an aggregation over windows, derived from the states that `source` has."""
    trace(aggregation, FLATFIT)
    given = Inputs(aggregation, columns, nulls, windows.n)
    dtypes = [str(c.data.dtype) for c in given.numbers]
    results = lowered(aggregation, source, dtypes, states)
    return with_least(aggregation, results, given.absent(), windows)


def _inputs(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Sequence[tuple[Positions, Positions]],
    nulls: Nulls,
) -> tuple[Inputs, list[Windows]]:
    """What goes in, and the windows of each query, checked."""
    n = len(columns[0]) if columns else 0
    given = Inputs(aggregation, columns, nulls, n)
    for i, (lo, hi) in enumerate(windows):
        _check_bounds(f"windows[{i}]", lo, hi, n)
    one = np.array([0, n])
    return given, [Windows(one, lo=lo, hi=hi) for lo, hi in windows]


def _check_sums(aggregation: Aggregation, kept: list[Column], queries: list[Windows]) -> None:
    for i, each in enumerate(queries):
        check_sums(aggregation, kept[0].data, kept[0].nulls, each, of=f" of query {i}")


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


def _compiled(
    aggregation: Aggregation, compiled: Compiled, columns: list[Column], cuts: _Cuts
) -> list[tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]]:
    """What the compiled loop writes for each query, and where there is a result.

    The rows of sketches become results chunk by chunk.
    """
    data = tuple(c.data for c in columns)
    mask = any_null(columns)
    nulls = NO_NULLS if mask is None else mask
    dtypes = [str(d.dtype) for d in data]
    sketch = compiled if isinstance(compiled, RowAlgebra) else None
    at_once = _AT_ONCE if sketch is None else min(_AT_ONCE, rows_at_once(sketch))
    loop = loop_of("shared", aggregation, compiled, dtypes, "range", nulls.size > 0)
    cursors, buffers = loop.start(capacity_for(cuts.longest))
    outs = [result_arrays(compiled, lo.size) for lo, _ in cuts.windows]
    valids = [np.ones(lo.size, np.uint8) for lo, _ in cuts.windows]
    for chunk in cuts.chunks(at_once):
        lo, hi, turns, later = cuts.in_slices(chunk)
        written, valid = output_arrays(compiled, lo.size), np.ones(lo.size, np.uint8)
        loop.run(
            0, lo.size, 0, later, lo, hi, data, nulls, cursors, *buffers[:4],
            cuts.edges, turns[:-1].copy(), turns[1:], written, valid,
        )  # fmt: skip
        for out, valid_out, here, (a, b) in zip(
            outs, valids, chunk, itertools.pairwise(turns.tolist()), strict=True
        ):
            valid_out[here] = valid[a:b]
            parts = tuple(o[here] for o in out)
            if sketch is not None:
                row_results(aggregation, sketch, written[0][a:b], parts, valid[a:b])
            else:
                for part, each in zip(parts, written, strict=True):
                    part[:] = each[a:b]
    return list(zip(outs, valids, strict=True))


def _interpreted(aggregation: Aggregation, values: list[Any], cuts: _Cuts) -> list[ResultArray]:
    """The same on values of Python's own: strings, lists, and functions that do not compile."""
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
    slices = SliceFlatFit(aggregation)
    end = 0
    results: list[list[Any]] = [[None] * lo.size for lo, _ in cuts.windows]
    for (past, first, query, i), floor in zip(due, floors, strict=True):
        end = max(end, floor)
        slices.keep(end - floor)
        while end < past:
            slices.append(slices.folded(values[edges[end] : edges[end + 1]]))
            end += 1
        state = slices.newest(past - first)
        state = aggregation.identity if state is NOTHING else state
        results[query][i] = aggregation.lower(state)
    return [packed(aggregation, each) for each in results]


# -- what goes in --------------------------------------------------------------------------------


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
