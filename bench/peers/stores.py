"""What it costs to keep a window in a store: memory, time an event, and evicting many at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from bench.alone import alone, private_memory, tell
from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import failure, timed, turns
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, at_most
from windrow import LmdbStore, Max, MemoryStore, RedisStore, RocksStore, aggregator

PRIVATE = Figure("private memory", "what the process has grown by", "values", "MB")
RESIDENT = Figure("memory with mapped files", "what the process has grown by", "values", "MB")
FILLING = Figure("filling", "inserts until the window is full", "values", "µs an insert")
EVICTING = Figure("evicting half of the window", "half of the largest window", "how", "ms")
EVENTS = Figure("events", "a window of 2^15 values", "event", "µs an event")
AT_ONCE, ONE_BY_ONE = "at once", "one by one"
BASE, ROCKS, LMDB = "in the process", "RocksStore", "LmdbStore"
FILLED = (BASE, ROCKS, LMDB)
WINDOW = 1 << 15


@contextmanager
def contender(name: str, algorithm: str = "amta", redis: str = "") -> Iterator[Any]:
    """An empty window of Max; what it left on the disk is removed in the end."""
    if name == BASE:
        yield aggregator(Max(), algorithm)
        return
    with TemporaryDirectory(prefix="windrow-bench-") as folder:
        store: Any
        if name == "RedisStore":
            store = RedisStore(redis, prefix="windrow-bench:")
        elif name == "MemoryStore":
            store = MemoryStore()
        else:
            store = RocksStore(folder) if name == ROCKS else LmdbStore(folder)
        with store:
            with aggregator(Max(), algorithm, store=store) as swag:  # type: ignore[attr-defined]
                yield swag
            if name == "RedisStore":
                store.remove("main")


def run(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Memory and evictions in a process for each store; events in rounds."""
    sizes = settings.powers(15, 23, quick=19)[::2]
    for share, name in clock.share(2, of=3).shares(FILLED):
        try:
            for figure, x, value in alone(fill, name, sizes, seconds=share.left):
                yield next(f for f in STORES.figures if f.name == figure).point(name, x, value)
        except Exception as error:
            yield PRIVATE.missing(name, sizes[-1], failure(error))
    yield from _events(settings, clock)


def fill(name: str, sizes: list[int]) -> None:
    """Fill a window step by step, then evict half at once and half one by one; tell the costs."""
    empty = private_memory()
    with contender(name) as swag:
        filled = 0
        for n in sizes:
            seconds = timed(partial(_extend, swag, filled, n))[0]
            used = private_memory()
            for figure, kind in ((PRIVATE, "private"), (RESIDENT, "resident")):
                tell([figure.name, n, max(1e-3, (used[kind] - empty[kind]) / 2**20)])
            tell([FILLING.name, n, seconds / (n - filled) * 1e6])
            filled = n
        half = filled // 2
        tell([EVICTING.name, AT_ONCE, timed(partial(swag.evict, half))[0] * 1e3])
        start = time.perf_counter()
        for _ in range(half):
            swag.evict()
        tell([EVICTING.name, ONE_BY_ONE, (time.perf_counter() - start) * 1e3])


def _extend(swag: Any, filled: int, n: int) -> None:
    """Insert values until there are n, as many at a time as a store takes."""
    for begin in range(filled, n, WINDOW):
        swag.extend(i * 7919 % 1_000_003 for i in range(begin, min(begin + WINDOW, n)))


def _events(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Insert, evict and query, each event; and inserts alone, by `extend`."""
    count = settings.size(40_000, 5_000)
    names = [BASE, "MemoryStore", ROCKS, LMDB, *(["RedisStore"] if settings.redis else [])]
    runs: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        swags: dict[str, Any] = {}
        for name in names:
            for algorithm in ("amta", "log_mta"):
                if (name, algorithm) == ("RedisStore", "log_mta"):
                    continue  # both would be the same window of the server
                swag = stack.enter_context(contender(name, algorithm, settings.redis))
                swag.extend(range(min(WINDOW, settings.largest)))
                swags[f"{name}:{algorithm}"] = swag
        for who in turns(swags, settings.repeats):
            name, _, algorithm = who.partition(":")
            slide, insert = (f"{what}, {algorithm}" for what in ("insert, evict, query", "insert"))
            if clock.over and (name, slide) in runs:
                continue
            seconds = timed(partial(_slide, swags[who], count))[0]
            runs.setdefault((name, slide), []).append(seconds / count)
            seconds = timed(partial(swags[who].extend, range(count)))[0]
            runs.setdefault((name, insert), []).append(seconds / count)
            swags[who].evict(count)
    for (name, x), times in sorted(runs.items(), key=lambda item: names.index(item[0][0])):
        yield EVENTS.timed(name, x, times, events=count)


def _slide(swag: Any, count: int) -> None:
    for i in range(count):
        swag.insert(i)
        swag.evict()
        swag.query()


def _at_once(points: Points) -> Verdict:
    ratios = {}
    for name in (ROCKS, LMDB):
        values = points.values(EVICTING, name)
        if {AT_ONCE, ONE_BY_ONE} <= set(values):
            ratios[name] = values[ONE_BY_ONE] / values[AT_ONCE]
    if not ratios:
        return TOO_FEW
    text = ", ".join(f"{name} {ratio:,.0f} times" for name, ratio in ratios.items())
    return Verdict(text, min(ratios.values()) >= 1000)


def _events_rule(points: Points) -> Verdict:
    by_event = points.ratios(EVENTS, BASE, ROCKS)
    ratios = {str(x): ratio for x, ratio in by_event.items() if str(x).endswith(", amta")}
    if not ratios:
        return TOO_FEW
    text = "; ".join(f"{x}: {ratio:.1f} times" for x, ratio in ratios.items())
    return Verdict(text, max(ratios.values()) <= 10)


STORES = Experiment(
    "stores",
    "a window in a store, and in the process",
    "A window of Max with AMTA. Memory and evictions: a process for each store fills one window up "
    "to 2^23 values (2^19 in a quick run), then evicts half of it at once and half one by one. "
    "Events: insert, evict and query in rounds; and inserts alone.",
    (PRIVATE, RESIDENT, FILLING, EVICTING, EVENTS),
    run,
    rules=(
        at_most(PRIVATE, 64, ROCKS),
        at_most(PRIVATE, 64, LMDB),
        Rule(f"{EVICTING.name}: at once 1000 times faster than one by one", _at_once),
        Rule(f"{EVENTS.name}: {ROCKS} takes at most 10 times {BASE}, for amta", _events_rule),
    ),
    weight=2.0,
)

EXPERIMENTS = (STORES,)
