"""Whatever the user's functions raise, and wherever: the window is what it was before the call."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fuse import Blown, Fuse, algebras, expected
from windrow import aggregator
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.algorithms.base import Aggregator
from windrow.errors import InvalidArgument
from windrow.stores import MemoryStore

Values = list[int]
History = tuple[int, int, int]  # a number of inserts, of evictions behind them, of more inserts

# Of the public methods, those that change no window and call no ⊕.
OTHERS = {
    "admit",
    "count_older",
    "explain",
    "families_with",
    "make",
    "options_for",
    "refuses",
    "supports",
    "atomically",
}

# All phases of small windows, and positions beside the borders of the queues' chunks.
HISTORIES = [*itertools.product((0, 1, 2, 3, 6, 11), (0, 4), (0, 3)), (260, 255, 2)]


def operations(
    swag: Aggregator, algebra: str, history: History, values: Values
) -> Iterator[tuple[str, Callable[[Any], object], Values]]:
    """Yield each operation that a window has: its method, a call, and the values after it."""
    n, half = len(values), len(values) // 2
    yield "insert", lambda s: s.insert(7), [*values, 7]
    for more in ([4], [9, 1, 4, 0, 5]):
        yield "extend", lambda s, more=more: s.extend(more), values + more
    for k in sorted({1, 2, 3, half, n - 1, n} & set(range(1, n + 1))):
        yield "evict", lambda s, k=k: s.evict(k), values[k:]
    yield "query", lambda s: s.query(), values
    yield "query_with", lambda s: s.query_with(7), values
    if swag.several_ranges and n:
        yield "query", lambda s: s.query(1 + half), values
        yield "queries", lambda s: s.queries([1, n, 1 + n // 3]), values
    if swag.prefix_search:
        gone = n if algebra == "selective" and half else half
        yield "count_while", lambda s: s.count_while(lambda old: len(old) <= half), values
        yield "evict_while", lambda s: s.evict_while(lambda old: len(old) <= half), values[gone:]
    if swag.out_of_order and n:
        at = 2 * (history[0] + history[2] - n + half)
        late = [*values[: half + 1], 7, *values[half + 1 :]]
        yield "insert", lambda s: s.insert(7, at=at), late
        yield "evict", lambda s: s.evict(at=at), [*values[:half], *values[half + 1 :]]


def built(algorithm: str, algebra: str, history: History, stored: bool) -> Any:
    """Return a fuse, a window with that history, and its values."""
    fuse = Fuse()
    options: dict[str, Any] = {"store": MemoryStore(), "buffer": 3, "cache": 2} if stored else {}
    swag = aggregator(fuse.aggregations()[algebra], algorithm, **options)
    first, gone, more = history
    values = [i * 37 % 11 for i in range(first + more)]
    for i, value in enumerate(values):
        if i == first:
            swag.evict(min(gone, first))
        swag.insert(value, at=2 * i if swag.out_of_order else None)
    if not more:
        swag.evict(min(gone, first))
    return fuse, swag, values[min(gone, first) :]


def check(swag: Aggregator, algebra: str, values: Values) -> None:
    """Assert that a window holds these values, by all that it can answer."""
    swag._check()
    assert len(swag) == len(values)
    assert (swag.query() or []) == expected(algebra, values)
    if swag.several_ranges:
        for last in {1, 1 + len(values) // 2, len(values)} & set(range(1, len(values) + 1)):
            assert swag.query(last) == expected(algebra, values[-last:])


def check_slides(swag: Aggregator, algebra: str, values: Values) -> None:
    """Assert that a window goes on as one of these values does."""
    for turn in range(min(len(values) + 2, 12)):
        swag.insert(turn)
        values = [*values, turn]
        k = min(1 + turn % 3, len(values))
        swag.evict(k)
        values = values[k:]
        check(swag, algebra, values)


def blow_everywhere(algorithm: str, algebra: str, history: History, stored: bool) -> set[str]:
    """Blow the fuse at every call in every operation; return the names of the operations."""
    _, swag, values = built(algorithm, algebra, history, stored)
    known = list(operations(swag, algebra, history, values))
    for _, call, after in known:
        for burns in itertools.count(1):
            fuse, swag, values = built(algorithm, algebra, history, stored)
            fuse.left = burns
            try:
                call(swag)
                break
            except Blown:
                check(swag, algebra, values)
                call(swag)
                check(swag, algebra, after)
                check_slides(swag, algebra, after)
            finally:
                if stored:
                    swag.store.close()
    return {method for method, _, _ in known}


def forms() -> Iterator[tuple[str, bool]]:
    """Yield every algorithm, and again those that can lie in a store."""
    for algorithm in ALGORITHMS:
        yield algorithm, False
        try:
            algorithm_class(algorithm, stored=True)
        except InvalidArgument:
            continue
        yield algorithm, True


CASES = [
    (algorithm, stored, algebra) for algorithm, stored in forms() for algebra in algebras(algorithm)
]


@pytest.mark.parametrize("chosen", ["some", pytest.param("the others", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("algorithm", "stored", "algebra"), CASES)
def test_what_fails_leaves_the_window_as_it_was(
    algorithm: str, stored: bool, algebra: str, chosen: str
) -> None:
    some = HISTORIES[:: 5 if stored else 3]  # of each number, and the longest
    for history in some if chosen == "some" else [h for h in HISTORIES if h not in some]:
        blow_everywhere(algorithm, algebra, history, stored)


def test_every_operation_is_tried() -> None:
    public = {
        name
        for name, member in vars(Aggregator).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, classmethod))
    }
    tried = set()
    for algorithm in ALGORITHMS:
        for algebra in algebras(algorithm):
            tried |= blow_everywhere(algorithm, algebra, (3, 1, 1), False)
    assert tried == public - OTHERS


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(8))
def test_failures_at_random_over_many_chunks(algorithm: str, seed: int) -> None:
    """Inserts, evictions and queries as one, after other failures, across the queues' chunks."""
    source, algebra = random.Random(seed), algebras(algorithm)[0]
    fuse = Fuse()
    swag = aggregator(fuse.aggregations()[algebra], algorithm)
    values: Values = []

    def slide(more: Values, k: int) -> None:
        for value in more:
            swag.insert(value)
        swag.evict(k)
        swag.query()

    for _ in range(250):
        more = [source.randrange(20) for _ in range(source.choice([0, 1, 1, 2, 9]))]
        n = len(values) + len(more)
        k = source.randint(0, n) if source.random() < 0.3 else min(n, len(more) // 2)
        fuse.left = source.choice([math.inf, 1, 3, 9, 27])
        try:
            if source.random() < 0.6:
                swag.atomically(slide, more, k)
                values = (values + more)[k:]
            elif k <= len(values):
                swag.evict(k)
                values = values[k:]
        except Blown:
            pass
        fuse.left = math.inf
        check(swag, algebra, values)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_extend_is_one_operation(algorithm: str) -> None:
    """A source that fails keeps out what it has given before."""
    agg = Fuse().aggregations()["selective" if algorithm == "slick_deque" else "invertible"]
    swag = aggregator(agg, algorithm)
    swag.extend([1, 2])

    def source() -> Iterator[int]:
        yield 3
        raise KeyError

    with pytest.raises(KeyError):
        swag.extend(source())
    check(swag, "selective" if algorithm == "slick_deque" else "invertible", [1, 2])
