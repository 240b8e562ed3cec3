"""The index of pandas: its levels are keys and order, and it stays on the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import windrow.pandas  # noqa: F401 (it gives frames `frame.windrow`)
from windrow import ArgMax, Collect, Count, Max, Mean, sliding, sql
from windrow.errors import InvalidArgument

RNG = np.random.default_rng(5)
PARTS = {
    "n": Count(),
    "peak": Max("load"),
    "mean": Mean("load"),
    "worst": ArgMax("load", "ts"),
    "all": Collect("count"),
}
WINDOWS: dict[str, dict[str, Any]] = {
    "rows": {"rows": 4},
    "range": {"range": "30 min"},
    "around": {"range": ("-10 min", "10 min")},
    "where": {"rows": 4, "where": "count > 3"},
    "counted": {"rows": 6, "slide": 2},
}


def flat(zone: str | None = None, rows: int = 200) -> pd.DataFrame:
    """Readings, unsorted, with ties and missing loads; all in columns."""
    start = pd.Timestamp("2026-01-05", tz=zone)
    load = RNG.normal(100, 20, rows).round(1)
    load[RNG.random(rows) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "plug": RNG.choice(["a", "b", "c"], rows),
            "ts": start + pd.to_timedelta(RNG.integers(0, 300, rows), unit="min"),
            "load": load,
            "count": RNG.integers(0, 9, rows).astype("int16"),
        }
    )


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("levels", [["ts"], ["plug"], ["plug", "ts"], ["ts", "plug"]], ids=str)
def test_levels_are_what_columns_are(levels: list[str], window: str, zone: str | None) -> None:
    frame = flat(zone)
    query = sliding(PARTS, partition_by="plug", order_by="ts", **WINDOWS[window])
    wanted = query(frame).set_index(levels)
    indexed = frame.set_index(levels)
    made = query(indexed)
    pd.testing.assert_frame_equal(made, wanted)
    pd.testing.assert_frame_equal(indexed, frame.set_index(levels))


@pytest.mark.parametrize("levels", [["ts"], ["plug"], ["plug", "ts"]], ids=str)
def test_keys_of_hopping_windows_stay_in_the_index(levels: list[str]) -> None:
    frame = flat()
    query = sliding(PARTS, partition_by="plug", order_by="ts", range="30 min", slide="10 min")
    wanted = query(frame)
    if "plug" in levels:
        wanted = wanted.set_index("plug")
    pd.testing.assert_frame_equal(query(frame.set_index(levels)), wanted)


def test_an_index_of_times_is_the_order() -> None:
    frame = flat().sort_values("ts", kind="stable")
    indexed = frame.set_index("ts")
    named = sliding(order_by="ts", range="30 min", peak=Max("load"))(frame)["peak"]
    unnamed = sliding(range="30 min", peak=Max("load"))
    for given in (indexed, indexed.rename_axis(None)):
        made = unnamed(given)
        assert made["peak"].tolist() == pytest.approx(named.tolist(), nan_ok=True)
        pd.testing.assert_index_equal(made.index, given.index)
    # windows of pandas see those of equal time that stand above them only: take the last of them
    theirs = indexed["load"].rolling("30min", closed="both", min_periods=1).max()
    wanted = theirs.groupby(level=0).transform("last")
    np.testing.assert_array_equal(unnamed(indexed)["peak"], wanted)


def test_an_index_without_a_name_is_called_as_by_reset_index() -> None:
    indexed = flat().set_index("ts").rename_axis(None)
    made = sliding(order_by="index", rows=3, at=ArgMax("load", "index"))(indexed)
    again = sliding(order_by="index", rows=3, at=ArgMax("load", "index"))(indexed.reset_index())
    assert made["at"].tolist() == again["at"].tolist()
    levels = flat().set_index(["plug", "ts"]).rename_axis([None, None])
    made = sliding(order_by="level_1", range="30 min", peak=Max("load"))(levels)
    pd.testing.assert_index_equal(made.index, levels.index)


def test_an_index_of_times_comes_before_a_column_of_times() -> None:
    frame = flat()
    frame["seen"] = frame["ts"].iloc[::-1].to_numpy()
    made = sliding(range="30 min", n=Count())(frame.set_index("ts"))
    assert (
        made["n"].tolist() == sliding(order_by="ts", range="30 min", n=Count())(frame)["n"].tolist()
    )


def test_rows_are_taken_as_they_stand_where_no_order_is_named() -> None:
    indexed = flat().set_index("ts")
    made = sliding(rows=3, peak=Max("load"))(indexed)
    wanted = indexed["load"].rolling(3, min_periods=1).max()
    np.testing.assert_array_equal(made["peak"], wanted)


def test_a_column_comes_before_a_level_of_the_same_name() -> None:
    frame = flat()
    both = frame.set_index("ts", drop=False)
    made = sliding(order_by="ts", range="30 min", peak=Max("load"))(both)
    wanted = sliding(order_by="ts", range="30 min", peak=Max("load"))(frame)
    np.testing.assert_array_equal(made["peak"], wanted["peak"])


def test_without_an_order_the_error_says_what_to_name() -> None:
    with pytest.raises(InvalidArgument, match=r"range='1 hour' measures along a column.*order_by"):
        sliding(range="1 hour", n=Count())(pd.DataFrame({"load": [1.0]}))
    two = flat().assign(seen=pd.Timestamp("2026-01-01"))
    with pytest.raises(InvalidArgument, match="the frame has ts, seen"):
        sliding(range="1 hour", n=Count())(two)


def test_a_result_cannot_have_the_name_of_a_level() -> None:
    with pytest.raises(InvalidArgument, match="already has a column 'plug'"):
        sliding(rows=2, plug=Count())(flat().set_index("plug"))


def test_missing_keys_of_a_level_are_a_key() -> None:
    index = pd.MultiIndex.from_tuples([("a", 1), (None, 2), ("a", 3), (None, 4)], names=["k", "t"])
    frame = pd.DataFrame({"v": [1, 2, 3, 4]}, index=index)
    made = sliding(partition_by="k", order_by="t", rows=2, n=Count())(frame)
    assert made["n"].tolist() == [1, 1, 2, 2]
    pd.testing.assert_index_equal(made.index, index)


def test_statements_name_levels_and_keep_the_index() -> None:
    indexed = flat().set_index(["plug", "ts"])
    over = "OVER (PARTITION BY plug ORDER BY ts, count, load ROWS 3 PRECEDING)"
    made = sql(f"SELECT *, MAX(load) {over} AS peak FROM plugs", plugs=indexed)
    flat_made = sql(f"SELECT *, MAX(load) {over} AS peak FROM plugs", plugs=indexed.reset_index())
    pd.testing.assert_frame_equal(made, flat_made.set_index(["plug", "ts"]))
    renamed = sql(f"SELECT ts AS time, COUNT(*) {over} AS n FROM plugs", plugs=indexed)
    assert renamed["time"].tolist() == indexed.index.get_level_values("ts").tolist()


@pytest.mark.parametrize("levels", [[], ["ts"], ["plug", "ts"]], ids=str)
def test_the_accessor_is_the_plain_call(levels: list[str]) -> None:
    frame = flat().set_index(levels) if levels else flat()
    made = frame.windrow.sliding(PARTS, partition_by="plug", order_by="ts", range="30 min")
    query = sliding(PARTS, partition_by="plug", order_by="ts", range="30 min")
    pd.testing.assert_frame_equal(made, query(frame))
    pd.testing.assert_index_equal(made.index, frame.index)
