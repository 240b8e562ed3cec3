"""The windows of rows that are ordered by time: where each begins and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, void
from numpy.typing import NDArray

from windrow.errors import InvalidArgument, InvalidValue
from windrow.windows.durations import nanoseconds

CLOSED = ("both", "right", "left", "neither")


def instants(at: Any) -> NDArray[Any]:
    """Times or numbers as int64 (nanoseconds for times) or float64, checked to be in order."""
    at = np.asarray(at)
    if at.ndim != 1:
        raise InvalidArgument(f"at must be one-dimensional, got {at.ndim} dimensions")
    if at.dtype.kind in "mM":
        if np.isnat(at).any():
            raise InvalidValue(f"at[{int(np.isnat(at).argmax())}] is not a time (NaT)")
        at = at.astype(f"{at.dtype.kind}8[ns]").view(np.int64)
    elif at.dtype.kind in "iub":
        at = at.astype(np.int64)
    elif at.dtype.kind == "f":
        at = at.astype(np.float64)
        if np.isnan(at).any():
            raise InvalidValue(
                f"at[{int(np.isnan(at).argmax())}] is NaN, which has no place in time"
            )
    else:
        raise InvalidValue(f"at must be times or numbers, not {at.dtype}")
    return np.array(at, order="C", copy=None if at.flags.writeable else True)


def check_order(at: NDArray[Any], previous: Any = None) -> None:
    """Refuse times that go back; equal ones are fine, whatever their order."""
    if previous is not None and at.size and at[0] < previous:
        raise InvalidValue(
            "at[0] is before the last time of the batch before; sort the stream first"
        )
    back = np.flatnonzero(at[1:] < at[:-1])
    if back.size:
        i = int(back[0]) + 1
        raise InvalidValue(
            f"at[{i}] is before at[{i - 1}]: windows by time need times in order; "
            f"sort both arrays by np.argsort(at, kind='stable') first"
        )


def extent(range_: Any, at: NDArray[Any], is_time: bool) -> Any:
    """`range` in the unit of `at`."""
    if is_time:
        return nanoseconds(range_, "range")
    if isinstance(range_, bool) or not isinstance(range_, int | float | np.number):
        raise InvalidArgument(
            f"range={range_!r}: `at` holds numbers, so range must be a number of the same unit"
        )
    if not range_ > 0:
        raise InvalidArgument(f"range={range_!r} must be larger than 0")
    if at.dtype == np.int64 and float(range_) != int(range_):
        return int(np.floor(range_))  # between whole numbers there is nothing
    return at.dtype.type(range_)


@njit(void(int64[::1], int64, boolean, boolean, int64[::1], int64[::1]), cache=True, nogil=True)
def _bounds_int(at, size, from_start, to_end, lo, hi):  # type: ignore[no-untyped-def]
    first = past = 0
    n = at.size
    for i in range(n):
        t = at[i]
        while past < n and (at[past] < t or (to_end and at[past] == t)):
            past += 1
        while first < past:
            age = t - at[first]  # wraps around when it is more than int64 holds
            if age >= 0 and (age < size or (from_start and age == size)):
                break
            first += 1
        lo[i], hi[i] = first, past


@njit(void(float64[::1], float64, boolean, boolean, int64[::1], int64[::1]), cache=True, nogil=True)
def _bounds_float(at, size, from_start, to_end, lo, hi):  # type: ignore[no-untyped-def]
    first = past = 0
    n = at.size
    for i in range(n):
        t = at[i]
        while past < n and (at[past] < t or (to_end and at[past] == t)):
            past += 1
        oldest = t - size
        while first < past and (at[first] < oldest or (not from_start and at[first] == oldest)):
            first += 1
        lo[i], hi[i] = first, past


def range_bounds(
    at: NDArray[Any], size: Any, closed: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The window of row i as positions lo[i] … hi[i] − 1. O(n).

    Rows of equal time see each other where the window's end is closed.
    """
    lo, hi = np.empty(at.size, np.int64), np.empty(at.size, np.int64)
    compute = _bounds_int if at.dtype == np.int64 else _bounds_float
    compute(at, size, closed in ("both", "left"), closed in ("both", "right"), lo, hi)
    return lo, hi


@njit(void(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1]), cache=True, nogil=True)
def _flips(lo, hi, wanted, rows, splits):  # type: ignore[no-untyped-def]
    split = found = 0
    for i in range(lo.size):
        if lo[i] > split:
            while found < wanted.size and i >= wanted[found]:
                rows[found], splits[found] = i, split
                found += 1
            split = hi[i - 1] if i else 0
    while found < wanted.size:
        rows[found], splits[found] = lo.size, 0
        found += 1


def flips_after(
    lo: NDArray[np.int64], hi: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first rows from the wanted ones on at which Two-Stacks flips, and the split before."""
    rows, splits = np.empty(wanted.size, np.int64), np.empty(wanted.size, np.int64)
    _flips(lo, hi, wanted.astype(np.int64), rows, splits)
    return rows, splits
