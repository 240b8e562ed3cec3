"""Measures the time of calls, in rounds of shuffled order, of sliding windows, of single events."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.experiment import Clock, Settings
from bench.points import DISAGREES, NOT_MEASURED, OK, TIME_IS_UP, Figure, Place, Point

SLOW = 20.0  # seconds; what takes longer is run once
FAR = 30.0  # times the fastest; so is what takes longer than that, and a fifth of a second
PATIENCE = 40  # runs: what takes longer at a place is left out of the larger ones
Call = Callable[[], Any]
Calls = Mapping[str, Call]


def timed(call: Call) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def turns(names: Collection[str], repeats: int) -> Iterator[str]:
    """Yield each name once a round, every round in another order.

    Who comes after whom matters: a call that finds memory which the one before gave back is spared
    the page faults of its result, nearly half the time of a sum.
    """
    for turn in range(repeats):
        yield from random.Random(turn).sample(list(names), len(names))


def rounds(calls: Calls, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each call in each round, or in the first of them if it is slow.

    >>> {name: len(runs) for name, runs in rounds({"a": int, "b": str}, 3).items()}
    {'a': 3, 'b': 3}
    """
    runs: dict[str, list[float]] = {name: [] for name in calls}
    for name in turns(calls, repeats):
        fastest = min((min(times) for times in runs.values() if times), default=SLOW)
        if not runs[name] or max(runs[name]) < min(SLOW, max(0.2, FAR * fastest)):
            runs[name].append(timed(calls[name])[0])
    return runs


def failure(error: Exception) -> str:
    """Return in a line why there is no value."""
    from windrow.errors import Unsupported

    if isinstance(error, ImportError):
        return "not installed"
    if isinstance(error, Unsupported):
        return "not supported"
    first_line = str(error).partition("\n")[0]
    if isinstance(error, (TimeoutError, ArithmeticError)):  # it says what came of it
        return first_line
    return f"failed: {type(error).__name__}: {first_line}"[:120]


# -- calls that should give the same result ------------------------------------------------------


@dataclass
class Timing:
    """The seconds of a call: the first one, which may compile, and those of the rounds."""

    status: str = OK
    first: float | None = None
    runs: list[float] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        return self.first is not None

    @property
    def median(self) -> float:
        """The median of the rounds; infinite for what failed or disagrees, which cannot win."""
        return statistics.median(self.runs) if self.status == OK and self.runs else float("inf")

    def point(self, figure: Figure, series: str, x: Place, rows: float = 1.0) -> Point:
        """Return the time of one of `rows` as a point."""
        if not self.runs:
            return figure.missing(series, x, self.status.removeprefix(NOT_MEASURED))
        row_seconds = [seconds / rows for seconds in self.runs]
        return figure.timed(series, x, row_seconds, self.first, self.status, **self.more)


def close(a: Any, b: Any, tolerance: float = 1e-9) -> bool:
    """Whether two arrays of numbers agree; a shorter one is compared with the first values."""
    a, b = (np.ma.filled(np.ma.asarray(x, np.float64), np.nan) for x in (a, b))
    return np.allclose(a, b[: a.size], rtol=tolerance, atol=tolerance, equal_nan=True)


def checked(calls: Calls, same: Callable[[Any, Any], bool]) -> dict[str, Timing]:
    """Call each once, and compare its result with that of the first."""
    timings: dict[str, Timing] = {}
    reference = None
    for name, call in calls.items():
        try:
            first, result = timed(call)
            reference = result if reference is None else reference
            timings[name] = Timing(OK if same(result, reference) else DISAGREES, first)
        except Exception as error:
            timings[name] = Timing(failure(error))
    return timings


def measure(calls: Calls, repeats: int, tolerance: float = 1e-9) -> dict[str, Timing]:
    """Time calls that should give the same numbers as the first of them.

    What fails is not timed; what disagrees is timed, and marked. What is slow runs once.
    """
    timings = checked(calls, partial(close, tolerance=tolerance))
    ready = {name: timing.first for name, timing in timings.items() if timing.first is not None}
    runs = rounds({name: calls[name] for name in ready if ready[name] <= SLOW}, repeats)
    for name, first in ready.items():
        timings[name].runs = runs.get(name) or [first]
    return timings


def run_ready(timings: Mapping[str, Timing], calls: Calls, repeats: int) -> None:
    """Time the calls whose first call went well, in rounds, and keep their times in `timings`."""
    ready = {name: calls[name] for name, timing in timings.items() if timing.ready}
    for name, runs in rounds(ready, repeats).items():
        timings[name].runs = runs


# -- windows that slide --------------------------------------------------------------------------


class Trial(Protocol):
    """A window that is ready to slide."""

    least: int  # events of the shortest run that shows all of an algorithm's work
    most: int  # events of the longest
    first: float  # seconds of its first call

    def run(self, events: int) -> Any:
        """Slide by so many events."""


Make = Callable[[int, float], Trial]  # at a place, with so many seconds to get ready


def curve(
    figure: Figure,
    places: Sequence[int],
    contenders: Mapping[str, Make],
    settings: Settings,
    clock: Clock,
) -> Iterator[Point]:
    """Yield the time an event of each contender at each place, or their rate; small places first.

    Whoever takes longer than its share of the time is left out of the larger places.
    """
    gone: dict[str, str] = {}
    first: dict[str, float] = {}
    for place, x in clock.shares(places):
        share = min(place.left / len(contenders), max(0.5, PATIENCE * settings.run_seconds))
        enough = max(share, 0.5)
        ready: dict[str, tuple[Trial, int]] = {}
        runs: dict[str, list[float]] = {}
        for name, make in contenders.items():
            if clock.over:
                gone.setdefault(name, TIME_IS_UP)
            if name in gone:
                yield figure.missing(name, x, gone[name])
                continue
            try:
                trial = make(x, 2 * share)
                first.setdefault(name, trial.first)  # of later ones it is loaded already
                a_run = min(settings.run_seconds, share / (settings.repeats + 2))
                events, seconds = calibrated(trial, a_run)
            except TimeoutError as error:
                gone[name] = str(error)
                yield figure.missing(name, x, gone[name])
                continue
            except Exception as error:
                yield figure.missing(name, x, failure(error))
                continue
            ready[name] = trial, events
            if seconds > 3 * enough:  # it ran once, and that must do
                runs[name] = [seconds]
            if seconds > enough:
                gone[name] = f"a run over {x:,} took {seconds:.1f} s, and a larger one takes longer"
        calls = {
            name: partial(trial.run, events)
            for name, (trial, events) in ready.items()
            if name not in runs
        }
        runs |= rounds(calls, settings.repeats)
        for name, (_, events) in ready.items():
            seconds_each = [seconds / events for seconds in runs[name]]
            yield figure.timed(name, x, seconds_each, first[name], events=events)


def calibrated(trial: Trial, seconds: float) -> tuple[int, float]:
    """Return how many events take about so long, and the seconds of the last attempt."""
    events = trial.least
    while True:
        took = timed(partial(trial.run, events))[0]
        if took >= seconds / 3 or events >= trial.most:
            return events, took
        factor = min(64.0, max(2.0, 0.8 * seconds / max(took, 1e-7)))
        events = min(trial.most, int(events * factor))


# -- single events -------------------------------------------------------------------------------

EVENT = "ns an event"
STATISTICS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "mean": lambda ns: float(ns.mean()),
    "deviation": lambda ns: float(ns.std()),
    "p50": lambda ns: float(np.percentile(ns, 50)),
    "p99": lambda ns: float(np.percentile(ns, 99)),
    "p99.9": lambda ns: float(np.percentile(ns, 99.9)),
    "max": lambda ns: float(ns.max()),
}
TYPICAL = "max, medians"  # of each event's median over the rounds: without the operating system
Step = Callable[[Any], Any]
Events = Callable[[Sequence[Any]], NDArray[np.float64]]  # the time of each


def latencies(
    figure: Figure,
    contenders: Mapping[str, Events],
    values: Sequence[Any],
    settings: Settings,
    clock: Clock,
    stretches: Figure | None = None,
) -> Iterator[Point]:
    """Yield the statistics of each contender's events, as places of a figure.

    A contender returns the nanoseconds of each event of a new, full window. Every round has the
    same values: what an algorithm does at an event is the same in each round, and what the
    operating system does is not. The second figure has the longest event of each of 200 stretches.
    """
    seen: dict[str, list[NDArray[np.float64]]] = {name: [] for name in contenders}
    why: dict[str, str] = {}
    for name in turns(contenders, settings.repeats):
        if clock.over or name in why:
            continue
        try:
            seen[name].append(contenders[name](values))
        except Exception as error:
            why[name] = failure(error)
    for name, times in seen.items():
        if not times:
            for x in (*STATISTICS, TYPICAL):
                yield figure.missing(name, x, why.get(name, TIME_IS_UP))
            continue
        for x, statistic in STATISTICS.items():
            yield figure.point(name, x, *map(statistic, times), events=len(values))
        medians = np.median(times, axis=0)
        yield figure.point(name, TYPICAL, float(medians.max()), events=len(values))
        if stretches:
            for stretch in np.array_split(np.arange(medians.size), min(200, medians.size)):
                longest = float(medians[stretch].max())
                yield stretches.point(name, int(stretch[0]) + 1, longest)


def nanoseconds(step: Step, values: Sequence[Any]) -> NDArray[np.float64]:
    """Return each event's time; garbage is not collected meanwhile, as it would hit anyone."""
    times = np.empty(len(values))
    clock = time.perf_counter_ns
    gc.collect()
    gc.disable()
    try:
        for i, value in enumerate(values):
            start = clock()
            step(value)
            times[i] = clock() - start
    finally:
        gc.enable()
    return times
