"""Points, the results: who, where on the axis, the value of each round, or why there is none."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

OK = "ok"
DISAGREES = "disagrees"
TIME_IS_UP = "the time of this run was up"
NOT_MEASURED = "not measured: "
RATE = "a second"  # ends the unit of what is better when larger
SCALES = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0, "million": 1e6, "thousand": 1e3}
Place = float | str


@dataclass(frozen=True)
class Figure:
    """A figure: its name, what is on its axes, and how it is drawn.

    >>> figure = Figure("Figure 7", "cost of a value", "window", "ns a value")
    >>> figure.timed("flatfat", 1024, [3e-9, 1e-9, 2e-9]).median
    2.0
    """

    name: str
    title: str
    x: str
    unit: str
    logarithmic: tuple[bool, bool] = (True, True)  # x, y
    contest: bool = True  # the lines are contenders, and the best is marked

    def point(self, series: str, x: Place, *runs: float, **more: Any) -> Point:
        """Return a point of values in the figure's unit."""
        return Point(self.name, series, x, self.unit, runs, more=more)

    def timed(
        self,
        series: str,
        x: Place,
        seconds: Iterable[float],
        first: float | None = None,
        status: str = OK,
        **more: Any,
    ) -> Point:
        """Return a point of times in seconds, turned into the figure's unit."""
        scale = SCALES[self.unit.split()[0]]
        rate = self.unit.endswith(RATE)
        runs = tuple(1 / s / scale if rate else s * scale for s in seconds)
        return Point(self.name, series, x, self.unit, runs, status, first, more)

    def missing(self, series: str, x: Place, why: str = TIME_IS_UP) -> Point:
        """Return the point that could not be measured, and why."""
        return Point(self.name, series, x, self.unit, status=f"{NOT_MEASURED}{why}")


@dataclass(frozen=True)
class Point:
    """One place of one line of a figure.

    >>> point = Point("Figure 7", "flatfat", 1024, "ns a value", (3.0, 1.0, 2.0))
    >>> point.median, point.low, point.high
    (2.0, 1.0, 3.0)
    """

    figure: str
    series: str
    x: Place
    unit: str
    runs: tuple[float, ...] = ()
    status: str = OK
    first: float | None = None  # seconds of the first call, which may compile
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether there is a value that may be compared."""
        return self.status == OK and bool(self.runs)

    @property
    def why(self) -> str:
        return self.status.removeprefix(NOT_MEASURED)

    @property
    def rate(self) -> bool:
        """Whether more is better."""
        return self.unit.endswith(RATE)

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        return min(self.runs)

    @property
    def high(self) -> float:
        return max(self.runs)

    def to_dict(self) -> dict[str, Any]:
        kept: dict[str, Any] = {
            "figure": self.figure,
            "series": self.series,
            "x": self.x,
            "unit": self.unit,
            "status": self.status,
        }
        if self.runs:
            kept |= {"median": self.median, "low": self.low, "high": self.high}
            kept["runs"] = list(self.runs)
        if self.first is not None:
            kept["first_s"] = self.first
        return kept | dict(self.more)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Point:
        """Return the point that was kept so.

        >>> point = Point("f", "a", 1, "ns", (2.0, 3.0), first=0.5, more={"events": 7})
        >>> Point.from_dict(point.to_dict()) == point
        True
        """
        known = {"figure", "series", "x", "unit", "status", "runs", "first_s"}
        more = {k: v for k, v in kept.items() if k not in known | {"median", "low", "high"}}
        runs, first = tuple(kept.get("runs", ())), kept.get("first_s")
        names = kept["figure"], kept["series"], kept["x"], kept["unit"]
        return cls(*names, runs, kept["status"], first, more)


class Points:
    """The points of an experiment, and how rules and reports look them up.

    >>> f = Figure("f", "", "x", "ns")
    >>> Points([f.point("a", 4, 2.0), f.point("a", 2, 1.0)]).line(f, "a")
    [(2, 1.0), (4, 2.0)]
    """

    def __init__(self, points: Iterable[Point] = ()) -> None:
        self._points = list(points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def add(self, point: Point) -> Point:
        self._points.append(point)
        return point

    def of(self, figure: Figure, series: str | None = None) -> list[Point]:
        """Return the points of a figure, or of one line of it."""
        return [
            p
            for p in self._points
            if p.figure == figure.name and (series is None or p.series == series)
        ]

    def series(self, figure: Figure) -> list[str]:
        """Return the lines of a figure, in the order in which they came."""
        return list(dict.fromkeys(p.series for p in self.of(figure)))

    def places(self, figure: Figure) -> list[Place]:
        """Return where a figure has points: numbers in order, words as they came."""
        places = list(dict.fromkeys(p.x for p in self.of(figure)))
        if all(isinstance(x, int | float) for x in places):
            places.sort(key=float)
        return places

    def at(self, figure: Figure, series: str, x: Place) -> Point | None:
        return next((p for p in self.of(figure, series) if p.x == x), None)

    def value(self, figure: Figure, series: str, x: Place) -> float | None:
        """Return the median of one point; None if it was not measured."""
        return self.values(figure, series).get(x)

    def values(self, figure: Figure, series: str) -> dict[Place, float]:
        """Return the median at each place of a line that was measured."""
        return {p.x: p.median for p in self.of(figure, series) if p.measured}

    def line(self, figure: Figure, series: str) -> list[tuple[float, float]]:
        """Return the measured points of a line as (x, median), by x."""
        values = self.values(figure, series).items()
        return sorted((x, y) for x, y in values if not isinstance(x, str))

    def costs(self, figure: Figure, series: str) -> dict[Place, float]:
        """Return the values of a line with rates turned into times, so that less is better."""
        values = self.values(figure, series)
        return {x: 1 / y for x, y in values.items()} if figure.unit.endswith(RATE) else values

    def ratios(self, figure: Figure, series: str, base: str) -> dict[Place, float]:
        """Return the cost of `base` by that of `series`, where both were measured."""
        theirs = self.costs(figure, base)
        ours = self.costs(figure, series)
        return {x: theirs[x] / y for x, y in ours.items() if x in theirs}
