"""Figures as SVG, made by hand: a line a contender, medians with a whisker from min to max.

Colours are classes of the page (c0, c1, …), so that a figure follows its light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from bench.points import Figure, Point, Points

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 46
COLOURS = 8
ROW = 20  # height of a place in a figure of words
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def draw(figure: Figure, points: Points) -> str:
    """Return the figure; nothing where no point was measured."""
    shown = [p for p in points.of(figure) if p.runs]
    if not shown:
        return ""
    if any(isinstance(p.x, str) for p in shown):
        return _words(figure, points, shown)
    return _lines(figure, points, shown)


def legend(figure: Figure, points: Points) -> list[tuple[int, str]]:
    """Return the number of its colour and the name of each line that has a point."""
    names = points.series(figure)
    drawn = {p.series for p in points.of(figure) if p.runs}
    return [(i % COLOURS, name) for i, name in enumerate(names) if name in drawn]


class Axis:
    """A scale from values to pixels.

    >>> axis = Axis([1, 100], 0, 200, logarithmic=True)
    >>> axis(10), axis.ticks()
    (100.0, [1, 2, 5, 10, 20, 50, 100])
    """

    def __init__(
        self, values: Sequence[float], start: float, stop: float, *, logarithmic: bool
    ) -> None:
        self.logarithmic = logarithmic and min(values) > 0
        low, high = min(values), max(values)
        if not self.logarithmic:
            low = min(low, 0.0)
        if low == high:
            low, high = (low / 2, high * 2) if self.logarithmic else (low, low + 1)
        self.low, self.high, self.start, self.stop = low, high, start, stop

    def __call__(self, value: float) -> float:
        """Return where a value lies."""
        scale: Callable[[float], float] = math.log if self.logarithmic else float
        share = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self, most: int = 9) -> list[float]:
        """Round numbers on the axis: powers, or steps of 1, 2 or 5."""
        if self.logarithmic:
            for base in (1, 2, 10, 100, 1000):
                ticks = self._powers(base)
                if len(ticks) <= most:
                    return ticks if len(ticks) > 1 else [self.low, self.high]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > most:
            step *= 2.5 if str(step).lstrip("0.")[0] == "2" else 2
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step) + 1)]

    def _powers(self, base: int) -> list[float]:
        """1, 2 and 5 of each decade for base 1, 1 and 3 for base 2, else the powers of base."""
        within = {1: (1, 2, 5), 2: (1, 3)}.get(base, (1,))
        base = max(base, 10)
        first = math.floor(math.log(self.low, base))
        last = math.ceil(math.log(self.high, base))
        ticks: list[float] = []
        for e in range(first, last + 1):
            unit = base**e if e >= 0 else float(base) ** e
            ticks += [unit * digit for digit in within]
        margin = 1 + 1e-9
        return [tick for tick in ticks if self.low / margin <= tick <= self.high * margin]


def doublings(places: Sequence[float], most: int = 9) -> list[float]:
    """Ticks where the places are: all of them, or every second, third …

    >>> doublings([1, 2, 4, 8, 16], most=3)
    [1, 4, 16]
    """
    step = math.ceil(len(places) / most)
    return list(places[::step])


def short(value: float) -> str:
    """Return a number for an axis.

    >>> short(4096), short(0.25), short(2_000_000), short(1 << 20)
    ('4096', '0.25', '2M', '2^20')
    """
    if value >= 1 << 13 and float(value).is_integer() and int(value).bit_count() == 1:
        return f"2^{int(value).bit_length() - 1}"
    if value >= 10_000:
        for size, prefix in PREFIXES:
            if value >= size:
                return f"{value / size:.3g}{prefix}"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _lines(figure: Figure, points: Points, shown: list[Point]) -> str:
    places = sorted({float(p.x) for p in shown})
    across = Axis(places, LEFT, WIDTH - RIGHT, logarithmic=figure.logarithmic[0])
    heights = [y for p in shown for y in (p.low, p.high)]
    up = Axis(heights, HEIGHT - BOTTOM, TOP, logarithmic=figure.logarithmic[1])
    parts = []
    for tick in up.ticks():
        parts.append(_grid(LEFT, up(tick), WIDTH - RIGHT, up(tick)))
        parts.append(_text(LEFT - 6, up(tick) + 4, short(tick), "end"))
    for tick in doublings(places) if across.logarithmic else across.ticks():
        parts.append(_grid(across(tick), TOP, across(tick), HEIGHT - BOTTOM))
        parts.append(_text(across(tick), HEIGHT - BOTTOM + 16, short(tick), "middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, figure.x, "middle", "name"))
    parts.append(
        f'<text class="name" text-anchor="middle" transform="translate(14,{HEIGHT / 2 - 16:.0f}) '
        f'rotate(-90)">{escape(figure.unit)}</text>'
    )
    for colour, name in legend(figure, points):
        parts.append(_line(colour, name, across, up, points.of(figure, name)))
    return _svg(HEIGHT, figure, parts)


def _line(colour: int, name: str, across: Axis, up: Axis, points: list[Point]) -> str:
    drawn = sorted((p for p in points if p.runs), key=lambda p: float(p.x))
    path = " ".join(f"{across(float(p.x))},{up(p.median)}" for p in drawn)
    parts = [f'<polyline points="{path}"/>'] if len(drawn) > 1 else []
    for p in drawn:
        x = across(float(p.x))
        parts.append(f'<line x1="{x}" y1="{up(p.low)}" x2="{x}" y2="{up(p.high)}"/>')
        parts.append(f'<circle cx="{x}" cy="{up(p.median)}" r="2.6">{_tooltip(p)}</circle>')
    return f'<g class="c{colour}" aria-label="{escape(name)}">{"".join(parts)}</g>'


def _words(figure: Figure, points: Points, shown: list[Point]) -> str:
    """Places that are words: a row each, the values along it."""
    places = [x for x in points.places(figure) if any(p.x == x for p in shown)]
    left = min(260, 16 + 7 * max(len(str(x)) for x in places))
    height = TOP + ROW * len(places) + BOTTOM
    values = [v for p in shown for v in (p.low, p.high)]
    across = Axis(values, left, WIDTH - RIGHT, logarithmic=figure.logarithmic[1])
    parts = []
    for tick in across.ticks():
        parts.append(_grid(across(tick), TOP, across(tick), height - BOTTOM))
        parts.append(_text(across(tick), height - BOTTOM + 16, short(tick), "middle"))
    parts.append(_text((left + WIDTH - RIGHT) / 2, height - 8, figure.unit, "middle", "name"))
    rows = {x: TOP + ROW * (i + 0.5) for i, x in enumerate(places)}
    for x, y in rows.items():
        parts.append(_grid(left, y, WIDTH - RIGHT, y))
        parts.append(_text(left - 8, y + 4, str(x), "end"))
    for colour, name in legend(figure, points):
        marks = []
        for p in points.of(figure, name):
            if p.runs:
                y = rows[p.x]
                marks.append(
                    f'<line x1="{across(p.low)}" y1="{y}" x2="{across(p.high)}" y2="{y}"/>'
                    f'<circle cx="{across(p.median)}" cy="{y}" r="4">{_tooltip(p)}</circle>'
                )
        parts.append(f'<g class="c{colour}" aria-label="{escape(name)}">{"".join(marks)}</g>')
    return _svg(height, figure, parts)


def _svg(height: float, figure: Figure, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(figure.title)}">{"".join(parts)}</svg>'
    )


def _tooltip(point: Point) -> str:
    spread = f" ({point.low:.4g}–{point.high:.4g})" if len(point.runs) > 1 else ""
    what = f"{point.series} at {point.x}: {point.median:.4g}{spread} {point.unit}"
    return f"<title>{escape(what)}</title>"


def _grid(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
