"""Results now, corrected later: a table of the last revisions, with Spark and a restart."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyspark")

import duckdb

from tests.spark.frames import frame_of, slow
from tests.spark.sources import Source, counted, refused
from tests.streams.feeding import disordered, readings
from windrow import Count, Max, Sum, shared, sliding, streaming

pytestmark = pytest.mark.xdist_group("streams")
LATENESS = 40_000_000
COMMON = {"partition_by": "key", "order_by": "ts", "lateness": "40 seconds"}
WINDOWS: dict[str, tuple[Any, str]] = {
    "rows": ({"rows": 4}, "ROWS 3 PRECEDING"),
    "range": ({"range": "20 seconds"}, "RANGE INTERVAL 20 SECONDS PRECEDING"),
    "around": (
        {"range": ("-10 seconds", "15 seconds")},
        "RANGE BETWEEN INTERVAL 10 SECONDS PRECEDING AND INTERVAL 15 SECONDS FOLLOWING",
    ),
    "rows around": ({"rows": (-2, 1)}, "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING"),
}  # fmt: skip
UPSERT = """INSERT INTO peaks SELECT id, a, s, revision FROM news
ON CONFLICT (id) DO UPDATE SET a = EXCLUDED.a, s = EXCLUDED.s, revision = EXCLUDED.revision
WHERE EXCLUDED.revision > peaks.revision"""


class Sink:
    """A table in DuckDB that each micro-batch is merged into; `came` are the batches."""

    def __init__(self, path: Path) -> None:
        self.base = duckdb.connect(str(path / "sink.duckdb"))
        self.base.execute("CREATE TABLE peaks (id LONG PRIMARY KEY, a LONG, s LONG, revision INT)")
        self.came: list[pa.Table] = []

    def upsert(self, batch: Any, number: int) -> None:
        news = batch.toArrow()
        self.came += [news] if news.num_rows else []
        self.base.register("news", news)
        for _ in range(2):  # as after a failure: the second time changes nothing
            self.base.execute(UPSERT)
        self.base.unregister("news")

    def rows(self) -> list[tuple[Any, ...]]:
        return self.base.execute("SELECT * FROM peaks ORDER BY id").fetchall()


def in_sql(rows: pa.Table, frame: str) -> list[tuple[Any, ...]]:
    """The same windows by DuckDB; rows of equal time as they came."""
    came = rows.append_column("n", pa.array(np.arange(rows.num_rows)))
    order = "ts, n" if frame.startswith("ROWS") else "ts"
    window = f"OVER (PARTITION BY key ORDER BY {order} {frame})"
    base = duckdb.connect()
    base.register("came", came)
    return base.execute(
        f"SELECT id, max(x) {window}, sum(x) {window} FROM came ORDER BY id"
    ).fetchall()


def run(source: Source, query: Any, sink: Sink) -> list[dict[str, Any]]:
    """All batches that there are; the progress of each."""
    made = source.frame().transform(query)
    writer = made.writeStream.outputMode("update").foreachBatch(sink.upsert)
    writer = writer.option("checkpointLocation", str(source.path / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    return [dict(p) for p in running.recentProgress]


@pytest.mark.parametrize("kind", ["range", *map(slow, ("rows", "around", "rows around"))])
def test_the_last_revisions_are_the_results(source: Source, spark: Any, kind: str) -> None:
    """After each run they are DuckDB's, and Spark's over a table; changed rows alone come again."""
    rows = disordered(readings(240, 4, seed=8, spread=300), LATENESS, seed=8)
    window, frame = WINDOWS[kind]
    query = sliding(**COMMON, **window, a=Max("x"), s=Sum("x"))
    sink, known = Sink(source.path), {}
    for parts in ((0, 70, 110), (110, 240)):  # a run each, and in it a micro-batch each
        for begin, end in pairwise(parts):
            source.add(rows.slice(begin, end - begin))
        progress = run(source, streaming(query, mode="update"), sink)
        assert counted(progress, "late") == 0
        assert [row[:3] for row in sink.rows()] == in_sql(rows.slice(0, parts[-1]), frame)
    for news, end in zip(sink.came, (70, 110, 240), strict=True):
        now = {row[0]: row[1:] for row in in_sql(rows.slice(0, end), frame)}
        told = sorted(news.column("id").to_pylist())
        assert told == sorted(i for i in now if now[i] != known.get(i))
        known = now
    assert max(row[3] for row in sink.rows()) >= 1
    if "rows" not in kind:  # Spark may order rows of equal time otherwise
        batch = frame_of(spark, rows).transform(query).select("id", "a", "s").toArrow()
        found = [tuple(row.values()) for row in batch.sort_by("id").to_pylist()]
        assert found == [row[:3] for row in sink.rows()]


@pytest.mark.slow
def test_horizons_share_revisions(source: Source) -> None:
    rows = disordered(readings(160, 3, seed=9, spread=200), LATENESS, seed=9)
    query = sliding(**COMMON, range=["10 seconds", "30 seconds"], n=Count())
    for begin in (0, 80):
        source.add(rows.slice(begin, 80))
    source.run(streaming(query, mode="update", late="too_late"), mode="update")
    assert source.schema.simpleString().endswith("revision:int,too_late:boolean>")
    seen: dict[int, dict[str, Any]] = {}
    for table in source.seen:
        seen.update({row["id"]: row for row in table.to_pylist()})
    wanted = {row["id"]: row for row in query(rows).to_pylist()}
    for i, row in wanted.items():
        assert (seen[i]["n_10s"], seen[i]["n_30s"]) == (row["n_10s"], row["n_30s"])
    assert seen.keys() == wanted.keys()


def test_what_cannot_be_told_again_is_said_before_it_starts(source: Source) -> None:
    source.add(readings(5, 2, seed=1))
    totals = sliding(**COMMON, rows="unbounded", a=Max("x"))
    refused(source, streaming(totals, mode="update"), "is for windows with a result for each row")
    few = sliding(**COMMON, rows=4, slide=2, a=Max("x"))
    refused(source, streaming(few, mode="update"), "is for windows with a result for each row")
    three = sliding(**COMMON, rows=3, a=Max("x"))
    refused(source, streaming(three.replace(having="a > 1"), mode="update"), "having= does not go")
    told = three.replace(emit="istream")
    refused(source, streaming(told, mode="update"), 'emit="istream" does not go')
    named = shared(three, sliding(**COMMON, rows=2, revision=Max("x")))
    refused(source, streaming(named, mode="update"), "there is another column of that name")
