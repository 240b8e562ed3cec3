"""Every kind of window and every aggregation gives on Spark what it gives in memory."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import windrow
from tests.spark.frames import alike, frame_of
from tests.tables.test_tables import ALL, label
from windrow import (
    EWM,
    HLL,
    KLL,
    R2,
    Adwin,
    All,
    ArithmeticMean,
    BitAnd,
    BitOr,
    BitXor,
    Bloom,
    BottomK,
    Collect,
    Count,
    CountMin,
    Covariance,
    Delta,
    EWMByTime,
    GeometricMean,
    Histogram,
    Increase,
    Intercept,
    Kurtosis,
    Max,
    Median,
    Mode,
    MomentSketch,
    PercentRank,
    PopulationStdDev,
    Product,
    Quantile,
    Rank,
    Rate,
    SampleStdDev,
    Skewness,
    Slope,
    Sum,
    TDigest,
    Theta,
    TopK,
    WeightedMean,
    aggregation,
    sliding,
)  # fmt: skip

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def longest(state: tuple[str, ...]) -> str | None:
    """What Numba does not compile: the type of the column comes from the annotation."""
    return max(state, key=len, default=None)


EVERY: dict[str, Any] = {
    **ALL,
    "product": Product("w"),
    "average": ArithmeticMean("w"),
    "geometric": GeometricMean("w"),
    "sample": SampleStdDev("v"),
    "population": PopulationStdDev("v"),
    "covariance": Covariance("v", "w"),
    "slope": Slope("v", "w"),
    "intercept": Intercept("v", "w"),
    "r2": R2("v", "w"),
    "weighted": WeightedMean("v", "w"),
    "skew": Skewness("w"),
    "kurtosis": Kurtosis("v"),
    "any": windrow.Any("v > 3"),
    "every": All("v > -5"),
    "bit_and": BitAnd("v"),
    "bit_or": BitOr("v"),
    "bit_xor": BitXor("v"),
    "delta": Delta("v"),
    "increase": Increase("v"),
    "faded": EWM("w", halflife=4),
    "rate": Rate("v", "t"),
    "faded_by_time": EWMByTime("w", "t", halflife=20),
    "bloom": Bloom("name"),
    "sketch": CountMin("v"),
    "exact": Median("v"),
    "shares": Quantile("v", q=(0.1, 0.9)),
    "names": Quantile("name", q=0.5, interpolation="inverted_cdf"),
    "second": windrow.Nth("v", n=2),
    "top": TopK("v", k=2),
    "bottom": BottomK("name", k=2),
    "commonest": Mode("v"),
    "rank": Rank("v"),
    "percent": PercentRank("v"),
    "bins": Histogram("v", edges=(-5, 0, 3)),
    "median": MomentSketch("w", quantiles=0.5),
    "quantiles": MomentSketch("w", quantiles=(0.25, 0.75)),
    "kll": KLL("w", q=(0.25, 0.75)),
    "digest": TDigest("v", q=0.5),
    "hll": HLL("name"),
    "theta": Theta("w"),
    "two_columns": aggregation(
        "v", "w", lift=lambda v, w: (v * w, w), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: s[0] / s[1],
    ),
    "several": aggregation(
        "v", lift=lambda v: (v, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: (s[0], s[1] > 3),
    ),
    "interpreted": aggregation(
        "name", lift=lambda s: (s,), combine=lambda a, b: max(a, b), lower=longest
    ),
    "formatted": aggregation("v", lift=str, combine=lambda a, b: f"{a},{b}", lower=str),
}  # fmt: skip

WINDOWS: list[dict[str, Any]] = [
    {"rows": 3}, {"rows": 5, "slide": 2}, {"range": 9, "closed": "left"}, {"range": "unbounded"},
    {"delta": 7.5}, {"on": "v = 3"}, {"on": lambda row: row["name"] == "x"},
    {"range": 10, "slide": 4}, {"delta": 2.5, "slide": 1.25}, {"gap": 3},
]  # fmt: skip
MORE: list[dict[str, Any]] = [
    {"rows": "unbounded"}, {"rows": "unbounded", "slide": 3}, {"range": 9},
    {"range": 9, "closed": "neither"}, {"range": "now"}, {"delta": 12, "closed": "right"},
    {"range": 7, "slide": 7, "offset": 3},
]  # fmt: skip


def table(n: int = 150) -> pa.Table:
    """Rows with a time of their own each, so that no result depends on ties."""
    rng = random.Random(3)
    return pa.table(
        {
            "key": pa.array([rng.choice(["a", "b", None]) for _ in range(n)], pa.string()),
            "t": pa.array(rng.sample(range(-n, n), n), pa.int64()),
            "v": pa.array([rng.choice([None, *range(-5, 6)]) for _ in range(n)], pa.int64()),
            "w": pa.array([rng.choice([0.5, 1.0, 2.0, 4.0]) for _ in range(n)], pa.float64()),
            "name": pa.array([rng.choice("xyz") for _ in range(n)], pa.string()),
        }
    )


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, table()).repartition(2).cache()


def by(made: pa.Table) -> list[str]:
    places = ("window_start", "session_start", "t")
    return ["key", next(name for name in places if name in made.column_names)]


def test_every_aggregation_is_here() -> None:
    kinds = {type(part).__name__ for part in EVERY.values()}
    known = {
        kind.__name__ for name in windrow.__all__
        if isinstance(kind := getattr(windrow, name), type)
        and issubclass(kind, windrow.Aggregation) and name not in ("Aggregation", "Together")
    }  # fmt: skip
    assert known - kinds == set()


@pytest.mark.filterwarnings("ignore::windrow.kernels.routes.NotCompiledWarning")
@pytest.mark.parametrize(
    "window", [*WINDOWS, *(pytest.param(w, marks=pytest.mark.slow) for w in MORE)], ids=label
)
def test_windows(frame: DataFrame, window: dict[str, Any]) -> None:
    query = sliding(EVERY, partition_by="key", order_by="t", **window)
    made = frame.transform(query).toArrow()
    alike(made, query(table()), by(made))


@pytest.mark.filterwarnings("ignore::windrow.kernels.routes.NotCompiledWarning")
@pytest.mark.parametrize(
    "window", [{"rows": 3}, {"range": 9}, {"range": 10, "slide": 4}], ids=label
)
def test_no_key(frame: DataFrame, window: dict[str, Any]) -> None:
    query = sliding(EVERY, order_by="t", **window)
    made = frame.transform(query).toArrow()
    alike(made, query(table()), by(made)[1:])


@pytest.mark.parametrize(
    "window",
    [
        {"until": lambda total, old: total.size - old.size >= 7},
        {"until": "size > 7", "slide": 2},
        {"until": Adwin("w * 2", delta=0.5), "slide": 2},
        {"on": "v > 2", "slide": 3},
    ],
    ids=["a function", "a text", "adwin", "punctuation"],
)
def test_policies(frame: DataFrame, window: dict[str, Any]) -> None:
    query = sliding(partition_by="key", order_by="t", size=Sum("w"), all=Collect("v"), **window)
    alike(frame.transform(query).toArrow(), query(table()), ["key", "t"])


@pytest.mark.parametrize(
    "window", [{"rows": 3}, {"range": 9}, {"range": 10, "slide": 4}, {"rows": 4, "slide": 2}],
    ids=label,
)  # fmt: skip
def test_where_having_and_istream(frame: DataFrame, window: dict[str, Any]) -> None:
    """Also expressions inside aggregations, and `having` that speaks of rows and answers."""
    query = sliding(
        partition_by="key", order_by="t", where="w > 0.5 AND name <> 'y'", emit="istream",
        having="high IS NOT NULL AND n > 1", high=Max("v * 2"), n=Count(), s=Sum("ABS(v) + w"),
        **window,
    )  # fmt: skip
    made = frame.transform(query).toArrow()
    wanted = query(table())
    assert 0 < wanted.num_rows < 150
    alike(made, wanted, by(made))
