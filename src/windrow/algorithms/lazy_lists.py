"""The lazy lists of Okasaki's queue, which FOA and IOA keep their windows in (paper 003).

    front ─→ v₀ ─→ v₁ ─→ v₂ ─→ (rotation …)        back ─→ vₙ₋₁ ─→ vₙ₋₂
                          ↑ ahead

`front` has the oldest values, oldest first, and `back` the newest, newest first. When the back has
one value more than the front, front ++ reversed(back) becomes the front: one cell now, and one with
each operation to come. `ahead` is the part of the front up to which that has been done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

from windrow.aggregations.base import State
from windrow.algorithms.base import NOTHING, plus

Combine = Callable[[State, State], State]
Rotation = tuple[Combine, "Cell", "Cell", "Cell"]  # the rest of left ++ reversed(right) ++ acc
Lists = tuple[Optional["Cell"], Optional["Cell"], Optional["Cell"]]  # front, ahead, back
Packed = tuple[list[tuple[State, State, list[int]]], list[int]]
NO_LISTS: Lists = (None, None, None)


class Cell:
    """A list of window states: its first state, the aggregate of it all, and its tail.

    The tail may be a suspended rotation, done when somebody looks at it and never twice.
    """

    __slots__ = ("_tail", "agg", "state")

    def __init__(self, state: State, agg: State, tail: Cell | Rotation | None) -> None:
        self.state, self.agg, self._tail = state, agg, tail

    @property
    def tail(self) -> Cell | None:
        """The rest of the list; forces the suspension, which lets go of its three lists."""
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
        """Point to the cells that `linked` returned."""
        self._tail = (combine, *cells) if len(cells) == 3 else cells[0]


def rotated(combine: Combine, left: Cell | None, right: Cell | None, acc: Cell | None) -> Cell:
    """Return left ++ reversed(right) ++ acc, |right| = |left| + 1: one cell, then suspended."""
    assert right is not None, "it is one longer than the left list"
    moved = Cell(right.state, plus(combine, right.state, aggregate_of(acc)), acc)
    if left is None:
        return moved
    whole = plus(combine, combine(left.agg, right.agg), aggregate_of(acc))
    return Cell(left.state, whole, (combine, left, right, moved))


def inserted(combine: Combine, lists: Lists, state: State) -> Lists:
    """Return the lists with `state` as the newest. At most 4 ⊕."""
    front, ahead, back = lists
    return _stepped(
        combine, front, ahead, Cell(state, plus(combine, aggregate_of(back), state), back)
    )


def evicted(combine: Combine, lists: Lists) -> Lists:
    """Return the lists without the oldest state. At most 3 ⊕.

    To force a cell changes no list, only when its tail is computed: so what was done of steps that
    failed may stay.
    """
    front, ahead, back = lists
    assert front is not None, "there is an oldest state"
    return _stepped(combine, front.tail, ahead, back)


def _stepped(combine: Combine, front: Cell | None, ahead: Cell | None, back: Cell | None) -> Lists:
    """Return the lists with the rotation one cell further, or the next one begun."""
    if ahead is not None:
        return front, ahead.tail, back
    front = None if back is None else rotated(combine, front, back, None)
    return front, front, None


def total(combine: Combine, lists: Lists) -> State:
    """Return the aggregate of the window, NOTHING if it is empty. At most 1 ⊕."""
    front, _, back = lists
    return plus(combine, aggregate_of(front), aggregate_of(back))


def aggregate_of(cells: Cell | None) -> State:
    """Return the aggregate of a list of cells, which may be empty."""
    return NOTHING if cells is None else cells.agg


def packed(lists: Lists) -> Packed:
    """Return all cells of the lists in rows, with numbers for links; and the lists' own numbers.

    They are copied and pickled so: from cell to cell, that would be as deep as the lists are long.
    """
    numbers: dict[Cell | None, int] = {None: -1}
    cells: list[Cell] = []
    waiting = [cell for cell in lists if cell is not None]
    while waiting:
        cell = waiting.pop()
        if cell not in numbers:
            numbers[cell] = len(cells)
            cells.append(cell)
            waiting += cell.linked
    rows = [(c.state, c.agg, [numbers[other] for other in c.linked]) for c in cells]
    return rows, [numbers[cell] for cell in lists]


def unpacked(combine: Combine, saved: Packed) -> Lists:
    """Return the lists that `packed` was given, of new cells."""
    rows, lists = saved
    cells = [Cell(state, agg, None) for state, agg, _ in rows]
    for cell, (_, _, links) in zip(cells, rows, strict=True):
        if links:
            cell.link(combine, *(cells[number] for number in links))
    front, ahead, back = (None if number < 0 else cells[number] for number in lists)
    return front, ahead, back


def check_lists(lists: Lists, size: int) -> None:
    """Assert |F| − |B| = |N| and at most one suspended cell, at `ahead` (Lemma 3.1).

    Operations that failed or were taken back may have forced cells behind `ahead` already.
    """
    front, ahead, back = lists
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


def _length(cells: Cell | None) -> int:
    n = 0
    while cells is not None:
        n, cells = n + 1, cells.tail
    return n
