"""Single events of a compiled loop, timed inside it by the processor's counter of cycles."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic as _intrinsic
from numpy.typing import NDArray

from windrow import Aggregation
from windrow.kernels.generate import loop_of
from windrow.kernels.routes import compiled_or_warned
from windrow.kernels.window_loop import capacity_for, output_arrays

# Numba's types of functions say nothing of their arguments.
njit: Any = numba.njit
intrinsic: Any = _intrinsic


def event_nanoseconds(
    algorithm: str, aggregation: Aggregation, values: Sequence[float], w: int
) -> NDArray[np.float64]:
    """Return the time of each event, evict, insert and query, of a window of w values that is full.

    An event is a call of the loop for one row. Reading the counter takes some tens of nanoseconds.
    """
    compiled = compiled_or_warned(aggregation, ["float64"], False)
    assert compiled is not None, f"{aggregation!r} does not compile"
    kernel = loop_of(algorithm, aggregation, compiled, ["float64"], "rows", False)
    cursors, buffers = kernel.start(capacity_for(w) if kernel.rounded else w)
    data = np.resize(np.asarray(values, np.float64), w + len(values))
    cycles = np.empty(data.size, np.int64)
    _run(kernel.run, w, data, cursors, tuple(buffers), output_arrays(compiled, 1), cycles)
    return np.asarray(cycles[w:] * _nanoseconds_of_a_cycle(), np.float64)


def _read_counter(typing: Any) -> Any:
    """Declare what reads the processor's counter of cycles."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = builder.module.declare_intrinsic(
            "llvm.readcyclecounter", fnty=ir.FunctionType(ir.IntType(64), [])
        )
        return builder.call(function, [])

    return types.int64(), code


_cycles = intrinsic(_read_counter)
_now = njit(lambda: _cycles())


def _run_each(
    run: Any, w: int, data: Any, cursors: Any, buffers: Any, out: Any, cycles: Any
) -> None:
    valid, no_nulls = np.ones(1, np.uint8), np.empty(0, np.uint8)
    no_bounds = np.empty(0, np.int64)
    for i in range(data.size):
        start = _cycles()
        run(i, i + 1, 0, w, no_bounds, no_bounds, (data,), no_nulls, cursors, *buffers, out, valid)
        cycles[i] = _cycles() - start


_run = njit(nogil=True)(_run_each)


@lru_cache(maxsize=1)
def _nanoseconds_of_a_cycle() -> float:
    _now()
    start, first = time.perf_counter_ns(), int(_now())
    time.sleep(0.1)
    return (time.perf_counter_ns() - start) / (int(_now()) - first)
