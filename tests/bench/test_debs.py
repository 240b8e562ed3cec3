"""The papers' data sets in their own formats, in files that are made here."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

from bench import debs
from windrow.errors import InvalidArgument, InvalidValue


def energy(path: Path, rows: int, width: int = 56, end: str = "\r\n") -> Path:
    lines = []
    for i in range(rows):
        fields = [f"2012-02-22T16:46:28.{9670320 + i * 1000:07d}+00:00", str(2556001 + i)]
        fields += [str(13056 - i), "14406", "8119", "0071"]
        lines.append("\t".join(fields + ["0"] * (width - len(fields))))
    path.write_text(end.join(lines) + end, newline="")
    return path


def plugs(path: Path, separator: str, *, with_id: bool) -> Path:
    rows = [(1377986401, 68.451, 0, 11, 0, 0), (1377986401, 19.927, 1, 11, 0, 0),
            (1377986400, 0.5, 1, 2, 7, 4)]  # fmt: skip
    lines = []
    for i, row in enumerate(rows):
        fields = ([str(i)] if with_id else []) + [str(field) for field in row]
        lines.append(separator.join(fields))
    path.write_text("\n".join(lines))  # without an end of line, as the sample has it
    return path


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("width", [12, 56, 66])
def test_energy_has_times_and_readings(tmp_path: Path, width: int, end: str) -> None:
    table = debs.load(energy(tmp_path / "debs2012.txt", 3, width, end))
    assert table.num_rows == 3 and table.num_columns == width
    assert table.column_names[:5] == ["ts", "index", "mf01", "mf02", "mf03"]
    first = table.slice(0, 1).to_pylist()[0]
    assert first["ts"] == datetime.datetime(2012, 2, 22, 16, 46, 28, 967032, datetime.UTC)
    assert first["mf01"] == 13056 and first["pc13"] == 71
    assert width == 12 or table.column_names[-1] == f"state{width}"


@pytest.mark.parametrize(("separator", "with_id"), [(",", True), (" ", False), ("     ", False)])
def test_plugs_with_commas_or_blanks(tmp_path: Path, separator: str, with_id: bool) -> None:
    table = debs.load(plugs(tmp_path / "plugs.txt", separator, with_id=with_id))
    assert table.num_rows == 3 and ("id" in table.column_names) == with_id
    row = table.slice(0, 1).to_pylist()[0]
    assert row["ts"] == datetime.datetime(2013, 8, 31, 22, 0, 1, tzinfo=datetime.UTC)
    assert (row["value"], row["property"], row["plug_id"]) == (68.451, 0, 11)


def test_readings_are_loads_in_the_order_of_time(tmp_path: Path) -> None:
    found = debs.readings([plugs(tmp_path / "plugs.csv.txt", ",", with_id=True)])
    assert found.column_names == ["key", "ts", "load"]
    assert found["load"].to_pylist() == [0.5, 19.927]  # work is left out
    assert len(set(found["key"].to_pylist())) == 2


def test_several_files_are_one(tmp_path: Path) -> None:
    paths = [energy(tmp_path / "a.txt", 5), energy(tmp_path / "b.txt", 4)]
    assert debs.loads(paths).size == 9
    assert set(debs.readings(paths)["key"].to_pylist()) == {0}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_csv_and_parquet_give_what_they_hold(
    tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    times = [
        datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=i) for i in range(len(values))
    ]
    table = pa.table({"key": [3] * len(values), "ts": times, "load": values})
    csv.write_csv(table, folder / "t.csv")
    parquet.write_table(table, folder / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        found = debs.readings([folder / name])
        assert found["load"].to_pylist() == values
        assert found["ts"][0].as_py() == times[0].replace(tzinfo=datetime.UTC)


def test_other_names_are_found_by_their_types(tmp_path: Path) -> None:
    table = pa.table({"n": [1], "when": [datetime.datetime(2026, 1, 1)], "watts": [2.5]})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert debs.readings([tmp_path / "t.parquet"]).to_pylist()[0]["load"] == 2.5


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="there is no file"):
        debs.load(tmp_path / "no.txt")
    with pytest.raises(InvalidArgument, match="one file or more"):
        debs.readings([])
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InvalidValue, match="is empty"):
        debs.load(tmp_path / "empty.txt")
    (tmp_path / "short.txt").write_text("2012-02-22T16:46:28.9670320+00:00\t1\t2\n")
    with pytest.raises(InvalidValue, match="12 fields or more between tabs, this one has 3"):
        debs.load(tmp_path / "short.txt")
    (tmp_path / "three.txt").write_text("1,2,3\n")
    with pytest.raises(InvalidValue, match="7 fields, or 6 without the id; this one has 3"):
        debs.load(tmp_path / "three.txt")
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "none.parquet")
    with pytest.raises(InvalidValue, match=r"no column of times: its columns are a \(int64\)"):
        debs.readings([tmp_path / "none.parquet"])
