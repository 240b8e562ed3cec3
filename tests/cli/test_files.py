"""Files in and out: formats, schemas, and that a file is whole or not there."""

from __future__ import annotations

import datetime as dt
import io
import json
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from windrow import Max, sliding
from windrow.cli.failures import Failed, Usage
from windrow.cli.inputs import Input, files_in, format_of, read_inputs
from windrow.cli.outputs import Writer, directory, output_format, replacing, write_table
from windrow.cli.tables import read_table, schema_of
from windrow.cli.times import TimeFormat
from windrow.errors import InvalidArgument

UTC = pa.timestamp("us", "UTC")


def query(source: str | None) -> Any:
    return sliding(rows=2, peak=Max("load")).replace(source=source)


# -- inputs ----------------------------------------------------------------------------------


def test_an_input_goes_by_the_name_after_from(files: Path) -> None:
    path = str(files / "plugs.csv")
    for text, source in ((f"plugs={path}", "plugs"), (f"PLUGS={path}", "plugs"), (path, "plugs")):
        assert read_inputs((text,), query(source)) == Input((path,), "csv")
    assert read_inputs((f"any={path}",), query(None)).paths == (path,)
    with pytest.raises(Usage, match="the query reads 'plugs'"):
        read_inputs((f"calls={path}",), query("plugs"))
    with pytest.raises(Usage, match="the query reads 'a'"):
        read_inputs((f"a={path}", f"b={path}"), query(None))


def test_patterns_and_directories(files: Path) -> None:
    found = read_inputs((str(files / "folder" / "[0-9].csv"),), query(None))
    assert [Path(path).name for path in found.paths] == ["0.csv", "1.csv", "2.csv", "3.csv"]
    assert found.name.endswith("0.csv and 3 more")
    assert read_inputs((str(files / "folder"),), query(None)).format == "csv"
    assert [Path(p).name for p in files_in(str(files / "folder"))] == [f"{i}.csv" for i in range(4)]


def test_formats_must_be_told_and_one(files: Path, tmp_path: Path) -> None:
    with pytest.raises(Usage, match="several formats: csv, json, parquet"):
        read_inputs((str(files / "plugs.*"),), query(None))
    (tmp_path / "rows").write_text("a\n1\n")
    with pytest.raises(Usage, match="give --format"):
        read_inputs((str(tmp_path / "rows"),), query(None))
    assert read_inputs((str(tmp_path / "rows"),), query(None), "csv").format == "csv"
    with pytest.raises(Usage, match="no file or directory"):
        read_inputs((str(tmp_path / "nothing.csv"),), query(None))
    assert read_inputs(("s3a://bucket/a.parquet",), query(None)).format == "parquet"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", "csv"),
        ("a.TSV", "csv"),
        ("a.b.ndjson.gz", "json"),
        ("a.pq", "parquet"),
        ("a", None),
    ],
)
def test_names_tell_formats(name: str, kind: str | None) -> None:
    assert format_of(name) == kind


# -- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plugs.csv", "plugs.jsonl", "plugs.parquet", "folder"])
def test_every_format_gives_the_same_rows(files: Path, plugs: pa.Table, name: str) -> None:
    source = read_inputs((str(files / name),), query(None))
    table = read_table(source).select(plugs.column_names)
    assert table.schema.field("ts").type == UTC
    assert table.cast(plugs.schema).equals(plugs)


def read(tmp_path: Path, text: str, name: str = "t.csv", **options: Any) -> pa.Table:
    path = tmp_path / name
    path.write_text(text)
    return read_table(Input((str(path),), format_of(name) or "csv", **options))


@pytest.mark.parametrize("time", ["2026-01-05 10:00:00", "2026-01-05T10:00:00Z"])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_times_are_utc(tmp_path: Path, time: str, name: str) -> None:
    text = f"ts\n{time}\n" if name == "t.csv" else json.dumps({"ts": time}) + "\n"
    table = read(tmp_path, text, name)
    assert table.schema.field("ts").type == UTC
    assert table["ts"].to_pylist() == [dt.datetime(2026, 1, 5, 10, tzinfo=dt.UTC)]


def test_text_that_is_not_all_times_stays_text(tmp_path: Path) -> None:
    table = read(tmp_path, "a\n2026-01-05 10:00:00\nlater\n")
    assert table.schema.field("a").type == pa.string()
    with pytest.raises(Failed, match="not all of it are times"):
        read(tmp_path, "a\n2026-01-05 10:00:00\nlater\n", time_column="a")
    with pytest.raises(InvalidArgument, match="did you mean 'a'"):
        read(tmp_path, "a\n1\n", time_column="aa")
    assert read(tmp_path, "a\n1\n", time_column="a")["a"].to_pylist() == [1]


def test_nothing_is_null_and_nan_is_not(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,b\n,""\nNaN,x\n')
    assert table["a"][0].as_py() is None and str(table["a"][1].as_py()) == "nan"
    assert table["b"].to_pylist() == [None, "x"]  # in quotes too, as Spark reads it


def test_a_schema_chooses_casts_and_orders(tmp_path: Path) -> None:
    text = "a,b,c,t\n1,2,x,2026-01-05 10:00:00\n"
    ddl = "t TIMESTAMP, a DOUBLE, b DECIMAL(5, 1), c STRING"
    table = read(tmp_path, text, schema=ddl)
    assert table.schema == schema_of(ddl)
    assert table["b"].to_pylist() == [Decimal("2.0")]
    clock = read(tmp_path, text, schema="t TIMESTAMP_NTZ")
    assert clock["t"].to_pylist() == [dt.datetime(2026, 1, 5, 10)]
    with pytest.raises(Failed, match="no column 'd'; "):
        read(tmp_path, text, schema="d INT")
    with pytest.raises(Failed):
        read(tmp_path, text, schema="c INT")
    with pytest.raises(Usage, match="type 'duble' is unknown; did you mean 'double'"):
        read(tmp_path, text, schema="a DUBLE")


@pytest.mark.parametrize("text", ["", "a", "a INT b INT", "a INT,,b INT"])
def test_schemas_that_are_none(text: str) -> None:
    with pytest.raises(InvalidArgument, match="--schema"):
        schema_of(text)


def test_files_that_differ(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("x\n1\n")
    (tmp_path / "in" / "b.csv").write_text("x\ntext\n")
    with pytest.raises(Failed, match="the files differ"):
        read_table(Input((str(tmp_path / "in"),), "csv"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(Failed, match="no files"):
        read_table(Input((str(tmp_path / "empty"),), "csv"))
    with pytest.raises(Failed, match="only Spark"):
        read_table(Input(("s3a://b/a.csv",), "csv"))
    with pytest.raises(Failed, match=r"t\.csv: "):
        read(tmp_path, "a,b\n1\n2,3,4\n")


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_text_that_is_not_utf8_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = "a,b\n1,München\n" if name == "t.csv" else '{"a": 1}\n{"a": 1, "b": "München"}\n'
    path.write_bytes(text.encode("latin1"))
    with pytest.raises(Failed, match=rf"{name}, line 2, byte \d+: this is not UTF-8"):
        read_table(Input((str(path),), format_of(name) or ""))
    path.write_bytes("ä,b\n1,2\n".encode("latin1"))
    with pytest.raises(Failed, match="line 1, byte 1: this is not UTF-8"):
        read_table(Input((str(path),), "csv"))


@pytest.mark.parametrize("between", ["", "[1], "])
def test_how_deep_json_may_be(tmp_path: Path, between: str) -> None:
    def nested(levels: int) -> str:
        return '{"a": ' + f"[{between}" * (levels - 1) + "[]" + "]" * (levels - 1) + "}\n"

    with pytest.raises(Failed, match="nested more than 50 levels"):
        read(tmp_path, nested(10) * 300_000 + nested(60), "t.jsonl")
    if not between:
        assert read(tmp_path, nested(10) * 3, "t.jsonl").num_rows == 3


@pytest.mark.parametrize(
    ("form", "values", "time"),
    [
        ("%d.%m.%Y %H:%M:%S.%f", ["5.1.2026 9:30:00.25", None], "2026-01-05 09:30:00.25"),
        ("%Y/%m/%d", ["2026/01/05"], "2026-01-05"),
        ("%Y%m%d%H%M", [202601050930], "2026-01-05 09:30"),
        ("%Y-%m-%d %H:%M%z", ["2026-01-05 11:30+0200"], "2026-01-05 09:30"),
        ("(%Y) %m|%d", ["(2026) 1|5"], "2026-01-05"),
        ("epoch-s", [1767605400], "2026-01-05 09:30"),
        ("epoch-s", [1767605400.25], "2026-01-05 09:30:00.25"),
        ("epoch-s", ["1767605400"], "2026-01-05 09:30"),
        ("epoch-ms", [1767605400250], "2026-01-05 09:30:00.25"),
        ("epoch-us", [1767605400250000], "2026-01-05 09:30:00.25"),
        ("epoch-ns", [1767605400250000001], "2026-01-05 09:30:00.25"),
    ],
)
def test_times_in_other_forms(form: str, values: list[Any], time: str) -> None:
    times = TimeFormat(form).in_arrow(pa.chunked_array([values]), "t")
    assert times.type == UTC
    wanted = dt.datetime.fromisoformat(time).replace(tzinfo=dt.UTC)
    assert times.to_pylist() == [None if value is None else wanted for value in values]


def test_nulls_and_delimiters(tmp_path: Path) -> None:
    text = 'a;b\n1;x\nNA;"NA"\n-;""\n;\n'
    table = read(tmp_path, text, delimiter=";", nulls=("NA", "-"))
    assert table["a"].to_pylist() == [1, None, None, None]
    assert table["b"].to_pylist() == ["x", None, None, None]


def test_tabs(tmp_path: Path) -> None:
    assert read(tmp_path, "a\tb\n1\t2\n", "t.tsv").to_pylist() == [{"a": 1, "b": 2}]


# -- outputs ---------------------------------------------------------------------------------

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(-(2**60), 2**60),
            "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "s": st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
            "t": st.none() | st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2100, 1, 1)),
            "l": st.none() | st.lists(st.integers(0, 9), max_size=3),
        }
    ),
    max_size=20,
)
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("t", UTC),
        ("l", pa.list_(pa.int64())),
    ]
)


@given(ROWS)
def test_json_lines_hold_what_the_table_holds(rows: list[dict[str, Any]]) -> None:
    rows = [{**row, "t": row["t"] and row["t"].replace(tzinfo=dt.UTC)} for row in rows]
    out = io.BytesIO()
    Writer(out, "json").write(pa.Table.from_pylist(rows, SCHEMA))
    told = [json.loads(line) for line in out.getvalue().decode().split("\n")[:-1]]
    for row in told:
        row["t"] = row["t"] and dt.datetime.fromisoformat(row["t"])
    assert told == rows


@given(ROWS)
def test_csv_can_be_read_back(rows: list[dict[str, Any]]) -> None:
    import csv as plain

    table = pa.Table.from_pylist(rows, SCHEMA)
    out = io.BytesIO()
    writer = Writer(out, "csv")
    for start in range(0, max(1, len(rows)), 7):
        writer.write(table.slice(start, 7))
    header, *told = plain.reader(io.StringIO(out.getvalue().decode(), newline=""))
    assert header == SCHEMA.names
    assert len(told) == len(rows)
    for read_back, row in zip(told, rows, strict=True):
        assert read_back[0] == ("" if row["i"] is None else str(row["i"]))
        assert read_back[1] == "" if row["f"] is None else float(read_back[1]) == row["f"]
        assert read_back[2] == (row["s"] or "")
        assert read_back[4] == ("" if row["l"] is None else json.dumps(row["l"]))


def test_what_text_has_no_form_for() -> None:
    table = pa.table(
        {
            "bytes": [b"\xff"],
            "nan": [float("nan")],
            "length": [dt.timedelta(seconds=90)],
            "price": [Decimal("1.50")],
            "day": [dt.date(2026, 1, 5)],
            "kind": pa.array(["a"]).dictionary_encode(),
            "run": [{"start": 1, "end": 2}],
        }
    )
    out = io.BytesIO()
    Writer(out, "json").write(table)
    assert json.loads(out.getvalue()) == {
        "bytes": "/w==",
        "nan": "nan",
        "length": "0:01:30",
        "price": "1.50",
        "day": "2026-01-05",
        "kind": "a",
        "run": {"start": 1, "end": 2},
    }
    out = io.BytesIO()
    Writer(out, "csv").write(table)
    assert out.getvalue().decode().splitlines()[1].startswith('"/w==",nan,"0:01:30",1.50,')


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_files_and_directories(tmp_path: Path, plugs: pa.Table, kind: str) -> None:
    suffix = "jsonl" if kind == "json" else kind
    write_table(plugs, str(tmp_path / f"a.{suffix}"), kind)
    write_table(plugs, str(tmp_path / "out"), kind)
    assert (tmp_path / "out" / f"part-0.{suffix}").read_bytes() == (
        tmp_path / f"a.{suffix}"
    ).read_bytes()
    back = read_table(Input((str(tmp_path / f"a.{suffix}"),), kind))
    assert back.cast(plugs.schema).equals(plugs)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a.{suffix}", "out"]
    with pytest.raises(Failed, match="there already, and not empty"):
        write_table(plugs, str(tmp_path / "out"), kind)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, plugs: pa.Table) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("as it was")

    def write_half() -> None:
        with replacing(path) as part:
            part.write_text("half of it")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]
    write_table(plugs, str(path), "parquet")
    assert parquet.read_table(path).equals(plugs)


def test_a_directory_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    def save(path: Path, fails: bool = False) -> None:
        with directory(str(path)) as part:
            Path(part).mkdir()
            (Path(part) / "part-0").write_text("rows")
            if fails:
                raise RuntimeError

    place = tmp_path / "out"
    with pytest.raises(RuntimeError):
        save(place, fails=True)
    assert list(tmp_path.iterdir()) == []
    place.mkdir()
    save(place)
    assert (place / "part-0").read_text() == "rows"
    with pytest.raises(Usage, match="not empty"):
        save(place)
    with pytest.raises(Usage, match="no directory"):
        save(tmp_path / "no" / "out")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("-", None, False), "csv"),
        (("-", None, True), "json"),
        (("a.jsonl", None, False), "json"),
        (("a.jsonl", "csv", False), "csv"),
        (("out/", None, False), "parquet"),
    ],
)
def test_the_format_of_an_output(arguments: tuple[str, str | None, bool], kind: str) -> None:
    assert output_format(*arguments) == kind


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"a\n1\n2\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read_table(Input(("-",), "csv"))["a"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", b"a,b,a\n1,2,3\n", "t.csv: its header has two columns 'a'"),
        ("t.json", b'[{"a": 1}]', "t.json: this is one list; write a line of JSON for each row"),
        ("t.csv.gz", b"a,b\n1,2\n", "t.csv.gz: zlib inflate failed"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, text: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(Failed, match=re.escape(message)):
        read_table(Input((str(tmp_path / name),), str(format_of(name))))


def test_a_column_of_text_may_be_all_null(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,\n2,\n")
    table = read_table(Input((str(tmp_path / "t.csv"),), "csv", schema="a INT, b STRING"))
    assert table.to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": None}]
