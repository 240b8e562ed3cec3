"""IOA, the Imperative Okasaki Aggregator (section 3.2 of paper 003): FOA by hand-made laziness."""

from __future__ import annotations

from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import Aggregator
from windrow.algorithms.foa import aggregate_of, check_lists, packed, unpacked


class _Cell:
    """A cell of a list: forced, with a tail, or suspended, with a rotation's arguments."""

    __slots__ = ("acc", "agg", "left", "right", "state", "suspended", "tail")

    def __init__(self, state: State, agg: State, tail: _Cell | None) -> None:
        self.state, self.agg, self.tail = state, agg, tail
        self.suspended = False
        self.left: _Cell | None = None
        self.right: _Cell | None = None
        self.acc: _Cell | None = None

    @property
    def linked(self) -> tuple[_Cell | None, ...]:
        """The cells that it points to: none, its tail, or the three of its suspended rotation."""
        if self.suspended:
            return self.left, self.right, self.acc
        return () if self.tail is None else (self.tail,)

    def link(self, *cells: _Cell) -> None:
        """Let it point to the cells that `linked` returned."""
        self.suspended = len(cells) == 3
        if self.suspended:
            self.left, self.right, self.acc = cells
        else:
            (self.tail,) = cells


_Lists = tuple[_Cell | None, _Cell | None, _Cell | None]  # front, ahead, back


class Ioa(Aggregator):
    """At most 4 ⊕ an insert, 3 an evict, 1 a query.

        front ─→ [v₀] ─→ [v₁] ─→ [v₂ · suspended: left, right, acc]      back ─→ [vₙ₋₁] ─→ …
                                  ↑ ahead

    A suspended cell is forced in place, one at each operation; there is at most one of them
    (Lemma 3.1), and the cells before it are an ordinary list.
    """

    algorithm = "ioa"
    full_name = "Imperative Okasaki Aggregator"

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._front: _Cell | None = None
        self._ahead: _Cell | None = None
        self._back: _Cell | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def _insert(self, state: State) -> None:
        back = self._back
        agg = state if back is None else self._combine(back.agg, state)
        lists = self._step(self._front, self._ahead, _Cell(state, agg, back))
        self._front, self._ahead, self._back = lists
        self._size += 1

    def _evict(self, k: int) -> None:
        lists = self._front, self._ahead, self._back
        for _ in range(k):
            front, ahead, back = lists
            assert front is not None
            self._force(front)
            lists = self._step(front.tail, ahead, back)
        self._front, self._ahead, self._back = lists
        self._size -= k

    def _query(self) -> State:
        return self._plus(aggregate_of(self._front), aggregate_of(self._back))

    def _step(self, front: _Cell | None, ahead: _Cell | None, back: _Cell | None) -> _Lists:
        """Return the lists with the rotation one cell further, or the next one begun.

        To force a cell changes no list, only when its tail is computed: so what was done of steps
        that failed may stay.
        """
        if ahead is not None:
            self._force(ahead)
            return front, ahead.tail, back
        rotated = None if back is None else self._rotate(front, back, None)
        return rotated, rotated, None

    def _rotate(self, left: _Cell | None, right: _Cell, acc: _Cell | None) -> _Cell:
        """The first cell of left ++ reversed(right) ++ acc; |right| = |left| + 1."""
        moved = _Cell(right.state, self._plus(right.state, aggregate_of(acc)), acc)
        if left is None:
            return moved
        whole = self._plus(self._combine(left.agg, right.agg), aggregate_of(acc))
        cell = _Cell(left.state, whole, None)
        cell.suspended, cell.left, cell.right, cell.acc = True, left, right, moved
        return cell

    def _force(self, cell: _Cell) -> None:
        """Give a suspended cell its tail: the rest of the rotation that it stands for."""
        if not cell.suspended:
            return
        left, right = cell.left, cell.right
        assert left is not None and right is not None and right.tail is not None
        self._force(left)
        cell.tail = self._rotate(left.tail, right.tail, cell.acc)
        cell.suspended = False
        cell.left = cell.right = cell.acc = None

    def __getstate__(self) -> dict[str, Any]:
        lists = packed(self._front, self._ahead, self._back)
        return {**vars(self), "_front": lists, "_ahead": None, "_back": None}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)
        self._front, self._ahead, self._back = unpacked(_Cell, saved["_front"])

    def _check(self) -> None:
        check_lists(self._front, self._ahead, self._back, self._size)
