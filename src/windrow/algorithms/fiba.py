"""FiBA, the finger B-tree aggregator: out of order at the cost of how far, not of how much.

Tangwongsan, Hirzel and Schneider, "Optimal and General Out-of-Order Sliding-Window Aggregation"
(VLDB 2019), and "Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and
Insertions" (VLDB 2023).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from windrow.aggregations.base import Aggregation, State
from windrow.algorithms.base import NOTHING, same_states
from windrow.algorithms.timed import TimedAggregator, no_such_time

FEWEST = 4  # states of a leaf, children of an inner node; only the root may have fewer
MOST = 2 * FEWEST


class _Node:
    """A leaf with its states and their times, or an inner node with its children.

    keys[i] of an inner node lies between items[i] and items[i + 1]: no time before it is newer,
    none behind it is older.
    """

    __slots__ = ("chain", "height", "items", "keys", "own", "parent", "size")

    def __init__(self, height: int, items: list[Any], keys: list[Any]) -> None:
        self.height = height
        self.items = items
        self.keys = keys
        self.parent: _Node | None = None
        self.own: State = NOTHING
        self.chain: State = NOTHING
        self.size = 0

    def kept(self) -> tuple[Any, ...]:
        """Return what `restore` takes to make the node what it is now."""
        return self.items[:], self.keys[:], self.parent, self.own, self.chain, self.size

    def restore(self, *kept: Any) -> None:
        self.items, self.keys, self.parent, self.own, self.chain, self.size = kept

    def place(self) -> int:
        """Return which child of its parent it is."""
        assert self.parent is not None
        return self.parent.items.index(self)


Place = tuple[_Node, int]  # a leaf, and an index there


class Fiba(TimedAggregator):
    """O(log d) ⊕ to insert d values from the nearer end, 2 to query; any part leaves at once.

    A B-tree with the values in its leaves. Fingers point at both ends, so that a place is searched
    from there: up as far as needed, and down again. What a node has aggregated depends on where it
    stands, such that a change at an end is no matter of all the nodes above:

                              root            own: ⊕ of its inner children
                       ┌────┬──┴──┬────┐
              left     L₁   ○     ○    R₁     own: ⊕ of all children but the outermost
              spine ┌──┼──┐      ┌──┬──┤      chain: own ⊕ chain of the parent; on the right
                   L₀  ○  ○      ○  ○  R₀            chain of the parent ⊕ own
                    ↑                  ↑
              left finger        right finger            ○ own: ⊕ of all that is below

    The window is chain(L₀) ⊕ own(root) ⊕ chain(R₀).

    An operation first changes nodes and notes which; then what they aggregate is renewed, each
    node once, from the leaves up to a spine and down to its finger.

    >>> from windrow import Concat, aggregator
    >>> swag = aggregator(Concat(), algorithm="fiba")
    >>> for at, v in ((1, "a"), (3, "c"), (2, "b")): swag.insert(v, at=at)
    >>> swag.query(), swag.query(last=2)
    ('abc', 'bc')
    >>> swag.evict(at=2); swag.query()
    'ac'
    """

    algorithm = "fiba"
    full_name = "FiBA, the finger B-tree aggregator"
    bulk_evict = True

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._changed: dict[_Node, None] = {}  # the nodes that an operation has changed so far
        self._root = self._left = self._right = _Node(0, [], [])
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def oldest_time(self) -> Any:
        """The time of the oldest value; None where values have no times."""
        return self._left.keys[0] if self._size else None

    def times(self) -> Iterator[Any]:
        """Yield the times of the values, oldest first; the window must not change meanwhile."""
        leaf: _Node | None = self._left
        while leaf is not None:
            yield from leaf.keys
            leaf = _next_leaf(leaf)

    # -- the operations ---------------------------------------------------------------------

    def _put(self, state: State, at: Any) -> None:
        leaf = self._right
        if len(leaf.items) == MOST or not self._size or (at is not None and at < leaf.keys[-1]):
            self._put_all([(state, at)])
            return
        own, chain = self._combine(leaf.own, state), NOTHING
        if leaf is not self._root:
            chain = self._combine(leaf.chain, state)
        if self._undo is not None:
            self._note(leaf.restore, *leaf.kept())
        leaf.items.append(state)
        leaf.keys.append(at)
        leaf.own, leaf.chain = own, chain
        self._size += 1

    def _put_all(self, entries: list[tuple[State, Any]]) -> None:
        self.atomically(self._operate, self._put_each, entries)

    def _operate(self, change: Callable[[Any], None], argument: Any) -> None:
        """Change nodes, and aggregate anew what has changed."""
        self._changed = {}
        change(argument)
        self._renew()
        self._changed = {}

    def _put_each(self, entries: list[tuple[State, Any]]) -> None:
        for state, at in entries:
            leaf, i = self._behind(at)
            self._change(leaf)
            leaf.items.insert(i, state)
            leaf.keys.insert(i, at)
            self._size += 1
            self._split(leaf)

    def _remove_all(self, times: list[Any]) -> None:
        self.atomically(self._operate, self._remove_each, times)

    def _remove_each(self, times: list[Any]) -> None:
        for at in times:
            leaf, i = self._before(at)
            if i == len(leaf.items) or leaf.keys[i] != at:
                raise no_such_time(at)
            self._change(leaf)
            del leaf.items[i], leaf.keys[i]
            self._size -= 1
            self._fill(leaf)

    def _evict(self, k: int) -> None:
        leaf = self._left
        if k == self._size:
            self._clear()
        elif len(leaf.items) - k < (FEWEST if leaf.parent else 1):
            self.atomically(self._operate, self._cut, k)
        else:
            own = self._fold(leaf.items[k:])
            chain = self._plus(own, self._chain_above(leaf)) if leaf.parent else NOTHING
            if self._undo is not None:
                self._note(leaf.restore, *leaf.kept())
            del leaf.items[:k], leaf.keys[:k]
            leaf.own, leaf.chain = own, chain
            self._size -= k

    def _cut(self, k: int) -> None:
        """Remove the k oldest values, k < len: all that is left of the path to the next."""
        leaf, i = self._ranked(k)
        self._change(leaf)
        del leaf.items[:i], leaf.keys[:i]
        path, spine = [leaf], self._left
        while path[-1] is not spine:
            i, node = path[-1].place(), path[-1].parent
            assert node is not None and spine.parent is not None
            spine = spine.parent
            path.append(node)
            self._change(node)
            del node.items[:i], node.keys[:i]
        self._left = leaf
        self._size -= k
        for node in reversed(path):  # from above, so that each finds a sibling
            self._fill(node)

    def _query(self) -> State:
        if self._root.height == 0:
            return self._root.own
        return self._plus(self._plus(self._left.chain, self._root.own), self._right.chain)

    def _query_last(self, last: int) -> State:
        return self._between(self._ranked(self._size - last), self._end())

    def _query_between(self, start: Any, end: Any) -> State:
        if not self._size:
            return NOTHING
        first = (self._left, 0) if start is None else self._before(start)
        past = self._end() if end is None else self._behind(end)
        if start is not None and end is not None and end < start:
            return NOTHING
        return self._between(first, past)

    # -- places -----------------------------------------------------------------------------

    def _newest_time(self) -> Any:
        return self._right.keys[-1] if self._size else None

    def _end(self) -> Place:
        """Return the place behind the newest value."""
        return self._right, len(self._right.items)

    def _behind(self, at: Any) -> Place:
        """Return the place behind all values whose times are not after `at`."""
        if at is None or not self._size or not at < self._right.keys[-1]:
            return self._end()
        return self._found(at, bisect_right)

    def _before(self, at: Any) -> Place:
        """Return the place of the oldest value whose time is not before `at`, or the end."""
        leaf, i = self._found(at, bisect_left)
        behind = _next_leaf(leaf) if i == len(leaf.keys) else None
        return (leaf, i) if behind is None else (behind, 0)

    def _found(self, at: Any, bisect: Callable[[list[Any], Any], int]) -> Place:
        """Return where a bisection of all times ends: up from the nearer finger, and down."""
        newer, older = self._right, self._left
        while True:
            above, beside = newer.parent, older.parent
            if above is None or beside is None or bisect(above.keys, at) == len(above.keys):
                node = newer
                break
            if bisect(beside.keys, at) == 0:
                node = older
                break
            newer, older = above, beside
        while node.height:
            node = node.items[bisect(node.keys, at)]
        return node, bisect(node.keys, at)

    def _ranked(self, k: int) -> Place:
        """Return the place of the value with k older ones: from the nearer finger, if it can."""
        older = 2 * k < self._size
        node = self._counted(k, older) or self._counted(k, not older)
        assert node is not None, "one of the fingers finds every value"
        return node

    def _counted(self, k: int, older: bool) -> Place | None:
        """Return `_ranked(k)` from one finger; None if it lies in the other one's part."""
        node, step = (self._left, 1) if older else (self._right, -1)
        k = k if older else self._size - 1 - k
        if k < len(node.items):
            return _place_below(node, k, step)
        k -= len(node.items)
        while node is not self._root:
            assert node.parent is not None
            node = node.parent
            others = node.items[::step][1:]
            for child in others[:-1] if node is self._root else others:
                if k < child.size:
                    return _place_below(child, k, step)
                k -= child.size
        return None

    def _between(self, first: Place, past: Place) -> State:
        """Return the ⊕ of [first, past), which is a place behind `first` or the same."""
        (older, i), (newer, j) = first, past
        if older is newer:
            return self._fold(older.items[i:j])
        left, right = self._fold(older.items[i:]), self._fold(newer.items[:j])
        while True:
            i, j = older.place(), newer.place()
            assert older.parent is not None and newer.parent is not None
            older, newer = older.parent, newer.parent
            if older is newer:
                break
            left = self._fold([left, *(child.own for child in older.items[i + 1 :])])
            right = self._fold([*(child.own for child in newer.items[:j]), right])
        return self._fold([left, *(child.own for child in older.items[i + 1 : j]), right])

    # -- the shape of the tree --------------------------------------------------------------

    def _clear(self) -> None:
        self._root = self._left = self._right = _Node(0, [], [])
        self._size = 0

    def _change(self, node: _Node) -> None:
        """Note that a node is about to change, and how that is taken back."""
        if node not in self._changed:
            self._note(node.restore, *node.kept())
            self._changed[node] = None

    def _adopt(self, parent: _Node, children: list[Any]) -> None:
        """Make a node the parent of others, if it is no leaf and they are nodes."""
        if parent.height:
            for child in children:
                if self._undo is not None:
                    self._note(setattr, child, "parent", child.parent)
                child.parent = parent

    def _split(self, node: _Node) -> None:
        """Halve a node that has too many items, and those above that have too many then."""
        while len(node.items) > MOST:
            middle = (len(node.items) + 1) // 2
            newer = _Node(node.height, node.items[middle:], node.keys[middle:])
            key = newer.keys[0]
            if node.height:
                key = node.keys[middle - 1]
            del node.items[middle:], node.keys[middle - (node.height > 0) :]
            self._adopt(newer, newer.items)
            self._changed[newer] = None
            if node is self._right:
                self._right = newer
            parent = node.parent
            if parent is None:
                parent = self._root = _Node(node.height + 1, [node], [])
                node.parent = parent
            self._change(parent)
            i = node.place()
            parent.items.insert(i + 1, newer)
            parent.keys.insert(i, key)
            newer.parent = parent
            node = parent

    def _fill(self, node: _Node) -> None:
        """Give a node with too few items some of a sibling's, or them all to one of both."""
        while len(node.items) < FEWEST and node.parent is not None:
            parent = node.parent
            i = max(node.place() - 1, 0)
            older, newer = parent.items[i : i + 2]
            for changing in (older, newer, parent):
                self._change(changing)
            items = older.items + newer.items
            between = [parent.keys[i]] if node.height else []
            keys = older.keys + between + newer.keys
            if len(items) > MOST:
                middle = len(items) // 2
                self._adopt(older, items[len(older.items) : middle])
                self._adopt(newer, items[middle : len(older.items)])
                parent.keys[i] = keys[middle - (node.height > 0)]
                older.items, newer.items = items[:middle], items[middle:]
                older.keys, newer.keys = keys[: middle - (node.height > 0)], keys[middle:]
                return
            self._adopt(older, newer.items)
            older.items, older.keys = items, keys
            del parent.items[i + 1], parent.keys[i]
            del self._changed[newer]
            if newer is self._right:
                self._right = older
            node = parent
        self._lower_root()

    def _lower_root(self) -> None:
        """Make the only child of a root the root."""
        while self._root.height and len(self._root.items) == 1:
            gone, root = self._root, self._root.items[0]
            self._changed.pop(gone, None)
            self._change(root)
            root.parent, self._root = None, root
            if root.height:  # the spines begin below it now
                self._change(root.items[0])
                self._change(root.items[-1])

    # -- what the nodes have aggregated -----------------------------------------------------

    def _renew(self) -> None:
        """Aggregate anew what has changed: up to the spines, and down these to the fingers."""
        levels: dict[int, list[_Node]] = {}
        for node in self._changed:
            levels.setdefault(node.height, []).append(node)
        spines: list[tuple[_Node, _Node]] = []
        tops = [0, 0]
        left, right = self._left, self._right
        while levels:
            for node in levels.pop(left.height, ()):
                self._renew_own(node, left, right)
                if node is self._root:
                    continue
                if node is left:
                    tops[0] = left.height + 1
                elif node is right:
                    tops[1] = left.height + 1
                elif node.parent not in self._changed:
                    assert node.parent is not None
                    self._change(node.parent)
                    levels.setdefault(node.height + 1, []).append(node.parent)
            spines.append((left, right))
            if left.parent is not None and right.parent is not None:
                left, right = left.parent, right.parent
        for i in reversed(range(max(tops))):
            left, right = spines[i]
            if i < tops[0]:
                self._chain(left, self._plus(left.own, self._chain_above(left)))
            if i < tops[1]:
                self._chain(right, self._plus(self._chain_above(right), right.own))

    def _renew_own(self, node: _Node, left: _Node, right: _Node) -> None:
        """Aggregate a node's own part, which depends on its place to the spines at its height."""
        if node.height == 0:
            node.own = self._fold(node.items)
            node.size = len(node.items)
            return
        first = int(node is left)
        past = len(node.items) - int(node is right)
        children = node.items[first:past]
        node.own = self._fold([child.own for child in children])
        node.size = sum(child.size for child in children)

    def _chain_above(self, node: _Node) -> State:
        assert node.parent is not None
        return NOTHING if node.parent is self._root else node.parent.chain

    def _chain(self, node: _Node, chain: State) -> None:
        if self._undo is not None:
            self._note(setattr, node, "chain", node.chain)
        node.chain = chain

    # -- for tests --------------------------------------------------------------------------

    def _check(self) -> None:
        assert not self._changed, self._changed
        lefts, rights = _spine(self._root, 0), _spine(self._root, -1)
        assert lefts[-1] is self._left and rights[-1] is self._right, "fingers point at the ends"
        assert self._root.parent is None
        times = list(self.times())
        assert len(times) == self._size, (times, self._size)
        if times and times[-1] is not None:
            assert times == sorted(times), times
        self._check_below(self._root, set(lefts), set(rights))
        for node in (*lefts[1:], *rights[1:]):
            above = self._chain_above(node)
            parts = (node.own, above) if node in lefts else (above, node.own)
            self._check_same(node.chain, self._fold(parts), "chain")

    def _check_below(self, node: _Node, lefts: set[_Node], rights: set[_Node]) -> None:
        root, leaf = node is self._root, node.height == 0
        assert len(node.items) <= MOST, node.items
        assert len(node.items) >= (FEWEST if not root else 0 if leaf else 2), node.items
        assert len(node.keys) == len(node.items) - (not leaf), (node.keys, node.items)
        inner = node.items
        if not leaf:
            inner = node.items[int(node in lefts) : len(node.items) - int(node in rights)]
        if node not in lefts and node not in rights:
            assert node.size == (len(inner) if leaf else sum(child.size for child in inner))
        self._check_same(node.own, self._fold(inner if leaf else [c.own for c in inner]), "own")
        for i, child in enumerate([] if leaf else node.items):
            assert child.parent is node and child.height == node.height - 1, (node, child)
            if i and node.keys[i - 1] is not None:
                older = _spine(node.items[i - 1], -1)[-1].keys[-1]
                newer = _spine(child, 0)[-1].keys[0]
                assert not node.keys[i - 1] < older and not newer < node.keys[i - 1]
            self._check_below(child, lefts, rights)

    def _check_same(self, state: State, expected: State, what: str) -> None:
        if self.aggregation.exact or state is NOTHING or expected is NOTHING:
            assert same_states(state, expected), (what, state, expected)


def _spine(node: _Node, end: int) -> list[_Node]:
    """Return the nodes from one down to the leaf at an end of it, 0 or −1."""
    nodes = [node]
    while nodes[-1].height:
        nodes.append(nodes[-1].items[end])
    return nodes


def _place_below(node: _Node, k: int, step: int) -> Place:
    """Return the place of the k-th value below a node, counted from its end if step is −1."""
    while node.height:
        for child in node.items[::step]:
            if k < child.size:
                node = child
                break
            k -= child.size
    return node, k if step == 1 else len(node.items) - 1 - k


def _next_leaf(leaf: _Node) -> _Node | None:
    """Return the leaf behind another; None behind the last."""
    node = leaf
    while node.parent is not None:
        i = node.place() + 1
        if i < len(node.parent.items):
            return _spine(node.parent.items[i], 0)[-1]
        node = node.parent
    return None
