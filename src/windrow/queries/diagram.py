"""What notebooks show of a query and of a plan: its windows drawn, and what runs as boxes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from windrow.queries.drawing import drawing
from windrow.queries.explain import steps
from windrow.queries.plan import Plan
from windrow.windows.sketch import Sketch, together

if TYPE_CHECKING:
    from windrow.queries.query import Query

_TEXT = "font:13px/1.45 system-ui,sans-serif;color:inherit;text-align:left"
_BOX = (
    "border:1px solid rgba(128,128,128,.5);border-radius:6px;padding:6px 10px;"
    "background:rgba(128,128,128,.08);flex:1 1 12em;min-width:0;overflow-wrap:anywhere"
)
_ROW = "display:flex;flex-wrap:wrap;gap:6px;align-items:stretch;margin:4px 0"
_ARROW = '<div style="align-self:center;opacity:.6">→</div>'
_DRAWN, _BOXED, _LONGEST = 3, 12, 300  # pictures, entries of a box, letters of a text
_PRE = f"margin:0 0 6px;white-space:pre-wrap;overflow-wrap:anywhere;background:none;{_TEXT}"


def page(call: str, drawn: Sequence[str], plans: Sequence[Plan]) -> str:
    """Return what a notebook shows of a query: the call, its windows, and in a fold its plan."""
    return (
        f'<div style="{_TEXT}"><pre style="{_PRE};font-family:monospace">{_text(call, 1200)}</pre>'
        f'{"".join(drawn)}<details><summary style="cursor:pointer">what will run</summary>'
        f"{diagram(plans)}</details></div>"
    )


def pictures(queries: Sequence[Query]) -> list[str]:
    """Return the windows of each query with a line in words, of the first few."""
    drawn = [_picture(query.window.sketch(), str(query.window)) for query in queries[:_DRAWN]]
    rest = len(queries) - _DRAWN
    return [*drawn, line(f"and {rest} more")] if rest > 0 else drawn


def picture_of_sizes(queries: Sequence[Query]) -> str:
    """Return the windows of one row that several sizes give it, in one picture."""
    drawn = [
        (sketch, str(next(iter(query.window.arguments().values()))))
        for query in queries[:_BOXED]
        if (sketch := query.window.sketch()) is not None
    ]
    rest = len(queries) - _BOXED
    more = f", and {rest} more sizes" if rest > 0 else ""
    return _picture(together(drawn), f"one row's windows of each size, not to scale{more}")


def diagram(plans: Sequence[Plan]) -> str:
    """Return the steps of plans as boxes from the rows to the results; what is equal once."""
    boxes: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for plan in plans:
        for step, entries in steps(plan).items():
            for name, texts in entries.items():
                names = boxes.setdefault(step, {}).setdefault(tuple(texts), [])
                names.extend([] if name in names else [name])
    drawn = _ARROW.join(_box(step, box) for step, box in boxes.items())
    return f'<div style="{_TEXT}"><div style="{_ROW}">{drawn}</div></div>'


def _box(step: str, entries: dict[tuple[str, ...], list[str]]) -> str:
    parts = []
    for texts, names in list(entries.items())[:_BOXED]:
        lines = "".join(f"<div>{_text(text)}</div>" for text in texts)
        parts.append(f'<div style="opacity:.65">{_text(", ".join(names))}</div>{lines}')
    if len(entries) > _BOXED:
        parts.append(line(f"and {len(entries) - _BOXED} more, which explain() prints"))
    wide = ";flex-grow:2" if step == "results" else ""
    return f'<div style="{_BOX}{wide}"><b>{step}</b>{"".join(parts)}</div>'


def _picture(sketch: Sketch | None, says: str) -> str:
    return line(says) + ("" if sketch is None else drawing(sketch, says))


def line(text: str) -> str:
    """Return a line of text."""
    return f'<div style="margin:4px 0;opacity:.8">{_text(text)}</div>'


def _text(text: str, longest: int = _LONGEST) -> str:
    """Return a text to be shown, cut off where it is very long."""
    return escape(text if len(text) <= longest else f"{text[: longest - 1]}…")
