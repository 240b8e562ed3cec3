"""The demo: what is compared and how, the page, and the whole of it."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.browser import QUIET, browser_path
from tests.cli.conftest import Command
from windrow.cli.demo.agreement import compare
from windrow.cli.demo.arrivals import CLOSING, arrive, without_closing
from windrow.cli.demo.command import (
    engines,
    kill_in_words,
    race_in_words,
    write_files,
)
from windrow.cli.demo.job import LATE
from windrow.cli.demo.questions import LATENESS, MANY, QUESTIONS
from windrow.cli.demo.run import Comparison, Findings, Job, Kill, Race, as_stream
from windrow.cli.failures import INTERRUPTED, Failed
from windrow.samples.plugs import readings
from windrow.windows.sizes import Axis

MICROS = 60_000_000


def micros(table: pa.Table) -> np.ndarray:
    return table.column("ts").cast(pa.int64()).to_numpy()


# -- agreement -------------------------------------------------------------------------------

VALUES = st.lists(st.tuples(st.floats(-1e9, 1e9), st.integers(-5, 5)), min_size=1, max_size=20)


def answers(rows: list[tuple[float, int]]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table({"k": range(len(rows)), "f": columns[0], "i": columns[1]})


@given(VALUES, st.randoms(use_true_random=False))
def test_the_same_rows_in_another_order_agree(rows: list, random: object) -> None:
    table = answers(rows)
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found = compare(table, table.take(order), ("k",), ("f", "i"))
    assert found.holds and found.says == "exactly" and found.rows == len(rows)


@given(VALUES, st.data())
def test_one_other_value_is_found(rows: list, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    f, i = rows[at]
    changed = data.draw(st.sampled_from([(f + max(1.0, abs(f)), i), (f, i + 1)]))
    other = [*rows[:at], changed, *rows[at + 1 :]]
    found = compare(answers(rows), answers(other), ("k",), ("f", "i"))
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


# -- arrivals --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [60_000, 90_000])
def test_rows_are_kept_or_too_late_for_every_window(tmp_path: Path, rows: int) -> None:
    table = readings(rows)
    came = arrive(table, tmp_path / "in", files=6, lateness=LATENESS)
    files = sorted((tmp_path / "in").iterdir())
    assert len(files) == came.files == 7
    stamps = [file.stat().st_mtime for file in files]
    assert stamps == sorted(set(stamps))
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
def findings() -> Findings:
    """As if Spark had run it."""
    queries = [
        Comparison(q.name, 29_997, 0.25, 2.0, True, "exactly", True, "exactly") for q in QUESTIONS
    ]
    race = Race(2000, 2000 * len(MANY.results), 0.5, 8.0, True, "exactly")
    return Findings(30_000, 3, 30_000, queries, race, Kill(7, committed=2, begun=3, rows_late=3))


@pytest.fixture(scope="module")
def page(findings: Findings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    table = readings(30_000)
    results = {question.name: question.query(table) for question in QUESTIONS}
    paths = write_files(findings, table, results, folder, 61.0)
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
    # the chart for a screen and for a telephone, and the windows of each query
    assert seen.tags.count("svg") == 2 + 3 and seen.tags.count("details") == 3
    assert "prefers-color-scheme: dark" in text and "currentColor" in text
    assert "the same rows</b>" in text and "16.0×" in text and "Nothing is lost" in text
    for question in (*QUESTIONS, MANY):
        assert question.says.replace("'", "&#39;") in text
        assert "maxima, compiled" in text


def test_the_words_and_the_json_tell_the_same(findings: Findings) -> None:
    told = asdict(findings)
    assert told["rows_late"] == told["kill"]["rows_late"] == 3
    for line, query in zip(
        engines(findings.queries).splitlines()[1:], told["queries"], strict=True
    ):
        assert line.startswith(query["name"]) and f"{query['answers']:,}" in line
        assert "0.25 s" in line and "2.00 s" in line and line.endswith("yes, exactly")
    race = race_in_words(findings.race)
    assert "windrow 0.5 s, Spark's own functions 8.0 s: 16.0 times as fast" in race
    assert f"{told['race']['numbers']:,} numbers: yes, exactly" in race
    assert told["race"]["numbers"] == 2000 * 5 * 10
    words = kill_in_words(findings)
    assert "29,997 readings have their result, and 3 came more than 10 minutes late" in words
    assert "30,000 of 30,000, nothing is lost, nothing is there twice" in words


def test_what_is_lost_or_differs_is_told(findings: Findings) -> None:
    first, second = findings.queries
    assert findings.engines_agree and findings.agree
    for other in (
        replace(findings, queries=[replace(first, stream_agrees=False), second]),
        replace(findings, queries=[first, replace(second, batch_agrees=False)]),
        replace(findings, rows_out=29_999),
        replace(findings, kill=replace(findings.kill, rows_late=2)),
        replace(findings, kill=replace(findings.kill, rows_late=4)),
    ):
        assert not other.engines_agree and not other.agree
        assert "nothing is lost" not in kill_in_words(other)
    slower = replace(findings.race, windrow_seconds=16.0)
    assert "2.0 times as long" in race_in_words(slower)
    wrong = replace(findings, race=replace(findings.race, agrees=False))
    assert wrong.engines_agree and not wrong.agree


def test_rows_that_a_stream_marks_as_late_are_counted_apart(tmp_path: Path) -> None:
    question = QUESTIONS[0]
    own = question.query(readings(2000))
    marks = [i % 100 == 0 for i in range(own.num_rows)]
    streamed = own.append_column(LATE, pa.array(marks))
    parquet.write_table(streamed, tmp_path / f"{question.name}-streamed.parquet")
    same, rows, late = as_stream(question, own, tmp_path)
    assert (same.differing, rows, late) == (20, 2000, 20)
    same, *_ = as_stream(question, own.filter(pa.array(marks, pa.bool_())).slice(0, 0), tmp_path)
    assert not same.holds


def test_spark_s_own_functions_are_asked_the_same() -> None:
    """Every result of the large query has its function and its window in Spark's SQL."""
    for result in MANY.results:
        assert f" AS {result}" in MANY.spark_sql
    assert [name for query in MANY.query.queries for name in query.parts] == list(MANY.results)
    spans = {int(s) for s in re.findall(r"BETWEEN (\d+) PRECEDING", MANY.spark_sql)}
    axis = Axis(tick=1000)
    assert spans == {query.window.reach(axis) for query in MANY.query.queries}


def test_a_job_that_cannot_start_is_told_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with Job(tmp_path, verbose=False) as job, pytest.raises(Failed, match="Spark needs Java 17"):
        job.until("warm")
    with pytest.raises(ProcessLookupError):
        os.killpg(job.process.pid, 0)


# A browser's own window is never as narrow as a telephone, so the page is shown in a frame. Its
# measures are the text of an attribute, which --dump-dom shows.
FRAME = """<body style="margin: 0"><iframe id="frame" width="{width}" height="2400"
style="border: 0" srcdoc="{page}"></iframe><script>
addEventListener("load", () => {{
  const frame = document.getElementById("frame");
  const page = frame.contentDocument;
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  const sizes = (what) => Array.from(page.querySelectorAll(what), (element) => {{
    const box = element.getBoundingClientRect();
    return [box.width, box.height];
  }});
  document.body.dataset.measured = JSON.stringify({{
    rows: sizes("table tr"), bars: sizes(".bar i"), chart: sizes(".card > svg"),
    lines: sizes("svg path"), texts: sizes("svg text"), width: page.documentElement.scrollWidth,
    wider: Array.from(page.body.querySelectorAll("*")).filter((element) =>
      element.getBoundingClientRect().right > frame.width
      || (element instanceof frame.contentWindow.HTMLElement && element.clientWidth > 0
        && element.scrollWidth > element.clientWidth + 1)
    ).map((element) => element.outerHTML.slice(0, 80)),
    dark: frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches,
    paper: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    ink: frame.contentWindow.getComputedStyle(page.body).color,
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


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (420, False), (420, True)])
def test_the_page_in_a_browser(
    page: Path, tmp_path: Path, browse: Callable[..., str], width: int, dark: bool
) -> None:
    frame = tmp_path / "frame.html"
    text = html.escape(page.read_text("utf-8"))
    frame.write_text(FRAME.format(width=width, page=text), "utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    document = browse(frame, "--window-size=1280,2400", scheme, "--dump-dom")
    (measures,) = re.findall(r'data-measured="(.*?)"', document)
    measured = json.loads(html.unescape(measures))
    assert measured["width"] == width and measured["wider"] == []  # nothing runs out at the side
    assert measured["dark"] is dark
    paper, ink = (sum(map(int, re.findall(r"\d+", measured[n])[:3])) for n in ("paper", "ink"))
    assert (paper < 150 and ink > 600) if dark else (paper > 700 and ink < 150)
    headed = [size for size in measured["rows"] if size[1] > 0]
    assert len(headed) == len(QUESTIONS) + (width > 640) and len(measured["bars"]) == 2
    assert all(wide > 0 and high > 0 for wide, high in measured["bars"])
    ((wide, high),) = [size for size in measured["chart"] if size[0] > 0]
    assert wide > 300 and (0.5 < high / wide < 0.8 if width > 640 else 1 < high / wide < 2)
    assert len(measured["lines"]) > 6 and len(measured["texts"]) > 15
    shot = tmp_path / "shot.png"
    browse(frame, f"--window-size={width},2400", scheme, f"--screenshot={shot}")
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
    assert all(q["stream_agrees"] and q["batch_agrees"] for q in told["queries"])
    assert told["race"]["agrees"] and told["race"]["numbers"] == 30_000 * 50
    killed = told["kill"]
    assert 1 <= killed["committed"] <= killed["begun"] <= killed["micro_batches"]
    assert killed["rows_late"] == told["rows_late"] > 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "chart.png",
        "chart.svg",
        "index.html",
    ]
    assert re.search(r"windrow \d", (tmp_path / "out" / "index.html").read_text("utf-8"))


@pytest.mark.slow
def test_ctrl_c_ends_the_demo_and_what_it_started_without_a_word(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "windrow.cli", "demo", "--rows", "60000", "-o", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "in this process" in line:
                break
        time.sleep(5)  # Spark is starting
        started = jobs(process.pid)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(60) == INTERRUPTED
    assert started and not any(Path(f"/proc/{pid}").exists() for pid in started)
    assert "Traceback" not in said
    assert not any((tmp_path / "out").iterdir())


def jobs(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_java_is_looked_for_before_anything_is_made(
    windrow: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def make(*_: object) -> None:
        raise AssertionError("readings were made")

    monkeypatch.setattr("windrow.cli.demo.command.make_readings", make)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    out = tmp_path / "out"
    done = windrow("demo", "--output", str(out))
    assert done.code == 1 and "Spark needs Java 17 or newer, and there is none" in done.err
    assert not out.exists()
