"""Files into a Spark DataFrame, as a batch or as a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.cli.failures import Failed, Usage
from windrow.cli.inputs import absolute, files_in, is_address
from windrow.errors import InvalidArgument, did_you_mean

if TYPE_CHECKING:
    from windrow.cli.run import Job

# JSON has no times: what looks like one is read as one, as in CSV.
_OPTIONS = {
    "csv": {"header": "true", "enforceSchema": "false"},
    "json": {"inferTimestamp": "true"},
    "parquet": {},
}


def read_frame(spark: Any, job: Job) -> Any:
    """The input as a DataFrame; CSV and JSON without a schema are read once more to infer it."""
    paths = [absolute(path) for path in job.source.paths]
    return _with_times(_reader(spark.read, job, _wanted(job)).load(paths), job)


def read_stream(spark: Any, job: Job) -> Any:
    """The input as a streaming DataFrame over its directory, as new files come in."""
    path = absolute(job.source.paths[0])
    schema = _wanted(job)
    if schema is None:
        if not is_address(path) and not files_in(path):
            raise Failed(f"{path}: there are no files yet to tell the columns: give --schema")
        schema = _reader(spark.read, job, None).load(path).schema
    return _with_times(_reader(spark.readStream, job, schema).load(path), job)


def _reader(reader: Any, job: Job, schema: Any) -> Any:
    reader = reader.format(job.source.format).options(**_OPTIONS[job.source.format])
    if job.source.format == "csv" and job.source.paths[0].endswith(".tsv"):
        reader = reader.option("sep", "\t")
    if schema is None:
        return reader.option("inferSchema", "true")
    return reader.schema(schema)


def _wanted(job: Job) -> Any:
    """The schema that was given; None if there is none."""
    if job.schema is None:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        return StructType.fromDDL(job.schema)
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise Usage(f"--schema {job.schema}: {first}") from None


def _with_times(frame: Any, job: Job) -> Any:
    """The frame, its time column read as times if it is text."""
    name = job.time_column
    if name is None:
        return frame
    if name not in frame.columns:
        raise InvalidArgument(
            f"--time-column: the input has no column {name!r}; {did_you_mean(name, frame.columns)}"
        )
    if frame.schema[name].dataType.typeName() != "string":
        return frame
    from pyspark.sql import functions as sf

    return frame.withColumn(name, sf.to_timestamp(frame[name]))
