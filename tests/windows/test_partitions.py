"""One window a key, and windows that time goes on in without a value."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow import Collect, Concat, Count, Max, Sum, window
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import InvalidArgument, InvalidValue
from windrow.stores import LmdbStore, MemoryStore
from windrow.windows import partitions
from windrow.windows.push import Partitions

every_closed = pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])

# -- time that goes on -----------------------------------------------------------------------


def within(events: list[tuple[int, int]], t: int, size: int, closed: str) -> list[int]:
    """The numbers of the events that lie in the window that ends at t."""
    return [
        number
        for number, at in events
        if (t - size <= at if closed in ("both", "left") else t - size < at)
        and (at <= t if closed in ("both", "right") else at < t)
    ]


@every_closed
@pytest.mark.parametrize("algorithm", ["auto", "fiba", "amta", "daba"])
@given(steps=st.lists(st.tuples(st.sampled_from(["push", "ask"]), st.integers(0, 6)), max_size=30))
@examples(25)
def test_a_window_by_time_is_asked_without_a_value(
    algorithm: str, closed: str, steps: list[tuple[str, int]]
) -> None:
    w = window(Collect(), range=5, closed=closed, algorithm=algorithm)
    stored = window(Collect(), range=5, closed=closed, store=MemoryStore())
    events: list[tuple[int, int]] = []
    t = 0
    for number, (step, gap) in enumerate(steps):
        t += gap
        if step == "push":
            events.append((number, t))
        for each in (w, stored):
            result = each.push(number, at=t) if step == "push" else each.query(at=t)
            assert result == (within(events, t, 5, closed) or None)
            assert each.query() == result
            each._check()


@pytest.mark.parametrize("first", [3, 12, 40])
def test_a_compiled_window_is_asked_without_a_value(first: int, monkeypatch: Any) -> None:
    """Compiled after some pushes and some questions, or not: the same results."""
    rng = np.random.default_rng(first)
    values, times = rng.normal(size=60).tolist(), np.cumsum(rng.integers(0, 4, 60)).tolist()
    results = []
    for pushes in (first, 1000):
        monkeypatch.setattr("windrow.windows.pushed_numbers.PUSHES", pushes)
        w = window({"sum": Sum(), "n": Count()}, range=7)
        results.append([])
        for i, (value, t) in enumerate(zip(values, times, strict=True)):
            if i % 5 == 3:
                results[-1].append(w.query(at=t))
            results[-1] += [w.push(value, at=t), len(w)]
        results[-1] += [w.query(at=times[-1] + 5), w.query(at=times[-1] + 50), len(w)]
        assert w.explain().splitlines()[-1].startswith("compiled") == (pushes == first)
    assert results[0] == results[1]
    assert results[0][-2:] == [{"sum": None, "n": 0}, 0]


def test_time_does_not_go_back() -> None:
    w = window(Sum(), range=10)
    w.push(1, at=5)
    assert w.query(at=12) == 1
    with pytest.raises(InvalidValue, match="query: at=11 is before the newest time, 12"):
        w.query(at=11)
    with pytest.raises(InvalidValue, match="push: at=11 is before the newest time, 12"):
        w.push(1, at=11)
    w.advance(11)  # it has come to that
    assert w.push(2, at=12) == 3
    late = window(Concat(), range=10, lateness=3)
    late.push("a", at=5)
    assert late.query(at=14) == "a"
    assert (late.push("b", at=12), late.push("x", at=10), late.late) == ("ab", "ab", 1)


@pytest.mark.parametrize("extent", [{"rows": 3}, {"on": bool}, {"until": max}], ids=str)
def test_a_window_that_does_not_go_by_time_is_not_asked_for_one(extent: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"at=5 goes with range= or delta=: a window with"):
        window(Max(), **extent).query(at=5)


# -- keys ------------------------------------------------------------------------------------


@given(pushes=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=40))
@examples(40)
def test_each_key_has_a_window_of_its_own(pushes: list[tuple[str, int]]) -> None:
    windows: Any = window(Collect(), rows=3, partition_by=True)
    columns: Any = window(Collect(), rows=3, partition_by="key")
    for i, (key, value) in enumerate(pushes):
        expected = [v for k, v in pushes[: i + 1] if k == key][-3:]
        assert windows.push(value, key=key) == expected
        rows = columns.push({"key": key, "value": value})
        assert [row["value"] for row in rows] == expected
        assert windows[key].query() == expected
    assert list(windows) == list(dict.fromkeys(key for key, _ in pushes))
    assert len(windows) == len(windows.keys()) == len({key for key, _ in pushes})


def test_several_columns_are_one_key() -> None:
    windows = window(Max("load"), rows=2, partition_by=["house", "plug"])
    windows.push({"house": 1, "plug": 7, "load": 3})
    windows.push({"house": 2, "plug": 7, "load": 4})
    assert (list(windows), windows[1, 7].query()) == ([(1, 7), (2, 7)], 3)
    assert repr(windows) == "<windows, partition_by=['house', 'plug']: 2 key(s)>"


def test_keys_are_equal_where_their_values_are() -> None:
    windows = window(Count(), rows=9, partition_by=True)
    for key in (7, np.int64(7), 7.0, float("nan"), np.float64("nan"), float("nan"), None, None):
        windows.push(0, key=key)
    assert [windows[key].query() for key in windows] == [3, 3, 2]
    assert windows[float("nan")].query() == 3


def test_keys_without_values_are_dropped_when_time_goes_on() -> None:
    windows = window(Max(), range=10, partition_by=True, lateness=5)
    windows.push(3, key="a", at=1)
    windows.push(4, key="b", at=8)
    windows.push(4, key="b", at=1)
    windows.advance(15)
    assert (list(windows), windows.late) == (["b"], 1)
    windows.advance(9)
    del windows["b"]
    assert (len(windows), windows.late) == (0, 1)
    with pytest.raises(KeyError):
        windows["b"]
    assert windows.push(1, key="a", at=2) == 1
    rows = window(Max(), rows=3, partition_by=True)
    rows.push(1, key=1)
    with pytest.raises(InvalidArgument, match="does not change with time"):
        rows.advance(3)


def test_values_that_wait_are_not_dropped() -> None:
    windows = window(Max(), range=10, closed="left", partition_by=True)
    windows.push(3, key="a", at=5)
    windows.advance(5)
    assert windows.push(4, key="a", at=6) == 3


def test_mistakes_change_nothing() -> None:
    windows = window(Max(), rows=3, partition_by=True)
    with pytest.raises(InvalidArgument, match="push: give each value its key="):
        windows.push(3)
    with pytest.raises(TypeError, match="unhashable"):
        windows.push(3, key=[1])
    with pytest.raises(InvalidArgument, match="rows must be 1 or more"):
        window(Max(), rows=0, partition_by=True, store=MemoryStore())
    with pytest.raises(InvalidArgument, match="partition_by=3 must be True"):
        window(Max(), rows=3, partition_by=3)  # type: ignore[call-overload]
    with pytest.raises(InvalidArgument, match=r"partition_by=\[\] must be True"):
        window(Max(), rows=3, partition_by=[])
    columns = window(Sum("load"), rows=3, partition_by="plug")
    with pytest.raises(InvalidValue, match="the row has no column 'plug'; did you mean 'plugs'"):
        columns.push({"plugs": 1})
    with pytest.raises(InvalidValue, match="not int 3"):
        columns.push(3)
    with pytest.raises(InvalidValue):
        columns.push({"plug": 1, "load": "x"})
    with pytest.raises(InvalidArgument, match="a row's key is what it has in plug, not 1"):
        columns.push({"plug": 1, "load": 1}, key=1)
    assert len(windows) == len(columns) == 0


def test_they_are_pickled() -> None:
    windows = window(Max(), rows=3, partition_by=True)
    windows.push(3, key="a")
    again: Partitions = pickle.loads(pickle.dumps(windows))
    assert again.push(1, key="a") == 3


# -- keys in a store -------------------------------------------------------------------------

KEYS = ["a", "/a", "ä b", 7, -1.5, None, ("x", 3), float("nan"), ""]


@pytest.mark.parametrize("most", [2, 100])
def test_the_windows_of_all_keys_lie_in_a_store(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_OPEN", most)
    twin = window(Collect(), range=6, partition_by=True)
    for start in range(3):
        with LmdbStore(tmp_path / "state") as store:
            with window(Collect(), range=6, partition_by=True, store=store, window="w") as windows:
                for t in range(start * 20, start * 20 + 20):
                    key = KEYS[t * 7 % len(KEYS)]
                    assert windows.push(t, key=key, at=t // 4) == twin.push(t, key=key, at=t // 4)
                assert set(map(repr, windows)) == set(map(repr, twin))
                assert len(windows._windows) <= most
                with pytest.raises(InvalidValue):
                    windows.push(object(), key="new", at=99)
            assert len(store.windows()) == len(twin)
            other = window(Collect(), range=6, partition_by=True, store=store, window="other")
            assert len(other) == 0
    with LmdbStore(tmp_path / "state") as store:
        windows = window(Collect(), range=6, partition_by=True, store=store, window="w")
        windows.flush()
        for each in (windows, twin):
            each.advance(20)
        assert set(map(repr, windows)) == set(map(repr, twin))
        assert 0 < len(store.windows()) == len(twin) < len(KEYS)
        windows.close()


def test_every_algorithm_has_keys() -> None:
    for algorithm in ALGORITHMS:
        if algorithm_class(algorithm).supports(Max()):
            windows = window(Max(), rows=2, partition_by=True, algorithm=algorithm)
            assert [windows.push(v, key=v % 2) for v in (5, 4, 3, 2, 1)] == [5, 4, 5, 4, 3]
