"""What the tests of streams share: a source of files, what to ask of it, and what came out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException

import windrow
from windrow import (
    EWM,
    Adwin,
    All,
    BitXor,
    Collect,
    Count,
    EWMByTime,
    Histogram,
    Increase,
    Max,
    Mean,
    Median,
    Mode,
    Query,
    Rank,
    Rate,
    Sum,
    TopK,
    sliding,
)  # fmt: skip

DDL = "id long, key string, ts timestamp, x long, y double"
CLOSING = 3600 * 10**6


class Source:
    """A directory of Parquet files, each a micro-batch."""

    def __init__(self, spark: Any, path: Path) -> None:
        self.spark, self.path, self.files = spark, path, 0
        (path / "in").mkdir(parents=True)

    def add(self, rows: pa.Table) -> None:
        file = self.path / "in" / f"{self.files:04}.parquet"
        hidden = file.with_name(f".{file.name}")
        pq.write_table(rows, hidden)
        os.utime(hidden, (1e9 + self.files, 1e9 + self.files))
        hidden.rename(file)
        self.files += 1

    def close(self, rows: pa.Table) -> None:
        """A row long after all others, which lets the watermark pass them."""
        last = rows.column("ts").cast(pa.int64()).to_numpy().max()
        at = pa.array([int(last) + CLOSING], rows.schema.field("ts").type)
        self.add(pa.table([pa.array([-1]), pa.array(["end"]), at, [0], [0.0]], rows.schema))

    def frame(self) -> Any:
        reader = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.path / "in"))

    def run(self, query: Any, mode: str = "append") -> list[dict[str, Any]]:
        """All batches that there are; the progress of each."""
        made = self.frame().transform(query)
        writer = made.writeStream.outputMode(mode).option(
            "checkpointLocation", str(self.path / "checkpoint")
        )
        if mode == "append":
            writer = writer.format("parquet").option("path", str(self.path / "out"))
        else:
            self.seen: list[Any] = []
            writer = writer.foreachBatch(lambda df, _: self.seen.append(df.toArrow()))
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()
        self.schema = made.schema
        return [dict(p) for p in running.recentProgress]

    def result(self) -> pa.Table:
        made = self.spark.read.schema(self.schema).parquet(str(self.path / "out"))
        table: pa.Table = made.toArrow()
        return table


class Told:
    """A progress that was made a dict, with attributes again."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)


def told(table: pa.Table) -> list[str]:
    return sorted(
        repr({n: round(v, 6) if isinstance(v, float) else v for n, v in row.items()})
        for row in table.to_pylist()
        if row.get("key") != "end"
    )


def fed(source: Source, rows: pa.Table, files: int = 2) -> None:
    size = -(-rows.num_rows // files)
    for begin in range(0, rows.num_rows, size):
        source.add(rows.slice(begin, size))
    source.close(rows)


def counted(progress: list[dict[str, Any]], name: str) -> int:
    """What windrow counted in some batches; the names of its metrics begin with its own."""
    metrics = [each for p in progress for each in p["observedMetrics"].items()]
    assert all(group.startswith("windrow_") for group, _ in metrics)
    return sum(getattr(row, name, None) or 0 for _, row in metrics)


def refused(source: Source, query: Any, match: str) -> None:
    with pytest.raises(AnalysisException, match=match) as caught:
        source.frame().transform(query)
    assert "The DataFrame's columns are:" in str(caught.value)


EVERYDAY = {
    "b": windrow.Any("x > 10"), "c": All("x > -40"), "d": BitXor("x"), "f": Increase("x"),
    "g": Rate("x", "ts"), "h": EWM("y", halflife=3), "i": EWMByTime("y", "ts", halflife=20),
}  # fmt: skip
ASKED: dict[str, Callable[[], Query]] = {
    "rows": lambda: sliding(
        partition_by="key", order_by="ts", rows=7, lateness="30 seconds",
        a=Max("x"), c=Collect("id"), m=Mean("y"),
    ),
    "range": lambda: sliding(
        partition_by="key", order_by="ts", range="20 seconds", lateness="30 seconds",
        where="x > -40", a=Max("x + 1"), c=Collect("id"),
    ),
    "frame": lambda: sliding(
        partition_by="key", order_by="ts", range=("-20 seconds", "10 seconds"),
        lateness="30 seconds", min_rows=2, a=Max("x").where("y > 0"), c=Collect("id"),
    ),
    "no key": lambda: sliding(order_by="ts", range="5 seconds", lateness="30 seconds", a=Sum("x")),
    "policy": lambda: sliding(
        partition_by="key", order_by="ts", until=lambda total, old: total.n - old.n >= 3,
        lateness="30 seconds", n=Count(),
    ),
    "adwin": lambda: sliding(
        partition_by="key", order_by="ts", until=Adwin("y / 10", delta=0.5), slide=2,
        lateness="30 seconds", n=Count(), c=Collect("id"),
    ),
    "hopping": lambda: sliding(
        partition_by="key", order_by="ts", range="1 minute", slide="7 seconds",
        lateness="30 seconds", a=Max("x"), c=Collect("id"),
    ),
    "order": lambda: sliding(
        partition_by="key", order_by="ts", range="1 minute", slide="7 seconds",
        lateness="30 seconds", j=Median("y"), k=TopK("x", k=2), l=Mode("x"), r=Rank("x"),
        m=Histogram("x", edges=(-50, 0, 20)),
    ),
    "every day": lambda: sliding(
        EVERYDAY, partition_by="key", order_by="ts", rows=7, lateness="30 seconds"
    ),
    "every day, hopping": lambda: sliding(
        EVERYDAY, partition_by="key", order_by="ts", range="1 minute", slide="7 seconds",
        lateness="30 seconds",
    ),
}  # fmt: skip
