"""Make the module in which an algorithm's loop meets an aggregation's functions."""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from windrow.compiled import cache
from windrow.compiled.monoids import Monoid
from windrow.compiled.rows import Rows

LOOPS = (
    *("recalculate", "subtract_on_evict", "two_stacks", "daba", "flatfat", "b_int", "flatfit"),
    *("slick_deque", "sba", "log_mta", "amta"),
)
CURSORS = 8

_IMPORT = re.compile(r"^from windrow\.compiled\.loops\.protocol import \([^)]*\)\n", re.M)
_BOUNDS = {
    "rows": "first = r + 1 - w\n    return (first if first > 0 else 0), r + 1",
    "range": "return lo[r - row], hi[r - row]",
}


@dataclass(frozen=True)
class Kernel:
    """A compiled loop and the buffers that it works in."""

    run: Any
    states: dict[str, tuple[int, int]]
    indices: dict[str, tuple[int, int]]
    monoid: Monoid | Rows
    nulls: bool

    def buffers(self, capacity: int) -> list[Any]:
        """New buffers for windows of up to `capacity` values, a power of two."""
        made = [self._state(times * capacity + plus) for times, plus in self.states.values()]
        for times, plus in self.indices.values():
            made.append(np.zeros(times * capacity + plus, np.int64))
        return made

    def _state(self, n: int) -> Any:
        if isinstance(self.monoid, Rows):
            return np.zeros((n, self.monoid.width), self.monoid.dtype)
        fields = (*self.monoid.fields, "int64") if self.nulls else self.monoid.fields
        return tuple(np.zeros(n, field) for field in fields)


@functools.lru_cache(maxsize=256)
def kernel(
    algorithm: str,
    monoid: Monoid | Rows,
    columns: tuple[str, ...],
    bounds: str,
    nulls: bool,
    commutative: bool,
) -> Kernel:
    """The loop of `algorithm` for an aggregation of `columns` (their types).

    `bounds` is "rows" or "range"; with `nulls`, some values or windows may be empty.
    """
    loop = importlib.import_module(f"windrow.compiled.loops.{algorithm}")
    text = module_text(algorithm, monoid, columns, bounds, nulls, commutative)
    return Kernel(cache.load(text).run, loop.STATES, loop.INDICES, monoid, nulls)


def module_text(
    algorithm: str,
    monoid: Monoid | Rows,
    columns: tuple[str, ...],
    bounds: str,
    nulls: bool,
    commutative: bool,
) -> str:
    """The source of the generated module."""
    loop = importlib.import_module(f"windrow.compiled.loops.{algorithm}")
    assert loop.__file__ is not None
    body = _IMPORT.sub("", Path(loop.__file__).read_text(encoding="utf-8"))
    states = _rows_words(monoid) if isinstance(monoid, Rows) else _scalar_words(monoid, nulls)
    state_type = _state_type(monoid, nulls)
    arguments = ["int64"] * 4 + ["int64[::1]"] * 2
    arguments.append(f"Tuple(({', '.join(f'{c}[::1]' for c in columns)},))")
    arguments += ["uint8[::1]", "int64[::1]"]
    arguments += [state_type] * len(loop.STATES) + ["int64[::1]"] * len(loop.INDICES)
    arguments.append(f"Tuple(({', '.join(f'{o}[::1]' for o in monoid.outputs)},))")
    if isinstance(monoid, Rows):
        arguments[-1] = f"{monoid.out_dtype}[:, ::1]"
    arguments.append("uint8[::1]")
    return "\n".join(
        [
            f'"""{algorithm}, generated for {monoid.plus}."""',
            "import math",
            "import numpy as np",
            "from numba import njit",
            "from numba.core.types import *",
            "from numba.core.types import Tuple",
            "CACHEABLE = True",
            "words = njit(error_model='numpy')",
            monoid.source,
            f"COMMUTATIVE = {commutative}",
            "@words",
            f"def window(r, row, w, lo, hi):\n    {_BOUNDS[bounds]}",
            states,
            body,
            f"run = njit(void({', '.join(arguments)}), cache=CACHEABLE, nogil=True,",
            "           error_model='numpy')(run)",
            "",
        ]
    )


def _state_type(monoid: Monoid | Rows, nulls: bool) -> str:
    if isinstance(monoid, Rows):
        return f"{monoid.dtype}[:, ::1]"
    fields = (*monoid.fields, "int64") if nulls else monoid.fields
    return f"Tuple(({', '.join(f'{f}[::1]' for f in fields)},))"


def _scalar_words(monoid: Monoid, nulls: bool) -> str:
    """The loops' words for a state that is a tuple of numbers.

    With nulls it has one more field, the number of values in it: none makes it neutral.
    """
    k = len(monoid.fields)
    size = k + nulls
    casts = [f"{field}(s[{i}])" for i, field in enumerate(monoid.fields)]
    cast = f"({', '.join(casts)},)"
    inner = ", ".join(f"s[{i}]" for i in range(k))
    constants = ", ".join(repr(value) for _, value in monoid.constants)
    answer = f"{monoid.answer}(({inner},){', ' + constants if constants else ''})"
    one = len(monoid.outputs) == 1
    write = [f"out[{i}][i] = {'a' if one else f'a[{i}]'}" for i in range(len(monoid.outputs))]
    lines = [
        "@words\ndef slot(buffer, i):\n    return 0",
        f"@words\ndef load(buffer, i):\n    return ({', '.join(f'buffer[{i}][i]' for i in range(size))},)",
        "@words\ndef store(buffer, i, s):\n    "
        + "\n    ".join(f"buffer[{i}][i] = s[{i}]" for i in range(size)),
        "keep = store",
        f"@words\ndef typed(s):\n    return {cast}",
        "@words\ndef same(a, b):\n    return "
        + " and ".join(
            [f"(a[{i}] == b[{i}] or (a[{i}] != a[{i}] and b[{i}] != b[{i}]))" for i in range(k)]
            + [f"(a[{k}] > 0) == (b[{k}] > 0)"] * nulls
        ),
    ]
    values = "position, columns[0][j]"
    values += "".join(f", columns[{i}][j]" for i in range(1, monoid.unit_columns))
    if not nulls:
        lines += [
            f"@words\ndef lift(columns, nulls, j, position, into):\n    return typed({monoid.unit}({values}))",
            f"@words\ndef combine(a, b, into):\n    return typed({monoid.plus}(a, b))",
            f"@words\ndef emit(out, valid, i, s):\n    a = {answer}\n    " + "\n    ".join(write),
            "@words\ndef emit_nothing(out, valid, i):\n    valid[i] = 0",
        ]
        if monoid.minus:
            lines.append(f"@words\ndef invert(t, o, into):\n    return typed({monoid.minus}(t, o))")
        return "\n".join(lines)
    plain = {v: ", ".join(f"{v}[{i}]" for i in range(k)) for v in "abto"}
    full = ", ".join(f"s[{i}]" for i in range(k))
    lines += [
        f"@words\ndef counted(s, n):\n    return ({full}, n)",
        "@words\ndef lift(columns, nulls, j, position, into):\n"
        f"    s = typed({monoid.unit}({values}))\n"
        "    return counted(s, int64(0) if nulls[j] else int64(1))",
        "@words\ndef combine(a, b, into):\n"
        f"    if a[{k}] == 0:\n        return b\n"
        f"    if b[{k}] == 0:\n        return a\n"
        f"    return counted(typed({monoid.plus}(({plain['a']},), ({plain['b']},))), a[{k}] + b[{k}])",
        f"@words\ndef emit(out, valid, i, s):\n    if s[{k}] == 0:\n        valid[i] = 0\n        return\n"
        f"    a = {answer}\n    " + "\n    ".join(write),
        "@words\ndef emit_nothing(out, valid, i):\n    valid[i] = 0",
    ]
    if monoid.minus:
        lines.append(
            "@words\ndef invert(t, o, into):\n"
            f"    if o[{k}] == 0:\n        return t\n"
            f"    return counted(typed({monoid.minus}(({plain['t']},), ({plain['o']},))), t[{k}] - o[{k}])"
        )
    return "\n".join(lines)


def _rows_words(monoid: Rows) -> str:
    """The loops' words for a state that is a row of a 2-D array, combined in place."""
    more = "".join(f", {value!r}" for value in monoid.constants)
    words = [
        "@words\ndef slot(buffer, i):\n    return buffer[i]",
        "load = slot",
        f"@words\ndef store(buffer, i, s):\n    {monoid.copy}(s, buffer[i])",
        "@words\ndef keep(buffer, i, s):\n    pass",
        (
            "@words\ndef lift(columns, nulls, j, position, into):\n"
            "    null = nulls.size > 0 and nulls[j] != 0\n"
            f"    {monoid.unit}({monoid.read}(columns[0][j]), null, into{more})\n    return into"
        ),
        f"@words\ndef combine(a, b, into):\n    {monoid.plus}(a, b, into{more})\n    return into",
        (
            "@words\ndef emit(out, valid, i, s):\n"
            f"    valid[i] = 1 if {monoid.answer}(s, out[i]{more}) else 0"
        ),
        "@words\ndef emit_nothing(out, valid, i):\n    valid[i] = 0",
    ]
    if monoid.minus:
        words.append(
            "@words\ndef invert(t, o, into):\n"
            f"    {monoid.minus}(t, o, into{more})\n    return into"
        )
    return "\n".join(words)
