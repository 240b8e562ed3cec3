"""Windows by key against Spark's own window functions, over the same rows in the same job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.spark.frames import agree, alike, frame_of, rivals, rows, slow
from windrow import (
    R2,
    ArgMax,
    ArgMin,
    Collect,
    Corr,
    Count,
    CountDistinct,
    Covariance,
    First,
    Intercept,
    Kurtosis,
    Last,
    Max,
    Mean,
    Min,
    Skewness,
    Slope,
    StdDev,
    Sum,
    Variance,
    shared,
    sliding,
)  # fmt: skip
from windrow.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession, WindowSpec

# The same in windrow and in Spark; a window without values has no list here, an empty one there.
SHARED: dict[str, tuple[Any, str]] = {
    "n": (Count(), "count(*)"),
    "present": (Count("x"), "count(x)"),
    **{
        f"{name}_{c}": (kind(c), f"{sql}({c})")
        for c in ("x", "i8", "f", "f32", "odd", "m", "wide", "s", "b", "t", "local", "day")
        for name, kind, sql in (("high", Max, "max"), ("low", Min, "min"))
    },
    **{
        f"{name}_{c}": (kind(c), f"{sql}({c})")
        for c in ("x", "i8", "f", "f32", "odd", "m", "wide")
        for name, kind, sql in (("total", Sum, "sum"), ("mean", Mean, "avg"))
        if (name, c) != ("mean", "m")
    },
    # with 12 digits Spark's mean is exact, with 10 it goes by doubles
    "mean_m": (Mean("CAST(m AS DECIMAL(12, 2))"), "avg(CAST(m AS DECIMAL(12, 2)))"),
    **{
        f"{sql}_{c}": (kind(c, ddof=ddof), f"{sql}({c})")
        for c in ("x", "f", "odd")
        for sql, kind, ddof in (
            ("stddev_samp", StdDev, 1), ("stddev_pop", StdDev, 0),
            ("var_samp", Variance, 1), ("var_pop", Variance, 0),
        )
    },
    "corr": (Corr("x", "f32"), "corr(x, f32)"),
    "covar_samp": (Covariance("x", "f32"), "covar_samp(x, f32)"),
    "covar_pop": (Covariance("x", "f32", ddof=0), "covar_pop(x, f32)"),
    "regr_slope": (Slope("x", "f32"), "regr_slope(x, f32)"),
    "regr_intercept": (Intercept("x", "f32"), "regr_intercept(x, f32)"),
    "regr_r2": (R2("x", "f32"), "regr_r2(x, f32)"),
    "skewness": (Skewness("x", bias=True), "skewness(x)"),
    "kurtosis": (Kurtosis("x", bias=True), "kurtosis(x)"),
    "where": (ArgMax("u", "s"), "max_by(s, u)"),
    "least": (ArgMin("u", "m"), "min_by(m, u)"),
    "first": (First("s"), "first(s, true)"),
    "last": (Last("m"), "last(m, true)"),
    "first_f": (First("odd"), "first(odd, true)"),
    "last_b": (Last("b"), "last(b, true)"),
    "all": (Collect("x"), "collect_list(x)"),
    "strings": (Collect("s"), "collect_list(s)"),
    "distinct": (CountDistinct("s"), "size(collect_set(s))"),
    "distinct_x": (CountDistinct("x"), "size(collect_set(x))"),
    "product": (Sum("x * f"), "sum(x * f)"),
    "doubled": (Max("m * 2"), "max(m * 2)"),
}  # fmt: skip
PARTS = {name: part for name, (part, _) in SHARED.items()}
# of rows that share a time, no order is promised
UNORDERED = ("first", "last", "first_f", "last_b", "all", "strings")
# one of each: for what does not depend on what is computed
FEW = ["n", "present", "high_s", "low_t", "total_x", "mean_m", "stddev_samp_f", "corr", "where"]


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """A setting of the session for a while."""
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


def over(spec: WindowSpec, names: list[str]) -> dict[str, Any]:
    """Spark's answers over a frame of its own."""
    from pyspark.sql import functions as F  # noqa: N812

    made = {}
    for name in names:
        text = SHARED[name][1]
        if text.startswith("size("):
            made[name] = F.size(F.collect_set(text[17:-2]).over(spec)).cast("long")
            continue
        made[name] = F.expr(text).over(spec)
        if text.startswith("collect"):
            made[name] = F.when(F.size(made[name]) > 0, made[name])
    return made


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, rows(500)).repartition(3).cache()


@pytest.mark.parametrize("size", [slow(1), 5])
def test_rows(frame: DataFrame, size: int) -> None:
    from pyspark.sql import Window

    query = sliding(PARTS, partition_by=["key", "part"], order_by=["t", "id"], rows=size)
    spec = Window.partitionBy("key", "part").orderBy("t", "id").rowsBetween(1 - size, 0)
    table, types = rivals(frame, query, over(spec, list(PARTS)))
    assert table.num_rows == 500
    agree(table, list(PARTS))
    for name in PARTS:
        ours, theirs = (types[n].simpleString() for n in (name, f"spark_{name}"))
        assert ours == theirs or name == "doubled", name  # where Spark knows the literal's size


@pytest.mark.parametrize("every", [False, slow(True)], ids=["few", "every"])
@pytest.mark.parametrize(
    ("column", "size", "preceding"),
    [
        ("t", "30 minutes", "INTERVAL 30 MINUTES"),
        ("local", "2 hours", "INTERVAL 2 HOURS"),
        ("day", "1 day", "INTERVAL 1 DAY"),
        ("o", 7, "7"),
        ("g", 2.0, "2.0D"),
    ],
)
def test_ranges(frame: DataFrame, column: str, size: Any, preceding: str, every: bool) -> None:
    """Over times, dates and numbers, with ties, nulls first and NaN last in the order."""
    from pyspark.sql import functions as F  # noqa: N812

    names = [name for name in PARTS if name not in UNORDERED] if every else FEW
    parts = {name: PARTS[name] for name in names}
    query = sliding(parts, partition_by="key", order_by=column, range=size)
    span = f"RANGE BETWEEN {preceding} PRECEDING AND CURRENT ROW"
    spec = f"(PARTITION BY key ORDER BY {column} {span})"
    theirs = {}
    for name in names:
        text = SHARED[name][1]
        inner = text[5:-1] if text.startswith("size(") else text
        made = F.expr(f"{inner} OVER {spec}")
        theirs[name] = F.size(made).cast("long") if inner != text else made
    agree(rivals(frame, query, theirs)[0], names)


def test_unbounded_ranges_and_rows_of_one_time(frame: DataFrame) -> None:
    from pyspark.sql import Window

    every = [name for name in PARTS if name not in UNORDERED]
    spec = Window.partitionBy("key").orderBy("g")
    for size, begin, names in (
        ("unbounded", Window.unboundedPreceding, every),
        ("now", 0, FEW),
    ):
        parts = {name: PARTS[name] for name in names}
        query = sliding(parts, partition_by="key", order_by="g", range=size)
        agree(rivals(frame, query, over(spec.rangeBetween(begin, 0), names))[0], names)


@pytest.mark.parametrize(
    ("size", "span"),
    [
        ({"rows": (-3, 3)}, "ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING"),
        pytest.param(
            {"rows": (-6, -1)}, "ROWS BETWEEN 6 PRECEDING AND 1 PRECEDING", marks=pytest.mark.slow
        ),
        ({"range": (-2.0, 3.5)}, "RANGE BETWEEN 2.0D PRECEDING AND 3.5D FOLLOWING"),
        pytest.param(
            {"range": (0, "unbounded")},
            "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_frames_and_filters(frame: DataFrame, size: Any, span: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    names = [n for n in PARTS if n not in (*UNORDERED, "distinct", "distinct_x")]
    parts = {name: PARTS[name] for name in names}
    parts |= {"some": Sum("x").where("s > 'b'"), "few": Count().where("f > 0")}
    order = "g, id" if "rows" in size else "g"
    query = sliding(parts, partition_by="key", order_by=order.split(", "), **size)
    spec = f"OVER (PARTITION BY key ORDER BY {order} {span})"
    theirs = {name: F.expr(f"{SHARED[name][1]} {spec}") for name in names}
    theirs["some"] = F.expr(f"sum(x) FILTER (WHERE s > 'b') {spec}")
    theirs["few"] = F.expr(f"count(*) FILTER (WHERE f > 0) {spec}")
    agree(rivals(frame, query, theirs)[0], list(parts))


def test_several_sizes_take_one_shuffle(frame: DataFrame) -> None:
    parts = {"n": Count(), "total": Sum("x"), "high": Max("s")}
    made = frame.transform(sliding(partition_by="key", order_by=["t", "id"], rows=[3, 20], **parts))
    plan = made._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert plan.count("Exchange hashpartitioning") <= 1
    table = made.toArrow().sort_by("id")
    for size in (3, 20):
        query = sliding(partition_by="key", order_by=["t", "id"], rows=size, **parts)
        want = query(rows(500)).sort_by("id")
        for name in parts:
            assert table[f"{name}_{size}"].to_pylist() == want[name].to_pylist()


def test_enough_values_of_some_rows(frame: DataFrame) -> None:
    """Where Spark makes the states of slices, and along a column of decimals."""
    parts = {"n": Count(), "total": Sum("x").where("f > 0"), "mean": Mean("x"), "high": Max("s")}
    hopping = {"range": "1 hour", "slide": "20 minutes", "order_by": "t"}
    for there, here in (
        (hopping, hopping),
        (  # tables measure along numbers
            {"range": (-1000.5, 500), "order_by": "m", "exclude": "current row"},
            {"range": (-100050, 50000), "order_by": "cents", "exclude": "current row"},
        ),
    ):
        asked = sliding(partition_by="key", min_rows=3, **there, **parts)
        made = frame.transform(asked).toArrow()
        assert made.schema.field("n").nullable
        table = rows(500)
        cents = [None if m is None else int(m * 100) for m in table["m"].to_pylist()]
        table = table.append_column("cents", pa.array(cents, pa.int64()))
        want = sliding(partition_by="key", min_rows=3, **here, **parts)(table)
        names = [n for n in ("id", "key", "window_start", *parts) if n in made.column_names]
        results = (sorted(map(str, each.select(names).to_pylist())) for each in (made, want))
        assert next(results) == next(results)


def test_without_a_key(frame: DataFrame) -> None:
    from pyspark.sql import Window

    query = sliding(PARTS, order_by=["s", "m", "id"], rows=20)  # nulls in both
    spec = Window.orderBy("s", "m", "id").rowsBetween(-19, 0)
    table, _ = rivals(frame, query, over(spec, list(PARTS)))
    agree(table, list(PARTS))


def test_count_windows_are_every_nth_row(frame: DataFrame) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    names = ["n", "total_x", "mean_m", "where", "all", "high_s"]
    parts = {name: PARTS[name] for name in names}
    query = sliding(parts, partition_by="key", order_by=["t", "id"], rows=10, slide=4)
    spec = Window.partitionBy("key").orderBy("t", "id")
    theirs = {**over(spec.rowsBetween(-9, 0), names), "number": F.row_number().over(spec)}
    table, _ = rivals(frame, query, theirs)
    agree(table, names)
    numbers = table.column("spark_number").to_pylist()
    assert numbers and all(number % 4 == 0 for number in numbers)
    counts = rows(500).group_by("key").aggregate([([], "count_all")]).column("count_all")
    assert len(numbers) == sum(count // 4 for count in counts.to_pylist())


@pytest.mark.parametrize(
    ("column", "size", "slide", "offset"),
    [
        ("t", "1 hour", "20 minutes", None),
        ("t", "50 minutes", "30 minutes", "7 minutes"),
        ("local", "10 minutes", "10 minutes", None),
    ],
)
def test_hopping_windows_are_those_of_window(
    frame: DataFrame, column: str, size: str, slide: str, offset: str | None
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    every = [n for n in PARTS if n not in (*UNORDERED, "distinct", "distinct_x")]
    names = every if slide == "20 minutes" else FEW
    query = sliding(
        {name: PARTS[name] for name in names},
        partition_by="key", order_by=column, range=size, slide=slide, offset=offset,
    )  # fmt: skip
    window = F.window(column, size, slide, offset or "0 seconds")
    theirs = frame.groupBy("key", window).agg(*[F.expr(SHARED[n][1]).alias(n) for n in names])
    theirs = theirs.select("key", "window.start", "window.end", *names)
    made = frame.transform(query)
    for name, field in zip(made.columns, theirs.schema, strict=True):
        if name != "doubled":  # Spark knows the exact size of the literal there
            assert made.schema[name].dataType == field.dataType, name
    ours = made.toArrow()
    table = theirs.toArrow().rename_columns(ours.column_names)
    alike(ours, table, ["key", "window_start"])


def test_hopping_windows_with_gaps(frame: DataFrame) -> None:
    """Spark's window() refuses them; of rows in the first part of each slide it gives the same."""
    from pyspark.sql import functions as F  # noqa: N812

    names = ["n", "total_x", "high_f", "low_s"]
    parts = {name: PARTS[name] for name in names}
    keyed = {"partition_by": "key", "order_by": "t"}
    size, slide, offset = "7 minutes", "50 minutes", "3 minutes"
    inside = F.pmod(F.unix_micros("t") - 180_000_000, F.lit(3_000_000_000)) < 420_000_000
    window = F.window("t", slide, slide, offset)
    theirs = (
        frame.where(inside)
        .groupBy("key", window)
        .agg(*[F.expr(SHARED[n][1]).alias(n) for n in names])
    )
    end = F.expr("window.start + INTERVAL 7 MINUTES")
    wanted = theirs.select("key", "window.start", end.alias("end"), *names).toArrow()
    hops = {**keyed, "range": size, "slide": slide, "offset": offset, "gaps": True}
    made = frame.transform(sliding(parts, **hops)).toArrow()
    assert 0 < made.num_rows == wanted.num_rows
    alike(made, wanted.rename_columns(made.column_names), ["key", "window_start"])
    listed = frame.transform(sliding(**hops, all=Collect("id"), n=Count())).toArrow()  # by rows
    alike(listed.drop_columns(["all"]), made.select(listed.drop_columns(["all"]).column_names),
          ["key", "window_start"])  # fmt: skip


def test_shared_count_windows(frame: DataFrame) -> None:
    keyed = {"partition_by": "key", "order_by": ["t", "id"]}
    queries = [
        sliding(**keyed, rows=10, slide=4, a=Max("x"), b=Sum("x")),
        sliding(**keyed, rows=3, slide=7, gaps=True, c=Collect("id")),
        sliding(**keyed, rows=5, d=Count("x"), having="d < 5"),
    ]
    some = frame.select("id", "key", "t", "x")
    made = some.transform(shared(*queries)).toArrow()
    assert made.column_names == ["query", "id", "key", "t", "x", "a", "b", "c", "d"]
    for i, query in enumerate(queries):
        alone = some.transform(query).toArrow()
        mine = made.filter(pc.equal(made.column("query"), i)).select(alone.column_names)
        assert alone.num_rows
        assert mine.sort_by("id").to_pylist() == alone.sort_by("id").to_pylist()
    with pytest.raises(InvalidArgument, match="tell by a column 'query' whose each result is"):
        some.withColumnRenamed("x", "query").transform(
            shared(*(sliding(**keyed, rows=4, slide=k, **{f"n{k}": Count()}) for k in (2, 3)))
        )


def test_more_windows_than_memory_holds_are_refused_before_any_job(frame: DataFrame) -> None:
    query = sliding(partition_by="key", order_by="t", range="1000 days", slide="1 ms", n=Count())
    with pytest.raises(InvalidArgument, match="would make 86,400,000,000 results"):
        frame.transform(query)


def test_small_batches_cut_keys_anywhere(spark: SparkSession, frame: DataFrame) -> None:
    from pyspark.sql import Window

    with setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "7"):
        query = sliding(PARTS, partition_by="part", order_by=["t", "id"], rows=40)
        spec = Window.partitionBy("part").orderBy("t", "id").rowsBetween(-39, 0)
        agree(rivals(frame, query, over(spec, list(PARTS)))[0], list(PARTS))


def test_one_row_no_row_and_only_null_keys(spark: SparkSession, frame: DataFrame) -> None:
    query = sliding(PARTS, partition_by="key", order_by=["t", "id"], rows=3)
    one = frame.filter("id = 3").transform(query).toArrow()
    assert one.column("n").to_pylist() == [1]
    none = frame.filter("id < 0").transform(query)
    assert none.toArrow().num_rows == 0
    assert spark.createDataFrame([], frame.schema).transform(query).schema == none.schema
    nulls = frame.filter("key IS NULL").transform(query).toArrow()
    assert set(nulls.column("key").to_pylist()) == {None}
    assert max(nulls.column("n").to_pylist()) == 3


def test_a_key_longer_than_a_batch_and_a_window_longer_than_a_piece(spark: SparkSession) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.range(100_000).select("id", F.expr("id % 2 AS key"), F.expr("id * 7 % 1000 AS v"))
    spec = Window.partitionBy("key").orderBy("id")
    query = sliding(partition_by="key", order_by="id", range=80_000, n=Count(), s=Sum("v"))
    with setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "100"):
        theirs = F.sum("v").over(spec) - F.coalesce(
            F.lag(F.sum("v").over(spec), 40_001).over(spec), F.lit(0)
        )
        made = frame.withColumn("spark_s", theirs).transform(query)
        wrong = made.filter("s <> spark_s OR n <> least(id DIV 2 + 1, 40001)")
        assert wrong.count() == 0
        assert made.count() == 100_000


@pytest.mark.slow
def test_keys_go_on_from_piece_to_piece(spark: SparkSession) -> None:
    """Partitions of more rows than are looked at at once, in batches that end anywhere."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.range(120_000).select(
        "id", F.expr("id % 3 AS key"), F.expr("timestamp_seconds(id) AS t"),
        F.expr("nullif(id * 7919 % 1000, 5) AS v"), F.expr("id * 7919 % 120011 AS u"),
    )  # fmt: skip
    parts = {"n": Count("v"), "s": Sum("v"), "top": Max("v"), "at": ArgMax("u", "id"),
             "last": Last("v")}  # fmt: skip
    texts = {"n": "count(v)", "s": "sum(v)", "top": "max(v)", "at": "max_by(id, u)",
             "last": "last(v, true)"}  # fmt: skip
    spec = Window.partitionBy("key").orderBy("t")
    theirs = {
        f"spark_{name}": F.expr(text).over(spec.rowsBetween(-9, 0)) for name, text in texts.items()
    }
    differs = " OR ".join(f"NOT ({name} <=> spark_{name})" for name in parts)
    with setting(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", "700"):
        wide = frame.withColumns(theirs).coalesce(1)
        for window in ({"rows": 10}, {"range": "30 seconds", "closed": "right"}):
            query = sliding(parts, partition_by="key", order_by="t", **window)
            made = wide.transform(query)
            assert made.agg(F.count("*"), F.count_if(F.expr(differs))).first() == (120_000, 0)
        hops = {name: part for name, part in parts.items() if name != "last"}
        query = sliding(
            hops, partition_by="key", order_by="t", range="90 seconds", slide="1 minute"
        )
        window = F.window("t", "90 seconds", "1 minute")
        grouped = frame.groupBy("key", window).agg(
            *[F.expr(texts[name]).alias(name) for name in hops]
        )
        grouped = grouped.select("key", "window.start", "window.end", *hops)
        made = frame.transform(query)
        assert made.exceptAll(grouped).count() == 0 == grouped.exceptAll(made).count()


def test_empty_partitions(frame: DataFrame) -> None:
    spread = frame.filter("key = 'a'").repartition(16)
    query = sliding(partition_by="key", order_by="id", rows=2, n=Count())
    counts = spread.transform(query).toArrow().column("n").to_pylist()
    assert sorted(counts)[:2] == [1, 2] and set(counts[1:]) == {2}
