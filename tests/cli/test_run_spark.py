"""`windrow run` on Spark: the same results as in process; streams that go on from a checkpoint."""

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
    assert windrow(*given, ddl, "-o", str(tmp_path / "out")).code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((PEAK.replace("load", "laod"), "-i", "plugs.csv"), 2, "did you mean 'load'?"),
        ((PEAK, "-i", "plugs.csv", "--schema", "ts TIME TRAVEL"), 2, "--schema ts TIME TRAVEL: "),
        ((PEAK, "-i", "plugs.csv", "--time-column", "tss"), 2, "did you mean 'ts'?"),
        ((PEAK, "-i", "plugs.csv", "--format", "parquet"), 1, "Spark: "),
        ((PEAK, "-i", "folder", "--stream", "--once"), 2, "lateness"),
        ((LATE, "-i", "empty", "--format", "csv", "--stream", "--once"), 2, "give --schema"),
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
    "typed.csv": "plug_id,ts,load\n1,2026-01-05T10:00:00Z,3.5\n2,2026-01-05T10:00:01Z,high\n",
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
    typed = (*given, "--schema", DDL)  # of a column that the query does not need, too
    told = () if name == "typed.csv" else ((*given, "--local"), given)
    streams = (streamed,) if name == "cut.jsonl" else ()
    for arguments in (*told, (*typed, "--local"), typed, *streams):
        done = windrow(*arguments)
        assert (done.code, done.out) == (1, ""), arguments
        assert name in done.err and "Traceback" not in done.err, arguments
        line = BAD[name].count("\n") + ("\n" not in BAD[name][-1])
        text = f"line {line}: the record does not fit the columns: {BAD[name].splitlines()[-1]}"
        assert "--local" in arguments or text in done.err
    assert not out.exists()


WRITTEN = {  # the same rows, written in other ways
    "german": (
        "plug_id;ts;load\n1;5.1.2026 10:00;3.5\n1;05.01.2026 10:30;NA\n2;05.01.2026 10:30;-\n",
        ("--delimiter", ";", "--null", "NA", "--null", "-", "--timestamp-format", "%d.%m.%Y %H:%M"),
    ),
    "tabs": (
        """plug_id,ts,load
1,20260105T100000+0000,3.5
1,20260105T103000Z,?
2,20260105T123000+02:00,?
""".replace(",", "\t"),
        ("--delimiter", "tab", "--null", "?", "--timestamp-format", "%Y%m%dT%H%M%S%z"),
    ),
    "epoch": (
        "plug_id,ts,load\n1,1767607200000,3.5\n1,1767609000000,\n2,1767609000000,\n",
        ("--timestamp-format", "epoch-ms"),
    ),
    "fractions": (
        "plug_id,ts,load\n1,1767607200,3.5\n1,1767609000.0,\n2,1767609000.0,\n",
        ("--timestamp-format", "epoch-s"),
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_rows_are_read_however_they_are_written(
    spark: SparkSession, windrow: Command, tmp_path: Path, name: str
) -> None:
    text, options = WRITTEN[name]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(text)
    (tmp_path / "in" / "empty.csv").write_text(text.partition("\n")[0] + "\n")
    query = LATE.replace("10 MINUTES", "1 SECOND")
    given = ("run", query, "-i", str(tmp_path / "in"), *options)
    local = windrow(*given, "--local")
    assert local.out.splitlines() == [
        '"plug_id","ts","load","peak"',
        "1,2026-01-05 10:00:00.000000Z,3.5,3.5",
        "1,2026-01-05 10:30:00.000000Z,,3.5",
        "2,2026-01-05 10:30:00.000000Z,,",
    ]
    for more in ((), ("--schema", DDL)):
        done = windrow(*given, *more)
        assert done.code == 0, done.err
        assert sorted(done.out.splitlines()) == sorted(local.out.splitlines())
    if name == "german":  # a stream waits for what comes behind the last time
        done = windrow(*given, "--stream", "--once")
        assert done.out.splitlines() == local.out.splitlines()[:2], done.err


@pytest.mark.parametrize("name", ["header.csv", "nothing.csv", "nothing.jsonl"])
def test_an_input_without_rows_needs_a_schema(
    spark: SparkSession, windrow: Command, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("plug_id,ts,load\n" if name == "header.csv" else "")
    given = ("run", PEAK, "-i", str(tmp_path / name))
    for more in ((), ("--local",)):
        done = windrow(*given, *more)
        assert done.code == 1 and "no rows" in done.err and "give --schema" in done.err, more
        done = windrow(*given, *more, "--schema", DDL)
        assert (done.code, done.out) == (0, '"plug_id","ts","load","peak"\n'), done.err


def test_json_that_is_nested_too_deep_is_refused(
    spark: SparkSession, windrow: Command, tmp_path: Path
) -> None:
    path = tmp_path / "deep.jsonl"
    row = '{"plug_id": 1, "ts": "2026-01-05T10:00:00Z", "load": 1, "x": DEEP}\n'
    path.write_text(row.replace("DEEP", "0") + row.replace("DEEP", "[" * 100_000 + "]" * 100_000))
    for more in ((), ("--local",), ("--schema", DDL)):
        done = windrow("run", PEAK, "-i", str(path), *more)
        assert done.code == 1 and "deep.jsonl" in done.err and len(done.err) < 500, more
        assert "Traceback" not in done.err


def test_a_stream_goes_on_from_its_checkpoint_and_another_query_does_not(
    spark: SparkSession, windrow: Command, files: Path, plugs: pa.Table, tmp_path: Path
) -> None:
    wanted = sql(PEAK, plugs=plugs)
    grows, out, state = (tmp_path / name for name in ("in", "out", "state"))
    grows.mkdir()

    def run(query: str) -> Any:
        given = ("run", query, "-i", f"plugs={grows}", "--format", "csv", "--stream", "--once")
        return windrow(*given, "--future", "1 hour", "--checkpoint", str(state), "-o", str(out))

    seen = 0
    for part in (0, 1), (2, 3):
        for i in part:
            shutil.copy(files / "folder" / f"{i}.csv", grows)
        done = run(LATE)
        assert done.code == 0, done.err
        assert "done: 500 rows in " in done.err
        written = spark.read.parquet(str(out)).toArrow()
        assert written.num_rows >= seen
        seen = written.num_rows
    assert 0 < seen < 1000  # what the watermark has not passed is not told yet
    expected = {(row["plug_id"], row["ts"]): row["peak"] for row in wanted.to_pylist()}
    told = [(row["plug_id"], row["ts"]) for row in written.to_pylist()]
    assert len(set(told)) == seen  # each result once
    assert all(expected[row["plug_id"], row["ts"]] == row["peak"] for row in written.to_pylist())
    shutil.copy(grows / "0.csv", grows / "again.csv")
    done = run(LATE.replace("load", "load * 3"))
    assert (done.code, done.out) == (2, "")
    for text in ("Max('load')", "Max('load * 3')", "1 hour", "buckets", "≠"):
        assert text in done.err
    assert done.err.rstrip().endswith("`windrow state export` and `windrow state import`")


def test_a_stream_to_stdout(spark: SparkSession, windrow: Command, files: Path) -> None:
    given = ("run", LATE, "-i", f"plugs={files / 'folder'}", "--stream", "--once")
    done = windrow(*given)
    assert done.code == 0, done.err
    written = csv.read_csv(io.BytesIO(done.out.encode()))
    assert "peak" in written.column_names and 0 < written.num_rows < 1000


def test_a_tally_counts_each_batch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Report:
        def __init__(self, batch: int) -> None:
            self.batch, self.rows_in, self.too_late = batch, 10, 2
            self.watermark, self.ahead = None, 2

    monkeypatch.setattr("windrow.spark.progress.Progress.of", staticmethod(lambda r: r))
    tally = Tally()
    tally.add([Report(0), Report(1)])
    tally.add([Report(1), Report(2)])
    assert (tally.batches, tally.rows, tally.late) == (3, 30, 6)
    assert str(tally) == "30 rows in 3 batches, 6 too late, 6 too far ahead"


CALLS = "SELECT MAX(v) AS m, COUNT(*) AS n FROM t [PARTITION BY k ORDER BY ts ROWS 2]"
ONE = "k,ts,v\na,2,2\n"


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"t.csv": 'k,ts,v\n"a, ""b""",1,1\n"c\\",2,2\n"",3,3\n,4,4\n'}, ()),  # quotes
        ({"t.csv": "k,ts,v\na,1,nan\na,2,inf\na,3,-inf\na,4,NaN\n"}, ()),
        ({"t.csv": ",k,ts,v\n0,a,1,1\n1,a,2,2\n"}, ()),  # as pandas writes an index
        ({"t.csv": "k,ts,v\n"}, ("--schema", "k STRING, ts BIGINT, v DOUBLE")),
        ({"t/a.csv": "k,ts,v\na,1,1\n", "t/sub/b.csv": "k,ts,v\na,2,2\n"}, ()),
        ({"t/d=2026-01-05/h=01/a.csv": "k,ts,v\na,1,1\n", "t/d=2026-01-06/h=2/b.csv": ONE}, ()),
        ({"t/h=x%20y/a.csv": "k,ts,v\na,1,1\n"}, ("--schema", "k STRING, ts BIGINT, v DOUBLE")),
        ({"t.csv": "k;ts;v\na;1;1\n"}, ()),
    ],
)  # fmt: skip
def test_files_are_read_as_without_spark(
    spark: SparkSession,
    windrow: Command,
    tmp_path: Path,
    files: dict[str, str],
    options: tuple[str, ...],
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    given = ("run", CALLS, "-i", str(tmp_path / next(iter(files)).split("/")[0]), *options)
    here, there = windrow(*given, "--local", "--json"), windrow(*given, "--json")
    assert (there.code, there.err) == (here.code, here.err)
    assert sorted(there.out.splitlines()) == sorted(here.out.splitlines())
    assert "Traceback" not in here.err


def test_texts_are_written_as_they_are(
    spark: SparkSession, windrow: Command, tmp_path: Path
) -> None:
    (tmp_path / "t.jsonl").write_text('{"k":" say \\"hi\\" ","ts":1,"v":2}\n')
    given = ("run", CALLS, "-i", str(tmp_path / "t.jsonl"), "--output-format", "csv")
    assert windrow(*given, "-o", str(tmp_path / "out")).code == 0
    (file,) = (tmp_path / "out").glob("*.csv")
    assert csv.read_csv(file)["k"].to_pylist() == [' say "hi" ']


def test_a_header_that_does_not_fit_is_told(
    spark: SparkSession, windrow: Command, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("k,ts,v\na,1,1\n")
    given = ("run", CALLS, "-i", str(tmp_path / "t.csv"), "--schema")
    for schema in ("ts BIGINT, k STRING, v DOUBLE", "k STRING, ts BIGINT, v DOUBLE, x INT"):
        done = windrow(*given, schema)
        assert done.code == 1
        assert f"{tmp_path}/t.csv: on Spark a header has all columns" in done.err
    times = pa.array([0], pa.timestamp("ns"))
    parquet.write_table(pa.table({"k": ["a"], "ts": times, "v": [1]}), tmp_path / "t.parquet")
    done = windrow("run", CALLS, "-i", str(tmp_path / "t.parquet"))
    assert (done.code, "nanoseconds, as pandas writes them" in done.err) == (1, True)
