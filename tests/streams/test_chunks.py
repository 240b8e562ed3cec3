"""Long windows: rows where they begin, aggregates between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.streams.feeding import Stream, disordered, plan_of, readings
from windrow import ArgMax, First, Max, Mean, Min, Query, StdDev, Sum, sliding
from windrow.streams.chunks import ChunkedWindows

PARTS = {
    "a": Max("x"), "b": Sum("x"), "c": Min("y"), "d": Mean("y"), "e": StdDev("x"),
    "f": ArgMax("x", "id"), "g": First("id"),
}  # fmt: skip


def asked(window: dict[str, Any], key: str | None = "key", **parts: Any) -> Query:
    return sliding(
        partition_by=key, order_by="ts", lateness="5 seconds", **window, **(parts or PARTS)
    )


def told(table: pa.Table) -> list[Any]:
    rows = table.sort_by("id").to_pylist()
    return [{n: round(v, 6) if isinstance(v, float) else v for n, v in r.items()} for r in rows]


@pytest.mark.parametrize(
    "window", [{"rows": 700}, {"rows": 60}, {"range": "600 seconds"},
               {"range": "600 seconds", "closed": "left"}], ids=str,
)  # fmt: skip
@given(seed=st.integers(0, 2**32), batch=st.integers(20, 120), keys=st.sampled_from([1, 3]))
@examples(12)
def test_long_windows_answer_as_the_table(
    window: dict[str, Any], seed: int, batch: int, keys: int
) -> None:
    rows = disordered(readings(1500, keys, seed, spread=1500), 5_000_000, seed)
    query = asked(window)
    plan = plan_of(query, schema=rows.schema)
    assert isinstance(plan.families[0], ChunkedWindows)
    stream = Stream(plan, 5_000_000)
    for i, begin in enumerate(range(0, rows.num_rows, batch)):
        stream.push(rows.slice(begin, batch))
        if i % 3 == 0:
            stream.restart(cold=i % 2 == 0)
    made = stream.finish()
    assert told(made) == told(query(rows).select(made.column_names))


def test_queries_share_a_history() -> None:
    rows = readings(1500, 2, 1, spread=1500)
    queries = [
        asked({"rows": 500}, a=Max("x")),
        asked({"range": "20 seconds"}, b=Sum("x")),
        asked({"range": "900 seconds"}, c=Mean("y"), d=ArgMax("y", "id")),
    ]
    stream = Stream(plan_of(*queries, schema=rows.schema))
    for begin in range(0, rows.num_rows, 40):
        stream.push(rows.slice(begin, 40))
        stream.restart()
    made = told(stream.finish())
    for query in queries:
        alone = told(query(rows))
        for name in query.parts:
            assert [r[name] for r in made] == [r[name] for r in alone], name


@pytest.mark.parametrize("window", [{"rows": 200_000}, {"range": "200 seconds"}], ids=str)
def test_a_restart_reads_where_windows_begin_and_no_more(window: dict[str, Any]) -> None:
    """Of a window of 200,000 rows in chunks of 5,000: two chunks at most, and forty aggregates."""
    n, batch = 300_000, 5_000
    schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "x": pa.float64()})
    query = sliding(order_by="ts", lateness="1 second", **window, a=Max("x"))
    stream = Stream(plan_of(query, schema=schema))
    values = np.random.default_rng(1).random(n)
    at = pa.array(10**15 + np.arange(n) * 1000, schema.field("ts").type)
    rows = pa.table([at, values], schema=schema)
    reads = []
    for begin in range(0, n, batch):
        stream.restart()
        before = stream.store.read
        stream.push(rows.slice(begin, batch))
        reads.append(stream.store.read - before)
    assert max(reads[-5:]) < 6 * 16 * batch, "beside the rows that waited"
    assert stream.store.size < 1.2 * 16 * (200_000 + 2 * batch)
