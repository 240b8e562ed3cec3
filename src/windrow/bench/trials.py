"""Lines of a figure: each contender at each place, in rounds, for as long as there is time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from windrow.bench.clock import TIME_IS_UP, Clock
from windrow.bench.measuring import failure, rounds, timed
from windrow.bench.points import RATE, Point, missing
from windrow.bench.settings import Settings

NANOSECONDS = 1e9
PATIENCE = 40  # runs: what takes longer at a place is left out of the larger ones


class Trial(Protocol):
    """A window that is ready to slide."""

    least: int  # events of the shortest run that shows all of an algorithm's work
    most: int  # events of the longest
    first: float  # seconds of its first call

    def run(self, events: int) -> Any:
        """Slide by so many events."""


Make = Callable[[int, float], Trial]  # at a place, with so many seconds to get ready


def curve(
    figure: str,
    places: Sequence[int],
    contenders: Mapping[str, Make],
    clock: Clock,
    settings: Settings,
    *,
    unit: str = "ns a value",
    scale: float = NANOSECONDS,
) -> Iterator[Point]:
    """The time an event of each contender at each place, or their rate; the small places first.

    Whoever takes longer than its share of the time is left out of the larger places.
    """
    gone: dict[str, str] = {}
    first: dict[str, float] = {}
    for i, x in enumerate(places):
        here = clock.share(1, of=len(places) - i)
        each = min(here.left / len(contenders), max(0.5, PATIENCE * settings.a_run))
        enough = max(each, 0.5)
        ready: dict[str, tuple[Trial, int]] = {}
        runs: dict[str, list[float]] = {}
        for name, make in contenders.items():
            if clock.over:
                gone.setdefault(name, TIME_IS_UP)
            if name in gone:
                yield missing(figure, name, x, unit, gone[name])
                continue
            try:
                trial = make(x, 2 * each)
                first.setdefault(name, trial.first)  # of later ones it is loaded already
                a_run = min(settings.a_run, each / (settings.repeats + 2))
                events, seconds = calibrated(trial, a_run)
            except TimeoutError as error:
                gone[name] = f"{error}"
                yield missing(figure, name, x, unit, gone[name])
                continue
            except Exception as error:
                yield missing(figure, name, x, unit, failure(error))
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
            more = {"events": events}
            found = tuple(_figure(seconds / events, unit, scale) for seconds in runs[name])
            yield Point(figure, name, x, unit, found, first=first[name], more=more)


def _figure(seconds: float, unit: str, scale: float) -> float:
    """The time of an event in the unit, or how many fit in a second."""
    return 1 / seconds / scale if unit.endswith(RATE) else seconds * scale


def calibrated(trial: Trial, seconds: float) -> tuple[int, float]:
    """How many events take about so long, and the seconds of the last attempt."""
    events = trial.least
    while True:
        took = timed(partial(trial.run, events))[0]
        if took >= seconds / 3 or events >= trial.most:
            return events, took
        factor = min(64.0, max(2.0, 0.8 * seconds / max(took, 1e-7)))
        events = min(trial.most, int(events * factor))
