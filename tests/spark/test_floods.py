"""Floods of rows that a stream must not follow: from the future, and too late."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")

from tests.spark.sources import Source, Told, told
from tests.streams.feeding import readings
from windrow import Count, Max, Sum, sliding, streaming
from windrow.spark.progress import Progress

pytestmark = pytest.mark.xdist_group("streams")
ROWS, FILES, FLOOD = 4000, 4, 5  # rows that count; files of them; bad rows for each good one
FUTURE = int(datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC).timestamp()) * 10**6
DAY = 86_400 * 10**6


def moved(rows: pa.Table, times: np.ndarray) -> pa.Table:
    """Return rows at other times, which would be the highest of every window."""
    table = rows.set_column(2, "ts", pa.array(times, pa.timestamp("us", "UTC")))
    return table.set_column(3, "x", pa.array(np.full(len(times), 10**9)))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("slide", [None, "1 minute"], ids=["each row", "hopping"])
def test_a_flood_from_the_future_and_of_late_rows(
    spark: Any, tmp_path: Path, slide: str | None, record_property: Callable[[str, object], None]
) -> None:
    """Five rows from the future and five that are too late come with each row that counts."""
    source, chance = Source(spark, tmp_path), np.random.default_rng(1)
    rows = readings(ROWS, 20, seed=1, spread=6 * 3600)
    rows = rows.sort_by("ts")
    size, ahead, late = ROWS // FILES, 0, 0
    for number in range(FILES):
        good = rows.slice(number * size, size)
        flood = pa.concat_tables([good] * FLOOD)
        parts = [good, moved(flood, FUTURE + chance.integers(0, 1000 * DAY, flood.num_rows))]
        ahead += flood.num_rows
        if number >= 2:  # the watermark has come that far
            first = rows.column("ts").cast(pa.int64())[0].as_py()
            parts.append(moved(flood, first - chance.integers(DAY, 300 * DAY, flood.num_rows)))
            late += flood.num_rows
        batch = pa.concat_tables(parts)
        source.add(batch.take(pa.array(chance.permutation(batch.num_rows))))
    source.close(rows)
    query = sliding(
        partition_by="key", order_by="ts", range="5 minutes", slide=slide, lateness="1 second",
        n=Count(), total=Sum("x"), peak=Max("x"),
    )  # fmt: skip
    progress = [Progress.of(Told(p)) for p in source.run(streaming(query, future="1 hour"))]
    made = source.result()
    assert told(made) == told(query(rows).select(made.column_names))
    assert (sum(p.ahead for p in progress), sum(p.late for p in progress)) == (ahead, late)
    record_property("rows that count", ROWS)
    record_property("rows from the future, all counted", ahead)
    record_property("late rows, all counted", late)
    record_property("results compared", made.num_rows)
    record_property("results lost, doubled or wrong", 0)  # else it has failed
