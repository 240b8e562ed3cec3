"""Rows in the order of their keys, and within a key of their times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InvalidArgument
from windrow.kernels.special import order as kernels
from windrow.windows.arrays import in_threads, ordinary, stretches

# Fewer rows are sorted by NumPy, within a millisecond: a first query compiles no sort for them.
FEW = 4096
# Positions below it fit into int32, which halves the traffic of a permutation.
_SMALL = 1 << 31

Move = Callable[[NDArray[Any], NDArray[Any], int, int, NDArray[Any]], None]
_MOVED = {1: np.uint8, 4: np.uint32, 8: np.uint64}  # as what values of so many bytes are moved


def order_rows(
    codes: NDArray[Any] | None,
    n_codes: int,
    at: Sequence[NDArray[Any]],
    n: int,
    *,
    threads: int = 1,
) -> tuple[NDArray[Any] | None, NDArray[np.int64]]:
    """The permutation that sorts n rows by code and then by each of `at`, and where codes start.

    Codes are whole numbers below `n_codes`; None is one code for all. `at` holds int64 or float64
    (NaN comes last). Rows that are equal keep their order; None for a permutation says that all
    rows do. Segment c of the sorted rows is starts[c] … starts[c + 1] − 1, empty for a code that
    no row has. O(n) for rows in the order of time, and never more than 8 moves a row otherwise.

    >>> order, starts = order_rows(np.array([1, 0, 1]), 2, [np.array([7, 5, 6])], 3)
    >>> order.tolist(), starts.tolist()
    ([1, 2, 0], [0, 1, 3])
    """
    if n < FEW:
        return _order_of_few(codes, n_codes, at, n)
    counts, falls = _counted(codes, n_codes, n, threads)
    starts = np.zeros(n_codes + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    if n >= _SMALL:
        return np.lexsort([*reversed(at), codes if codes is not None else np.zeros(n)]), starts
    order = None
    if falls:
        assert codes is not None
        order = _placed(codes, counts, starts, threads)
    for values in reversed(at):
        order = _sorted(values, order, starts, threads)
    return order, starts


def _order_of_few(
    codes: NDArray[Any] | None, n_codes: int, at: Sequence[NDArray[Any]], n: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """The same by NumPy: O(n log n)."""
    codes = np.zeros(n, np.int64) if codes is None else codes
    wrong = np.flatnonzero((codes < 0) | (codes >= n_codes))
    if wrong.size:
        raise _no_code(codes, int(wrong[0]), n_codes)
    starts = np.zeros(n_codes + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=n_codes), out=starts[1:])
    order = np.lexsort([*reversed(at), codes])
    kept = bool((order[1:] > order[:-1]).all())
    return None if kept else order, starts


def _no_code(codes: NDArray[Any], row: int, n_codes: int) -> InvalidArgument:
    return InvalidArgument(f"codes[{row}] = {codes[row]} is not below n_codes={n_codes}, or < 0")


def _counted(
    codes: NDArray[Any] | None, n_codes: int, n: int, threads: int
) -> tuple[NDArray[np.int64], bool]:
    """How many rows of each code there are in each stretch; whether codes ever fall."""
    if codes is None:
        counts = np.zeros((1, n_codes), np.int64)
        counts[0, 0] = n
        return counts, False
    codes = ordinary(codes.astype(np.int64, copy=False))
    # As many counters as there are rows would cost more than they help.
    edges = stretches(n, threads if n_codes * 4 <= n else 1)
    counts = np.zeros((len(edges), n_codes), np.int64)
    falls = np.zeros(len(edges), np.int64)

    def count(k: int) -> None:
        falls[k] = kernels.count_codes(codes, *edges[k], counts[k])

    in_threads(count, range(len(edges)))
    if (falls < 0).any():
        raise _no_code(codes, -1 - int(falls[falls < 0][0]), n_codes)
    between = any(codes[b - 1] > codes[b] for _, b in edges[:-1])
    return counts, bool(falls.any()) or between


def _placed(
    codes: NDArray[Any], counts: NDArray[np.int64], starts: NDArray[np.int64], threads: int
) -> NDArray[np.int32]:
    """The rows by code, each stretch behind those before it."""
    codes = ordinary(codes.astype(np.int64, copy=False))
    order = np.empty(codes.size, np.int32)
    following = np.cumsum(counts, axis=0)
    following += starts[:-1] - counts
    edges = stretches(codes.size, len(counts))

    def place(k: int) -> None:
        kernels.place_codes(codes, *edges[k], following[k], order)

    in_threads(place, range(len(edges)))
    return order


def _sorted(
    values: NDArray[Any], order: NDArray[np.int32] | None, starts: NDArray[np.int64], threads: int
) -> NDArray[np.int32] | None:
    """The rows with each segment sorted by `values`."""
    floating = values.dtype.kind == "f"
    values = values.astype(np.float64 if floating else np.int64, copy=False)
    bits = ordinary(values).view(np.int64)
    if order is None:
        if kernels.in_order(bits, starts, floating):
            return None
        order = np.arange(bits.size, dtype=np.int32)
    rows = [b for _, b in stretches(bits.size, threads)]
    edges = [0, *np.searchsorted(starts, rows[:-1]).tolist(), starts.size - 1]

    def sort(piece: tuple[int, int]) -> None:
        kernels.sort_segments(bits, starts, *piece, floating, order)

    in_threads(sort, list(itertools.pairwise(edges)))
    return order


def gather(values: NDArray[Any], order: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
    """The values in the order of a permutation: ``values[order]``.

    >>> gather(np.array([3.5, 1.5]), np.array([1, 0], np.int32))
    array([1.5, 3.5])
    """
    if not _moves(values, order):
        return values[order]
    return _moved(kernels.gather, values, order, threads)


def scatter(values: NDArray[Any], order: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
    """What `gather` gave, back in its place: ``out[order] = values``.

    >>> scatter(np.array([1.5, 3.5]), np.array([1, 0], np.int32))
    array([3.5, 1.5])
    """
    if not _moves(values, order):
        out = np.empty_like(values)
        out[order] = values
        return out
    return _moved(kernels.scatter, values, order, threads)


def _moves(values: NDArray[Any], order: NDArray[Any]) -> bool:
    """Whether there is a kernel for such values and positions."""
    kind = values.dtype
    return kind.itemsize in _MOVED and not kind.hasobject and order.dtype == np.int32


def _moved(kernel: Move, values: NDArray[Any], order: NDArray[Any], threads: int) -> NDArray[Any]:
    out = np.empty(order.size, values.dtype)
    like = _MOVED[values.dtype.itemsize]
    given, order = ordinary(values).view(like), ordinary(order)

    def move(piece: tuple[int, int]) -> None:
        kernel(given, order, *piece, out.view(like))

    in_threads(move, stretches(order.size, threads))
    return out
