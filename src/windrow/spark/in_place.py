"""The plan "partitions": without a key, rows stay in partitions that follow each other in order.

Files of days that follow each other, a frame that was sorted, or one that was made in order need no
shuffle. A partition is a range by itself, and its windows begin among rows before it, its halo:

    partition 0  ────────────── sort ──▶ a pass
    partition 1  ── its halo ── sort ──▶ a pass that begins with the halo
                      └ comes by way of the driver, so it may not be large

One job asks each partition for its first and last value of the order; where windows count rows, one
more finds from which value on each has as many rows as windows reach. Only frames are taken whose
partitions are the same whenever they are computed: nothing is shuffled or run by Python below them.
A worker counts its rows nonetheless, and fails if they are not those that the job saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray
from pyspark.sql import functions as sf

from windrow.spark.columns import DAY, column, ticks, ticks_axis
from windrow.spark.groups import FEWEST
from windrow.spark.keys import Answered, read
from windrow.spark.workers import Tables, beside
from windrow.tables.bind import Bound

# Bytes of all halos together: the driver holds them, and so does each worker. They are counted
# first where they may be twice as many.
MOST_BYTES = 1 << 26
_MOST_PARTITIONS = 1024
# No partition may have more than this many times its share of the rows.
_UNEVEN = 1.5
# How much of a partition's span its last rows are looked for in: as many times what they would take
# if all rows had the same distance.
_SLACK = (1.25, 4, 16)
_CHANGED = (
    "is not what it was when the query was made: its rows change from one run to the next; cache "
    "the frame, and make the query again"
)
# What Spark may do with the rows of a leaf, and how the names of leaves begin.
_NARROW = ("Project", "Filter", "ColumnarToRow")
_LEAVES = ("Scan", "BatchScan", "InMemoryTableScan", "LocalTableScan", "Range")


@dataclass(frozen=True)
class Stretch:
    """A partition with rows: its number, how many there are, their first and last place.

    For windows that count rows, also the place from which on it has the last rows that partitions
    behind it may reach, and how many there are.
    """

    partition: int
    rows: int
    first: Any
    last: Any
    tail: Any = None
    in_tail: int = 0


@dataclass(frozen=True)
class Reach:
    """How far windows reach back: along the order, in the unit of `ticks`, and in rows."""

    size: Any = None  # None if no window is measured
    rows: int = 0  # before the current one


@dataclass(frozen=True)
class Halos:
    """The rows of all halos, sorted, and which of them are before each partition."""

    rows: pa.Table
    places: Mapping[int, slice]

    def of(self, partition: int) -> pa.Table:
        """Return the rows before a partition that its windows reach; none before the first one."""
        place = self.places.get(partition, slice(0, 0))
        return self.rows.slice(place.start, place.stop - place.start)


def stretches_of(bounds: Sequence[Bound], frame: Any, tasks: int) -> tuple[Stretch, ...]:
    """Return the partitions along the order, if rows can stay in them; else none.

    This runs a job, and one more that counts the rows of the halos where they may be many.
    """
    if bounds[0].query.partition_by or tasks < 2 or not _steady(frame):
        return ()
    reach = _reach(bounds)
    if reach is None or not _has_places(bounds[0].schema.field(str(bounds[0].order)).type):
        return ()
    at = ticks(bounds[0], frame)
    stretches = _looked_at(bounds[0], frame, at)
    total = sum(stretch.rows for stretch in stretches)
    if not 1 < len(stretches) <= _MOST_PARTITIONS or total < tasks * FEWEST:
        return ()
    if max(stretch.rows for stretch in stretches) * tasks > _UNEVEN * total:
        return ()
    if any(before.last >= behind.first for before, behind in pairwise(stretches)):
        return ()
    most = MOST_BYTES // (8 * (len(read(bounds)) + 1))
    if reach.rows:
        last = max(stretch.partition for stretch in stretches)
        if reach.rows * len(stretches) > most or last >= _MOST_PARTITIONS:
            return ()
        stretches = _with_tails(bounds[0], frame, at, stretches, reach.rows)
        if sum(stretch.in_tail for stretch in stretches) > most:
            return ()
    if _most_in_halos(bounds, stretches) <= 2 * most:
        return stretches
    return stretches if frame.where(_in_halos(bounds, frame, stretches)).count() <= most else ()


def in_place(bounds: Sequence[Bound], frame: Any, schema: Any, stretches: Sequence[Stretch]) -> Any:
    """Return the results of queries over a frame whose partitions follow each other."""
    ready = frame.sortWithinPartitions(*map(column, bounds[0].query.order_by))
    halos = _halos(bounds, frame, stretches)
    work = InPlace(tuple(bounds), {stretch.first: stretch for stretch in stretches}, halos)
    filtered = bounds[0].query.having is not None
    return beside(ready, _needed(bounds), work, schema, filtered=filtered)


def _needed(bounds: Sequence[Bound]) -> list[str]:
    """Return the columns that workers need; by the order they know which partition is theirs."""
    return list(dict.fromkeys([*read(bounds), str(bounds[0].order)]))


def _has_places(kind: pa.DataType) -> bool:
    """Whether `_places` knows a type of order columns."""
    return any(
        known(kind) for known in (pt.is_timestamp, pt.is_date, pt.is_integer, pt.is_floating)
    )


def _places(order: pa.ChunkedArray) -> NDArray[Any]:
    """Return values of the order column, of which none is null, as `ticks` has them."""
    if pt.is_timestamp(order.type):
        order = order.cast(pa.timestamp("us", order.type.tz)).cast(pa.int64())
    days = pt.is_date(order.type)
    values = np.asarray((order.cast(pa.int32()) if days else order).to_numpy())
    if pt.is_floating(order.type):
        return values.astype(np.float64)
    return values.astype(np.int64) * (DAY if days else 1)


def _steady(frame: Any) -> bool:
    """Whether the same rows are in the same partitions whenever the frame is computed."""
    java = getattr(frame, "_jdf", None)  # Connect has none
    return java is not None and _is_narrow(java.queryExecution().sparkPlan())


def _is_narrow(plan: Any) -> bool:
    """Whether each node of a plan keeps rows in the partitions of its leaves."""
    name, children = str(plan.nodeName()), plan.children()
    if children.isEmpty():
        return name.startswith(_LEAVES)
    return name in _NARROW and all(_is_narrow(children.apply(i)) for i in range(children.size()))


def _reach(bounds: Sequence[Bound]) -> Reach | None:
    """Return how far all windows reach back; None if that is not bounded."""
    reach = Reach()
    for bound in bounds:
        window = bound.query.window
        if not window.ends_now:
            return None
        if window.measured:
            size = window.reach(ticks_axis(bound))
            if size is None:
                return None
            reach = replace(reach, size=size if reach.size is None else max(reach.size, size))
        elif window.counts_rows and window.reach_rows is not None:
            reach = replace(reach, rows=max(reach.rows, window.reach_rows - 1))
        else:
            return None
    return reach


def _looked_at(bound: Bound, frame: Any, at: Any) -> tuple[Stretch, ...]:
    """Return the partitions that have rows, by their first places; none if a row has no place."""
    placed = at.isNotNull()
    if pt.is_floating(bound.order_type):
        placed = placed & ~sf.isnan(at)
    seen = (
        frame.select(sf.spark_partition_id().alias("partition"), sf.when(placed, at).alias("at"))
        .groupBy("partition")
        .agg(
            sf.count(sf.lit(1)).alias("rows"),
            sf.count("at").alias("placed"),
            sf.min("at").alias("first"),
            sf.max("at").alias("last"),
        )
        .collect()
    )
    if any(row["rows"] != row["placed"] for row in seen):
        return ()
    stretches = [Stretch(r["partition"], r["rows"], r["first"], r["last"]) for r in seen]
    return tuple(sorted(stretches, key=lambda stretch: stretch.first))


def _with_tails(
    bound: Bound, frame: Any, at: Any, stretches: Sequence[Stretch], rows: int
) -> tuple[Stretch, ...]:
    """Return the partitions with their tails: the last rows of each, as many as windows reach.

    A tail is the shortest of a few spans that has enough rows, or the whole partition.
    """
    whole = not pt.is_floating(bound.order_type)
    number = sf.spark_partition_id()
    tried: list[dict[int, Any]] = []
    for slack in _SLACK:
        places = {}
        for stretch in stretches:
            share = min(1.0, slack * rows / stretch.rows)
            place = stretch.last - (stretch.last - stretch.first) * share
            if share == 1:
                place = stretch.first
            elif whole:
                place = int(place)
            places[stretch.partition] = place
        tried.append(places)
    columns = []
    for i, places in enumerate(tried):
        numbered = [places.get(k) for k in range(max(places) + 1)]
        since = sf.get(sf.array(*map(sf.lit, numbered)), number)
        columns.append(sf.count_if(at >= since).alias(f"n{i}"))
    counted = frame.groupBy(number.alias("partition")).agg(*columns).collect()
    counts = {row["partition"]: [row[f"n{i}"] for i in range(len(tried))] for row in counted}
    with_tails = []
    for stretch in stretches[:-1]:
        tail, in_tail = stretch.first, stretch.rows
        for places, n in zip(tried, counts[stretch.partition], strict=True):
            if n >= min(rows, stretch.rows):
                tail, in_tail = places[stretch.partition], n
                break
        with_tails.append(replace(stretch, tail=tail, in_tail=in_tail))
    return (*with_tails, stretches[-1])


def _most_in_halos(bounds: Sequence[Bound], stretches: Sequence[Stretch]) -> int:
    """Return how many rows lie in measured halos at most: all of the partitions they touch."""
    spans = _spans(bounds, stretches).values()
    return sum(
        stretch.rows
        for stretch in stretches
        if any(low <= stretch.last and stretch.first < high for low, high in spans)
    )


def _in_halos(bounds: Sequence[Bound], frame: Any, stretches: Sequence[Stretch]) -> Any:
    """Return whether a row lies in a halo, as an expression by which Spark can skip blocks."""
    at, order = ticks(bounds[0], frame), column(str(bounds[0].order))
    timed = frame.schema[str(bounds[0].order)].dataType.typeName() == "timestamp"
    inside = sf.lit(False)
    tails = [(e.tail, behind.first) for e, behind in pairwise(stretches) if e.tail is not None]
    for low, high in (*_spans(bounds, stretches).values(), *tails):
        within = (at >= sf.lit(low)) & (at < sf.lit(high))
        if timed:  # compared as it is stored, with what Spark knows of each block
            first, behind = sf.timestamp_micros(sf.lit(low)), sf.timestamp_micros(sf.lit(high))
            within = within & (order >= first) & (order < behind)
        inside = inside | within
    return inside


def _spans(bounds: Sequence[Bound], stretches: Sequence[Stretch]) -> dict[int, tuple[Any, Any]]:
    """Return where the measured halo of each partition but the first begins, and where it ends."""
    reach, lowest = _reach(bounds), stretches[0].first
    if reach is None or reach.size is None:
        return {}
    size = reach.size
    return {s.partition: (max(lowest, s.first - size), s.first) for s in stretches[1:]}


def _halos(bounds: Sequence[Bound], frame: Any, stretches: Sequence[Stretch]) -> Halos:
    """Return the rows of halos, with the columns that workers read."""
    inside = frame.where(_in_halos(bounds, frame, stretches))
    rows = inside.select(*map(column, _needed(bounds))).toArrow()
    at = _places(rows.column(str(bounds[0].order)))
    if (at[1:] < at[:-1]).any():  # as Spark sorts a column of numbers: what is equal stays in order
        along = np.argsort(at, kind="stable")
        rows, at = rows.take(pa.array(along)), at[along]
    reach, spans = _reach(bounds), _spans(bounds, stretches)
    places = {}
    for stretch in stretches[1:]:
        low, end = spans.get(stretch.partition, (stretch.first, stretch.first))
        begin, stop = np.searchsorted(at, (low, end)).tolist()
        counted = max(0, stop - reach.rows) if reach is not None else stop
        places[stretch.partition] = slice(min(begin, counted), stop)
    return Halos(rows, places)


# -- in the workers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class InPlace(Answered):
    """What a worker runs over the sorted rows of a partition, after those of its halo."""

    stretches: Mapping[Any, Stretch]  # by their first places
    halos: Halos

    def walk(self, tables: Tables) -> Tables:
        """Yield the rows with all of their results beside them."""
        first = next(tables, None)
        if first is None:
            return
        order = str(self.bounds[0].order)
        stretch = self.stretches.get(_places(first.column(order).slice(0, 1))[0].item())
        if stretch is None:
            raise RuntimeError(f"a partition of the frame {_CHANGED}")
        names = [name for name in first.column_names if name in read(self.bounds)]
        halo = self.halos.of(stretch.partition).cast(first.schema)
        own = self._counted(stretch, chain([first], tables))
        left = halo.num_rows
        for results in super().walk(table.select(names) for table in chain([halo], own)):
            yield results.slice(left)
            left = max(0, left - results.num_rows)

    def _counted(self, stretch: Stretch, tables: Tables) -> Tables:
        """Yield the tables; raise an error if they have not as many rows as there were."""
        rows = 0
        for table in tables:
            rows += table.num_rows
            yield table
        if rows != stretch.rows:
            raise RuntimeError(
                f"partition {stretch.partition} of the frame has {rows:,} rows, and had "
                f"{stretch.rows:,}: it {_CHANGED}"
            )
