"""The experiments of paper 001: the Monoid Tree Aggregators, in memory and in a store."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from bench.experiment import Clock, Experiment, Rule, Settings, Verdict
from bench.measure import Make, curve, timed, turns
from bench.memory import memory_of
from bench.points import Figure, Point, Points
from bench.rules import TOO_FEW, ahead, grows
from bench.windows import TO_FILL, Counting, Interpreted
from windrow import (
    Aggregation,
    Count,
    GeometricMean,
    Last,
    LongestRun,
    Max,
    Mean,
    MemoryStore,
    RocksStore,
    StdDev,
    Sum,
    Together,
    aggregator,
    window,
)

# -- latency ---------------------------------------------------------------------------------------

FIGURE_6 = Figure("Figure 6", "latency by window", "window", "µs a value")


def counted() -> Together:
    """Return the experiment's monoid: how many, and the newest limit."""
    return Together(count=Count(), max_size=Last())


def in_store(algorithm: str) -> str:
    """Return the name of the line of an algorithm whose nodes lie in RocksDB."""
    return f"{algorithm}, RocksDB"


def rocks(stack: ExitStack) -> RocksStore:
    """Return a store in a directory of its own, which goes when `stack` ends."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="windrow-bench-"))
    return stack.enter_context(RocksStore(folder))


def stored(algorithm: str, values: list[int], stack: ExitStack) -> Make:
    """Return what makes windows in RocksDB, each in a directory of its own."""

    def make(w: int, seconds: float) -> Interpreted:
        trial = Interpreted(algorithm, counted(), values, w, seconds, store=rocks(stack))
        stack.callback(trial.swag.close)  # type: ignore[attr-defined]  # a stored window's
        return trial

    return make


def latency(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Yield the latency of all of them at windows of 1 to 2^20."""
    values = [1 << 30] * 64
    with ExitStack() as stack:
        contenders: dict[str, Make] = {
            name: partial(Interpreted, name, counted(), values)
            for name in ("recalculate", "log_mta", "amta", "daba")
        }
        contenders |= {in_store(name): stored(name, values, stack) for name in SEARCHING}
        yield from curve(FIGURE_6, settings.powers(0, 20, quick=12), contenders, settings, clock)


LATENCY = Experiment(
    "001 latency",
    "a window of constant size: AMTA flat, Log MTA logarithmic",
    "Interpreted windows that count their values and carry a limit: evict, insert and query. The "
    "paper's Couchbase cluster is RocksDB on this machine's disk. To 2^20 where the paper goes to "
    "2^25: the interpreter takes microseconds a value to fill them.",
    (FIGURE_6,),
    latency,
    source="Experiment 1, Figure 6",
    finding="Recalculation is fastest on the smallest windows and then grows linearly; AMTA and "
    "DABA are flat, AMTA in memory the fastest from 2^9 on; Log MTA grows logarithmically; a store "
    "adds about a microsecond.",
    rules=(
        grows(FIGURE_6, "recalculate", "linear", since=16),
        grows(FIGURE_6, "amta", "flat", since=16),
        grows(FIGURE_6, "daba", "flat", since=16),
        grows(FIGURE_6, "log_mta", "logarithmic", since=16),
        grows(FIGURE_6, in_store("amta"), "flat", since=16).unless(
            "every 512th value writes a batch of nodes, and small windows stay below "
            "that in the buffer"
        ),
        ahead(FIGURE_6, "amta", "log_mta", since=512),
        ahead(FIGURE_6, "amta", "daba", since=512).unless(
            "DABA moves pointers over lists, which the interpreter does faster than "
            "AMTA's levels of queues; the ⊕ here is as cheap as the paper's"
        ),
        ahead(FIGURE_6, "amta", in_store("amta"), since=512),
    ),
    weight=1.5,
)


# -- bulk eviction ---------------------------------------------------------------------------------

FIGURE_7 = Figure("Figure 7", "time of one eviction", "values evicted", "ms")
OPERATIONS = Figure(
    "⊕ of an eviction", "⊕ of one eviction and a query, exactly", "values evicted", "⊕"
)
ALGORITHMS = ("recalculate", "daba", "log_mta", "amta")
SEARCHING = ("log_mta", "amta")
_PART = 1 << 16


def evicted(swag: Any, k: int) -> Any:
    """Evict the k oldest, and query the rest."""
    if swag.bulk_evict or swag.algorithm == "recalculate":
        swag.evict(k)
    else:
        for _ in range(k):
            swag.evict()
    return swag.query()


def fill(swag: Any, values: list[int]) -> None:
    """Insert many values, in parts: a window in a store writes each of them whole."""
    for begin in range(0, len(values), _PART):
        swag.extend(values[begin : begin + _PART])


def bulk_eviction(settings: Settings, clock: Clock) -> Iterator[Point]:
    """From one value to all but one of a window; what went comes back before the next eviction."""
    n = settings.size(1 << 18, 1 << 15)
    sizes = [k for k in settings.powers(0, 18, quick=15) if k < n] + [n - 1]
    values = [i * 7919 % 1_000_003 for i in range(n)]
    yield from _operations(min(n, 1 << 13))
    with ExitStack() as stack:
        windows: dict[str, Any] = {name: aggregator(Max(), name) for name in ALGORITHMS}
        for name in SEARCHING:
            windows[in_store(name)] = aggregator(Max(), name, store=rocks(stack))
            stack.callback(windows[in_store(name)].close)
        for swag in windows.values():
            fill(swag, values)
        for share, k in clock.shares(sizes):
            runs: dict[str, list[float]] = {name: [] for name in windows}
            for name in turns(windows, settings.repeats):
                if not clock.over and not (runs[name] and share.over):
                    runs[name].append(timed(partial(evicted, windows[name], k))[0])
                    fill(windows[name], values[:k])
            for name, times in runs.items():
                point = FIGURE_7.timed(name, k, times, window=n)
                yield point if times else FIGURE_7.missing(name, k)


def _operations(n: int) -> Iterator[Point]:
    """Yield the ⊕ of the same, counted."""
    for name in ALGORITHMS:
        for k in [1 << e for e in range(0, n.bit_length() - 1, 2)]:
            counting = Counting()
            swag = counting.window(name, n)
            swag.evict(1)
            before = counting.total
            evicted(swag, min(k, n - 2))
            yield OPERATIONS.point(name, k, float(max(1, counting.total - before)))


BULK_EVICTION = Experiment(
    "001 bulk eviction",
    "evicting many at once: logarithmic for MTA, linear for DABA",
    "Interpreted windows of Max: evict k and query. DABA evicts one by one, as in the paper; "
    "windows of 2^18 (2^15 in a quick run) instead of 2^23, the trees in memory and in RocksDB. "
    "The ⊕ are counted, exactly, in a window of 2^13.",
    (FIGURE_7, OPERATIONS),
    bulk_eviction,
    source="Experiment 2, Figure 7",
    finding="DABA grows linearly and falls behind recalculation from 2^20 on; recalculation is "
    "constantly slow, since it aggregates all that is left; both MTA grow logarithmically and stay "
    "below a millisecond.",
    rules=(
        grows(FIGURE_7, "daba", "linear", since=64),
        grows(FIGURE_7, "amta", "logarithmic"),
        grows(FIGURE_7, "log_mta", "logarithmic"),
        ahead(FIGURE_7, in_store("amta"), "daba", since=4096, by=2),
        grows(OPERATIONS, "amta", "logarithmic"),
        grows(OPERATIONS, "daba", "linear", since=16),
        ahead(FIGURE_7, "amta", "daba", since=256, by=10),
    ),
)


# -- policies --------------------------------------------------------------------------------------

TABLE_2 = Figure("Table 2", "latency with policies", "aggregation", "µs a value")
Policy = Callable[[Any, Any], bool]
ONE_BY_ONE = ("daba", "recalculate")
MONOIDS: dict[str, Callable[[], Aggregation]] = {
    "Sum": lambda: Sum("v"),
    "Max": lambda: Max("v"),
    "LIS": lambda: LongestRun("v", "at"),
    "Mean": lambda: Mean("v"),
    "G. Mean": lambda: GeometricMean("v"),
    "Std. Dev.": lambda: StdDev("v"),
}


def monoid(name: str) -> Together:
    """Return what the window computes: how many, the aggregate, and the newest position."""
    return Together(count=Count(), it=MONOIDS[name](), last=Last("at"))


def policy(name: str, size: int) -> Policy:
    """Return the policy: at most `size` values; of Max and LIS none before the result's start."""

    def goes(total: Any, old: Any) -> bool:
        if total.count - old.count >= size:
            return True
        if name == "Max":
            return bool(old.it < total.it)
        return name == "LIS" and bool(old.last < total.it.start)

    return goes


class Searched:
    """The policy's boundary is found by a search in the tree."""

    most = 1 << 20

    def __init__(
        self,
        algorithm: str,
        name: str,
        rows: Sequence[Any],
        size: int,
        seconds: float,
        store: Callable[[], RocksStore] | None = None,
    ) -> None:
        self._begin(algorithm, name, size, store and store())
        self.rows, self.at, self.least = rows, 0, min(size, 1 << 12)
        self.first = timed(lambda: self.run(1))[0]
        clock = Clock(seconds)
        while self.at < size:
            self.run(min(64, size))
            if clock.over:
                raise TimeoutError(TO_FILL)

    def _begin(self, algorithm: str, name: str, size: int, store: RocksStore | None) -> None:
        self.push: Callable[[Any], Any] = window(
            monoid(name), until=policy(name, size), algorithm=algorithm, store=store
        ).push

    def run(self, events: int) -> Any:
        push, rows, size = self.push, self.rows, len(self.rows)
        for at in range(self.at, self.at + events):
            push({"v": rows[at % size], "at": at})
        self.at += events


class OneByOne(Searched):
    """The oldest value is asked about, goes, and then the next: all that DABA can do."""

    def _begin(self, algorithm: str, name: str, size: int, store: RocksStore | None) -> None:
        self.goes, self.swag = policy(name, size), aggregator(monoid(name), algorithm)
        self.held: deque[Any] = deque()
        self.push = self._push

    def _push(self, row: Any) -> Any:
        swag, held = self.swag, self.held
        swag.insert(row)
        held.append(row)
        total = swag.query()
        each = swag.aggregation
        while held and self.goes(total, each.lower(each.lift(held[0]))):
            swag.evict()
            held.popleft()
            total = swag.query()
        return total


def policies(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each aggregation with each algorithm."""
    size = settings.size(1 << 12, 1 << 10)
    rows = (settings.values(1 << 14) + 10.0).clip(0.1).tolist()
    for share, name in clock.shares(MONOIDS):
        contenders: dict[str, Make] = {
            algorithm: partial(cls, algorithm, name, rows)
            for cls, algorithms in ((Searched, SEARCHING), (OneByOne, ONE_BY_ONE))
            for algorithm in algorithms
        }
        with ExitStack() as stack:
            for each in SEARCHING:
                stored = partial(Searched, each, name, rows, store=partial(rocks, stack))
                contenders[in_store(each)] = stored
            for p in curve(TABLE_2, [size], contenders, settings, share):
                yield replace(p, x=name, more={"window": size, **p.more})


def _fastest(points: Points) -> Verdict:
    ours = points.values(TABLE_2, "amta")
    others = [points.values(TABLE_2, other) for other in ("log_mta", "daba")]
    seen = [name for name in ours if all(name in other for other in others)]
    won = [str(name) for name in seen if ours[name] <= min(other[name] for other in others)]
    if not seen:
        return TOO_FEW
    return Verdict(f"AMTA is fastest for {', '.join(won) or 'none'} of {len(seen)}", won == seen)


def _cheaper(points: Points) -> Verdict:
    """Return whether recalculation is cheap where the policy keeps the window short."""
    costs = points.values(TABLE_2, "recalculate")
    found = [costs[name] / costs["Sum"] for name in ("Max", "LIS") if {name, "Sum"} <= set(costs)]
    if not found:
        return TOO_FEW
    return Verdict(f"{', '.join(f'{r:.3f}' for r in found)} of its time for Sum", max(found) < 0.5)


POLICIES = Experiment(
    "001 policies",
    "real aggregations with slide policies",
    "window(…, until=policy) for both MTA; recalculate and DABA ask about the oldest value and "
    "evict it, again and again. Windows of 2^12 (2^10 in a quick run) instead of 2^20, which "
    "recalculation could not fill; the trees in memory, and in RocksDB.",
    (TABLE_2,),
    policies,
    source="Experiment 3, Table 2",
    finding="AMTA in memory is the fastest for all six, DABA close to it but for Max and LIS, "
    "whose policies evict many at once; recalculation is hopeless for the static windows, and "
    "second best for Max, whose window stays short.",
    rules=(
        Rule(
            "Table 2: AMTA is faster than Log MTA and DABA for each aggregation",
            _fastest,
            "finding the boundary costs Python calls of the policy, some a push; DABA asks about "
            "one value, which is enough where one goes",
        ),
        Rule(
            "Table 2: recalculation takes less than half of its time for Sum where the policy "
            "evicts in bulk (Max, LIS)",
            _cheaper,
        ),
    ),
    weight=4.0,
)


# -- memory ----------------------------------------------------------------------------------------

FIGURE_8 = Figure("Figure 8", "memory by window", "window", "MB")
LARGE = 1 << 19  # below it RocksDB still fills its write buffers
CONTENDERS = {name: f"process:{name}" for name in ("amta", "log_mta", "daba", "recalculate")}
CONTENDERS |= {in_store(name): f"rocksdb:{name}" for name in SEARCHING}


def memory(settings: Settings, clock: Clock) -> Iterator[Point]:
    """Each in processes of its own."""
    yield from memory_of(FIGURE_8, CONTENDERS, settings.powers(12, 22, quick=16), clock)


def _bounded(points: Points) -> Verdict:
    stored, local = points.line(FIGURE_8, in_store("amta")), points.line(FIGURE_8, "amta")
    if len(stored) < 3 or len(local) < 3:
        return TOO_FEW
    (x0, first), (x1, last) = stored[0], stored[-1]
    more = (last - first) / max(x1 - x0, 1) * 2**20
    in_memory = (local[-1][1] - local[0][1]) / max(local[-1][0] - local[0][0], 1) * 2**20
    found = (
        f"{more:.1f} bytes for each further value in the store, {in_memory:.1f} in memory "
        f"({last:.0f} MB at {x1:,.0f})"
    )
    if x1 < LARGE:
        return Verdict(f"{found}; windows of {LARGE:,} or more would tell", None)
    return Verdict(found, more < in_memory / 4 or last < 64)


MEMORY = Experiment(
    "001 memory",
    "flat local memory with a store",
    "Windows of Max, each in a fork of its own: by how much its private memory grows. The axes are "
    "the paper's turned round: it bounds the heap and shows how large a window fits, and Python "
    "has no bound of that kind. RocksDB's own buffers and caches are counted.",
    (FIGURE_8,),
    memory,
    source="Experiment 4, Figure 8",
    finding="In a store, windows of 2^25 fit in 512 MB of heap, where those in memory need 16 to "
    "32 GB: local memory is logarithmic with a store and linear without.",
    rules=(
        grows(FIGURE_8, "amta", "linear"),
        grows(FIGURE_8, "daba", "linear"),
        Rule(
            "Figure 8: with a store a further value costs a quarter of one in memory or less, or "
            "all of it stays below 64 MB",
            _bounded,
            "RocksDB fills its write buffers before it begins to give memory back",
        ),
    ),
)


# -- dimensions ------------------------------------------------------------------------------------

FIGURE_9 = Figure("Figure 9", "latency by dimensions", "k", "µs a value", (False, False))
STORED, TOGETHER = "amta, in a store", "amta"


def counts(k: int) -> Together:
    """Return the limit, and k counts."""
    return Together(max_size=Last(), **{f"count{i}": Sum() for i in range(1, k + 1)})


def _dimensions(window: int, stored: bool) -> Make:
    def make(k: int, seconds: float) -> Interpreted:
        options = {"store": MemoryStore()} if stored else {}
        return Interpreted("amta", counts(k), [1], window, seconds, **options)

    return make


def dimensions(settings: Settings, clock: Clock) -> Iterator[Point]:
    """k of 1 to 50."""
    window = settings.size(1 << 15, 1 << 10)
    places = [1, 10, 25, 50] if settings.quick else [1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    contenders = {TOGETHER: _dimensions(window, False), STORED: _dimensions(window, True)}
    one = 0.0
    for p in curve(FIGURE_9, places, contenders, settings, clock):
        yield p
        if p.measured and p.series == TOGETHER and p.x == 1:
            one = p.median
        if p.series == TOGETHER and one:
            yield FIGURE_9.point("k windows (computed)", p.x, one * float(p.x))


def _shared(name: str) -> Rule:
    def check(points: Points) -> Verdict:
        line = points.line(FIGURE_9, name)
        if len(line) < 3:
            return TOO_FEW
        (k0, one), (k1, many) = line[0], line[-1]
        each = (many - one) / (k1 - k0)
        return Verdict(
            f"{each:.2f} µs a dimension, {one - each:.2f} µs shared by all; {k1:.0f} together "
            f"take {many / (one * k1):.2f} of {k1:.0f} windows' time",
            many < 0.7 * one * k1,
        )

    return Rule(
        f"{FIGURE_9.name}: {name}: as many dimensions as were tried take less than 0.7 of as many "
        "windows",
        check,
        "a ⊕ of k dimensions is k calls of Python, dear against what the window itself costs",
    )


DIMENSIONS = Experiment(
    "001 dimensions",
    "k aggregations share one window",
    "Interpreted AMTA of k sums and the limit together, in memory and in the store of a "
    "dictionary; a window of 2^15 (2^10 in a quick run). The line of k windows is k times the "
    "first point, as in the paper.",
    (FIGURE_9,),
    dimensions,
    source="Experiment 5, Figure 9",
    finding="Latency grows linearly with k, 411 ns a dimension beside 4,158 ns that all share: far "
    "slower than k windows would.",
    rules=(_shared(TOGETHER), _shared(STORED)),
)


EXPERIMENTS = (LATENCY, BULK_EVICTION, POLICIES, MEMORY, DIMENSIONS)
