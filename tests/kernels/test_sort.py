"""Sorting rows by code and time, against NumPy's lexsort, and moving them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from windrow.errors import InvalidArgument
from windrow.kernels import sort as sorting
from windrow.kernels.sort import Order, gather, order_rows, scatter
from windrow.windows import arrays

awkward = st.sampled_from([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 5e-324, 1e300])
whole = st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1, 2**40, -(2**40)]))


def expected(codes: Any, n_codes: int, at: list[Any], n: int) -> tuple[list[int], list[int]]:
    """By Python's own stable sort; NaN is behind all numbers, both zeros are equal."""
    plain = [[(x != x, 0.0 if x != x else x + 0) for x in column.tolist()] for column in at]
    labels = [0] * n if codes is None else codes.tolist()
    order = sorted(range(n), key=lambda i: (labels[i], *(column[i] for column in plain)))
    counts = np.bincount(np.array(labels, int), minlength=n_codes)
    return order, [0, *np.cumsum(counts).tolist()]


@st.composite
def tables(draw: Any) -> tuple[Any, int, list[Any], int]:
    n = draw(st.integers(0, 200))
    n_codes = draw(st.sampled_from([1, 2, 7, 300]))
    source = np.random.default_rng(draw(st.integers(0, 99)))
    codes = draw(st.sampled_from(["none", "sorted", "random", "int32"]))
    made = source.integers(0, n_codes, n)
    made = {"none": None, "sorted": np.sort(made), "int32": made.astype(np.int32)}.get(codes, made)
    at = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["sorted", "ints", "awkward", "floats", "whole", "late"]))
        at.append(
            {
                "sorted": lambda: np.sort(source.integers(-50, 50, n)),
                "ints": lambda: source.integers(-(2**62), 2**62, n),
                "awkward": lambda: np.array(draw(st.lists(awkward, min_size=n, max_size=n)), float),
                "floats": lambda: source.normal(size=n),
                "whole": lambda: np.array(draw(st.lists(whole, min_size=n, max_size=n)), np.int64),
                "late": lambda: np.arange(n) - source.integers(0, 5, n),
            }[kind]()
        )
    return made, (1 if made is None else n_codes), at, n


# The number of rows from which on they are sorted by compiled code: these, or all.
both_ways = pytest.mark.parametrize("few", [0, sorting.FEW], ids=["compiled", "by NumPy"])


@both_ways
@given(table=tables(), threads=st.sampled_from([1, 2, 3]))
@examples(200)
def test_order_against_pythons_sort(few: int, table: Any, threads: int) -> None:
    codes, n_codes, at, n = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "PIECE", 8)
        patch.setattr(sorting, "FEW", few)
        order, starts = order_rows(codes, n_codes, at, n, threads=threads)
    want, want_starts = expected(codes, n_codes, at, n)
    assert (list(range(n)) if order is None else order.rows.tolist()) == want
    assert starts.tolist() == want_starts
    if order is not None:
        assert order.rows.dtype == order.places.dtype == (np.int64 if few else np.int32)
        assert order.places[order.rows].tolist() == list(range(n))
        for values in at:  # of which it may know some already
            np.testing.assert_array_equal(order.sorted(values), values[order.rows])
    if want == list(range(n)) and codes is not None:
        assert order is None or at  # sorted by code: nothing moves unless times ask for it


@both_ways
def test_rows_in_order_are_left_alone(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "FEW", few)
    at = np.sort(np.random.default_rng(0).normal(size=1000))
    assert order_rows(None, 1, [at], 1000)[0] is None
    codes = np.repeat(np.arange(10), 100)
    assert order_rows(codes, 10, [np.tile(np.arange(100), 10)], 1000)[0] is None


def test_many_rows_at_once() -> None:
    """Past the length that insertion sorts, with bytes that vary and bytes that do not."""
    source = np.random.default_rng(1)
    n = 100_000
    codes = source.integers(0, 50, n)
    for at in (source.integers(0, 10**6, n) * 1000, source.normal(size=n), -np.arange(n)):
        order, starts = order_rows(codes, 50, [at], n, threads=2)
        assert order is not None
        np.testing.assert_array_equal(order.rows, np.lexsort((at, codes)))
        np.testing.assert_array_equal(order.back(order.sorted(at, threads=2)), at)
        np.testing.assert_array_equal(np.diff(starts), np.bincount(codes))


def test_what_was_sorted_on_the_way_is_not_sorted_again() -> None:
    codes, at = np.arange(10_000) % 7, np.arange(10_000)
    order, _ = order_rows(codes, 7, [at], at.size, threads=2)
    assert order is not None
    assert order.sorted(at) is order.sorted(at[:])
    np.testing.assert_array_equal(order.sorted(at), at[order.rows])
    np.testing.assert_array_equal(order.sorted(at.copy()), at[order.rows])
    np.testing.assert_array_equal(order.sorted(at.view("M8[us]")), at[order.rows].view("M8[us]"))


def test_more_rows_than_int32_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "FEW", 0)
    monkeypatch.setattr(sorting, "_SMALL", 4)
    codes, at = np.array([1, 0, 1, 0, 1]), np.array([3.0, 2.0, 1.0, 2.0, 1.0])
    order, starts = order_rows(codes, 2, [at], 5)
    assert order is not None and order.rows.dtype == np.int64
    assert order.rows.tolist() == [1, 3, 2, 4, 0] and starts.tolist() == [0, 2, 5]
    assert order.sorted(at).tolist() == [2.0, 2.0, 1.0, 1.0, 3.0]
    assert order.back(order.sorted(at)).tolist() == at.tolist()


@both_ways
@pytest.mark.parametrize("code", [-1, 3])
def test_codes_that_are_none_are_refused(
    code: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "FEW", few)
    with pytest.raises(InvalidArgument, match=rf"codes\[1\] = {code} is not below n_codes=3"):
        order_rows(np.array([0, code, 1]), 3, [], 3)


@pytest.mark.parametrize("dtype", ["f8", "i8", "M8[ns]", "f4", "i2", "?", "U3", "O", "i8,f8"])
@given(seed=st.integers(0, 9), n=st.integers(0, 60), threads=st.sampled_from([1, 2]))
@examples(15)
def test_moving_there_and_back(dtype: str, seed: int, n: int, threads: int) -> None:
    source = np.random.default_rng(seed)
    values = source.integers(0, 2, n).astype(dtype)
    if dtype != "O":
        values.flags.writeable = False
    order = source.permutation(n).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "PIECE", 8)
        moved = gather(values, order, threads=threads)
        assert moved.dtype == values.dtype
        np.testing.assert_array_equal(moved, values[order])
        np.testing.assert_array_equal(scatter(moved, order, threads=threads), values)
        patch.setattr(sorting, "FEW", 8)
        for positions in (order[::2].copy(), order.astype(np.int64)[::3]):
            part = gather(values, positions, threads=threads)
            np.testing.assert_array_equal(part, values[positions])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [np.float64, np.int64, "M8[us]", np.int32])
def test_values_may_be_written_where_their_positions_are(kind: Any, threads: int) -> None:
    source = np.random.default_rng(threads)
    n = 3 * arrays.PIECE
    values = source.integers(0, 10**6, n).astype(kind)
    positions = source.integers(0, n, n)
    expected = values[positions]
    at = positions.copy()
    made = gather(values, at, threads=threads, instead=True)
    np.testing.assert_array_equal(made, expected)
    assert np.shares_memory(made, at) == (values.itemsize == at.itemsize)


@pytest.mark.parametrize("n", [0, 1, 8, 999])
@pytest.mark.parametrize("threads", [1, 3])
def test_bits_are_moved_as_masks_are(monkeypatch: pytest.MonkeyPatch, n: int, threads: int) -> None:
    monkeypatch.setattr(arrays, "PIECE", 16)
    random = np.random.default_rng(n)
    order = Order(places=random.permutation(n).astype(np.int32))
    mask = random.random(n) < 0.3
    moved = order.bits_back(np.packbits(mask, bitorder="little"), threads=threads)
    np.testing.assert_array_equal(moved, np.packbits(order.back(mask), bitorder="little"))
