"""Make the module in which an algorithm's loop meets an aggregation's functions."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.errors import Unsupported
from windrow.kernels import cache
from windrow.kernels.compiled_states import Compiled, Monoid
from windrow.kernels.functions import first_line
from windrow.kernels.llvm import INNER
from windrow.kernels.loop_functions import row_functions, tuple_functions

CURSORS = 8

_IMPORT = re.compile(r"^from windrow\.kernels\.loops\.protocol import \([^)]*\)\n", re.M)
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
    monoid: Compiled
    nulls: bool

    def buffers(self, capacity: int) -> list[Any]:
        """New buffers for windows of up to `capacity` values, a power of two."""
        states = (self._states(times * capacity + plus) for times, plus in self.states.values())
        indices = (times * capacity + plus for times, plus in self.indices.values())
        return [*states, *(np.zeros(n, np.int64) for n in indices)]

    def start(self, capacity: int) -> tuple[NDArray[np.int64], list[Any]]:
        """New cursors and buffers, for windows of up to `capacity` values."""
        cursors = np.zeros(CURSORS, np.int64)
        cursors[2] = capacity
        return cursors, self.buffers(capacity)

    def _states(self, n: int) -> Any:
        """Room for n states."""
        if isinstance(self.monoid, RowAlgebra):
            return np.zeros((n, self.monoid.width), self.monoid.dtype)
        return tuple(np.zeros(n, dtype_of(field)) for field in _fields(self.monoid, self.nulls))


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
) -> Kernel:
    """The loop of `algorithm` for an aggregation's states over `columns` (their types).

    `bounds` is "rows" or "range"; with `nulls`, some values or windows may be empty.
    """
    counted = nulls and not isinstance(monoid, RowAlgebra)
    try:
        return kernel(algorithm, monoid, tuple(columns), bounds, counted, aggregation.commutative)
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
) -> Kernel:
    """The loop, compiled."""
    loop = _loop(algorithm)
    text = module_text(algorithm, monoid, columns, bounds, nulls, commutative)
    return Kernel(cache.load(text), loop.STATES, loop.INDICES, monoid, nulls)


def module_text(
    algorithm: str,
    monoid: Compiled,
    columns: tuple[str, ...],
    bounds: str,
    nulls: bool,
    commutative: bool,
) -> str:
    """The source of the generated module."""
    loop = _loop(algorithm)
    body = _IMPORT.sub("", Path(loop.__file__).read_text(encoding="utf-8"))
    functions = (
        row_functions(monoid) if isinstance(monoid, RowAlgebra) else tuple_functions(monoid, nulls)
    )
    state_type = _state_type(monoid, nulls)
    arguments = ["int64"] * 4 + ["int64[::1]"] * 2
    arguments.append(f"Tuple(({', '.join(map(_array_type, columns))},))")
    arguments += ["uint8[::1]", "int64[::1]"]
    arguments += [state_type] * len(loop.STATES) + ["int64[::1]"] * len(loop.INDICES)
    arguments.append(f"Tuple(({', '.join(f'{o}[::1]' for o in monoid.outputs)},))")
    if isinstance(monoid, RowAlgebra):
        arguments[-1] = f"{monoid.out_dtype}[:, ::1]"
    arguments.append("uint8[::1]")
    error_model = getattr(monoid, "error_model", "numpy")
    return "\n".join(
        [
            f'"""{algorithm}, generated for {monoid.plus}."""',
            "import math",
            "import numpy as np",
            "from numba import njit",
            "from numba.core.types import *",
            "from numba.core.types import Tuple",
            "CACHEABLE = True",
            f"inner = njit(error_model={error_model!r}, **{INNER})",
            monoid.source,
            f"COMMUTATIVE = {commutative}",
            "@inner",
            f"def window(r, row, w, lo, hi):\n    {_BOUNDS[bounds]}",
            functions,
            body,
            f"run = njit(void({', '.join(arguments)}), cache=CACHEABLE, nogil=True,",
            f"           error_model={error_model!r})(run)",
            "",
        ]
    )


def _loop(algorithm: str) -> Any:
    """The module of an algorithm's loop, as it is written."""
    return importlib.import_module(f"windrow.kernels.loops.{algorithm}")


def _array_type(name: str) -> str:
    """An array of such values; a table of rows names its own type."""
    return name if "[" in name else f"{name}[::1]"


def _state_type(monoid: Compiled, nulls: bool) -> str:
    if isinstance(monoid, RowAlgebra):
        return f"{monoid.dtype}[:, ::1]"
    return f"Tuple(({', '.join(f'{f}[::1]' for f in _fields(monoid, nulls))},))"


def _fields(monoid: Monoid, nulls: bool) -> tuple[str, ...]:
    """The types of a state's fields; with nulls it also has the number of its values."""
    return (*monoid.fields, "int64") if nulls else monoid.fields
