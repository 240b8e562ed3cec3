"""What a stream's queries need: which rows wait, what is kept, and what comes out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from windrow.kernels.routes import trace
from windrow.queries.plan import groups_of
from windrow.queries.streaming import BUCKETS, Streaming
from windrow.streams.aggregates import GrowingWindows
from windrow.streams.chunks import ChunkedWindows
from windrow.streams.family import Family, Latest
from windrow.streams.followed import FollowedWindows
from windrow.streams.revised import REVISION, RevisedWindows
from windrow.streams.rows import RowWindows
from windrow.streams.sessions import SessionWindows
from windrow.streams.slices import SlicedWindows
from windrow.streams.step import Gap, nullable
from windrow.tables.bind import Bound
from windrow.tables.run import QUERY, told_apart
from windrow.windows.base import Kept, written

_TICK = 1000  # watermarks are cut to milliseconds


class Flush(NamedTuple):
    """How long no row may come until time goes on without any, in µs.

    `delay` is how far the watermark is behind the newest row.
    """

    after: int
    delay: int

    def watermark(self, now: int, idle: int) -> int:
        """The watermark if no row has come for so long.

        All rows so far are before it, and it goes on with the clock.

        >>> flush = Flush(after=600, delay=60)
        >>> flush.watermark(5000, idle=599), flush.watermark(5000, idle=600)
        (5000, 6060)
        """
        return now if idle < self.after else max(now + self.delay + _TICK, now + idle)


@dataclass(frozen=True)
class StreamPlan:
    """Queries over one stream of rows.

    Queries with a result for every row put it beside the row. Hopping ones give a row for each
    window, and those that count rows the row that closes one; if there are several such, the column
    `query` tells whose it is.
    """

    bounds: tuple[Bound, ...]
    columns: tuple[str, ...]  # what rides along, of the rows
    timed: bool  # whether rows are applied by their times, else as they come
    update: bool = False  # whether results are told as they change, else once they are final
    idle: int | None = None  # after how long a key without rows is forgotten, in µs
    flush: Flush | None = None  # when results come out that wait for rows which do not come
    late: str | None = None  # the column that marks rows that came too late, if they come out
    chained: bool = False  # whether rows come from before the watermark too: results of others
    past: int = 0  # µs from the watermark that an engine tells to the first time that is not late
    asked: str = ""  # the `identity_text` of what the user asked for

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that rows are grouped by."""
        return self.bounds[0].query.partition_by

    @property
    def own_rows(self) -> bool:
        """Whether results are rows of their own, a row for each window."""
        return bool(self.bounds[0].own_rows)

    @property
    def revised(self) -> bool:
        """Whether results beside rows come at once, and again when they have changed."""
        return self.update and not self.own_rows

    @property
    def time(self) -> str:
        """The column of times."""
        return str(self.bounds[0].order)

    @property
    def event_time(self) -> str | None:
        """The column by whose times results come out, none before the watermark of the last step.

        None if there is no such column: results that are told more than once, late rows, and rows
        that wait for others behind them come out when their time has passed.
        """
        waits = any(bound.query.window.kept == "followed" for bound in self.bounds)
        if not self.timed or self.update or self.late is not None or waits:
            return None
        return self.bounds[0].own_rows[1] if self.own_rows else self.time

    @cached_property
    def rows(self) -> pa.Schema:
        """The rows as they come."""
        return nullable(self.bounds[0].schema)

    @cached_property
    def families(self) -> list[Family[Any]]:
        """What is kept, for queries that keep the same together."""
        if self.own_rows:
            window = self.bounds[0].query.window
            trace(window, window.kept)
            if window.kept == "sessions":
                return [self._entering]
            groups = groups_of([bound.query for bound in self.bounds])
            if len(groups) == 1:
                return [self._entering]
            return [SlicedWindows([self.bounds[i] for i in g.members], self.update) for g in groups]
        gap = None if self.idle is None or not self.timed else Gap(self.time, self.idle)
        if self.revised:
            for bound in self.bounds:
                trace(bound.query.window, "revised rows")
            return [RevisedWindows(self.bounds, self.time if self.timed else None, gap)]
        kept: dict[Kept, list[Bound]] = {}
        for bound in self.bounds:
            trace(bound.query.window, self._kept(bound))
            kept.setdefault(self._kept(bound), []).append(bound)
        families: list[Family[Any]] = []
        if "chunks" in kept:
            families.append(ChunkedWindows(kept["chunks"]))
        if "rows" in kept:
            families.append(RowWindows(kept["rows"], gap))
        for bound in self.bounds:
            if self._kept(bound) == "aggregate":
                families.append(GrowingWindows(bound, gap))
            elif self._kept(bound) == "followed":
                families.append(FollowedWindows(bound, gap))
            elif self._kept(bound) == "window":
                families.append(RowWindows([bound], gap))
        return families

    @cached_property
    def answered(self) -> list[int]:
        """The numbers of the queries whose results a step makes, as the families make them."""
        places = {id(bound): i for i, bound in enumerate(self.bounds)}
        return [places[id(bound)] for family in self.families for bound in family.bounds]

    def _kept(self, bound: Bound) -> Kept:
        """What is kept for a query; how long a key was idle is known of rows only."""
        kept = bound.plan.stream
        counted = bound.query.window.counts_rows and self.idle is not None
        return "rows" if kept == "chunks" and counted else kept

    @cached_property
    def latest(self) -> dict[int, Latest]:
        """Of the queries that tell only what is new: what they told last."""
        bounds, idle = enumerate(self.bounds), self.idle if self.timed else None
        return {i: Latest(bound, idle) for i, bound in bounds if bound.query.emit == "istream"}

    @property
    def at_once(self) -> SlicedWindows | SessionWindows | None:
        """The windows with rows of their own, if rows need not wait for their turn to enter."""
        return self._entering if self.own_rows and self._entering.commutative else None

    @cached_property
    def _entering(self) -> SlicedWindows | SessionWindows:
        """Sessions, or all windows with slices: rows are cut where any of them begins or ends."""
        sessions = self.bounds[0].query.window.kept == "sessions"
        return (SessionWindows if sessions else SlicedWindows)(self.bounds, self.update)

    @property
    def presliced(self) -> SlicedWindows | None:
        """The same if slices may come in place of the rows; of sessions, each row may be late."""
        at_once = self.at_once
        return at_once if isinstance(at_once, SlicedWindows) and self.late is None else None

    @cached_property
    def arrives(self) -> pa.Schema:
        """What arrives: rows, or slices of them."""
        if self.presliced is None:
            return self.rows
        return pa.schema([*(self.rows.field(name) for name in self.keys), *self.presliced.schema])

    @cached_property
    def result(self) -> pa.Schema:
        """What comes out."""
        output = {QUERY: pa.field(QUERY, pa.int32())} if self.told_apart else {}
        for bound in self.bounds:
            shown = (*self.columns, *bound.query.parts)
            output.update({f.name: f for f in bound.output() if self.own_rows or f.name in shown})
        fields = list(output.values())
        fields += [pa.field(REVISION, pa.int32())] if self.revised else []
        if self.late is not None:
            fields += [self.rows.field(n) for n in self.columns if n not in output]
            fields.append(pa.field(self.late, pa.bool_()))
        return pa.schema(fields)

    @property
    def told_apart(self) -> bool:
        """Whether a column says which query a row of the result is of."""
        return told_apart(self.bounds)

    def identity(self, buckets: int, in_partitions: bool = False) -> tuple[bytes, str]:
        """A digest of all that the state depends on, and the same to be read.

        If buckets are `in_partitions`, each has a partition of the state to itself.
        """
        logs = [str(family.schema) for family in self.families]
        apart = ", one for each partition of the state" if in_partitions else ""
        text = f"{self.asked}\nin {buckets} buckets of keys{apart}"
        whole = "\n".join([text, str(self.bounds[0].schema), *logs])
        return hashlib.sha256(whole.encode()).digest()[:16], text


def identity_text(asked: Streaming, rows: pa.Schema, delay: int | None) -> str:
    """What a user asked for, in full: the text by which a checkpoint knows its query again.

    It is of the queries as they were written, since an engine may compute `where` and expressions
    itself, after which queries that differ look alike. Of the options `final` is not part of it: it
    differs from run to run. `rows` are the columns that came in, and `delay` is how far the
    watermark is behind the newest row, in milliseconds.
    """
    queries = [query.fingerprint for query in asked.queries]
    arguments = {name: value for name, value in asked.arguments().items() if name != "final"}
    if arguments.get("buckets") == BUCKETS:  # which earlier versions had without being told
        del arguments["buckets"]
    options = f"with {', '.join(written(arguments))}" if arguments else ""
    mark = "" if delay is None else f"with a watermark {delay} ms behind the newest row"
    columns = f"over {', '.join(f'{field.name}: {field.type}' for field in rows)}"
    return "\n".join(filter(None, [*queries, options, mark, columns]))
