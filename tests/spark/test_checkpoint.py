"""The checkpoint of a stream: what it tells, and a state that is spread anew and goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as sf

from windrow import Max, sliding, streaming
from windrow.cli.app import run
from windrow.errors import InvalidArgument
from windrow.spark.checkpoint import read_checkpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("streams")

PEAK = sliding(
    partition_by="plug", order_by="ts", range="5 minutes", lateness="10 seconds", peak=Max("load")
)
STREAM = streaming(PEAK, buckets=16)


class Files:
    """A stream over a directory of files: what was answered, and its checkpoint."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark, self.place, self.checkpoint = spark, place, str(place / "checkpoint")

    def add(self, first: int, last: int) -> None:
        """One more file: a row a second, of seven plugs."""
        rows = self.spark.range(first, last).select(
            (sf.col("id") % 7).alias("plug"),
            sf.timestamp_seconds(sf.col("id") + 1_700_000_000).alias("ts"),
            (sf.col("id") * 7919 % 1000).cast("double").alias("load"),
        )
        rows.coalesce(1).write.mode("append").parquet(str(self.place / "rows"))

    def answer(self, query: Any = STREAM) -> None:
        """Run the stream over what has come."""
        schema = "plug long, ts timestamp, load double"
        rows = self.spark.readStream.schema(schema).parquet(str(self.place / "rows"))
        written = rows.transform(query).writeStream.format("parquet")
        written = written.option("checkpointLocation", self.checkpoint)
        written.trigger(availableNow=True).start(str(self.place / "peaks")).awaitTermination()


@pytest.mark.slow
def test_a_state_is_shown_spread_anew_and_goes_on(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = Files(spark, tmp_path)
    files.add(0, 400)
    files.answer()
    with monkeypatch.context() as earlier:
        earlier.setattr("windrow.spark.checkpoint.HEAD", (-1, 9))
        with pytest.raises(InvalidArgument, match="made by an earlier version of windrow"):
            read_checkpoint(spark, files.checkpoint)
    found = read_checkpoint(spark, files.checkpoint)
    assert "peak=Max('load')" in found.query
    assert found.watermark == (1_700_000_399 - 10) * 1000 - 1  # as Spark has it
    assert len(found.buckets) == 7 and found.partitions == 2
    assert sum(bucket.waiting for bucket in found.buckets) == 11  # the watermark itself included
    assert min(b.oldest for b in found.buckets if b.oldest is not None) >= 1_700_000_000 * 10**6
    assert all(bucket.bytes > 100 and bucket.chunks for bucket in found.buckets)

    output = str(tmp_path / "peaks")
    wanted_partitions = ["--partitions", "5", "--output", output]
    assert run(["state", "repartition", files.checkpoint, *wanted_partitions]) == 0
    assert "5 partitions of state (it had 2)" in capsys.readouterr().err
    again = read_checkpoint(spark, files.checkpoint)
    assert again.partitions == 5 and again.watermark == found.watermark
    apart = {b.bucket: (b.waiting, b.kept, b.bytes) for b in found.buckets}
    assert {b.bucket: (b.waiting, b.kept, b.bytes) for b in again.buckets} == apart

    files.add(400, 900)
    files.add(2000, 2001)  # moves the watermark past all others
    files.answer()
    rows = spark.read.parquet(str(tmp_path / "rows"))
    wanted = rows.transform(PEAK).where("ts < timestamp_seconds(1700000900)")
    made = spark.read.parquet(output)
    assert _peaks(made) == _peaks(wanted)

    assert run(["state", "show", files.checkpoint, "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["partitions"] == 5 and told["query"] == found.query
    assert run(["state", "show", files.checkpoint]) == 0
    assert "watermark  2023-11-14 22:46:29.999+00:00" in capsys.readouterr().out


def _peaks(frame: Any) -> list[Any]:
    return [tuple(row) for row in frame.select("ts", "plug", "peak").orderBy("ts").collect()]


def test_what_is_no_checkpoint_is_told(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidArgument, match="is not the checkpoint of a stream"):
        read_checkpoint(spark, str(tmp_path))
    assert run(["state", "show", str(tmp_path / "nowhere")]) == 2
    assert "is not the checkpoint" in capsys.readouterr().err
