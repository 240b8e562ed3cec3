"""A drawing of windows as inline SVG: rows on an axis, and the windows that slide over them.

It has no scripts and no styles of its own, and takes the colour of the text around it, so that it
is to be read in light and in dark notebooks. A long stretch without rows is cut out of the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import pairwise
from statistics import median
from zoneinfo import ZoneInfo

from windrow.windows.durations import NANOSECONDS
from windrow.windows.sketch import Bar, Place, Sketch

_WIDTH, _LEFT, _RIGHT = 570, 34, 388  # the picture; from where to where its axis goes
_TOP, _LINE = 30, 24  # where the rows lie, and how high each window is
_DOT = 3.5
_MARK = "#e4572e"  # of the current row
_FAR = 6  # times the distance that places usually have: cut out
_LETTER = 6.2  # the width of a letter, about
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def drawing(sketch: Sketch, says: str) -> str:
    """Return a picture of windows, which `says` describes in words.

    >>> from windrow import Max, sliding
    >>> drawing(sliding(rows=3, peak=Max("load")).window.sketch(), "the last 3 rows")[:26]
    '<svg viewBox="0 0 570 154"'
    """
    x, cuts = _scale(sketch)
    named = _names(sketch)
    lane = "rows, for instance" if sketch.example else "rows"
    height = _TOP + _LINE * (len(sketch.bars) + 1) + 28
    base = height - 26
    held = {i for bar in sketch.bars for i in bar.holds(sketch.rows)}
    rows = []
    for i, at in enumerate(sketch.rows):
        ties = i - sketch.rows.index(at)  # rows before it at the same place, which lie below it
        rows.append(_dot(x[at], _TOP - 9 * ties, i in held))
    bars = [
        _bar(sketch, bar, x, named, _TOP + _LINE * (i + 1)) for i, bar in enumerate(sketch.bars)
    ]
    breaks = [
        f'<path d="M{at - 6:.0f} {y + 5}l4 -10m4 10l4 -10" stroke="currentColor"/>'
        for at in cuts
        for y in (_TOP, base)
    ]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(says)}" '
        f'style="display:block;width:100%;max-width:{_WIDTH}px;height:auto" font-size="12" '
        f'font-family="system-ui,sans-serif" fill="currentColor" stroke="none">'
        f"<title>{escape(says)}</title>"
        f'<g stroke="currentColor" stroke-opacity=".35"><path d="M{_LEFT - 8} {_TOP}H{_RIGHT + 8}'
        f'M{_LEFT - 8} {base}H{_RIGHT + 8}"/></g>'
        f'<text x="{_RIGHT + 18}" y="{_TOP + 4}" fill-opacity=".7">{lane}</text>'
        f"{''.join(rows)}{''.join(bars)}{''.join(breaks)}{_ticks(sketch, x, named, base)}</svg>"
    )


def _edges(sketch: Sketch) -> set[Place]:
    """Return where windows begin and end."""
    ends = (end for bar in sketch.bars for end in (bar.begin, bar.end))
    return {end for end in ends if end is not None}


def _dot(x: float, y: float, filled: bool) -> str:
    look = "" if filled else ' fill="none" stroke="currentColor"'
    return f'<circle cx="{x:.0f}" cy="{y}" r="{_DOT}"{look}/>'


def _bar(
    sketch: Sketch, bar: Bar, x: Mapping[Place, float], named: Callable[[Place], str], y: int
) -> str:
    """Return a window: a bracket or a parenthesis at each end, its rows, and whose it is."""
    begin = _LEFT - 8 if bar.begin is None else x[bar.begin]
    end = _RIGHT + 8 if bar.end is None else x[bar.end]
    if bar.row is not None and bar.closed == "both":  # around the dots, which have a width
        begin, end = begin - 6, end + 6
    low, high = y - 7, y + 7
    shape = f'<rect x="{begin:.0f}" y="{low}" width="{max(0, end - begin):.0f}" height="14"/>'
    ends = ""
    for edge, at, inwards, sides in (
        (bar.begin, begin, 4, ("both", "left")),
        (bar.end, end, -4, ("both", "right")),
    ):
        if edge is None:
            continue
        if bar.closed in sides:
            ends += f"M{at + inwards:.0f} {low}h{-inwards}V{high}h{inwards}"
        else:
            ends += f"M{at + inwards:.0f} {low}Q{at - inwards:.0f} {y} {at + inwards:.0f} {high}"
    dots = "".join(_dot(x[sketch.rows[i]], y, True) for i in bar.holds(sketch.rows))
    current = ""
    if bar.row is not None:
        at = x[sketch.rows[bar.row]]
        ring = f'fill="none" stroke="{_MARK}" stroke-width="2"'
        current = f'<circle cx="{at:.0f}" cy="{y}" r="5.5" {ring}/>'
    return (
        f'<g fill-opacity=".13">{shape}</g><path d="{ends}" fill="none" stroke="currentColor"/>'
        f"{dots}{current}"
        f'<text x="{_RIGHT + 18}" y="{y + 4}">{escape(_label(sketch, bar, named))}</text>'
    )


def _label(sketch: Sketch, bar: Bar, named: Callable[[Place], str]) -> str:
    """Return whose window it is, in words."""
    if bar.label:
        return bar.label
    if bar.row is not None:
        kind = f"{sketch.unit} " if sketch.unit in ("row", "group") else ""
        return f"of {kind}{named(sketch.rows[bar.row])}"
    assert bar.begin is not None and bar.end is not None
    right = "]" if bar.closed == "both" else ")"
    return f"[{named(bar.begin)}, {named(bar.end)}{right}"


def _ticks(
    sketch: Sketch, x: Mapping[Place, float], named: Callable[[Place], str], base: int
) -> str:
    """Return the names of rows or of edges below the axis, as many as have room."""
    if sketch.unit == "apart":
        ticks = {sketch.rows[bar.row]: "the row" for bar in sketch.bars if bar.row is not None}
    else:
        counted = sketch.unit in ("row", "group")
        places = {*sketch.rows} if counted else _edges(sketch)
        ticks = {place: named(place) for place in sorted(places)}
    texts, free = "", -1e9
    for place, text in ticks.items():
        middle, half = x[place], len(text) * _LETTER / 2
        if middle - half > free + 6:
            free = middle + half
            texts += (
                f'<path d="M{middle:.0f} {base}v5" stroke="currentColor"/><text x="{middle:.0f}" '
                f'y="{base + 18}" text-anchor="middle" fill-opacity=".7">{escape(text)}</text>'
            )
    return texts


def _scale(sketch: Sketch) -> tuple[dict[Place, float], list[float]]:
    """Return where each place lies in the picture, and where the axis is cut."""
    places = sorted({*sketch.rows, *_edges(sketch)})
    steps = [b - a for a, b in pairwise(places)] or [1]
    usual = median(steps)
    far = [step > _FAR * usual for step in steps]
    drawn = [2 * usual if cut else step for step, cut in zip(steps, far, strict=True)]
    unit = (_RIGHT - _LEFT) / (sum(drawn) or 1)
    at: dict[Place, float] = {places[0]: float(_LEFT)}
    cuts = []
    for (a, b), step, cut in zip(pairwise(places), drawn, far, strict=False):
        at[b] = at[a] + step * unit
        if cut:
            cuts.append((at[a] + at[b]) / 2)
    return at, cuts


def _names(sketch: Sketch) -> Callable[[Place], str]:
    """Return the function that names a place: a row's number, a number, a date, a time of day."""
    if sketch.unit in ("row", "group"):
        return str
    if sketch.unit != "time":
        return lambda at: f"{at:g}"
    zone = UTC if sketch.zone is None else ZoneInfo(sketch.zone)
    rows = [sketch.rows[bar.row] for bar in sketch.bars if bar.row is not None]
    places = sorted({*_edges(sketch), *rows})  # what is named
    day, second = NANOSECONDS["d"], NANOSECONDS["s"]
    long, years = (places[-1] - places[0] >= days * day for days in (2, 300))

    def name(at: Place) -> str:
        whole, rest = divmod(int(at), second)
        local = (_EPOCH + timedelta(seconds=whole)).astimezone(zone)
        clock = f"{local:%H:%M}"
        if any(int(place) % NANOSECONDS["min"] for place in places) and not long:
            clock = f"{local:%H:%M:%S}" + (f".{rest:09}".rstrip("0") if rest else "")
        if not long:
            return clock
        date = f"{local.day} {local:{'%b %Y' if years else '%b'}}"
        return date if (local.hour, local.minute) == (0, 0) else f"{date} {clock}"

    return name
