"""The peers are asked the same as we are, and their times are taken fairly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import measure as measuring
from bench.experiment import Settings
from bench.measure import measure
from bench.peers import tables as table_peers
from bench.peers.accuracy import exact_results, relative_errors
from bench.peers.contenders import OURS as OUR_FRAMES
from bench.peers.contenders import PEERS as TABLE_PEERS
from bench.peers.contenders import Frames, Window, answers_of, readings
from bench.peers.libraries import COMPARISONS, PEERS, Data
from bench.results import OURS
from bench.windows import Compiled
from windrow import Count, Max, sliding

VALUES = Settings().values


@pytest.mark.parametrize("question", COMPARISONS)
@pytest.mark.parametrize("peer", PEERS)
def test_each_peer_is_asked_the_same_question(question: str, peer: str) -> None:
    if peer not in COMPARISONS[question]:
        pytest.skip("no such function")
    pytest.importorskip(peer)
    data = Data(VALUES(500))
    calls = {name: lambda n=name: COMPARISONS[question][n](data, 16) for name in (OURS, peer)}
    timings = measure(calls, repeats=1, tolerance=1e-9)
    assert {name: timing.status for name, timing in timings.items()} == {OURS: "ok", peer: "ok"}


@pytest.mark.parametrize("centre", [0.0, 1e8])
def test_the_exact_results_are_exact(centre: float) -> None:
    values = centre + VALUES(40)
    rows = np.array([9, 39])
    for row, total, mean, deviation in zip(
        rows.tolist(),
        *(exact_results(q, values, rows, 10) for q in ("sum", "mean", "stddev")),
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


def test_a_result_that_is_no_number_is_no_small_error() -> None:
    with pytest.raises(ArithmeticError, match="NaN in 1 of 1"):
        relative_errors(np.array([np.nan]), exact_results("sum", np.ones(3), np.array([2]), 2))


def test_a_loop_is_timed_on_full_windows() -> None:
    values = VALUES(100)
    window = Compiled("two_stacks", Max(), values[:16], 8, seconds=60.0)
    expected = np.array([values[max(0, i - 7) : i + 1].max() for i in range(100)])[84:]
    assert np.array_equal(window.roll(values[84 - 7 :])[7:], expected)


# -- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", TABLE_PEERS)
@pytest.mark.parametrize("keys", [1, 7])
@pytest.mark.parametrize("window", [Window(rows=16), Window()], ids=str)
def test_each_peer_is_asked_the_same_of_tables(peer: str, keys: int, window: Window) -> None:
    pytest.importorskip(peer.partition(",")[0])
    frames = Frames(readings(2500, keys), keys)
    expected = answers_of("", OUR_FRAMES["windrow, Arrow"](frames, window, True), frames)
    found = answers_of(peer, TABLE_PEERS[peer](frames, window, True), frames)
    assert set(found) == set(expected) == {"peak", "mean", "worst"}
    assert table_peers.same(found, expected)
    assert not table_peers.same({**found, "mean": found["mean"] + 1}, expected)
    assert not table_peers.same({**found, "worst": found["worst"][::-1]}, expected)


@pytest.mark.parametrize("kind", table_peers.ENDS)
def test_frames_are_as_long_as_the_trailing_one(kind: str) -> None:
    """All but at the ends of the table, and without the current row one less."""
    table = readings(20_000, 1)
    counts = {}
    for name, query in table_peers.frame_queries(kind, "max").items():
        counted = sliding({"n": Count()}, **query.window.arguments(), order_by="ts")
        counts[name] = np.mean(counted(table)["n"].to_numpy()[5000:15000])
    assert set(counts) == {table_peers.TRAILING, *table_peers.ALLOWED}
    for name, count in counts.items():
        wanted = counts[table_peers.TRAILING] - (table_peers.WITHOUT in name)
        assert count == pytest.approx(wanted, abs=0 if kind == "rows" else 2), name


def test_what_is_long_is_measured_on_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, list[int]] = {"ours": [], "slow": [], "slower": []}
    seconds = {"ours": 1e-6, "slow": 1e-3, "slower": 2e-3}  # a row
    said: list[str] = []

    def contender(name: str) -> Callable[[Frames, Window, bool], Any]:
        def call(frames: Frames, window: Window, located: bool) -> Any:
            calls[name].append(frames.rows)
            said.append(name)
            return {"peak": np.ones(1)}

        return call

    def timed(call: Callable[[], Any]) -> tuple[float, Any]:
        result = call()
        return seconds[said[-1]] * calls[said[-1]][-1], result

    monkeypatch.setattr(table_peers, "OURS", {"ours": contender("ours")})
    monkeypatch.setattr(table_peers, "PEERS", {n: contender(n) for n in ("slow", "slower")})
    monkeypatch.setattr(table_peers, "LONG", 1.5)
    monkeypatch.setattr(table_peers, "answers_of", lambda name, result, frames: result)
    monkeypatch.setattr(table_peers, "timed", timed)
    monkeypatch.setattr(measuring, "timed", timed)
    frames = Frames(readings(2000, 1), 1)
    timings = table_peers.measure(frames, frames.part(20), Window(), True, repeats=2)
    assert set(calls["ours"]) == {100, 2000} and set(calls["slower"]) == {100}
    assert calls["slow"] == [100, 100, 100, 100, 2000]  # the fastest peer, once over all rows
    assert "scaled_from" not in timings["slow"].more and timings["slow"].runs == [2.0]
    assert timings["slower"].more["scaled_from"] == 100
    assert timings["slower"].median == pytest.approx(4.0)


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
    found = table_peers.measured("arrow", 2000, 1, Window(rows=10))
    assert found["input"] == found["output"] == 2000 * 24
    assert found["beyond"] >= 0
