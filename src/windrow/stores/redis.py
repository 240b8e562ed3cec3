"""Redis: a server, for many machines; a window belongs to one process by a lease."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from windrow.errors import InvalidArgument, extra
from windrow.stores import keys
from windrow.stores.base import Pairs, Store
from windrow.stores.errors import CorruptValue, StoreError, StoreUnavailable, WindowInUse

Result = TypeVar("Result")

# A script is one step for Redis, in memory and in its log. All begin with a check that the lease is
# still this process's own: one that lost it, by a long pause say, must not write any more. It is
# "token:number", with the number of the owner's last batch. Where that is smaller than one that
# was confirmed, the server has gone back to older data, on top of which nothing may be written.
_OWN = """
local owner, last = string.match(redis.call('GET', KEYS[1]) or '', '^(%x+):(%d+)$')
if owner ~= ARGV[1] then return 0 end
"""
_BATCH = f"""{_OWN}
if tonumber(last) < tonumber(ARGV[2]) then return -1 end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[3], 'KEEPTTL')
local puts = tonumber(ARGV[4])
for i = 1, puts do redis.call('SET', KEYS[1 + i], ARGV[4 + i]) end
for i = 2 + puts, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
"""
_RENEW = f"{_OWN} return redis.call('PEXPIRE', KEYS[1], ARGV[2])"
_RELEASE = f"{_OWN} return redis.call('UNLINK', KEYS[1])"


_TRY = 5.0  # seconds after which a connection that says nothing is made anew


class RedisStore(Store):
    """The Redis server at `url`; every key begins with `prefix`, so that others can use it too.

    When the server is away or silent, operations wait up to `patience` seconds for it and then
    fail; the window keeps what it was given, and a later `flush` writes it. A process holds a
    window by a lease that it renews every `lease`/3 seconds; if it dies, others may have the window
    when the lease has run out. A server that comes back with older data than it has confirmed is
    noticed by the next write. What outlives the server itself depends on the server's settings:
    with ``appendonly yes`` and ``appendfsync always`` it is all that `flush` has confirmed.
    """

    def __init__(
        self,
        url: str = "redis://127.0.0.1:6379/0",
        *,
        prefix: str = "windrow:",
        patience: float = 30.0,
        lease: float = 60.0,
    ) -> None:
        super().__init__()
        self._redis = extra("this store", "redis", "redis")
        for name, seconds in (("patience", patience), ("lease", lease)):
            if not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
                raise InvalidArgument(f"{name} must be a number of seconds above 0, got {seconds}")
        if lease < 1.5 * patience:
            raise InvalidArgument(
                f"lease must be 1.5 times patience or more, so that no lease ends while its owner "
                f"waits for the server; got lease={lease}, patience={patience}"
            )
        self.url, self.patience, self.lease = url, float(patience), float(lease)
        self._prefix = prefix.encode()
        self._token = secrets.token_hex(16).encode()
        # by window: the numbers of the last batch that was confirmed, and of the last one tried
        self._batches: dict[str, tuple[int, int]] = {}
        never = extra("this store", "redis.retry", "redis").Retry(
            extra("this store", "redis.backoff", "redis").NoBackoff(), 0
        )  # `patience` counts for all tries
        self._deadline = Deadline(self.patience)
        try:
            self._client = self._redis.Redis.from_url(
                url, retry=never, socket_timeout=_TRY, socket_connect_timeout=_TRY
            )
        except ValueError as error:
            raise InvalidArgument(f"url={url!r} is no address of a Redis server: {error}") from None
        pool = self._client.connection_pool
        pool.connection_class = _bounded(pool.connection_class, self._deadline)
        self._over = threading.Event()
        self._renewer: threading.Thread | None = None
        try:
            self._retrying(self._client.ping)
        except StoreError:
            self._client.close()
            raise

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._retrying(lambda: self._client.get(self._prefix + key))
        return value

    def get_many(self, wanted: Sequence[bytes]) -> list[bytes | None]:
        full = [self._prefix + key for key in wanted]
        return self._retrying(lambda: self._client.mget(full)) if full else []

    def batch(self, puts: Pairs, deletes: Iterable[bytes] = (), window: str | None = None) -> None:
        self._check_held(window)
        pairs = [(self._prefix + key, value) for key, value in puts]
        old = [self._prefix + key for key in deletes]
        if window is not None:
            values = [value for _, value in pairs]
            names = [self._lock_key(window), *(key for key, _ in pairs), *old]
            confirmed, tried = self._batches[window]
            number = tried + 1
            self._batches[window] = confirmed, number
            arguments = [self._token, confirmed, number, len(pairs), *values]
            outcome = self._run(_BATCH, names, arguments)
            if outcome == 0:
                raise WindowInUse(
                    f"window {window!r} of {self!r}: the lease is lost, because it was not renewed "
                    f"for {self.lease:g} s or the server lost its data; open the window again"
                )
            if outcome < 0:
                raise CorruptValue(
                    f"window {window!r} of {self!r}: the server has gone back to older data than "
                    f"it had confirmed; open the window again to go on from there"
                )
            self._batches[window] = number, number
            return

        def transaction() -> None:
            with self._client.pipeline(transaction=True) as steps:
                for key, value in pairs:
                    steps.set(key, value)
                for key in old:
                    steps.unlink(key)
                steps.execute()

        self._retrying(transaction)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        pattern = re.sub(rb"[*?\[\]^\\]", rb"\\\g<0>", self._prefix + prefix)

        def found() -> set[bytes]:  # a set: SCAN may name a key twice
            names, cursor = set[bytes](), None
            while cursor != 0:
                self._deadline.begin()  # of this step
                cursor, more = self._client.scan(cursor or 0, pattern + b"*", count=1000)
                names.update(more)
            return names

        short = [key[len(self._prefix) :] for key in self._retrying(found)]
        for start in range(0, len(short), 512):
            part = short[start : start + 512]
            for key, value in zip(part, self.get_many(part), strict=True):
                if value is not None:
                    yield key, value

    # -- the lease ----------------------------------------------------------------------------

    def _lock_key(self, window: str) -> bytes:
        return self._prefix + keys.LOCK + keys.name_of(window)

    def _lock(self, window: str) -> None:
        key, milliseconds = self._lock_key(window), int(self.lease * 1000)

        def take() -> bool:
            if self._client.set(key, self._token + b":0", nx=True, px=milliseconds):
                return True
            return bool(self._client.get(key) == self._token + b":0")  # an answer that was lost

        if not self._retrying(take):
            raise WindowInUse(
                f"window {window!r} of {self!r} is in use: another process holds it, or held it "
                f"less than {self.lease:g} s ago"
            )
        self._batches[window] = 0, 0
        if self._renewer is None:
            self._renewer = threading.Thread(target=self._renew, name="windrow-lease", daemon=True)
            self._renewer.start()

    def _unlock(self, window: str) -> None:
        with suppress(StoreUnavailable):  # the lease runs out by itself
            self._run(_RELEASE, [self._lock_key(window)], [self._token])

    def _renew(self) -> None:
        while not self._over.wait(self.lease / 3):
            for window in tuple(self._held):
                try:
                    arguments = [self._token, int(self.lease * 1000)]
                    self._run(_RENEW, [self._lock_key(window)], arguments)
                except StoreError:
                    break  # the next batch tells its owner

    # -- the server ---------------------------------------------------------------------------

    def _run(self, script: str, names: list[bytes], arguments: list[Any]) -> Any:
        return self._retrying(lambda: self._client.eval(script, len(names), *names, *arguments))

    def _retrying(self, call: Callable[[], Result]) -> Result:
        """Return what `call` returns; repeat it while the server is away, up to `patience`."""
        self._check_open()
        errors = self._redis.exceptions
        pause = 0.01
        self._deadline.begin()
        while True:
            try:
                return call()
            except (errors.AuthenticationError, errors.AuthorizationError) as error:
                raise StoreError(
                    f"{self!r} refused the user or the password of its url: {error}"
                ) from error
            except (errors.ConnectionError, errors.TimeoutError) as error:
                if pause > self._deadline.left or self._over.is_set():
                    raise StoreUnavailable(
                        f"{self!r} did not answer for {self.patience:g} s: {error}"
                    ) from error
            except errors.RedisError as error:
                raise StoreError(f"{self!r} refused: {error}") from error
            except (ValueError, LookupError, RecursionError) as error:  # of what reads the answer
                raise StoreError(f"{self!r} does not answer as Redis does: {error}") from error
            time.sleep(pause)
            pause = min(2 * pause, 0.25)

    def close(self) -> None:
        self._over.set()  # no call is made again from now on
        super().close()

    def _close(self) -> None:
        self._client.close()

    def __repr__(self) -> str:
        parts = urlsplit(self.url)
        return f"RedisStore({parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path})"


# -- the time that an answer may take ------------------------------------------------------------


class Deadline(threading.local):
    """When to stop waiting for the server, in each thread: `seconds` after the last `begin`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.begin()

    def begin(self) -> None:
        """Wait for `seconds` from now on."""
        self._end = time.monotonic() + self._seconds

    @property
    def left(self) -> float:
        """Return the seconds that are left, 0 or less if there are none."""
        return self._end - time.monotonic()

    def limit(self, most: float | None) -> float:
        """Return how long one step may take, of at most `most` seconds; raise if no time is left.

        >>> Deadline(60).limit(5), Deadline(60).limit(0)
        (5, 0)
        """
        left = self.left
        if left <= 0:
            raise TimeoutError("no time is left")
        return left if most is None else min(left, most)


class BoundedSocket:
    """A socket none of whose steps outlasts a deadline, even if bytes keep coming, one by one."""

    def __init__(self, line: Any, deadline: Deadline) -> None:
        self._line, self._deadline = line, deadline
        self._most: float | None = line.gettimeout()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line, name)

    def settimeout(self, seconds: float | None) -> None:
        """Set the longest that one step may take."""
        self._most = seconds

    def recv(self, *arguments: Any) -> Any:
        """Receive some bytes."""
        self._line.settimeout(self._deadline.limit(self._most))
        return self._line.recv(*arguments)

    def recv_into(self, *arguments: Any) -> Any:
        """Receive some bytes into a buffer."""
        self._line.settimeout(self._deadline.limit(self._most))
        return self._line.recv_into(*arguments)

    def sendall(self, *arguments: Any) -> None:
        """Send all bytes."""
        self._line.settimeout(self._deadline.limit(self._most))
        self._line.sendall(*arguments)


def _bounded(connection_class: Any, deadline: Deadline) -> Any:
    """Return a class of connections of redis-py that keep a deadline."""

    class Bounded(connection_class):  # type: ignore[misc]
        def _connect(self) -> BoundedSocket:
            self.socket_connect_timeout = deadline.limit(_TRY)
            return BoundedSocket(super()._connect(), deadline)

    return Bounded
