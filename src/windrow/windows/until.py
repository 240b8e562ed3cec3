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
it is found by a search down the tree, in O(log k) calls for k values that go. A policy that is not
monotone, such as one that compares the means of the two sides, is called for the oldest first,
and ends at some boundary: it is true of the part that goes, and false of that part with one value
more. Which boundary follows from the positions of the values in their sequence, from its start.

    policy(window) -> bool

A function of one argument is called with the window itself: while it is true, the oldest goes,
one after the other. So it need not be monotone, and costs 2 calls a value on average.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from windrow.aggregations.together import Record
from windrow.algorithms.base import Aggregator
from windrow.errors import (
    InvalidArgument,
    InvalidValue,
    WindrowError,
    accepts,
    did_you_mean,
    whole_number,
)
from windrow.identity import named
from windrow.stores.encoding import decode, encode
from windrow.windows.adwin import Adwin
from windrow.windows.base import Kept, Window, results_in_words
from windrow.windows.policy_tree import EDGES, LEVELS, slide_with
from windrow.windows.sketch import Sketch, counted

if TYPE_CHECKING:
    from windrow.windows.arrays import Positions
    from windrow.windows.sorted_rows import Bounds, SortedRows

Policy = Callable[..., object]
KNOWN = "__known"  # behind the name of a result, for compiled code: whether it is not null
UNKNOWN = -1  # where a window begins that compiled code cannot tell


@dataclass(frozen=True)
class Until(Window):
    """The rows that are left when the oldest go for as long as a policy says so."""

    until: Policy
    slide: int | None = None

    takes: ClassVar[tuple[str, ...]] = ("until", "slide")
    asks_values: ClassVar[bool] = True
    kept: ClassVar[Kept] = "window"

    def __post_init__(self) -> None:
        if not (callable(self.until) and (accepts(self.until, 2) or accepts(self.until, 1))):
            raise InvalidArgument(
                f"until={self.until!r} must be a function of (total, old) that is true while the "
                f"oldest part must go, or of the window that is true while its oldest row must"
            )
        if self.slide is not None:
            whole_number("slide", self.slide, least=1)

    def bounds(self, rows: SortedRows) -> Bounds:
        """The window that the policy leaves of each row, or of each that completes a slide."""
        import numpy as np

        first = self._first(rows)
        left = np.arange(1, rows.size + 1) - first
        if rows.lengths is not None:
            left = np.where(rows.lengths < 0, left, rows.lengths)
        if self.slide is None:
            last = rows.positions(rows.fresh)
            return rows.windows(first[rows.fresh], last + 1, rows.fresh, left)
        last = rows.completing(self.slide)
        return rows.windows(first[last], last + 1, last, left)

    def _first(self, rows: SortedRows) -> Positions:
        """Return where the windows begin of the rows that the policy decides about."""
        import numpy as np

        assert rows.values is not None
        progress = progress_of(rows, self.until)
        if isinstance(self.until, Adwin):
            return self.until.starts(rows.values.numbers(self.until.column), progress)
        first = rows.values.policy_starts(progress)
        if first is None:
            first = np.full(rows.size, UNKNOWN)
        begin, stop = progress.fresh, progress.starts[1:]
        undecided = np.flatnonzero(begin < stop)
        for segment in undecided[first[begin[undecided]] == UNKNOWN].tolist():
            first[begin[segment] : stop[segment]] = interpreted_starts(rows, progress, segment)
        return first

    def keeps(self, rows: SortedRows, bounds: Bounds) -> Positions:
        """The rows that the policy left in the last window of each segment."""
        left = rows.lengths if bounds.left is None else bounds.left
        assert left is not None
        return rows.without(left)

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "until": getattr(self.until, "text", self.until)}

    def sketch(self) -> Sketch:
        """Three windows, for instance: one that keeps its oldest row, and one that loses three."""
        slide = self.slide or 1
        last = [slide * n for n in (4, 5, 6)]
        begins = (1 + slide, 1 + slide, 1 + 4 * slide)
        return counted(list(zip(begins, last, last, strict=True)), example=True)

    def cql(self) -> list[str]:
        text = getattr(self.until, "text", None)
        if text is None:
            return super().cql()
        return [*([] if self.slide is None else [f"SLIDE {self.slide}"]), f"UNTIL {text}"]

    @property
    def policy(self) -> Policy:
        return self.until

    @property
    def reads(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (self.until.column,) if isinstance(self.until, Adwin) else ()

    @property
    def per_row(self) -> bool:  # type: ignore[override]
        return self.slide is None

    @property
    def slices_in_words(self) -> str:  # type: ignore[override]
        if isinstance(self.until, Adwin):
            return "buckets of 1, 2, 4, … rows: a window begins where one of them does"
        if takes_window(self.until):
            return f"none: {named(self.until)} is asked of the window until it is false"
        return f"none: where {named(self.until)} ends is searched for in a tree, O(log n) ⊕ a row"

    def __str__(self) -> str:
        every = results_in_words(self.slide)
        return f"the newest rows, without the oldest for which {named(self.until)}, {every}"


def takes_window(policy: Policy) -> bool:
    """Return whether a policy takes the window itself, and not its total and an oldest part.

    >>> takes_window(lambda window: window > 3), takes_window(lambda total, old: total > old)
    (True, False)
    """
    known = getattr(policy, "of_window", None)  # one that is written as text says so
    if known is not None:
        return bool(known)
    try:
        parameters = inspect.signature(policy).parameters.values()
    except (TypeError, ValueError):  # Python cannot tell
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    return len(needed) == 1 and not any(p.kind is p.VAR_POSITIONAL for p in parameters)


# -- over sorted rows ------------------------------------------------------------------------


@dataclass(frozen=True)
class PolicyProgress:
    """How far a policy has come in each segment of rows.

    `fresh` has the first row of each segment that it has not decided about, `origins` how many rows
    of the segment came before those that are kept, and `heads` where its last window begins,
    counted from the first row that ever came.
    """

    policy: Policy
    starts: Positions
    fresh: Positions
    origins: Positions
    heads: Positions

    @cached_property
    def of_window(self) -> bool:
        """Whether the policy is a function of the window itself."""
        return takes_window(self.policy)


def progress_of(rows: SortedRows, policy: Policy) -> PolicyProgress:
    """Return how far a policy has come in rows, some of which it may have decided about before."""
    import numpy as np

    begin, nothing = rows.starts[:-1], np.zeros(rows.starts.size - 1, np.int64)
    origins = nothing if rows.before is None else rows.before
    if rows.lengths is None:
        return PolicyProgress(policy, rows.starts, begin, origins, origins)
    known = np.concatenate([[0], np.cumsum(rows.lengths >= 0)])
    fresh = begin + known[rows.starts[1:]] - known[begin]
    lengths = np.where(fresh > begin, np.append(rows.lengths, 0)[fresh - 1], 0)
    return PolicyProgress(policy, rows.starts, fresh, origins, origins + fresh - begin - lengths)


@dataclass(slots=True)
class Unread:
    """A state that is read when it is needed: decoded, or combined from the rows again."""

    data: bytes | None = None


_MOST = 1024  # bytes of a state that is kept in a store: larger ones are put together again
_AT_ONCE = 32  # rows that are read with one that is lifted again


def encoded(state: Any) -> bytes | None:
    """Return a state as it is stored; None if it is too large, or of a type that no store holds.

    >>> decode(encoded((1, 2.5))), encoded([0] * 2000)
    ((1, 2.5), None)
    """
    try:
        data = encode(state)
    except InvalidValue:
        return None
    return data if len(data) <= _MOST else None


@dataclass
class Tree:
    """The states that the interpreter keeps of a segment for rows to come, up to position `end`.

    Some may be `Unread`, where a tree comes from a store.
    """

    end: int
    units: list[Any]
    nodes: list[Any]

    @classmethod
    def unread(cls, end: int, nodes: list[bytes | None]) -> Tree:
        """Return the tree whose nodes were `encoded`; O(log n) of n are read for a window."""
        return cls(end, [Unread()] * len(nodes), [Unread(node) for node in nodes])

    def newest(self, count: int) -> tuple[list[Any], list[Any]] | None:
        """Return the states of the last rows; None if there are not so many."""
        if count > len(self.nodes):
            return None
        since = len(self.nodes) - count
        return self.units[since:], self.nodes[since:]


def interpreted_starts(rows: SortedRows, progress: PolicyProgress, segment: int) -> list[int]:
    """Return where the windows begin of the rows of a segment that the policy decides about.

    8 or so ⊕ a row. The tree is kept in `rows.trees`, if there is one.
    """
    assert rows.values is not None
    aggregation, policy = rows.values.aggregation, progress.policy
    begin, stop = progress.starts[segment : segment + 2].tolist()
    fresh = int(progress.fresh[segment])
    origin, head = int(progress.origins[segment]), int(progress.heads[segment])
    tree = rows.trees.get(segment) if rows.trees is not None else None
    kept = None
    if tree is not None and tree.end == origin + fresh - begin:
        kept = tree.newest(fresh - begin)
    ready = begin if kept is None else fresh
    units, nodes = kept or ([], [])
    read, combine = rows.values.records, aggregation.combine
    records = read(ready, stop)
    again: dict[int, Any] = {}  # rows that were read before, some at a time

    def own(_: Any, i: int) -> Any:
        if i == len(units):
            units.append(aggregation.lift(records[i + begin - ready]))
            nodes.append(None)
        elif isinstance(units[i], Unread):
            first = i - i % _AT_ONCE
            if first not in again:
                again[first] = read(begin + first, min(begin + first + _AT_ONCE, fresh))
            units[i] = aggregation.lift(again[first][i - first])
        return units[i]

    def load(states: list[Any], i: int) -> Any:
        if isinstance(states[i], Unread):
            data = states[i].data
            states[i] = put_together(i) if data is None else decode(data, "a policy's state")
        return states[i]

    def put_together(i: int) -> Any:
        state, size = own(None, i), 1
        while (origin + i + 1) & size == 0 and i + 1 >= 2 * size:
            state = combine(load(nodes, i - size), state)
            size *= 2
        return state

    def goes(total: Any, old: Any) -> bool:
        return decides(policy, total) if progress.of_window else decides(policy, total, old)

    slide = slide_with(
        own=own, combine=combine, load=load, store=list.__setitem__,
        seen=lambda rows, state, n: aggregation.lower(state), goes=goes,
    )  # fmt: skip
    room = [[None] * LEVELS, [None] * LEVELS, [0] * EDGES]
    first = [-1] * (stop - begin)
    try:
        slide(
            None, 0, ready - begin, fresh - begin, stop - begin, origin, head, progress.of_window,
            nodes, *room, first,
        )  # fmt: skip
    except WindrowError:
        raise
    except Exception as error:
        position = max(fresh, begin + len(units) - 1)
        row = records[position - ready]
        row = rows.values.described(position) | (row if isinstance(row, dict) else {"value": row})
        error.add_note(f"in until={named(policy)}, at the row {row!r}")
        raise
    if rows.trees is not None:
        rows.trees[segment] = Tree(origin + stop - begin, units, nodes)
    return [begin + place for place in first[fresh - begin :]]


# -- one value at a time ---------------------------------------------------------------------


class PolicyWindow:
    """A policy, called for each value that is pushed through a window.

    It is called before the insert, so that a policy that raises leaves the window alone.

    >>> from windrow import Last, Max, Sum, aggregator
    >>> swag = aggregator({"max": Max(), "sum": Sum(), "last": Last()}, algorithm="amta")
    >>> swag.extend([2, 2, 3, 3])
    >>> above_ten = PolicyWindow(lambda total, old: total.sum - old.sum + old.last > 10)
    >>> above_ten.leaving(swag, 4), above_ten.leaving(swag, 11)
    (2, 5)
    >>> PolicyWindow(lambda window: window.sum > 10).leaving(swag, 4)
    2
    """

    def __init__(self, policy: Policy) -> None:
        self._policy, self._of_window = policy, takes_window(policy)

    def leaving(self, swag: Aggregator, value: Any) -> int:
        """Return how many of the oldest must go once `value` is inserted; nothing changes yet.

        The value itself is counted where it must go, too. O(log k) ⊕ and calls of the policy for a
        result of k; k + 1 calls, and O(log n) ⊕ for each, where it is a function of the window.
        """
        if self._of_window:
            left = len(swag)
            while left >= 0 and decides(self._policy, swag.query_with(value, last=left)):
                left -= 1
            return len(swag) - left
        total = swag.query_with(value)
        gone = swag.count_while(lambda old: decides(self._policy, total, old))
        if gone == len(swag) and decides(self._policy, total, total):
            gone += 1
        return gone

    def accept(self) -> None:
        """Do nothing: a function has no state of its own, as `AdwinWindow` has."""


def decides(policy: Policy, *seen: Any) -> bool:
    """Return what a policy decides; an error names a result that it reads and the window lacks."""
    try:
        return bool(policy(*seen))
    except AttributeError as error:
        if isinstance(error.obj, Record):
            raise InvalidArgument(
                f"until: the policy asks for .{error.name}, which the window does not compute; "
                f"{did_you_mean(error.name or '', error.obj)}"
            ) from None
        raise
