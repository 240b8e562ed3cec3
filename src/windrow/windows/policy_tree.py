"""The tree that is searched for a policy, and where it lets the window of each row begin.

Positions are those of a key's rows, from 0, whatever of them is still here. The node of a position
is the ⊕ of the rows up to it, so many as the largest power of two that divides the next position (a
Fenwick tree). A node that begins before the window is never read:

    position   0    1    2    3    4    5    6    7
    node       0   0…1   2   0…3   4   4…5   6   0…7

The total of a window [head, end) is put together around `middle`, the position behind its head that
the largest power of two divides. On its left lie aggregates from each edge of a block up to it, on
its right those from it up to each edge:

    head ┬ ┬──┬─────── middle ─────┬──┬ end         1 ⊕ for the total, and 4 or so a row for both
         └─┴──┴── suffix ─┘└─ prefix ┴──┘

So what is combined with what depends on `head` and `end` alone, and totals have the same bits
however a stream is cut. O(log k) tests of a policy, and O(log² k) ⊕, find k rows that go.

The functions run in the interpreter and are compiled, with other meanings of the first few.
"""

# what they are given is not annotated: it is compiled for several types
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from types import FunctionType
from typing import Any

# Room for the edges of blocks: of suffixes, of prefixes, and of those that are about to be added.
LEVELS = 64
EDGES = 3 * LEVELS


def own(rows, i):
    """Return the state of row i alone."""


def combine(a, b):
    """a ⊕ b."""


def load(states, i):
    """Return the state at place i."""


def store(states, i, state):
    """Put a state at place i."""


def seen(rows, state, n):
    """Return what a policy sees of the state of n rows."""


def goes(total, old):
    """Return whether a policy lets the oldest part go."""


def slide(
    rows, begin, ready, fresh, stop, origin, head, of_rest, nodes, suffix, prefix, edges, first
):
    """Write where the windows of the rows `fresh` … `stop` − 1 of one key begin.

    The row `begin` is at position `origin`; those before `ready` have their nodes. `head` is the
    position at which the window of the row before `fresh` begins.
    """
    shift = begin - origin
    middle, tall, wide = -1, 0, 0
    for i in range(ready, stop):
        end = i - shift + 1
        size, state = 1, own(rows, i)
        while end & size == 0 and end - 2 * size >= head:
            state = combine(load(nodes, i - size), state)
            size *= 2
        store(nodes, i, state)
        if i < fresh:
            continue
        if middle > head:
            if end & -end > middle & -middle:
                middle, tall, wide = end, 0, 0
            else:
                wide = _longer(nodes, prefix, edges, end, end & -end, shift, wide)
        middle, tall, wide = _settled(
            rows, head, end, shift, nodes, suffix, prefix, edges, middle, tall, wide
        )
        total = seen(rows, _total(suffix, prefix, tall, wide), end - head)
        if of_rest:
            while goes(total, total):
                head += 1
                if head == end:
                    break
                middle, tall, wide = _settled(
                    rows, head, end, shift, nodes, suffix, prefix, edges, middle, tall, wide
                )
                total = seen(rows, _total(suffix, prefix, tall, wide), end - head)
        else:
            head = _searched(rows, head, end - 1, shift, nodes, total)
        first[i] = head + shift


def _searched(rows, head, last, shift, nodes, total):
    """Return the position up to which the policy lets rows go: by steps that double, then halve.

    The newest row, at `last`, goes only with all others.
    """
    at, size, climbing = head, 1, True
    old = own(rows, head + shift)  # of [head, at), once `at` is behind it
    while size:
        longer, more = old, at + size <= last
        if more:
            longer = _block(rows, at, size, shift, nodes)
            if at > head:
                longer = combine(old, longer)
            more = goes(total, seen(rows, longer, at + size - head))
        if more:
            at, old = at + size, longer
        if not more or not climbing:
            climbing = False
            size //= 2
        elif at & size == 0:
            size *= 2
    if at == last and goes(total, total):
        at += 1
    return at


def _block(rows, at, size, shift, nodes):
    """Return the state of the positions [at, at + size), `at` being a multiple of `size`."""
    end = at + size
    if end & size:
        return load(nodes, end - 1 + shift)
    state = own(rows, end - 1 + shift)
    part = 1
    while part < size:
        state = combine(load(nodes, end - part - 1 + shift), state)
        part *= 2
    return state


def _longer(nodes, prefix, edges, end, size, shift, wide):
    """Return how many prefixes there are up to `end`, where a block of this size ends."""
    while wide and edges[LEVELS + wide - 1] > end - size:
        wide -= 1
    state = load(nodes, end - 1 + shift)
    if wide:
        state = combine(load(prefix, wide - 1), state)
    store(prefix, wide, state)
    edges[LEVELS + wide] = end
    return wide + 1


def _settled(rows, head, end, shift, nodes, suffix, prefix, edges, middle, tall, wide):
    """Return the middle of [head, end), and how many suffixes and prefixes lie on its sides."""
    if middle <= head:
        middle, tall, wide = end & -_highest(head ^ end), 0, 0
        at = middle
        while at < end:
            size = _highest(end - at)
            at += size
            wide = _longer(nodes, prefix, edges, at, size, shift, wide)
    while tall and edges[tall - 1] < head:
        tall -= 1
    limit = edges[tall - 1] if tall else middle
    count, at = 0, head
    while at < limit:
        edges[2 * LEVELS + count] = at
        count += 1
        at += at & -at if at else limit
    while count:
        count -= 1
        at = edges[2 * LEVELS + count]
        state = _block(rows, at, limit - at, shift, nodes)
        if tall:
            state = combine(state, load(suffix, tall - 1))
        store(suffix, tall, state)
        edges[tall] = at
        tall += 1
        limit = at
    return middle, tall, wide


def _total(suffix, prefix, tall, wide):
    """Return the ⊕ of what lies on both sides of the middle."""
    if wide:
        return combine(load(suffix, tall - 1), load(prefix, wide - 1))
    return load(suffix, tall - 1)


def _highest(x):
    """Return the highest power of two in a number.

    >>> _highest(5), _highest(8)
    (4, 8)
    """
    while x & (x - 1):
        x &= x - 1
    return x


# In the order in which they call each other, the first first.
TREE = (_highest, _total, _longer, _block, _settled, _searched, slide)


def slide_with(**meanings: Any) -> Any:
    """Return `slide` for the interpreter, with these meanings of `own`, `combine` and so on."""
    scope: dict[str, Any] = {"LEVELS": LEVELS, **meanings}
    for function in TREE:
        name = function.__name__
        scope[name] = FunctionType(function.__code__, scope, name)
    return scope["slide"]
