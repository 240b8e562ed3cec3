"""Rows in the order of their keys, and within a key of their times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InvalidArgument
from windrow.kernels.special import order as kernels
from windrow.windows.arrays import empty, in_threads, ordinary, stretches

# Fewer rows are sorted by NumPy, within a millisecond: a first query compiles no sort for them.
FEW = 4096
_DIGIT = 1 << 16  # numbers below it are sorted in linear time
# Positions below it fit into int32, which halves the traffic of a permutation.
_SMALL = 1 << 31

Move = Callable[[NDArray[Any], NDArray[Any], int, int, NDArray[Any]], None]
_MOVED = {1: np.uint8, 4: np.uint32, 8: np.uint64}  # as what values of so many bytes are moved


class Order:
    """A permutation of rows: row i stands at `places[i]`, and at position p stands row `rows[p]`.

    Values are moved by their places, where these are known. Both sides of the move then go on from
    one row to the next, with a place for each key: of 5·10⁶ rows and 10,000 keys a column takes
    15 ms, and 29 by the rows, which lie all over the table. One array is made of the other when it
    is first asked for. `moved` are values that were moved already, before and after.

    >>> order = Order(places=np.array([2, 0, 1], np.int32))
    >>> order.sorted(np.array([30, 10, 20])), order.rows
    (array([10, 20, 30]), array([1, 2, 0], dtype=int32))
    """

    def __init__(
        self, *, rows: NDArray[Any] | None = None, places: NDArray[Any] | None = None
    ) -> None:
        self._rows, self._places = rows, places
        self.moved: tuple[NDArray[Any], NDArray[Any]] | None = None

    @property
    def rows(self) -> NDArray[Any]:
        """The row at each position."""
        if self._rows is None:
            self._rows = _inverse(self.places)
        return self._rows

    @property
    def by_places(self) -> bool:
        """Whether the position of each row is known."""
        return self._places is not None

    @property
    def places(self) -> NDArray[Any]:
        """The position of each row."""
        if self._places is None:
            self._places = _inverse(self.rows)
        return self._places

    def sorted(self, values: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
        """Values of the rows, in the order of positions."""
        if self.moved is not None and _same_memory(values, self.moved[0]):
            return self.moved[1]
        if self._places is None:
            return gather(values, self.rows, threads=threads)
        return scatter(values, self._places, threads=threads)

    def back(self, values: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
        """What `sorted` gave, in the order of the rows."""
        if self._places is None:
            return scatter(values, self.rows, threads=threads)
        return gather(values, self._places, threads=threads)

    def bits_back(self, bits: NDArray[np.uint8], *, threads: int = 1) -> NDArray[np.uint8]:
        """The same for a bit for each position, the lowest of a byte first.

        >>> Order(places=np.array([2, 0, 1], np.int32)).bits_back(np.array([0b011], np.uint8))
        array([6], dtype=uint8)
        """
        bits, places = ordinary(bits), ordinary(self.places)
        out = empty(-(-places.size // 8), np.uint8)
        in_threads(
            lambda piece: kernels.gather_bits(bits, places, *piece, out),
            stretches(out.size, threads),
        )
        return out


def _same_memory(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two arrays are the same values in the same place."""
    if a is b:
        return True
    alike = a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
    return alike and a.ctypes.data == b.ctypes.data


def _inverse(positions: NDArray[Any]) -> NDArray[Any]:
    return scatter(np.arange(positions.size, dtype=positions.dtype), positions)


def order_rows(
    codes: NDArray[Any] | None,
    n_codes: int,
    at: Sequence[NDArray[Any]],
    n: int,
    *,
    threads: int = 1,
) -> tuple[Order | None, NDArray[np.int64]]:
    """The order of n rows by code and then by each of `at`, and where the codes start.

    Codes are whole numbers below `n_codes`; None is one code for all. `at` holds int64 or float64
    (NaN comes last). Rows that are equal keep their order; None says that all rows do. Segment c of
    the sorted rows is starts[c] … starts[c + 1] − 1, empty for a code that no row has. O(n) for
    rows in the order of time, and never more than 8 moves a row otherwise.

    >>> order, starts = order_rows(np.array([1, 0, 1]), 2, [np.array([7, 5, 6])], 3)
    >>> order.rows.tolist(), starts.tolist()
    ([1, 2, 0], [0, 1, 3])
    """
    if n < FEW:
        return _order_of_few(codes, n_codes, at, n)
    counts, falls = _counted(codes, n_codes, n, threads)
    starts = np.zeros(n_codes + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    if n >= _SMALL:
        codes = np.zeros(n) if codes is None else codes
        return Order(rows=np.lexsort([*reversed(at), codes])), starts
    order = None
    if falls:
        assert codes is not None
        order = Order(places=_placed(codes, counts, starts, threads))
    for values in reversed(at):
        order = _sorted(values, order, starts, threads)
    return order, starts


def _order_of_few(
    codes: NDArray[Any] | None, n_codes: int, at: Sequence[NDArray[Any]], n: int
) -> tuple[Order | None, NDArray[np.int64]]:
    """The same by NumPy: O(n log n)."""
    in_order = len(at) == 1 and np.count_nonzero(at[0][1:] >= at[0][:-1]) >= n - 1
    if codes is None and in_order:
        return None, np.array([0, n])
    codes = np.zeros(n, np.int64) if codes is None else codes.astype(np.int64, copy=False)
    if n and codes.view(np.uint64).max() >= n_codes:  # as which a negative number is large
        wrong = (codes < 0) | (codes >= n_codes)
        raise _no_code(codes, int(wrong.argmax()), n_codes)
    starts = np.zeros(n_codes + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=n_codes), out=starts[1:])
    if in_order and n_codes <= _DIGIT:  # by one digit
        rows = codes.astype(np.uint16).argsort(kind="stable")
    else:
        rows = np.lexsort([*reversed(at), codes])
    kept = bool((rows[1:] > rows[:-1]).all())
    return None if kept else Order(rows=rows), starts


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
    """The place of each row by its code, each stretch behind those before it."""
    codes = ordinary(codes.astype(np.int64, copy=False))
    places = empty(codes.size, np.int32)
    following = np.cumsum(counts, axis=0)
    following += starts[:-1] - counts
    edges = stretches(codes.size, len(counts))

    def place(k: int) -> None:
        kernels.place_codes(codes, *edges[k], following[k], places)

    in_threads(place, range(len(edges)))
    return places


def _sorted(
    values: NDArray[Any], order: Order | None, starts: NDArray[np.int64], threads: int
) -> Order | None:
    """The order with each segment sorted by `values`."""
    floating = values.dtype.kind == "f"
    values = values.astype(np.float64 if floating else np.int64, copy=False)
    bits = ordinary(values).view(np.int64)
    pieces = stretches(bits.size, threads)
    along = bits if order is None else order.sorted(bits, threads=threads)
    falls: list[bool] = []
    in_threads(
        lambda piece: falls.append(not kernels.in_order(along, starts, *piece, floating)), pieces
    )
    if not any(falls):
        if order is not None:
            order.moved = values, along.view(values.dtype)
        return order
    edges = [0, *np.searchsorted(starts, [b for _, b in pieces[:-1]]).tolist(), starts.size - 1]
    pieces = list(itertools.pairwise(edges))
    rows = np.arange(bits.size, dtype=np.int32) if order is None else order.rows
    in_threads(lambda piece: kernels.sort_segments(bits, starts, *piece, floating, rows), pieces)
    return Order(rows=rows, places=None if order is None else _inverse(rows))


def gather(
    values: NDArray[Any], positions: NDArray[Any], *, threads: int = 1, instead: bool = False
) -> NDArray[Any]:
    """The values at some positions, none of them negative: ``values[positions]``.

    They may be written where the positions are, `instead` of these, if they are as long: fresh
    memory costs as much as the move.

    >>> gather(np.array([3.5, 1.5]), np.array([1, 0], np.int32))
    array([1.5, 3.5])
    """
    if not _moves(values, positions):
        return values[positions]
    fits = positions.flags.writeable and positions.flags.c_contiguous
    out = None
    if instead and fits and positions.itemsize == values.itemsize:
        out = positions.view(values.dtype)
    return _moved(kernels.gather, values, positions, threads, out)


def scatter(values: NDArray[Any], positions: NDArray[Any], *, threads: int = 1) -> NDArray[Any]:
    """What `gather` gave, back in its place: ``out[positions] = values``.

    >>> scatter(np.array([1.5, 3.5]), np.array([1, 0], np.int32))
    array([3.5, 1.5])
    """
    if not _moves(values, positions):
        out = np.empty_like(values)
        out[positions] = values
        return out
    return _moved(kernels.scatter, values, positions, threads)


def _moves(values: NDArray[Any], positions: NDArray[Any]) -> bool:
    """Whether there is a kernel for such values and positions."""
    kind = values.dtype
    known = kind.itemsize in _MOVED and not kind.hasobject
    return known and (positions.dtype == np.int32 or positions.size >= FEW)


def _moved(
    kernel: Move,
    values: NDArray[Any],
    positions: NDArray[Any],
    threads: int,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    out = empty(positions.size, values.dtype) if out is None else out
    like = _MOVED[values.dtype.itemsize]
    given, positions = ordinary(values).view(like), ordinary(positions)

    def move(piece: tuple[int, int]) -> None:
        kernel(given, positions, *piece, out.view(like))

    in_threads(move, stretches(positions.size, threads))
    return out
