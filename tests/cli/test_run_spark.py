"""`windrow run` on Spark: the same answers as in process; streams that go on from a checkpoint."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.cli.conftest import PEAK, Command
from windrow import sql
from windrow.cli.stream import Tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

LATE = PEAK.replace("RANGE", "LATENESS 10 MINUTES RANGE")


def rows(table: pa.Table, wanted: pa.Table) -> list[Any]:
    chosen = table.select(wanted.column_names).cast(wanted.schema)
    return chosen.sort_by([("plug_id", "ascending"), ("ts", "ascending")]).to_pylist()


@pytest.mark.parametrize("name", ["plugs.csv", "plugs.jsonl", "plugs.parquet", "folder"])
def test_every_format(
    spark: SparkSession, windrow: Command, files: Path, plugs: pa.Table, tmp_path: Path, name: str
) -> None:
    wanted = sql(PEAK, plugs=plugs)
    out = tmp_path / "out.parquet"
    done = windrow("run", PEAK, "-i", str(files / name), "-o", str(out))
    assert (done.code, done.out) == (0, ""), done.err
    assert rows(parquet.read_table(out), wanted) == rows(wanted, wanted)


def test_stdout_and_directories(
    spark: SparkSession, windrow: Command, files: Path, plugs: pa.Table, tmp_path: Path
) -> None:
    wanted = sql(PEAK, plugs=plugs)
    given = ("run", PEAK, "-i", str(files / "plugs.csv"), "--schema")
    ddl = "ts TIMESTAMP, house_id INT, household_id INT, plug_id INT, load DOUBLE"
    done = windrow(*given, ddl)
    assert done.code == 0, done.err
    assert rows(csv.read_csv(io.BytesIO(done.out.encode())), wanted) == rows(wanted, wanted)
    done = windrow(*given, ddl, "-o", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert rows(parquet.read_table(tmp_path / "out"), wanted) == rows(wanted, wanted)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert windrow(*given, ddl, "-o", str(tmp_path / "out")).code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((PEAK.replace("load", "laod"), "-i", "plugs.csv"), 1, "did you mean 'load'?"),
        ((PEAK, "-i", "plugs.csv", "--schema", "ts TIME TRAVEL"), 2, "--schema ts TIME TRAVEL: "),
        ((PEAK, "-i", "plugs.csv", "--time-column", "tss"), 1, "did you mean 'ts'?"),
        ((PEAK, "-i", "plugs.csv", "--format", "parquet"), 1, "Spark: "),
        ((PEAK, "-i", "folder", "--stream", "--once"), 1, "lateness"),
        ((LATE, "-i", "empty", "--format", "csv", "--stream", "--once"), 1, "give --schema"),
    ],
)
def test_mistakes_are_told(
    spark: SparkSession,
    windrow: Command,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    (files / "empty").mkdir(exist_ok=True)
    monkeypatch.chdir(files)
    done = windrow("run", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err and "Traceback" not in done.err


def test_a_stream_goes_on_from_its_checkpoint(
    spark: SparkSession, windrow: Command, files: Path, plugs: pa.Table, tmp_path: Path
) -> None:
    wanted = sql(PEAK, plugs=plugs)
    grows, out, state = (tmp_path / name for name in ("in", "out", "state"))
    grows.mkdir()
    given = ("run", LATE, "-i", f"plugs={grows}", "--format", "csv", "--stream", "--once")
    given = (*given, "--checkpoint", str(state), "-o", str(out))
    seen = 0
    for part in (0, 1), (2, 3):
        for i in part:
            shutil.copy(files / "folder" / f"{i}.csv", grows)
        done = windrow(*given)
        assert done.code == 0, done.err
        assert "done: 500 rows in " in done.err
        written = spark.read.parquet(str(out)).toArrow()
        assert written.num_rows >= seen
        seen = written.num_rows
    assert 0 < seen < 1000  # what the watermark has not passed is not told yet
    expected = {(row["plug_id"], row["ts"]): row["peak"] for row in wanted.to_pylist()}
    told = [(row["plug_id"], row["ts"]) for row in written.to_pylist()]
    assert len(set(told)) == seen  # each answer once
    assert all(expected[row["plug_id"], row["ts"]] == row["peak"] for row in written.to_pylist())


def test_a_stream_to_stdout(spark: SparkSession, windrow: Command, files: Path) -> None:
    given = ("run", LATE, "-i", f"plugs={files / 'folder'}", "--stream", "--once")
    done = windrow(*given)
    assert done.code == 0, done.err
    written = csv.read_csv(io.BytesIO(done.out.encode()))
    assert "peak" in written.column_names and 0 < written.num_rows < 1000


def test_a_tally_counts_each_batch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Report:
        def __init__(self, batch: int) -> None:
            self.batch, self.rows_in, self.late, self.dropped = batch, 10, 1, 1
            self.watermark = None

    monkeypatch.setattr("windrow.spark.progress.Progress.of", staticmethod(lambda r: r))
    tally = Tally()
    tally.add([Report(0), Report(1)])
    tally.add([Report(1), Report(2)])
    assert (tally.batches, tally.rows, tally.late) == (3, 30, 6)
    assert str(tally) == "30 rows in 3 batches, 6 too late"
