"""The demo: what is compared and how, the page, and the whole of it."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser import QUIET, browser_path
from tests.cli.conftest import Command
from windrow.cli.demo.agreement import compare, rank_errors
from windrow.cli.demo.arrivals import CLOSING, Arrivals, arrive, without_closing
from windrow.cli.demo.command import as_dict, summary, write_files
from windrow.cli.demo.questions import LATENESS, QUANTILES, QUESTIONS
from windrow.cli.demo.run import Comparison, Findings, Timed
from windrow.samples.plugs import readings

MICROS = 60_000_000


def micros(table: pa.Table) -> np.ndarray:
    return table.column("ts").cast(pa.int64()).to_numpy()


# -- agreement -------------------------------------------------------------------------------

VALUES = st.lists(
    st.tuples(
        st.floats(-1e9, 1e9), st.integers(-5, 5), st.lists(st.floats(0, 9), min_size=2, max_size=2)
    ),
    min_size=1,
    max_size=20,
)


def answers(rows: list[tuple[float, int, list[float]]]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table({"k": range(len(rows)), "f": columns[0], "i": columns[1], "l": columns[2]})


@given(VALUES, st.randoms(use_true_random=False))
def test_the_same_rows_in_another_order_agree(rows: list, random: object) -> None:
    table = answers(rows)
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found = compare(table, table.take(order), ("k",), ("f", "i", "l"))
    assert found.holds and found.says == "exactly" and found.rows == len(rows)


@given(VALUES, st.data())
def test_one_other_value_is_found(rows: list, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    f, i, values = rows[at]
    changed = data.draw(
        st.sampled_from([(f + max(1.0, abs(f)), i, values), (f, i + 1, values), (f, i, [9.5, 1.0])])
    )
    other = [*rows[:at], changed, *rows[at + 1 :]]
    found = compare(answers(rows), answers(other), ("k",), ("f", "i", "l"))
    assert not found.holds and found.differing == 1


def test_missing_rows_nulls_and_roundings() -> None:
    table = pa.table({"k": [1, 2], "f": [1.0, None]})
    assert compare(table, table, ("k",), ("f",)).holds
    assert not compare(table, table.slice(1), ("k",), ("f",)).holds
    other = pa.table({"k": [1, 2], "f": [1.0 + 1e-12, None]})
    found = compare(table, other, ("k",), ("f",))
    assert found.holds and found.says == "within 1e-12"
    assert not compare(table, other, ("k",), ("f",), close=1e-13).holds
    assert not compare(table, pa.table({"k": [1, 3], "f": [1.0, None]}), ("k",), ("f",)).holds


def with_percentiles(table: pa.Table, values: list[list[float]]) -> pa.Table:
    at = table.column_names.index("percentiles")
    return table.set_column(at, "percentiles", pa.array(values, pa.list_(pa.float64())))


def test_ranks_are_those_of_the_values() -> None:
    rows = readings(2000, houses=2)
    results = QUESTIONS[2].query(rows)
    house, times, load = rows["house_id"].to_numpy(), micros(rows), rows["load"].to_numpy()
    exact = []
    for row in results.to_pylist():
        begin, end = (int(row[n].timestamp()) * 1_000_000 for n in ("window_start", "window_end"))
        inside = load[(house == row["house_id"]) & (times >= begin) & (times < end)]
        exact.append([float(np.quantile(inside, q, method="inverted_cdf")) for q in QUANTILES])
    assert rank_errors(rows, with_percentiles(results, exact), QUANTILES).max() == 0
    nothing = with_percentiles(results, [[0.0] * 3] * len(exact))
    assert np.allclose(rank_errors(rows, nothing, QUANTILES), QUANTILES)


# -- arrivals --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [60_000, 90_000])
def test_rows_are_kept_or_too_late_for_every_window(tmp_path: Path, rows: int) -> None:
    table = readings(rows)
    came = arrive(table, tmp_path / "in", files=6, lateness=LATENESS)
    files = sorted((tmp_path / "in").iterdir())
    assert len(files) == came.files == 7
    stamps = [file.stat().st_mtime for file in files]
    assert stamps == sorted(set(stamps))
    from pyarrow import parquet

    newest, late = None, 0
    for file in files[:-1]:
        times = micros(parquet.read_table(file))
        if newest is not None:
            watermark = newest - 10 * MICROS
            behind = times[times < watermark]
            assert (behind + 60 * MICROS <= watermark).all()
            late += len(behind)
        newest = max(newest or 0, times.max())
    assert late == came.late > 0
    assert came.kept.num_rows == rows - late
    for file in files[-1:]:
        (row,) = parquet.read_table(file).to_pylist()
        assert (
            row["plug_id"] == CLOSING and micros(parquet.read_table(file))[0] > newest + 70 * MICROS
        )
    both = pa.table({"plug_id": [CLOSING, 3], "x": [1, 2]})
    assert without_closing(both)["x"].to_pylist() == [2]


# -- the page --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """As if Spark had run it."""
    table = readings(30_000)
    comparisons = []
    for question in QUESTIONS:
        results = question.query(table)
        same = compare(results, results, question.keys, question.results)
        runs = Timed(results, 0.5), Timed(results, 2.0), Timed(results, 9.0, late=3)
        comparisons.append(Comparison(question, *runs, same, same))
    return Findings(table, Arrivals(tmp_path_factory.mktemp("in"), 8, table, 3), comparisons)


@pytest.fixture(scope="module")
def page(findings: Findings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    paths = write_files(findings, folder, 61.0)
    assert [path.name for path in paths] == ["index.html", "chart.png", "chart.svg"]
    assert all(path.stat().st_size > 10_000 for path in paths)
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    return paths[0]


class Seen(HTMLParser):
    """What a page holds, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not (value or "").startswith("#"):
                self.fetched.append(f"{tag} {name}={value}")


def test_the_page_needs_no_network(page: Path) -> None:
    text = page.read_text("utf-8")
    seen = Seen()
    seen.feed(text)
    assert seen.fetched == []
    assert "<script" not in text and "@import" not in text and "url(http" not in text
    assert seen.tags.count("svg") == 1 and seen.tags.count("details") == 3
    assert "prefers-color-scheme: dark" in text and "currentColor" in text
    assert "they agree" in text and "4.0× as fast" in text
    for question in QUESTIONS:
        assert question.says.replace("'", "&#39;") in text
        assert "maxima, compiled" in text


def test_the_table_and_the_json_tell_the_same(findings: Findings) -> None:
    text = summary(findings)
    told = as_dict(findings, 61.0)
    assert told["agree"] is True and told["rows_late"] == 3
    for line, query in zip(text.splitlines()[1:4], told["queries"], strict=True):
        assert line.startswith(query["name"]) and f"{query['answers']:,}" in line
        assert line.count("yes, exactly") == 2
    assert "3 rows came more than 10 minutes late" in text


def test_late_rows_that_were_not_counted_are_no_agreement(findings: Findings) -> None:
    one = findings.comparisons[0]
    other = replace(one, stream=replace(one.stream, late=4))
    assert findings.stream_agrees
    assert not replace(findings, comparisons=[other]).stream_agrees


# A browser's own window is never as narrow as a telephone, so the page is shown in a frame. Its
# measures are the text of an attribute, which --dump-dom shows.
FRAME = """<body style="margin: 0"><iframe id="frame" width="{width}" height="2400"
style="border: 0" srcdoc="{page}"></iframe><script>
addEventListener("load", () => {{
  const page = document.getElementById("frame").contentDocument;
  const sizes = (what) => Array.from(page.querySelectorAll(what), (element) => {{
    const box = element.getBoundingClientRect();
    return [box.width, box.height];
  }});
  document.body.dataset.measured = JSON.stringify({{
    rows: sizes("table tr"), bars: sizes(".bar i"), chart: sizes(".card > svg"),
    lines: sizes("svg path"), texts: sizes("svg text"), width: page.documentElement.scrollWidth,
  }});
}});</script></body>"""


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., str]:
    """Run a browser that is found with some options on a page; what it writes to stdout."""
    browser = browser_path()

    def command(page: Path, *options: str) -> str:
        profile = tempfile.mkdtemp(dir=tmp_path)
        done = subprocess.run(
            [browser, *QUIET, f"--user-data-dir={profile}", *options, page.as_uri()],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ":CONSOLE" not in done.stderr, done.stderr
        return done.stdout

    return command


@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_in_a_browser(
    page: Path, tmp_path: Path, browse: Callable[..., str], width: int
) -> None:
    frame = tmp_path / "frame.html"
    text = html.escape(page.read_text("utf-8"))
    frame.write_text(FRAME.format(width=width, page=text), "utf-8")
    document = browse(frame, "--window-size=1280,2400", "--dump-dom")
    (measures,) = re.findall(r'data-measured="(.*?)"', document)
    measured = json.loads(html.unescape(measures))
    assert measured["width"] == width  # nothing runs out at the side
    assert len(measured["rows"]) == 1 + len(QUESTIONS) and len(measured["bars"]) == 6
    for name in ("rows", "bars", "chart"):
        assert all(wide > 0 and high > 0 for wide, high in measured[name]), name
    ((wide, high),) = measured["chart"]
    assert wide > 300 and 0.5 < high / wide < 0.8
    assert len(measured["lines"]) > 6 and len(measured["texts"]) > 15
    shot = tmp_path / "shot.png"
    browse(frame, f"--window-size={width},2400", f"--screenshot={shot}")
    image = pytest.importorskip("matplotlib.image")
    pixels = (image.imread(shot)[:, :, :3] * 255).astype(int)
    colours = {tuple(c) for c in pixels[::3, ::3].reshape(-1, 3)}
    assert len(colours) > 100  # text, lines and bars, not an empty page
    assert near(colours, (0xE4, 0x57, 0x2E)), "the peak's line and windrow's bars"
    assert near(colours, (0x8A, 0x94, 0xA6)), "Spark's bars"


def near(colours: set[tuple[int, ...]], wanted: tuple[int, int, int]) -> bool:
    return any(max(abs(a - b) for a, b in zip(c, wanted, strict=True)) < 12 for c in colours)


@pytest.mark.slow
def test_the_demo_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "windrow.cli", "demo", "--rows", "60000", "--json", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["agree"] is True and told["rows"] == 60_000
    assert all(q["stream_agrees"] and q["spark_agrees"] for q in told["queries"])
    assert {q["stream_rows_late"] for q in told["queries"]} == {told["rows_late"]}
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "chart.png",
        "chart.svg",
        "index.html",
    ]
    assert re.search(r"windrow \d", (tmp_path / "out" / "index.html").read_text("utf-8"))


def test_java_is_looked_for_before_anything_is_made(
    windrow: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def make(*_: object) -> None:
        raise AssertionError("readings were made")

    monkeypatch.setattr("windrow.cli.demo.command.run_all", make)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    out = tmp_path / "out"
    done = windrow("demo", "--output", str(out))
    assert done.code == 1 and "Spark needs Java 17 or newer, and there is none" in done.err
    assert not out.exists()
