"""What a stream's queries need: which rows wait, what is kept, and what comes out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from windrow.kernels.routes import trace
from windrow.streams.aggregates import GrowingWindows
from windrow.streams.chunks import ChunkedWindows
from windrow.streams.joined import Gap
from windrow.streams.results import Latest
from windrow.streams.rows import RowWindows
from windrow.streams.slices import SlicedWindows
from windrow.tables.bind import Bound
from windrow.windows.base import Kept

QUERY = "query"
Family = ChunkedWindows | RowWindows | GrowingWindows | SlicedWindows


@dataclass(frozen=True)
class Plan:
    """Queries over one stream of rows.

    Per-row queries put their answers beside the rows. Hopping ones give a row for each window, and
    if there are several, the column `query` tells whose it is.
    """

    bounds: tuple[Bound, ...]
    columns: tuple[str, ...]  # what rides along, of the rows
    timed: bool  # whether rows are applied by their times, else as they come
    update: bool = False  # whether hopping windows are told as they change
    idle: int | None = None  # after how long a key without rows is forgotten, in µs
    late: str | None = None  # the column that marks rows that came too late, if they come out

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that rows are grouped by."""
        return self.bounds[0].query.partition_by

    @property
    def own_rows(self) -> bool:
        """Whether results are rows of their own, a row for each window."""
        return bool(self.bounds[0].own_rows)

    @property
    def time(self) -> str:
        """The column of times."""
        return str(self.bounds[0].order)

    @property
    def rows(self) -> pa.Schema:
        """The rows as they come."""
        return self.bounds[0].schema

    @property
    def key_schema(self) -> pa.Schema:
        """The key columns."""
        return pa.schema([self.rows.field(name) for name in self.keys])

    @cached_property
    def families(self) -> list[Family]:
        """What is kept, for queries that keep the same together."""
        if self.own_rows:
            trace(self.bounds[0].query.window, "slices")
            return [SlicedWindows(self.bounds, self.update)]
        chunked = [b for b in self.bounds if self._kept(b) == "chunks"]
        rows = [b for b in self.bounds if self._kept(b) == "rows"]
        families: list[Family] = []
        for bound in self.bounds:
            trace(bound.query.window, self._kept(bound))
        if chunked:
            families.append(ChunkedWindows(chunked))
        if rows:
            families.append(RowWindows(rows, self._gap))
        for bound in self.bounds:
            if self._kept(bound) == "aggregate":
                families.append(GrowingWindows(bound, self._gap))
            elif self._kept(bound) == "window":
                families.append(RowWindows([bound], self._gap))
        return families

    def _kept(self, bound: Bound) -> Kept:
        """What is kept for a query; how long a key was idle is known of rows only."""
        kept = bound.plan.stream
        counted = bound.query.window.counts_rows and self.idle is not None
        return "rows" if kept == "chunks" and counted else kept

    @property
    def _gap(self) -> Gap | None:
        return None if self.idle is None or not self.timed else Gap(self.time, self.idle)

    @cached_property
    def latest(self) -> dict[int, Latest]:
        """Of the queries that tell only what is new: what they told last."""
        emits = [bound.query.emit for bound in self.bounds]
        return {i: Latest(self.bounds[i]) for i, emit in enumerate(emits) if emit == "istream"}

    @property
    def at_once(self) -> SlicedWindows | None:
        """The windows with slices if rows need not wait for their turn to enter slices."""
        (first, *_) = self.families
        return first if isinstance(first, SlicedWindows) and first.commutative else None

    @property
    def presliced(self) -> SlicedWindows | None:
        """The same if slices may come in place of the rows."""
        return self.at_once if self.late is None else None

    @cached_property
    def arrives(self) -> pa.Schema:
        """What arrives: rows, or slices of them."""
        if self.presliced is None:
            return self.rows
        return pa.schema([*self.key_schema, *self.presliced.schema])

    @cached_property
    def result(self) -> pa.Schema:
        """What comes out."""
        output = {}
        if self.own_rows and len(self.bounds) > 1:
            output[QUERY] = pa.field(QUERY, pa.int32())
        for bound in self.bounds:
            output.update(
                {f.name: f for f in bound.output() if self.own_rows or f.name in self._shown(bound)}
            )
        fields = list(output.values())
        if self.late is not None:
            fields += [self.rows.field(n) for n in self.columns if n not in output]
            fields.append(pa.field(self.late, pa.bool_()))
        return pa.schema(fields)

    def _shown(self, bound: Bound) -> tuple[str, ...]:
        return (*self.columns, *bound.query.parts)

    def names(self) -> list[str]:
        """The columns of a row that stand beside its answers."""
        return (
            list(self.keys) if self.own_rows else [n for n in self.rows.names if n in self.columns]
        )

    def identity(self, buckets: int) -> tuple[bytes, str]:
        """A digest of all that the state depends on, and the same to be read."""
        logs = [str(family.schema) for family in self.families]
        text = "\n".join(
            [*(repr(bound.query) for bound in self.bounds), f"in {buckets} buckets of keys"]
        )
        whole = "\n".join([text, str(self.rows), *logs, str(self.update)])
        return hashlib.sha256(whole.encode()).digest()[:16], text
