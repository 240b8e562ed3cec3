"""pandas, Polars and Arrow frames: the same kind out, and their own windows agree."""

from __future__ import annotations

import datetime
import decimal
import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from windrow import (
    ArgMax,
    Collect,
    Concat,
    Count,
    First,
    LongestRun,
    Max,
    Mean,
    Min,
    Range,
    Sum,
    sliding,
    sql,
)
from windrow.errors import InvalidArgument, InvalidValue

RNG = np.random.default_rng(7)
QUERY = sliding(
    partition_by="key", order_by="ts", range="1 hour", peak=Max("load"), mean=Mean("load"),
    worst=ArgMax("load", "ts"),
)  # fmt: skip


def readings(n: int = 500, keys: int = 7) -> pd.DataFrame:
    """Unsorted readings with ties, gaps and missing loads."""
    start = pd.Timestamp("2026-01-01")
    at = start + pd.to_timedelta(RNG.integers(0, 6 * 3600, n) // 60 * 60, unit="s")
    load = RNG.normal(100, 20, n).round(2)
    load[RNG.random(n) < 0.1] = np.nan
    return pd.DataFrame({"key": RNG.integers(0, keys, n), "ts": at, "load": load})


def test_every_kind_of_frame_gives_its_own_kind() -> None:
    frame = readings()
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    polars = pl.from_arrow(arrow)
    made = QUERY(frame)
    assert isinstance(made, pd.DataFrame)
    assert isinstance(QUERY(polars), pl.DataFrame)
    assert isinstance(QUERY(arrow), pa.Table)
    assert isinstance(QUERY(arrow.to_batches()[0]), pa.RecordBatch)
    assert (
        QUERY(arrow)
        .to_pandas()
        .equals(pa.Table.from_pandas(made, preserve_index=False).to_pandas())
    )
    assert QUERY(polars).equals(pl.from_arrow(QUERY(arrow)))


def test_the_frame_is_left_as_it_was() -> None:
    frame = readings()
    before = frame.copy()
    QUERY(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_pandas_own_windows_agree() -> None:
    frame = readings()
    made = QUERY(frame)
    ordered = frame.sort_values("ts", kind="stable").set_index("ts")
    groups = ordered.groupby("key")["load"].rolling("1h", closed="both", min_periods=1)
    for name, theirs in (("peak", groups.max()), ("mean", groups.mean())):
        # of rows of equal time, pandas lets the earlier ones not see the later: take the last
        last = theirs.groupby(level=[0, 1]).last()
        wanted = last.reindex(pd.MultiIndex.from_frame(made[["key", "ts"]])).to_numpy()
        np.testing.assert_allclose(made[name].to_numpy(), wanted, rtol=1e-12)


def test_polars_own_windows_agree() -> None:
    frame = pl.from_pandas(readings()).with_columns(pl.col("load").fill_nan(None))
    query = sliding(
        partition_by="key", order_by="ts", range="1 hour", closed="right", peak=Max("load"),
        low=Min("load"), total=Sum("load"),
    )  # fmt: skip
    made = query(frame)
    theirs = (
        frame.with_row_index("i")
        .sort("ts", maintain_order=True)
        .with_columns(
            pl.col("load").rolling_max_by("ts", "1h", closed="right").over("key").alias("peak"),
            pl.col("load").rolling_min_by("ts", "1h", closed="right").over("key").alias("low"),
            pl.col("load").rolling_sum_by("ts", "1h", closed="right").over("key").alias("total"),
        )
        .sort("i")
    )
    assert made["peak"].to_list() == theirs["peak"].to_list()
    assert made["low"].to_list() == theirs["low"].to_list()
    ours, sums = made["total"].to_numpy(), theirs["total"].to_numpy()
    np.testing.assert_allclose(np.nan_to_num(ours), np.nan_to_num(sums), atol=1e-9)


def test_what_rides_along_is_unharmed() -> None:
    arrow = pa.table(
        {
            "ts": pa.array([3, 1, 2], pa.timestamp("us", "Europe/Berlin")),
            "key": pa.array(["a", "a", None]).dictionary_encode(),
            "price": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("3.30")]),
            "day": pa.array([datetime.date(2026, 1, 1)] * 3),
            "tags": pa.array([[1, 2], None, []]),
            "where": pa.array([{"x": 1}, None, {"x": 3}]),
            "v": pa.array([1, 2, 3], pa.int16()),
        }
    )
    query = sliding(
        partition_by="key", order_by="ts", rows=2, n=Count(), top=Max("price"), total=Sum("price"),
        mean=Mean("price"), first_tags=First("tags"), when=ArgMax("v", "ts"), last_day=Max("day"),
        small=Max("v"),
    )  # fmt: skip
    made = query(arrow)
    assert made.select(arrow.column_names).equals(arrow)
    assert made.column("top").to_pylist() == [
        decimal.Decimal("1.10"),
        None,
        decimal.Decimal("3.30"),
    ]
    assert made.column("total").type == pa.decimal128(13, 2)
    assert made.column("mean").to_pylist()[2] == decimal.Decimal("3.300000")
    assert made.column("when").type == pa.timestamp("us", "Europe/Berlin")
    assert made.column("first_tags").to_pylist() == [[1, 2], None, []]
    assert made.column("small").type == pa.int16()
    polars = query(pl.from_arrow(arrow))
    assert polars.select(arrow.column_names).equals(pl.from_arrow(arrow))


def test_pandas_index_categories_and_zones_ride_along() -> None:
    frame = pd.DataFrame(
        {
            "key": pd.Categorical(["b", "a", "b"]),
            "ts": pd.to_datetime([30, 20, 10], unit="s").tz_localize("Europe/Berlin"),
            "v": pd.array([1, None, 3], "Int64"),
            "thing": [object(), object(), object()],
        },
        index=[7, 8, 9],
    )
    made = sliding(partition_by="key", order_by="ts", range="1 min", high=Max("v"))(frame)
    pd.testing.assert_frame_equal(made[["key", "ts", "v", "thing"]], frame)
    assert made["high"].tolist() == [3, pd.NA, 3]
    assert made["high"].dtype == "Int64"


@pytest.mark.parametrize("empty", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("window", [{"rows": 3}, {"range": 4}, {"range": 4, "slide": 2}], ids=str)
def test_frames_without_rows(empty: Any, window: dict[str, Any]) -> None:
    columns = {"t": np.empty(0, np.int64), "v": np.empty(0, np.float64)}
    made = sliding(order_by="t", **window, high=Max("v"), n=Count())(empty(columns))
    assert len(made) == 0
    assert "high" in list(made.columns if not isinstance(made, pa.Table) else made.column_names)


def test_the_index_of_hopping_windows_is_new() -> None:
    made = sliding(order_by="t", range=2, slide=1, s=Sum("v"))(
        pd.DataFrame({"t": [0, 1], "v": [1, 2]}, index=[5, 6])
    )
    assert made.index.tolist() == [0, 1, 2]
    assert made.to_dict("list") == {
        "window_start": [-1, 0, 1],
        "window_end": [1, 2, 3],
        "s": [1, 3, 2],
    }


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize(
    "window",
    [
        {"rows": 2},
        {"range": "1 hour"},
        {"range": 3},
        {"delta": 2},
        {"range": "1 hour", "slide": "1 hour"},
        {"range": 2, "slide": 1},
    ],
)
def test_a_column_of_nothing_but_nulls_goes_with_everything(window: dict[str, Any], n: int) -> None:
    """As an empty frame of pandas has it, whose columns of objects have no type."""
    frame = pd.DataFrame({name: [None] * n for name in "ktvs"}, dtype=object)
    asked = {
        "high": Max("v"),
        "sum": Sum("v * 2"),
        "mean": Mean("v"),
        "rows": Count(),
        "range": Range("v"),
        "text": Concat("s"),
        "all": Collect("s"),
        "which": ArgMax("v", "s"),
    }
    query = sliding(asked, partition_by="k", order_by="t", where="s IS NULL", **window)
    for given in (frame, pl.DataFrame({name: [None] * n for name in "ktvs"})):
        made = query(given)
        assert len(made) == (n if "slide" not in window else 0)
        assert set(asked) <= set(made.columns)


def test_a_column_of_mixed_values_is_refused_by_its_name() -> None:
    frame = pd.DataFrame({"v": [1, "a"]}, dtype=object)
    with pytest.raises(InvalidValue, match="the column 'v' has values of no one type"):
        sliding(rows=2, high=Max("v"))(frame)


@pytest.mark.parametrize(
    "size", [{"rows": (-1, 1)}, {"rows": [2, 3]}, {"range": 2, "slide": 2}], ids=str
)
def test_a_lazy_frame_stays_lazy(size: Any) -> None:
    frame = pl.DataFrame(
        {"key": ["b", "a", "b", "b"], "t": [3, 1, 0, 2], "v": [1.5, 2.5, None, 4.0]}
    )
    query = sliding(partition_by="key", order_by="t", **size, n=Count(), m=Max("v"))
    later = query(frame.lazy())
    assert isinstance(later, pl.LazyFrame)
    assert later.collect_schema() == query(frame).schema
    assert later.collect().equals(query(frame))
    chosen = later.filter(pl.col("key") == "b").head(1).collect()
    assert chosen.equals(query(frame).filter(pl.col("key") == "b").head(1))
    with pytest.raises(InvalidArgument, match="no column"):
        sliding(rows=2, m=Max("w"))(frame.lazy())


def test_a_lazy_frame_is_explained() -> None:
    frame = pl.LazyFrame({"v": ["a", "b"]})
    assert "maxima" in sliding(rows=2, m=Max("v")).explain(frame)


class Readings(pd.DataFrame):
    """A frame of a library that builds on pandas."""

    @property
    def _constructor(self) -> Any:
        return Readings


SHAPES = {
    "plain": lambda f: f,
    "wide": lambda f: f.assign(**{f"c{i}": i for i in range(20)}),
    "named columns": lambda f: f.rename_axis(columns="what"),
    "subclass": Readings,
    "slice": lambda f: f.iloc[::2],
    "equal labels": lambda f: f.set_index(np.zeros(len(f), np.int64)),
    "nullable": lambda f: f.convert_dtypes(),
    "arrow": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "objects": lambda f: f.assign(thing=[object() for _ in range(len(f))]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "parts",
    [{"peak": Max("load"), "n": Count(), "at": ArgMax("load", "ts")}, {"all": Collect("load")}],
    ids=["numbers", "lists"],
)
def test_pandas_frames_of_every_shape_keep_it(shape: str, parts: Any) -> None:
    frame = SHAPES[shape](readings(200))
    frame.attrs["of"] = "plugs"
    before = frame.copy()
    query = sliding(parts, partition_by="key", order_by="ts", rows=3)
    made = query(frame)
    table = pa.table({n: pa.array(frame[n], from_pandas=True) for n in ("key", "ts", "load")})
    assert type(made) is type(frame)
    assert made.attrs == frame.attrs
    pd.testing.assert_frame_equal(made[list(frame.columns)], before)
    pd.testing.assert_index_equal(made.columns[: frame.shape[1]], frame.columns)
    for name in parts:
        ours = pa.array(made[name], from_pandas=True).to_pylist()
        assert ours == query(table).column(name).to_pylist()
        made.isetitem(made.columns.get_loc(name), made[name].iloc[::-1].to_numpy())
    pd.testing.assert_frame_equal(frame, before)


# whether pandas copies what is written to: pandas 3 always does
OPTIONS: list[tuple[str, Any]] = [("display.width", 80)]  # pandas takes one at least
if pd.__version__ < "3":
    OPTIONS = [("mode.copy_on_write", False), ("mode.copy_on_write", True)]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", [None, "columns"])
def test_a_frame_and_its_result_are_written_to_apart(
    option: tuple[str, Any], name: str | None
) -> None:
    with pd.option_context(*option):
        frame = pd.DataFrame({"k": list("aab"), "v": [1.0, 2.0, 3.0]})
        frame.columns.name = name
        statement = "SELECT k, v, SUM(v) OVER (ROWS 1 PRECEDING) AS s FROM frame"
        for result in (sliding(rows=2, s=Sum("v"))(frame), sql(statement, frame=frame)):
            result.loc[:, "v"] = 9.0
            result.iloc[0, 0] = "z"
        assert frame["v"].tolist() == [1, 2, 3] and frame["k"].tolist() == ["a", "a", "b"]
        result = sliding(rows=2, s=Sum("v"))(frame)
        frame.loc[:, "v"] = 0.0
        assert result["v"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("rows", [3, 300_000])  # copied at once, and in pieces by threads
@pytest.mark.parametrize("option", OPTIONS)
def test_columns_of_every_kind_ride_along_and_are_written_to_apart(
    option: tuple[str, Any], rows: int
) -> None:
    numbers = RNG.normal(size=(rows, 3))
    frame = pd.DataFrame(numbers, columns=["v", "w", "x"], index=np.arange(rows) * 2)  # strided
    frame["small"] = np.arange(rows, dtype=np.int8)
    frame["ts"] = pd.date_range("2026-01-01", periods=rows, freq="s", unit="us")
    frame["zone"] = frame["ts"].dt.tz_localize("Europe/Berlin")
    frame["true"] = numbers[:, 0] > 0
    frame["some"] = pd.array([1, None, *range(rows - 2)], "Int32")
    frame["of"] = pd.Series(["a", "b", *"c" * (rows - 2)], frame.index, "category")
    frame["object"] = pd.Series([pd.Timestamp("2026-01-01")] * rows, frame.index, object)
    before = frame.copy()
    with pd.option_context(*option):
        made = sliding(order_by="ts", rows=2, high=Max("v"))(frame)
        pd.testing.assert_frame_equal(made[before.columns], before)
        high = np.maximum(numbers[:, 0], np.roll(numbers[:, 0], 1))
        assert made["high"].tolist()[1:] == high[1:].tolist()
        for name in made.columns[:-1]:
            made.loc[::2, name] = made[name].iloc[-2]
        pd.testing.assert_frame_equal(frame, before)
        made = sliding(order_by="ts", rows=2, high=Max("v"))(frame)
        for name in before.columns:
            frame.loc[:, name] = frame[name].iloc[-2]
        pd.testing.assert_frame_equal(made[before.columns], before)


def test_results_can_be_written_to() -> None:
    made = sliding(order_by="ts", rows=3, peak=Max("load"), at=ArgMax("load", "ts"))(readings())
    made.loc[:, "peak"] = 0.0
    made.loc[0, "at"] = pd.Timestamp("2026-01-01")
    assert made["peak"].sum() == 0
    assert made["at"][0] == pd.Timestamp("2026-01-01")
    windows = sliding(order_by="ts", range="1 hour", slide="1 hour", n=Count())(readings())
    windows.loc[:, "n"] = 1
    assert set(windows["n"]) == {1}


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_runs_in_pandas_have_times_and_whole_lengths(unit: str) -> None:
    times = pd.to_datetime(["2026-01-01 10:00", "2026-01-01 10:05", "2026-01-01 10:20"])
    frame = pd.DataFrame({"ts": times.as_unit(unit), "load": [None, 1.0, 2.0]})
    made = sliding(order_by="ts", rows=2, run=LongestRun("load", "ts"))(frame)["run"]
    assert made[0] is None
    assert made[2] == {
        "start": times[1], "end": times[2], "length": 2, "span": pd.Timedelta("15min")
    }  # fmt: skip
    assert isinstance(made[2]["length"], int)


def test_results_of_the_same_aggregation_are_written_to_one_by_one() -> None:
    query = sliding(order_by="ts", rows=3, a=Sum("load"), b=Sum("load"), mean=Mean("load"))
    made = query(readings())
    before = made.copy()
    made.loc[:, "a"] = -1.0
    pd.testing.assert_series_equal(made["b"], before["b"])
    pd.testing.assert_series_equal(made["mean"], before["mean"])


def test_a_query_meets_a_schema_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from windrow.tables import bind

    met = []
    real = bind.bind
    monkeypatch.setattr(bind, "bind", lambda *given: met.append(given) or real(*given))
    query = sliding(rows=3, peak=Max("load"))
    again = sliding(rows=3, peak=Max("load"))
    polars = pl.from_pandas(readings())
    for frame in (readings(), readings(), polars, polars, polars.lazy(), polars.lazy()):
        query(frame)
    assert len(met) == 1  # for the schema is the same
    again(polars)
    assert len(met) == 2
    whole = readings().assign(load=1)
    assert query(whole)["peak"].dtype == np.int64
    assert len(met) == 3


def test_schemas_that_are_kept_are_few() -> None:
    from windrow.tables import bind

    query = sliding(rows=2, n=Count())
    for i in range(200):
        query(pa.table({f"c{i}": [1]}))
        sliding(rows=2, n=Count())(pa.table({"c": [1]}))
    assert len(bind._bound) <= bind._QUERIES
    assert all(len(known) <= bind._SCHEMAS for _, known in bind._bound.values())


def test_one_query_over_frames_of_other_types_in_turns() -> None:
    """What is kept for one schema is not what another one gets, in several threads either."""
    query = sliding(order_by="t", range="2 s", peak=Max("v"), when=ArgMax("v", "t"))
    zones, units = (None, "UTC", "Asia/Tokyo"), ("s", "ms", "us", "ns")
    values = ([3, 1, 2], [3.5, None, 2.5], ["c", "a", "b"])
    tables = []
    for zone, unit, column in itertools.product(zones, units, values):
        times = pa.array([1, 2, 5], pa.timestamp("s")).cast(pa.timestamp(unit, zone))
        tables.append(pa.table({"t": times, "v": column}))
        categories = pa.array(column).dictionary_encode()
        tables.append(pa.table({"t": times, "v": categories, "more": [1, 2, 3]}))

    def run(table: pa.Table) -> None:
        made = query(table)
        assert made.column("when").type == table.schema.field("t").type
        assert made.column_names == [*table.column_names, "peak", "when"]
        seconds = made.column("when").cast(pa.timestamp("s")).cast(pa.int64()).to_pylist()
        first, _, last = table.column("v").to_pylist()
        assert made.column("peak").to_pylist() == [first, first, last]
        assert seconds == [1, 1, 5]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, tables * 5))


def test_a_query_is_pickled_after_it_has_run() -> None:
    from windrow.tables import bind

    query = sliding(order_by="ts", rows=3, peak=Max("load"))
    frame = readings()
    before = query(frame)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(query))(frame), before)
    bound = bind._bound[id(query)][1][0][2]
    (plan,) = pickle.loads(pickle.dumps(bound.plan.results))
    assert plan == bound.plan.results[0] and plan.route() == bound.plan.results[0].route()


_TIMES = np.datetime64("2026-01-05", "us") + np.arange(6).astype("m8[h]")


@pytest.mark.parametrize("nulls", [False, True], ids=["", "nulls"])
@pytest.mark.parametrize(
    "kind",
    [
        *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
        *(pl.Float32, pl.Float64, pl.Boolean, pl.Decimal(9, 2), pl.Date),
        *(pl.Datetime("ms"), pl.Datetime("us", "Europe/Berlin"), pl.Datetime("ns")),
        *(pl.Duration("ms"), pl.Duration("ns")),
    ],
    ids=str,
)
def test_every_type_of_polars_is_that_of_arrow(kind: Any, nulls: bool) -> None:
    numbers = pl.Series([3, 1, 2, 5, 4, 0])
    column = (numbers > 2) if kind == pl.Boolean else numbers.cast(kind)
    if nulls:
        column = column.set(pl.Series([False, True, False, False, True, False]), None)
    frame = pl.DataFrame({"ts": _TIMES, "load": column})
    pieces = pl.concat([frame[:2], frame[2:]], rechunk=False)
    query = sliding(order_by="ts", rows=3, peak=Max("load"), first=First("load"), n=Count("load"))
    results = query(frame.to_arrow())
    assert query(frame).equals(pl.from_arrow(results))
    assert query(pieces).equals(pl.from_arrow(results))
    assert query(frame[1:]).equals(pl.from_arrow(query(frame[1:].to_arrow())))
    assert query(frame)["peak"].dtype == kind


def test_a_system_that_says_nothing_of_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pa.table({"load": [3, 1, 2]})
    query = sliding(rows=2, peak=Max("load"))
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert query(arrow)["peak"].to_pylist() == [3, 3, 2]


def test_results_carry_no_metadata_of_the_frame() -> None:
    fields = [
        pa.field("ts", pa.int64(), nullable=False),
        pa.field("load", pa.float64(), metadata={"unit": "W"}),
    ]
    query = sliding(order_by="ts", rows=2, peak=Max("load"))
    for schema in (
        pa.schema(fields),
        pa.schema([("ts", pa.int64()), ("load", pa.float64())], metadata={"of": "me"}),
        pa.schema([("ts", pa.int64()), ("load", pa.float64())]),
    ):
        result = query(pa.table({"ts": [1, 2, 3], "load": [3.0, 1.0, 2.0]}, schema=schema))
        plain = pa.schema([("ts", pa.int64()), ("load", pa.float64()), ("peak", pa.float64())])
        assert result.schema.equals(plain, check_metadata=True)
        assert result["peak"].to_pylist() == [3.0, 3.0, 2.0]
