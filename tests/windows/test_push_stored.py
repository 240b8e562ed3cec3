"""Windows of every kind in a store: opened again, they go on where they were, to the bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.stores.test_counts import CountingStore
from windrow import Collect, Count, Max, Mean, Sum, aggregator, window
from windrow.errors import InvalidArgument, InvalidValue
from windrow.stores import CorruptValue, LmdbStore, MemoryStore, RocksStore, Store, WindowInUse
from windrow.windows.base import written


def too_much(total: Any, old: Any) -> bool:
    """A policy: what is left adds up to 20 at least."""
    return bool(total["sum"] - old["sum"] >= 20)


def is_end(value: float) -> bool:
    return value == 0


EXTENTS: list[dict[str, Any]] = [
    {"rows": 1},
    {"rows": 5},
    {"delta": 4},
    *({"range": "4 s", "closed": closed} for closed in ("both", "right", "left", "neither")),
    {"range": "unbounded"},
    {"range": "now"},
    {"until": too_much},
    {"on": is_end},
]
every_extent = pytest.mark.parametrize("extent", EXTENTS, ids=lambda e: "-".join(written(e)))
every_algorithm = pytest.mark.parametrize("algorithm", ["amta", "log_mta"])
AGGREGATIONS = {"sum": Sum(), "max": Max(), "all": Collect(), "mean": Mean()}

# A push of a value so much later than the last one, or what else may happen.
pushes = st.tuples(st.sampled_from([0, 0, 0.1, 0.3, 2, 7.7]), st.sampled_from([0, 0, 1, 2, 9]))
others = st.sampled_from(["open again", "late", "wrong", "lose the rest"])
streams = st.lists(st.one_of(pushes, pushes, pushes, others), max_size=40)


def time_of(extent: dict[str, Any], t: int) -> dict[str, Any]:
    if "until" in extent or "on" in extent or extent.get("rows") == 1:
        return {}
    whole = "delta" in extent or "rows" in extent
    return {"at": t if whole else datetime(2026, 1, 1) + timedelta(seconds=t)}


def run(
    store: Store,
    again: Callable[[Store], Store],
    extent: dict[str, Any],
    steps: list[Any],
    **options: Any,
) -> None:
    """Push through a window in a store and through its twin in memory, and compare all results."""

    def opened() -> Any:
        return window(AGGREGATIONS, store=store, **options, **extent)

    algorithm = options.get("algorithm", "amta")
    w, twin, t = opened(), window(AGGREGATIONS, algorithm=algorithm, **extent), 0
    for step in steps:
        if step == "open again":
            w.close()
            store = again(store)
            w = opened()
        elif step == "lose the rest":
            w.flush()
            safe, kept, then = dict(store._entries), copy.deepcopy(twin), t  # type: ignore[attr-defined]
            for value in (1, 2.5, 0, 3):
                t += 3
                assert w.push(value, **time_of(extent, t)) == twin.push(value, **time_of(extent, t))
            store = MemoryStore()
            store._entries, twin, t = safe, kept, then
            w = opened()
        elif step == "wrong":
            for each in (w, twin):
                with pytest.raises((InvalidValue, TypeError)):
                    each.push(object(), **time_of(extent, t + 1))
        elif step == "late":
            late = time_of(extent, t - 1)
            if late and twin._newest is not None:  # type: ignore[attr-defined]
                for each in (w, twin):
                    with pytest.raises(InvalidValue, match="is before the newest time"):
                        each.push(1, **late)
        else:
            value, gap = step
            t += gap
            assert w.push(value, **time_of(extent, t)) == twin.push(value, **time_of(extent, t))
        assert w.query() == twin.query()
        assert len(w) == len(twin)
        w._check()
    w.close()
    store.close()


def same_store(store: Store) -> Store:
    return store


@every_extent
@every_algorithm
@given(steps=streams, buffer=st.integers(1, 8))
@examples(20)
def test_it_is_the_window_in_memory(
    algorithm: str, extent: dict[str, Any], steps: list[Any], buffer: int
) -> None:
    run(MemoryStore(), same_store, extent, steps, algorithm=algorithm, buffer=buffer)


@every_extent
@pytest.mark.parametrize("kind", [RocksStore, LmdbStore])
def test_it_outlives_the_store_that_it_was_opened_in(
    kind: Callable[[Path], Store], extent: dict[str, Any], tmp_path: Path
) -> None:
    def again(store: Store) -> Store:
        store.close()
        return kind(tmp_path / "state")

    values = [(v % 4 / 2, gap) for v, gap in enumerate((0, 1, 0, 3, 1, 1, 9, 0, 0, 1))]
    run(kind(tmp_path / "state"), again, extent, (["open again", *values, "late"]) * 3)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"rows": 3}, {"rows": 4}, "holds rows=3, so it cannot be opened as rows=4"),
        ({"rows": 3}, {"range": "1 h"}, "holds rows=3, so it cannot be opened as range='1 h'"),
        (
            {"range": 5},
            {"range": 5, "closed": "left"},
            "cannot be opened as range=5, closed='left'",
        ),
        ({"on": is_end}, {"on": bool}, "holds on=is_end .* opened as on=bool"),
        ({"until": too_much}, {"until": lambda total, old: False}, "holds until=too_much"),
    ],
)
def test_another_window_is_not_taken_for_it(
    first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    store = MemoryStore()
    window(Max(), store=store, **first).close()
    with pytest.raises(InvalidArgument, match=f"window 'main' of MemoryStore.* {message}"):
        window(Max(), store=store, **second)
    window(Max(), store=store, **first).close()
    window(Max(), store=store, window="another", **second).close()
    assert store.windows() == ["another", "main"]


def test_the_values_of_an_aggregator_are_no_window() -> None:
    store = MemoryStore()
    with aggregator(Max(), store=store) as swag:
        swag.insert(3)
    with pytest.raises(InvalidArgument, match="holds the values of an aggregator"):
        window(Max(), rows=3, store=store)


def test_what_a_store_cannot_hold_is_refused() -> None:
    w = window(Count(), range=5, closed="left", store=MemoryStore())
    w.push(1, at=1)
    with pytest.raises(InvalidValue, match="a store cannot hold range"):
        w.push(range(3), at=1)
    assert w.push(1, at=2) == 1
    with pytest.raises(InvalidArgument, match="lateness='1 s' does not go with store="):
        window(Max(), range="1 h", lateness="1 s", store=MemoryStore())
    with pytest.raises(InvalidArgument, match="with a store= take amta or log_mta"):
        window(Max(), rows=3, algorithm="daba", store=MemoryStore())
    with pytest.raises(InvalidArgument, match="buffer= is not known, or goes with store="):
        window(Max(), rows=3, buffer=5)
    with pytest.raises(InvalidArgument, match="amta has no option 'bufer'"):
        window(Max(), rows=3, bufer=5, store=MemoryStore())


def test_a_window_has_one_owner_until_it_is_closed() -> None:
    store = MemoryStore()
    with window(Max(), rows=3, store=store) as w:
        w.push(5)
        with pytest.raises(WindowInUse):
            window(Max(), rows=3, store=store)
        assert f"in window 'main' of {store!r}" in w.explain()
    with window(Max(), rows=3, store=store) as w:
        assert (w.push(4), len(w)) == (5, 2)
    window(Max(), rows=3).close()  # nothing to close


def test_a_slide_goes_on_in_its_store() -> None:
    store, results = MemoryStore(), []
    for value in range(7):
        with window(Max(), rows=4, slide=3, store=store) as w:
            results.append(w.push(value))
    assert results == [None, None, 2, None, None, 5, None]


@pytest.mark.parametrize("beside", [7, ("rows=3", 1), ("rows=3", *range(5))], ids=str)
def test_what_lies_beside_a_window_may_be_damaged(beside: Any) -> None:
    store = MemoryStore()
    with aggregator(Max(), store=store) as swag:
        swag.beside = beside  # type: ignore[attr-defined]
    with pytest.raises(CorruptValue, match="its record is not one of windrow's"):
        window(Max(), rows=3, store=store)


@every_algorithm
def test_what_leaves_a_range_is_searched_for_in_the_store(algorithm: str) -> None:
    n, store = 1 << 12, CountingStore()
    w = window(Max(), range=n, algorithm=algorithm, store=store)
    for t in range(n):
        w.push(-t, at=t)
    w.flush()
    store.waited = 0
    assert w.push(-n, at=2 * n - 5) == -(n - 5)
    store.idle()
    assert store.waited <= 4 * 12
    w.close()
