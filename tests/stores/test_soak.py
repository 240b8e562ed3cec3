"""Many events through one window: neither the store nor the process grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from windrow import Max, aggregator
from windrow.stores import LmdbStore, RocksStore

STORES: dict[str, Any] = {"rocks": RocksStore, "lmdb": LmdbStore}


def size_of(folder: Path) -> int:
    """The bytes that the files really take: LMDB's has holes."""
    total = 0
    for path in folder.iterdir():
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:  # RocksDB has just removed it
            continue
    return total


def resident() -> int:
    """The private memory of this process, in bytes, without what it has mapped from files."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def soak(folder: Path, kind: str, events: int, window: int, most: int) -> None:
    with (
        STORES[kind](folder) as store,
        aggregator(Max(), "amta", store=store) as swag,
    ):
        for i in range(window):
            swag.insert(i * 7919 % 10**6)
        swag.flush()
        before = resident()
        for i in range(window, events):
            swag.insert(i * 7919 % 10**6)
            swag.evict()
            if i % (events // 20) == 0:
                swag.flush()
                assert size_of(folder) < most
                assert resident() - before < 64 << 20
        assert len(swag) == window
        last = range(events - window, events)
        assert swag.query() == max(i * 7919 % 10**6 for i in last)


@pytest.mark.parametrize("kind", STORES)
def test_the_store_stays_small(tmp_path: Path, kind: str) -> None:
    soak(tmp_path, kind, events=60_000, window=2_000, most=40 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES)
def test_ten_million_events_through_a_hundred_thousand(tmp_path: Path, kind: str) -> None:
    soak(tmp_path, kind, events=10_000_000, window=100_000, most=200 << 20)
