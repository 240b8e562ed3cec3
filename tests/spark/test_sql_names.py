"""The aggregate functions of Spark: here with the same meaning, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.queries.test_sql_names import CALLS, agrees, answered, values
from tests.spark.frames import frame_of
from windrow.queries.cql.functions import FILTERED, FUNCTIONS, REFUSED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_means_the_same(spark: SparkSession) -> None:
    table = values()
    frame_of(spark, table).coalesce(1).createOrReplaceTempView("names_of_sql")
    known = {ours: theirs or ours for ours, _, theirs in CALLS if theirs != ""}
    from pyspark.sql import functions as sf

    def asked(text: str) -> object:
        return sf.product("f") if text == "product(f)" else sf.expr(text)  # not in its SQL

    frame = spark.table("names_of_sql")
    found = frame.agg(*(asked(text).alias(f"c{i}") for i, text in enumerate(known.values())))  # type: ignore[attr-defined]
    theirs = list(found.collect()[0])
    wrong = []
    for ours, spark_s in zip(known, theirs, strict=True):
        made = answered(ours, table)
        if not agrees(made, spark_s):
            wrong.append((ours, made, spark_s))
    assert not wrong


def test_every_aggregate_of_spark_is_known_or_refused(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    registry = spark._jsparkSession.sessionState().functionRegistry()  # type: ignore[attr-defined]
    names = [each.funcName() for each in _listed(registry.listFunction())]
    found = set()
    for name in names:
        info = (
            spark._jsparkSession.sessionState()
            .catalog()
            .lookupFunctionInfo(  # type: ignore[attr-defined]
                jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
            )
        )
        if info.getGroup() == "agg_funcs":
            found.add(name.upper())
    assert len(found) > 60
    assert found - {*FUNCTIONS, *FILTERED, *REFUSED} == set()


def _listed(sequence: object) -> list[object]:
    return [sequence.apply(i) for i in range(sequence.size())]  # type: ignore[attr-defined]


def test_estimates_are_near_those_of_spark(spark: SparkSession) -> None:
    table = values()
    frame = frame_of(spark, table)
    for call in ("APPROX_PERCENTILE(f, 0.3)", "APPROX_COUNT_DISTINCT(f)"):
        theirs = frame.selectExpr(f"{call} AS out").collect()[0]["out"]
        assert answered(call, table) == pytest.approx(theirs, rel=0.15), call
