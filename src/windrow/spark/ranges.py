"""No key, or a hot one: the order is cut into ranges that are answered in parallel (see `cuts`).

Spark moves all rows of a window without PARTITION BY to one task, and all rows of a key. Here each
range gets its own rows, the rows among which its windows begin, and one aggregate for all between:

    rows ──┬─ of a group: to their own range, and to those whose windows begin among them
           └─ of other keys: to the partition of their key
                                                 ──sort──▶ a pass over each partition

One shuffle and one pass do for all, however many keys are hot. Rows carry a tag: twice the number
of the range, and 1 more if they are there only for windows to begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf

from windrow.spark.columns import column, ticks, unused
from windrow.spark.groups import (
    BIN,
    Group,
    bin_of,
    bins_of,
    groups,
    middles,
    over_rows,
    state_columns,
)
from windrow.spark.hot import hot_keys
from windrow.spark.keys import read
from windrow.spark.workers import KEPT, Tables, beside
from windrow.tables.bind import Bound
from windrow.tables.filters import columns_of, satisfies
from windrow.tables.sort import TableRows, sorted_already
from windrow.tables.states import StateColumns
from windrow.tables.walk import walk_together


@dataclass(frozen=True)
class Ranges:
    """Where the rows of a frame are cut: a group for all of them, or for each hot key."""

    groups: dict[int, Group]
    which: Any  # the number of a row's group, as an expression; null for all other rows


def ranges_of(bounds: Sequence[Bound], frame: Any, tasks: int) -> Ranges | None:
    """Where to cut a frame; None if it is too small, or has no key with most of the rows.

    This runs jobs: one that samples the keys, if there are any, and one or two along the order.
    """
    names = bounds[0].query.partition_by
    hot = hot_keys(frame, names, tasks) if names else None
    if names and hot is None:
        return None
    which = sf.lit(0) if hot is None else hot.which(frame)
    found = groups(bounds, frame, ticks(bounds[0], frame), which, tasks)
    return Ranges(found, which) if found else None


def ranged(bounds: Sequence[Bound], frame: Any, schema: Any, ranges: Ranges) -> Any:
    """The results of queries over a DataFrame that is cut into ranges."""
    first = bounds[0]
    at, names = ticks(first, frame), first.query.partition_by
    made, which = ranges.groups, ranges.which
    middle = middles(first, frame, at, which, made)
    count = sum(group.cuts.ranges for group in made.values())
    others = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions")) if names else 0
    tag = unused("windrow_tag", frame.columns)
    keys = [column(name) for name in names]
    spread = (
        frame.select("*", sf.explode(_tags(at, which, made, keys, count, others)).alias(tag))
        .repartitionById(count + others, sf.shiftright(sf.col(tag), 1))
        .sortWithinPartitions(*keys, *[column(name) for name in first.query.order_by])
    )
    needed = [name for name in read(bounds) if name in frame.columns]
    groups = tuple(made[i] for i in sorted(made))
    work = Ranged(tuple(bounds), groups, middle, state_columns(first), tag)
    return beside(spread, [*needed, tag], work, schema, filtered=True)


def _tags(at: Any, which: Any, made: Any, keys: list[Any], ranges: int, others: int) -> Any:
    """The tags of the copies of a row."""
    by_bin = []
    for i in sorted(made):
        first = made[i].range
        for own, *halos in made[i].cuts.targets():
            by_bin.append([2 * (first + own), *(2 * (first + p) + 1 for p in halos)])
    of_groups = sf.get(
        sf.array(*[sf.array(*map(sf.lit, tags)) for tags in by_bin]),
        bin_of(at, which, bins_of(made)),
    )
    if not keys:
        return of_groups
    by_key = sf.array(2 * (sf.lit(ranges) + sf.pmod(sf.hash(*keys), sf.lit(others))))
    return sf.coalesce(of_groups, by_key)


# -- in the workers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranged:
    """What a worker runs over a range, its halo and its own rows sorted, or over whole keys.

    Only a query alone has aggregates between halo and range: `middle`.
    """

    bounds: tuple[Bound, ...]
    groups: tuple[Group, ...]
    middle: pa.Table | None
    parts: StateColumns  # as the driver named them, which has the states of the middle made
    tag: str

    def __call__(self, tables: Tables) -> Tables:
        """The results; those of the halo are not kept."""
        first = next(tables, None)
        if first is None:
            return
        number = first.column(self.tag)[0].as_py() >> 1
        group = next((s for s in self.groups if 0 <= number - s.range < s.cuts.ranges), None)
        rows = chain([first], tables)
        if group is not None and len(group.cuts.middles[number - group.range]):
            whole = pa.concat_tables(rows).combine_chunks()
            results: Tables = iter([self._merged(group, number - group.range, whole)])
            del whole
        else:
            every = [replace(b, query=b.query.replace(having=None)) for b in self.bounds]
            results = walk_together(every, rows)
        yield from map(self._kept, results)

    def _kept(self, made: pa.Table) -> pa.Table:
        """The results, of which those of own rows that satisfy `having` are kept."""
        kept = made.column(self.tag).to_numpy() & 1 == 0
        having = self.bounds[0].query.having
        if having is not None:
            kept &= satisfies(having, made)
        names = [name for bound in self.bounds for name in bound.query.parts]
        return made.select(names).append_column(KEPT, [kept])

    def _merged(self, group: Group, p: int, rows: pa.Table) -> pa.Table:
        """Windows that begin in the halo and hold all of the middle; null for the halo's own."""
        assert self.middle is not None
        (bound,) = self.bounds
        parts = self.parts
        n = rows.num_rows
        halo = int(np.count_nonzero(rows.column(self.tag).to_numpy() & 1))
        lo, hi = self._bounds(group, p, rows, halo)
        bins = group.cuts.middles[p]
        numbers = self.middle.column(BIN).to_numpy() - group.bin
        between = self.middle.filter(pa.array((numbers >= bins.start) & (numbers < bins.stop)))
        whole = parts.merge(over_rows(between, [0], [between.num_rows]))
        lifted = pa.table(parts.lift(rows.column, n))
        sequence = pa.concat_tables([lifted.slice(0, halo), pa.table(whole), lifted.slice(halo)])
        made = parts.results(over_rows(sequence.combine_chunks(), lo, hi), bound.types)
        columns = dict(zip(rows.column_names, rows.columns, strict=True))
        for name, array in made.items():
            columns[name] = pa.chunked_array([pa.nulls(halo, array.type), array])
        return pa.table(columns)

    def _bounds(self, group: Group, p: int, rows: pa.Table, halo: int) -> tuple[Any, Any]:
        """Where the windows of the own rows begin and end, among halo, middle and own rows."""
        (bound,) = self.bounds
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
