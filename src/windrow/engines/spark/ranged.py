"""No key: the order is cut into ranges that are answered in parallel (see `cuts`).

Spark moves all rows of a window without PARTITION BY to one task. Here each range gets its own
rows, the rows among which its windows begin, and one aggregate for all between. One pass over the
order column says where to cut; it runs when the query meets the frame. If windows are longer than
a range, a second one aggregates the bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from windrow.compiled.segments import Windows
from windrow.engines.answers import Answerer, SortedColumns
from windrow.engines.binding import Bound
from windrow.engines.layout import Layout, laid_already, span_bounds
from windrow.engines.partials import PartialColumns
from windrow.engines.results import columns_of, wanted
from windrow.engines.spark.columns import column, ticks
from windrow.engines.spark.cuts import BINS, Cuts, cut_by_count, cut_by_size
from windrow.engines.spark.schema import arrow_result, in_arrow
from windrow.engines.walk import Walk
from windrow.windows.kinds import NOW, UNBOUNDED, Rows, Span

RANGE, OWN, BIN = "windrow_range", "windrow_own", "windrow_bin"
# A range of fewer rows is not worth its task; one of more would fill a worker's memory.
FEWEST, MOST = 1 << 16, 1 << 22
_SAMPLE, _MOST_RANGES = 0.05, 64
_ENOUGH = 100  # sampled rows for each bin


def can_range(bound: Bound) -> bool:
    """Whether the windows of this query can be put together from ranges."""
    window = bound.query.window
    spans = isinstance(window, Span) or (
        isinstance(window, Rows) and len(bound.query.order_by) == 1
    )
    numeric = spans and not pt.is_string(bound.order_type) and not pt.is_decimal(bound.order_type)
    return numeric and window.per_row and bound.query.emit == "rstream"


def ranged(bound: Bound, frame: Any, schema: Any, tasks: int) -> Any | None:
    """The answers over a DataFrame without keys; None if it is too small to be cut."""
    at = ticks(bound, frame)
    cuts, before = _cut(bound, frame, at, tasks)
    if cuts is None:
        return None
    middle = _middles(bound, frame, at, cuts) if cuts.merges else None
    targets = sf.array(*[sf.array(*map(sf.lit, t)) for t in cuts.targets()])
    spread = (
        frame.select("*", sf.posexplode(sf.element_at(targets, _bin(at, cuts.edges) + 1)))
        .withColumnsRenamed({"pos": OWN, "col": RANGE})
        .repartitionById(cuts.ranges, sf.col(RANGE))
        .sortWithinPartitions(*[column(name) for name in bound.query.order_by])
    )
    work = Ranged(bound, arrow_result(bound, schema), cuts, before, middle)
    return in_arrow(spread, work, schema)


# -- where to cut -------------------------------------------------------------------------------


def _cut(bound: Bound, frame: Any, at: Any, tasks: int) -> tuple[Cuts | None, list[int]]:
    window = bound.query.window
    place = at if not pt.is_floating(bound.order_type) else sf.when(~sf.isnan(at), at)
    seen = frame.select(place.alias("at"), (sf.rand(7) < _SAMPLE).alias("some"))
    total, top, enough = seen.agg(sf.count(sf.lit(1)), sf.max("at"), sf.count_if("some")).first()
    ranges = min(_MOST_RANGES, max(min(tasks, total // FEWEST), math.ceil(total / MOST)))
    if ranges < 2 or top is None:
        return None, []
    shares = [(b + 1) / (ranges * BINS) for b in range(ranges * BINS - 1)]
    some = seen.where("some") if enough >= _ENOUGH * len(shares) else seen
    (quantiles,) = some.agg(sf.percentile_approx("at", shares, 10 * len(shares))).first()
    edges = sorted(set(quantiles))
    if not isinstance(window, Rows) or window.rows is None:
        return cut_by_size(edges, ranges, _reach(bound), top), []
    counted = frame.groupBy(_bin(at, edges).alias(BIN)).count().collect()
    counts = [0] * (len(edges) + 1)
    for row in counted:
        counts[row[BIN]] = row["count"]
    cuts = cut_by_count(edges, counts, ranges, window.rows)
    return cuts, np.concatenate([[0], np.cumsum(counts)]).tolist()


def _reach(bound: Bound) -> Any:
    """How far windows reach back, in the unit of `ticks`; None for all the way."""
    window = bound.query.window
    if not isinstance(window, Span) or window.range == UNBOUNDED:
        return None
    if window.range == NOW:
        return 0
    is_time, size = window.measured()
    return -(-int(size) // 1000) if is_time else size


def _bin(at: Any, edges: Any) -> Any:
    """The bin of a row: a binary search that Spark compiles. Null is in the first, NaN the last."""

    def search(low: int, high: int) -> Any:
        if low == high:
            return sf.lit(low)
        half = (low + high) // 2
        return sf.when(at < sf.lit(edges[half]), search(low, half)).otherwise(
            search(half + 1, high)
        )

    return sf.when(at.isNull(), sf.lit(0)).otherwise(search(0, len(edges)))


# -- the aggregates of whole bins ---------------------------------------------------------------


def _parts(bound: Bound) -> PartialColumns:
    types = {field.name: field.type for field in bound.schema}
    return PartialColumns(bound.query.aggregations, types)


def _middles(bound: Bound, frame: Any, at: Any, cuts: Cuts) -> pa.Table:
    """The partial aggregates of each bin, by its number."""
    parts = _parts(bound)
    window, placed = bound.query.window, sf.lit(True)
    if isinstance(window, Span) and window.range != UNBOUNDED:  # rows without a time are in none
        placed = at.isNotNull()
    owner = sf.array(*map(sf.lit, cuts.owner))
    order = [column(name) for name in bound.query.order_by]
    needed = [column(name) for name in bound.needed]
    schema = pa.schema([pa.field(BIN, pa.int32()), *parts.fields])
    binned = (
        frame.where(placed)
        .select(*needed, _bin(at, cuts.edges).alias(BIN))
        .repartitionById(cuts.ranges, sf.element_at(owner, sf.col(BIN) + 1))
        .sortWithinPartitions(BIN, *order)
    )
    spark_schema = from_arrow_schema(schema)
    work = Binned(parts, to_arrow_schema(spark_schema, timezone="UTC"))
    made = in_arrow(binned, work, spark_schema).toArrow()
    return made.sort_by(BIN)


@dataclass(frozen=True)
class Binned:
    """What a worker runs over rows that are sorted by bin and order: a row for each bin."""

    parts: PartialColumns
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The partial aggregates of the bins, merged over the batches of each."""
        held: pa.Table | None = None
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            made = self._aggregated(rows, merging=False)
            held = made if held is None else self._aggregated(pa.concat_tables([held, made]), True)
        if held is not None:
            yield from held.cast(self.schema).to_batches()

    def _aggregated(self, rows: pa.Table, merging: bool) -> pa.Table:
        bins = rows.column(BIN).to_numpy()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(bins)) + 1, [bins.size]])
        lo, hi = starts[:-1], starts[1:]
        answerer = _answerer(rows, lo, hi)
        made = self.parts.merge(answerer) if merging else self.parts.make(answerer)
        return pa.table({BIN: pa.array(bins[lo]), **made})


def _answerer(rows: pa.Table, lo: Any, hi: Any) -> Answerer:
    """Windows over the rows of a table as they stand."""
    ends = np.array([0, rows.num_rows], np.int64)
    laid = Layout(None, ends, ends, None)
    windows = Windows(ends, lo=np.asarray(lo, np.int64), hi=np.asarray(hi, np.int64))
    return Answerer(SortedColumns(rows.column, laid), windows)


# -- in the workers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranged:
    """What a worker runs over a range: its halo and its own rows, sorted."""

    bound: Bound
    schema: pa.Schema
    cuts: Cuts
    before: list[int]  # by count: how many rows lie before each bin
    middle: pa.Table | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The answers of the range's own rows."""
        tables = map(pa.Table.from_batches, ([batch] for batch in batches))
        first = next(tables, None)
        if first is None:
            return
        p = first.column(RANGE)[0].as_py()
        if len(self.cuts.middles[p]):
            rest = pa.concat_tables([first, *tables]).combine_chunks()
            results: Iterator[pa.Table] = iter([self._merged(p, rest)])
        else:
            results = Walk(self.bound).run(_chained(first, tables))
        for result in results:
            own = result.filter(pc.equal(result.column(OWN), 0))
            yield from own.select(self.schema.names).cast(self.schema).to_batches()

    def _merged(self, p: int, rows: pa.Table) -> pa.Table:
        """Windows that begin in the halo and hold all of the middle."""
        assert self.middle is not None
        parts = _parts(self.bound)
        halo = int(pc.sum(pc.not_equal(rows.column(OWN), 0)).as_py() or 0)
        n = rows.num_rows
        lo, hi = self._bounds(p, rows, halo)
        between = self.middle.filter(_among(self.middle.column(BIN), self.cuts.middles[p]))
        whole = parts.merge(_answerer(between, [0], [between.num_rows]))
        alone = np.arange(n)
        lifted = pa.table(parts.make(_answerer(rows, alone, alone + 1)))
        sequence = pa.concat_tables([lifted.slice(0, halo), pa.table(whole), lifted.slice(halo)])
        made = parts.answer(_answerer(sequence.combine_chunks(), lo, hi + 1), self.bound.types)
        own = rows.slice(halo)
        if self.bound.filters:
            chosen, _ = wanted(self.bound.query, lambda: own, np.zeros(n - halo), made)
            own = own.filter(pa.array(chosen))
            made = {name: array.filter(pa.array(chosen)) for name, array in made.items()}
        return pa.table({**dict(zip(own.column_names, own.columns, strict=True)), **made})

    def _bounds(self, p: int, rows: pa.Table, halo: int) -> tuple[Any, Any]:
        """Where the windows of the own rows begin and end, among halo and own rows."""
        window, n = self.bound.query.window, rows.num_rows
        if isinstance(window, Rows):
            hi = np.arange(halo + 1, n + 1)
            if window.rows is None:
                return np.zeros(n - halo, np.int64), hi
            first = self.cuts.owner.index(p)
            place = self.before[first] + np.arange(n - halo)
            begin = self.before[self.cuts.halos[p].start]
            return np.clip(place + 1 - window.rows - begin, 0, halo), hi
        assert isinstance(window, Span)
        laid = laid_already(self.bound, columns_of(rows), n, 0)
        lo, hi = span_bounds(window, self.bound, laid)
        return np.minimum(lo[halo:], halo), hi[halo:]


def _among(bins: Any, wanted_bins: range) -> Any:
    return pc.and_(pc.greater_equal(bins, wanted_bins.start), pc.less(bins, wanted_bins.stop))


def _chained(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest
