"""Where the rows of a frame, or of a hot key, are cut along the order, and aggregates of bins.

A group is the rows that are cut together: all of the frame, or those of one hot key. Where to cut,
and what lies between, is found by jobs that run when the query meets the frame:

    rows, last value of the order    one pass, for all groups
    quantiles of the order           one pass over a sample, for all groups
    rows of each bin                 one pass, for windows that count rows
    aggregates of whole bins         one pass, if windows are longer than a range

Spark aggregates the bins itself where it can and the order of rows does not matter, else workers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from windrow.spark.columns import column, ticks_axis, unused
from windrow.spark.cuts import (
    BINS,
    RangeCuts,
    cut_by_count,
    cut_by_size,
    cut_frame_by_count,
    cut_frame_by_size,
    joined_cuts,
)
from windrow.spark.keys import is_smaller
from windrow.spark.slices import native_states
from windrow.spark.workers import Batches, arrow_result, in_arrow
from windrow.streams.step import states_by_key
from windrow.tables.bind import Bound
from windrow.tables.states import StateColumns, states_of

# A range of fewer rows is not worth its task; one of more, held as a whole, would fill a worker.
FEWEST, MOST = 1 << 16, 1 << 21
SAMPLE = 0.05  # of the rows, for the quantiles
_MOST_RANGES = 64
# Ranges that a row goes to where windows have no middle; if there were more, rows are not cut.
_MOST_COPIES = 4
_GRID = 256  # quantiles that are asked for
BIN = "windrow_bin"


@dataclass(frozen=True)
class Group:
    """A sequence of rows, its cuts, and the numbers of its first range and bin among all."""

    number: int
    cuts: RangeCuts
    before: tuple[int, ...]  # how many rows lie before each bin, if windows count rows
    range: int = 0
    bin: int = 0


@dataclass(frozen=True)
class Ranges:
    """Where the rows of a frame are cut: a group for all of them, or for each hot key."""

    groups: tuple[Group, ...]
    at: Any  # the order as a number, an expression
    which: Any  # the number of a row's group, as an expression; null for all other rows

    @property
    def count(self) -> int:
        """How many ranges there are."""
        return sum(group.cuts.ranges for group in self.groups)

    @property
    def bin(self) -> Any:
        """The number of a row's bin among all, as an expression; null for a row of no group."""
        placed = {group.number: (group.cuts.edges, group.bin) for group in self.groups}
        return _bin_of(self.at, self.which, placed)


@dataclass(frozen=True)
class Seen:
    """Of a group: how many rows it has, its last value of the order, and quantiles of a sample."""

    number: int | None  # None for the rows of no group
    rows: int
    top: Any
    grid: list[Any] | None


def may_be_cut(frame: Any) -> bool:
    """Whether a frame may have the rows of a range, as far as Spark's plan knows; it runs no job.

    A row has 16 bytes at least. Of files Spark knows the size on disk: such a frame may have more
    rows, which one task goes through in a second.
    """
    return not is_smaller(frame, 16 * FEWEST)


def cut(bounds: Sequence[Bound], frame: Any, at: Any, which: Any, tasks: int) -> Ranges | None:
    """Return how the rows of each group, which `which` numbers, are cut; None if it does not pay.

    Rows of no group, for which `which` is null, are counted: a group gets its share of the tasks.
    """
    seen = _seen(bounds[0], frame, at, which)
    total = sum(group.rows for group in seen)
    edges, ranges, tops = {}, {}, {}
    for group in seen:
        if group.number is None or group.top is None:
            continue
        parts = max(_ranges(bound, group, total, tasks) for bound in bounds)
        ends = _edges(group.grid, parts)
        if parts > 1 and ends:
            i = group.number
            edges[i], ranges[i], tops[i] = ends, parts, group.top
    counts: dict[int, list[int]] = {i: [] for i in edges}
    if any(bound.query.window.reach_rows is not None for bound in bounds):
        counts = _counts(frame, at, which, edges)
    groups: list[Group] = []
    first_range = first_bin = 0
    for i in sorted(edges):
        cuts = joined_cuts([_cut(b, edges[i], counts[i], ranges[i], tops[i]) for b in bounds])
        if cuts is None or (cuts.behind and cuts.copies > _MOST_COPIES):
            continue
        if cuts.ranges > 1:
            before = tuple(accumulate(counts[i], initial=0)) if counts[i] else ()
            groups.append(Group(i, cuts, before, first_range, first_bin))
            first_range, first_bin = first_range + cuts.ranges, first_bin + len(cuts.owner)
    return Ranges(tuple(groups), at, which) if groups else None


def _cut(bound: Bound, edges: Any, counts: list[int], ranges: int, top: Any) -> RangeCuts:
    """Return where one query cuts a group."""
    window = bound.query.window
    rows, ahead = window.reach_rows, window.ahead_rows
    if not window.ends_now and rows is not None and ahead is not None:
        return cut_frame_by_count(edges, counts, ranges, rows, ahead)
    if not window.ends_now:
        reach, far = _reach(bound), window.ahead(ticks_axis(bound))
        return cut_frame_by_size(edges, counts, ranges, reach, far, top)
    if rows is not None:
        return cut_by_count(edges, counts, ranges, rows)
    return cut_by_size(edges, counts, ranges, _reach(bound), top, _sure_reach(bound))


def _seen(bound: Bound, frame: Any, at: Any, which: Any) -> list[Seen]:
    """Return what there is to know of each group, by two jobs.

    Quantiles are slow to compute, so they are those of a sample.
    """
    place = at if not pt.is_floating(bound.order_type) else sf.when(~sf.isnan(at), at)
    shares = [(b + 1) / _GRID for b in range(_GRID - 1)]
    placed = frame.select(which.alias("group"), place.alias("at"))
    counted = placed.groupBy("group").agg(
        sf.count(sf.lit(1)).alias("rows"), sf.max("at").alias("top")
    )
    sampled = (
        placed.sample(False, SAMPLE, seed=7)
        .groupBy("group")
        .agg(sf.percentile_approx("at", shares, 10 * _GRID).alias("grid"))
    )
    grids = {row["group"]: row["grid"] for row in sampled.collect()}
    rows = counted.collect()
    return [Seen(r["group"], r["rows"], r["top"], grids.get(r["group"])) for r in rows]


def _ranges(bound: Bound, seen: Seen, total: int, tasks: int) -> int:
    """Return into how many ranges a group is cut: its share of the tasks, or more to fit in memory.

    A range whose windows are shorter than itself is walked through, whatever its length; one with
    longer windows lies in memory as a whole.
    """
    rows, window = seen.rows, bound.query.window
    share = math.ceil(tasks * rows / total)
    if share < 2 and rows < total:  # a key that is not hot after all
        return 1
    parts = max(1, min(share, rows // FEWEST))
    reach = _reach(bound)
    if not window.ends_now:
        return parts
    if window.counts_rows:
        long = window.reach_rows is None or window.reach_rows * parts > rows
    else:
        edges = _edges(seen.grid, parts)
        sure = _sure_reach(bound)
        long = reach is None or cut_by_size(edges, [], parts, reach, seen.top, sure).merges
    if long:  # tasks that run at once end at once
        parts *= math.ceil(rows / MOST / parts)
    return min(_MOST_RANGES, parts)


def _edges(grid: list[Any] | None, ranges: int) -> list[Any]:
    """Return the quantiles that bins end at; many ranges get fewer each, as bins are searched."""
    bins = ranges * max(4, min(BINS, 64 // ranges))
    places = {round((b + 1) * _GRID / bins) - 1 for b in range(bins - 1)}
    return sorted({grid[p] for p in places if 0 <= p < len(grid)}) if grid else []


def _counts(frame: Any, at: Any, which: Any, edges: dict[int, list[Any]]) -> dict[int, list[int]]:
    """Return how many rows there are in each bin of each group, by a job."""
    counts = {i: [0] * (len(ends) + 1) for i, ends in edges.items()}
    if not edges:
        return counts
    placed = {i: (ends, 0) for i, ends in edges.items()}
    binned = frame.select(which.alias("group"), _bin_of(at, which, placed).alias(BIN))
    for row in binned.where(sf.col(BIN).isNotNull()).groupBy("group", BIN).count().collect():
        counts[row["group"]][row[BIN]] = row["count"]
    return counts


def _reach(bound: Bound) -> Any:
    """Return how far windows reach back, in the unit of `ticks`; None for all the way."""
    window = bound.query.window
    return window.reach(ticks_axis(bound)) if window.measured else None


def _sure_reach(bound: Bound) -> Any:
    """Return how far back all windows reach at least, in the unit of `ticks`."""
    window = bound.query.window
    return window.sure_reach(ticks_axis(bound)) if window.measured else None


def _bin_of(at: Any, which: Any, edges: dict[int, tuple[Any, int]]) -> Any:
    """Return the number of a row's bin, as an expression.

    `edges` has those of the bins of each group, and the number of the group's first bin.
    """
    number = sf.lit(None).cast("int")
    for i, (ends, first) in edges.items():
        number = sf.when(which == i, _search(at, ends, first)).otherwise(number)
    return number


def _search(at: Any, edges: Any, first: int) -> Any:
    """Return a binary search that Spark compiles. Null is in the first bin, NaN in the last."""

    def search(low: int, high: int) -> Any:
        if low == high:
            return sf.lit(first + low)
        half = (low + high) // 2
        below, above = search(low, half), search(half + 1, high)
        return sf.when(at < sf.lit(edges[half]), below).otherwise(above)

    return sf.when(at.isNull(), sf.lit(first)).otherwise(search(0, len(edges)))


# -- the aggregates of whole bins ---------------------------------------------------------------


def middles(bound: Bound, frame: Any, ranges: Ranges) -> Any:
    """Return the states of the bins that a range has in its middle; None if none has."""
    groups = ranges.groups
    bins = {group.bin + b for group in groups for middle in group.cuts.middles for b in middle}
    if not bins:
        return None
    parts = states_of([bound])
    wanted = sf.array(*[sf.lit(b in bins) for b in range(max(bins) + 1)])
    name = unused(BIN, frame.columns)
    binned = frame.withColumn(name, ranges.bin).where(sf.get(wanted, sf.col(name)))
    if _reach(bound) is not None:  # rows without a time are in none
        binned = binned.where(ranges.at.isNotNull())
    schema = pa.schema([pa.field(name, pa.int32()), *parts.fields])
    columns = native_states(parts)
    if columns is not None and bound.query.commutative:
        return _sorted(binned.groupBy(name).agg(*columns).toArrow().cast(schema))
    owners = [group.range + p for group in groups for p in group.cuts.owner]
    needed = dict.fromkeys(text for _, part in bound.query.aggregations for text in part.columns)
    spread = (
        binned.repartitionById(ranges.count, sf.get(sf.array(*map(sf.lit, owners)), sf.col(name)))
        .sortWithinPartitions(name, *map(column, bound.query.order_by))
        .select(name, *map(column, needed))
    )
    spark_schema = from_arrow_schema(schema)
    work = Binned(parts, arrow_result(spark_schema))
    return _sorted(in_arrow(spread, work, spark_schema).toArrow())


def _sorted(states: pa.Table) -> pa.Table:
    """Return the states sorted by the numbers of their bins, which are the first column."""
    return states.rename_columns([BIN, *states.column_names[1:]]).sort_by(BIN).combine_chunks()


@dataclass(frozen=True)
class Binned:
    """What a worker runs over rows that are sorted by bin and order: a row for each bin."""

    parts: StateColumns
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """Yield the states of the bins, merged over the batches; bins' numbers come first."""
        held: pa.Table | None = None
        for batch in batches:
            states = self._by_bin(pa.Table.from_batches([batch]))
            held = states if held is None else self._by_bin(pa.concat_tables([held, states]))
        if held is not None:
            yield from held.select(self.schema.names).cast(self.schema).to_batches()

    def _by_bin(self, rows: pa.Table) -> pa.Table:
        return states_by_key(self.parts, rows, [], slices=self.schema.names[0])[0]
