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

pytestmark = pytest.mark.xdist_group("streams")

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


BAD = {  # what is wrong with the second row
    "short.csv": "plug_id,ts,load\n1,2026-01-05T10:00:00Z,3.5\n2,2026-01-05T10:00:01Z\n",
    "long.csv": "plug_id,ts,load\n1,2026-01-05T10:00:00Z,3.5\n2,2026-01-05T10:00:01Z,2.5,9\n",
    "cut.jsonl": '{"plug_id": 1, "ts": "2026-01-05T10:00:00Z", "load": 3.5}\n{"plug_id": 2, "t',
}
DDL = "plug_id INT, ts TIMESTAMP, load DOUBLE"


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_record_is_refused_as_without_spark(
    spark: SparkSession, windrow: Command, tmp_path: Path, name: str
) -> None:
    folder, out = tmp_path / "in put", tmp_path / "out.csv"
    folder.mkdir()
    (folder / name).write_text(BAD[name])
    query = "SELECT COUNT(*) AS n FROM plugs [LATENESS 1 HOUR ORDER BY ts RANGE 1 HOUR]"
    given = ("run", query, "-i", f"plugs={folder / name}", "-o", str(out))
    streamed = ("run", query, "-i", f"plugs={folder}", "--stream", "--once", "--schema", DDL)
    for arguments in ((*given, "--local"), given, (*given, "--schema", DDL), streamed):
        done = windrow(*arguments)
        assert (done.code, done.out) == (1, ""), arguments
        assert name in done.err and "Traceback" not in done.err, arguments
        line = BAD[name].count("\n") + ("\n" not in BAD[name][-1])
        text = f"line {line}: the record does not fit the columns: {BAD[name].splitlines()[-1]}"
        assert "--local" in arguments or text in done.err
    assert not out.exists()


def test_a_checkpoint_of_another_query_is_refused_with_both(
    spark: SparkSession, windrow: Command, files: Path, tmp_path: Path
) -> None:
    grows = tmp_path / "in"
    shutil.copytree(files / "folder", grows)

    def run(query: str) -> Any:
        source = ("-i", f"plugs={grows}", "--stream", "--once", "--future", "1 hour")
        return windrow("run", query, *source, "--checkpoint", str(tmp_path / "state"))

    assert run(LATE.replace("load", "load * 2")).code == 0
    shutil.copy(grows / "0.csv", grows / "again.csv")
    done = run(LATE.replace("load", "load * 3"))
    assert (done.code, done.out) == (1, "")
    for text in ("Max('load * 2')", "Max('load * 3')", "future='1 hour'", "in 16 buckets of keys"):
        assert text in done.err
    assert done.err.rstrip().endswith("or run the query that made it")


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
            self.watermark, self.ahead = None, 2

    monkeypatch.setattr("windrow.spark.progress.Progress.of", staticmethod(lambda r: r))
    tally = Tally()
    tally.add([Report(0), Report(1)])
    tally.add([Report(1), Report(2)])
    assert (tally.batches, tally.rows, tally.late) == (3, 30, 6)
    assert str(tally) == "30 rows in 3 batches, 6 too late, 6 too far ahead"
