"""`until=`, the window slide policy of paper 001: a function says which of the oldest rows must go.

    policy(total, old) -> bool

`total` is the aggregate of the window with its newest value, `old` that of an oldest part of it:
true means that at least this part must go. Both are results, as `query` gives them: for one
aggregation its result, for several a `Record` with a field for each name. A part that holds nothing
but nulls answers None, as an empty window does.

    window    [  v₀   v₁   v₂  │  v₃   v₄   v₅  ]         total: of v₀ … v₅
              └───── old ──────┘                          true: v₀ … v₂ go, perhaps more

What goes is the longest oldest part for which the policy is true. Nothing holds the newest value
back: a policy that is true of ``old == total`` leaves an empty window, as the paper's "updates that
add up to at most 10" does when an 11 arrives. A policy that keeps the newest asks for a rest, as in
``total.count - old.count >= 1``.

A policy must be monotone: where it is true of an oldest part, it is true of every shorter one. Then
it is found by a search down the tree, in O(log k) calls and ⊕ for k values that go, which is O(1) a
value on average. A policy that is not monotone, such as one that compares the means of the two
sides, is asked of the oldest value first, and ends at some boundary: it is true of the part that
goes, and false of that part with one value more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.aggregations.together import Record, Together
from windrow.algorithms.amta import Amta
from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument, WindrowError, did_you_mean
from windrow.identity import named
from windrow.windows.base import Kept, Window

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.positions import Bounds, SortedRows

Policy = Callable[[Any, Any], object]


@dataclass(frozen=True)
class Until(Window):
    """What is left when the oldest rows go for as long as ``policy(total, old)`` is true."""

    until: Callable[[Any, Any], bool]

    takes: ClassVar[tuple[str, ...]] = ("until",)
    kept: ClassVar[Kept] = "window"

    def __post_init__(self) -> None:
        if not callable(self.until):
            raise InvalidArgument(
                f"until={self.until!r} must be a function of (total, old) that is true while the "
                f"oldest part must go"
            )

    def bounds(self, rows: SortedRows) -> Bounds:
        """The window that the policy leaves of each row, by AMTA's search: O(log n) ⊕ each.

        The policy sees values of Python, so it runs row by row in the interpreter; the results over
        the windows are compiled like any others.
        """
        import numpy as np

        assert rows.values is not None
        together = Together(**rows.values.parts)
        swag, head = Amta(together), 0
        lo = np.empty(rows.size, np.int64)
        begins = set(rows.starts.tolist())
        for position in range(rows.size):
            if position in begins:
                swag, head = Amta(together), position
            left = -1 if rows.lengths is None else rows.lengths[position]
            if left > 0:  # it is in the window, which lost what it had to before
                swag.insert(rows.values.record(position))
            elif left == 0:  # nothing was left up to here
                head = position + 1
            else:
                head += self._slide(swag, rows, position)
            lo[position] = head
        return rows.windows(lo[rows.fresh], rows.positions(rows.fresh) + 1, rows.fresh)

    def _slide(self, swag: Aggregator, rows: SortedRows, position: int) -> int:
        """Take the row at a position in, let the oldest go, and say how many went."""
        assert rows.values is not None
        row = rows.values.record(position)
        try:
            gone = leaving(swag, self.until, row)
        except WindrowError:
            raise
        except Exception as error:
            known = rows.values.described(position) | row
            error.add_note(f"in until={named(self.until)}, at the row {known!r}")
            raise
        swag.insert(row)
        swag.evict(gone)
        return gone

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows that the policy left in the last window of each stretch."""
        import numpy as np

        keep = rows.starts[1:].copy()
        if rows.lengths is not None:
            filled = np.diff(rows.starts) > 0
            keep[filled] -= np.maximum(rows.lengths[keep[filled] - 1], 0)
        last = rows.positions(bounds.beside)
        stretch = np.searchsorted(rows.starts, last, side="right") - 1
        lo, _ = bounds.windows.bounds()
        keep[stretch] = lo  # the last of them in each stretch counts
        return keep

    @property
    def slices_in_words(self) -> str:  # type: ignore[override]
        return f"none: where {named(self.until)} ends is searched for in a tree, O(log n) ⊕ a row"

    def __str__(self) -> str:
        return f"the newest rows, without the oldest for which {named(self.until)}, an answer a row"


def leaving(swag: Aggregator, policy: Policy, value: Any) -> int:
    """How many of the oldest must go once `value` has been inserted; the window stays as it is.

    Asked before the insert, so that a policy that raises leaves the window alone. The value itself
    is counted where it must go, too. O(log k) ⊕ and calls of the policy for a result of k.

    >>> from windrow import Last, Max, Sum, aggregator
    >>> def above_ten(total, old):
    ...     return total.sum - old.sum + old.last > 10
    >>> swag = aggregator({"max": Max(), "sum": Sum(), "last": Last()}, algorithm="amta")
    >>> swag.extend([2, 2, 3, 3])
    >>> leaving(swag, above_ten, 4), leaving(swag, above_ten, 11)
    (2, 5)
    """
    total = swag.query_with(value)
    gone = swag.count_while(lambda old: _goes(policy, total, old))
    if gone == len(swag) and _goes(policy, total, total):
        gone += 1
    return gone


def _goes(policy: Policy, total: Any, old: Any) -> bool:
    try:
        return bool(policy(total, old))
    except AttributeError as error:
        if isinstance(error.obj, Record):
            raise InvalidArgument(
                f"until: the policy asks for .{error.name}, which the window does not compute; "
                f"{did_you_mean(error.name or '', error.obj)}"
            ) from None
        raise
