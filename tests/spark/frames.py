"""Rows with everything that goes wrong in them, and a comparison of two columns of one frame."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.tables.oracle import same

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from windrow import Query

UTC = dt.UTC


def slow(case: Any) -> Any:
    """A case that only `make test-all` runs: others of its kind are in the default run."""
    return pytest.param(case, marks=pytest.mark.slow)


# An hour is left out in Berlin at the first, and comes twice at the second.
SPRING = dt.datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
AUTUMN = dt.datetime(2026, 10, 24, 23, 30, tzinfo=UTC)
BEFORE_EPOCH = dt.datetime(1969, 12, 31, 22, 0, tzinfo=UTC)
NAN, INF = math.nan, math.inf


def rows(n: int, seed: int = 7) -> pa.Table:
    """n rows: `id` numbers them, `t` has ties, `o` and `g` have nulls, and g has NaN as well."""
    rng = random.Random(seed)

    def pick(*values: Any) -> list[Any]:
        return [rng.choice(values) for _ in range(n)]

    minutes = [rng.randrange(300) for _ in range(n)]
    bases = pick(SPRING, AUTUMN, BEFORE_EPOCH)
    times = [base + dt.timedelta(minutes=m) for base, m in zip(bases, minutes, strict=True)]
    cents = [rng.choice([None, Decimal(rng.randrange(-(10**6), 10**6)) / 100]) for _ in range(n)]
    wide = [Decimal(rng.randrange(-(10**29), 10**29)).scaleb(-4) for _ in range(n)]
    maybe = [rng.choice([None, rng.randrange(-50, 50)]) for _ in range(n)]
    return pa.table(
        {
            "id": pa.array(range(n), pa.int64()),
            "key": pa.array(pick("a", "b", "c", "ü", "", None), pa.string()),
            "part": pa.array(pick(0.0, 1.5, NAN, None, -0.0), pa.float64()),
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "local": pa.array([time.replace(tzinfo=None) for time in times], pa.timestamp("us")),
            "day": pa.array([time.date() for time in times], pa.date32()),
            "o": pa.array(maybe, pa.int32()),
            "g": pa.array(pick(None, NAN, -3.5, 0.0, -0.0, 1.25, 2.0, 1e6), pa.float64()),
            "x": pa.array([rng.choice([None, rng.randrange(-9, 9)]) for _ in range(n)], pa.int64()),
            "i8": pa.array([rng.choice([None, rng.randrange(-9, 9)]) for _ in range(n)], pa.int8()),
            "f": pa.array(pick(None, 0.5, -1.25, 3.0, 2.0, 1e8, -0.0), pa.float64()),
            "f32": pa.array(pick(None, 0.5, -1.25, 3.0), pa.float32()),
            "odd": pa.array(pick(None, NAN, INF, 1.0, 2.0), pa.float64()),
            "m": pa.array(cents, pa.decimal128(10, 2)),
            "wide": pa.array(wide, pa.decimal128(30, 4)),
            "s": pa.array(pick("x", "y", "zz", "", None, "ß"), pa.string()),
            "b": pa.array(pick(True, False, None), pa.bool_()),
            "u": pa.array(rng.sample(range(n), n), pa.int64()),  # no two alike
        }
    )


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows as a DataFrame; times without a zone stay so, whatever `spark.sql.timestampType`."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return spark.createDataFrame(table, schema=schema)


def rivals(
    frame: DataFrame, query: Query, theirs: dict[str, Column]
) -> tuple[pa.Table, dict[str, Any]]:
    """The query over a frame that has Spark's own answers as columns already: one job for both."""
    made = frame.withColumns({f"spark_{name}": column for name, column in theirs.items()})
    made = made.transform(query)
    schema = {field.name: field.dataType for field in made.schema.fields}
    return made.toArrow(), schema


def agree(table: pa.Table, names: list[str]) -> None:
    """Each of our columns is Spark's: exact types to the last bit, floats to rounding."""
    ids = table.column("id").to_pylist()
    for name in names:
        ours, theirs = table.column(name).to_pylist(), table.column(f"spark_{name}").to_pylist()
        wrong = [(i, a, b) for i, a, b in zip(ids, ours, theirs, strict=True) if not same(a, b)]
        assert not wrong, (name, len(wrong), wrong[:5])


def same_bits(ours: pa.Table, theirs: pa.Table) -> None:
    """Both tables are equal to the last bit, NaN and the sign of zero included."""
    assert ours.schema.equals(theirs.schema)
    for name in ours.column_names:
        left, right = (table.column(name).to_pylist() for table in (ours, theirs))
        wrong = [
            (i, a, b)
            for i, (a, b) in enumerate(zip(left, right, strict=True))
            if repr(a) != repr(b)
        ]
        assert not wrong, (name, len(wrong), wrong[:5])


def as_rows(table: pa.Table, by: list[str]) -> list[dict[str, Any]]:
    """Rows in an order that does not depend on where they were computed."""
    return sorted(table.to_pylist(), key=lambda row: [_place(row[name]) for name in by])


def _place(value: Any) -> Any:
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


def alike(ours: pa.Table, theirs: pa.Table, by: list[str]) -> None:
    """Both tables hold the same rows."""
    assert ours.column_names == theirs.column_names
    assert ours.num_rows == theirs.num_rows
    for got, want in zip(as_rows(ours, by), as_rows(theirs, by), strict=True):
        for name in want:
            assert same(_plain(got[name]), _plain(want[name])), (name, got, want)


def _plain(value: Any) -> Any:
    """A time without its zone: workers say the session's, memory the table's."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value
