"""Results so many that they go past the caches are those of fewer values."""

from __future__ import annotations

import numpy as np
import pytest

from windrow import Max, Min, rolling
from windrow.aggregations.base import Aggregation
from windrow.compiled import compiled, inner
from windrow.kernels.special.past_cache import MANY, align_stack, past_cache_pays
from windrow.kernels.special.scans import BLOCK
from windrow.windows.arrays import roomy

values = np.random.default_rng(7).normal(size=MANY + 3 * BLOCK + 5)


@pytest.mark.parametrize("w", [129, 1000, 1 << 20])
@pytest.mark.parametrize("aggregation", [Max(), Min()])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_results_are_those_of_fewer_values(
    aggregation: Aggregation, w: int, threads: int
) -> None:
    many = rolling(values, aggregation, rows=w, threads=threads)
    few = rolling(values[: MANY - 1], aggregation, rows=w)
    np.testing.assert_array_equal(many[: few.size], few)
    late = rolling(values[-w - 300 :], aggregation, rows=w)[w:]
    np.testing.assert_array_equal(many[-late.size :], late)


def test_many_results_that_lie_anywhere_stay_in_the_caches() -> None:
    many = roomy(MANY, np.float64)
    assert past_cache_pays.py_func(many)
    assert not past_cache_pays.py_func(many[:-1])
    assert not past_cache_pays.py_func(roomy(MANY + 1, np.float64)[1:])


def test_the_stack_of_a_kernel_begins_with_a_line_of_the_cache() -> None:
    @compiled(cached=False)
    def outer(x: int) -> int:
        return frame(x)

    @inner
    def frame(x: int) -> int:
        align_stack()
        return x + 1

    assert outer(1) == 2
    assert "alloca i8, align 64" in outer.inspect_llvm(outer.signatures[0])
