"""FlatFAT (section 4 of paper 000): a fixed-size aggregator in one flat array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from windrow.aggregations.base import State
from windrow.algorithms.base import NOTHING, plus, same_states

Plus = Callable[[State, State], State]


class FlatFAT:
    """A complete binary tree over n slots, n a power of two; each node is the ⊕ of its children.

        index      1                        root: the aggregate of all slots
                 ┌─┴─┐
                 2   3
                ┌┴┐ ┌┴┐
                4 5 6 7                     leaves: slot i lies at n + i
        slot    0 1 2 3

    Slots hold ⊥ (NOTHING) where there is no value. The paper counts from 1; slots here count
    from 0.

    >>> from windrow.aggregations import Concat
    >>> tree = FlatFAT(["a", "b", "c", "d"], lambda x, y: x + y)
    >>> tree.update([(1, "B")])
    >>> tree.aggregate(), tree.prefix(1), tree.suffix(2)
    ('aBcd', 'aB', 'cd')
    """

    __slots__ = ("_plus", "_tree", "size")

    def __init__(self, slots: Sequence[State], combine: Plus) -> None:
        """n − 1 ⊕."""
        size = len(slots)
        assert size and size & (size - 1) == 0, f"{size} slots: not a power of two"
        self.size = size
        self._plus = partial(plus, combine)
        self._tree: list[State] = [NOTHING] * size + list(slots)
        for node in range(size - 1, 0, -1):
            self._tree[node] = self._plus(self._tree[2 * node], self._tree[2 * node + 1])

    def __getitem__(self, slot: int) -> State:
        return self._tree[self.size + slot]

    def node(self, level: int, m: int) -> State:
        """Return the ⊕ of the slots [m·2^level, (m+1)·2^level) of a circle: no ⊕ at all.

        >>> FlatFAT(["a", "b", "c", "d"], lambda x, y: x + y).node(1, 3)
        'cd'
        """
        width = self.size >> level
        return self._tree[width + (m & (width - 1))]

    def update(self, writes: Iterable[tuple[int, State]]) -> None:
        """Write m slots: at most m·(1 + ⌈log₂(n/m)⌉) ⊕. All or nothing is written."""
        self.write(self.renewed(writes))

    def renewed(self, writes: Iterable[tuple[int, State]]) -> dict[int, State]:
        """Return the nodes that `update` would write, by their index; the tree stays as it is."""
        tree = self._tree
        new: dict[int, State] = {self.size + slot: state for slot, state in writes}
        level = dict.fromkeys(node >> 1 for node in new)
        while level and 0 not in level:
            for node in level:
                left, right = 2 * node, 2 * node + 1
                new[node] = self._plus(
                    new[left] if left in new else tree[left],
                    new[right] if right in new else tree[right],
                )
            level = dict.fromkeys(node >> 1 for node in level)
        return new

    def write(self, nodes: dict[int, State]) -> None:
        """Write nodes as `renewed` returned them, or `present`: no ⊕."""
        for node, state in nodes.items():
            self._tree[node] = state

    def present(self, nodes: Iterable[int]) -> dict[int, State]:
        """Return what the tree has at these indices."""
        return {node: self._tree[node] for node in nodes}

    def aggregate(self) -> State:
        """Return the ⊕ of all slots: no ⊕ at all."""
        return self._tree[1]

    def prefix(self, last: int) -> State:
        """Return the ⊕ of slots 0 … last: fewer than log₂ n ⊕."""
        return self.between(0, last)

    def suffix(self, first: int) -> State:
        """Return the ⊕ of slots first … n−1: fewer than log₂ n ⊕."""
        return self.between(first, self.size - 1)

    def between(self, first: int, last: int) -> State:
        """Return the ⊕ of slots first … last: at most 2·log₂ n ⊕."""
        low, high = self.size + first, self.size + last + 1
        left: State = NOTHING
        right: State = NOTHING
        while low < high:
            if low & 1:
                left = self._plus(left, self._tree[low])
                low += 1
            if high & 1:
                high -= 1
                right = self._plus(self._tree[high], right)
            low >>= 1
            high >>= 1
        return self._plus(left, right)

    def _check(self) -> None:
        """Every inner node is the ⊕ of its children."""
        tree = self._tree
        for node in range(1, self.size):
            expected = self._plus(tree[2 * node], tree[2 * node + 1])
            assert same_states(tree[node], expected), (node, expected, tree[node])
