"""The search for what must go: what it finds, and that it costs a logarithm."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algorithms.counting import Counting, count_reads
from tests.examples import examples
from windrow import Collect, Count, Max, Sum, Together, aggregator
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import InvalidValue, Unsupported

SEARCHING = ["flatfat", "log_mta", "amta"]
every_searching = pytest.mark.parametrize("algorithm", SEARCHING)


def test_the_searching_algorithms_say_so() -> None:
    assert [a for a in ALGORITHMS if algorithm_class(a).prefix_search] == SEARCHING


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a not in SEARCHING])
def test_the_others_refuse_by_name(algorithm: str) -> None:
    swag = aggregator(Count(), algorithm)
    swag.extend([1, 2])
    with pytest.raises(Unsupported, match=f"^{algorithm} cannot read .* take amta, log_mta or"):
        swag.evict_while(lambda old: True)
    assert len(swag) == 2


@every_searching
@given(
    operations=st.lists(
        st.one_of(
            st.tuples(st.just("insert"), st.integers(0, 9)),
            st.tuples(st.just("insert"), st.integers(0, 9)),
            st.tuples(st.just("insert many"), st.integers(0, 40)),
            st.tuples(st.just("evict"), st.floats(0, 1)),
            st.tuples(st.just("while"), st.floats(0, 1.1)),
        ),
        max_size=30,
    )
)
@examples(200)
def test_the_longest_part_goes_and_in_the_order_of_the_window(
    algorithm: str, operations: list[tuple[str, Any]]
) -> None:
    swag = aggregator(Together(sum=Sum(), all=Collect()), algorithm)
    model: list[int] = []
    for operation, argument in operations:
        if operation == "insert":
            swag.insert(argument)
            model.append(argument)
        elif operation == "insert many":
            values = [i * 7 % 10 for i in range(argument)]
            swag.extend(values)
            model += values
        elif operation == "evict":
            k = int(argument * len(model))
            swag.evict(k)
            del model[:k]
        else:
            limit = argument * sum(model)
            prefixes: list[list[int]] = []

            def goes(old: Any, limit: float = limit, asked: Any = prefixes) -> bool:
                asked.append(old.all)
                return bool(old.sum <= limit)

            gone = swag.evict_while(goes)
            assert all(prefix == model[: len(prefix)] for prefix in prefixes)
            expected = max((k for k in range(len(model) + 1) if sum(model[:k]) <= limit), default=0)
            assert gone == expected
            del model[:gone]
        swag._check()
        assert len(swag) == len(model)
        assert (swag.query().all or []) == model


@given(
    holes=st.sets(st.integers(0, 39)),
    turned=st.integers(0, 30),
    limit=st.integers(0, 40),
)
def test_holes_in_a_circular_buffer_are_passed_over(
    holes: set[int], turned: int, limit: int
) -> None:
    swag: Any = aggregator(Together(n=Count(), all=Collect()), "flatfat")
    model = list(range(40))
    for at in range(40 + turned):
        swag.insert(at, at=at)
        if at >= 40:
            swag.evict()
    model = [at for at in range(turned, 40 + turned) if at - turned not in holes]
    for hole in sorted(holes):
        swag.evict(at=hole + turned)
    gone = swag.evict_while(lambda old: old.n <= limit)
    assert gone == min(limit, len(model))
    assert (swag.query().all or []) == model[gone:]
    swag._check()


@every_searching
@given(truth=st.lists(st.booleans(), min_size=1, max_size=70), head=st.integers(0, 20))
def test_without_monotony_it_ends_at_a_boundary(
    algorithm: str, truth: list[bool], head: int
) -> None:
    """True of what goes, false of one more: whatever the test says."""
    swag = aggregator(Count(), algorithm)
    swag.extend(range(head + len(truth)))
    swag.evict(head)
    k = swag.count_while(lambda count: truth[count - 1])
    assert k == 0 or truth[k - 1]
    assert k == len(truth) or not truth[k]
    assert len(swag) == len(truth)


@every_searching
def test_a_test_that_raises_changes_nothing(algorithm: str) -> None:
    swag = aggregator(Collect(), algorithm)
    swag.extend(range(20))
    with pytest.raises(ZeroDivisionError):
        swag.evict_while(lambda old: len(old) < 3 or 1 / 0)
    assert swag.query() == list(range(20))
    swag._check()


# -- the number of ⊕ -------------------------------------------------------------------------


def counted(threshold: float) -> tuple[Callable[[float], bool], Callable[[], int]]:
    """A test on the sum of ones, and how often it was called."""
    calls = 0

    def goes(old: float) -> bool:
        nonlocal calls
        calls += 1
        return old <= threshold

    return goes, lambda: calls


@every_searching
@pytest.mark.parametrize("n", [1, 2, 3, 8, 33, 1000, 1 << 12])
def test_a_search_costs_the_logarithm_of_what_it_finds(algorithm: str, n: int) -> None:
    source = random.Random(n)
    for head in (0, 1, 5, 8, 77):
        c = Counting()
        swag: Any = aggregator(c.sum, algorithm)
        swag.extend([1] * (n + head))
        swag.evict(head)
        reads = count_reads(swag) if algorithm != "flatfat" else lambda: 0
        for k in {0, 1, 2, n // 3, n - 1, n, source.randint(0, n)}:
            goes, calls = counted(k)
            before = reads()
            with c.spent() as spent:
                assert swag.count_while(goes) == min(k, n)
            bound = 1 if k == 0 else 3 * math.floor(math.log2(k)) + 4
            assert calls() <= bound
            assert spent() <= bound - 1 or calls() == spent() == 0
            assert reads() - before <= bound


@pytest.mark.parametrize("algorithm", ["log_mta", "amta"])
@pytest.mark.parametrize("gone", [1, 2, 100, 1 << 12, (1 << 13) - 1, (1 << 14) - 6, 1 << 14])
def test_a_bulk_of_any_size_goes_in_a_logarithm(algorithm: str, gone: int) -> None:
    c = Counting()
    swag: Any = aggregator(c.sum, algorithm)
    n = 1 << 14
    swag.extend([1] * n)
    swag.evict(5)
    reads = count_reads(swag)
    goes, calls = counted(gone)
    with c.spent() as spent:
        assert swag.evict_while(goes) == min(gone, n - 5)
    assert calls() <= 3 * 14 + 4
    assert spent() <= 5 * 14 + 5
    assert reads() <= 6 * 14 + 6
    swag._check()


@pytest.mark.parametrize("n", [4, 64, 1000])
def test_sliding_one_by_one_is_constant_on_average(n: int) -> None:
    """AMTA under a policy on the count: a search for one value costs no logarithm."""
    c = Counting()
    swag = aggregator(c.sum, "amta")
    swag.extend([1] * n)
    calls = 0

    def goes(old: float) -> bool:
        nonlocal calls
        calls += 1
        return old <= 1

    rounds = 6 * n
    with c.spent() as spent:
        for _ in range(rounds):
            swag.insert(1)
            assert swag.evict_while(goes) == 1
            swag.query()
    assert calls <= 4 * rounds
    assert spent() <= 7 * rounds


# -- looking ahead ---------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_query_with_and_admit_leave_the_window_alone(algorithm: str) -> None:
    agg = Count() if algorithm == "subtract_on_evict" else Max()
    swag = aggregator(agg, algorithm)
    first, then = (1, 3) if algorithm == "subtract_on_evict" else (9, 9)
    assert swag.query_with(9) == first
    assert len(swag) == 0
    swag.extend([3, 5])
    swag.admit(7)
    assert swag.query_with(9) == then
    assert len(swag) == 2
    swag._check()
    if agg == Max():
        assert swag.query() == 5
        for look in (swag.admit, swag.query_with):
            with pytest.raises(InvalidValue, match="the window holds number values, so 'x'"):
                look("x")
