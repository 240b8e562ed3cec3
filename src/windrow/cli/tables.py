"""Files read into an Arrow table: CSV, JSON lines, Parquet, and directories of them."""

from __future__ import annotations

import io
import re
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyarrow import csv, json, parquet

from windrow.cli.failures import Failed, Usage, usage
from windrow.cli.inputs import DEEPEST, STDIN, Input, files_in, is_address, partition_of
from windrow.errors import InvalidArgument, did_you_mean
from windrow.tables.casts import TYPES

_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")
_OF_DIRECTORIES = {b"windrow": b"directories"}  # a field that no file holds
_NULL = "__HIVE_DEFAULT_PARTITION__"
_UTC = pa.timestamp("us", "UTC")
_STEPS = np.zeros(256, np.int8)  # by how much a byte of JSON changes the depth
_STEPS[[*b"{["]], _STEPS[[*b"}]"]] = 1, -1
_NO_BRACKETS = bytes(np.flatnonzero(_STEPS == 0).tolist())
_TYPES = {
    **{name.lower(): kind for name, kind in TYPES.items()},
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "real": pa.float32(),
    **dict.fromkeys(("string", "char"), pa.string()),
    "binary": pa.binary(),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), _UTC),
    "timestamp_ntz": pa.timestamp("us"),
}
_FIELD = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*[:\s]\s*(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?"
    r"(?:\s+NOT\s+NULL)?\s*(?:,|$)",
    re.IGNORECASE,
)


def read_table(source: Input) -> pa.Table:
    """Return all rows of the input.

    Times without a zone are taken as UTC, as Spark does here. The time column is read as times
    even where the file holds text.
    """
    with usage():
        schema = schema_of(source.schema) if source.schema is not None else None
    for path in filter(is_address, source.paths):
        raise Usage(f"{path}: only Spark reads from there; leave --local out")
    if source.is_empty:
        raise source.no_files()
    read = (
        _partitioned(_read(file, source, schema), partition_of(file, path))
        for path in source.paths
        for file in files_in(path)
    )
    tables = [table for table in read if table.columns]
    untold = source.format != "parquet" and not any(table.num_rows for table in tables)
    if untold and schema is None:
        raise source.no_rows()
    if not tables and schema is not None:
        return schema.empty_table()
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise Failed(f"{source.name}: the files differ in their columns: {error}") from None
    for i, field in enumerate(table.schema):
        if field.metadata == _OF_DIRECTORIES:
            table = table.set_column(i, field.name, _told(table[field.name]))
            if schema is not None and field.name not in schema.names:
                schema = schema.append(table.schema.field(i))
    name, form = source.time_column, source.time_format
    source.check_columns(table.column_names)
    if name is not None and form is not None:
        table = _replaced(table, name, form.in_arrow(table[name], name))
        if schema is not None and not pt.is_timestamp(schema.field(name).type):
            schema = schema.set(schema.get_field_index(name), pa.field(name, _UTC))
    if source.format != "parquet":
        table = _in_utc(table)
    if schema is not None:
        table = _with_schema(table, schema)
        source.check_columns(table.column_names)
    if name is None or not pt.is_string(table[name].type):
        return table
    return _replaced(table, name, _all_times(table, name))


def _replaced(table: pa.Table, name: str, column: Any) -> pa.Table:
    """Return the table with another column in the place of the one of this name."""
    return table.set_column(table.column_names.index(name), name, column)


def _partitioned(table: pa.Table, values: dict[str, str]) -> pa.Table:
    """Return a file's rows with the columns that its directories stand for, as texts."""
    for name, value in values.items():
        texts = pa.repeat(pa.scalar(None if value == _NULL else value, pa.string()), len(table))
        field = pa.field(name, pa.string(), metadata=_OF_DIRECTORIES)
        place = table.schema.get_field_index(name)
        if place < 0:
            table = table.append_column(field, texts)
        else:
            table = table.set_column(place, field, texts)
    return table


def _told(texts: Any) -> Any:
    """Return the names of directories in the type that they all have: numbers, dates or text."""
    for kind in (pa.int64(), pa.float64(), pa.date32()):
        with suppress(pa.ArrowInvalid):
            return texts.cast(kind)
    return texts


def _read(file: str, source: Input, schema: pa.Schema | None) -> pa.Table:
    """Return the rows of a file, or of stdin; a table without columns if nothing is in it."""
    place: Any = sys.stdin.buffer if file == STDIN else file
    try:
        if source.format == "csv":
            table = _read_csv(place, source, schema)
        elif source.format == "json":
            table = _read_json(place, source)
        else:
            return parquet.read_table(pa.BufferReader(place.read()) if file == STDIN else file)
    except _TooDeep:
        raise Failed(f"{file}: its JSON is nested more than {DEEPEST} levels deep") from None
    except UnicodeDecodeError:
        raise Failed(_not_utf8(file)) from None
    except OSError as error:
        raise Failed(f"{file}: {error.strerror or error}") from None
    except pa.ArrowException as error:
        if str(error).startswith(("Empty CSV file", "Empty JSON file")):
            return pa.table({})
        if "UTF8" in str(error):
            raise Failed(_not_utf8(file)) from None
        if "from object to array in row 0" in str(error):
            raise Failed(
                f"{file}: this is one list; write a line of JSON for each row, as jq -c '.[]' does"
            ) from None
        raise Failed(f"{file}: {error}") from None
    return table


def _read_csv(place: Any, source: Input, schema: pa.Schema | None) -> pa.Table:
    """Return the rows of a CSV file; times of the schema are left to `_in_utc`."""
    fields = [f for f in schema or () if not pt.is_timestamp(f.type) and not pt.is_date(f.type)]
    types = {field.name: field.type for field in fields}
    if source.written_time_column is not None:
        types[source.written_time_column] = pa.string()
    table = csv.read_csv(
        place,
        parse_options=csv.ParseOptions(delimiter=source.separator(str(place))),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=["", *source.nulls],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise pa.ArrowInvalid(f"its header has two columns {name!r}")
    table = table.rename_columns([name or f"_c{i}" for i, name in enumerate(names)])
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if pt.is_binary(kind) and not pt.is_binary(types.get(name, pa.string())):
            raise pa.ArrowInvalid("a column is not UTF8")
    return table


def _read_json(place: Any, source: Input) -> pa.Table:
    """Return the rows of a file of JSON lines."""
    written = source.written_time_column
    schema = None if written is None else pa.schema([(written, pa.string())])
    with pa.input_stream(place, compression="detect" if isinstance(place, str) else None) as file:
        lines = _Shallow(file)
        table = json.read_json(
            pa.PythonFile(lines, mode="r"), parse_options=json.ParseOptions(explicit_schema=schema)
        )
    if not lines.is_ascii:
        table.validate(full=True)  # Arrow takes text as it comes
    return table


class _TooDeep(Exception):
    """JSON has more levels than Arrow can carry."""


class _Shallow(io.RawIOBase):
    """A file of JSON that raises an error where it is nested so deep that Arrow would crash."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._depth = 0
        self.is_ascii = True

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data: bytes = self._file.read(None if size < 0 else size)
        self.is_ascii = self.is_ascii and data.isascii()
        brackets = data.translate(None, _NO_BRACKETS)
        if len(brackets):
            steps = _STEPS[np.frombuffer(brackets, np.uint8)]
            depths = self._depth + np.cumsum(steps, dtype=np.int32)
            if depths.max() > DEEPEST:
                raise _TooDeep
            self._depth = int(depths[-1])
        return data


def _not_utf8(file: str) -> str:
    """Return where a file is not text in UTF-8, and what helps."""
    where = file
    if file != STDIN:
        with pa.input_stream(file, compression="detect") as lines:
            for i, line in enumerate(io.BufferedReader(lines), 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    where = f"{file}, line {i}, byte {error.start + 1}"
                    break
    return f"{where}: this is not UTF-8: convert it, as in iconv -f latin1 -t utf-8"


def _in_utc(table: pa.Table) -> pa.Table:
    """Return the table with its times, and text that looks like times, as times of UTC."""
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pt.is_timestamp(field.type) or _looks_like_times(column):
            times = _times(column)
            if times is not None:
                table = table.set_column(i, field.name, times)
    return table


def _looks_like_times(column: Any) -> bool:
    """Whether the column is text whose first value begins as a time does."""
    if not pt.is_string(column.type):
        return False
    place = pc.index(column.is_valid(), True).as_py()
    return place >= 0 and _TIME.match(column[place].as_py()) is not None


def _with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of the schema, in its order and types."""
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            raise Usage(
                f"--schema: the input has no column {field.name!r}; "
                f"{did_you_mean(field.name, table.column_names)}"
            )
        column = table[field.name]
        if pt.is_timestamp(field.type) and pt.is_string(column.type):
            column = _all_times(table, field.name)
        if pt.is_timestamp(field.type) and field.type.tz is None and column.type.tz is not None:
            column = pc.local_timestamp(column)
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as error:
            raise Failed(f"--schema: {field.name} as {field.type}: {error}") from None
    return pa.table(columns, schema=schema)


def _all_times(table: pa.Table, name: str) -> Any:
    """Return a column of text as times, or raise an error."""
    times = _times(table[name])
    if times is None:
        raise Failed(
            f"{name}: not all of it are times such as 2026-01-05T10:00:00Z; --timestamp-format "
            f"tells how else they are written"
        )
    return times


def _times(column: Any) -> Any:
    """Return times, or text, as times of UTC; None if the text is something else."""
    text = pt.is_string(column.type)
    for zone in ("UTC", None) if text else (column.type.tz,):
        try:
            times = column.cast(pa.timestamp("us", zone), safe=text)
        except pa.ArrowInvalid:
            continue
        return times.cast(_UTC) if zone else pc.assume_timezone(times, "UTC")
    return None


# -- a schema, ``ts TIMESTAMP, load DOUBLE`` -----------------------------------------------------


def schema_of(text: str) -> pa.Schema:
    """Return the schema of a text of DDL, as Spark writes it.

    >>> schema_of("ts TIMESTAMP, `my load` DOUBLE, price DECIMAL(10, 2)")
    ts: timestamp[us, tz=UTC]
    my load: double
    price: decimal128(10, 2)
    """
    fields: list[pa.Field] = []
    place = 0
    while place < len(text):
        field = _FIELD.match(text, place)
        if field is None:
            raise InvalidArgument(
                f"--schema: {text[place:].strip()!r} is no column: write ts TIMESTAMP, load DOUBLE"
            )
        quoted, bare, kind, digits, scale = field.groups()
        name = quoted.replace("``", "`") if quoted else bare
        fields.append(pa.field(name, _type(kind.lower(), digits, scale)))
        place = field.end()
    if not fields:
        raise InvalidArgument("--schema is empty: write ts TIMESTAMP, load DOUBLE")
    return pa.schema(fields)


def _type(kind: str, digits: str | None, scale: str | None) -> pa.DataType:
    if kind in ("decimal", "numeric", "dec"):
        return pa.decimal128(int(digits or 10), int(scale or 0))
    if kind not in _TYPES:
        raise InvalidArgument(
            f"--schema: the type {kind!r} is unknown; {did_you_mean(kind, [*_TYPES, 'decimal'])}"
        )
    return _TYPES[kind]
