"""ADWIN, the adaptive window of Bifet and Gavaldà (2007), as a policy: ``until=Adwin("load")``.

The window holds the values since the mean last changed. Whenever two parts of it have means that
differ by more than chance explains, the oldest bucket goes, until no two parts do:

    |mean₀ − mean₁| ≥ √(2/m · σ² · ln(2/δ′)) + 2/(3m) · ln(2/δ′)

with 1/m = 1/n₀ + 1/n₁ and δ′ = δ / ln n.

The parts meet at the edges of an exponential histogram (ADWIN2): buckets of 1, 2, 4, … values, at
most `buckets` of each size, of which the two oldest become one of the next size:

    oldest   [    8    ][  4  ][  4  ][ 2 ][ 2 ][ 2 ][1][1]   newest

So a value costs O(log n), and n values are O(log n) buckets. What the buckets are follows from how
many values there are, and a bucket is added up in pairs, as a tree: it is the same for the same
values, however they came and wherever a stream was cut.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any

from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument, InvalidValue, whole_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from windrow.windows.arrays import Positions
    from windrow.windows.until import PolicyProgress


@dataclass(frozen=True)
class Adwin:
    """A policy that lets go of what is older than the last change of a column's mean.

    `delta` bounds how likely a cut is where nothing has changed. The bound is for values between 0
    and 1: scale others, as in ``Adwin("load / 100")``. Nulls and NaN take a place in the window and
    have no part in its mean. In `window` and `rolling` it goes by the values, and names no column.

    >>> import numpy as np
    >>> from windrow import Adwin, Count, rolling
    >>> values = np.repeat([0.1, 0.9], [200, 60])
    >>> rolling(values, Count(), until=Adwin())[[199, 209, 219, 239]]
    array([200, 210,  60,  56])
    """

    column: str | None = None
    delta: float = 0.002
    buckets: int = 5

    def __post_init__(self) -> None:
        if self.column is not None and not isinstance(self.column, str):
            raise InvalidArgument(f"Adwin: the column must be a name, got {self.column!r}")
        if not isinstance(self.delta, float) or not 0 < self.delta < 1:
            raise InvalidArgument(f"Adwin: delta={self.delta!r} must be between 0 and 1")
        whole_number("Adwin: buckets", self.buckets, least=2)
        object.__setattr__(self, "__qualname__", repr(self))  # how queries print it

    @property
    def windrow_identity(self) -> str:
        """The text that identifies the policy in the state of a stream."""
        return repr(self)

    def __call__(self, *seen: Any) -> bool:
        """Refuse to be called: its windows follow from the values."""
        raise InvalidArgument("Adwin is asked for windows by `until=`, and not called")

    def starts(self, values: NDArray[np.float64], progress: PolicyProgress) -> Positions:
        """Return where the windows begin of the rows to decide about; NaN is no value."""
        import numpy as np

        from windrow.windows.histogram import slide

        first = np.zeros(values.size, np.int64)
        begin = progress.starts[:-1]
        heads = progress.heads - progress.origins + begin
        slide(
            values, progress.starts, progress.fresh, heads, self.buckets, self.delta, first,
            *self.histogram(),
        )  # fmt: skip
        return first

    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return an empty histogram, as the compiled functions take it."""
        import numpy as np

        from windrow.windows.histogram import LEVELS

        shape = LEVELS, self.buckets + 1
        return np.zeros(LEVELS, np.int64), np.zeros(shape), np.zeros(shape)

    def value_of(self, row: Any) -> float:
        """Return the value of a row, or what is pushed; NaN for none."""
        value = row if self.column is None else row[self.column]
        if value is None:
            return math.nan
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InvalidValue(f"{self!r} takes numbers, not {value!r}") from None

    def __repr__(self) -> str:
        options = [f for f in fields(self)[1:] if getattr(self, f.name) != f.default]
        arguments = [] if self.column is None else [repr(self.column)]
        arguments += [f"{f.name}={getattr(self, f.name)!r}" for f in options]
        return f"Adwin({', '.join(arguments)})"


class AdwinWindow:
    """The histogram of a window that values are pushed through, and which of its rows have values.

    `leaving` only looks; `accept` takes in what it looked at.
    """

    def __init__(self, policy: Adwin) -> None:
        self._policy = policy
        self._histogram = policy.histogram()
        # what `leaving` found out: the histogram with the value, the value, and how many leave
        self._next: tuple[Any, float, int] = self._histogram, math.nan, 0
        self._before = 0  # rows without a value, before the first that has one
        self._rows: deque[int] = deque()  # for each value, its row and those without one behind it

    def leaving(self, swag: Aggregator, row: Any) -> int:
        """Return how many of the oldest rows must go once this one has been inserted. O(log n)."""
        from windrow.windows.histogram import push

        swag.admit(row)
        value, histogram, gone = self._policy.value_of(row), self._histogram, 0
        if value == value:
            counts, sums, squares = histogram
            histogram = counts.copy(), sums.copy(), squares.copy()
            gone = push(value, self._policy.buckets, self._policy.delta, *histogram)
        self._next = histogram, value, gone
        return self._before + sum(islice(self._rows, gone)) if gone else 0

    def accept(self) -> None:
        """Take in the row of the last `leaving`."""
        self._histogram, value, gone = self._next
        if value == value:
            self._rows.append(1)
        elif self._rows:
            self._rows[-1] += 1
        else:
            self._before += 1
        if gone:
            self._before = 0
        for _ in range(gone):
            self._rows.popleft()
