"""Files into an Arrow table, in this process: CSV, JSON lines, Parquet, and directories of them."""

from __future__ import annotations

import re
import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.cli.ddl import schema_of
from windrow.cli.failures import Failed, usage
from windrow.cli.inputs import STDIN, Input, files_in, is_address
from windrow.errors import InvalidArgument, did_you_mean

_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


def read_table(source: Input, schema: str | None, time_column: str | None) -> pa.Table:
    """All rows of the input.

    Times without a zone are taken as UTC, as Spark does here. `time_column` is read as a time even
    where the file holds text.
    """
    with usage():
        wanted = schema_of(schema) if schema is not None else None
    files = [file for path in source.paths for file in _files(path)]
    if not files:
        raise Failed(f"{source.name}: there are no files in it")
    tables = [_read(file, source.format, wanted) for file in files]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise Failed(f"{source.name}: the files differ in their columns: {error}") from None
    if source.format != "parquet":
        table = _in_utc(table)
    if wanted is not None:
        table = _as_wanted(table, wanted)
    return table if time_column is None else _with_times(table, time_column)


def _files(path: str) -> list[str]:
    if is_address(path):
        raise Failed(f"{path}: only Spark reads from there; leave --local out")
    return files_in(path)


def _read(file: str, kind: str, wanted: pa.Schema | None) -> pa.Table:
    from_stdin: Any = sys.stdin.buffer if file == STDIN else file
    try:
        if kind == "csv":
            return _csv(from_stdin, file, wanted)
        if kind == "json":
            from pyarrow import json

            return json.read_json(from_stdin)
        from pyarrow import parquet

        return parquet.read_table(pa.BufferReader(from_stdin.read()) if file == STDIN else file)
    except pa.ArrowException as error:
        raise Failed(f"{file}: {error}") from None


def _csv(from_where: Any, file: str, wanted: pa.Schema | None) -> pa.Table:
    from pyarrow import csv

    texts = {} if wanted is None else {f.name: f.type for f in wanted if not _is_time(f.type)}
    return csv.read_csv(
        from_where,
        parse_options=csv.ParseOptions(delimiter="\t" if ".tsv" in file else ","),
        convert_options=csv.ConvertOptions(
            column_types=texts,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _is_time(kind: pa.DataType) -> bool:
    return bool(pt.is_timestamp(kind) or pt.is_date(kind))


def _in_utc(table: pa.Table) -> pa.Table:
    """The table with its times in microseconds of UTC; text that looks like times is times."""
    for i, field in enumerate(table.schema):
        times = table.column(i)
        if pt.is_string(field.type):
            times = _times(times) if _looks_like_times(times) else None
        elif pt.is_timestamp(field.type):
            times = times.cast(pa.timestamp("us", field.type.tz), safe=False)
            if field.type.tz is None:
                times = pc.assume_timezone(times, "UTC")
        else:
            continue
        if times is not None:
            table = table.set_column(i, field.name, times.cast(pa.timestamp("us", "UTC")))
    return table


def _looks_like_times(column: Any) -> bool:
    """Whether the first text that there is begins as a time does."""
    first = column.slice(pc.index(column.is_valid(), True).as_py(), 1).to_pylist()
    return any(text is not None and bool(_TIME.match(text)) for text in first)


def _as_wanted(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The columns of the schema, in its order and types."""
    columns = []
    for field in wanted:
        if field.name not in table.column_names:
            raise Failed(
                f"--schema: the input has no column {field.name!r}; "
                f"{did_you_mean(field.name, table.column_names)}"
            )
        column = table.column(field.name)
        if pt.is_timestamp(field.type) and not pt.is_timestamp(column.type):
            column = _all_times(field.name, column)
        if pt.is_timestamp(field.type) and field.type.tz is None and column.type.tz is not None:
            column = pc.local_timestamp(column)
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as error:
            raise Failed(f"--schema: {field.name} as {field.type}: {error}") from None
    return pa.table(columns, schema=wanted)


def _with_times(table: pa.Table, name: str) -> pa.Table:
    """The table, its time column read as times if it is text."""
    if name not in table.column_names:
        raise InvalidArgument(
            f"--time-column: the input has no column {name!r}; "
            f"{did_you_mean(name, table.column_names)}"
        )
    column = table.column(name)
    if not pt.is_string(column.type):
        return table
    return table.set_column(table.column_names.index(name), name, _all_times(name, column))


def _all_times(name: str, column: Any) -> Any:
    times = _times(column) if pt.is_string(column.type) else column
    if times is None:
        raise Failed(f"{name}: not all of it are times such as 2026-01-05T10:00:00Z")
    return times


def _times(column: Any) -> Any:
    """Text as times of UTC, with a zone in the text or without; None if it is something else."""
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            times = column.cast(kind)
        except pa.ArrowInvalid:
            continue
        return times if kind.tz else pc.assume_timezone(times, "UTC")
    return None
