"""What a query reads: files by name, their format and columns, and as Spark DataFrames."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from windrow.cli.failures import Failed, Usage
from windrow.errors import InvalidArgument, did_you_mean
from windrow.queries.query import Query

FORMATS = ("csv", "json", "parquet")
STDIN = "-"
_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)
# JSON has no times: what looks like one is read as one, as in CSV. A record that does not fit is an
# error, as it is without Spark; of CSV, all fields are looked at, whichever the query needs.
_OPTIONS = {
    "csv": {
        "header": "true",
        "enforceSchema": "false",
        "mode": "FAILFAST",
        "columnPruning": "false",
    },
    "json": {"inferTimestamp": "true", "mode": "FAILFAST"},
    "parquet": {},
}
# How malformed records are read all the same, as a column of their own; and where they are.
_MALFORMED, _PLACE = "windrow_malformed", "windrow_place"
_LENIENT = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _MALFORMED}


@dataclass(frozen=True)
class Input:
    """Where the rows of a query come from."""

    paths: tuple[str, ...]  # files, directories, addresses such as s3a://…, or - for stdin
    format: str
    schema: str | None = None  # as Spark writes it: ts TIMESTAMP, load DOUBLE
    time_column: str | None = None  # read as times even if it is text

    @property
    def name(self) -> str:
        """How messages speak of it."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    def check_time_column(self, columns: Sequence[str]) -> None:
        """Raise an error unless the time column is one of the `columns`."""
        if self.time_column is not None and self.time_column not in columns:
            raise InvalidArgument(
                f"--time-column: the input has no column {self.time_column!r}; "
                f"{did_you_mean(self.time_column, columns)}"
            )


def read_inputs(
    options: tuple[str, ...],
    query: Query,
    kind: str | None = None,
    schema: str | None = None,
    time_column: str | None = None,
) -> Input:
    """Return the input of `query` from ``name=PATH`` options; all mistakes are wrong usage."""
    source = query.source
    paths: list[str] = []
    for text in options:
        named = _NAMED.fullmatch(text)
        name, path = named.groups() if named else (source, text)
        if source is not None and str(name).lower() != source.lower():
            raise Usage(
                f"--input {text}: the query reads {source!r}; {did_you_mean(str(name), [source])}"
            )
        source = source or name
        paths += _existing(path)
    return Input(tuple(paths), kind or _common_format(paths), schema, time_column)


def is_address(path: str) -> bool:
    """Whether a path belongs to a file system that only Spark knows, such as s3a://…"""
    return "://" in path


def absolute(path: str) -> str:
    """Return a path as Spark takes it, whatever directory its Java was started in."""
    return path if is_address(path) else os.path.abspath(path)


def format_of(path: str) -> str | None:
    """Return the format that a file's name tells; None if it tells none.

    >>> format_of("plugs.csv.gz"), format_of("plugs.jsonl"), format_of("plugs")
    ('csv', 'json', None)
    """
    return _SUFFIXES.get(_suffix(path))


def separator_of(path: str) -> str:
    """Return what stands between the fields of a CSV file of this name."""
    return "\t" if _suffix(path) == ".tsv" else ","


def _suffix(path: str) -> str:
    """Return the suffix that tells the format: .csv of plugs.csv.gz."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in _PACKED]
    return suffixes[-1] if suffixes else ""


def files_in(path: str) -> list[str]:
    """Return the file itself, or all files below a directory but those whose names hide them."""
    place = Path(path)
    if not place.is_dir():
        return [path]
    return sorted(
        str(file)
        for file in place.rglob("*")
        if file.is_file()
        and not any(part.startswith(("_", ".")) for part in file.relative_to(place).parts)
    )


def _existing(path: str) -> list[str]:
    """Return the path, or the paths that fit the pattern."""
    if path == STDIN or is_address(path) or Path(path).exists():
        return [path]
    found = [p for p in sorted(glob.glob(path, recursive=True)) if Path(p).name[0] not in "_."]
    if not found:
        raise Usage(f"--input: there is no file or directory {path!r}")
    return found


def _common_format(paths: list[str]) -> str:
    """Return the format of the files, if their names tell one and the same."""
    formats = set()
    for path in paths:
        known = format_of(path)
        if known is None and not is_address(path) and Path(path).is_dir():
            formats |= {format_of(file) for file in files_in(path)[:1000]}
        else:
            formats.add(known)
    names = sorted(filter(None, formats))
    if not names:
        raise Usage(f"--input: the names tell no format: give --format {'|'.join(FORMATS)}")
    if len(names) > 1:
        raise Usage(f"--input: the files are of several formats: {', '.join(names)}")
    return names[0]


# -- on Spark ------------------------------------------------------------------------------------


def read_frame(spark: Any, source: Input) -> Any:
    """Return the input as a DataFrame; without a schema, CSV and JSON are read twice."""
    paths = [absolute(path) for path in source.paths]
    schema = _schema(source) or _found_schema(spark, source, paths)
    return _with_times(_reader(spark.read, source).schema(schema).load(paths), source)


def read_stream(spark: Any, source: Input) -> Any:
    """Return the input as a streaming DataFrame over its directory, as new files come in."""
    path = absolute(source.paths[0])
    schema = _schema(source)
    if schema is None:
        if not is_address(path) and not files_in(path):
            raise Failed(f"{path}: there are no files yet to tell the columns: give --schema")
        schema = _found_schema(spark, source, [path])
    return _with_times(_reader(spark.readStream, source).schema(schema).load(path), source)


def _reader(reader: Any, source: Input) -> Any:
    reader = reader.format(source.format).options(**_OPTIONS[source.format])
    return reader.option("sep", separator_of(source.paths[0])) if source.format == "csv" else reader


def _found_schema(spark: Any, source: Input, paths: list[str]) -> Any:
    """Return the schema that the files tell.

    What is malformed has no say in it: the reading that follows refuses it.
    """
    from pyspark.sql.types import StructType

    reader = _reader(spark.read, source).options(inferSchema="true", **_LENIENT)
    fields = reader.load(paths).schema.fields
    return StructType([field for field in fields if field.name != _MALFORMED])


@contextmanager
def malformed_records_named(spark: Any, source: Input) -> Iterator[None]:
    """Where Spark fails because of a malformed record, say which one it is, of which file."""
    try:
        yield
    except Exception as error:
        if "MALFORMED_RECORD_IN_PARSING" not in str(error):
            raise
        raise Failed(_malformed(spark, source)) from error


def _malformed(spark: Any, source: Input) -> str:
    """Return the first record that fits no column, and where it is: all are read once more."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import StringType, StructType

    paths = [absolute(path) for path in source.paths]
    schema = _schema(source) or _found_schema(spark, source, paths)
    whole = StructType([*schema.fields]).add(_MALFORMED, StringType())
    frame = _reader(spark.read, source).options(**_LENIENT).schema(whole).load(paths)
    places = frame.select("*", sf.col("_metadata.file_path").alias(_PLACE))
    found = places.where(sf.col(_MALFORMED).isNotNull()).limit(1).collect()
    if not found:
        return f"{source.name}: a record does not fit the columns"
    place = re.sub("^file:(//)?", "", unquote(found[0][_PLACE]))
    record = found[0][_MALFORMED]
    line = _line_of(record, place)
    where = place if line is None else f"{place}, line {line}"
    return f"{where}: the record does not fit the columns: {record}"


def _line_of(record: str, path: str) -> int | None:
    """Return the number of the line that holds the record; None where no line is to be found."""
    if is_address(path) or not Path(path).is_file():
        return None
    with open(path, encoding="utf-8", errors="replace") as lines:
        found = (i for i, line in enumerate(lines, 1) if line.rstrip("\r\n") == record)
        return next(found, None)


def _schema(source: Input) -> Any:
    """Return the schema that was given; None if there is none."""
    if source.schema is None:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        return StructType.fromDDL(source.schema)
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise Usage(f"--schema {source.schema}: {first}") from None


def _with_times(frame: Any, source: Input) -> Any:
    """Return the frame, its time column read as times if it is text."""
    name = source.time_column
    source.check_time_column(frame.columns)
    if name is None or frame.schema[name].dataType.typeName() != "string":
        return frame
    from pyspark.sql import functions as sf

    return frame.withColumn(name, sf.to_timestamp(frame[name]))
