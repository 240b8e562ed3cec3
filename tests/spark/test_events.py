"""`windrow-events`: rows are a function of their position, so any reading of them is the same."""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from windrow.aggregations.hashing import GAMMA, mix64
from windrow.errors import InvalidArgument
from windrow.spark import events as module
from windrow.spark.events import Events, register_events
from windrow.spark.events_recipe import SECOND, Recipe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = 86_400 * SECOND
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

recipes = st.builds(
    Recipe,
    rate=st.integers(1, 10**7),
    keys=st.integers(1, 2**32 - 1),
    start=st.integers(-DAY, DAY),
    seed=st.integers(0, 2**64 - 1),
    disorder=st.integers(0, 10**9),
    late=st.just(0.0) | st.floats(0, 1, exclude_max=True),
    late_by=st.integers(1, 10**9),
    bursts=st.just(0) | st.integers(10, 10**9),
    burst_share=st.floats(0.05, 0.95),
)
positions = st.integers(0, 10**12)


@given(recipes, positions, st.lists(st.integers(0, 200), max_size=6))
def test_any_cut_gives_the_same_rows(recipe: Recipe, first: int, cuts: list[int]) -> None:
    whole = recipe.batch(first, first + 200)
    edges = sorted({0, 200, *cuts})
    pieces = [recipe.batch(first + a, first + b) for a, b in itertools.pairwise(edges)]
    assert pa.Table.from_batches(pieces) == pa.Table.from_batches([whole]).combine_chunks()


def test_long_stretches_come_in_batches() -> None:
    recipe = Recipe(rate=1000)
    made = pa.Table.from_batches(recipe.batches(3, 200_000))
    assert made.column("id").to_pylist() == list(range(3, 200_000))
    assert made.num_rows > max(batch.num_rows for batch in recipe.batches(3, 200_000))


@given(st.integers(0, 2**64 - 1), positions)
def test_random_bits_are_those_of_splitmix64(seed: int, position: int) -> None:
    made = Recipe(seed=seed)._bits(1, np.array([position]))
    state = mix64(mix64(seed) ^ 1) + (position - 1) * GAMMA  # mix64 adds one step itself
    assert int(made[0]) == mix64(state & (2**64 - 1))


@given(recipes, st.integers(0, 10**13))
def test_rows_before_a_moment_are_those_that_the_clock_has_before_it(
    recipe: Recipe, elapsed: int
) -> None:
    rows = recipe.rows_before(elapsed)
    around = recipe.clock(np.arange(max(0, rows - 3), rows + 3))
    assert (np.diff(around) >= 0).all()
    assert int(recipe.clock(np.array([rows]))[0]) >= elapsed
    assert rows == 0 or int(recipe.clock(np.array([rows - 1]))[0]) < elapsed


@pytest.mark.parametrize("bursts", [0, 2 * SECOND, 10 * SECOND])
def test_the_rate_holds(bursts: int) -> None:
    recipe = Recipe(rate=700, bursts=bursts)
    for seconds in (0, 10, 20, 3600):
        assert recipe.rows_before(seconds * SECOND) == 700 * seconds


def test_bursts_bring_their_share_of_the_rows_in_a_tenth_of_the_time() -> None:
    recipe = Recipe(rate=1000, bursts=10 * SECOND, burst_share=0.75)
    for begin in (0, 10, 20):
        before = recipe.rows_before(begin * SECOND)
        assert recipe.rows_before((begin + 1) * SECOND) - before == pytest.approx(7500, abs=2)


def columns(recipe: Recipe, rows: int) -> tuple[Any, Any]:
    """Times, and how far each lies behind its arrival."""
    ts = np.array(recipe.batch(0, rows).column("ts").cast(pa.int64()))
    return ts, recipe.start + recipe.clock(np.arange(rows)) - ts


@given(recipes)
def test_no_row_lies_farther_behind_than_the_disorder(recipe: Recipe) -> None:
    ordered = Recipe(**{**vars(recipe), "late": 0.0})
    ts, behind = columns(ordered, 500)
    assert behind.min() >= 0
    assert (np.maximum.accumulate(ts) - ts).max() <= recipe.disorder


def test_disorder_is_used_up() -> None:
    ts, behind = columns(Recipe(rate=1000, disorder=2 * SECOND), 50_000)
    assert behind.max() > 1.99 * SECOND
    assert behind.mean() == pytest.approx(SECOND, rel=0.02)
    assert (np.diff(ts) < 0).mean() > 0.4


@pytest.mark.parametrize("disorder", [0, 3 * SECOND])
def test_late_rows_are_as_many_and_as_late_as_asked(disorder: int) -> None:
    recipe = Recipe(rate=1000, disorder=disorder, late=0.05, late_by=60 * SECOND)
    _, behind = columns(recipe, 100_000)
    late = behind > disorder
    assert late.mean() == pytest.approx(0.05, abs=0.004)  # five sigmas
    assert behind[late].max() <= disorder + 60 * SECOND
    assert behind[late].mean() == pytest.approx(disorder + 30 * SECOND, rel=0.05)


def test_keys_are_even_and_sums_of_values_exact() -> None:
    made = Recipe(rate=1000, keys=10).batch(0, 50_000)
    counts = np.bincount(made.column("key").to_numpy())
    assert len(counts) == 10 and counts.min() > 4700 and counts.max() < 5300
    values = made.column("value").to_numpy()
    assert 0 <= values.min() < 5 and 95 < values.max() < 100
    assert values.sum() == values[::-1].cumsum()[-1] == sum(sorted(values.tolist()))


def test_seeds_differ() -> None:
    assert Recipe(seed=1).batch(0, 9) != Recipe(seed=2).batch(0, 9)
    assert Recipe(seed=1).fingerprint() != Recipe(seed=2).fingerprint()


class Clock:
    """What the reader takes for the time of day."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 10**15
        monkeypatch.setattr(module, "_now", lambda: self.now)


ALL = StructType(
    [
        StructField("key", LongType()),
        StructField("ts", TimestampType()),
        StructField("value", DoubleType()),
        StructField("id", LongType()),
    ]
)


def stream(**options: str) -> Any:
    source = Events(options)
    return source.streamReader(ALL)


def test_rows_come_due_at_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    reader = stream(rowsPerSecond="50")
    at = reader.initialOffset()
    assert at["position"] == 0 and reader.latestOffset(at, ReadAllAvailable()) == at
    for seconds in (3, 4, 10):
        clock.now = 10**15 + seconds * SECOND
        at = reader.latestOffset(at, ReadAllAvailable())
        assert at["position"] == 50 * seconds
    clock.now -= 5 * SECOND
    assert reader.latestOffset(at, ReadAllAvailable()) == at
    # another process goes on where this one was, an hour later, as fast as it is let
    clock.now = 10**15 + 3600 * SECOND
    again = stream(rowsPerSecond="50", maxRowsPerTrigger="1000", partitions="3")
    limit = again.getDefaultReadLimit()
    assert limit == ReadMaxRows(1000)
    after = again.latestOffset(at, limit)
    assert after["position"] == 1500
    assert again.reportLatestOffset()["position"] == 180_000
    pieces = again.partitions(at, after)
    assert [(piece.first, piece.last) for piece in pieces] == [
        (500, 833),
        (833, 1166),
        (1166, 1500),
    ]
    assert again.partitions(after, after) == []


def test_everything_is_available_now_and_then_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    reader = stream(numRows="2500", maxRowsPerTrigger="1000")
    reader.prepareForTriggerAvailableNow()
    at, seen = reader.initialOffset(), []
    for _ in range(4):
        at = reader.latestOffset(at, reader.getDefaultReadLimit())
        seen.append(at["position"])
    assert seen == [1000, 2000, 2500, 2500]
    with pytest.raises(InvalidArgument, match="give numRows or until"):
        stream().prepareForTriggerAvailableNow()


def test_until_is_the_time_of_the_first_row_that_does_not_come() -> None:
    source = Events({"rowsPerSecond": "10", "until": "2026-01-01T00:01:00Z"})
    assert source.total == 600


WRONG = [
    ({"rowPerSecond": "3"}, "no option 'rowPerSecond'; did you mean 'rowsPerSecond'"),
    ({"rowsPerSecond": "0"}, "rowsPerSecond must be a whole number from 1"),
    ({"keys": "many"}, "keys must be a whole number from 1, got 'many'"),
    ({"late": "1"}, "late must be a number from 0 up to 1, got '1'"),
    ({"late": "nan"}, "late must be a number from 0 up to 1"),
    ({"disorder": "1 parsec"}, "disorder='1 parsec'"),
    ({"start": "yesterday"}, "start must be a time like"),
    ({"numRows": "5", "until": "2027-01-01"}, "not both"),
    ({"partitions": "0"}, "partitions must be"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options_are_errors(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Events(options)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (StructField("ky", LongType()), "no column 'ky'; did you mean 'key'"),
        (StructField("key", IntegerType()), "key is bigint or string, not int"),
    ],
)
def test_wrong_schemas_are_errors(field: StructField, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Events({"numRows": "1"}).reader(StructType([field]))


OPTIONS: dict[str, Any] = {
    "rowsPerSecond": 2000,
    "keys": 7,
    "disorder": "3 seconds",
    "late": 0.01,
    "bursts": "2 seconds",
    "seed": 11,
    "numRows": 9000,
}


def loaded(reader: Any, **more: Any) -> DataFrame:
    frame: DataFrame = reader.format("windrow-events").options(**{**OPTIONS, **more}).load()
    return frame


def written(frame: DataFrame, where: Path) -> Any:
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(where / "log"))
    return writer.trigger(availableNow=True).start(str(where / "rows"))


def by_id(table: pa.Table) -> pa.Table:
    return table.sort_by("id").combine_chunks()


def test_a_table_has_the_rows_of_the_recipe(spark: SparkSession) -> None:
    register_events(spark)
    recipe = Events({name: str(value) for name, value in OPTIONS.items()}).recipe
    want = pa.Table.from_batches([recipe.batch(0, 9000)])
    frame = loaded(spark.read, partitions=3)
    assert by_id(frame.toArrow()).equals(want.cast(frame.toArrow().schema))
    text = loaded(spark.read.schema("id long, key string"))
    assert [*text.columns] == ["id", "key"]
    keys = [f"key-{key}" for key in want.column("key").to_pylist()]
    assert by_id(text.toArrow()).column("key").to_pylist() == keys
    with pytest.raises(AnalysisException, match="give numRows or until"):
        spark.read.format("windrow-events").load().count()


def test_a_stream_that_was_stopped_goes_on_and_gives_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    register_events(spark)
    first = written(loaded(spark.readStream, numRows=4000, partitions=2), tmp_path)
    assert first.awaitTermination(120)
    assert spark.read.parquet(str(tmp_path / "rows")).count() == 4000
    more = loaded(spark.readStream, maxRowsPerTrigger=2500)
    second = written(more, tmp_path)
    assert second.awaitTermination(120)
    assert max(p.numInputRows for p in second.recentProgress) <= 2500
    got = spark.read.parquet(str(tmp_path / "rows")).toArrow()
    assert by_id(got).equals(by_id(loaded(spark.read).toArrow()))

    other = written(loaded(spark.readStream, seed=12), tmp_path)
    with pytest.raises(StreamingQueryException, match="other options of windrow-events"):
        other.awaitTermination(120)
