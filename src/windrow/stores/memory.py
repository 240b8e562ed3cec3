"""A store in this process: for tests, and for windows that need not outlive it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windrow.stores.base import Pairs, Store


class MemoryStore(Store):
    """A dict. It lasts as long as the object; windows may be closed and opened again.

    >>> store = MemoryStore()
    >>> store.batch([(b"a", b"1"), (b"ab", b"2"), (b"b", b"3")], deletes=[b"b"])
    >>> sorted(store.scan(b"a")), store.get(b"b")
    ([(b'a', b'1'), (b'ab', b'2')], None)
    """

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        return self._entries.get(key)

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        new, old = dict(puts), tuple(deletes)
        with self._guard:
            self._check_held(window)
            self._entries.update(new)
            for key in old:
                self._entries.pop(key, None)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._check_open()
        with self._guard:
            entries = [item for item in self._entries.items() if item[0].startswith(prefix)]
        return iter(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return "MemoryStore()"
