"""Partial aggregates that travel: the states of windows as arrays, and windows over such states.

    rows      ──partials──▶  a state a slice  ┐
                                              ├─concatenate─▶ states in order ──merge──▶ answers
    loose rows ──lifted───▶  a state a row    ┘

Both ways are the compiled loop with another end put on: one whose answers are its states, and one
whose values are states already. Merging the parts of a window in order gives what aggregating its
rows gives, to the rounding of floats, however the window was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.bloom import Bloom
from windrow.aggregations.countmin import CountMin
from windrow.aggregations.custom import Custom
from windrow.aggregations.sums import Sum
from windrow.compiled.answers import Answers, Riding, finished
from windrow.compiled.columns import NO_NULLS, Column, column
from windrow.compiled.custom import NotCompilable, custom_monoid
from windrow.compiled.generate import CURSORS, dtype_of, kernel
from windrow.compiled.loop import PIECE, _without_gaps
from windrow.compiled.moments import NANS, SQUARES
from windrow.compiled.monoids import Monoid, monoid
from windrow.compiled.rows import Rows, rows_monoid
from windrow.compiled.segmentation import Windows
from windrow.errors import Unsupported

Nulls = Sequence[NDArray[np.bool_] | None] | None


@dataclass(frozen=True)
class Partials:
    """States in order: one array a field, or a table of rows for a sketch.

    `missing` is true where a part had no value at all, whatever the fields hold there; such a state
    is neutral. None says that every part has a value.
    """

    fields: tuple[NDArray[Any], ...]
    missing: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.fields[0])


def partials(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    windows: Windows,
    *,
    nulls: Nulls = None,
    threads: int = 1,
    hashed: bool = False,
) -> Partials:
    """The state of each window: 1 ⊕ a row where windows are slices, 3 where they overlap.

    ArgMax, ArgMin and LongestRun take the measures alone; their states hold positions. A sketch
    takes hashes for values if these are `hashed`.

    >>> from windrow import Mean
    >>> slices = Windows(np.array([0, 4]), lo=np.array([0, 3]), hi=np.array([3, 4]))
    >>> partials(Mean(), [np.array([3, 1, 2, 5])], slices).fields
    (array([6, 5]), array([3, 1]))
    """
    given = _columns(columns, nulls)
    compiled = states_of(aggregation, tuple(str(c.data.dtype) for c in given))
    if hashed and isinstance(compiled, Rows):
        compiled = replace(compiled, read="uint64")
    everything = type(aggregation).__name__ == "Count" and not aggregation.columns
    masks = [] if everything else [c.nulls for c in given if c.nulls is not None]
    mask = np.bitwise_or.reduce(masks) if masks else None
    data = tuple(c.data for c in given)[: compiled.unit_columns]
    _check_overflow(aggregation, data, mask, windows, threads)
    return _states(aggregation, _giving(compiled), data, mask, windows, threads)


def lifted(
    aggregation: Aggregation,
    columns: Sequence[NDArray[Any]],
    nulls: Nulls = None,
    *,
    hashed: bool = False,
) -> Partials:
    """Every row as a state of its own; O(rows).

    >>> from windrow import Mean
    >>> lifted(Mean(), [np.array([3, 1])]).fields
    (array([3, 1]), array([1, 1]))
    """
    rows = np.arange(len(columns[0]) + 1)
    windows = Windows(rows[[0, -1]], lo=rows[:-1], hi=rows[1:])
    return partials(aggregation, columns, windows, nulls=nulls, hashed=hashed)


def concatenate(pieces: Sequence[Partials]) -> Partials:
    """The states of all pieces, one piece after the other.

    >>> concatenate([Partials((np.array([1]),)), Partials((np.array([2]),))]).fields
    (array([1, 2]),)
    """
    fields = tuple(np.concatenate(each) for each in zip(*(p.fields for p in pieces), strict=True))
    if all(p.missing is None for p in pieces):
        return Partials(fields)
    gone = [np.zeros(len(p), np.bool_) if p.missing is None else p.missing for p in pieces]
    return Partials(fields, np.concatenate(gone))


def merge(
    aggregation: Aggregation,
    dtypes: Sequence[str],
    parts: Partials,
    windows: Windows,
    *,
    threads: int = 1,
) -> Answers:
    """The answers of windows over states, which were made of columns of `dtypes`.

    About 3 ⊕ a state where windows overlap. `dtypes` are "float64" or "int64".

    >>> from windrow import Mean
    >>> parts = Partials((np.array([6, 5]), np.array([3, 1])))
    >>> merge(Mean(), ["int64"], parts, Windows(np.array([0, 2]), rows=2)).values
    array([2.  , 2.75])
    """
    compiled = states_of(aggregation, tuple(dtypes))
    _check_overflow(aggregation, parts.fields, _mask(parts), windows, threads)
    if isinstance(compiled, Rows):
        return _sketches(aggregation, compiled, parts, windows)
    run = _Run(aggregation, _taking(compiled), parts.fields, _mask(parts))
    out, valid = run.over(windows, threads)
    like = np.empty(0, dtypes[0])
    return finished(
        aggregation, Column(like, None, like.dtype), Riding([], aggregation), out, valid
    )


def merge_partials(
    aggregation: Aggregation,
    dtypes: Sequence[str],
    parts: Partials,
    windows: Windows,
    *,
    threads: int = 1,
) -> Partials:
    """The states of windows over states: `merge`, with states for answers.

    >>> from windrow import Mean
    >>> parts = Partials((np.array([6, 5]), np.array([3, 1])))
    >>> merge_partials(Mean(), ["int64"], parts, Windows(np.array([0, 2]), rows=2)).fields
    (array([ 6, 11]), array([3, 4]))
    """
    compiled = _giving(_taking(states_of(aggregation, tuple(dtypes))))
    _check_overflow(aggregation, parts.fields, _mask(parts), windows, threads)
    return _states(aggregation, compiled, parts.fields, _mask(parts), windows, threads)


def states_of(aggregation: Aggregation, dtypes: tuple[str, ...]) -> Monoid | Rows:
    """The compiled form of an aggregation of such columns, which knows what its states are."""
    if isinstance(aggregation, Custom):
        try:
            return custom_monoid(aggregation, dtypes)
        except NotCompilable as error:
            raise Unsupported(f"{aggregation!r} does not compile: {error}") from None
    compiled = rows_monoid(aggregation, dtypes[0]) or monoid(aggregation, dtypes[0], False)
    if compiled is None:
        raise Unsupported(f"{aggregation!r} has no state of numbers that could travel")
    return compiled


# -- the monoid with other ends -----------------------------------------------------------------


def _giving(compiled: Monoid | Rows) -> Monoid | Rows:
    """The monoid whose answers are its states."""
    if isinstance(compiled, Rows):
        if compiled.answer == "moment_answer":  # it is the row already
            return compiled
        return replace(
            compiled,
            answer="windrow_give",
            out_dtype=compiled.dtype,
            out_width=compiled.width,
            source=f"{compiled.source}\n@njit\ndef windrow_give(s, out{_more(compiled)}):\n"
            f"    {compiled.copy}(s, out)\n    return s[0] != 0",  # the head says: not nothing
        )
    state = "s" if len(compiled.fields) > 1 else "s[0]"
    return replace(
        compiled,
        outputs=compiled.fields,
        answer="windrow_give",
        constants=(),
        source=f"{compiled.source}\n@njit\ndef windrow_give(s):\n    return {state}",
    )


def _taking(compiled: Monoid | Rows) -> Monoid | Rows:
    """The monoid whose values are states already. A row of zeros is neutral by itself."""
    if isinstance(compiled, Rows):
        head = f"windrow_take(x, null, into{_more(compiled)})"
        body = f"{compiled.copy}(x, into)"
        more: dict[str, Any] = {"read": ""}
    else:
        fields = ", ".join(f"x{i}" for i in range(len(compiled.fields)))
        head, body = f"windrow_take(position, {fields})", f"return ({fields},)"
        more = {"unit_columns": len(compiled.fields)}
    source = f"{compiled.source}\n@njit\ndef {head}:\n    {body}"
    return replace(compiled, unit="windrow_take", minus="", source=source, **more)


def _more(compiled: Rows) -> str:
    """The arguments for the constants."""
    return "".join(f", c{i}" for i in range(len(compiled.constants)))


# -- running it ---------------------------------------------------------------------------------


class _Run:
    """Two-Stacks over the columns `data`, whose rows are null where `mask` is set."""

    def __init__(
        self,
        aggregation: Aggregation,
        compiled: Monoid | Rows,
        data: tuple[NDArray[Any], ...],
        mask: NDArray[np.uint8] | None,
    ) -> None:
        self.compiled = compiled
        self.data = tuple(_plain(array) for array in data)
        types = tuple(_type_name(array) for array in self.data)
        # One kernel for parts with nulls and without: a worker compiles less before it begins.
        counted = isinstance(compiled, Monoid)
        if mask is None:
            mask = np.zeros(len(data[0]), np.uint8) if counted else NO_NULLS
        self.nulls = mask
        self.kernel = kernel(
            "two_stacks", compiled, types, "range", counted, aggregation.commutative
        )

    def over(self, windows: Windows, threads: int) -> tuple[tuple[NDArray[Any], ...], Any]:
        """What the loop writes for all windows, and whether each has a value."""
        lo, hi = windows.bounds()
        out, valid = self.room(lo.size), np.ones(lo.size, np.uint8)
        cuts = _cuts(lo, hi, threads)
        pieces = [
            (lo[a:b], hi[a:b], tuple(o[a:b] for o in out), valid[a:b])
            for a, b in zip([0, *cuts], [*cuts, lo.size], strict=True)
        ]
        if len(pieces) == 1:
            self.piece(*pieces[0])
        else:
            with ThreadPoolExecutor(len(pieces)) as pool:
                for done in [pool.submit(self.piece, *piece) for piece in pieces]:
                    done.result()
        return out, valid

    def room(self, n: int) -> tuple[NDArray[Any], ...]:
        """Where n answers are written; zeros, for a row is written as far as it means something."""
        if isinstance(self.compiled, Rows):
            return (np.zeros((n, self.compiled.out_width), self.compiled.out_dtype),)
        return tuple(np.empty(n, dtype_of(output)) for output in self.compiled.outputs)

    def piece(self, lo: Any, hi: Any, out: tuple[NDArray[Any], ...], valid: Any) -> None:
        """Windows that share no row with those before."""
        if not lo.size:
            return
        cursors = np.zeros(CURSORS, np.int64)
        cursors[[0, 1, 3]] = first = lo[0]
        lo, hi, trash = _without_gaps(lo, hi, int(first))
        here, written = out, valid
        if trash is not None:
            here, written = self.room(lo.size), np.ones(lo.size, np.uint8)
        cursors[2] = capacity = max(4, 1 << (int((hi - lo).max()) - 1).bit_length())
        self.kernel.run(
            0, lo.size, 0, 0, lo, hi, self.data, self.nulls, cursors,
            *self.kernel.buffers(capacity),
            here[0] if isinstance(self.compiled, Rows) else here, written,
        )  # fmt: skip
        if trash is not None:
            for o, h in zip((*out, valid), (*here, written), strict=True):
                o[:] = np.delete(h, trash, axis=0)


def _cuts(lo: NDArray[np.int64], hi: NDArray[np.int64], threads: int) -> list[int]:
    """Where other threads may begin: the loop begins anew there, so they change no bit."""
    rows = int(hi[-1] - lo[0]) if lo.size else 0
    pieces = min(threads, rows // PIECE)
    if pieces < 2:
        return []
    apart = np.flatnonzero(lo[1:] >= hi[:-1]) + 1
    wanted = np.searchsorted(lo, [int(lo[0]) + rows * k // pieces for k in range(1, pieces)])
    found = np.searchsorted(apart, wanted)
    return np.unique(apart[found[found < apart.size]]).tolist()


def _states(
    aggregation: Aggregation,
    compiled: Monoid | Rows,
    data: tuple[NDArray[Any], ...],
    mask: NDArray[np.uint8] | None,
    windows: Windows,
    threads: int,
) -> Partials:
    out, valid = _Run(aggregation, compiled, data, mask).over(windows, threads)
    if valid.all():
        return Partials(out)
    missing = valid == 0
    for o in out:
        o[missing] = 0
    return Partials(out, missing)


def _sketches(
    aggregation: Aggregation, compiled: Rows, parts: Partials, windows: Windows
) -> Answers:
    """Merged sketches as what they answer."""
    out, valid = _Run(aggregation, _taking(compiled), parts.fields, None).over(windows, 1)
    if compiled.outputs == ("int64",):  # HyperLogLog has no null: no value counts as 0
        return Answers(np.where(valid, out[0][:, 0], 0))
    made = tuple(np.zeros(valid.size, output) for output in compiled.outputs)
    for i in np.flatnonzero(valid):
        answer = aggregation.lower(_state(aggregation, out[0][i]))
        for o, each in zip(made, answer if len(made) > 1 else (answer,), strict=True):
            o[i] = each
    nothing = Column(np.empty(0), None, np.dtype(np.float64))
    return finished(aggregation, nothing, Riding([], aggregation), made, valid)


def _state(aggregation: Aggregation, row: NDArray[Any]) -> Any:
    """The interpreted aggregation's state that an answer's row stands for."""
    if isinstance(aggregation, Bloom):
        return int.from_bytes(row.astype("<u8").tobytes(), "little")
    if isinstance(aggregation, CountMin):
        row.flags.writeable = False
        return row
    return (int(row[0]), *row[1 : SQUARES + 1].tolist()), row[NANS:]


# -- what goes in -------------------------------------------------------------------------------


def _columns(columns: Sequence[NDArray[Any]], nulls: Nulls) -> list[Column]:
    masks = [None] * len(columns) if nulls is None else nulls
    given = []
    for i, (values, mask) in enumerate(zip(columns, masks, strict=True)):
        made = column(values, mask, "value", f"columns[{i}]")
        if made is None:
            raise Unsupported(f"columns[{i}] is of type {values.dtype}; states are of numbers")
        given.append(made)
    return given


def _mask(parts: Partials) -> NDArray[np.uint8] | None:
    return None if parts.missing is None else parts.missing.astype(np.uint8)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """As the kernels' one signature has it: contiguous, and not marked read-only."""
    array = np.ascontiguousarray(array)
    return array if array.flags.writeable else array.copy()


def _type_name(array: NDArray[Any]) -> str:
    name = "boolean" if array.dtype == np.bool_ else str(array.dtype)
    return name if array.ndim == 1 else f"{name}[:, ::1]"


def _check_overflow(
    aggregation: Aggregation,
    data: tuple[NDArray[Any], ...],
    mask: NDArray[np.uint8] | None,
    windows: Windows,
    threads: int,
) -> None:
    """An integer sum is exact: refuse one that int64 does not hold."""
    whole = type(aggregation).__name__ in ("Sum", "Mean") and data[0].dtype == np.int64
    if not whole or not data[0].size or not len(windows):
        return
    lo, hi = windows.bounds()
    values = data[0] if mask is None else np.where(mask, 0, data[0])
    largest, longest = max(abs(int(values.max())), abs(int(values.min()))), int((hi - lo).max())
    if largest * longest < 2**63:
        return
    # Two halves of 32 bits cannot overflow, and tell whether the whole does.
    compiled = states_of(Sum(), ("int64",))
    halves = (values >> 32, values & 0xFFFFFFFF)
    high, low = (_states(Sum(), compiled, (h,), None, windows, threads).fields[0] for h in halves)
    high = high + (low >> 32)
    over = np.flatnonzero((high < -(2**31)) | (high >= 2**31))
    if over.size:
        raise OverflowError(
            f"{aggregation!r}: the sum of window {int(over[0])} exceeds int64; convert the values "
            f"to float64"
        )
