"""Rows to Python workers and results back: only the columns that windows need go there.

    sorted rows ──┬── the columns that are needed ──Arrow──▶ worker ──▶ results ──┐
                  └──────────── all columns, as Spark has them ───────────────────┴─▶ the result

What rides along stays in Spark, in a queue that spills to disk. Against `mapInArrow`, for which
Spark packs every column of a row into a struct, rows of three columns cost half as much.

Several results of a row come as one struct, as Spark takes one column from such a function.

Results belong to rows by their place, so nothing may get between the sorted rows and the worker. A
function that Spark takes for random keeps filters above it, and a filter over its results keeps a
`limit` above them, which Spark would otherwise move below the function.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import BooleanType, StructField, StructType

from windrow.spark.columns import column, quoted, unused
from windrow.tables.columns import whole

Tables = Iterator[pa.Table]
Batches = Iterator[pa.RecordBatch]
# Bytes of results that go back at a time, about: Spark reads them row by row, across all columns,
# so those of many columns should not fill the processor's cache.
_BYTES = 1 << 20
KEPT = "windrow_kept"  # whether a result comes out


def beside(
    frame: Any,
    needed: Sequence[str],
    work: Callable[[Tables], Tables],
    schema: StructType,
    *,
    filtered: bool = False,
) -> Any:
    """Return the rows of a sorted frame with the results that `work` makes of each partition.

    `work` takes tables of the `needed` columns and gives one row of results for each of theirs, in
    their order; if `filtered`, a column `KEPT` says which of them come out. The columns that come
    out are those of `schema`.
    """
    results = [field for field in schema.fields if field.name not in frame.columns]
    if len(results) == 1 and not filtered:
        return _beside_one(frame, needed, work, schema, results[0])
    struct = unused("windrow_made", frame.columns)
    fields = [StructField(f"f{i}", field.dataType) for i, field in enumerate(results)]
    packed = StructType(fields + [StructField(KEPT, BooleanType())] * filtered)
    names = [field.name for field in results] + [KEPT] * filtered
    called = _called(_packing(work, list(needed), names, packed), packed, needed)
    whole_rows = frame.select("*", called.alias(struct))
    kept = whole_rows.where(column(struct)[KEPT] if filtered else column(struct).isNotNull())
    # As text, since each step of an expression that is made in Python is a call of Java.
    texts = [quoted(field.name) for field in schema.fields if field not in results]
    for i, field in enumerate(results):
        text = f"{quoted(struct)}.f{i}"
        if not field.nullable:
            text = f"coalesce({text}, CAST(0 AS {field.dataType.simpleString()}))"
        texts.append(f"{text} AS {quoted(field.name)}")
    return kept.selectExpr(*texts)


def _beside_one(
    frame: Any,
    needed: Sequence[str],
    work: Callable[[Tables], Tables],
    schema: StructType,
    result: StructField,
) -> Any:
    """Return the same for one result, which need not be taken out of a struct.

    It may be null, so the filter over it is one that Spark cannot know to be always true.
    """
    one = StructType([result])
    run = _packing(work, list(needed), [result.name], one, alone=True)
    called = _called(run, result.dataType, needed)
    if not result.nullable:
        called = sf.coalesce(called, sf.lit(0).cast(result.dataType))
    names = [field.name for field in schema.fields if field.name != result.name]
    columns = ["*"] if names == frame.columns else list(map(column, names))
    rows = frame.select(*columns, called.alias(result.name))
    return rows.where(sf.monotonically_increasing_id() >= 0)


def _called(run: Any, kind: Any, needed: Sequence[str]) -> Any:
    """Return the results of a worker's function as a column that Spark takes for random."""
    function: Any = arrow_udf(run, kind)
    return function.asNondeterministic()(*[column(name) for name in needed])


def in_arrow(frame: Any, work: Callable[[Batches], Batches], schema: StructType | str) -> Any:
    """Return `frame.mapInArrow`, also where the names of columns have dots in them."""
    names = frame.columns
    if not any(mark in name for name in names for mark in ".`"):
        return frame.mapInArrow(work, schema)

    def renamed(batches: Batches) -> Batches:
        return work(batch.rename_columns(names) for batch in batches)

    return frame.toDF(*[f"c{i}" for i in range(len(names))]).mapInArrow(renamed, schema)


def spare_garbage_collection() -> None:
    """Set all that is loaded apart from what Python looks through when it collects garbage.

    Spark has a worker collect garbage after every task, which takes a twentieth of a second of its
    core for what NumPy, Numba, pandas and PyArrow have loaded, and none of that is ever garbage. A
    worker's first tasks call this, since some of it is loaded by the first windows. O(1).
    """
    global _spared
    if _spared < _SPARED:
        _spared += 1
        gc.freeze()


_spared, _SPARED = 0, 8


def arrow_result(schema: StructType) -> pa.Schema:
    """Return the schema of what workers hand back, as Arrow has it."""
    return to_arrow_schema(schema, timezone="UTC")


def _packing(
    work: Callable[[Tables], Tables],
    needed: list[str],
    names: list[str],
    packed: StructType,
    alone: bool = False,
) -> Any:
    """Return what a worker runs: arrays in, structs of results out; of one `alone`, its values."""
    fields = list(to_arrow_type(packed, timezone="UTC"))
    rows = _BYTES // (8 * len(fields))

    def pack(results: pa.Table) -> pa.Array:
        arrays = [whole(results.column(name)) for name in names]
        typed = [
            array if array.type == field.type else array.cast(field.type)
            for array, field in zip(arrays, fields, strict=True)
        ]
        return typed[0] if alone else pa.StructArray.from_arrays(typed, fields=fields)

    def run(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        tables = (
            pa.table([batch] if isinstance(batch, pa.Array) else list(batch), names=needed)
            for batch in batches
        )
        # No name holds on to a result, or to the rows it was made of, while the next one is made.
        for structs in map(pack, work(tables)):
            for begin in range(0, len(structs), rows):
                yield structs.slice(begin, rows)
            del structs

    run.__annotations__ = {  # Spark reads them, and would not find the names of a string
        "batches": Iterator[tuple[pa.Array, ...]],
        "return": Iterator[pa.Array],
    }
    return run
