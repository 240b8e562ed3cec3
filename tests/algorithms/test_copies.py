"""A window of any length is pickled and copied, and goes on as the one it was copied from."""

from __future__ import annotations

import copy
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.forks import in_a_child
from windrow import Count, Max, Sum, aggregator
from windrow.aggregations.base import Aggregation
from windrow.algorithms import ALGORITHMS, Aggregator, algorithm_class

COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda swag: pickle.loads(pickle.dumps(swag)),
    "deepcopy": copy.deepcopy,
}
LINKED = ["pba", "foa", "ioa"]  # these have long chains of objects, or threads
CASES = [
    *((algorithm, size) for algorithm in ALGORITHMS for size in (0, 1, 5, 1500)),
    *((algorithm, 20_000) for algorithm in LINKED),
    *(pytest.param(algorithm, 100_000, marks=pytest.mark.slow) for algorithm in LINKED),
]


def aggregation_for(algorithm: str) -> Aggregation:
    """Return one whose results show in which order states were combined, where it can be run."""
    kinds = (Sum(), Max(), Count())
    return next(kind for kind in kinds if algorithm_class(algorithm).supports(kind))


def filled(algorithm: str, size: int) -> Aggregator:
    """Return a window of that length, in the midst of whatever the algorithm does in passes."""
    chance = random.Random(size)
    swag = aggregator(aggregation_for(algorithm), algorithm)
    for _ in range(size + size // 3):
        swag.insert(chance.uniform(-1, 1))
    swag.evict(size // 3)
    return swag


def run(swag: Aggregator, steps: int) -> list[Any]:
    """Return the results, to the last bit, of operations that empty and refill a part of it."""
    chance = random.Random(steps)
    results = []
    for _ in range(steps):
        if len(swag) and chance.random() < 0.5:
            swag.evict(min(len(swag), chance.choice([1, 1, 2, 40])))
        else:
            swag.insert(chance.uniform(-1, 1))
        results.append(repr(swag.query()))
    return results


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize(("algorithm", "size"), CASES)
def test_a_copy_goes_on_as_the_original(algorithm: str, size: int, how: str) -> None:
    swag = filled(algorithm, size)
    copied = COPIES[how](swag)
    assert len(copied) == size
    steps = 300 if size > 5 else 40
    results = run(swag, steps)
    assert run(copied, steps) == results, "and what was done with the original has changed nothing"
    copied._check()


@pytest.mark.parametrize("how", COPIES)
def test_a_version_of_foa_is_copied_too(how: str) -> None:
    swag = filled("foa", 3000)
    before, result = swag.snapshot(), swag.query()  # type: ignore[attr-defined]
    run(swag, 300)
    assert COPIES[how](before).query() == result
    assert COPIES[how](before).evict().insert(3.0).query() == before.evict().insert(3.0).query()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_forked_process_goes_on_as_its_parent(algorithm: str) -> None:
    swag = filled(algorithm, 3000)

    def work() -> Iterable[str]:
        return run(swag, 300)

    in_child = in_a_child(work)
    assert in_child == run(swag, 300)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("stop", [1, 7, 30])
def test_a_fork_in_the_midst_of_the_second_thread_of_pba(stop: int) -> None:
    """It is stopped in any ⊕, and the forked process has no such thread to wait for."""
    reached, go = threading.Event(), threading.Event()
    threads: set[str] = set()

    class Stopping(Sum):
        """A sum whose ⊕ waits, in the second thread."""

        calls = 0

        def combine(self, a: Any, b: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                threads.add("second")
                self.calls += 1
                if self.calls == stop:
                    reached.set()
                    go.wait(30)
            return super().combine(a, b)

    swag = aggregator(Stopping(), "pba", chunk=40)
    for i in range(50):
        swag.insert(float(i))
    assert reached.wait(30)

    def work() -> Iterable[str]:
        for _ in range(50):
            swag.evict()
            yield f"{swag.query() or 0:g}"

    in_child = in_a_child(work)
    go.set()
    assert in_child == [f"{sum(range(i, 50)):g}" for i in range(1, 51)]
    assert list(work()) == in_child
    assert threads == {"second"}
