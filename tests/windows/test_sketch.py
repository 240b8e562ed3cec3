"""What is drawn of a window is what `bounds` says of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from windrow import Adwin, Max, sliding
from windrow.windows.base import Window
from windrow.windows.frames import Frame
from windrow.windows.sizes import Axis
from windrow.windows.sketch import Sketch, together
from windrow.windows.sorted_rows import SortedRows
from windrow.windows.span import Closed, Measured
from windrow.windows.zoned import Zoned

ARGUMENTS: list[dict[str, Any]] = [
    {"rows": 1},
    {"rows": 3},
    {"rows": 1000},
    {"rows": "unbounded"},
    {"rows": 4, "slide": 2},
    {"rows": 100, "slide": 30},
    {"rows": 2, "slide": 5, "gaps": True},
    {"rows": "unbounded", "slide": 3},
    {"rows": (-3, 3)},
    {"rows": (-7, -1)},
    {"rows": (2, 500)},
    {"rows": ("unbounded", -2)},
    {"rows": (-1, "unbounded")},
    {"rows": (-2, 0), "exclude": "current row"},
    {"groups": (-1, 1)},
    {"groups": (-1, 0), "exclude": "ties"},
    {"groups": ("unbounded", 0), "exclude": "group"},
    *({"range": "1 hour", "closed": closed} for closed in ("both", "left", "right", "neither")),
    {"range": "90 ms"},
    {"range": "unbounded"},
    {"range": "now"},
    {"range": 7},
    {"delta": 2.5, "closed": "left"},
    {"range": "1 month"},
    {"range": "1 day", "timezone": "Europe/Berlin"},
    {"range": ("-20 days", "-5 days")},
    {"range": (0, "1 hour"), "exclude": "ties"},
    {"range": ("-1 month", "1 week"), "timezone": "Europe/Berlin"},
    {"range": ("unbounded", "1 hour"), "exclude": "group"},
    {"range": "1 hour", "slide": "10 minutes"},
    {"range": "1 hour", "slide": "1 second"},
    {"range": "1 hour", "slide": "1 hour", "offset": "7 minutes"},
    {"range": "1 hour", "slide": "7 minutes", "offset": "1 minute"},
    {"range": 2, "slide": 5, "gaps": True},
    {"delta": 2.5, "slide": 1.25},
    {"range": "1 month", "slide": "1 month"},
    {"range": "1 week", "slide": "1 day", "timezone": "America/New_York"},
    {"range": "1 year", "slide": "1 month", "timezone": "Europe/Berlin"},
    {"gap": "30 minutes"},
    {"gap": 3},
    {"gap": "1 month", "timezone": "Europe/Berlin"},
]
# Where the rows of the user decide, what is drawn is an example.
EXAMPLES: list[dict[str, Any]] = [
    {"gap": "CASE WHEN kind = 'a' THEN '5 minutes' ELSE '1 hour' END"},
    {"until": Adwin("v")},
    {"until": Adwin("v"), "slide": 100},
    {"on": "kind = 'end'"},
    {"on": "kind = 'end'", "slide": 2},
    {"on": "kind = 'end'", "slide": 100},
]


def window_of(arguments: dict[str, Any]) -> Window:
    return sliding(order_by="t", peak=Max("v"), **arguments).window


def sketch_of(window: Window) -> Sketch:
    sketch = window.sketch()
    assert sketch is not None
    return sketch


def sorted_rows(sketch: Sketch) -> tuple[SortedRows, list[int]]:
    """Rows as the sketch has them, with those that it leaves out; and the places of its own."""
    last = int(max(sketch.rows))
    if sketch.unit == "row":
        count = np.array([0, last])
        return SortedRows(count, count), [int(n) - 1 for n in sketch.rows]
    at: Any = np.array(sketch.rows)
    places = list(range(len(at)))
    axis = Axis(tick=1, zoned=sketch.zone is not None)
    if sketch.unit == "group":
        at = np.repeat(np.arange(1, last + 1), np.arange(1, last + 1) % 2 + 1)
        places = []
        for n in sketch.rows:
            first = int(np.searchsorted(at, n))
            places.append(first + (first in places))
    elif sketch.unit == "number":
        at, axis = at.astype(float), Axis(tick=None, floating=True)
    count = np.array([0, len(at)])
    return SortedRows(count, count, at, axis), places


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_a_sketch_is_what_bounds_say(arguments: dict[str, Any]) -> None:
    window = window_of(arguments)
    sketch = sketch_of(window)
    assert not sketch.example and list(sketch.rows) == sorted(sketch.rows)
    assert 3 <= len(sketch.bars) <= 4 and len(sketch.rows) <= 24
    rows, places = sorted_rows(sketch)
    bounds = window.bounds(rows)
    parts = bounds.parts or (bounds.windows,)
    held = [
        {position for part in parts for position in range(*(int(b[i]) for b in part.bounds()))}
        for i in range(len(bounds.windows))
    ]
    if bounds.ends is None:
        of_row = dict(zip(rows.positions(bounds.beside).tolist(), held, strict=True))
        assert all(bar.row is not None for bar in sketch.bars)
        found = [of_row[places[bar.row or 0]] for bar in sketch.bars]
    else:
        of_ends = dict(zip(zip(*(e.tolist() for e in bounds.ends), strict=True), held, strict=True))
        found = [of_ends[bar.begin, bar.end] for bar in sketch.bars]
    drawn = [{places[i] for i in bar.holds(sketch.rows)} for bar in sketch.bars]
    assert drawn == [each & set(places) for each in found]
    assert any(drawn), "no row is in any window"


@pytest.mark.parametrize("arguments", EXAMPLES, ids=lambda given: str(sorted(given)))
def test_examples_say_that_they_are(arguments: dict[str, Any]) -> None:
    sketch = sketch_of(window_of(arguments))
    assert sketch.example and len(sketch.bars) >= 2
    assert all(bar.holds(sketch.rows) for bar in sketch.bars)


def test_every_kind_is_drawn() -> None:
    """A new kind says how: `Window.sketch`."""
    found, waiting = set(), [Window]
    while waiting:
        kind = waiting.pop()
        found.add(kind)
        waiting += kind.__subclasses__()
    bases = {Window, Zoned, Measured, Closed, Frame}
    plain = [k.__name__ for k in found - bases if k.sketch is Window.sketch]
    assert not sorted(k for k in plain)


def test_several_sizes_are_windows_of_one_row() -> None:
    sizes: list[dict[str, Any]] = [{"range": s} for s in ("1 hour", "1 minute", "unbounded")]
    sketch = together([(sketch_of(window_of(s)), s["range"]) for s in sizes])
    assert sketch is not None
    hour, minute, every = (bar.holds(sketch.rows) for bar in sketch.bars)
    assert set(minute) < set(hour) < set(every)
    assert len({bar.row for bar in sketch.bars}) == 1
    assert [bar.label for bar in sketch.bars] == ["1 hour", "1 minute", "unbounded"]
