"""The functions that the loops are written in, which each of them takes by ``import *``.

A loop is a plain function over states that it cannot look into. The generator puts a loop's text
and the definitions of these functions, for one aggregation and one type of values, into one
module, and Numba compiles it as if it had been written by hand. Here they only have their
meaning, so that the loops can be read, linted and typed.

A state is a tuple of scalars, kept in registers and stored in one array a field, or a row of a
2-D array. Rows are combined in place, which is why `combine` and `lift` are told where to put
their result: ``keep(buffer, i, combine(a, b, slot(buffer, i)))`` works for both. A scalar state
takes no notice of the slot, a row is there already when it is kept.

The functions at the end are the same for all aggregations, and taken over as they are here.
"""

from __future__ import annotations

from typing import Any

COMMUTATIVE: bool = False  # whether ⊕ is
BY_ROWS: bool = False  # whether the windows are the last w rows
# What a loop says of its buffers, where that is not so:
INDICES: dict[str, tuple[int, int]] = {}  # none of them has indices
LAYOUT: dict[str, str] = {}  # those that grow with the capacity are rings of positions
ROUNDED = True  # the capacity is a power of two


def inner(function: Any) -> Any:
    """Compile a function of a loop's own, which it calls."""
    return function


def window(r: int, row: int, w: int, lo: Any, hi: Any) -> Any:
    """The positions [first, past) of row r; `row` is the first row of this call."""


def lift(columns: Any, nulls: Any, j: int, position: int, into: Any) -> Any:
    """The state of the j-th value of this call, which is at `position` of the stream."""


def combine(a: Any, b: Any, into: Any) -> Any:
    """a ⊕ b; `into` may be a's or b's own slot."""


def invert(total: Any, old: Any, into: Any) -> Any:
    """`total` without its oldest part `old`."""


def same(a: Any, b: Any) -> Any:
    """Whether two states are equal, bit for bit."""


def lost(state: Any) -> Any:
    """Whether a state holds a number that is not finite, which stays when it is subtracted."""


def slot(buffer: Any, i: int) -> Any:
    """Where a result for place i of a buffer belongs."""


def load(buffer: Any, i: int) -> Any:
    """The state at place i."""


def keep(buffer: Any, i: int, state: Any) -> None:
    """Let `state`, which was made into ``slot(buffer, i)``, be the state at place i."""


def store(buffer: Any, i: int, state: Any) -> None:
    """Copy `state` to place i."""


def emit(out: Any, valid: Any, i: int, state: Any) -> None:
    """Write the result of `state` as result i."""


def emit_nothing(out: Any, valid: Any, i: int) -> None:
    """Write the result of an empty window as result i."""


# -- what follows from these ---------------------------------------------------------------------


def copied(buffer: Any, i: int, state: Any) -> Any:
    """A copy of `state` at place i."""
    store(buffer, i, state)
    return load(buffer, i)


def inserted(buffer: Any, i: int, columns: Any, nulls: Any, base: int, position: int) -> Any:
    """The state of the value at `position`, kept at place i; the values here begin at `base`."""
    state = lift(columns, nulls, position - base, position, slot(buffer, i))
    keep(buffer, i, state)
    return state


def extended(buffer: Any, i: int, total: Any, state: Any, first: bool) -> Any:
    """`total` ⊕ `state`, kept at place i; the state alone if it is the `first`."""
    if first:
        return copied(buffer, i, state)
    total = combine(total, state, slot(buffer, i))
    keep(buffer, i, total)
    return total


def folded(ring: Any, mask: int, first: int, past: int, buffer: Any, i: int) -> Any:
    """The ⊕ of the positions [first, past) of a ring, kept at place i of a buffer."""
    total = copied(buffer, i, load(ring, first & mask))
    for p in range(first + 1, past):
        total = combine(total, load(ring, p & mask), slot(buffer, i))
    keep(buffer, i, total)
    return total


def fold_back(ring: Any, mask: int, first: int, past: int) -> None:
    """Turn the states of [first, past) into aggregates from each of them to the last, in place."""
    suffix = load(ring, (past - 1) & mask)
    for p in range(past - 2, first - 1, -1):
        place = p & mask
        suffix = combine(load(ring, place), suffix, slot(ring, place))
        keep(ring, place, suffix)


def emit_both(
    out: Any,
    valid: Any,
    i: int,
    older: Any,
    newer: Any,
    has_older: bool,
    has_newer: bool,
    into: Any,
) -> None:
    """Write the result of two parts of a window, each of which may be missing."""
    if has_older and has_newer:
        emit(out, valid, i, combine(older, newer, into))
    elif has_older:
        emit(out, valid, i, older)
    elif has_newer:
        emit(out, valid, i, newer)
    else:
        emit_nothing(out, valid, i)


# Dyadic blocks of all levels in one buffer: level l is a ring of capacity >> l blocks that begins
# at 2·capacity − (2·capacity >> l); its block m has the positions [m << l, (m + 1) << l).


def block_place(p: int, level: int, capacity: int) -> int:
    """Where the block of this level that holds position p is."""
    return 2 * capacity - (2 * capacity >> level) + (p >> level & (capacity >> level) - 1)


def block_level(p: int, limit: int, capacity: int) -> int:
    """The level of the largest block that begins at p and does not reach over the limit."""
    level, size = 0, 1
    while p & size == 0 and p + 2 * size <= limit and 2 * size <= capacity:
        level += 1
        size *= 2
    return level


def complete_blocks(nodes: Any, capacity: int, head: int, end: int, state: Any) -> None:
    """Fill the blocks that the newest position completes, whose own state is `state`."""
    level, size = 1, 2
    while size <= capacity and end & (size - 1) == 0 and end - size >= head:
        sibling = load(nodes, block_place(end - size, level - 1, capacity))
        place = block_place(end - size, level, capacity)
        state = combine(sibling, state, slot(nodes, place))
        keep(nodes, place, state)
        level += 1
        size *= 2


SHARED = (
    copied, inserted, extended, folded, fold_back, emit_both, block_place, block_level,
    complete_blocks,
)  # fmt: skip
