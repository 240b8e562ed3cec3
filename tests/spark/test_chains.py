"""Results of a stream that feed another stateful operator of the same streaming query."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

from tests.spark.frames import frame_of, slow
from tests.spark.sources import Source, counted, told
from tests.streams.feeding import disordered, readings
from windrow import Collect, Count, Max, Min, Sum, sliding, streaming

pytestmark = pytest.mark.xdist_group("streams")
COMMON: dict[str, Any] = {"partition_by": "key", "order_by": "ts", "lateness": "30 seconds"}
PEAK = sliding(**COMMON, range="20 seconds", peak=Max("x"))
HOPS = sliding(**COMMON, range="20 seconds", slide="5 seconds", peak=Max("x"))
VISITS = sliding(**COMMON, gap="9 seconds", visit=Collect("id"))


def minutes(frame: Any) -> Any:
    """Spark's own windows over the results of a query."""
    grouped = frame.transform(PEAK).groupBy("key", sf.window("ts", "1 minute"))
    made = grouped.agg(sf.max("peak").alias("top"), sf.count("*").alias("n"))
    return made.select("key", sf.col("window.start").alias("start"), "top", "n")


def joined(frame: Any) -> Any:
    """Results beside rows of another stream that were a little earlier.

    The row behind all others is in both: the watermark is that of the stream that is behind.
    """
    alerts = frame.where("x > 15 OR id < 0").select(
        sf.col("key").alias("of"), sf.col("ts").alias("at"), sf.col("id").alias("alert")
    )
    near = "key = of AND at BETWEEN ts - INTERVAL 10 SECONDS AND ts"
    made = frame.transform(PEAK).join(alerts.withWatermark("at", "30 seconds"), sf.expr(near))
    return made.select("key", "id", "peak", "alert")


def from_spark(frame: Any) -> Any:
    """A query over Spark's own windows."""
    grouped = frame.withWatermark("ts", "30 seconds").groupBy("key", sf.window("ts", "7 seconds"))
    made = grouped.agg(sf.max("x").alias("top"))
    made = made.select("key", sf.window_time("window").alias("at"), "top")
    return made.transform(sliding(partition_by="key", order_by="at", rows=3, s=Sum("top")))


CHAINS: dict[str, Callable[[Any], Any]] = {
    "windrow, Spark's windows": minutes,
    "windrow, a join": joined,
    "Spark's windows, windrow": from_spark,
    "by row, hopping": lambda frame: frame.transform(PEAK).transform(
        sliding(
            partition_by="key", order_by="ts", range="1 minute", slide="10 seconds", s=Sum("peak")
        )
    ),
    "hopping, by row": lambda frame: frame.transform(HOPS).transform(
        sliding(partition_by="key", order_by="window_end", rows=3, s=Collect("peak"))
    ),
    "sessions, all keys": lambda frame: frame.transform(VISITS).transform(
        sliding(order_by="session_end", range="1 minute", n=Count(), first=Min("session_start"))
    ),
}


@pytest.mark.parametrize(
    "chain",
    ["hopping, by row",
     *map(slow, ("windrow, Spark's windows", "windrow, a join", "Spark's windows, windrow",
                 "by row, hopping", "sessions, all keys"))],
)  # fmt: skip
def test_a_chain_gives_what_it_gives_over_a_table(spark: Any, tmp_path: Path, chain: str) -> None:
    source = Source(spark, tmp_path)
    rows = on_seconds(disordered(readings(300, 5, seed=3, spread=400), 30_000_000, seed=3))
    source.add(rows.slice(0, 150))
    progress = source.run(CHAINS[chain])
    source.add(rows.slice(150))
    source.close(rows)
    progress += source.run(CHAINS[chain])
    wanted = told(CHAINS[chain](frame_of(spark, rows)).toArrow())
    assert told(source.result()) == wanted and len(wanted) > 20
    assert counted(progress, "late") == counted(progress, "partly_late") == 0
    assert sum(o["numRowsDroppedByWatermark"] for p in progress for o in p["stateOperators"]) == 0


def on_seconds(rows: pa.Table) -> pa.Table:
    """The same rows at whole seconds: some then lie at a watermark, where Spark is strict."""
    at = rows.column("ts").cast(pa.int64()).to_numpy() // 10**6 * 10**6
    kind = rows.schema.field("ts").type
    return rows.set_column(rows.column_names.index("ts"), "ts", pa.array(at, pa.int64()).cast(kind))


SECOND = sliding(partition_by="key", order_by="ts", rows=3, s=Sum("x"))


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (HOPS, sliding(partition_by="key", order_by="window_start", rows=2, n=Count()),
         "give order_by='window_end'"),
        (PEAK, sliding(partition_by="key", order_by="ts", lateness="1 minute", rows=2, n=Count()),
         "watermark of 30000 ms along 'ts' already"),
        (streaming(PEAK, late="too_late"), SECOND, "start a second stream that reads"),
        (sliding(**COMMON, rows=(-3, 3), m=Max("x")), SECOND, "start a second stream that reads"),
        (PEAK, streaming(SECOND, future="1 hour"), "has followed rows from the future"),
    ],
)  # fmt: skip
def test_what_cannot_follow_is_told_before_the_stream_starts(
    spark: Any, tmp_path: Path, first: Any, second: Any, said: str
) -> None:
    frame = Source(spark, tmp_path).frame().transform(first)
    with pytest.raises(AnalysisException, match=said):
        frame.transform(second)


def test_windows_that_are_told_as_they_change_neither_lead_nor_follow(
    spark: Any, tmp_path: Path
) -> None:
    frame = Source(spark, tmp_path).frame()
    by_end = sliding(partition_by="key", order_by="window_end", rows=2, n=Count())
    with pytest.raises(AnalysisException, match="start a second stream that reads"):
        frame.transform(streaming(HOPS, mode="update")).transform(by_end)
    hops = sliding(partition_by="key", order_by="ts", range="1 minute", slide="9 s", n=Count())
    with pytest.raises(AnalysisException, match='mode="update"'):
        frame.transform(PEAK).transform(streaming(hops, mode="update"))


def test_files_of_a_stream_are_read_as_a_new_one(spark: Any, tmp_path: Path) -> None:
    """Their schema has Spark's mark of the watermark, which the second stream does not have."""
    source = Source(spark, tmp_path)
    rows = readings(60, 2, seed=1, spread=300)
    source.add(rows)
    source.close(rows)
    source.run(PEAK)
    written = spark.read.parquet(str(tmp_path / "out"))
    frame = spark.readStream.schema(written.schema).parquet(str(tmp_path / "out"))
    with pytest.raises(AnalysisException, match="how late may a row come"):
        frame.transform(SECOND)
    frame.transform(sliding(**COMMON, rows=3, s=Sum("x")))
