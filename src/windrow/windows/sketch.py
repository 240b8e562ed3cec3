"""What to draw of a window: some rows on an axis, and the windows that slide over them.

    ●  ●     ●  ●        ●     rows
    [────────]                 windows: where they begin and end, and which of their ends are in
          [────]               them; where each row has a result, also which row it is
             [──────────]

A kind of window makes one by `Window.sketch`, from its arguments alone. Where a function or an
expression of the user's decides, it is an `example`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from windrow.windows.durations import NANOSECONDS
from windrow.windows.sizes import CLOSED, UNBOUNDED

Place = int | float
Unit = Literal["row", "group", "number", "time", "apart"]
START = 1_767_607_200 * NANOSECONDS["s"]  # Monday 5 January 2026, 10:00
MIDNIGHT = 1_767_571_200 * NANOSECONDS["s"]
_ALL_DRAWN = 14  # rows that are all drawn
_FAR = 4  # times the least distance of two edges: there are no rows between two that are further


@dataclass(frozen=True)
class Bar:
    """A window from `begin` to `end`; None is the first row there is, or the last."""

    begin: Place | None
    end: Place | None
    closed: str = "both"
    row: int | None = None  # the number of the row whose result it is
    without: tuple[int, ...] = ()  # the numbers of rows that are left out
    label: str = ""

    def holds(self, rows: Sequence[Place]) -> list[int]:
        """Return the numbers of the rows that the window holds.

        >>> Bar(1, 3, closed="right", without=(3,)).holds([1, 2, 3, 3])
        [1, 2]
        """
        from_start, to_end = CLOSED[self.closed]
        numbers = []
        for i, at in enumerate(rows):
            behind = self.begin is None or at > self.begin or (from_start and at == self.begin)
            before = self.end is None or at < self.end or (to_end and at == self.end)
            if behind and before and i not in self.without:
                numbers.append(i)
        return numbers


@dataclass(frozen=True)
class Sketch:
    """Rows at places on an axis, in their order, and windows over them.

    Places are numbers of rows or of groups, nanoseconds of UTC, or numbers of the order column;
    "apart" stands for distances that are not drawn to scale.
    """

    rows: tuple[Place, ...]
    bars: tuple[Bar, ...]
    unit: Unit
    zone: str | None = None
    example: bool = False  # whether the user's rows, not the arguments, say where windows are


def counted(
    windows: Sequence[tuple[int, int, int | None]], last: int = 0, example: bool = False
) -> Sketch:
    """Return windows (first row, last row, row of the result), rows counted from 1.

    Of many rows, those are drawn where windows begin and end.

    >>> counted([(1, 1000, 1000), (2, 1001, 1001)]).rows
    (1, 2, 3, 999, 1000, 1001, 1002)
    """
    last = max(last, *(max(end, row or 0) for _, end, row in windows))
    edges = {row for window in windows for row in window if row is not None}
    if last <= _ALL_DRAWN:
        shown = list(range(1, last + 1))
    else:
        near = sorted({n + by for n in edges for by in (-1, 0, 1)} | {1, 2})
        shown = [n for n in near if 1 <= n <= last + 1]
    place = {n: i for i, n in enumerate(shown)}
    bars = tuple(Bar(a, b, row=None if r is None else place[r]) for a, b, r in windows)
    return Sketch(tuple(shown), bars, "row", example=example)


def between(start: Any, end: Any) -> Sketch:
    """Return the windows of three rows, from so many rows before or behind each to so many others.

    >>> [(bar.begin, bar.end) for bar in between(-1, UNBOUNDED).bars]
    [(1, 5), (2, 5), (3, 5)]
    """
    low, high = (0 if count == UNBOUNDED else count for count in (start, end))
    first = max(1, 1 - low) if start != UNBOUNDED else max(2, 2 - high)
    last = first + 2 + max(0, high, low) + (end == UNBOUNDED)
    windows = [
        (1 if start == UNBOUNDED else n + low, last if end == UNBOUNDED else n + high, n)
        for n in range(first, first + 3)
    ]
    return counted(windows, last)


def grouped(sketch: Sketch, exclude: str | None) -> Sketch:
    """Return a sketch with groups of equal order for rows; every second has two rows."""
    rows = tuple(n for n in sketch.rows for _ in range(1 + int(n) % 2))
    bars = [replace(bar, row=rows.index(sketch.rows[bar.row or 0])) for bar in sketch.bars]
    return excluding(replace(sketch, rows=rows, bars=tuple(bars), unit="group"), exclude)


def excluding(sketch: Sketch, exclude: str | None) -> Sketch:
    """Return a sketch whose windows leave out the current row, its group, or its ties."""
    bars = []
    for bar in sketch.bars:
        assert bar.row is not None
        group = [i for i, at in enumerate(sketch.rows) if at == sketch.rows[bar.row]]
        out = {"current row": [bar.row], "group": group}.get(exclude or "", [])
        if exclude == "ties":
            out = [i for i in group if i != bar.row]
        bars.append(replace(bar, without=tuple(out)))
    return replace(sketch, bars=tuple(bars))


def measured(
    edge: Callable[[Place, int], Place | None],
    reach: tuple[Place, Place],
    unit: Unit,
    closed: str = "both",
    days: bool = False,
) -> Sketch:
    """Return windows that reach so far back and ahead; `edge(t, 0)` and `(t, 1)` are their ends.

    Rows lie a quarter of the longer reach apart, so that some are just at an end; with `days`, some
    whole days, as the calendar's have no one length.
    """
    back, ahead = reach
    step: Place = max(back, ahead) / 4 or 1
    start: Place = 0
    if unit == "time":
        day = NANOSECONDS["d"]
        step = max(1, int(max(back, ahead)) // 4) if max(back, ahead) else NANOSECONDS["min"]
        step = max(1, step // day) * day if days and step > day else step
        # the end of a month shows best what a month is
        start = START if step * 4 < day else MIDNIGHT + (26 * day if days else 0)
    first = 4 if back else 0
    current = [first, first + 2, first + 5]
    reached = current[-1] + (4 if ahead else 0)
    places = [n for n in (0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13) if n <= reached]
    places.insert(places.index(current[1]), current[1])  # two rows of equal order
    rows = [start + step * n for n in places]
    bars = []
    for n in current:
        at = start + step * n
        bars.append(Bar(edge(at, 0), edge(at, 1), closed, rows.index(at)))
    return Sketch(tuple(rows), tuple(bars), unit)


def hopping(windows: Sequence[tuple[Place, Place]], unit: Unit) -> Sketch:
    """Return windows [start, end), with rows between edges that are not far apart."""
    edges = sorted({edge for window in windows for edge in window})
    least = min(b - a for a, b in pairwise(edges))
    rows: list[Place] = []
    for i, (a, b) in enumerate(pairwise(edges)):
        shares = (0, 0.4, 0.8) if i % 2 else (0.3, 0.7)
        if b - a <= _FAR * least:
            rows += [a + (b - a) * s if unit == "number" else a + int((b - a) * s) for s in shares]
    bars = tuple(Bar(begin, end, "left") for begin, end in windows)
    return Sketch(tuple(sorted(set(rows))), bars, unit)


def together(sizes: Sequence[tuple[Sketch, str]]) -> Sketch | None:
    """Return one row's windows of several sizes, which are too different to be drawn to scale."""
    bars: list[Bar] = []
    for sketch, label in sizes:
        bar = sketch.bars[-1]
        assert bar.row is not None
        at = sketch.rows[bar.row]
        begin, end = (None if edge is None else edge - at for edge in (bar.begin, bar.end))
        bars.append(replace(bar, begin=begin, end=end, label=label))
    edges = sorted(
        {0, *(edge for bar in bars for edge in (bar.begin, bar.end) if edge is not None)}
    )
    place: dict[Place | None, Place] = {edge: 2 * i for i, edge in enumerate(edges)}
    rows = sorted([place[0], *range(-1, 2 * len(edges), 2)])
    row = rows.index(place[0])
    for i, bar in enumerate(bars):
        left_out = (row,) if bar.row in bar.without else ()
        begin, end = place.get(bar.begin), place.get(bar.end)
        bars[i] = replace(bar, begin=begin, end=end, row=row, without=left_out)
    return Sketch(tuple(rows), tuple(bars), "apart") if bars else None
