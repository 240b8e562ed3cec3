"""One window a key: `window(…, partition_by=…)`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from windrow.aggregations.ordering import plain
from windrow.errors import InvalidArgument, InvalidValue, did_you_mean
from windrow.stores.base import Closing, Store
from windrow.stores.encoding import decode, encode
from windrow.windows.pushed import Window

_OPEN = 256  # windows of a store that are open at once: each may have a file of its own
_NO_KEY: Any = object()


class Partitions(Closing, Mapping[Any, Window]):
    """A window for each key, made when its first value comes: a mapping from keys to windows.

    >>> from windrow import Max, window
    >>> peaks = window(Max(), rows=2, partition_by=True)
    >>> [peaks.push(load, key=plug) for plug, load in (("a", 5), ("b", 1), ("a", 3), ("a", 2))]
    [5, 1, 5, 3]
    >>> len(peaks), list(peaks), peaks["b"].query()
    (2, ['a', 'b'], 1)
    >>> del peaks["a"]
    """

    def __init__(
        self,
        by: Any,
        make: Callable[..., Window],
        store: Store | None,
        window: str = "main",
        **options: Any,
    ) -> None:
        names = () if by is True else [by] if isinstance(by, str) else by
        known = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        if not known or not (names or by is True):
            raise InvalidArgument(
                f"partition_by={by!r} must be True, for push(value, key=…), or the name of a "
                f"column or a list of them"
            )
        self._by, self._columns = by, tuple(names)
        self._make, self._store, self._name, self._options = make, store, window, options
        self._windows: dict[Any, Window] = {}  # in a store: those that are open, the last used last
        self._keys: dict[Any, None] = {}
        self._late = 0  # values that came too late, of keys that were dropped
        make(**(options if store is None else {}))  # raises now if something is wrong with them
        if store is not None:
            stored = [name for name in store.windows() if name.startswith(f"{window}/")]
            self._keys = dict.fromkeys(map(self._key_of, stored))

    def push(self, value: Any, *, key: Any = _NO_KEY, at: Any = None) -> Any:
        """Push `value` through the window of its key, and return the result.

        The key is what the columns of the row have that `partition_by` names, or is given.
        """
        key = self._key(value, key)
        if key in self._keys:
            return self._opened(key).push(value, at=at)
        window = self._new(key)
        try:
            result = window.push(value, at=at)
        except BaseException:
            window.close()
            self._remove(key)
            raise
        self._keep(key, window)
        return result

    def advance(self, at: Any) -> None:
        """Let time go on to `at` in the window of every key, and drop the keys that have no values.

        For windows by time; where one has come to `at` already, nothing happens.
        """
        for key in list(self._keys):
            window = self._opened(key)
            window.advance(at)
            if window.is_empty:
                del self[key]

    @property
    def late(self) -> int:
        """How many values came too late and were dropped."""
        return self._late + sum(window.late for window in self._windows.values())

    def __getitem__(self, key: Any) -> Window:
        key = _one_nan(key)
        if key not in self._keys:
            raise KeyError(key)
        return self._opened(key)

    def __delitem__(self, key: Any) -> None:
        """Drop a key with its values, in the store as well."""
        window = self[key]
        key = _one_nan(key)
        self._late += window.late
        del self._keys[key], self._windows[key]
        window.close()
        self._remove(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def flush(self) -> None:
        """Return when all windows, as they are now, are safe in their store, if they have one."""
        for window in self._windows.values():
            window.flush()

    def close(self) -> None:
        """`flush`, and let others open the windows in their store, if they have one."""
        if self._store is not None:
            while self._windows:
                next(iter(self._windows.values())).close()
                del self._windows[next(iter(self._windows))]

    def __repr__(self) -> str:
        return f"<windows, partition_by={self._by!r}: {len(self)} key(s)>"

    # -- keys -------------------------------------------------------------------------------

    def _key(self, row: Any, key: Any) -> Any:
        """Return the key of a row, which is given if it has no column for it."""
        if self._columns and key is not _NO_KEY:
            columns = ", ".join(self._columns)
            raise InvalidArgument(f"push: a row's key is what it has in {columns}, not {key!r}")
        if not self._columns and key is _NO_KEY:
            raise InvalidArgument("push: give each value its key=")
        if not self._columns:
            return _one_nan(key)
        if not isinstance(row, Mapping):
            raise InvalidValue(
                f"push: partition_by= reads columns, so it takes rows such as "
                f"{{{self._columns[0]!r}: …}}, not {type(row).__name__} {row!r}"
            )
        for name in self._columns:
            if name not in row:
                raise InvalidValue(
                    f"push: the row has no column {name!r}; {did_you_mean(name, map(str, row))}"
                )
        values = tuple(_one_nan(row[name]) for name in self._columns)
        return values[0] if isinstance(self._by, str) else values

    def _name_of(self, key: Any) -> str:
        """Return the name of a key's window in the store."""
        if isinstance(key, str) and not key.startswith("/"):
            return f"{self._name}/{key}"
        return f"{self._name}//{encode(key).hex()}"

    def _key_of(self, name: str) -> Any:
        """Return the key of a window in the store."""
        key = name.removeprefix(f"{self._name}/")
        return _one_nan(decode(bytes.fromhex(key[1:]))) if key.startswith("/") else key

    # -- windows ----------------------------------------------------------------------------

    def _new(self, key: Any) -> Window:
        if self._store is None:
            return self._make(**self._options)
        return self._make(store=self._store, window=self._name_of(key), **self._options)

    def _opened(self, key: Any) -> Window:
        """Return the window of a key, and open it if it lies closed in its store."""
        if self._store is None:
            return self._windows[key]
        window = self._windows.pop(key, None)
        if window is None:
            window = self._new(key)
        self._keep(key, window)
        return window

    def _keep(self, key: Any, window: Window) -> None:
        """Keep an open window, and close that of a store which was not used for longest."""
        self._windows[key] = window
        self._keys[key] = None
        if self._store is not None and len(self._windows) > _OPEN:
            oldest = next(iter(self._windows))
            self._windows[oldest].close()
            del self._windows[oldest]

    def _remove(self, key: Any) -> None:
        if self._store is not None:
            self._store.remove(self._name_of(key))


def _one_nan(key: Any) -> Any:
    """Return a key as a plain number, if it is one, and every NaN as the same one."""
    key = plain(key)
    return math.nan if isinstance(key, float) and key != key else key


__all__ = ["Partitions"]
