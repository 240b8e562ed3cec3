"""Files read as Spark DataFrames, batch or streaming; `tables` reads them in this process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from windrow.cli.failures import Failed, Usage
from windrow.cli.inputs import DEEPEST, Input, absolute, is_address

# JSON has no times: what looks like one is read as one, as in CSV. A record that does not fit is an
# error, as it is without Spark; of CSV, all fields are looked at, whichever the query needs. Two
# quotes within quotes are one, and numbers are not finite where Python writes them so.
_OPTIONS = {
    "csv": {
        "header": "true",
        "enforceSchema": "false",
        "mode": "FAILFAST",
        "columnPruning": "false",
        "escape": '"',
        "nanValue": "nan",
        "positiveInf": "inf",
        "negativeInf": "-inf",
    },
    "json": {"inferTimestamp": "true", "mode": "FAILFAST", "maxNestingDepth": str(DEEPEST)},
    "parquet": {},
}
# How malformed records are read all the same, as a column of their own; and where they are.
_MALFORMED, _PLACE = "windrow_malformed", "windrow_place"
_LENIENT = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _MALFORMED}


def read_frame(spark: Any, source: Input) -> Any:
    """Return the input as a DataFrame; without a schema, CSV and JSON are read twice."""
    paths = [absolute(path) for path in source.paths]
    if source.is_empty:
        raise source.no_files()
    schema = _schema(source) or _found_schema(spark, source, paths)
    reader = _reader(spark.read, source)
    if source.schema is None and not any(map(os.path.isdir, paths)) and len(paths) == 1:
        reader = reader.option("enforceSchema", "true")  # it is the header's own, _c0 for no name
    frame = reader.schema(_read_as(source, schema)).load(paths)
    return _converted(frame, source, schema, checked=source.schema is not None)


def read_stream(spark: Any, source: Input) -> Any:
    """Return the input as a streaming DataFrame over its directory, as new files come in."""
    path = absolute(source.paths[0])
    schema = _schema(source)
    if schema is None:
        if source.is_empty:
            raise Usage(f"{path}: there are no files yet to tell the columns: give --schema")
        schema = _found_schema(spark, source, [path])
    frame = _reader(spark.readStream, source).schema(_read_as(source, schema)).load(path)
    return _converted(frame, source, schema, checked=True)


def _reader(reader: Any, source: Input) -> Any:
    reader = reader.format(source.format).options(**_OPTIONS[source.format])
    reader = reader.option("recursiveFileLookup", not source.is_partitioned)
    if source.format != "csv":
        return reader
    if source.nulls:  # a field of nothing is one too, in quotes or not
        reader = reader.options(nullValue=source.nulls[0], emptyValue=source.nulls[0])
    return reader.option("sep", source.separator(source.paths[0]))


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


def _found_schema(spark: Any, source: Input, paths: list[str]) -> Any:
    """Return the schema that is inferred from the files.

    Malformed records are left out of it: the reading that follows refuses them.
    """
    from pyspark.sql import functions as sf
    from pyspark.sql.types import StringType, StructType

    reader = _reader(spark.read, source).options(**_LENIENT)
    if len(source.nulls) > 1:  # Spark knows one: the others are taken out, and the rest read again
        texts = reader.load(paths)
        lines = _without_nulls(texts, source).select(sf.to_csv(sf.struct("*")))
        rows = spark.read.csv(lines, inferSchema=True)
        rows = rows.toDF(*texts.columns[: len(rows.columns)])
    else:
        rows = reader.option("inferSchema", "true").load(paths)
    schema = StructType([field for field in rows.schema.fields if field.name != _MALFORMED])
    if not schema.fields and rows.columns:
        raise Failed(_malformed(spark, source, schema))
    untold = source.format != "parquet" and all(f.dataType == StringType() for f in schema.fields)
    if untold and rows.isEmpty():
        raise source.no_rows()
    return schema


def _read_as(source: Input, schema: Any) -> Any:
    """Return the types that Spark's reader is told: text where `_converted` reads it."""
    from pyspark.sql.types import StringType, StructField, StructType

    def is_text(field: Any) -> bool:
        if len(source.nulls) > 1:
            return True
        if field.name != source.time_column or source.time_format is None:
            return False
        is_time = field.dataType.typeName() in ("timestamp", "timestamp_ntz", "date")
        return source.format != "parquet" and (is_time or not source.time_format.is_epoch)

    return StructType(
        [StructField(f.name, StringType() if is_text(f) else f.dataType) for f in schema.fields]
    )


def _converted(frame: Any, source: Input, schema: Any, checked: bool) -> Any:
    """Return what was read in the types of the schema, the time column as times."""
    from pyspark.sql import functions as sf

    source.check_columns(frame.columns)
    if checked and source.format != "parquet":
        frame = frame.where(_every_field_is_read(frame))
    if len(source.nulls) > 1:
        frame = _without_nulls(frame, source)
    name, form = source.time_column, source.time_format
    for field in schema.fields:
        if field.name != name and frame.schema[field.name].dataType != field.dataType:
            frame = frame.withColumn(field.name, frame[field.name].cast(field.dataType))
    if name is None:
        return frame
    kind = schema[name].dataType
    if form is not None:
        times = form.on_spark(frame, name)
        zoneless = kind.typeName() == "timestamp_ntz" and source.schema is not None
        return frame.withColumn(name, times.cast(kind) if zoneless else times)
    if kind.typeName() == "string":
        return frame.withColumn(name, sf.to_timestamp(frame[name]))
    return frame.withColumn(name, frame[name].cast(kind))


def _without_nulls(frame: Any, source: Input) -> Any:
    """Return a frame of texts with null for those that stand for it."""
    from pyspark.sql import functions as sf

    from windrow.spark.columns import column

    texts = {name: column(name) for name in frame.columns}
    return frame.withColumns(
        {name: sf.when(~text.isin("", *source.nulls), text) for name, text in texts.items()}
    )


def _every_field_is_read(frame: Any) -> Any:
    """Return a condition that always holds, for which Spark reads fields that no query needs.

    A field of the wrong type is refused then, as it is without Spark.
    """
    from pyspark.sql import functions as sf
    from pyspark.sql.types import AtomicType

    from windrow.spark.columns import column

    fields = [f.name for f in frame.schema.fields if isinstance(f.dataType, AtomicType)]
    return sf.xxhash64(*map(column, fields)) % 2 < 2


# -- malformed records ---------------------------------------------------------------------------


@contextmanager
def malformed_records_named(spark: Any, source: Input) -> Iterator[None]:
    """Where Spark fails because of a malformed record, say which one it is, of which file."""
    try:
        yield
    except Exception as error:
        if "MALFORMED_RECORD_IN_PARSING" not in str(error):
            raise
        schema = _schema(source) or _found_schema(spark, source, [*map(absolute, source.paths)])
        raise Failed(_malformed(spark, source, schema)) from error


def _malformed(spark: Any, source: Input, schema: Any) -> str:
    """Return the first record that fits no column, and where it is: all are read once more."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import StringType, StructType

    paths = [absolute(path) for path in source.paths]
    whole = StructType([*_read_as(source, schema).fields]).add(_MALFORMED, StringType())
    frame = _reader(spark.read, source).options(**_LENIENT).schema(whole).load(paths)
    places = frame.select("*", sf.col("_metadata.file_path").alias(_PLACE))
    records = places.where(sf.col(_MALFORMED).isNotNull()).limit(1).collect()
    if not records:
        return f"{source.name}: a record does not fit the columns"
    place = re.sub("^file:(//)?", "", unquote(records[0][_PLACE]))
    record = records[0][_MALFORMED]
    line = _line_of(record, place)
    where = place if line is None else f"{place}, line {line}"
    shown = record if len(record) <= 200 else f"{record[:200]}…"
    return f"{where}: the record does not fit the columns: {shown}"


def _line_of(record: str, path: str) -> int | None:
    """Return the number of the line that holds the record; None where no line is to be found."""
    if is_address(path) or not Path(path).is_file():
        return None
    with open(path, encoding="utf-8", errors="replace") as lines:
        numbers = (i for i, line in enumerate(lines, 1) if line.rstrip("\r\n") == record)
        return next(numbers, None)
