"""Files into a Spark DataFrame, as a batch or as a stream."""

from __future__ import annotations

from typing import Any

from windrow.cli.failures import Failed, Usage
from windrow.cli.inputs import Input, absolute, files_in, is_address, separator_of

# JSON has no times: what looks like one is read as one, as in CSV.
_OPTIONS = {
    "csv": {"header": "true", "enforceSchema": "false"},
    "json": {"inferTimestamp": "true"},
    "parquet": {},
}


def read_frame(spark: Any, source: Input) -> Any:
    """Return the input as a DataFrame; without a schema, CSV and JSON are read twice."""
    paths = [absolute(path) for path in source.paths]
    return _with_times(_reader(spark.read, source, _schema(source)).load(paths), source)


def read_stream(spark: Any, source: Input) -> Any:
    """Return the input as a streaming DataFrame over its directory, as new files come in."""
    path = absolute(source.paths[0])
    schema = _schema(source)
    if schema is None:
        if not is_address(path) and not files_in(path):
            raise Failed(f"{path}: there are no files yet to tell the columns: give --schema")
        schema = _reader(spark.read, source, None).load(path).schema
    return _with_times(_reader(spark.readStream, source, schema).load(path), source)


def _reader(reader: Any, source: Input, schema: Any) -> Any:
    reader = reader.format(source.format).options(**_OPTIONS[source.format])
    if source.format == "csv":
        reader = reader.option("sep", separator_of(source.paths[0]))
    return reader.option("inferSchema", "true") if schema is None else reader.schema(schema)


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
