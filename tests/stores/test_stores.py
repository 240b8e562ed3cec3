"""What holds for every store: it is a dict of bytes, by whole batches, that can be opened again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import share
from windrow import Max, aggregator
from windrow.errors import InvalidArgument, Unsupported
from windrow.stores import LmdbStore, MemoryStore, RedisStore, RocksStore, Store, StoreError

Make = Callable[[], Store]
_keys = st.binary(min_size=1, max_size=4)
_batches = st.lists(
    st.tuples(
        st.lists(st.tuples(_keys, st.binary(max_size=20)), max_size=8), st.lists(_keys, max_size=4)
    ),
    max_size=6,
)


@given(batches=_batches, prefix=st.binary(min_size=1, max_size=2), asked=st.lists(_keys))
@settings(max_examples=share(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_store_is_a_dict(
    make: Make, batches: list[Any], prefix: bytes, asked: list[bytes]
) -> None:
    model: dict[bytes, bytes] = {}
    with make() as store:
        for first in range(256):  # what the example before has left
            store.batch([], [key for key, _ in store.scan(bytes((first,)))])
        for puts, deletes in batches:
            store.batch(puts, deletes)
            model.update(puts)
            for key in deletes:
                model.pop(key, None)
        store.flush()
    with make() as store:
        found = list(store.scan(prefix))
        assert len(found) == len(dict(found))
        assert dict(found) == {k: v for k, v in model.items() if k.startswith(prefix)}
        assert store.get_many(asked) == [model.get(key) for key in asked]
        for key in asked:
            assert store.get(key) == model.get(key)


def test_one_put_and_one_delete(make: Make) -> None:
    store = make()
    store.put(b"a", b"1")
    assert store.get(b"a") == b"1"
    store.delete(b"a")
    store.delete(b"a")
    assert store.get(b"a") is None


def test_a_batch_that_fails_on_its_way_changes_nothing(make: Make) -> None:
    store = make()
    store.put(b"a", b"1")

    def puts() -> Iterator[tuple[bytes, bytes]]:
        yield b"a", b"2"
        yield b"b", b"2"
        raise KeyError("on the way")

    with pytest.raises(KeyError):
        store.batch(puts())
    assert (store.get(b"a"), store.get(b"b")) == (b"1", None)


def test_prefixes_with_letters_that_patterns_use(make: Make) -> None:
    store = make()
    for key in (b"a*b", b"axb", b"a[x]", b"a?", b"a\\*"):
        store.put(key, b"1")
    assert [key for key, _ in store.scan(b"a*")] == [b"a*b"]
    assert [key for key, _ in store.scan(b"a[")] == [b"a[x]"]
    assert [key for key, _ in store.scan(b"a\\")] == [b"a\\*"]


def test_a_closed_store_says_so(make: Make) -> None:
    store = make()
    store.close()
    store.close()
    for call in (
        lambda: store.get(b"a"),
        lambda: store.batch([(b"a", b"1")]),
        lambda: list(store.scan(b"a")),
        lambda: store.acquire("w"),
    ):
        with pytest.raises(StoreError, match="is closed"):
            call()


def test_many_windows_lie_in_one_store(make: Make) -> None:
    names = ["a", "ab", "b", "ä/[*]?", "m", "x" * 255]
    with make() as store:
        for number, name in enumerate(names):
            with aggregator(Max(), "amta", store=store, window=name, buffer=1) as swag:
                swag.extend(range(number, number + 20))
                swag.evict(3)
    with make() as store:
        assert store.windows() == sorted(names)
        store.remove("a")
        assert store.windows() == sorted(names[1:])
        assert not [key for key, _ in store.scan(b"n\x01a")]
        for number, name in enumerate(names[1:], start=1):
            with aggregator(Max(), "amta", store=store, window=name) as swag:
                assert (swag.query(), len(swag)) == (number + 19, 17)
        with aggregator(Max(), "amta", store=store, window="a") as swag:
            assert len(swag) == 0


@pytest.mark.parametrize("name", ["", "x" * 256, "ä" * 128, 7, None, "\ud800"])
def test_names_that_are_none(name: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^window must be a"):
        aggregator(Max(), "amta", store=MemoryStore(), window=name)


@pytest.mark.parametrize(
    ("cls", "package", "name"),
    [
        (RocksStore, "rocksdict", "rocksdb"),
        (LmdbStore, "lmdb", "lmdb"),
        (RedisStore, "redis", "redis"),
    ],
)
def test_a_missing_package_is_named(
    cls: Any, package: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Unsupported, match=rf"needs {package}: pip install 'windrow\[{name}\]'"):
        cls(str(tmp_path))


def test_a_full_lmdb_names_its_option(tmp_path: Any) -> None:
    with LmdbStore(tmp_path, map_size=1 << 16) as store:
        with pytest.raises(StoreError, match="map_size of more than 65536 bytes"):
            store.put(b"a", bytes(1 << 17))
        assert store.get(b"a") is None


@pytest.mark.parametrize("cls", [RocksStore, LmdbStore])
def test_a_path_that_cannot_be_a_directory(cls: Any, tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        cls(tmp_path / "file")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": 0}, "patience must be a number of seconds above 0, got 0"),
        ({"lease": "long"}, "lease must be a number of seconds above 0, got long"),
        ({"patience": 30, "lease": 40}, "lease must be 1.5 times patience or more"),
        ({"url": "localhost"}, "url='localhost' is no address of a Redis server"),
    ],
)
def test_wrong_options_of_redis(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        RedisStore(**options)


def test_a_password_is_not_shown(redis_server: Any) -> None:
    with RedisStore(f"redis://127.0.0.1:{redis_server.port}/0") as store:
        store.url = "redis://user:secret@127.0.0.1:6379/3"
        assert repr(store) == "RedisStore(redis://127.0.0.1:6379/3)"
