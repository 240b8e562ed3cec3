"""The end of a stream, and one that has gone quiet, in Spark: nothing waits for one more row."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from tests.spark.frames import slow
from tests.spark.sources import ASKED, Source, counted, refused, told
from tests.streams.feeding import disordered, readings
from windrow import Collect, Count, Max, sliding, streaming
from windrow.errors import InvalidArgument

pytestmark = pytest.mark.xdist_group("streams")
AROUND = sliding(
    partition_by="key", order_by="ts", rows=(-2, 2), lateness="30 seconds", c=Collect("id")
)


@pytest.mark.parametrize("kind", ["rows", *map(slow, ("around", "hopping", "policy", "frame"))])
def test_a_bounded_stream_is_the_table_whole(source: Source, kind: str) -> None:
    """A run reads all there is, some files at a time; the last one sends out what waits."""
    rows = disordered(readings(200, 5, seed=3, spread=400), 30_000_000, seed=3)
    query = AROUND if kind == "around" else ASKED[kind]()
    for begin in (0, 100):
        source.add(rows.slice(begin, 100))
    with pytest.raises(StreamingQueryException, match="nothing is left to read"):
        source.run(streaming(query, final=True))
    progress = source.run(streaming(query, final=False))
    assert source.result().num_rows < len(told(query(rows)))
    progress += source.run(streaming(query, final=True))
    made = source.result()
    assert told(made) == told(query(rows).select(made.column_names))
    assert counted(progress, "late") == 0


def test_results_come_out_of_a_stream_that_has_gone_quiet(source: Source) -> None:
    rows = disordered(readings(120, 4, seed=5, spread=200), 30_000_000, seed=5)
    source.add(rows)
    query = ASKED["rows"]()
    made = source.frame().transform(streaming(query, flush="2 seconds"))
    source.schema = made.schema
    writer = made.writeStream.format("parquet").option("path", str(source.path / "out"))
    running = writer.option("checkpointLocation", str(source.path / "checkpoint")).start()
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and running.isActive:
            time.sleep(1)
            if any((source.path / "out").glob("*.parquet")) and source.result().num_rows == 120:
                break
    finally:
        running.stop()
    made = source.result()
    assert told(made) == told(query(rows).select(made.column_names))


def test_what_does_not_go_together_is_said_before_it_starts(source: Source) -> None:
    source.add(readings(5, 2, seed=1))
    loose = sliding(partition_by="key", rows=3, a=Max("x"))
    refused(source, streaming(loose, flush="1 minute"), "flush='1 minute' is about the times")
    for given in ({"flush": "1 minute"}, {"final": True}):
        with pytest.raises(InvalidArgument, match="in which results do not wait"):
            streaming(loose, mode="update", **given)
    with pytest.raises(InvalidArgument, match="final='yes' must be True, False or left out"):
        streaming(loose, final="yes")  # type: ignore[arg-type]
    said = streaming(sliding(order_by="ts", rows=3, lateness="1 s", n=Count()), flush="1 hour")
    assert "time goes on with the clock" in said.explain()
