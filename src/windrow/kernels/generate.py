"""Make the module in which an algorithm's loop meets an aggregation's functions.

The loop is written in the functions of `loops.protocol`; here they are defined for one
aggregation, as text, and Numba compiles both as one module.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.compiled import INNER, run_of
from windrow.errors import Unsupported
from windrow.kernels.compiled_states import Compiled, Monoid
from windrow.kernels.functions import first_line
from windrow.kernels.loops import protocol
from windrow.kernels.pushed_values import FOLLOW, HEADER, HI, LO, OUT, PAST, ROOM, ROW, SIZE, VALID

CURSORS = 16

_IMPORT = f"from {protocol.__name__} import *\n"
_BOUNDS = {
    "rows": ("first = r + 1 - w", "return (first if first > 0 else 0), r + 1"),
    "range": ("return lo[r - row], hi[r - row]",),
}


@dataclass(frozen=True)
class CompiledLoop:
    """A compiled loop and the buffers that it works in."""

    run: Any
    states: dict[str, tuple[int, int]]
    indices: dict[str, tuple[int, int]]
    layout: dict[str, str]
    rounded: bool
    monoid: Compiled
    nulls: bool

    def buffers(self, capacity: int) -> list[Any]:
        """New buffers for windows of up to `capacity` values, a power of two if it is `rounded`."""
        states = (self._states(times * capacity + plus) for times, plus in self.states.values())
        indices = (times * capacity + plus for times, plus in self.indices.values())
        return [*states, *(np.zeros(n, np.int64) for n in indices)]

    def start(self, capacity: int) -> tuple[NDArray[np.int64], list[Any]]:
        """New cursors and buffers, for windows of up to `capacity` values."""
        cursors = np.zeros(CURSORS, np.int64)
        cursors[2] = capacity
        return cursors, self.buffers(capacity)

    def buffers_in(self, arena: NDArray[np.int64]) -> list[Any]:
        """The buffers that lie in one array behind the cursors, as in `_in_one_array`."""
        assert isinstance(self.monoid, Monoid), "rows have arrays of their own"
        buffers: list[Any] = []
        at, capacity = CURSORS, int(arena[2])
        for name, (times, plus) in {**self.states, **self.indices}.items():
            parts = []
            for field in (
                state_fields(self.monoid, self.nulls) if name in self.states else ["int64"]
            ):
                end = at + times * capacity + plus
                parts.append(arena[at:end].view(field))
                at = end
            buffers.append(tuple(parts) if name in self.states else parts[0])
        return buffers

    def _states(self, n: int) -> Any:
        """Room for n states."""
        if isinstance(self.monoid, RowAlgebra):
            return np.zeros((n, self.monoid.width), self.monoid.dtype)
        return tuple(
            np.zeros(n, dtype_of(field)) for field in state_fields(self.monoid, self.nulls)
        )


def dtype_of(field: str) -> np.dtype[Any]:
    """The NumPy type of a field, which has Numba's name.

    >>> dtype_of("boolean")
    dtype('bool')
    """
    return np.dtype("bool" if field == "boolean" else field)


def loop_of(
    algorithm: str,
    aggregation: Aggregation,
    monoid: Compiled,
    columns: Sequence[str],
    bounds: str,
    nulls: bool,
) -> CompiledLoop:
    """The loop of `algorithm` for an aggregation's states over `columns` (their types).

    `bounds` is "rows" or "range"; with `nulls`, some values or windows may be empty.
    """
    counted = nulls and not isinstance(monoid, RowAlgebra)
    return _kernel_for(aggregation, algorithm, monoid, tuple(columns), bounds, counted)


def push_loop_of(
    algorithm: str,
    aggregation: Aggregation,
    monoid: Monoid,
    column: str,
    bounds: str,
    times: str | None = None,
) -> CompiledLoop:
    """The same loop for values that are pushed, whose cursors and buffers lie in one array.

    With `times`, the type of a value's time, it is for one value: its `run(kept, arena, value,
    null, t, step)` slides the window, see `Kept`, and returns the result, None for none. Each array
    that a call is given costs 70 ns.
    """
    nulls = not aggregation.counts_nulls
    pushed = max(1, aggregation.least), times
    return _kernel_for(aggregation, algorithm, monoid, (column,), bounds, nulls, pushed)


def _kernel_for(
    aggregation: Aggregation,
    algorithm: str,
    monoid: Compiled,
    columns: tuple[str, ...],
    bounds: str,
    nulls: bool,
    pushed: Pushed | None = None,
) -> CompiledLoop:
    """The loop, or an error that says that the aggregation does not compile."""
    try:
        commutative = aggregation.commutative
        return kernel(algorithm, monoid, columns, bounds, nulls, commutative, pushed)
    except NumbaError as error:
        raise Unsupported(f"{aggregation!r} does not compile: {first_line(error)}") from error


# The one place that keeps compiled loops. What it lets go of is freed, and loaded when asked for.
@functools.lru_cache(maxsize=128)
def kernel(
    algorithm: str,
    monoid: Compiled,
    columns: tuple[str, ...],
    bounds: str,
    nulls: bool,
    commutative: bool,
    pushed: Pushed | None = None,
) -> CompiledLoop:
    """The loop, compiled; with `pushed`, for values that are pushed."""
    least, times = pushed or (1, None)
    loop = importlib.import_module(f"windrow.kernels.loops.{algorithm}")
    body = inspect.getsource(loop).replace(_IMPORT, "")
    if isinstance(monoid, RowAlgebra):
        functions = _row_functions(monoid)
        state, outputs, error_model = (
            f"{monoid.dtype}[:, ::1]",
            [f"{monoid.out_dtype}[:, ::1]"],
            "numpy",
        )
    else:
        functions = tuple_functions(monoid, nulls, least)
        state = _tuple_type(state_fields(monoid, nulls))
        outputs, error_model = list(monoid.outputs), monoid.error_model
    arguments = [
        *["int64"] * 4,
        *["int64[::1]"] * 2,
        _tuple_type(columns),
        *("uint8[::1]", "int64[::1]"),
        *[state] * len(loop.STATES),
        *["int64[::1]"] * len(loop.INDICES),
        *(_tuple_type(outputs), "uint8[::1]"),
    ]
    entry, signature = [], f"void({', '.join(arguments)})"
    if times is not None and not isinstance(monoid, RowAlgebra):
        held = _in_one_array(loop, state_fields(monoid, nulls))
        entry = _entry_of_one(*held, columns[0], outputs[0], bounds, times)
        taken = f"int64[::1], int64[::1], {columns[0]}, boolean, {times}, int64"
        signature = f"Optional({outputs[0]})({taken})"
    text = "\n".join(
        [
            f'"""{algorithm}, generated for {monoid.plus}."""',
            "from __future__ import annotations",
            "import math",
            "import numpy as np",
            "from numba import njit",
            "from numba.core.types import *",
            "from numba.core.types import Tuple",
            "from windrow.compiled import compiled",
            "CACHEABLE = True",
            f"inner = njit(error_model={error_model!r}, **{INNER})",
            f"inlined = njit(error_model={error_model!r}, forceinline=True, **{INNER})",
            monoid.source,
            f"COMMUTATIVE = {commutative}",
            f"BY_ROWS = {bounds == 'rows'}",
            function_text("window(r, row, w, lo, hi)", *_BOUNDS[bounds]),
            *functions,
            *(f"@inner\n{inspect.getsource(function)}" for function in protocol.SHARED),
            body,
            *entry,
            f"run = compiled(run, cached=CACHEABLE, error_model={error_model!r})",
            f"run.compile({signature})",
            "",
        ]
    )
    return CompiledLoop(
        run_of(text), loop.STATES, loop.INDICES, loop.LAYOUT, loop.ROUNDED, monoid, nulls
    )


def _tuple_type(items: Sequence[str]) -> str:
    """A tuple of arrays of such numbers; a table of rows names its own type."""
    return f"Tuple(({', '.join(i if '[' in i else f'{i}[::1]' for i in items)},))"


def state_fields(monoid: Monoid, nulls: bool) -> tuple[str, ...]:
    """The types of a state's fields; with nulls it also has the number of its values."""
    return (*monoid.fields, "int64") if nulls else monoid.fields


# -- values that are pushed -----------------------------------------------------------------------

# How many values a window needs for a result; and for one value at a time, the type of its time.
Pushed = tuple[int, str | None]


def _in_one_array(loop: Any, fields: Sequence[str]) -> tuple[list[str], str]:
    """The lines that find cursors and buffers in the array `arena`, and what the buffers are."""
    lines = [f"cursors, capacity, at = arena[:{CURSORS}], arena[2], {CURSORS}"]
    buffers = []
    for name, (times, plus) in {**loop.STATES, **loop.INDICES}.items():
        parts = []
        for i, field in enumerate(fields if name in loop.STATES else ["int64"]):
            parts.append(f"{name}_{i}")
            lines.append(f"end = at + {times} * capacity + {plus}")
            lines.append(f"{parts[-1]}, at = arena[at:end].view(np.{field}), end")
        buffers.append(f"({', '.join(parts)},)" if name in loop.STATES else parts[0])
    return lines, ", ".join(buffers)


def _entry_of_one(
    lines: list[str], held: str, column: str, output: str, bounds: str, times: str
) -> list[str]:
    """The lines of a `run` that keeps one value, slides, and enters the loop for it."""
    by, width = ("rows", "size") if bounds == "rows" else (times, "0")
    own = "(values[at:past],), nulls[at:past]"
    lines = [
        f"room, past = kept[{ROOM}], kept[{PAST}]",
        f"begin, half, end = {HEADER}, {HEADER} + room, {HEADER} + 2 * room",
        f"values, nulls = kept[begin:half].view(np.{column}), kept[end:].view(np.uint8)",
        f"size = kept[{SIZE} : {SIZE + 1}].view(np.{times})[0]",
        f"if step != {FOLLOW}:",
        f"    times = kept[half:end].view(np.{times})",
        "    slide(kept, (values, nulls, times), size, value, null, t, step)",
        f"    past = kept[{PAST}]",
        *lines,
        f"out = kept[{OUT} : {OUT + 1}].view(np.{output})",
        f"valid = kept[{VALID} : {VALID + 1}].view(np.uint8)",
        "valid[0] = 1",
        "at = max(past - 1, 0)",
        f"lo, hi, row = kept[{LO} : {LO + 1}], kept[{HI} : {HI + 1}], kept[{ROW}]",
        f"loop(row, row + 1, row, {width}, lo, hi, {own}, cursors, {held}, (out,), valid)",
        "return out[0] if valid[0] else None",
    ]
    return [
        f"from windrow.kernels.pushed_values import slide_by_{by} as slide",
        "from numba.core.types import Optional",
        "loop = inner(run)",
        "\n    ".join(["def run(kept, arena, value, null, t, step):", *lines]),
    ]


# -- the functions of `loops.protocol` -----------------------------------------------------------


def tuple_functions(monoid: Monoid, nulls: bool, least: int = 1) -> list[str]:
    """The functions for a state that is a tuple of numbers.

    With nulls it has one more field, the number of values in it: none makes it neutral, fewer than
    `least` have no result.
    """
    k = len(monoid.fields)
    size = k + nulls
    few = "== 0" if least == 1 else f"< {least}"
    values = [f"columns[{i}][j]" for i in range(monoid.columns)] + ["position"] * monoid.positioned
    equal = [f"(a[{i}] == b[{i}] or (a[{i}] != a[{i}] and b[{i}] != b[{i}]))" for i in range(k)]
    odd = [f"s[{i}] - s[{i}] != 0" for i, f in enumerate(monoid.fields) if f == "float64"]
    more = "".join(f", {value!r}" for value in monoid.constants)
    results = [f"answer_[{i}]" for i in range(len(monoid.outputs))]
    if len(results) == 1:
        results = ["answer_"]

    nothing = "valid[i] = 0\n        return"

    def counted(state: str, count: str) -> str:
        """A state, with the number of its values if there may be nulls."""
        return f"return counted(typed({state}), {count})" if nulls else f"return typed({state})"

    def unless_empty(state: str, otherwise: str, few: str = "== 0") -> list[str]:
        return [f"if {state}[{k}] {few}:\n        {otherwise}"] if nulls else []

    return [
        function_text("slot(buffer, i)", "return 0"),
        function_text("load(buffer, i)", f"return {_tuple('buffer[{i}][i]', size)}"),
        function_text("store(buffer, i, s)", *(f"buffer[{i}][i] = s[{i}]" for i in range(size))),
        "keep = store",
        function_text(
            "typed(s)",
            f"return ({', '.join(f'{f}(s[{i}])' for i, f in enumerate(monoid.fields))},)",
        ),
        function_text("counted(s, n)", f"return {_tuple('s[{i}]', k)} + (n,)"),
        function_text("plain(s)", f"return {_tuple('s[{i}]', k)}"),
        function_text(
            "same(a, b)",
            f"return {' and '.join(equal)}" + f" and (a[{k}] > 0) == (b[{k}] > 0)" * nulls,
        ),
        function_text(
            "lost(s)", *unless_empty("s", "return False"), f"return {' or '.join(odd) or 'False'}"
        ),
        function_text(
            "lift(columns, nulls, j, position, into)",
            counted(f"{monoid.unit}({', '.join(values)})", "int64(0) if nulls[j] else int64(1)"),
        ),
        function_text(
            "combine(a, b, into)",
            *unless_empty("a", "return b"),
            *unless_empty("b", "return a"),
            counted(f"{monoid.plus}(plain(a), plain(b))", f"a[{k}] + b[{k}]"),
        ),
        function_text(
            "invert(a, b, into)",
            *unless_empty("b", "return a"),
            counted(f"{monoid.minus or 'minus'}(plain(a), plain(b))", f"a[{k}] - b[{k}]"),
        ),
        function_text(
            "emit(out, valid, i, s)",
            *unless_empty("s", nothing, few),
            *[f"if not {monoid.defined}(plain(s){more}):\n        {nothing}"]
            * bool(monoid.defined),
            f"answer_ = {monoid.answer}(plain(s){more})",
            *(f"out[{i}][i] = {result}" for i, result in enumerate(results)),
        ),
        function_text("emit_nothing(out, valid, i)", "valid[i] = 0"),
    ]


def _row_functions(monoid: RowAlgebra) -> list[str]:
    """The functions for a state that is a row of a 2-D array, combined in place."""
    more = "".join(f", {value!r}" for value in monoid.constants)
    return [
        function_text("slot(buffer, i)", "return buffer[i]"),
        "load = slot",
        function_text("lost(s)", "return False"),
        function_text("store(buffer, i, s)", f"{monoid.copy}(s, buffer[i])"),
        function_text("keep(buffer, i, s)", "pass"),
        function_text(
            "lift(columns, nulls, j, position, into)",
            "null = nulls.size > 0 and nulls[j] != 0",
            f"{monoid.unit}({monoid.read}(columns[0][j]), null, into{more})",
            "return into",
        ),
        function_text("combine(a, b, into)", f"{monoid.plus}(a, b, into{more})", "return into"),
        function_text(
            "invert(a, b, into)", f"{monoid.minus or 'minus'}(a, b, into{more})", "return into"
        ),
        function_text(
            "emit(out, valid, i, s)", f"valid[i] = 1 if {monoid.answer}(s, out[0][i]{more}) else 0"
        ),
        function_text("emit_nothing(out, valid, i)", "valid[i] = 0"),
    ]


def function_text(head: str, *body: str) -> str:
    """The text of an inner function."""
    return "\n    ".join((f"@inner\ndef {head}:", *body))


def _tuple(item: str, size: int) -> str:
    """A tuple of `size` items; {i} in the item is its number."""
    return f"({', '.join(item.format(i=i) for i in range(size))},)"
