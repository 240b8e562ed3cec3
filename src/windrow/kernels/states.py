"""Partial aggregates that travel: the states of windows as arrays, and windows over such states.

    rows  ──states_of─▶  a state a slice  ──merge─▶  results

Both are the compiled loop: one whose results are states, and one whose values are. Merging the
parts of a window in order gives what aggregating its rows gives, to the rounding of floats,
however the window was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.aggregations.shared_states import derivation
from windrow.errors import Unsupported
from windrow.kernels.columns import Column, any_null, column
from windrow.kernels.compiled_states import Compiled, Monoid, state_of
from windrow.kernels.named import check_sums
from windrow.kernels.results import ResultArray, finished
from windrow.kernels.window_loop import run_loop
from windrow.windows.positions import Windows

Nulls = Sequence[NDArray[np.bool_] | None] | None


@dataclass(frozen=True)
class States:
    """States in order: one array a field, or a table of rows for a sketch.

    `missing` is true where a part had no value at all, whatever the fields hold there; such a state
    is neutral. None says that every part has a value.
    """

    fields: tuple[NDArray[Any], ...]
    missing: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.fields[0])

    @property
    def nulls(self) -> NDArray[np.uint8] | None:
        """What is missing, as the loops take it."""
        return None if self.missing is None else self.missing.view(np.uint8)


def states_of(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    *,
    nulls: Nulls = None,
    threads: int = 1,
    hashed: bool = False,
) -> States:
    """The state of each window: 1 ⊕ a row where windows are slices, 3 where they overlap.

    ArgMax, ArgMin and LongestRun take the measures alone; their states hold positions. A sketch
    takes hashes for values if these are `hashed`.

    >>> from windrow import Mean
    >>> slices = Windows(np.array([0, 4]), lo=np.array([0, 3]), hi=np.array([3, 4]))
    >>> states_of(Mean(), [np.array([3, 1, 2, 5])], slices).fields
    (array([0, 0]), array([6, 5]), array([3, 1]))
    """
    given = _columns(columns, nulls)
    compiled = state_of(aggregation, [str(c.data.dtype) for c in given])
    if hashed and isinstance(compiled, RowAlgebra):
        compiled = replace(compiled, read="uint64")
    mask = None if aggregation.counts_nulls else any_null(given)
    data = tuple(c.data for c in given)
    return states_over(aggregation, compiled, data, mask, windows, threads)


def states_over(
    aggregation: Aggregation,
    compiled: Compiled,
    data: tuple[NDArray[Any], ...],
    nulls: NDArray[np.uint8] | None,
    windows: Windows,
    threads: int,
) -> States:
    """The same for values as the loops take them."""
    states = with_states_as_results(compiled)
    fields, valid = _written(aggregation, states, data, nulls, windows, threads, states=True)
    if valid.all():
        return States(fields)
    missing = valid == 0
    for field in fields:
        field[missing] = 0
    return States(fields, missing)


def merge(
    aggregation: Aggregation,
    dtypes: Sequence[str],
    parts: States,
    windows: Windows,
    *,
    threads: int = 1,
) -> ResultArray:
    """The results of windows over states, which were made of columns of `dtypes`.

    About 3 ⊕ a state where windows overlap. `dtypes` are "float64" or "int64".

    >>> from windrow import Mean
    >>> parts = States((np.array([6.0, 5.0]), np.zeros(2), np.array([3, 1])))
    >>> merge(Mean(), ["float64"], parts, Windows(np.array([0, 2]), rows=2)).values
    array([2.  , 2.75])
    """
    compiled = _with_states_as_values(state_of(aggregation, dtypes))
    out, valid = _written(aggregation, compiled, parts.fields, parts.nulls, windows, threads)
    like = np.empty(0, dtypes[0])
    return finished(aggregation, Column(like, None, like.dtype), out, valid)


def merged_states(
    aggregation: Aggregation,
    dtypes: Sequence[str],
    parts: States,
    windows: Windows,
    *,
    threads: int = 1,
) -> States:
    """The states of windows over states: `merge`, with states for answers.

    >>> from windrow import Sum
    >>> parts = States((np.array([6, 5]),))
    >>> merged_states(Sum(), ["int64"], parts, Windows(np.array([0, 2]), rows=2)).fields
    (array([ 6, 11]),)
    """
    compiled = _with_states_as_values(state_of(aggregation, dtypes))
    return states_over(aggregation, compiled, parts.fields, parts.nulls, windows, threads)


def lowered(
    wanted: Aggregation, source: Aggregation, dtypes: Sequence[str], states: States
) -> ResultArray:
    """The results of an aggregation from states of `source`, which have all that its own have.

    >>> from windrow import Mean, Sum
    >>> states = States((np.array([6.0, 5.0]), np.zeros(2), np.array([3, 1])))
    >>> lowered(Sum(), Mean(), ["float64"], states).values
    array([6., 5.])
    """
    places = places_of(source, wanted, dtypes[0])
    assert places is not None, f"{wanted!r} does not follow from {source!r}"
    own = States(tuple(states.fields[place] for place in places), states.missing)
    return merge(wanted, dtypes, own, Windows(np.array([0, len(states)]), rows=1))


def places_of(source: Aggregation, wanted: Aggregation, dtype: str) -> tuple[int, ...] | None:
    """Where the numbers of one's state are in that of another; None if one of them is not.

    >>> from windrow import Max, Mean, Sum
    >>> places_of(Mean("v"), Sum("v"), "float64"), places_of(Max("v"), Sum("v"), "float64")
    ((0, 1), None)
    """
    if derivation(source, wanted) is None:
        return None
    held, needed = (each.algebra(dtype) for each in (source, wanted))
    if held is None or needed is None or not set(needed.fields) <= set(held.fields):
        return None
    return tuple(held.fields.index(field) for field in needed.fields)


# -- states that go in, or come out --------------------------------------------------------------


def with_states_as_results(compiled: Compiled) -> Compiled:
    """The compiled states, with themselves for results."""
    if isinstance(compiled, RowAlgebra):
        if compiled.answer_is_row:
            return compiled
        return replace(
            compiled,
            answer="windrow_give",
            out_dtype=compiled.dtype,
            out_width=compiled.width,
            source=f"{compiled.source}\n@inner\ndef windrow_give(s, out{_more(compiled)}):\n"
            f"    {compiled.copy}(s, out)\n    return s[0] != 0",  # the head says: not nothing
        )
    state = "s" if len(compiled.fields) > 1 else "s[0]"
    return replace(
        compiled,
        outputs=compiled.fields,
        answer="windrow_give",
        defined="",
        constants=(),
        source=f"{compiled.source}\n@inner\ndef windrow_give(s):\n    return {state}",
    )


def _with_states_as_values(compiled: Compiled) -> Compiled:
    """The compiled states, with states for values. A row of zeros is neutral by itself."""
    if isinstance(compiled, RowAlgebra):
        head = f"windrow_take(x, null, into{_more(compiled)})"
        body = f"{compiled.copy}(x, into)"
        more: dict[str, Any] = {"read": ""}
    else:
        fields = ", ".join(f"x{i}" for i in range(len(compiled.fields)))
        head, body = f"windrow_take({fields})", f"return ({fields},)"
        more = {"columns": len(compiled.fields), "positioned": False}
    source = f"{compiled.source}\n@inner\ndef {head}:\n    {body}"
    return replace(compiled, unit="windrow_take", minus="", source=source, **more)


def _more(compiled: RowAlgebra) -> str:
    """The arguments for the constants."""
    return "".join(f", c{i}" for i in range(len(compiled.constants)))


def _written(
    aggregation: Aggregation,
    compiled: Compiled,
    data: tuple[NDArray[Any], ...],
    mask: NDArray[np.uint8] | None,
    windows: Windows,
    threads: int,
    *,
    states: bool = False,
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.uint8]]:
    """Return what the loop writes, results or `states`, and where there is one."""
    check_sums(aggregation, data[0], mask, windows, threads)
    if mask is None and isinstance(compiled, Monoid):
        # One kernel for parts with nulls and without: a worker compiles less before it begins.
        mask = np.zeros(len(data[0]), np.uint8)
    return run_loop(aggregation, compiled, data, mask, windows, threads, states=states)


# -- what goes in -------------------------------------------------------------------------------


def _columns(columns: Sequence[NDArray[Any]], nulls: Nulls) -> list[Column]:
    masks = [None] * len(columns) if nulls is None else nulls
    given = []
    for i, (values, mask) in enumerate(zip(columns, masks, strict=True)):
        known = column(values, mask, "value", f"columns[{i}]")
        if known is None:
            raise Unsupported(f"columns[{i}] is of type {values.dtype}; states are of numbers")
        given.append(known)
    return given
