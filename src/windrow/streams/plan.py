"""What a stream's queries need: which rows wait, what is kept, and what comes out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.types as pt

from windrow.streams.answered import Latest
from windrow.streams.growing import GrowingWindows
from windrow.streams.hopping import HoppingWindows
from windrow.streams.rows import Gap, RowWindows
from windrow.streams.sliding import SlidingWindows
from windrow.tables.bind import Bound
from windrow.tables.states import PartialColumns
from windrow.windows.kinds import UNBOUNDED, On, Rows, Span, Until

QUERY = "query"
Family = SlidingWindows | RowWindows | GrowingWindows | HoppingWindows


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
    def hops(self) -> bool:
        """Whether answers belong to windows of their own."""
        return self.bounds[0].hops

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
        if self.hops:
            return [HoppingWindows(self.bounds, self.update)]
        made: list[Family] = []
        holds = [b for b in self.bounds if not _grows(b) and not _polices(b)]
        slides = [b for b in holds if self._slides(b)]
        if slides:
            made.append(SlidingWindows(slides))
        holds = [b for b in holds if b not in slides]
        if holds:
            made.append(RowWindows(holds, self._gap))
        for bound in self.bounds:
            if _grows(bound):
                made.append(GrowingWindows(bound, self._gap))
            elif _polices(bound):
                made.append(RowWindows([bound], self._gap))
        return made

    def _slides(self, bound: Bound) -> bool:
        """Whether chunks of rows are well stood for by aggregates, all short and of one size."""
        window = bound.query.window
        if isinstance(window, Rows) and (window.slide is not None or self.idle is not None):
            return False
        types = {field.name: field.type for field in bound.schema}
        fields = PartialColumns(bound.query.aggregations, types).fields
        reads = any(part.columns for part in bound.query.parts.values())
        return reads and all(pt.is_primitive(f.type) or pt.is_decimal(f.type) for f in fields)

    @property
    def _gap(self) -> Gap | None:
        return None if self.idle is None or not self.timed else Gap(self.time, self.idle)

    @cached_property
    def latest(self) -> dict[int, Latest]:
        """Of the queries that tell only what is new: what they told last."""
        emits = [bound.query.emit for bound in self.bounds]
        return {i: Latest(self.bounds[i]) for i, emit in enumerate(emits) if emit == "istream"}

    @property
    def at_once(self) -> HoppingWindows | None:
        """The hopping windows if rows need not wait for their turn to enter slices."""
        (first, *_) = self.families
        return first if isinstance(first, HoppingWindows) and first.commutative else None

    @property
    def presliced(self) -> HoppingWindows | None:
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
        if self.hops and len(self.bounds) > 1:
            output[QUERY] = pa.field(QUERY, pa.int32())
        for bound in self.bounds:
            output.update(
                {f.name: f for f in bound.output() if self.hops or f.name in self._shown(bound)}
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
        return list(self.keys) if self.hops else [n for n in self.rows.names if n in self.columns]

    def identity(self, buckets: int) -> tuple[bytes, str]:
        """A digest of all that the state depends on, and the same to be read."""
        logs = [str(family.schema) for family in self.families]
        text = "\n".join(
            [*(repr(bound.query) for bound in self.bounds), f"in {buckets} buckets of keys"]
        )
        whole = "\n".join([text, str(self.rows), *logs, str(self.update)])
        return hashlib.sha256(whole.encode()).digest()[:16], text


def _grows(bound: Bound) -> bool:
    """Whether windows hold all rows since something."""
    window = bound.query.window
    if isinstance(window, Rows):
        return window.rows is None
    return isinstance(window, On) or (isinstance(window, Span) and window.range == UNBOUNDED)


def _polices(bound: Bound) -> bool:
    return isinstance(bound.query.window, Until)
