"""The state of a stream as files, and a changed query that goes on with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql.types import StructField, StructType

from tests.spark.test_checkpoint import PEAK, Files
from windrow import Count, Max, Mean, Min, Sum, sliding, streaming
from windrow.cli.app import run
from windrow.cli.query import read_query
from windrow.errors import InvalidArgument
from windrow.spark.checkpoint import read_checkpoint
from windrow.spark.state_files import export_state, import_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("streams")
COMMON: dict[str, Any] = {"partition_by": "plug", "order_by": "ts", "lateness": "10 seconds"}
HOPS = sliding(**COMMON, range="2 minutes", slide="20 seconds", mean=Mean("load"))
STOPPED = 1_700_000_389  # the watermark when the first query stops
CHANGES: dict[str, tuple[Any, Any]] = {
    "buckets, more results, a shorter window": (
        PEAK,
        streaming(
            sliding(
                {"least": Min("load"), "sum": Sum("load * 2")},
                **COMMON, range="2 minutes", peak=Max("load"),
            ),
            buckets=5,
        ),
    ),
    "hopping": (
        HOPS,
        sliding(**COMMON, range="1 minute", slide="20 seconds", mean=Mean("load"), n=Count("load")),
    ),
    "by rows": (
        sliding(**COMMON, rows=9, peak=Max("load")), sliding(**COMMON, rows=4, peak=Max("load"))
    ),
}  # fmt: skip


@pytest.mark.slow  # tests/streams/test_changes.py asks the same without Spark
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_query_goes_on_as_if_it_had_run_all_the_time(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    before, after = CHANGES[change]
    files = Files(spark, tmp_path)
    files.add(0, 400)
    files.answer(before)
    exported, changed = str(tmp_path / "exported"), str(tmp_path / "changed")
    export_state(spark, files.checkpoint, exported)
    import_state(spark, exported, changed, after, output=str(tmp_path / "peaks"))
    then, now = read_checkpoint(spark, files.checkpoint), read_checkpoint(spark, changed)
    assert (now.batch, now.watermark) == (then.batch + 1, then.watermark)
    assert sum(b.waiting for b in now.buckets) == sum(b.waiting for b in then.buckets)

    files.checkpoint = changed
    files.add(400, 900)
    files.add(2000, 2001)  # moves the watermark past all others
    files.answer(after)
    rows = spark.read.parquet(str(tmp_path / "rows"))
    query = after.query if hasattr(after, "buckets") else after
    wanted = rows.transform(query)
    time = "window_end" if "window_end" in wanted.columns else "ts"
    past = ">" if time == "window_end" else ">="  # a window is told when the watermark is there
    since = f"{time} {past} timestamp_seconds({STOPPED})"
    schema = StructType([StructField(f.name, f.dataType) for f in wanted.schema.fields])
    made = spark.read.schema(schema).parquet(str(tmp_path / "peaks"))
    until = f"{time} < timestamp_seconds(1700001900)"
    assert _told(made.where(since)) == _told(wanted.where(since).where(until))
    told = rows.transform(before).where(f"NOT ({since})")
    assert _told(made.where(f"NOT ({since})").select(told.columns)) == _told(told)


def _told(frame: Any) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.select(sorted(frame.columns)).collect())


@pytest.mark.slow
def test_what_is_refused_shows_both_queries_and_longer_windows_fill_up_if_that_is_said(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = Files(spark, tmp_path)
    files.add(0, 400)
    files.answer(PEAK)
    exported, changed = str(tmp_path / "exported"), str(tmp_path / "changed")
    assert run(["state", "export", files.checkpoint, exported]) == 0
    kept = spark.read.parquet(f"{exported}/kept_0")
    assert {"plug", "ts", "load", "windrow:bucket"} <= set(kept.columns)
    least = f"ts >= timestamp_seconds({STOPPED - 300}) AND ts < timestamp_seconds({STOPPED})"
    rows = spark.read.parquet(str(tmp_path / "rows")).where(least)
    assert _told(kept.where(least).select(rows.columns)) == _told(rows)
    assert spark.read.parquet(f"{exported}/waiting").count() == 11

    text = "SELECT {} FROM p [PARTITION BY plug ORDER BY ts RANGE {} LATENESS 10 SECONDS]"
    other = text.format("MIN(load) AS peak", "5 MINUTES")
    assert run(["state", "import", exported, changed, "--query", other]) == 2
    said = capsys.readouterr().err
    assert "peak cannot change" in said
    assert any("Max('load')" in line and "Min('load')" in line for line in said.splitlines())
    longer = text.format("MAX(load) AS peak", "10 MINUTES")
    assert run(["state", "import", exported, changed, "--query", longer]) == 2
    assert "--fill" in capsys.readouterr().err
    assert not Path(changed).exists()
    assert run(["state", "import", exported, changed, "--query", longer, "--fill"]) == 0
    assert "is ready" in capsys.readouterr().err
    assert "10 min" in read_checkpoint(spark, changed).query
    with pytest.raises(InvalidArgument, match="is there already"):
        import_state(spark, exported, changed, PEAK)
    with pytest.raises(InvalidArgument, match="is not what `windrow state export` writes"):
        import_state(spark, str(tmp_path / "rows"), str(tmp_path / "new"), PEAK)

    files.add(400, 410)
    with pytest.raises(StreamingQueryException, match="≠") as caught:
        files.answer(PEAK.replace(aggregations=(("peak", Min("load")),)))
    assert "windrow state export" in str(caught.value)

    batch = read_checkpoint(spark, changed).batch
    schema = "plug long, ts timestamp, load double"
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "rows"))
    stream = stream.transform(read_query(longer))  # goes on, though nothing was said of buckets
    started = stream.writeStream.format("noop").option("checkpointLocation", changed)
    started.trigger(availableNow=True).start().awaitTermination()
    assert read_checkpoint(spark, changed).batch > batch
