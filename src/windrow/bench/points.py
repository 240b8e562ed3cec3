"""A result: who, where on the axis, and what each round gave; or why there is nothing."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

OK = "ok"
DISAGREES = "disagrees"
RATE = "a second"  # ends the unit of what is better when larger


@dataclass(frozen=True)
class Point:
    """One place of one line of a figure.

    >>> point = Point("Figure 7", "flatfat", 1024, "ns a value", (3.0, 1.0, 2.0))
    >>> point.median, point.low, point.high
    (2.0, 1.0, 3.0)
    """

    figure: str
    series: str
    x: float | str
    unit: str
    runs: tuple[float, ...] = ()
    status: str = OK
    first: float | None = None  # seconds of the first call, which may compile
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether there is a figure that may be compared."""
        return self.status == OK and bool(self.runs)

    @property
    def rate(self) -> bool:
        """Whether more is better."""
        return self.unit.endswith(RATE)

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        """The smallest of the rounds."""
        return min(self.runs)

    @property
    def high(self) -> float:
        """The largest of the rounds."""
        return max(self.runs)

    def to_dict(self) -> dict[str, Any]:
        """As it is kept."""
        made: dict[str, Any] = {
            "figure": self.figure,
            "series": self.series,
            "x": self.x,
            "unit": self.unit,
            "status": self.status,
        }
        if self.runs:
            made |= {"median": self.median, "low": self.low, "high": self.high}
            made["runs"] = list(self.runs)
        if self.first is not None:
            made["first_s"] = self.first
        return made | dict(self.more)


def missing(figure: str, series: str, x: float | str, unit: str, why: str) -> Point:
    """The point that could not be measured, and why."""
    return Point(figure, series, x, unit, status=f"not measured: {why}")


class Points:
    """The points of an experiment, and how rules and reports ask for them.

    >>> some = Points([Point("f", "a", 4, "ns", (2.0,)), Point("f", "a", 2, "ns", (1.0,))])
    >>> some.line("f", "a")
    [(2, 1.0), (4, 2.0)]
    """

    def __init__(self, points: Iterable[Point] = ()) -> None:
        self._points = list(points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def add(self, point: Point) -> None:
        """Take one more."""
        self._points.append(point)

    def of(self, figure: str, series: str | None = None) -> list[Point]:
        """Those of a figure, or of one line of it."""
        return [
            p for p in self._points if p.figure == figure and (series is None or p.series == series)
        ]

    def series(self, figure: str) -> list[str]:
        """Who is in a figure, in the order of their coming."""
        return list(dict.fromkeys(p.series for p in self.of(figure)))

    def places(self, figure: str) -> list[float | str]:
        """Where a figure has points: numbers in order, words as they came."""
        found = list(dict.fromkeys(p.x for p in self.of(figure)))
        if all(isinstance(x, int | float) for x in found):
            found.sort(key=float)
        return found

    def at(self, figure: str, series: str, x: float | str) -> Point | None:
        """One point, if there is one."""
        return next((p for p in self.of(figure, series) if p.x == x), None)

    def line(self, figure: str, series: str) -> list[tuple[float, float]]:
        """The measured points of a line, as (x, median), by x."""
        found = [(p.x, p.median) for p in self.of(figure, series) if p.measured]
        return sorted((x, y) for x, y in found if not isinstance(x, str))

    def costs(self, figure: str, series: str) -> list[tuple[float, float]]:
        """The same with rates turned into times, so that less is better."""
        rate = any(p.rate for p in self.of(figure, series))
        return [(x, 1 / y if rate else y) for x, y in self.line(figure, series)]

    def value(self, figure: str, series: str, x: float | str) -> float | None:
        """The median of one point, None if there is none."""
        point = self.at(figure, series, x)
        return point.median if point is not None and point.measured else None
