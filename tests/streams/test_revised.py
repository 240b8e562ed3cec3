"""Results at once and corrected later: the last revision is what the table gives, at any time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.streams.feeding import Stream, disordered, plan_of, readings
from tests.streams.kinds import LATENESS, with_late
from windrow import ArgMax, Collect, Count, Max, Mean, Query, Sum, shared, sliding
from windrow.streams.revised import is_revisable

PARTS = {
    "a": Max("x"), "b": Sum("x"), "c": Collect("id"), "d": Mean("y"), "e": Count(),
    "f": ArgMax("x", "id"), "g": Max("x").where("y > 2"),
}  # fmt: skip
FEW = {"a": Max("x"), "e": Count("x")}  # which many a late row leaves as they were
KINDS: dict[str, dict[str, Any]] = {
    "rows": {"rows": 3},
    "one row": {"rows": 1},
    "many rows": {"rows": 50},
    "range": {"range": "20 seconds"},
    "range to the left": {"range": "20 seconds", "closed": "left"},
    "now": {"range": "now"},
    "before": {"range": ("-20 seconds", "-5 seconds")},
    "around": {"range": ("-10 seconds", "10 seconds")},
    "behind": {"range": ("2 seconds", "10 seconds"), "min_rows": 2},
    "rows before": {"rows": (-5, -2)},
    "rows around": {"rows": (-2, 2)},
    "rows without this one": {"rows": (-5, 0), "exclude": "current row"},
    "rows around this one": {"rows": (-2, 2), "exclude": "current row"},
    "without ties": {"range": ("-9 seconds", "5 seconds"), "exclude": "ties"},
    "enough rows": {"rows": 4, "min_rows": 3},
    "groups around": {"groups": (-1, 1)},
    "a month": {"range": "1 month"},
    "two horizons": {"range": ["5 seconds", "20 seconds"]},
    "rows of two horizons": {"rows": [2, 6]},
}


def asked(kind: str, key: str | None = "key", parts: Any = PARTS) -> Any:
    given = {"partition_by": key, "order_by": "ts", "lateness": "30 seconds"}
    return sliding(**given, **KINDS[kind], **parts)


def queries_of(query: Any) -> tuple[Query, ...]:
    return (query,) if isinstance(query, Query) else tuple(query)


class Table:
    """What a sink holds that puts each row in the place of the one with the same id."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}

    def upsert(self, came: list[dict[str, Any]]) -> None:
        for row in came:
            before = self.rows.get(row["id"])
            assert row["revision"] == (0 if before is None else before["revision"] + 1)
            self.rows[row["id"]] = row

    def results(self) -> dict[int, dict[str, Any]]:
        return {
            i: {n: v for n, v in row.items() if n != "revision"} for i, row in self.rows.items()
        }


def by_id(table: pa.Table) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in table.to_pylist()}


@pytest.mark.parametrize(
    ("kind", "parts"),
    [(kind, PARTS) for kind in KINDS] + [(k, FEW) for k in ("rows", "range", "around")],
    ids=[*KINDS, "rows, few", "range, few", "around, few"],
)
@given(key=st.sampled_from(["key", None]), seed=st.integers(0, 2**32))
@examples(9)
def test_what_has_changed_is_told_and_nothing_else(
    kind: str, parts: dict[str, Any], key: str | None, seed: int
) -> None:
    """After every batch the sink has what the table of all rows so far gives, restarts or not."""
    n = 100 if parts is FEW else 1 + seed % 100
    came = disordered(readings(n, 3, seed, spread=n), LATENESS, seed)  # a key's rows lie close
    query = asked(kind, key, parts)
    random = np.random.default_rng(seed)
    stream = Stream(plan_of(*queries_of(query), schema=came.schema, update=True), LATENESS)
    sink, at, known = Table(), 0, {}
    while at < n:
        size = int(random.integers(1, 20))
        stream.push(came.slice(at, size))
        at += size
        told = stream.result().to_pylist()
        stream.tables.clear()
        now = by_id(query(came.slice(0, at)))
        assert sorted(row["id"] for row in told) == sorted(i for i in now if now[i] != known.get(i))
        sink.upsert(told)
        assert sink.results() == now
        known = now
        if random.random() < 0.4:
            stream.restart(cold=random.random() < 0.5)
    assert stream.late == 0


@pytest.mark.parametrize("kind", ["rows", "range", "around", "rows around"])
@given(seed=st.integers(0, 2**32))
@examples(10)
def test_rows_behind_the_watermark_change_nothing(kind: str, seed: int) -> None:
    """They are counted, or come out marked and without a revision; the others are a table's."""
    rows, at = with_late(seed)
    query = asked(kind)
    stream = Stream(plan_of(query, schema=rows.schema, update=True, late="late"), LATENESS)
    late, sink = np.zeros(at.size, np.bool_), Table()
    for begin in range(0, rows.num_rows, 10):
        late[begin : begin + 10] = at[begin : begin + 10] < (stream.watermark or 0)
        stream.push(rows.slice(begin, 10))
    made = stream.result()
    assert stream.late == late.sum() > 0
    aside = made.filter(made.column("late"))
    assert aside.column("id").to_pylist() == rows.column("id").filter(pa.array(late)).to_pylist()
    assert aside.column("revision").null_count == aside.num_rows
    kept = made.filter(pa.array(~np.array(made.column("late")))).drop_columns(["late"])
    sink.upsert(kept.to_pylist())
    assert sink.results() == by_id(query(rows.filter(pa.array(~late))))


@pytest.mark.parametrize("kind", ["range", "around", "rows", "rows around"])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_no_row_to_come_can_change_is_forgotten(kind: str, restarts: bool) -> None:
    """The state is as long as lateness and window, however long the stream is."""
    rows = readings(6000, 3, seed=1, spread=12000)
    stream = Stream(plan_of(asked(kind), schema=rows.schema, update=True), LATENESS)
    held, sizes = [], []
    for begin in range(0, 6000, 100):
        stream.push(rows.slice(begin, 100))
        held.append(stream.bucket._logs[0].rows.num_rows)
        sizes.append(stream.store.size)
        if restarts:
            stream.restart()
    assert max(held[30:]) <= max(held[:30]) + 20 < 200
    assert max(sizes[40:]) < 2 * max(sizes[10:20])


@given(seed=st.integers(0, 2**32), n=st.integers(1, 80))
@examples(12)
def test_rows_as_they_come_are_told_again_when_others_follow(seed: int, n: int) -> None:
    rows = readings(n, 3, seed)
    query = sliding(partition_by="key", rows=(-1, 2), **PARTS)
    stream = Stream(plan_of(query, schema=rows.schema, update=True))
    sink = Table()
    for begin in range(0, n, 9):
        stream.push(rows.slice(begin, 9))
        stream.restart()
    sink.upsert(stream.result().to_pylist())
    assert sink.results() == by_id(query(rows))


def test_all_columns_of_the_order_decide_between_equal_times() -> None:
    rows = readings(120, 2, seed=7, spread=30)
    names = pa.array([None if i % 7 == 0 else f"n{i * 37 % 100}" for i in range(120)])
    came = disordered(rows.append_column("name", names), LATENESS, seed=7)
    query = sliding(
        partition_by="key", order_by=["ts", "name"], lateness="30 seconds", rows=(-2, 1), **PARTS
    )
    stream = Stream(plan_of(query, schema=came.schema, update=True), LATENESS)
    sink = Table()
    for begin in range(0, 120, 11):
        stream.push(came.slice(begin, 11))
        stream.restart()
    sink.upsert(stream.result().to_pylist())
    assert sink.results() == by_id(query(came))


def test_a_late_row_between_two_that_were_apart_joins_them() -> None:
    """A key starts anew behind a gap, until a row comes that makes it shorter."""
    times, ids = [100, 180, 140], [0, 2, 1]
    rows = pa.table({
        "id": ids, "key": ["a"] * 3, "x": [1, 4, 2], "y": [0.0] * 3,
        "ts": pa.array([10**15 + t * 10**6 for t in times], pa.timestamp("us", "UTC")),
    }).select(["id", "key", "ts", "x", "y"])  # fmt: skip
    query = sliding(partition_by="key", order_by="ts", lateness="90 seconds", rows=3, s=Sum("x"))
    stream = Stream(plan_of(query, schema=rows.schema, update=True, idle=50 * 10**6), 90 * 10**6)
    told = []
    for i in range(3):
        stream.push(rows.slice(i, 1))
        stream.restart()
        told.append([(r["id"], r["s"], r["revision"]) for r in stream.result().to_pylist()])
        stream.tables.clear()
    assert told == [[(0, 1, 0)], [(2, 4, 0)], [(2, 7, 1), (1, 3, 0)]]


def test_idle_keys_leave() -> None:
    rows = readings(40, 2, seed=3, spread=100)
    stream = Stream(plan_of(asked("rows"), schema=rows.schema, update=True, idle=3600 * 10**6))
    stream.push(rows)
    stream.restart()
    assert stream.store.size
    stream.finish()
    assert stream.store.size == 0


def test_which_windows_can_be_told_again() -> None:
    """Not those that a late row changes for ever, nor those that it gives other rows a result."""
    fine = [query for kind in KINDS for query in queries_of(asked(kind))]
    assert all(is_revisable(query.window) for query in fine)
    given = {"order_by": "ts", "e": Count()}
    for window in (
        {"rows": "unbounded"}, {"range": "unbounded"}, {"rows": ("unbounded", -1)},
        {"rows": (0, "unbounded")}, {"rows": 5, "slide": 2}, {"on": "x > 40"},
        {"until": lambda total, old: total.e > 4}, {"groups": ("unbounded", 0)},
    ):  # fmt: skip
        assert not is_revisable(sliding(**given, **window).window), window


def test_queries_that_wait_share_rows_with_others() -> None:
    came = disordered(readings(80, 3, 5, spread=200), LATENESS, 5)
    common = {"partition_by": "key", "order_by": "ts", "lateness": "30 seconds"}
    both = shared(
        sliding(**common, rows=3, a=Max("x")), sliding(**common, rows=(-1, 1), b=Collect("id"))
    )
    stream = Stream(plan_of(*both, schema=came.schema, update=True), LATENESS)
    for at in range(0, 80, 7):
        stream.push(came.slice(at, 7))
    sink = Table()
    sink.upsert(stream.result().to_pylist())
    for query in both:
        alone = by_id(query(came))
        assert {i: {n: row[n] for n in alone[i]} for i, row in sink.rows.items()} == alone
