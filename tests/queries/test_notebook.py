"""What notebooks show: windows drawn, plans as diagrams; light, dark, small, and escaped."""

from __future__ import annotations

import html
import pickle
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from tests.queries.test_explain import QUERIES
from tests.windows.test_sketch import ARGUMENTS, EXAMPLES
from windrow import Count, Max, Mean, StdDev, Sum, shared, sliding, streaming
from windrow.queries.explain import entries
from windrow.queries.plan import plan_of

FIVE: Any = {
    "n": Count(), "peak": Max("load"), "mean": Mean("load"), "sum": Sum("load"),
    "deviation": StdDev("load"),
}  # fmt: skip
TEN = ["1 minute", "5 minutes", "10 minutes", "30 minutes", "1 hour", "3 hours", "12 hours",
       "1 day", "7 days", "30 days"]  # fmt: skip
COLOURS = {"currentColor", "none", "#e4572e"}
VOID = ("path", "circle", "rect")


class Read(HTMLParser):
    """The text of a piece of HTML, and whether all its elements end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert not self.open
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "style", "link", "img", "iframe")
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("src", "href", "id", "class")
            assert "http" not in (value or "") and "url(" not in (value or "")
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(value: Any) -> str:
    """What a notebook shows, of a size that a notebook can hold many of."""
    text = value._repr_html_()
    assert len(text.encode()) <= 15_000
    for svg in re.findall("<svg.*?</svg>", text, re.DOTALL):
        for element in ElementTree.fromstring(svg).iter():
            assert {element.get(n, "none") for n in ("fill", "stroke")} <= COLOURS
    return str(text)


@pytest.mark.parametrize("name", QUERIES)
def test_the_diagram_says_what_explain_prints(name: str) -> None:
    query = QUERIES[name]
    text = Read(shown(query)).text
    for each in getattr(query, "queries", [query]):
        for said in entries(plan_of(each)).values():
            if not hasattr(query, "queries"):
                assert all(" ".join(line.split()) in text for line in said), said
        assert str(each.window) in text
    told = Read(shown(query.explain())).text
    for line in query.explain().splitlines() if not hasattr(query, "queries") else ():
        assert " ".join(line[max(10, line.find("  ")) :].split()) in told


@pytest.mark.parametrize("arguments", [*ARGUMENTS, *EXAMPLES], ids=lambda given: str(sorted(given)))
def test_every_window_is_drawn(arguments: dict[str, Any]) -> None:
    query = sliding(order_by="ts", peak=Max("load"), **arguments)
    text = shown(query)
    (svg,) = re.findall("<svg.*?</svg>", text, re.DOTALL)
    picture = ElementTree.fromstring(svg)
    width = float(picture.attrib["viewBox"].split()[2])
    for element in picture.iter():
        for name in ("cx", "x"):
            assert 0 <= float(element.get(name, 0)) <= width
        if element.tag == "text":
            letters = len("".join(element.itertext())) * 6.2
            share = 0.5 if element.get("text-anchor") == "middle" else 1
            assert float(element.attrib["x"]) + letters * share <= width + 12
    (marks,) = {len(b.attrib) for b in picture.iter("rect")}
    assert marks == 4
    assert html.escape(str(query.window)) in svg


def test_sizes_share_a_picture_and_what_is_equal_is_said_once() -> None:
    query = sliding(partition_by="plug", order_by="ts", range=TEN, **FIVE)
    text = shown(query)
    assert text.count("<svg") == 1 and "30 days" in text
    assert "peak_1min, peak_5min" in Read(text).text
    assert text.count("maxima, compiled") == 1
    shown(query.explain())


def test_many_results_and_queries_stay_small() -> None:
    many = {f"peak_of_a_long_name_{i}": Max(f"column_{i}") for i in range(200)}
    text = shown(sliding(rows=3, **many))
    assert "and 188 more, which explain() prints" in text
    several = [sliding(rows=n, **FIVE) for n in range(1, 40)]
    assert "and 36 more" in shown(shared(*several))
    assert "and 28 more sizes" in shown(sliding(rows=list(range(1, 41)), **FIVE))


def test_texts_are_escaped() -> None:
    nasty = "<script>alert('x')</script>&\""
    query = sliding(
        {nasty: Max("v")},
        partition_by=nasty + "2", order_by="ts", gap=f"CASE WHEN k = '{nasty[:8]}' THEN '1 h' END",
        where=f"k <> '{nasty[:8]}'",
    )  # fmt: skip
    text = shown(query)
    assert "<script" not in text and nasty in html.unescape(text)
    assert Read(text).text


def test_with_a_frame_and_as_a_stream() -> None:
    query = sliding(order_by="ts", range="1 hour", lateness="5 minutes", peak=Max("load"))
    frame = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "load": ["a", "b"]})
    told = query.explain(frame)
    assert "taken for floats" not in shown(told) and "taken for floats" in shown(query)
    assert Read(shown(told)).text in Read(shown(told.plans[0])).text
    assert pickle.loads(pickle.dumps(told)) == told == str(told)
    assert "a key without rows" in shown(streaming(query, idle="7 days"))
