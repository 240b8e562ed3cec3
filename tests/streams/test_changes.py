"""A query that goes on with the state of another: as if it had run all the time, or refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.streams.feeding import Stream, disordered, plan_of, readings
from windrow import Collect, Count, First, Max, Mean, Min, Query, Sum, sliding, streaming
from windrow.errors import InvalidArgument
from windrow.streams.bucket import Bucket
from windrow.streams.changes import check_change, moved_columns, side_by_side
from windrow.streams.description import Description, describe
from windrow.streams.header import Header

ROWS = disordered(readings(240, 5, seed=4, spread=300), 10_000_000, seed=4)
LATENESS = 10_000_000


def asked(*results: Any, **window: Any) -> Query:
    names = {f"r{i}": part for i, part in enumerate(results)}
    return sliding(partition_by="key", order_by="ts", lateness="10 seconds", **window, **names)


def described(query: Any, **options: Any) -> Description:
    plan = plan_of(query, schema=ROWS.schema)
    return describe(streaming(query, **options), plan, 16, ROWS.schema, 10_000, False)


def moved(stream: Stream, query: Query, then: Description) -> Stream:
    """A stream of another query that begins with the state of one."""
    now = described(query)
    found = Stream(plan_of(query, schema=ROWS.schema), stream.lateness, watermark=stream.watermark)
    waiting = [found.plan.rows.empty_table()]
    for piece in stream.bucket._waiting.pieces:
        waiting.append(stream.bucket._waiting.read(piece).slice(piece.gone))
    kept = []
    families = [*found.plan.families, *found.plan.latest.values()]
    for i, (log, family) in enumerate(zip(stream.bucket._logs, families, strict=True)):
        names = moved_columns(then, then.logs[i].columns, now, now.logs[i].columns)
        schema = pa.schema([*family.key_schema, *family.schema])
        kept.append([])
        for chunk in log.chunks:
            rows = log.read(chunk)
            arrays = [rows.column(names.get(name, name)) for name in schema.names]
            kept[-1].append((pa.Table.from_arrays(arrays, schema.names), chunk.newest))
    bucket = Bucket(found.plan, found.store, Header(found.identity))
    bucket.adopt(pa.concat_tables(waiting), kept, stream.bucket.header.done)
    found.bucket = bucket
    found.restart()
    return found


def pushed(stream: Stream, first: int, last: int) -> None:
    for at in range(first, last, 20):
        stream.push(ROWS.slice(at, 20))


def told(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


ALLOWED = {
    "shorter range": (asked(Max("x"), range="20 s"), asked(Max("x"), range="7 s")),
    "fewer rows": (asked(Sum("x"), Collect("id"), rows=9), asked(Sum("x"), Collect("id"), rows=4)),
    "fewer rows, every third": (asked(Max("x"), rows=9, slide=3), asked(Max("x"), rows=6, slide=3)),
    "shorter windows": (
        asked(Max("x"), range="40 s", slide="4 s"), asked(Max("x"), range="12 s", slide="4 s"),
    ),
    "more of the same column": (
        asked(Max("x"), range="20 s"), asked(Max("x"), Min("x"), Mean("x"), range="20 s"),
    ),
    "more of the same slices": (
        asked(Mean("y"), range="40 s", slide="4 s"),
        asked(Mean("y"), Sum("y"), Count("y"), range="40 s", slide="4 s"),
    ),
    "more of the same states": (
        asked(Mean("y"), range="unbounded"), asked(Mean("y"), Sum("y"), range="unbounded")
    ),
    "more and shorter": (asked(Max("x"), rows=9), asked(Max("x"), Sum("x"), rows=3)),
}  # fmt: skip


@pytest.mark.parametrize("change", ALLOWED)
def test_a_changed_query_goes_on_as_if_it_had_run_all_the_time(change: str) -> None:
    before, after = ALLOWED[change]
    check_change(described(before), described(after))
    one = Stream(plan_of(before, schema=ROWS.schema), LATENESS)
    always = Stream(plan_of(after, schema=ROWS.schema), LATENESS)
    for stream in (one, always):
        pushed(stream, 0, 140)
    other = moved(one, after, described(before))
    always.tables = []
    for stream in (other, always):
        pushed(stream, 140, 240)
    assert told(other.finish()) == told(always.finish()) and len(other.tables) > 1
    assert other.late == 0


def test_longer_windows_fill_up_if_that_is_said() -> None:
    before, after = (asked(Max("x"), Collect("id"), range=size) for size in ("5 s", "60 s"))
    with pytest.raises(InvalidArgument, match="longer windows hold is not kept"):
        check_change(described(before), described(after))
    check_change(described(before), described(after), fill=True)
    one = Stream(plan_of(before, schema=ROWS.schema), LATENESS)
    pushed(one, 0, 140)
    other = moved(one, after, described(before))
    pushed(other, 140, 240)
    since = one.bucket.header.done
    wanted = {row["id"]: row["r1"] for row in after(ROWS).to_pylist()}
    short, whole = 0, 0
    for row in other.finish().to_pylist():
        passed = row["ts"].timestamp() * 10**6 - since
        assert wanted[row["id"]][-len(row["r1"]) :] == row["r1"]  # the newest of them
        if passed > 60_000_000:
            assert row["r1"] == wanted[row["id"]]
            whole += 1
        short += row["r1"] != wanted[row["id"]]
    assert short and whole


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "another key": (
        asked(Max("x"), rows=3),
        sliding(order_by="ts", lateness="10 seconds", rows=3, r0=Max("x")),
        "partition_by cannot change",
    ),
    "another kind": (asked(Max("x"), rows=3), asked(Max("x"), range="3 s"), "rows cannot change"),
    "where": (asked(Max("x"), rows=3), asked(Max("x"), rows=3, where="x > 0"), "where cannot"),
    "a result less": (asked(Max("x"), Min("x"), rows=3), asked(Max("x"), rows=3), "r1 cannot"),
    "another result": (asked(Max("x"), rows=3), asked(Min("x"), rows=3), "r0 cannot"),
    "a column that is not kept": (
        asked(Max("x"), rows=3), asked(Max("x"), Sum("y"), rows=3), "y is needed for what is added",
    ),
    "a state that is not kept": (
        asked(Max("x"), range="9 s", slide="3 s"),
        asked(Max("x"), Sum("x"), range="9 s", slide="3 s"),
        "partial:sum:x is needed",
    ),
    "an order that is not kept": (
        asked(Max("x"), range="9 s", slide="3 s"),
        asked(Max("x"), First("x"), range="9 s", slide="3 s"),
        "depends on the order of rows",
    ),
    "slices that are cut": (
        asked(Max("x"), range="9 s", slide="3 s"),
        asked(Max("x"), range="7 s", slide="3 s"),
        "a multiple of the slide only",
    ),
    "another slide": (
        asked(Max("x"), range="9 s", slide="3 s"),
        asked(Max("x"), range="9 s", slide="1 s"),
        "slide cannot change",
    ),
    "another gap": (asked(Sum("x"), gap="9 s"), asked(Sum("x"), gap="3 s"), "gap cannot change"),
}  # fmt: skip


@pytest.mark.parametrize("change", REFUSED)
def test_what_the_state_does_not_have_is_refused_and_both_queries_are_shown(change: str) -> None:
    before, after, why = REFUSED[change]
    with pytest.raises(InvalidArgument, match=why) as error:
        check_change(described(before), described(after), fill=True)
    said = str(error.value)
    for query in (before, after):
        for name, part in query.parts.items():
            assert any(line.startswith(name) and repr(part) in line for line in said.splitlines())
    assert "≠" in said


def test_options_do_not_change() -> None:
    query = asked(Max("x"), rows=3)
    with pytest.raises(InvalidArgument, match="idle cannot change"):
        check_change(described(query), described(query, idle="7 days"))
    check_change(described(query), described(query, buckets=4))


def test_expressions_are_told_by_what_they_say() -> None:
    """Columns that stand for expressions are numbered, and numbers change with what is added."""
    then = described(asked(Max("x"), rows=3))
    then = Description.decode(then.encode())
    assert then == described(asked(Max("x"), rows=3))
    then.texts["__windrow_5"] = "x * 2"
    assert then.meaning("partial:max:__windrow_5") == "partial:max:(x * 2)"


def test_two_queries_stand_side_by_side() -> None:
    then, now = described(asked(Max("x"), rows=9)), described(asked(Max("x"), Min("x"), rows=4))
    lines = side_by_side(then, now).splitlines()
    assert lines[0].split() == ["the", "checkpoint's", "query", "this", "query"]
    assert [line.split() for line in lines if "≠" in line] == [
        ["rows", "9", "≠", "4"],
        ["r1", "–", "≠", "Min('x')"],
    ]
