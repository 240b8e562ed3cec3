"""Windows by time as bounds of positions, over many segments, against asking every row."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.kernels.test_aggregate import segments
from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows import arrays
from windrow.windows.hop_bounds import Selection, hop_bounds
from windrow.windows.positions import Windows
from windrow.windows.span_bounds import TILE, Extent, measured_bounds

NAN = math.nan


@pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])
@given(starts=segments(), seed=st.integers(0, 99), size=st.sampled_from([1, 2, 7, 1000]))
@examples(30)
def test_measured_bounds(closed: str, starts: Any, seed: int, size: int) -> None:
    source = np.random.default_rng(seed)
    sizes = np.diff(starts)
    at = np.concatenate([np.sort(source.integers(-20, 20, s)) for s in sizes])
    at = at * 0.1 if seed % 2 else at
    reach = size * 0.1 if seed % 2 else size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "PIECE", 8)
        start, end = (-reach, closed in ("both", "left")), (0, closed in ("left", "neither"))
        lo, hi, _ = measured_bounds(at, starts, start, end, threads=1 + seed % 3)
    for a, b in itertools.pairwise(starts.tolist()):
        for i in range(a, b):
            t, own = at[i], at[a:b]
            after = own >= t - reach if closed in ("both", "left") else own > t - reach
            before = own <= t if closed in ("both", "right") else own < t
            inside = a + np.flatnonzero(after & before)
            assert list(range(lo[i], hi[i])) == inside.tolist()
    assert (np.diff(lo) >= 0).all() and (np.diff(hi) >= 0).all()


@pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("gaps", ["even", "random", "ties", "bursts", "far apart"])
def test_bounds_of_many_rows(gaps: str, real: bool, closed: str) -> None:
    """Rows whose edges are found eight at a time, and such as are not, by bisection."""
    source = np.random.default_rng(len(gaps))
    n = 6000
    drawn = {
        "even": np.full(n, 4),
        "random": source.integers(1, 8, n),
        "ties": source.integers(0, 2, n),
        "bursts": np.where(source.random(n) < 0.02, 300, source.integers(0, 3, n)),
        "far apart": 1 + source.integers(0, 2, n) * source.integers(0, 200, n),
    }[gaps]
    at, size = np.cumsum(drawn), 120
    at, size = (at * 0.25, size * 0.25) if real else (at, size)
    for threads in (1, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrays, "PIECE", 1000)
            from_start, to_end = closed in ("both", "left"), closed in ("both", "right")
            for start, end in ((-size, 0), (-size, size), (-size, -size / 4), (0, size), (0, 0)):
                lo, hi, measures = measured_bounds(
                    at, np.array([0, n]), (start, from_start), (end, not to_end),
                    sides=start + size < end, threads=threads,
                )  # fmt: skip
                first = np.searchsorted(at, at + start, side="left" if from_start else "right")
                past = np.searchsorted(at, at + end, side="right" if to_end else "left")
                first = np.minimum(first, past)
                np.testing.assert_array_equal(hi, past)
                np.testing.assert_array_equal(lo, first)
                check_extent(measures.extent(), past - first)
                if measures.found.shape[1] > 2:
                    rows = np.arange(n)
                    before, behind = rows - first, past - rows - 1
                    check_extent(measures.extent(1), before)
                    check_extent(measures.extent(2), behind)
                    assert measures.around == (min(before.min(), behind.min()) >= 0)
                    assert measures.found[:, 6:].sum(axis=0).tolist() == [
                        before.sum(), behind.sum()
                    ]  # fmt: skip


def check_extent(extent: Extent, lengths: Any) -> None:
    """The shortest of each tile and the longest of all, as NumPy finds them."""
    each = [lengths[k : k + TILE].min() for k in range(0, lengths.size, TILE)]
    assert extent.shortest.tolist() == each
    assert extent.longest == max(0, lengths.max())


def test_a_size_that_is_lost_in_a_large_time() -> None:
    """Both ends are then one: nothing lies between them where they are open."""
    at, ends = np.array([2.0**60, 2.0**60, 2.0**61]), np.array([0, 3])
    for closed, expected in (("both", [2, 2, 1]), ("neither", [0, 0, 0])):
        start, end = (-1.0, closed == "both"), (1.0, closed == "neither")
        lo, hi, measures = measured_bounds(at, ends, start, end)
        assert (hi - lo).tolist() == expected
        assert measures.extent() == ([min(expected)], max(expected))


@pytest.mark.parametrize("length", [1, 2, 40, 100])
def test_windows_that_are_shorter(length: int) -> None:
    """Only tiles that have such windows are looked at, and none is missed."""
    source = np.random.default_rng(length)
    at, starts = np.cumsum(source.integers(0, 20, 9000)), np.array([0, 10, 5000, 9000])
    at[7000:] += 100_000
    lo, hi, measures = measured_bounds(at, starts, (-450, True), (0, True))
    assert (measures.extent().shortest >= length).any() == (length < 40)
    windows = Windows(starts, lo=lo, hi=hi, extent=measures.extent())
    short = windows.shorter_than(length)
    found = np.zeros(lo.size, bool) if short is None else short
    np.testing.assert_array_equal(found, hi - lo < length)
    few = windows.few_shorter_than(length)
    if few is not None:
        np.testing.assert_array_equal(few, np.flatnonzero(hi - lo < length))


def test_bounds_at_the_ends_of_time() -> None:
    at = np.array([-(2**63), -(2**62), 0, 2**62, 2**63 - 1])
    lo, hi, _ = measured_bounds(at, np.array([0, 5]), (-(2**62), True), (0, False))
    assert lo.tolist() == [0, 0, 1, 2, 3] and hi.tolist() == [1, 2, 3, 4, 5]


@given(
    starts=segments(),
    seed=st.integers(0, 99),
    size=st.integers(1, 9),
    slide=st.integers(1, 9),
    offset=st.integers(-12, 12),
    real=st.booleans(),
)
@examples(150)
def test_hopping_windows(
    starts: Any, seed: int, size: Any, slide: Any, offset: Any, real: bool
) -> None:
    source = np.random.default_rng(seed)
    at = np.concatenate([np.sort(source.integers(-25, 25, s)) for s in np.diff(starts)])
    if real:  # a tenth is no float: the bounds are what their products and sums round to
        at, size, slide, offset = at * 0.1, size * 0.1, slide * 0.1, (offset % slide) * 0.1
    want = []
    for s, (a, b) in enumerate(itertools.pairwise(starts.tolist())):
        for k in range(-80, 81):
            start = k * slide + offset
            rows = a + np.flatnonzero((at[a:b] >= start) & (at[a:b] < start + size))
            if rows.size:
                want.append((rows[0], rows[-1] + 1, start, s))
    lo, hi, opens, segment = hop_bounds(at, starts, size, slide, offset)
    assert opens.dtype == at.dtype
    got = list(zip(lo, hi, opens, segment, strict=True))
    if real and offset >= slide:
        assert [w[:2] for w in got] == [w[:2] for w in want]
    else:
        assert sorted(got) == sorted(want)
    assert [w[3:1:-1] for w in got] == sorted(w[3:1:-1] for w in got)
    assert (np.diff(lo) >= 0).all() and (np.diff(hi) >= 0).all()


@given(
    starts=segments(),
    seed=st.integers(0, 99),
    size=st.integers(1, 9),
    slide=st.integers(1, 9),
    asked=st.builds(
        Selection,
        now=st.none() | st.integers(-30, 30),
        open=st.integers(0, 4),
        done=st.none() | st.integers(-30, 30),
        answered=st.integers(0, 4),
    ),
    real=st.booleans(),
)
@examples(100)
def test_only_the_windows_that_are_asked_for_are_made(
    starts: Any, seed: int, size: Any, slide: Any, asked: Selection, real: bool
) -> None:
    source = np.random.default_rng(seed)
    at = np.concatenate([np.sort(source.integers(-25, 25, s)) for s in np.diff(starts)])
    now, done = asked.now, asked.done
    if real:
        at, size, slide = at * 0.1, size * 0.1, slide * 0.1
        now, done = (None if each is None else each * 0.1 for each in (now, done))
        asked = replace(asked, now=now, done=done)
    every = zip(*hop_bounds(at, starts, size, slide), strict=True)
    want = [
        (lo, hi, start, s)
        for lo, hi, start, s in every
        if (now is None or s < asked.open or start + size <= now)
        and (done is None or s >= asked.answered or start + size > done)
    ]
    assert list(zip(*hop_bounds(at, starts, size, slide, 0, asked), strict=True)) == want


def test_windows_that_memory_has_no_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one, starts = np.array([0]), np.array([0, 1])
    with pytest.raises(InvalidArgument, match="make 86,400,000,000 results, which take"):
        hop_bounds(one, starts, 1000 * 86_400_000, 1, named="range='1000 days', slide='1 ms'")
    with pytest.raises(InvalidArgument, match="4,611,686,018,427,387,904 results"):
        hop_bounds(np.zeros(9, np.int64), np.arange(10), 2**62, 1)  # they are not even counted
    now = hop_bounds(one, starts, 1000 * 86_400_000, 1, 0, Selection(now=3))
    assert now[2].tolist() == list(range(1 - 1000 * 86_400_000, 4 - 1000 * 86_400_000))
    monkeypatch.setattr("windrow.windows.room.free_memory", lambda: 2**29)
    with pytest.raises(InvalidArgument, match="would make 10,000,000 results"):
        hop_bounds(one, starts, 10**7, 1)


def test_hops_that_leave_rows_out_and_hops_at_the_ends_of_time() -> None:
    lo, hi, start, _ = hop_bounds(np.array([0, 3, 7, 10, 11]), np.array([0, 5]), 2, 10)
    assert (lo.tolist(), hi.tolist(), start.tolist()) == ([0, 3], [1, 5], [0, 10])
    none = hop_bounds(np.array([5]), np.array([0, 1]), 2, 10)
    assert all(each.size == 0 for each in none)
    with pytest.raises(InvalidValue, match="outside of what int64 holds exactly"):
        hop_bounds(np.array([2**63 - 1]), np.array([0, 1]), 10, 10)
    for at in (1e300, math.inf, NAN):
        with pytest.raises(InvalidValue, match="outside of what float64 holds exactly"):
            hop_bounds(np.array([at]), np.array([0, 1]), 10.0, 10.0)
    for options, words in (((0, 1), "range=0 must be larger"), ((1, 0), "slide=0 must be larger")):
        with pytest.raises(InvalidArgument, match=words):
            hop_bounds(np.array([1]), np.array([0, 1]), *options)


def test_times_that_cannot_be_written() -> None:
    at, starts = np.array([1, 2, 4, 9]), np.array([0, 3, 4])
    at.flags.writeable = starts.flags.writeable = False
    assert measured_bounds(at, starts, (-1, True), (0, False))[0].tolist() == [0, 0, 2, 3]
    assert hop_bounds(at, starts, 2, 2)[2].tolist() == [0, 2, 4, 8]
