"""Mistakes are found when the query meets the frame, and are AnalysisExceptions as Spark's are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.spark.frames import frame_of
from windrow import Collect, Count, Last, Max, Sum, aggregation, sliding
from windrow.errors import InvalidArgument, InvalidValue, Unsupported
from windrow.kernels.routes import NotCompiledWarning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = pa.table(
    {
        "plug": pa.array([i % 3 for i in range(30)], pa.int64()),
        "ts": pa.array(range(30), pa.timestamp("us", "UTC")),
        "load": pa.array([5.0 - i for i in range(30)], pa.float64()),
        "whole": pa.array([20 - i for i in range(30)], pa.int64()),
        "name": pa.array(["x"] * 30, pa.string()),
        "tags": pa.array([["t"]] * 30, pa.list_(pa.string())),
    }
)


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, TABLE)


def joined(a: str, b: str) -> str:
    return f"{a}{b}"


def untyped(state):  # type: ignore[no-untyped-def]
    return state


STRINGS = aggregation("name", lift=lambda s: s, combine=joined, lower=untyped)


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        (InvalidArgument, {"rows": 3, "m": Max("laod")}, "did you mean 'load'"),
        (InvalidArgument, {"rows": 3, "m": Max("load"), "partition_by": "plog"}, "'plug'"),
        (InvalidArgument, {"rows": 3, "m": Max("load"), "order_by": "tz"}, "order_by='tz'"),
        (InvalidArgument, {"rows": 3, "load": Max("load")}, "already has a column 'load'"),
        (InvalidArgument, {"rows": 3, "Load": Max("load")}, "takes for the same"),
        (InvalidArgument, {"rows": 3, "m": Max("load"), "order_by": None}, "give order_by="),
        (InvalidArgument, {"rows": 3, "m": Max("load"), "where": "lod > 3"}, "lod"),
        (InvalidArgument, {"rows": 3, "m": Max("load"), "having": "n > 3"}, "n"),
        (InvalidArgument, {"range": "1500 ns", "slide": "500 ns", "n": Count()}, "microseconds"),
        (InvalidValue, {"range": 5, "m": Max("load")}, "range=5 is a number"),
        (
            InvalidValue,
            {"range": "999999999 days", "m": Max("load")},
            "along 'ts'",
        ),
        (InvalidValue, {"rows": 3, "m": Sum("name")}, "'name' is of type string"),
        (InvalidValue, {"rows": 3, "m": Max("tags")}, "a column with an order"),
        (InvalidValue, {"rows": 3, "m": Max("load"), "partition_by": "tags"}, "grouped by"),
        (Unsupported, {"rows": 3, "m": STRINGS}, "def lower(state) -> str"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_at_transform_time(
    frame: DataFrame, kind: type[Exception], arguments: dict[str, Any], says: str
) -> None:
    from pyspark.errors import AnalysisException

    query = sliding(**{"partition_by": "plug", "order_by": "ts", **arguments})
    with pytest.raises(AnalysisException) as caught:
        frame.transform(query)
    assert isinstance(caught.value, kind)
    assert says in str(caught.value)
    assert "The DataFrame's columns are:\n  plug: bigint\n  ts: timestamp\n" in str(caught.value)


def test_what_spark_cannot_hand_over(frame: DataFrame) -> None:
    from pyspark.errors import AnalysisException

    query = sliding(partition_by="plug", order_by="ts", rows=3, m=Max("name"))
    odd = frame.selectExpr("*", "make_interval(1, 2) AS odd")
    with pytest.raises(AnalysisException, match=r"'odd' is of type interval"):
        odd.transform(query)
    collated = frame.selectExpr("plug", "ts", "collate(name, 'UTF8_LCASE') AS name")
    with pytest.raises(AnalysisException, match=r"collate\(name, 'UTF8_BINARY'\)"):
        collated.transform(query)


def test_an_annotation_is_the_type(frame: DataFrame) -> None:
    def words(state: str) -> list[str]:
        return list(state)

    own = aggregation("name", lift=lambda s: s, combine=joined, lower=words)
    made = frame.transform(sliding(partition_by="plug", order_by="ts", rows=2, w=own))
    assert made.schema["w"].dataType.simpleString() == "array<string>"
    assert sorted(made.toArrow().column("w").to_pylist()) == [["x"]] * 3 + [["x", "x"]] * 27


def failing(frame: DataFrame, **arguments: Any) -> str:
    from pyspark.errors import PythonException

    query = sliding(**{"partition_by": "plug", "order_by": "ts", "rows": 3, **arguments})
    with pytest.raises(PythonException) as caught:
        frame.transform(query).toArrow()
    return str(caught.value)


def test_a_function_that_fails_names_the_row(frame: DataFrame) -> None:
    compiled = aggregation(
        "whole", lift=lambda v: 1 // v, combine=lambda a, b: a + b, lower=lambda s: s
    )
    said = failing(frame, m=compiled)
    assert "ZeroDivisionError" in said
    assert "at the row {'plug': 2, 'ts': datetime.datetime(1970, 1, 1, 0, 0, 0, 20" in said
    assert "'whole': 0}" in said


def test_a_function_that_fails_in_the_interpreter_names_the_row(frame: DataFrame) -> None:
    def lower(state: int) -> str:
        if state == 45:
            raise RuntimeError("no such sum")
        return str(state)

    own = aggregation("whole", lift=lambda v: v, combine=lambda a, b: a + b, lower=lower)
    with pytest.warns(NotCompiledWarning, match="lower.* runs in the interpreter") as warned:
        said = failing(frame, m=own)  # 12 + 15 + 18
    assert [w.category for w in warned].count(NotCompiledWarning) == 1, "on the driver, once"
    assert "RuntimeError: no such sum" in said
    assert "at the row {'plug': 2, " in said
    assert "'whole': 12}" in said


def test_a_warning_names_what_was_written_and_the_line_of_the_user(frame: DataFrame) -> None:
    own = aggregation("whole + 1", lift=str, combine=joined, lower=str)
    query = sliding(partition_by="plug", order_by="ts", rows=3, m=own)
    with pytest.warns(NotCompiledWarning, match=r"aggregation\('whole \+ 1'.* runs in") as warned:
        frame.transform(query)
    assert [(w.category, w.filename) for w in warned] == [(NotCompiledWarning, __file__)]


def test_a_predicate_that_fails_names_the_row(frame: DataFrame) -> None:
    said = failing(frame, rows=None, on=lambda row: 1 // row["whole"] > 0, all=Collect("whole"))
    assert "ZeroDivisionError" in said
    assert "'plug': 2" in said and "'whole': 0" in said


def test_a_policy_that_fails_names_the_key(frame: DataFrame) -> None:
    def policy(total: Any, old: Any) -> bool:
        return 1 // (total.last - 3) > 5

    said = failing(frame, rows=None, until=policy, last=Last("whole"))
    assert "ZeroDivisionError" in said
    assert "policy, at the row {'plug': 2, 'ts': datetime.datetime(" in said
    assert "'whole': 3}" in said


@pytest.mark.parametrize("window", [{"rows": 3}, {"range": "9 us"}, {"rows": 3, "having": "s > 0"}])
def test_a_sum_that_overflows_names_the_key(frame: DataFrame, window: dict[str, Any]) -> None:
    large = frame.selectExpr("plug", "ts", "whole", "IF(whole = 4, 9223372036854775807, 9) AS big")
    said = failing(large, **{"rows": None, **window}, s=Sum("big"))
    assert "OverflowError" in said
    assert "at the row {'plug': 1" in said
