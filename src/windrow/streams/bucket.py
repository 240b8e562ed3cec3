"""Many keys of a stream at a time: what one step does with the rows that came.

    rows ──▶ too late? ──▶ waiting ──(watermark)──▶ windows ──▶ results
              counted       sorted      what is kept ◀──┘
                            by time     joins them

A step applies the rows that the watermark has passed, in the order of their times, so a result is
final when it comes out; where results are told as they change, no row waits. What is kept lies in
the store as sealed chunks (`log`, `waiting`), and a step writes what is new of it and a small head.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import InvalidArgument
from windrow.streams.cache import DECODED
from windrow.streams.family import passing
from windrow.streams.header import Header
from windrow.streams.log import SEALED, Entries, Log
from windrow.streams.plan import StreamPlan
from windrow.streams.sessions import SessionWindows
from windrow.streams.slices import SlicedWindows
from windrow.streams.step import END, NEVER, NewResults, in_order, integers
from windrow.streams.waiting import Waiting
from windrow.tables.columns import nulls_of, whole
from windrow.tables.run import QUERY, with_columns

_WAITING = 0  # the number of the log in which rows wait; those of what is kept follow


@dataclass
class StepResult:
    """What a step gives: rows of the result, and how many rows came too late."""

    tables: list[pa.Table] = field(default_factory=list)
    late: int = 0
    partly: int = 0


class Bucket:
    """The state of some keys, and the steps that change it."""

    def __init__(self, plan: StreamPlan, entries: Entries, header: Header) -> None:
        self.plan, self.header = plan, header
        self._waiting = Waiting(entries, _WAITING, plan.rows, plan.time, header.waiting)
        self._families = [*plan.families, *plan.latest.values()]
        held = header.logs or [[] for _ in self._families]
        self._logs: list[Any] = [
            family.open(entries, i + 1, chunks, header.done)
            for i, (family, chunks) in enumerate(zip(self._families, held, strict=True))
        ]
        self._latest = dict(zip(plan.latest, self._logs[len(plan.families) :], strict=True))
        self._forget(header.done)

    def attach(self, entries: Entries) -> None:
        """Go on with the same state, met through another connection."""
        self._waiting.entries = entries
        for log in self._logs:
            log.entries = entries

    def give_way_to(self, newer: Bucket) -> None:
        """Forget decoded chunks that are no longer there since another process had steps."""
        for stamp in self.header.stamps - newer.header.stamps:
            DECODED.drop(stamp)

    def step(self, arrived: list[pa.Table], now: int | None) -> StepResult:
        """Take rows in (or slices, if the plan wants them so), and answer what is due.

        `now` is the watermark, in the unit of times; without one nothing is final yet. For rows
        that are taken as they come it is the clock, which only tells which keys are idle.
        """
        outcome = StepResult()
        if self.header.done == END and any(table.num_rows for table in arrived):
            raise InvalidArgument(
                "rows came after the end: a run with final=True was the last one of this "
                "checkpoint; start with a new one, and say final=True when nothing is left to read"
            )
        rows = pa.concat_tables(arrived or [self.plan.arrives.empty_table()]).combine_chunks()
        if self.plan.at_once is not None:
            rows = self._enter(self.plan.at_once, rows, now, outcome)
        elif self.plan.timed:
            limit = self.header.done if self.plan.chained else now
            rows = self._in_time(rows, limit, outcome)
            if rows.num_rows and self.plan.chained:
                self._waiting.add(rows)
                rows = rows.slice(0, 0)
            rows = rows if self.plan.revised else self._in_turn(rows, now)
        self._apply(rows, now, outcome)
        self._forget(now)
        self._sign(now)
        return outcome

    def watermark(self, now: int | None, came: bool, clock: int, run: int) -> int | None:
        """The watermark that counts: the stream's, or a later one when no row has come for long.

        `now` is the stream's and `clock` the time by the clock, in µs. Time that passed before this
        `run` does not count: rows may have come that were not read.
        """
        header, flush = self.header, self.plan.flush
        if flush is not None and now is not None:
            if came or header.quiet is None or (header.quiet[0], header.quiet[2]) != (now, run):
                header.quiet = now, clock, run
            now = flush.watermark(now, clock - header.quiet[1])
        return now if header.done is None else max(header.done, NEVER if now is None else now)

    def end(self) -> StepResult:
        """Answer all that waits, since no row comes any more."""
        return StepResult() if self.header.done == END else self.step([], END)

    @property
    def due(self) -> int | None:
        """The watermark at which something is to be done, whether or not rows come."""
        if not self.plan.timed or self.header.done == END:
            return None
        if self.plan.at_once is not None:  # which windows are told depends on every watermark
            return max(1, (self.header.done or 0) + 1)
        first = self._waiting.first
        times = [] if first is None else [first + 1]
        for family, log in zip(self.plan.families, self._logs, strict=False):
            closes = family.due(log, self.header.done)
            times += [] if closes is None else [closes]
        if self.plan.idle is not None:
            for family, log in zip(self._families, self._logs, strict=True):
                idle = family.kept_for(self.plan.idle)
                times += [chunk.newest + idle + 1 for chunk in log.chunks]
        done = NEVER if self.header.done is None else self.header.done
        return min((time for time in times if time > done), default=None)

    def adopt(
        self, waiting: pa.Table, kept: list[list[tuple[pa.Table, int]]], done: int | None
    ) -> None:
        """Begin with rows that wait and, of each log, what is kept and when it was last added to.

        All up to `done` is answered. Nothing is in memory then: open the bucket anew.
        """
        if waiting.num_rows:
            self._waiting.add(waiting)
        for log, tables in zip(self._logs, kept, strict=True):
            for rows, newest in tables:
                for begin in range(0, rows.num_rows, SEALED):
                    log.append(rows.slice(begin, SEALED), newest)
        self._sign(done)

    # -- rows that came ---------------------------------------------------------------------

    def _in_time(self, rows: pa.Table, limit: int | None, outcome: StepResult) -> pa.Table:
        """The rows that are not too late; a row without a time never has its turn."""
        late = self._timeless(rows)
        if limit is not None:
            late = late | (integers(rows, self.plan.time) < limit)
        return self._without(rows, late, outcome)

    def _in_turn(self, rows: pa.Table, now: int | None) -> pa.Table:
        """The rows whose turn has come; those that came now wait for theirs."""
        ready = self._waiting.before(NEVER if now is None else now)
        if rows.num_rows:
            self._waiting.add(rows)
        bound = self.plan.bounds[0]
        return ready.take(in_order(bound, ready)) if len(bound.query.order_by) > 1 else ready

    def _timeless(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Which rows have no time."""
        nulls = nulls_of(whole(rows.column(self.plan.time)))
        return np.zeros(rows.num_rows, np.bool_) if nulls is None else nulls

    def _without(self, rows: pa.Table, late: NDArray[np.bool_], outcome: StepResult) -> pa.Table:
        """The rows that are not late; the others are counted, and come out if that is asked for."""
        if not late.any():
            return rows
        outcome.late += int(late.sum())
        if self.plan.late is not None:
            outcome.tables.append(self._full(rows.filter(pa.array(late)), late=True))
        return rows.filter(pa.array(~late))

    def _enter(
        self,
        family: SlicedWindows | SessionWindows,
        rows: pa.Table,
        now: int | None,
        outcome: StepResult,
    ) -> pa.Table:
        """The slices or parts of sessions of rows that came, less those of no open window.

        Windows that end by `now` are told behind this step, so rows of this step still enter them,
        as with Spark's own.
        """
        limit = self.header.done  # None: the first step ever
        limit = now if limit is None and not self.plan.chained else limit
        slices = rows
        if self.plan.presliced is None:
            rows = self._without(rows, self._timeless(rows), outcome)
            if limit is not None:
                rows = self._without(rows, family.too_late(rows, limit), outcome)
                outcome.partly += family.missed(rows, limit)
            slices, _ = family.slices(rows)
        if limit is None:
            return slices
        is_open, late, partly = family.lateness(slices, limit)
        outcome.late += late
        outcome.partly += partly
        return slices.filter(pa.array(is_open))

    # -- results ----------------------------------------------------------------------------

    def _apply(self, ready: pa.Table, now: int | None, outcome: StepResult) -> None:
        """Let rows enter windows, in their order."""
        goes_by_time = any(family.goes_by_time for family in self.plan.families)
        goes_on = now == END or (now is not None and goes_by_time)
        if not ready.num_rows and not goes_on:
            return
        new_results: list[NewResults] = []
        for family, log in zip(self.plan.families, self._logs, strict=False):
            new_results += family.step(log, ready, now, self.header.done)
        answered = zip(self.plan.answered, new_results, strict=True)
        results = {i: self._chosen(i, each, now) for i, each in answered}
        names = [name for name in self.plan.rows.names if name in self.plan.columns]
        names = list(self.plan.keys) if self.plan.own_rows else names
        if self.plan.own_rows or self.plan.told_apart:
            for i, closed in sorted(results.items()):
                if closed.rows.size:
                    outcome.tables.append(self._full(closed.result(names), query=i))
        elif any(each.rows.size for each in results.values()):
            table, *others = [each.result(names) for each in results.values()]
            for other in others:
                for name in other.column_names[len(names) :]:
                    table = table.append_column(name, other.column(name))
            outcome.tables.append(self._full(table))

    def _chosen(self, i: int, results: NewResults, now: int | None) -> NewResults:
        """The results that come out."""
        bound = self.plan.bounds[i]
        if not bound.filters:
            return results
        if i not in self.plan.latest:
            return results.chosen(passing(bound, results))
        return self.plan.latest[i].news(self._latest[i], results, now)

    def _full(self, table: pa.Table, late: bool = False, query: int | None = None) -> pa.Table:
        """Rows with all columns of the result."""
        values: dict[str, Any] = {} if self.plan.late is None else {self.plan.late: late}
        if self.plan.told_apart:
            values[QUERY] = query
        return with_columns(table, self.plan.result, values)

    # -- what is kept -----------------------------------------------------------------------

    def _forget(self, now: int | None) -> None:
        """Forget the keys that have been idle for too long."""
        if self.plan.idle is None or now is None:
            return
        for family, log in zip(self._families, self._logs, strict=True):
            if family.idles and isinstance(log, Log):
                log.forget_idle(now - family.kept_for(self.plan.idle), now)

    def _sign(self, now: int | None) -> None:
        """The head of what is kept now."""
        header = self.header
        if self.plan.timed or now == END:
            header.done = max(NEVER if header.done is None else header.done, now or NEVER)
        header.stamp = os.urandom(16)
        header.waiting = self._waiting.pieces
        header.logs = [log.chunks for log in self._logs]
