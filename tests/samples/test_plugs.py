"""The made-up readings look like readings: sorted, seeded, with rhythm, bursts, gaps, lateness."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import InvalidArgument
from windrow.samples.plugs import COLUMNS, in_arrival_order, readings


def micros(table: pa.Table) -> np.ndarray:
    return table.column("ts").cast(pa.int64()).to_numpy()


@pytest.fixture(scope="module")
def day() -> pa.Table:
    return readings(120_000, houses=4)


@given(rows=st.integers(0, 3000), seed=st.integers(0, 5), houses=st.integers(1, 30))
@settings(max_examples=30)
def test_there_are_as_many_rows_as_asked_for_in_order(rows: int, seed: int, houses: int) -> None:
    table = readings(rows, seed=seed, houses=houses)
    assert table.num_rows == rows
    assert table.column_names == list(COLUMNS)
    assert (np.diff(micros(table)) >= 0).all()
    assert not any(column.null_count for column in table.columns)
    assert table.equals(readings(rows, seed=seed, houses=houses))


def test_another_seed_gives_other_rows() -> None:
    assert not readings(100).equals(readings(100, seed=8))


def test_ids_nest(day: pa.Table) -> None:
    for inner, outer in (("plug_id", "household_id"), ("household_id", "house_id")):
        pairs = day.group_by([inner, outer]).aggregate([]).num_rows
        assert pairs == len(pc.unique(day.column(inner)))
    assert len(pc.unique(day.column("house_id"))) == 4


def test_loads_follow_the_day_and_burst(day: pa.Table) -> None:
    hour = micros(day) // 3_600_000_000 % 24
    load = day.column("load").to_numpy()
    assert load.min() >= 0
    median = {at: np.median(load[hour == at]) for at in (3, 8, 19)}
    assert median[19] > median[8] > median[3]
    assert load.max() > 10 * np.median(load)


def test_plugs_fall_silent_now_and_then(day: pa.Table) -> None:
    plug, time = day.column("plug_id").to_numpy(), micros(day)
    steps = np.concatenate([np.diff(time[plug == p]) for p in np.unique(plug)]) / 1e6
    assert 28 < np.median(steps) < 32
    assert steps.max() > 20 * 60


@given(
    minutes=st.integers(1, 120),
    late=st.floats(0, 1),
    seed=st.integers(0, 3),
)
@settings(max_examples=30)
def test_none_is_later_than_allowed_unless_it_is_lost(minutes: int, late: float, seed: int) -> None:
    table = readings(4000, houses=2)
    arrived = in_arrival_order(table, lateness=f"{minutes} minutes", late=late, lost=0, seed=seed)
    time = micros(arrived)
    assert (np.maximum.accumulate(time) - time <= minutes * 60e6).all()
    keys = [("ts", "ascending"), ("plug_id", "ascending")]
    assert arrived.sort_by(keys).equals(table.sort_by(keys))


def test_some_are_late_and_a_few_are_lost(day: pa.Table) -> None:
    time = micros(in_arrival_order(day))
    behind = np.maximum.accumulate(time) - time
    assert 0.01 < (behind > 5e6).mean() < 0.03
    assert 0.0001 < (behind > 600e6).mean() < 0.001


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: readings(-1), "rows must be 0 or more"),
        (lambda: readings(10, houses=0), "houses must be 1 or more"),
        (lambda: readings(10, every="soon"), "every"),
        (lambda: in_arrival_order(readings(10), late=1.5), "late=1.5"),
        (lambda: in_arrival_order(readings(10), lateness="x"), "lateness"),
    ],
)
def test_mistakes_name_the_argument(call: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()  # type: ignore[operator]
