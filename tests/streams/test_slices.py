"""Hopping windows much longer than a batch: a step looks where windows begin and end."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.streams.feeding import Stream, disordered, plan_of, readings
from windrow import Count, First, Max, Mean, Sum, sliding
from windrow.streams.cache import DECODED
from windrow.streams.slices import SliceLog

PARTS: dict[str, Any] = {"m": Max("x"), "s": Sum("x"), "n": Count(), "a": Mean("x")}
WINDOW = {"range": "5 minutes", "slide": "1 second"}


def by_window(table: pa.Table) -> pa.Table:
    return table.sort_by([("key", "ascending"), ("window_end", "ascending")])


@pytest.mark.parametrize("parts", [PARTS, {**PARTS, "f": First("id")}], ids=["at once", "in turn"])
@pytest.mark.parametrize(
    "restarts",
    [None, pytest.param(True, id="cold"), pytest.param(False, id="warm", marks=pytest.mark.slow)],
)
@given(seed=st.integers(0, 2**32), batch=st.integers(5, 40))
@examples(9)
def test_results_are_those_of_a_table_whatever_is_summarised(
    parts: dict[str, Any], restarts: bool | None, seed: int, batch: int
) -> None:
    query = sliding(parts, partition_by="key", order_by="ts", **WINDOW)
    rows = readings(400, 3, seed, spread=1200)
    came = disordered(rows, by=10_000_000, seed=seed)
    stream = Stream(plan_of(query, schema=rows.schema), 10_000_000)
    for at in range(0, came.num_rows, batch):
        stream.push(came.slice(at, batch))
        if restarts is not None:
            stream.restart(cold=restarts)
    assert by_window(stream.finish()).equals(by_window(query(came)).cast(stream.plan.result))


def test_a_step_looks_at_few_of_the_slices_that_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many slices that come at once are cut by their times, and most of them become states."""
    DECODED.clear()
    summaries: list[int] = []
    summary = SliceLog.summary

    def counted(log: SliceLog, chunk: Any) -> pa.Table:
        summaries.append(log.held[chunk.number].num_rows)
        return summary(log, chunk)

    monkeypatch.setattr(SliceLog, "summary", counted)
    query = sliding(PARTS, partition_by="id", order_by="ts", range="1 hour", slide="1 second")
    seconds, keys = 4000, 16
    at = [10**15 + i // keys * 1_000_000 for i in range(seconds * keys)]
    rows = pa.table(
        {
            "id": pa.array([i % keys for i in range(len(at))]),
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
            "x": pa.array([i * 7919 % 1009 for i in range(len(at))]),
        }
    )
    stream = Stream(plan_of(query, schema=rows.schema))
    stream.push(rows.slice(0, 3700 * keys))
    held = stream.bucket._logs[0].rows.num_rows
    for second in range(3700, 3720):
        summaries.clear()
        stream.push(rows.slice(second * keys, keys))
        assert sum(summaries) > held / 2
    stream.push(rows.slice(3720 * keys))
    expected = query(rows).sort_by([("id", "ascending"), ("window_end", "ascending")])
    found = stream.finish().sort_by([("id", "ascending"), ("window_end", "ascending")])
    assert found.equals(expected.cast(stream.plan.result))
