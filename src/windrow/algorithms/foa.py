"""FOA, the Functional Okasaki Aggregator (section 3.1 of paper 003): a persistent window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, Aggregator, plus
from windrow.errors import EmptyWindow

Combine = Callable[[State, State], State]
Rotation = tuple[Combine, "Cell", "Cell", "Cell"]  # the rest of left ++ reversed(right) ++ acc
Packed = tuple[list[tuple[State, State, list[int]]], list[int]]


class Cell:
    """A list of window states: its first state, the aggregate of it all, and its tail.

    The tail may be a suspended computation, done when somebody looks at it and never twice.
    """

    __slots__ = ("_tail", "agg", "state")

    def __init__(self, state: State, agg: State, tail: Cell | Rotation | None) -> None:
        self.state, self.agg, self._tail = state, agg, tail

    @property
    def tail(self) -> Cell | None:
        """What follows; forces the suspension."""
        tail = self._tail
        if isinstance(tail, tuple):
            combine, left, right, acc = tail
            tail = self._tail = rotated(combine, left.tail, right.tail, acc)
        return tail

    @property
    def suspended(self) -> bool:
        """Whether the tail is still to be computed."""
        return isinstance(self._tail, tuple)

    @property
    def linked(self) -> tuple[Cell, ...]:
        """The cells that it points to: none, its tail, or the three of its suspended rotation."""
        if isinstance(self._tail, tuple):
            return self._tail[1:]
        return () if self._tail is None else (self._tail,)

    def link(self, combine: Combine, *cells: Cell) -> None:
        """Let it point to the cells that `linked` returned."""
        self._tail = (combine, *cells) if len(cells) == 3 else cells[0]


def rotated(combine: Combine, left: Cell | None, right: Cell | None, acc: Cell | None) -> Cell:
    """Return left ++ reversed(right) ++ acc, |right| = |left| + 1: one cell, then suspended."""
    assert right is not None, "it is one longer than the left list"
    moved = Cell(right.state, plus(combine, right.state, aggregate_of(acc)), acc)
    if left is None:
        return moved
    whole = plus(combine, combine(left.agg, right.agg), aggregate_of(acc))
    return Cell(left.state, whole, (combine, left, right, moved))


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One state of a window, for ever: operations return new versions and change nothing.

    `front` holds the oldest values, oldest first; `back` the newest, newest first; `ahead` is the
    part of `front` up to which its suspended rotation has been done.

        front ─→ v₀ ─→ v₁ ─→ v₂ ─→ (rot …)        back ─→ vₙ₋₁ ─→ vₙ₋₂
                              ↑ ahead
    """

    aggregation: Aggregation
    front: Cell | None = None
    ahead: Cell | None = None
    back: Cell | None = None
    size: int = 0

    def insert(self, value: Any) -> Version:
        """The version that has `value` as its newest. At most 4 ⊕."""
        return self._insert(self.aggregation.lift(value))

    def evict(self) -> Version:
        """The version without the oldest value. At most 3 ⊕."""
        if self.front is None:
            raise EmptyWindow("evict: this version of the window is empty")
        return self._step(self.front.tail, self.ahead, self.back, self.size - 1)

    def query(self) -> Any:
        """The aggregate of this version. At most 1 ⊕."""
        state = self._query()
        return self.aggregation.lower(self.aggregation.identity if state is NOTHING else state)

    def __len__(self) -> int:
        return self.size

    def _insert(self, state: State) -> Version:
        cell = Cell(state, self._plus(aggregate_of(self.back), state), self.back)
        return self._step(self.front, self.ahead, cell, self.size + 1)

    def _query(self) -> State:
        return self._plus(aggregate_of(self.front), aggregate_of(self.back))

    def _step(
        self, front: Cell | None, ahead: Cell | None, back: Cell | None, size: int
    ) -> Version:
        """One step of the rotation, or the start of the next one when it is done."""
        if ahead is not None:
            return Version(self.aggregation, front, ahead.tail, back, size)
        front = None if back is None else rotated(self.aggregation.combine, front, back, None)
        return Version(self.aggregation, front, front, None, size)

    def __reduce__(self) -> tuple[Any, ...]:
        cells = packed(self.front, self.ahead, self.back)
        return _version, (self.aggregation, cells, self.size)

    def _plus(self, a: State, b: State) -> State:
        return plus(self.aggregation.combine, a, b)


def _version(aggregation: Aggregation, cells: Packed, size: int) -> Version:
    """Return the version that `Version.__reduce__` took apart."""
    front, ahead, back = unpacked(Cell, cells, aggregation.combine)
    return Version(aggregation, front, ahead, back, size)


class Foa(Aggregator):
    """At most 4 ⊕ an insert, 3 an evict, 1 a query; every earlier version stays valid.

    >>> from windrow import Max, aggregator
    >>> swag = aggregator(Max(), algorithm="foa")
    >>> for v in (5, 2): swag.insert(v)
    >>> before = swag.snapshot()
    >>> swag.evict()
    >>> swag.query(), before.query()
    (2, 5)
    """

    algorithm = "foa"
    full_name = "Functional Okasaki Aggregator"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._version = Version(aggregation)

    def snapshot(self) -> Version:
        """The window as it is now, for ever. O(1)."""
        return self._version

    def __len__(self) -> int:
        return self._version.size

    def _insert(self, state: State) -> None:
        self._version = self._version._insert(state)

    def _evict(self, k: int) -> None:
        version = self._version
        for _ in range(k):
            version = version.evict()
        self._version = version

    def _query(self) -> State:
        return self._version._query()

    def _check(self) -> None:
        version = self._version
        check_lists(version.front, version.ahead, version.back, version.size)


# -- lists of cells, which `ioa` has as well, of a class of its own ------------------------------


def aggregate_of(cells: Any) -> State:
    """Return the aggregate of a list of cells, which may be empty."""
    return NOTHING if cells is None else cells.agg


def packed(*lists: Any) -> Packed:
    """Return all cells of the lists in rows, with numbers for links; and the lists' own numbers.

    They are copied and pickled so: from cell to cell, that would be as deep as the lists are long.
    """
    numbers: dict[Any, int] = {None: -1}
    cells: list[Any] = []
    waiting = [cell for cell in lists if cell is not None]
    while waiting:
        cell = waiting.pop()
        if cell not in numbers:
            numbers[cell] = len(cells)
            cells.append(cell)
            waiting += cell.linked
    rows = [(c.state, c.agg, [numbers[other] for other in c.linked]) for c in cells]
    return rows, [numbers[cell] for cell in lists]


def unpacked(kind: Any, saved: Packed, *context: Any) -> list[Any]:
    """Return the lists that `packed` was given, of new cells; `context` is for their `link`."""
    rows, lists = saved
    cells = [kind(state, agg, None) for state, agg, _ in rows]
    for cell, (_, _, links) in zip(cells, rows, strict=True):
        if links:
            cell.link(*context, *(cells[number] for number in links))
    return [None if number < 0 else cells[number] for number in lists]


def check_lists(front: Any, ahead: Any, back: Any, size: int) -> None:
    """Assert |F| − |B| = |N| and at most one suspended cell, at `ahead` (Lemma 3.1).

    Operations that failed or were taken back may have forced cells behind `ahead` already.
    """
    cell, seen, found_ahead = front, 0, ahead is None
    while cell is not None:
        seen += 1
        found_ahead = found_ahead or cell is ahead
        if cell.suspended:
            assert found_ahead, "a suspended cell must not lie before the rotation's position"
            return
        cell = cell.tail
    assert found_ahead, "ahead must be a part of front"
    in_back = _length(back)
    assert seen + in_back == size, (seen, in_back, size)
    assert seen - in_back == _length(ahead), (seen, in_back)


def _length(cells: Any) -> int:
    n = 0
    while cells is not None:
        n, cells = n + 1, cells.tail
    return n
