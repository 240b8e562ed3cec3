"""No key, or a hot one: the order is cut into ranges that are answered in parallel (see `cuts`).

Spark moves all rows of a window without PARTITION BY to one task, and all rows of a key. Here each
range gets its own rows, the rows among which its windows begin, and one aggregate for all between:

    rows ──┬─ of a strand: to their own range, and to those whose windows begin among them
           └─ of other keys: to the partition of their key
                                                 ──sort──▶ a pass over each partition

One shuffle and one pass do for all, however many keys are hot. Rows carry a tag: twice the number
of the range, and 1 more if they are there only for windows to begin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import functions as sf

from windrow.spark.columns import column, ticks, unused
from windrow.spark.hop import KEPT, Tables, beside
from windrow.spark.hot import hot_keys
from windrow.spark.keyed import read
from windrow.spark.strands import (
    BIN,
    Strand,
    bin_of,
    bins_of,
    middles,
    over_rows,
    partial_columns,
    strands,
)
from windrow.tables.bind import Bound
from windrow.tables.filters import columns_of, satisfies
from windrow.tables.sort import laid_already, span_bounds
from windrow.tables.walk import Walk
from windrow.windows.kinds import Rows, Span


def can_range(bound: Bound) -> bool:
    """Whether the windows of this query can be put together from ranges."""
    window = bound.query.window
    spans = isinstance(window, Span) or (
        isinstance(window, Rows) and len(bound.query.order_by) == 1
    )
    numeric = spans and not pt.is_string(bound.order_type) and not pt.is_decimal(bound.order_type)
    return numeric and window.per_row and bound.query.emit == "rstream"


def ranged(bound: Bound, frame: Any, schema: Any, tasks: int) -> Any | None:
    """The answers over a DataFrame; None if it is too small to be cut, or has no key to be cut."""
    at, names = ticks(bound, frame), bound.query.partition_by
    hot = hot_keys(frame, names, tasks) if names else None
    if names and hot is None:
        return None
    which = sf.lit(0) if hot is None else hot.which(frame)
    made = strands(bound, frame, at, which, tasks)
    if not made:
        return None
    middle = middles(bound, frame, at, which, made)
    ranges = sum(strand.cuts.ranges for strand in made.values())
    others = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions")) if names else 0
    tag = unused("windrow_tag", frame.columns)
    keys = [column(name) for name in names]
    spread = (
        frame.select("*", sf.explode(_tags(at, which, made, keys, ranges, others)).alias(tag))
        .repartitionById(ranges + others, sf.shiftright(sf.col(tag), 1))
        .sortWithinPartitions(*keys, *[column(name) for name in bound.query.order_by])
    )
    needed = [name for name in read(bound) if name in frame.columns]
    work = Ranged(bound, tuple(made[i] for i in sorted(made)), middle, tag)
    return beside(spread, [*needed, tag], work, schema, filtered=True)


def _tags(at: Any, which: Any, made: Any, keys: list[Any], ranges: int, others: int) -> Any:
    """The tags of the copies of a row."""
    by_bin = []
    for i in sorted(made):
        first = made[i].range
        for own, *halos in made[i].cuts.targets():
            by_bin.append([2 * (first + own), *(2 * (first + p) + 1 for p in halos)])
    of_strands = sf.get(
        sf.array(*[sf.array(*map(sf.lit, tags)) for tags in by_bin]),
        bin_of(at, which, bins_of(made)),
    )
    if not keys:
        return of_strands
    by_key = sf.array(2 * (sf.lit(ranges) + sf.pmod(sf.hash(*keys), sf.lit(others))))
    return sf.coalesce(of_strands, by_key)


# -- in the workers -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranged:
    """What a worker runs over a range, its halo and its own rows sorted, or over whole keys."""

    bound: Bound
    strands: tuple[Strand, ...]
    middle: pa.Table | None
    tag: str

    def __call__(self, tables: Tables) -> Tables:
        """The answers; those of the halo are not kept."""
        first = next(tables, None)
        if first is None:
            return
        number = first.column(self.tag)[0].as_py() >> 1
        strand = next((s for s in self.strands if 0 <= number - s.range < s.cuts.ranges), None)
        rows = chain([first], tables)
        every = replace(self.bound, query=self.bound.query.replace(having=None))
        if strand is not None and len(strand.cuts.middles[number - strand.range]):
            whole = pa.concat_tables(rows).combine_chunks()
            results: Tables = iter([self._merged(strand, number - strand.range, whole)])
            del whole
        else:
            results = Walk(every).run(rows)
        yield from map(self._kept, results)

    def _kept(self, made: pa.Table) -> pa.Table:
        """The answers, of which those of own rows that satisfy `having` are kept."""
        query = self.bound.query
        kept = made.column(self.tag).to_numpy() & 1 == 0
        if query.having is not None:
            kept &= satisfies(query.having, made)
        return made.select(list(query.parts)).append_column(KEPT, [kept])

    def _merged(self, strand: Strand, p: int, rows: pa.Table) -> pa.Table:
        """Windows that begin in the halo and hold all of the middle; null for the halo's own."""
        assert self.middle is not None
        parts = partial_columns(self.bound)
        n = rows.num_rows
        halo = int(np.count_nonzero(rows.column(self.tag).to_numpy() & 1))
        lo, hi = self._bounds(strand, p, rows, halo)
        bins = strand.cuts.middles[p]
        numbers = self.middle.column(BIN).to_numpy() - strand.bin
        between = self.middle.filter(pa.array((numbers >= bins.start) & (numbers < bins.stop)))
        whole = parts.merge(over_rows(between, [0], [between.num_rows]))
        lifted = pa.table(parts.lift(rows.column, n))
        sequence = pa.concat_tables([lifted.slice(0, halo), pa.table(whole), lifted.slice(halo)])
        made = parts.answer(over_rows(sequence.combine_chunks(), lo, hi + 1), self.bound.types)
        columns = dict(zip(rows.column_names, rows.columns, strict=True))
        for name, array in made.items():
            columns[name] = pa.chunked_array([pa.nulls(halo, array.type), array])
        return pa.table(columns)

    def _bounds(self, strand: Strand, p: int, rows: pa.Table, halo: int) -> tuple[Any, Any]:
        """Where the windows of the own rows begin and end, among halo and own rows."""
        window, n = self.bound.query.window, rows.num_rows
        if isinstance(window, Rows):
            hi = np.arange(halo + 1, n + 1)
            if window.rows is None:
                return np.zeros(n - halo, np.int64), hi
            first = strand.cuts.owner.index(p)
            place = strand.before[first] + np.arange(n - halo)
            begin = strand.before[strand.cuts.halos[p].start]
            return np.clip(place + 1 - window.rows - begin, 0, halo), hi
        assert isinstance(window, Span)
        laid = laid_already(self.bound, columns_of(rows), n, 0)
        lo, hi = span_bounds(window, self.bound, laid)
        return np.minimum(lo[halo:], halo), hi[halo:]
