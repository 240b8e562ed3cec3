"""CountMin: about how often each value occurs in the window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.hashing import hash64, mix64
from windrow.errors import InvalidArgument

#     column   0   1   2   3   4   5   6   7        `depth` rows of `width` counters, one after
#     row 0  [ .   .   3   .   .   .   1   . ]      the other in one array. A value adds 1 to one
#     row 1  [ 1   .   .   .   .   3   .   . ]      counter of each row; the least of its counters
#     row 2  [ .   .   .   4   .   .   .   . ]      is its count, and more if all are shared.
Counters = NDArray[np.int64]
# None: no value. A tuple (n, counter of row 0, counter of row 1, …): only these are set, all
# to n, as by n times one value; it spares a window of single values its tables. Otherwise the
# whole table, read-only.
State = Counters | tuple[int, ...] | None


def counters_of(value: Any, width: int, depth: int, asker: object) -> list[int]:
    """Return where `value` is counted: one place in each row.

    >>> [place // 8 for place in counters_of("a", 8, 3, asker=None)]
    [0, 1, 2]
    """
    seed = hash64(value, asker)
    return [row * width + (mix64(seed + row) & (width - 1)) for row in range(depth)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountMinSketch:
    """What `CountMin` answers: `count(value)`, or `sketch[value]`, and the `total` of all counts.

    A count is never too small, and too large by more than ε·total with probability δ at most.
    """

    counters: Counters
    width: int
    depth: int

    def count(self, value: Any) -> int:
        """Return how often `value` occurs, at most."""
        return int(self.counters[counters_of(value, self.width, self.depth, self)].min())

    def __getitem__(self, value: Any) -> int:
        return self.count(value)

    @property
    def total(self) -> int:
        """How many values there are; this is exact."""
        return int(self.counters[: self.width].sum())

    def __bytes__(self) -> bytes:
        """Return the number of rows and the counters: the sketch in a column of a table.

        >>> calls = CountMin()
        >>> CountMinSketch.from_bytes(bytes(calls.lower(calls.lift("Ada"))))["Ada"]
        1
        """
        return bytes([self.depth]) + self.counters.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> CountMinSketch:
        """Return the sketch that `bytes` was made of."""
        counters = np.frombuffer(data, "<i8", offset=1).astype(np.int64)
        return cls(counters, counters.size // data[0], data[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CountMinSketch):
            return NotImplemented
        return self.width == other.width and np.array_equal(self.counters, other.counters)

    def __hash__(self) -> int:
        return hash((self.width, self.counters.tobytes()))

    def __repr__(self) -> str:
        return f"<CountMinSketch of {self.depth} x {self.width} counters, total {self.total}>"


class CountMin(Aggregation):
    """A count-min sketch of the values: a `CountMinSketch`, that counts any value asked for.

    Counts are too large by more than `epsilon` times the number of values with probability
    `delta` at most. The sketch has e/epsilon columns, rounded up to a power of two, and
    ln(1/delta) rows.

    >>> calls = CountMin()
    >>> sketch = calls.lower(calls.fold(map(calls.lift, ["Ada", "Bob", "Ada"])))
    >>> sketch["Ada"], sketch["Eve"], sketch.total
    (2, 0, 3)
    """

    takes = "hashable"
    commutative = True
    invertible = True
    result = "bytes"

    def __init__(self, *columns: str, epsilon: float = 0.001, delta: float = 0.01) -> None:
        super().__init__(*columns)
        self.epsilon = _share("epsilon", epsilon, least=1e-7)
        self.delta = _share("delta", delta, least=1e-12)
        self.width = 1 << math.ceil(math.log2(math.e / epsilon))
        self.depth = math.ceil(math.log(1 / delta))

    def unit(self, value: Any) -> tuple[int, ...]:
        return 1, *counters_of(value, self.width, self.depth, self)

    def plus(self, a: State, b: State) -> State:
        if isinstance(a, tuple) and isinstance(b, tuple):
            if a[1:] == b[1:]:
                return a[0] + b[0], *a[1:]
            return _plus(self._table(a), b, 1)
        if isinstance(a, tuple):
            a, b = b, a
        return _plus(a, b, 1)  # type: ignore[arg-type]  # at most b is a tuple now

    def inverse(self, total: State, old: State) -> State:
        if old is None or total is None:
            return total
        if isinstance(total, tuple):  # then `old` has the same counters
            return (total[0] - old[0], *total[1:]) if total[0] > old[0] else None
        return self._least(_plus(total, old, -1))

    def _table(self, single: tuple[int, ...]) -> Counters:
        table = np.zeros(self.width * self.depth, np.int64)
        table[list(single[1:])] = single[0]
        return table

    def _least(self, table: Counters) -> State:
        """Return the one form of a state: after subtraction it must equal one that never grew."""
        if np.count_nonzero(table) > self.depth:
            return table
        (places,) = np.nonzero(table)
        return (int(table[places[0]]), *places.tolist()) if len(places) else None

    def answer(self, state: Counters | tuple[int, ...]) -> CountMinSketch:
        table = self._table(state) if isinstance(state, tuple) else state
        return CountMinSketch(table, self.width, self.depth)

    def rows(self, dtype: str) -> RowAlgebra:
        size, constants = self.width * self.depth, (self.width, self.depth)
        return RowAlgebra.with_head(
            "count", "int64", size, f"hash_{dtype}", constants, minus="count_minus"
        )

    def from_row(self, row: Any) -> Counters:
        table: Counters = row.copy()
        table.flags.writeable = False
        return table


def _plus(table: Counters, other: Counters | tuple[int, ...], sign: int) -> Counters:
    if isinstance(other, tuple):
        changed = table.copy()
        changed[list(other[1:])] += sign * other[0]
    else:
        changed = table + other if sign > 0 else table - other
    changed.flags.writeable = False
    return changed


def _share(name: str, value: float, least: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value < 1:
        raise InvalidArgument(f"CountMin: {name} must be from {least} to below 1, got {value!r}")
    return value
