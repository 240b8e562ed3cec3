"""Rows to a file or to stdout: CSV, JSON lines or Parquet.

A file is written under another name beside its own and takes its name when it is whole: whoever
looks sees the old file or the new one, never half of one.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.types as pt
from pyarrow import csv, parquet

from windrow.cli.failures import Usage
from windrow.cli.inputs import format_of, is_address

STDOUT = "-"
# How Spark writes CSV: as here, with quotes doubled and with the blanks of texts.
WRITTEN = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
_ENDINGS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".pq")
_ROWS = 20_000  # that are turned into JSON at once
_WITHOUT_FORM = (pt.is_nested, pt.is_binary, pt.is_large_binary, pt.is_duration)


def output_format(path: str, wanted: str | None, as_json: bool = False) -> str:
    """Return the format: the one `wanted`, else by the name of the file, else by the place."""
    if path == STDOUT:
        if wanted == "parquet":
            raise Usage("--output -: Parquet is written to files only: give --output PATH")
        return wanted or ("json" if as_json else "csv")
    if wanted or is_directory(path):
        return wanted or format_of(path) or "parquet"
    ending = Path(path).suffix
    if ending.lower() not in _ENDINGS:
        raise Usage(
            f"--output {path}: files that end in {ending} are not written; those in "
            f"{', '.join(_ENDINGS)} are, and {path}/ is a directory of files"
        )
    return str(format_of(path))


def is_directory(path: str) -> bool:
    """Whether an output is a directory of files: its name has no ending, or it is one already."""
    return path.endswith("/") or is_address(path) or Path(path).is_dir() or not Path(path).suffix


def write_table(table: pa.Table, path: str, kind: str) -> None:
    """Write all rows of `table` to a file, or to stdout."""
    if path == STDOUT:
        Writer(sys.stdout.buffer, kind).write(table)
        return
    place = Path(path)
    if is_directory(path):
        place = place / f"part-0.{'jsonl' if kind == 'json' else kind}"
        check_free(path)
        place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place) as part:
        if kind == "parquet":
            parquet.write_table(table, part)
            return
        with open(part, "wb") as file:
            Writer(file, kind).write(table)


@contextmanager
def directory(path: str) -> Iterator[str]:
    """Give a directory to write to, which takes its name when all of it is there."""
    if is_address(path):
        yield path
        return
    check_free(path)
    place = Path(os.path.abspath(path))
    with replacing(place) as part:
        yield str(part)
        if place.is_dir():
            place.rmdir()


def check_free(path: str) -> None:
    """Raise an error if an output is a directory that has something in it."""
    if path != STDOUT and not is_address(path) and is_directory(path):
        place = Path(path)
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise Usage(f"--output {path}: it is there already, and not empty")


def check_parent(place: Path) -> None:
    """Raise an error if the directory that an output goes to is not there."""
    if not place.parent.is_dir():
        raise Usage(f"--output {place}: there is no directory {str(place.parent)!r}")


@contextmanager
def replacing(place: Path) -> Iterator[Path]:
    """Give a name beside `place` to write to; it becomes `place`, or is removed on an error."""
    check_parent(place)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, place)
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


class Writer:
    """Writes rows as text to an open file: CSV with one header, or JSON lines."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._file = file
        self._kind = kind
        self._header = True

    def write(self, table: pa.Table) -> None:
        """Write more rows, and flush."""
        if self._kind == "json":
            for start in range(0, table.num_rows, _ROWS):
                rows = table.slice(start, _ROWS).to_pylist()
                lines = (f"{json.dumps(_plain(row), ensure_ascii=False)}\n" for row in rows)
                self._file.write("".join(lines).encode())
        else:
            options = csv.WriteOptions(include_header=self._header, quoting_style="needed")
            csv.write_csv(_flat(table), self._file, options)
            self._header = False
        self._file.flush()


def _flat(table: pa.Table) -> pa.Table:
    """Return the table with what CSV has no form for as text: lists and structs as JSON."""
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pt.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        elif any(is_kind(field.type) for is_kind in _WITHOUT_FORM):
            texts = [None if value is None else _text(value) for value in column.to_pylist()]
            column = pa.array(texts, pa.string())
        table = table.set_column(i, field.name, column)
    return table


def _text(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times by ISO 8601, bytes in base 64, NaN as text."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta | Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value
