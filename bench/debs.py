"""The data sets of the papers, in the formats in which they are handed out; CSV and Parquet, too.

DEBS 2012 (manufacturing equipment): a line a reading, 100 a second, fields between tabs: the time
with seven digits of a second, a number, three readings of power, the pressures, and the states of
the sensors.

DEBS 2014 (smart plugs): a line a measurement, fields between commas: id, seconds, value, property
(0 work in kWh, 1 load in watts), plug, household, house. Also with blanks, and without the id.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv, parquet

from windrow.errors import InvalidArgument, InvalidValue

_TIME = pa.timestamp("us", "UTC")
_ENERGY = ("ts", "index", "mf01", "mf02", "mf03", "pc13", "pc14", "pc15", "pc25", "pc26", "pc27",
           "res")  # fmt: skip
_PLUGS = ("id", "ts", "value", "property", "plug_id", "household_id", "house_id")
LOAD = 1  # the property


def debs2012(path: Path | str) -> pa.Table:
    """Return a file of DEBS 2012: ts, index, mf01 … res, and what follows as state13, state14, …

    A pass over the file. Digits beyond microseconds are dropped.
    """
    width = len(_first_line(path).split("\t"))
    names = [*_ENERGY, *(f"state{i}" for i in range(len(_ENERGY) + 1, width + 1))]
    if width < len(_ENERGY):
        raise InvalidValue(
            f"{path}: a line of DEBS 2012 has {len(_ENERGY)} fields or more between tabs, "
            f"this one has {width}"
        )
    table = _read(path, names, "\t", {"ts": pa.string()})
    shortened = pc.replace_substring_regex(table["ts"], r"(\.\d{6})\d*", r"\1")
    return table.set_column(0, "ts", shortened.cast(_TIME))


def debs2014(path: Path | str) -> pa.Table:
    """Return a file of DEBS 2014: id (if there is one), ts, value, property, and the three ids.

    A pass over the file.
    """
    line = _first_line(path)
    delimiter = "," if "," in line else " "
    width = len(line.split(",") if delimiter == "," else line.split())
    if width not in (len(_PLUGS), len(_PLUGS) - 1):
        raise InvalidValue(
            f"{path}: a line of DEBS 2014 has {len(_PLUGS)} fields, or {len(_PLUGS) - 1} without "
            f"the id; this one has {width}"
        )
    names = _PLUGS[-width:]
    source: Any = path if delimiter == "," else _single_blanks(path)
    table = _read(source, names, delimiter, {"ts": pa.int64(), "value": pa.float64()})
    at = names.index("ts")
    return table.set_column(at, "ts", pc.multiply(table["ts"], 1_000_000).cast(_TIME))


def load(path: Path | str) -> pa.Table:
    """Return a file, told by its looks: Parquet, CSV with a head, DEBS 2012, or DEBS 2014."""
    path = Path(path)
    if not path.is_file():
        raise InvalidArgument(f"data: there is no file {path}")
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    line = _first_line(path)
    if not line:
        raise InvalidValue(f"{path} is empty")
    if "\t" in line and line[:4].isdigit():
        return debs2012(path)
    if line.lstrip()[:1].isdigit():
        return debs2014(path)
    return csv.read_csv(path)


def readings(paths: Iterable[Path | str]) -> pa.Table:
    """Return the files as one table of (key, ts, load), sorted by ts, for the benchmarks.

    Of DEBS 2014 the loads, a key a plug; of DEBS 2012 mf01, one key; of other files the first
    column of times, the first of numbers that is not named like a key, and `key` if there is one.
    """
    tables = [_reading(load(path), path) for path in paths]
    if not tables:
        raise InvalidArgument("data: name one file or more")
    return pa.concat_tables(tables).sort_by("ts")


def loads(paths: Iterable[Path | str]) -> NDArray[np.float64]:
    """Return the values of `readings`, in their order."""
    values: NDArray[np.float64] = readings(paths)["load"].to_numpy()
    return values


def _reading(table: pa.Table, path: Path | str) -> pa.Table:
    """Return the table of one file as (key, ts, load)."""
    names = table.column_names
    key: Any
    if "property" in names:
        table = table.filter(pc.equal(table["property"], LOAD))
        parts = [table[name].cast(pa.int64()) for name in ("house_id", "household_id", "plug_id")]
        key = pc.add(pc.multiply(pc.add(pc.multiply(parts[0], 1000), parts[1]), 1000), parts[2])
        ts, value = table["ts"], table["value"]
    else:
        ts = _first_of(table, pa.types.is_timestamp, path, "times")
        value = next((table[name] for name in ("mf01", "load") if name in names), None)
        if value is None:
            value = _first_of(table, pa.types.is_floating, path, "floats")
        keys = [table[name].cast(pa.int64()) for name in ("key", "plug_id") if name in names]
        key = keys[0] if keys else pa.array(np.zeros(table.num_rows, np.int64))
    utc = ts.cast(_TIME) if ts.type.tz else ts.cast(pa.timestamp("us")).cast(_TIME)
    return pa.table({"key": key, "ts": utc, "load": value.cast(pa.float64())})


def _first_of(table: pa.Table, fits: Any, path: Path | str, what: str) -> Any:
    """Return the first column whose type fits, or raise an error."""
    for name in table.column_names:
        if fits(table[name].type):
            return table[name]
    raise InvalidValue(
        f"{path} has no column of {what}: its columns are "
        + ", ".join(f"{f.name} ({f.type})" for f in table.schema)
    )


def _first_line(path: Path | str) -> str:
    with Path(path).open(encoding="utf-8") as file:
        return file.readline().rstrip("\r\n")


def _single_blanks(path: Path | str) -> Any:
    """Return the file with one blank where it had several, as Arrow's reader wants it."""
    text = "\n".join(" ".join(line.split()) for line in Path(path).read_text("utf-8").splitlines())
    return pa.BufferReader(text.encode())


def _read(source: Any, names: Any, delimiter: str, types: dict[str, pa.DataType]) -> pa.Table:
    return csv.read_csv(
        source,
        read_options=csv.ReadOptions(column_names=list(names)),
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(column_types=types),
    )
