"""The functions that the loops are written in.

A loop is a plain function over states that it cannot look into. The generator puts a loop's text
and the definitions of these functions, for one aggregation and one type of values, into one
module, and Numba compiles it as if it had been written by hand. Here they only have their
meaning, so that the loops can be read, linted and typed.

A state is a tuple of scalars, kept in registers and stored in one array a field, or a row of a
2-D array. Rows are combined in place, which is why `combine` and `lift` are told where to put
their result: ``keep(buffer, i, combine(a, b, slot(buffer, i)))`` works for both. A scalar state
takes no notice of the slot, a row is there already when it is kept.
"""

from __future__ import annotations

from typing import Any

COMMUTATIVE: bool = False  # whether ⊕ is


def window(r: int, row: int, w: int, lo: Any, hi: Any) -> tuple[int, int]:
    """The positions [first, past) of row r; `row` is the first row of this call."""
    raise NotImplementedError


def lift(columns: Any, nulls: Any, j: int, position: int, into: Any) -> Any:
    """The state of the j-th value of this call, which is at `position` of the stream."""
    raise NotImplementedError


def combine(a: Any, b: Any, into: Any) -> Any:
    """a ⊕ b; `into` may be a's or b's own slot."""
    raise NotImplementedError


def invert(total: Any, old: Any, into: Any) -> Any:
    """`total` without its oldest part `old`."""
    raise NotImplementedError


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal, bit for bit."""
    raise NotImplementedError


def slot(buffer: Any, i: int) -> Any:
    """Where a result for place i of a buffer belongs."""
    raise NotImplementedError


def load(buffer: Any, i: int) -> Any:
    """The state at place i."""
    raise NotImplementedError


def keep(buffer: Any, i: int, state: Any) -> None:
    """Let `state`, which was made into ``slot(buffer, i)``, be the state at place i."""
    raise NotImplementedError


def store(buffer: Any, i: int, state: Any) -> None:
    """Copy `state` to place i."""
    raise NotImplementedError


def emit(out: Any, valid: Any, i: int, state: Any) -> None:
    """Write the answer of `state` as result i."""
    raise NotImplementedError


def emit_nothing(out: Any, valid: Any, i: int) -> None:
    """Write the answer of an empty window as result i."""
    raise NotImplementedError
