"""A subclass of the user's own over DataFrames; `tests/aggregations/test_own.py` has the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.streams.feeding import readings
from windrow import Aggregation, sliding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENTS: dict[str, dict[str, Any]] = {
    "a result a row": {"range": "20 seconds"},
    "hopping windows": {"range": "2 minutes", "slide": "30 seconds"},
}


def spread(sliced_by_spark: bool) -> type[Aggregation]:
    """A class that workers get by value, as those of a notebook: they cannot import it."""

    class Spread(Aggregation):
        takes = "number"
        commutative = True
        fields = {"low": "value", "high": "value"}
        result = "difference"
        spark_fields = {"low": "min({0})", "high": "max({0})"} if sliced_by_spark else {}

        @staticmethod
        def unit(x: Any) -> Any:
            return x, x

        @staticmethod
        def plus(a: Any, b: Any) -> Any:
            return min(a[0], b[0]), max(a[1], b[1])

        @staticmethod
        def answer(state: Any) -> Any:
            return state[1] - state[0]

    return Spread


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("sliced_by_spark", [False, True])
def test_frames_give_what_tables_give(
    spark: SparkSession, extent: str, sliced_by_spark: bool
) -> None:
    table = readings(200, 4, seed=5, spread=900)
    query = sliding(
        partition_by="key",
        order_by="ts",
        spread=spread(sliced_by_spark)("x"),
        **EXTENTS[extent],
    )
    found = spark.createDataFrame(table).transform(query).toArrow()
    assert by_row(found) == by_row(query(table))


def by_row(results: pa.Table) -> dict[tuple[Any, ...], Any]:
    """The result of each row, or of each window of a key."""
    place = [name for name in ("id", "key", "window_start") if name in results.column_names]
    rows = results.to_pylist()
    return {tuple(str(row[name]) for name in place): row["spread"] for row in rows}
