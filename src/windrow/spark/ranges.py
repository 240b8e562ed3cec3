"""The plan "ranges": without a key, or with a hot one, ranges of the order run in parallel.

Spark moves all rows of a window without PARTITION BY to one task, and all rows of a key. Here each
range gets its own rows, the rows among which its windows begin, and one aggregate for all between:

    rows ──┬─ of a group: to their own range, and to those whose windows begin among them
           └─ of other keys: to the partition of their key
                                                 ──sort──▶ a pass over each partition

Where ranges begin and end is what `cuts` is about. One shuffle and one pass do for all, however
many keys are hot. Rows carry a tag: twice the number of the range, and 1 more if they are there
only for windows to begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as sf

from windrow.spark.columns import as_number, column, ticks, unused
from windrow.spark.groups import BIN, Group, Ranges, cut, middles
from windrow.spark.keys import Answered, every, is_smaller, read, shuffle_partitions
from windrow.spark.workers import Tables, beside
from windrow.tables.bind import Bound, bind
from windrow.tables.filters import columns_of
from windrow.tables.results import SortedColumns, WindowResults
from windrow.tables.sort import TableRows, rows_in_place, sorted_already
from windrow.tables.states import StateColumns, states_of
from windrow.tables.walk import walk_together
from windrow.windows.positions import Windows

# A key of fewer rows is answered in about a second, wherever it is.
HOT_ROWS = 1 << 20
# Frames of fewer bytes are not looked at for hot keys: one task goes through all of it in a few
# seconds, while a job that looks would take a fifth of the time of 2·10⁶ rows.
SMALL = 1 << 27
HOT_SAMPLE = 1 / 256  # of the rows, whose keys are counted
_MOST_HOT = 32  # hot keys in one plan
# So many results at once are those of long windows: a worker gives the memory that they took back,
# which Arrow would keep for the next ones while other processes want it.
_MANY = 1 << 19


def ranges_of(bounds: Sequence[Bound], frame: Any, tasks: int) -> Ranges | None:
    """Return where to cut a frame; None if it is too small, or has no key with most of the rows.

    This runs jobs: one that samples the keys, if there are any, and one or two along the order.
    """
    names = bounds[0].query.partition_by
    which = _hot_key(frame, names, tasks) if names else sf.lit(0)
    if which is None:
        return None
    return cut(bounds, frame, ticks(bounds[0], frame), which, tasks)


def is_uneven(frame: Any, names: tuple[str, ...], tasks: int) -> bool:
    """Whether one task would have most of the rows: there is no key, or a hot one."""
    if names:
        return _hot_key(frame, names, tasks) is not None
    return tasks > 1 and not is_smaller(frame, HOT_ROWS)


def _hot_key(frame: Any, names: tuple[str, ...], tasks: int) -> Any:
    """Return the number of a row's key among the hot ones, as an expression that may be null.

    A key is hot if it may have more rows than the share of a task; None if there is none. A window
    with a key runs in one task a key, so a sample of keys is counted where one may be large: a job
    that reads the key columns. Frames that Spark knows to be small cost nothing.
    """
    if tasks < 2 or is_smaller(frame, SMALL):
        return None
    columns = [_comparable(name, frame) for name in names]
    if any(key is None for key in columns):
        return None
    named = [key.alias(f"k{i}") for i, key in enumerate(columns)]
    sampled = frame.select(*named).sample(False, HOT_SAMPLE, seed=7)
    counted = sampled.groupBy(*[f"k{i}" for i in range(len(names))]).agg(
        sf.count(sf.lit(1)).alias("rows")
    )
    large = counted.where(sf.col("rows") >= int(HOT_ROWS * HOT_SAMPLE)).collect()
    large = sorted(large, key=lambda row: -row["rows"])
    known = sum(row["rows"] for row in large)
    hot = [tuple(row)[:-1] for row in large if row["rows"] * tasks > known][:_MOST_HOT]
    number = sf.lit(None).cast("int")
    for i, values in reversed(list(enumerate(hot))):
        is_it = sf.lit(True)
        for key, value in zip(columns, values, strict=True):
            is_it = is_it & (key.isNull() if value is None else key.eqNullSafe(sf.lit(value)))
        number = sf.when(is_it, sf.lit(i)).otherwise(number)
    return number if hot else None


def _comparable(name: str, frame: Any) -> Any:
    """Return a key column as what a literal can stand for exactly; None if nothing can."""
    kind = frame.schema[name].dataType.typeName()
    if kind in ("timestamp", "timestamp_ntz", "date"):  # no zone has a say in numbers
        return as_number(name, kind)
    known = ("byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary")
    return column(name) if kind in (*known, "boolean", "char", "varchar") else None


def ranged(bounds: Sequence[Bound], frame: Any, schema: Any, ranges: Ranges) -> Any:
    """Return the results of queries over a DataFrame that is cut into ranges."""
    first = bounds[0]
    names = first.query.partition_by
    middle = middles(first, frame, ranges)
    others = shuffle_partitions(frame) if names else 0
    tag = unused("windrow_tag", frame.columns)
    keys = [column(name) for name in names]
    spread = (
        frame.select("*", sf.explode(_tags(ranges, keys, others)).alias(tag))
        .repartitionById(ranges.count + others, sf.shiftright(sf.col(tag), 1))
        .sortWithinPartitions(*keys, *[column(name) for name in first.query.order_by])
    )
    needed = [name for name in read(bounds) if name in frame.columns]
    within = tuple(_within_a_key(bound) for bound in bounds)
    work = Ranged(tuple(bounds), within, ranges.groups, middle, states_of([first]), tag)
    return beside(spread, [*needed, tag], work, schema, filtered=True)


def _within_a_key(bound: Bound) -> Bound:
    """Return the query over rows that are all of one key, which it does not look at."""
    if not bound.query.partition_by:
        return bound
    return replace(bind(bound.query.replace(partition_by=()), bound.schema), native=bound.native)


def _tags(ranges: Ranges, keys: list[Any], others: int) -> Any:
    """Return the tags of the copies of a row, as an expression."""
    by_bin = []
    for group in ranges.groups:
        for own, *halos in group.cuts.targets():
            tags = [2 * (group.range + own), *(2 * (group.range + p) + 1 for p in halos)]
            by_bin.append(sf.array(*map(sf.lit, tags)))
    of_groups = sf.get(sf.array(*by_bin), ranges.bin)
    if not keys:
        return of_groups
    by_key = sf.array(2 * (sf.lit(ranges.count) + sf.pmod(sf.hash(*keys), sf.lit(others))))
    return sf.coalesce(of_groups, by_key)


# -- in the workers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranged(Answered):
    """What a worker runs over a range, its halo and its own rows sorted, or over whole keys.

    Only a query alone has states between halo and range: `middle`.
    """

    within: tuple[Bound, ...]  # the queries over the rows of one key
    groups: tuple[Group, ...]
    middle: pa.Table | None
    parts: StateColumns  # as the driver named them, which has the states of the middle made
    tag: str

    def walk(self, tables: Tables) -> Tables:
        """Yield the rows with all of their results beside them, those of the halo too."""
        first = next(tables, None)
        if first is None:
            return
        number = first.column(self.tag)[0].as_py() >> 1
        group = next((s for s in self.groups if 0 <= number - s.range < s.cuts.ranges), None)
        rows = map(self._marked, chain([first], tables))
        if group is None:
            yield from super().walk(rows)
            return
        names = self.bounds[0].query.partition_by
        key = {name: first.column(name)[0].as_py() for name in names}
        del first
        try:
            yield from self._within(group, number - group.range, rows)
        except OverflowError as error:
            if key:
                error.add_note(f"of the key {key!r}")
            raise

    def own(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Return which results are not of the halo."""
        return np.asarray(rows.column(self.tag).to_numpy())

    def _marked(self, rows: pa.Table) -> pa.Table:
        """Return the rows with a boolean in place of the tag: whether a row is the range's own."""
        own = rows.column(self.tag).to_numpy() & 1 == 0
        return rows.set_column(rows.column_names.index(self.tag), self.tag, [pa.array(own)])

    def _within(self, group: Group, p: int, rows: Tables) -> Tables:
        """Yield the same for the rows of one range, which need no column of the key."""
        needed = {self.tag, *read(self.within)}
        fewer = (t.select([n for n in t.column_names if n in needed]) for t in rows)
        if len(group.cuts.middles[p]):
            yield self._merged(group, p, pa.concat_tables(fewer).combine_chunks())
        else:
            for results in walk_together([every(bound) for bound in self.within], fewer):
                many = results.num_rows >= _MANY
                yield results
                del results
                if many:
                    pa.default_memory_pool().release_unused()

    def _merged(self, group: Group, p: int, rows: pa.Table) -> pa.Table:
        """Return the results of windows that begin in the halo and hold all of the middle.

        The rows of the halo come with nulls.
        """
        assert self.middle is not None
        (bound,) = self.within
        parts = self.parts
        n = rows.num_rows
        halo = n - int(np.count_nonzero(self.own(rows)))
        lo, hi = self._bounds(group, p, rows, halo)
        bins = group.cuts.middles[p]
        numbers = self.middle.column(BIN).to_numpy() - group.bin
        between = self.middle.filter(pa.array((numbers >= bins.start) & (numbers < bins.stop)))
        whole = parts.merge(_over_rows(between, [0], [between.num_rows]))
        lifted = pa.table(parts.lift(rows.column, n))
        sequence = pa.concat_tables([lifted.slice(0, halo), pa.table(whole), lifted.slice(halo)])
        back = bound.query.window.go_back
        results = parts.results(_over_rows(sequence.combine_chunks(), lo, hi, back), bound.types)
        columns = dict(zip(rows.column_names, rows.columns, strict=True))
        for name, array in results.items():
            columns[name] = pa.chunked_array([pa.nulls(halo, array.type), array])
        return pa.table(columns)

    def _bounds(self, group: Group, p: int, rows: pa.Table, halo: int) -> tuple[Any, Any]:
        """Return where the windows of the own rows begin and end, among halo, middle and own."""
        (bound,) = self.within
        window, n = bound.query.window, rows.num_rows
        if window.measured:
            laid = replace(sorted_already(bound, columns_of(rows), n), fresh=slice(halo, n))
            lo, hi = window.bounds(laid).windows.bounds()
            return np.minimum(lo, halo), hi + 1
        weights = np.ones(n + 1, np.int64)
        bins = group.cuts.middles[p]
        if group.before:  # how many rows lie before each bin
            weights[halo] = group.before[bins.stop] - group.before[bins.start]
        ends = np.array([0, n + 1])
        laid = TableRows(ends, ends, fresh=np.arange(halo + 1, n + 1), weights=weights)
        return window.bounds(laid).windows.bounds()


def _over_rows(rows: pa.Table, lo: Any, hi: Any, go_back: bool = False) -> WindowResults:
    """Return windows over the rows of a table as they stand."""
    place = rows_in_place(rows.num_rows)
    lo, hi = np.asarray(lo, np.int64), np.asarray(hi, np.int64)
    windows = Windows(place.starts, lo=lo, hi=hi, go_back=go_back)
    return WindowResults(SortedColumns(rows.column, place), windows)
