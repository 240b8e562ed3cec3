"""A forked process and the stores of its parent: it is told, and the parent goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import pytest

from tests.forks import in_a_child
from windrow import Sum, aggregator
from windrow.stores import Store, StoreError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_told(make: Callable[[], Store]) -> None:
    store = make()
    swag = aggregator(Sum(), "amta", store=store, window="a", buffer=16)
    swag.extend(range(1000))
    swag.flush()
    swag.insert(1000)
    calls: dict[str, Callable[[], object]] = {
        "insert": lambda: swag.insert(1),
        "extend": lambda: swag.extend(range(10)),
        "evict": swag.evict,
        "query": swag.query,
        "flush": swag.flush,
        "get": lambda: store.get(b"a"),
        "scan": lambda: list(store.scan(b"a")),
        "put": lambda: store.put(b"a", b"1"),
        "windows": store.windows,
        "remove": lambda: store.remove("a"),
        "open": lambda: aggregator(Sum(), "amta", store=store, window="b"),
    }

    def work() -> Iterable[str]:
        for name, call in calls.items():
            try:
                yield f"{name}: {call()!r}"
            except StoreError as error:
                if "was opened before this process was forked" not in str(error):
                    yield f"{name}: {error}"
        swag.close()
        store.close()
        yield "closed"

    assert in_a_child(work) == ["closed"]
    for i in range(1001, 2000):
        swag.insert(i)
    assert swag.query() == sum(range(2000))
    swag.close()
    with aggregator(Sum(), "amta", store=store, window="a") as swag:
        assert swag.query() == sum(range(2000))
