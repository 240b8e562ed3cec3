"""`windrow run --local`: every format in and out, and every mistake."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.cli.conftest import PEAK, Command
from windrow import sql
from windrow.cli import outputs

HOURLY = """
    SELECT house_id, AVG(load) AS mean, PERCENTILE(load, (0.5, 0.9)) AS shares
    FROM plugs [PARTITION BY house_id ORDER BY ts RANGE 10 MINUTES SLIDE 1 MINUTE]
"""


def same(table: pa.Table, wanted: pa.Table) -> bool:
    return bool(table.select(wanted.column_names).cast(wanted.schema).equals(wanted))


@pytest.mark.parametrize("name", ["plugs.csv", "plugs.jsonl", "plugs.parquet", "folder"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_formats_in_and_out(
    windrow: Command, files: Path, plugs: pa.Table, tmp_path: Path, name: str, suffix: str
) -> None:
    out = tmp_path / f"out.{suffix}"
    done = windrow("run", PEAK, "-i", f"plugs={files / name}", "--local", "-o", out)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith(f"1,000 rows in {out} after ")
    if suffix == "parquet":
        table = parquet.read_table(out)
    elif suffix == "csv":
        table = csv.read_csv(out)
    else:
        table = pa.Table.from_pylist([json.loads(line) for line in out.read_text().splitlines()])
        table = table.set_column(
            table.column_names.index("ts"), "ts", table["ts"].cast(pa.timestamp("us", "UTC"))
        )
    assert same(table, sql(PEAK, plugs=plugs))


def test_rows_go_to_stdout(windrow: Command, files: Path, plugs: pa.Table) -> None:
    given = ("run", PEAK, "-i", str(files / "plugs.parquet"), "--local")
    done = windrow(*given)
    assert (done.code, done.err) == (0, "")
    assert same(csv.read_csv(io.BytesIO(done.out.encode())), sql(PEAK, plugs=plugs))
    lines = [json.loads(line) for line in windrow(*given, "--json").out.splitlines()]
    assert [line["peak"] for line in lines] == sql(PEAK, plugs=plugs)["peak"].to_pylist()
    assert windrow(*given, "--output-format", "json").out == windrow(*given, "--json").out


def test_lists_in_answers(windrow: Command, files: Path, plugs: pa.Table) -> None:
    wanted = sql(HOURLY, plugs=plugs)
    done = windrow("run", HOURLY, "-i", str(files / "plugs.csv"), "--local", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["shares"] for line in lines] == wanted["shares"].to_pylist()
    text = windrow("run", HOURLY, "-i", str(files / "plugs.csv"), "--local").out
    assert text.splitlines()[1].endswith(']"')


def test_a_summary_as_json(windrow: Command, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    given = ("run", PEAK, "-i", str(files / "plugs.csv"), "--local", "-o", str(out), "--json")
    told = windrow(*given).json()
    assert told["rows"] == 1000 and told["output"] == str(out) and told["format"] == "csv"


def test_several_inputs_are_one(windrow: Command, files: Path) -> None:
    given = [f"--input=plugs={files / 'folder' / f'{i}.csv'}" for i in range(4)]
    together = windrow("run", PEAK, "-i", str(files / "plugs.csv"), "--local").out
    assert windrow("run", PEAK, *given, "--local").out == together
    assert windrow("run", PEAK, "-i", str(files / "folder" / "*.csv"), "--local").code == 0


def test_a_query_file_and_its_time_column(windrow: Command, files: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.toml"
    path.write_text('partition_by = "plug_id"\nrows = 3\n[results]\npeak = "MAX(load)"\n')
    data = str(files / "plugs.csv")
    ordered = path.with_name("o.toml")
    ordered.write_text('order_by = "ts"\n' + path.read_text())
    done = windrow("run", str(path), "-i", data, "--local", "--time-column", "ts")
    assert done.code == 0 and done.out == windrow("run", str(ordered), "-i", data, "--local").out


def test_output_that_fails_leaves_nothing(
    windrow: Command, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.Writer, "write", fail)
    out = tmp_path / "out.csv"
    done = windrow("run", PEAK, "-i", str(files / "plugs.csv"), "--local", "-o", str(out))
    assert (done.code, done.err) == (1, "windrow: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


LOCAL = ("-i", "plugs.csv", "--local")
MISTAKES: list[tuple[tuple[str, ...], int, str]] = [
    ((PEAK, "-i", "none.csv", "--local"), 2, "there is no file or directory 'none.csv'"),
    ((PEAK, "-i", "calls=plugs.csv", "--local"), 2, "the query reads 'plugs'"),
    ((PEAK, "--local"), 2, "Missing option '--input'"),
    (("none.toml", *LOCAL), 2, "there is no file 'none.toml'"),
    ((PEAK.replace("MAX", "MAXX"), *LOCAL), 2, "hint: did you mean MAX?"),
    ((PEAK.replace("load", "laod"), *LOCAL), 2, "did you mean 'load'?"),
    ((PEAK.replace("ORDER BY ts", "ORDER BY plug_id, ts"), *LOCAL), 2, "order_by names 2"),
    ((PEAK, *LOCAL, "--format", "parquet"), 1, "plugs.csv: "),
    ((PEAK, *LOCAL, "--format", "xml"), 2, "'xml' is not one of 'csv', 'json', 'parquet'"),
    ((PEAK, *LOCAL, "--schema", "ts"), 2, "--schema"),
    ((PEAK, *LOCAL, "--schema", "tz TIMESTAMP"), 2, "the input has no column 'tz'"),
    ((PEAK, *LOCAL, "--time-column", "tss"), 2, "did you mean 'ts'?"),
    ((PEAK, *LOCAL, "-o", "no/where/out.csv"), 2, "there is no directory 'no/where'"),
    ((PEAK, *LOCAL, "-o", "folder"), 2, "it is there already, and not empty"),
    ((PEAK, *LOCAL, "-o", "out.xlsx"), 2, "in .csv, .json, .jsonl, .ndjson, .parquet, .pq are"),
    ((PEAK, *LOCAL, "-o", "out.csv.gz"), 2, "files that end in .gz are not written"),
    ((PEAK, *LOCAL, "-o", "out.tsv"), 2, "files that end in .tsv are not written"),
    ((PEAK.replace("load", "ts"), "-i", "plugs.csv", "--local", "--delimiter", ";"), 2, "no such"),
    ((PEAK.replace("MAX(load)", "SUM(ts)"), *LOCAL), 2, "takes a column of numbers"),
    ((PEAK, *LOCAL, "--delimiter", "::"), 2, "it is one character"),
    ((PEAK, *LOCAL, "--delimiter", "ü"), 2, "it is one character"),
    ((PEAK, "-i", "plugs.jsonl", "--local", "--delimiter", ";"), 2, "--delimiter is for CSV"),
    ((PEAK, "-i", "plugs.jsonl", "--local", "--null", "NA"), 2, "--null is for CSV"),
    ((PEAK, *LOCAL, "--timestamp-format", "%d.%m."), 2, "the year is needed"),
    ((PEAK, *LOCAL, "--timestamp-format", "%Y %q"), 2, "%Y %m %d %H %M %S %f %z"),
    ((PEAK, *LOCAL, "--timestamp-format", "epoch"), 2, "epoch-s, epoch-ms, epoch-us, epoch-ns"),
    ((PEAK, *LOCAL, "--timestamp-format", "%Y"), 1, "is not written as %Y"),
    (
        (PEAK, "-i", "plugs.parquet", "--local", "--timestamp-format", "%Y"),
        2,
        "'ts' holds times already",
    ),
    ((PEAK, "-i", "plugs.csv", "--master", "nonsense"), 2, "spark://host:7077"),
    ((PEAK, *LOCAL, "--output-format", "parquet"), 2, "Parquet is written to files only"),
    ((PEAK, *LOCAL, "--stream"), 2, "--stream is Spark's"),
    ((PEAK, *LOCAL, "--master", "local[1]"), 2, "--master is Spark's"),
    ((PEAK, *LOCAL, "--conf", "a=b"), 2, "--conf is Spark's"),
    ((PEAK, *LOCAL, "--checkpoint", "c"), 2, "--checkpoint goes with --stream"),
    ((PEAK, *LOCAL, "--once"), 2, "--once goes with --stream"),
    ((PEAK, *LOCAL, "--every", "1 s"), 2, "--every goes with --stream"),
    ((PEAK, *LOCAL, "--future", "1 hour"), 2, "--future goes with --stream"),
    ((PEAK, *LOCAL, "--watch"), 2, "--watch goes with --stream"),
    ((PEAK, "-i", "folder", "--stream", "--key", "3"), 2, "--key goes with --stream --watch"),
    ((PEAK, "-i", "folder", "--stream", "--port", "0"), 2, "--port goes with --stream --watch"),
    ((PEAK, "-i", "plugs.csv", "--conf", "memory"), 2, "write name=value"),
    ((PEAK, "-i", "-", "--format", "csv"), 2, "Spark does not read stdin"),
    ((PEAK, "-i", "s3a://b/a.csv", "--local"), 2, "only Spark reads from there"),
    ((PEAK, "-i", "plugs.csv", "--stream"), 2, "--stream reads a directory that grows"),
    ((PEAK, "-i", "folder", "--stream", "-o", "a.csv"), 2, "a.csv is one file"),
    ((PEAK, "-i", "folder", "--stream", "-o", "out"), 2, "give --checkpoint DIR"),
    ((PEAK, "-i", "folder", "--stream", "--every", "soon"), 2, "--every"),
    ((PEAK, "-i", "folder", "--stream", "--future", "soon"), 2, "future='soon'"),
    ((PEAK, "-i", "folder", "--stream", "--once", "--every", "1 s"), 2, "leave --every out"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), MISTAKES)
def test_mistakes_are_told(
    windrow: Command,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(files)
    done = windrow("run", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err and done.err.startswith("windrow: ")
    assert "Traceback" not in done.err
    told = json.loads(windrow("run", *arguments, "--json").err)["error"]
    assert told["exit_code"] == code and message in told["message"]


def test_a_machine_without_java(
    windrow: Command, files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = windrow("run", PEAK, "-i", str(files / "plugs.csv"))
    assert done.code == 1 and "there is none on PATH: " in done.err and "--local" in done.err


def test_a_fault_of_windrow_itself_shows_its_traceback(
    windrow: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("windrow.cli.run._run_local", fail)
    done = windrow("run", PEAK, "-i", str(files / "plugs.csv"), "--local")
    assert done.code == 1
    assert "windrow: RuntimeError: out of luck" in done.err and "Traceback" in done.err


def test_an_interrupt_is_quiet(
    windrow: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("windrow.cli.run._run_local", interrupt)
    done = windrow("run", PEAK, "-i", str(files / "plugs.csv"), "--local")
    assert (done.code, done.out, done.err) == (130, "", "")


def test_a_file_of_another_name_has_the_format_that_was_asked_for(
    windrow: Command, files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    given = ("run", PEAK, "-i", str(files / "plugs.csv"), "--local", "-o", str(out))
    assert windrow(*given, "--output-format", "json").code == 0
    assert json.loads(out.read_text().splitlines()[0])["peak"] > 0


def test_standard_sql(windrow: Command, files: Path, plugs: pa.Table) -> None:
    text = """
        SELECT plug_id, ts, load - LAG(load) OVER (PARTITION BY plug_id ORDER BY ts) AS step
        FROM plugs QUALIFY step > 0 ORDER BY step DESC LIMIT 5
    """
    done = windrow("run", text, "-i", files / "plugs.parquet", "--local")
    assert (done.code, done.err) == (0, "")
    found = csv.read_csv(io.BytesIO(done.out.encode()))
    assert found["step"].to_pylist() == pytest.approx(sql(text, plugs=plugs)["step"].to_pylist())
    wrong = windrow("run", text.replace("load -", "lod -"), "-i", files / "plugs.csv", "--local")
    assert wrong.code == 2
    assert "the frame has no column 'lod'" in wrong.err
    assert "^^^" in wrong.err
    told = windrow("explain", text)
    assert "stage 1 of 1" in told.out
    assert json.loads(windrow("explain", text, "--json").out)["stages"]
    stream = windrow("run", text, "-i", files, "--stream", "--format", "csv")
    assert stream.code == 2
    assert "LATENESS" in stream.err


def test_a_sum_that_is_too_large_is_no_bug(windrow: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ts,v\n1,9223372036854775807\n2,1\n")
    query = "SELECT SUM(v) AS s FROM t [ORDER BY ts ROWS 2]"
    done = windrow("run", query, "-i", str(tmp_path / "t.csv"), "--local")
    assert (done.code, done.out) == (1, "")
    assert "exceeds int64" in done.err and "Traceback" not in done.err
