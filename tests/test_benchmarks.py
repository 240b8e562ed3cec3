"""The benchmarks of arrays and tables: what a run leaves behind, whatever the figures are."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from benchmarks import arrays, readme
from benchmarks.arrays.__main__ import main
from benchmarks.arrays.accuracy import exact_answers
from benchmarks.arrays.latency import latency_ratio, show_latency
from benchmarks.arrays.loops import Feed
from benchmarks.arrays.measuring import Section, Settings, cell
from benchmarks.tables import memory
from benchmarks.tables.__main__ import main as tables_main
from numpy.typing import NDArray

from windrow.bench import measuring
from windrow.bench.measuring import Row, measure
from windrow.bench.peers import tables as table_peers
from windrow.bench.peers.contenders import OURS as OUR_FRAMES
from windrow.bench.peers.contenders import PEERS as TABLE_PEERS
from windrow.bench.peers.contenders import Window, answers_of
from windrow.bench.peers.frames import Frames, readings
from windrow.bench.peers.libraries import COMPARISONS, OURS, PACKAGES, PEERS, Data

QUICK = Settings(quick=True, n=3000, repeats=2)


def run(tmp_path: Path, *arguments: str) -> tuple[int, Row, str]:
    """The exit status, the JSON and the Markdown of a tiny run."""
    raw, text = tmp_path / "raw.json", tmp_path / "tables.md"
    given = ["--quick", "--n", "3000", "--json", str(raw), "--markdown", str(text), *arguments]
    status = main(given)
    return status, json.loads(raw.read_text()), text.read_text()


def slowly(seconds: float) -> Callable[[], NDArray[np.float64]]:
    def call() -> NDArray[np.float64]:
        time.sleep(seconds)
        return np.ones(3)

    return call


def test_a_run_leaves_json_and_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, raw, text = run(tmp_path, "--only", "accuracy")
    assert status == 0 and raw["finished"]
    assert {"cpu", "cores", "python", "versions", "when"} <= set(raw["machine"])
    assert set(raw["machine"]["versions"]) == set(PACKAGES)
    rows = raw["sections"]["accuracy"]["rows"]
    assert {row["window"] for row in rows} == {64, 1024}
    assert "## Accuracy" in text
    out, progress = capsys.readouterr()
    assert out == text
    assert "accuracy" in progress


@pytest.mark.parametrize("question", COMPARISONS)
@pytest.mark.parametrize("peer", PEERS)
def test_each_peer_is_asked_the_same_question(question: str, peer: str) -> None:
    if peer not in COMPARISONS[question]:
        pytest.skip("no such function")
    pytest.importorskip(peer)
    data = Data(QUICK.values(500))
    calls = {name: lambda n=name: COMPARISONS[question][n](data, 16) for name in (OURS, peer)}
    results = measure(calls, repeats=1, tolerance=1e-9)
    assert {name: result["status"] for name, result in results.items()} == {OURS: "ok", peer: "ok"}


def test_what_fails_or_disagrees_is_shown_and_does_not_win() -> None:
    def fails() -> None:
        raise ValueError("no window so long")

    def missing() -> None:
        raise ImportError

    calls = {
        OURS: slowly(0.002),
        "wrong": lambda: np.zeros(3),
        "fails": fails,
        "missing": missing,
    }
    results = measure(calls, repeats=2)
    assert results["wrong"]["status"] == "disagrees" and results["wrong"]["runs_s"]
    assert results["fails"] == {"status": "failed: ValueError: no window so long"}
    assert results["missing"] == {"status": "not installed"}
    assert cell(results["wrong"], 0.0).endswith("disagrees")


def test_what_is_slow_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SLOW", 0.01)
    calls = {"fast": lambda: np.ones(3), "slow": slowly(0.02)}
    results = measure(calls, repeats=3)
    assert len(results["slow"]["runs_s"]) == 1
    assert len(results["fast"]["runs_s"]) == 3
    assert cell(results["slow"], 0.0).endswith("(once)")


def test_an_interrupted_run_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(settings: Settings) -> Iterator[Row]:
        yield {"case": "one", "figure": 1}
        raise KeyboardInterrupt

    made = Section("Cut short", interrupted, lambda rows: f"{len(rows)} row", "", lambda rows: [])
    monkeypatch.setattr(arrays, "SECTIONS", {"cut": made, "never": made})
    status, raw, text = run(tmp_path, "--only", "cut", "never")
    assert status == 130 and not raw["finished"]
    assert raw["sections"] == {"cut": {"rows": [{"case": "one", "figure": 1}], "target": ""}}
    assert "1 row" in text and "Not finished" in text


def test_a_section_that_breaks_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(settings: Settings) -> Iterator[Row]:
        yield {"case": "one"}
        raise ValueError("out of luck")

    def whole(settings: Settings) -> Iterator[Row]:
        yield {"case": "two"}

    made = [Section(f.__name__, f, lambda rows: "", "", lambda rows: []) for f in (broken, whole)]
    monkeypatch.setattr(arrays, "SECTIONS", {section.title: section for section in made})
    status, raw, text = run(tmp_path)
    assert status == 0
    assert raw["sections"]["broken"]["error"] == "failed: ValueError: out of luck"
    assert [len(found["rows"]) for found in raw["sections"].values()] == [1, 1]
    assert "out of luck" in text


@pytest.mark.parametrize("centre", [0.0, 1e8])
def test_the_exact_answers_are_exact(centre: float) -> None:
    values = QUICK.values(40, centre)
    rows = np.array([9, 39])
    for row, total, mean, deviation in zip(
        rows.tolist(),
        *(exact_answers(q, values, rows, 10) for q in ("sum", "mean", "stddev")),
        strict=True,
    ):
        window = [Fraction(v) for v in values[row - 9 : row + 1].tolist()]
        exact = sum(window, Fraction(0))
        variance = sum(((v - exact / 10) ** 2 for v in window), Fraction(0)) / 9
        for got, wanted in (
            (Fraction(total), exact),
            (Fraction(mean), exact / 10),
            (Fraction(deviation) ** 2, variance),
        ):
            assert abs(got / wanted - 1) < Fraction(1, 10**50)


def test_a_loop_is_timed_on_full_windows() -> None:
    feed = Feed("two_stacks", 8)
    values = QUICK.values(100)
    feed.fill(values[:16], budget=0.0)
    expected = np.array([values[max(0, i - 7) : i + 1].max() for i in range(100)])[84:]
    assert np.array_equal(feed(values[84 - 7 :])[7:], expected)


def test_latency_is_compared_by_the_longest_call() -> None:
    rows = [
        {"algorithm": name, "status": "ok", "round": number, "window": 8, "p50_s": 0.0,
         "p99_s": 0.0, "max_s": longest}
        for name, number, longest in (
            ("two_stacks", 1, 2.0), ("daba", 1, 1.0), ("two_stacks", "median", 1.0),
            ("daba", "median", 0.01),
        )
    ]  # fmt: skip
    assert latency_ratio(rows) == pytest.approx(0.01)
    assert latency_ratio(rows, rounds_too=True) == pytest.approx(0.5)
    assert latency_ratio(rows[:1]) is None
    shown = show_latency(rows)
    assert "| median over the rounds | 1,000,000.0 | 10,000.0 | 0.0100 |" in shown
    assert "| raw maximum of all rounds | 2,000,000.0 | 1,000,000.0 | 0.5000 |" in shown
    assert "| raw maximum of all rounds | 2,000,000.0 | – | – |" in show_latency(rows[:1])


# -- tables ----------------------------------------------------------------------------------


def test_a_run_over_tables_leaves_json_and_markdown(tmp_path: Path) -> None:
    raw, text = tmp_path / "raw.json", tmp_path / "tables.md"
    given = ["--quick", "--n", "3000", "--only", "windows"]
    assert tables_main([*given, "--json", str(raw), "--markdown", str(text)]) == 0
    report = json.loads(raw.read_text())
    assert report["finished"] and report["sections"]["windows"]["rows"]
    assert "# windrow over tables" in text.read_text()


def test_a_table_takes_its_place_in_the_readme() -> None:
    begin, end = (mark.format(readme.PLACES["tables"]) for mark in (readme.BEGIN, readme.END))
    text = f"before\n{begin}old\n{end}after\n"
    assert readme.placed(text, "tables", "new\n") == f"before\n{begin}new\n{end}after\n"
    assert readme.placed(text, "arrays", "new\n") == text


@pytest.mark.parametrize("peer", TABLE_PEERS)
@pytest.mark.parametrize("keys", [1, 7])
@pytest.mark.parametrize("window", [Window(rows=16), Window()], ids=str)
def test_each_peer_is_asked_the_same_of_tables(peer: str, keys: int, window: Window) -> None:
    pytest.importorskip(peer.partition(",")[0])
    frames = Frames(readings(2500, keys), keys)
    expected = answers_of("", OUR_FRAMES["windrow, Arrow"](frames, window, True), frames)
    found = answers_of(peer, TABLE_PEERS[peer](frames, window, True), frames)
    assert set(found) == set(expected) == {"peak", "mean", "worst"}
    for name, values in expected.items():
        assert table_peers.same(found[name], values), name


def test_what_is_long_is_measured_on_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, list[int]] = {"ours": [], "slow": [], "slower": []}
    seconds = {"ours": 1e-6, "slow": 1e-3, "slower": 2e-3}  # a row
    said: list[str] = []

    def contender(name: str) -> Callable[[Frames, Window, bool], Row]:
        def call(frames: Frames, window: Window, located: bool) -> Row:
            calls[name].append(frames.rows)
            said.append(name)
            return {"peak": np.ones(1)}

        return call

    def timed(call: Callable[[], Row]) -> tuple[float, Row]:
        made = call()
        return seconds[said[-1]] * calls[said[-1]][-1], made

    monkeypatch.setattr(table_peers, "OURS", {"ours": contender("ours")})
    monkeypatch.setattr(table_peers, "PEERS", {n: contender(n) for n in ("slow", "slower")})
    monkeypatch.setattr(table_peers, "LONG", 1.5)
    monkeypatch.setattr(table_peers, "answers_of", lambda name, made, frames: made)
    monkeypatch.setattr(table_peers, "timed", timed)
    monkeypatch.setattr(measuring, "timed", timed)
    frames = Frames(readings(2000, 1), 1)
    results = table_peers.measure(frames, frames.part(20), Window(), True, repeats=2)
    assert set(calls["ours"]) == {100, 2000} and set(calls["slower"]) == {100}
    assert calls["slow"] == [100, 100, 100, 100, 2000]  # the fastest peer, once over all rows
    assert "scaled_from" not in results["slow"] and results["slow"]["runs_s"] == [2.0]
    assert results["slower"]["scaled_from"] == 100
    assert results["slower"]["median_s"] == pytest.approx(4.0)


@pytest.mark.parametrize("keys", [1, 40])
def test_a_part_has_windows_as_long(keys: int) -> None:
    whole = Frames(readings(20_000, keys), keys)
    part = whole.part(20)
    assert part.rows == pytest.approx(1000, rel=0.4)
    if keys > 1:
        kept = set(part.table["key"].to_pylist())
        of_them = [key in kept for key in whole.table["key"].to_pylist()]
        assert sum(of_them) == part.rows


def test_memory_is_told_in_bytes() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells")
    found = memory.measured("arrow", 2000, 1, Window(rows=10))
    assert found["input"] == found["output"] == 2000 * 24
    assert found["beyond"] >= 0
