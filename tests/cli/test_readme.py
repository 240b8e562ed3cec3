"""The README's examples on Spark, run as they stand there; the others run with the documents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("streams")

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SECTION = README.partition("\n## Spark\n")[2].partition("\n## ")[0]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", SECTION, flags=re.MULTILINE | re.DOTALL)


def test_the_examples_on_spark(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    batch, stream = blocks("python")
    (shown,) = blocks("text")
    names: dict[str, Any] = {}
    exec(batch, names)
    assert capsys.readouterr().out.strip() == shown.strip()
    names["plugs"].write.parquet(str(tmp_path / "plugs"))
    for place in ("plugs/", "peaks/", "state/"):  # Java has a working directory of its own
        stream = stream.replace(f'"{place}"', repr(str(tmp_path / place)))
    exec(stream, names)
    query = names["query"]
    query.processAllAvailable()
    query.stop()
    told = spark.read.parquet(str(tmp_path / "peaks")).collect()
    wanted = {(r.plug, r.ts): r.peak for r in names["plugs"].transform(names["hourly"]).collect()}
    assert len(told) == 3  # the watermark has not passed the newest row
    assert all(wanted[row.plug, row.ts] == row.peak for row in told)


def test_every_engine_has_an_example() -> None:
    for word in ("polars", "pandas", "pyarrow", "pyspark", "numpy", "window(", "windrow run"):
        assert any(
            word in block
            for block in re.findall(r"^```\w+\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
        ), word
