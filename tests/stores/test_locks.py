"""A window belongs to one owner at a time, and is free again when its owner is gone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stores.servers import RedisServer
from windrow import Max, aggregator
from windrow.stores import LmdbStore, RedisStore, RocksStore, Store, WindowInUse

# Opens a window in another process, says so, and keeps it until it is killed.
OWNER = """
import sys, time
from windrow import Max, aggregator
from windrow.stores import LmdbStore, RedisStore, RocksStore
kind, where, window = sys.argv[1:]
store = {"rocks": RocksStore, "lmdb": LmdbStore}[kind](where) if kind != "redis" else RedisStore(
    where, prefix="locks:", patience=1, lease=1.5)
swag = aggregator(Max(), "amta", store=store, window=window)
swag.insert(7)
swag.flush()
print("ready", flush=True)
time.sleep(60)
"""


def owner(*arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout
    process.stdout.close()


def test_a_second_opener_in_the_process_is_refused(make: Callable[[], Store]) -> None:
    store = make()
    with (
        aggregator(Max(), "amta", store=store, window="a") as swag,
        aggregator(Max(), "amta", store=store, window="b") as other,
    ):
        swag.insert(3)
        other.insert(4)
        for call in (
            lambda: aggregator(Max(), "amta", store=store, window="a"),
            lambda: store.remove("a"),
        ):
            with pytest.raises(WindowInUse, match=r"window 'a' of .* is already open"):
                call()
    with aggregator(Max(), "amta", store=store, window="a") as swag:
        assert swag.query() == 3


def test_a_batch_for_a_window_that_is_not_held(make: Callable[[], Store]) -> None:
    store = make()
    with pytest.raises(WindowInUse, match=r"window 'a' of .* is not held"):
        store.batch([(b"a", b"1")], [], "a")
    assert store.get(b"a") is None


def test_rocks_is_for_one_process(tmp_path: Path) -> None:
    other = owner("rocks", str(tmp_path), "w")
    try:
        with pytest.raises(WindowInUse, match=r"RocksStore.* is in use: process \d+ has it"):
            RocksStore(tmp_path)
    finally:
        end(other)
    with RocksStore(tmp_path) as store, aggregator(Max(), "amta", store=store, window="w") as swag:
        assert swag.query() == 7
        with pytest.raises(WindowInUse, match="is in use: process"):
            RocksStore(tmp_path)


def test_lmdb_is_shared_and_its_windows_are_not(tmp_path: Path) -> None:
    other = owner("lmdb", str(tmp_path), "w")
    with LmdbStore(tmp_path) as store:
        try:
            with pytest.raises(WindowInUse, match=f"is in use: process {other.pid} has it"):
                aggregator(Max(), "amta", store=store, window="w")
            with aggregator(Max(), "amta", store=store, window="mine") as swag:
                swag.insert(1)
        finally:
            end(other)
        with aggregator(Max(), "amta", store=store, window="w") as swag:
            assert swag.query() == 7
        with pytest.raises(WindowInUse, match="already open in this process"):
            LmdbStore(tmp_path)


def test_redis_leases(redis_server: RedisServer) -> None:
    """Another process is refused while the owner lives, and some time after it was killed."""
    other = owner("redis", redis_server.url, "w")
    options = {"prefix": "locks:", "patience": 1, "lease": 1.5}
    with RedisStore(redis_server.url, **options) as store:
        try:
            time.sleep(1.6)  # longer than a lease: it was renewed
            with pytest.raises(WindowInUse, match="is in use: another process holds it"):
                aggregator(Max(), "amta", store=store, window="w")
        finally:
            end(other)
        deadline = time.monotonic() + 10
        while True:
            try:
                swag = aggregator(Max(), "amta", store=store, window="w")
                break
            except WindowInUse:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        assert swag.query() == 7
        swag.close()


def test_who_lost_a_lease_writes_no_more(redis_server: RedisServer) -> None:
    options = {"prefix": "lost:", "patience": 1, "lease": 60}
    with RedisStore(redis_server.url, **options) as first:
        swag = aggregator(Max(), "amta", store=first, window="w")
        swag.insert(1)
        swag.flush()
        first._client.delete(first._lock_key("w"))  # as if it had run out during a long pause
        with RedisStore(redis_server.url, **options) as second:
            with aggregator(Max(), "amta", store=second, window="w") as taken:
                taken.insert(9)
                taken.flush()
                swag.insert(5)
                with pytest.raises(WindowInUse, match="the lease is lost"):
                    swag.flush()
            with aggregator(Max(), "amta", store=second, window="w") as taken:
                assert (taken.query(), len(taken)) == (9, 2)


def test_rocks_that_is_opened_anew_stays_this_processs_own(tmp_path: Path) -> None:
    """RocksDB's own lock is free for a moment then."""
    with RocksStore(tmp_path) as store:
        store._db.close()  # as far as an attempt to open it anew may have come
        with pytest.raises(WindowInUse, match="is in use: process"):
            RocksStore(tmp_path)
        store.put(b"a", b"1")
        assert store.get(b"a") == b"1"
