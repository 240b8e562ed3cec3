"""Months, quarters, years, and the days and weeks of a time zone."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from windrow import Collect, Count, Max, MemoryStore, Sum, rolling, sliding, window
from windrow.cli.query import from_toml
from windrow.errors import InvalidArgument, InvalidValue
from windrow.kernels.rolling import RollingState
from windrow.windows.calendar import Calendar, clock_of, moved
from windrow.windows.durations import Interval, interval
from windrow.windows.sizes import Axis

UTC = dt.UTC
ZONES = ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia"]


def instants(n: int, seed: int, years: tuple[int, int] = (2009, 2028)) -> np.ndarray[Any, Any]:
    """Times in microseconds, many of them around changes of clocks and ends of months."""
    rng = np.random.default_rng(seed)
    months = rng.integers((years[0] - 1970) * 12, (years[1] - 1970) * 12, n)
    days = months.view("M8[M]").astype("M8[D]").astype("M8[us]").view(np.int64)
    days += rng.choice([0, 2, 24, 26, 27, 28, 29, 30], n) * 86_400_000_000
    quarters = rng.integers(0, 96, n) * 900_000_000
    return days + quarters + rng.choice([0, 0, 1, -1], n)


def oracle(micros: int, months: int, days: int, zone: ZoneInfo) -> int:
    """The same by Python's own datetimes."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=UTC)
    there = (epoch + dt.timedelta(microseconds=micros)).astimezone(zone)
    month = there.year * 12 + there.month - 1 + months
    year, month = divmod(month, 12)
    last = calendar.monthrange(year, month + 1)[1]
    wall = there.replace(tzinfo=None, year=year, month=month + 1, day=min(there.day, last))
    wall += dt.timedelta(days=days)
    found = [wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    real = [f for f in found if f.astimezone(zone).replace(tzinfo=None) == wall.replace(fold=0)]
    same = [f for f in real if f.astimezone(zone).utcoffset() == there.utcoffset()]
    return ((same or found)[0] - epoch) // dt.timedelta(microseconds=1)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("by", [(-1, 0), (1, 0), (0, -1), (0, 7), (-12, 0), (-1, -3), (3, 0)])
def test_times_move_as_pythons_clocks_do(zone: str, by: tuple[int, int]) -> None:
    at = instants(400, seed=sum(by) % 7)
    axis = Axis(1000, zoned=True)
    made, between = moved(at, Interval(*by), zone, axis)
    expected = [oracle(each, *by, ZoneInfo(zone)) for each in at.tolist()]
    assert made.tolist() == expected
    assert not between
    many, _ = moved(np.repeat(np.sort(at), 20), Interval(*by), zone, axis)
    assert many[::20].tolist() == [e for _, e in sorted(zip(at.tolist(), expected, strict=True))]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_times_move_as_in_duckdb(zone: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    at = instants(2000, seed=3)
    frame = pd.DataFrame({"t": at.view("M8[us]")}).assign(t=lambda f: f.t.dt.tz_localize("UTC"))
    con = duckdb.connect()
    con.execute(f"SET TimeZone = '{zone}'")
    for text in ("1 month", "1 day", "1 year", "3 months"):
        back = con.execute(f"SELECT epoch_us(t - INTERVAL {text}) FROM frame").fetchall()
        made, _ = moved(at, -interval(text, ""), zone, Axis(1000, zoned=True))
        theirs = np.array([each for (each,) in back])
        # of an hour that clocks show twice DuckDB takes the second always
        assert set(np.abs(theirs - made)[theirs != made].tolist()) <= {3_600_000_000}
        assert (theirs != made).mean() < 0.01
    assert frame.shape


def test_a_table_of_changes_is_that_of_the_zone() -> None:
    day = np.array([365 * 56])
    clock = clock_of("Europe/Berlin", Axis(10**9, zoned=True), day)
    changes = clock.changes.view("M8[s]").astype(str).tolist()
    assert {"2026-03-29T01:00:00", "2026-10-25T01:00:00"} <= set(changes)
    assert clock_of("Europe/Berlin", Axis(10**9), day).changes.size == 0  # local as they are


def test_windows_start_where_the_calendar_says() -> None:
    axis = Axis(10**9, zoned=True)
    at = np.array(["2026-03-28T12:00", "2026-03-30T12:00"], "M8[s]").view(np.int64)

    def starts(slide: str, offset: str = "") -> list[str]:
        by = interval(offset, "") if offset else Interval()
        given = Calendar(interval(slide, ""), interval(slide, ""), by, "Europe/Berlin")
        opens, closes = given.edges(at, axis)
        assert (opens[1:] == closes[:-1]).all()
        inside = (closes > at[0]) & (opens <= at[1])
        return opens[inside].view("M8[s]").astype("M8[m]").astype(str).tolist()

    assert starts("1 day") == ["2026-03-27T23:00", "2026-03-28T23:00", "2026-03-29T22:00"]
    assert starts("1 month") == ["2026-02-28T23:00"]
    assert starts("1 quarter") == ["2025-12-31T23:00"]
    assert starts("1 year") == ["2025-12-31T23:00"]
    assert starts("1 week") == ["2026-03-22T23:00", "2026-03-29T22:00"]  # Mondays
    assert starts("1 day", "6 hours")[:2] == ["2026-03-28T05:00", "2026-03-29T04:00"]
    assert starts("1 year", "1 month") == ["2026-01-31T23:00"]


# -- arrays --------------------------------------------------------------------------------------


def recalculated(
    at: Any, values: Any, size: tuple[int, int], closed: str, zone: str
) -> list[float]:
    """The sums of trailing windows, each by itself."""
    starts = np.array([oracle(t, -size[0], -size[1], ZoneInfo(zone)) for t in at.tolist()])
    made = []
    for t, start in zip(at.tolist(), starts.tolist(), strict=True):
        above = at >= start if closed in ("both", "left") else at > start
        below = at <= t if closed in ("both", "right") else at < t
        made.append(values[above & below].sum())
    return made


@pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])
@pytest.mark.parametrize("size", ["1 month", "1 day", "1 year", "1 month 3 days"])
def test_rolling_over_the_calendar(size: str, closed: str) -> None:
    at = np.sort(instants(600, seed=11, years=(2025, 2027)))
    values = np.random.default_rng(5).integers(-9, 9, at.size)
    times = pd.Series(at.view("M8[us]")).dt.tz_localize("UTC")
    by = interval(size, "")
    zone = "Europe/Berlin"
    expected = recalculated(at, values, (by.months, by.days), closed, zone)
    options: dict[str, Any] = {"range": size, "closed": closed, "timezone": zone}
    made = rolling(values, Sum(), at=times, **options)
    assert np.ma.filled(made, 0).tolist() == expected
    state, parts = RollingState(), []
    for some in np.array_split(np.arange(at.size), 7):
        parts.append(rolling(values[some], Sum(), at=times.iloc[some], state=state, **options))
    parts.append(state.finish())
    assert np.ma.concatenate([np.ma.filled(p, 0) for p in parts]).tolist() == expected
    lists = rolling(values, {"n": Count(), "top": Max()}, at=times, min_rows=2, **options)
    assert np.ma.filled(lists["n"], 0).max() <= at.size


def test_times_without_a_zone_are_local() -> None:
    at = np.array(["2026-02-28T08:00", "2026-03-28T20:00", "2026-03-31T08:00"], "M8[s]")
    values = np.array([1, 2, 4])
    assert rolling(values, Sum(), range="1 month", at=at).tolist() == [1, 2, 7]
    zoned = rolling(values, Sum(), range="1 month", at=at, timezone="Europe/Berlin")
    assert zoned.tolist() == [1, 2, 7]
    ahead = rolling(values, Sum(), range=(0, "1 month"), at=at)
    assert ahead.tolist() == [1, 6, 4]
    before = rolling(values, Sum(), range=("-1 year", "-1 month"), at=at)
    assert np.ma.filled(before, 0).tolist() == [0, 1, 1]


def test_a_window_that_begins_before_an_earlier_one_needs_no_named_algorithm() -> None:
    at = np.array(["2026-02-28T08:00", "2026-03-28T20:00", "2026-03-31T08:00"], "M8[s]")
    with pytest.raises(InvalidArgument, match="lets values go for good"):
        rolling(np.arange(3), Sum(), range="1 month", at=at, algorithm="daba")
    days = at.astype("M8[D]").astype("M8[s]")
    assert rolling(np.arange(3), Sum(), range="1 month", at=days, algorithm="daba").tolist() == [
        0, 1, 3,
    ]  # fmt: skip


# -- one value at a time -------------------------------------------------------------------------


@pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])
@pytest.mark.parametrize("size", ["1 month", "1 day"])
def test_a_push_answers_as_rolling_does(size: str, closed: str) -> None:
    at = np.sort(instants(300, seed=2, years=(2026, 2027)))
    values = np.arange(at.size)
    times = pd.Series(at.view("M8[us]")).dt.tz_localize("UTC")
    options: dict[str, Any] = {"range": size, "closed": closed, "timezone": "Europe/Berlin"}
    last = np.append(at[1:] != at[:-1], True)  # equal times see each other only once all are here
    expected = rolling(values, Sum(), at=times, **options)
    w = window(Sum(), **options)
    made = [w.push(v, at=t.to_pydatetime()) for v, t in zip(values.tolist(), times, strict=True)]
    w._check()
    gone = np.ma.getmaskarray(expected)
    for i in np.flatnonzero(last).tolist():
        assert made[i] == (0 if gone[i] else expected[i]) or (gone[i] and made[i] is None)
    assert "amta" in w.explain()


def test_late_values_and_time_that_goes_on() -> None:
    w = window(Collect(), range="1 month", lateness="10 days")
    for day in ("2026-02-27", "2026-03-28", "2026-02-28"):
        w.push(day, at=dt.datetime.fromisoformat(day))
    assert w.late == 1
    assert w.push("2026-03-20", at=dt.datetime(2026, 3, 20)) == ["2026-03-20", "2026-03-28"]
    assert w.query(at=dt.datetime(2026, 4, 28)) == ["2026-03-28"]
    assert len(w) == 1


def test_a_store_and_a_key_for_each_window() -> None:
    times = [dt.datetime(2026, 2, 28, 8), dt.datetime(2026, 3, 28, 20), dt.datetime(2026, 3, 31, 8)]
    store = MemoryStore()
    made = []
    for value, at in zip((1, 2, 4), times, strict=True):
        with window(Sum(), range="1 month", store=store, window="w") as w:  # opened again each time
            made.append(w.push(value, at=at))
    assert made == [1, 2, 7]
    keyed = window(Sum(), range="1 month", partition_by=True, timezone="Europe/Berlin")
    for key in ("a", "b"):
        assert [keyed.push(v, key=key, at=t) for v, t in zip((1, 2, 4), times, strict=True)] == made
    assert window(Sum(), range="1 month").push_many([1, 2, 4], at=times).tolist() == made
    keyed.advance(dt.datetime(2027, 1, 1))
    assert not len(keyed)


def test_a_query_file_names_the_zone() -> None:
    query = from_toml(
        """
        order_by = "t"
        range = "1 month"
        slide = "1 month"
        timezone = "Europe/Berlin"
        [results]
        n = "COUNT(*)"
        """
    )
    given: dict[str, Any] = {"range": "1 month", "slide": "1 month", "timezone": "Europe/Berlin"}
    assert query == sliding(order_by="t", n=Count(), **given)


# -- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"range": "1 day", "timezone": "Europe/Berln"}, "did you mean 'Europe/Berlin'"),
        ({"range": 5, "timezone": "UTC"}, "goes with a duration"),
        ({"rows": 5, "timezone": "UTC"}, "means nothing with rows="),
        ({"range": "1.5 months"}, "a part of a month"),
        ({"range": "1 month", "slide": "1 hour"}, "start every so many months"),
        ({"range": "1 hour", "slide": "1 hour", "timezone": "UTC"}, "start every so many months"),
        ({"range": "1 month", "slide": "1 year"}, "gaps=True"),
        ({"range": "30 days", "slide": "1 month"}, "gaps=True"),
        ({"range": "1 day", "slide": "1 day", "offset": "1 month"}, "shorter than the slide"),
        ({"range": "1 month", "lateness": "1 month"}, "months and years differ"),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        sliding(order_by="t", n=Count(), **given)


def test_durations_have_no_calendar() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"t": pa.array([1, 2], pa.duration("s")), "i": [1, 2]})
    with pytest.raises(InvalidValue, match="which has none"):
        sliding(order_by="t", range="1 month", n=Count())(table)
    with pytest.raises(InvalidValue, match="is a duration, and 'i'"):
        sliding(order_by="i", range="1 month", n=Count())(table)
    with pytest.raises(InvalidArgument, match="which have none"):
        rolling(np.arange(2), Sum(), range="1 month", at=np.arange(2).astype("m8[s]"))
    with pytest.raises(InvalidArgument, match="does not go with range='1 month'"):
        rolling(
            np.arange(2), Sum(), range="1 month", at=np.arange(2).astype("M8[s]"), lateness="1 s"
        )
