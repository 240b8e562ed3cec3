"""The number of ⊕ of the algorithms that keep a tree or a circle of states, exactly."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.algorithms.counting import Q1, Q2, SIZES, STREAM, Counting, count_reads, slides
from windrow import aggregator
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.algorithms.flatfat import FlatFAT


@pytest.mark.parametrize("n", [1, 2, 4, 8, 64, 256])
def test_flatfat_bounds_of_theorem_4_2(n: int) -> None:
    c = Counting()
    source = random.Random(n)
    with c.spent() as spent:
        tree = FlatFAT([source.random() for _ in range(n)], c.combine)
    assert spent() == n - 1
    for _ in range(50):
        m = source.randint(1, n)
        with c.spent() as spent:
            tree.update([(slot, source.random()) for slot in source.sample(range(n), m)])
        assert spent() <= m * (1 + math.ceil(math.log2(n / m)))
        with c.spent() as spent:
            tree.aggregate()
        assert spent() == 0
        for ask in (tree.prefix, tree.suffix):
            with c.spent() as spent:
                ask(source.randrange(n))
            assert spent() <= math.log2(n)


def test_flatfat_window_costs_a_logarithm() -> None:
    c = Counting()
    for evict, insert, query in slides(aggregator(c.max, "flatfat"), c, 64, 640):
        assert evict <= 7
        assert insert <= 7 or insert == 127  # 128 slots; the one insert that resizes
        assert query <= 2 * 7 + 1


@pytest.mark.parametrize("n", [4, 16, 64, 100])
def test_b_int_is_logarithmic(n: int) -> None:
    c = Counting()
    log = math.ceil(math.log2(n))
    costs = list(slides(aggregator(c.max, "b_int"), c, n, 10 * n))
    assert all(evict == 0 and insert <= log + 1 for evict, insert, _ in costs)
    assert all(query <= 2 * log for _, _, query in costs)
    assert sum(insert for _, insert, _ in costs) <= len(costs) + n


# -- FiBA ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [0, 1, 3, 10, 100, 1000, 4000])
@pytest.mark.parametrize("from_the_oldest", [False, True])
def test_fiba_costs_the_logarithm_of_the_distance(d: int, from_the_oldest: bool) -> None:
    """2.5 ⊕ or less for each doubling of d, whatever n; all the way up to the root it is 26."""
    source, n, c = random.Random(d), 1 << 13, Counting()
    swag: Any = aggregator(c.max, "fiba")
    swag.extend(range(n), at=range(n))
    late = evicted = 0
    rounds = 400
    for now in range(n, n + rounds):
        swag.insert(0, at=now)
        distance = source.uniform(d / 2, 3 * d / 2)
        at = swag.oldest_time + distance if from_the_oldest else now - distance
        with c.spent() as spent:
            swag.insert(0, at=at)
        late += spent()
        assert spent() <= 3 * math.log2(n)
        with c.spent() as spent:
            swag.evict(2)
        evicted += spent()
        with c.spent() as spent:
            swag.query()
        assert spent() <= 2
    assert late <= rounds * (9 + 2.5 * math.log2(1 + d))
    assert evicted <= rounds * 10


@pytest.mark.parametrize("n", [10, 100, 1000, 1 << 13])
def test_fiba_is_constant_in_order(n: int) -> None:
    c = Counting()
    costs = list(slides(aggregator(c.max, "fiba"), c, n, 1000))
    assert sum(evict for evict, _, _ in costs) <= 8 * len(costs)
    assert sum(insert for _, insert, _ in costs) <= 5 * len(costs)
    assert all(query <= 2 for _, _, query in costs)


@pytest.mark.parametrize("k", [1, 10, 1000, 60_000])
def test_fiba_evicts_many_in_a_logarithm(k: int) -> None:
    c = Counting()
    swag: Any = aggregator(c.max, "fiba")
    n = 1 << 16
    swag.extend(range(n), at=range(n))
    with c.spent() as spent:
        swag.evict(k)
    assert spent() <= 5 * math.log2(n)
    with c.spent() as spent:
        swag.query_between(k + (n - k) // 3, n - 5)
    assert spent() <= 3 * math.log2(n)
    swag._check()


@pytest.mark.parametrize("algorithm", ["fiba", "flatfat"])
@pytest.mark.parametrize("m", [1, 16, 256])
def test_what_comes_and_goes_in_bulk_is_aggregated_once(algorithm: str, m: int) -> None:
    """FlatFAT moves what lies behind the earliest, so that its bound is that of a new tree."""
    source, n, c = random.Random(m), 1024, Counting()
    swag: Any = aggregator(c.max, algorithm)
    swag.extend(range(n), at=range(n))
    times = [source.uniform(0, n) for _ in range(m)]
    shares = m * (1 + math.ceil(math.log2(n / m)))
    bound = 1.5 * shares + 10 if algorithm == "fiba" else n + m
    with c.spent() as spent:
        swag.extend(range(m), at=times)
    assert spent() <= bound
    with c.spent() as spent:
        swag.evict(at=times)
    assert spent() <= (bound if algorithm == "fiba" else shares + m)
    assert len(swag) == n
    swag._check()


# -- FlatFIT ---------------------------------------------------------------------------------


def flatfit_of_nothing(c: Counting, n: int) -> Aggregator:
    """FlatFIT as the paper starts it: full of the operation's initial value."""
    swag = aggregator(c.max, "flatfit")
    swag.extend([-math.inf] * n)
    return swag


def test_flatfit_worked_example_of_section_3_2() -> None:
    c = Counting()
    swag = flatfit_of_nothing(c, 5)
    steps, second = [], 0
    for value, q1, q2 in zip(STREAM, Q1, Q2, strict=True):
        swag.evict()
        swag.insert(value)
        with c.spent() as spent:
            assert swag.query(5) == q1
        steps.append(spent())
        with c.spent() as spent:
            assert swag.query(2) == q2
        second += spent()
    assert steps == [4, 1, 2, 2, 2, 1, 4, 1, 2, 2]
    assert sum(steps) == 21
    assert second == 6


def test_naive_on_the_same_example() -> None:
    c = Counting()
    swag = aggregator(c.max, "recalculate")
    swag.extend([-math.inf] * 5)
    first = second = 0
    for value in STREAM:
        swag.evict()
        swag.insert(value)
        with c.spent() as spent:
            swag.query(5)
        first += spent()
        with c.spent() as spent:
            swag.query(2)
        second += spent()
    assert (first, second) == (40, 10)


@pytest.mark.parametrize("n", [2, 3, 5, 16, 100])
def test_flatfit_makes_3_n_minus_1_in_a_period_of_n_plus_1(n: int) -> None:
    c = Counting()
    costs = [sum(cost) for cost in slides(aggregator(c.max, "flatfit"), c, n, 5 * (n + 1))]
    for period in range(0, len(costs), n + 1):
        assert sum(costs[period : period + n + 1]) == 3 * (n - 1)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30])
def test_flatfit_answers_all_ranges_in_n_minus_1(n: int) -> None:
    c = Counting()
    swag = flatfit_of_nothing(c, n)
    source = random.Random(n)
    for _ in range(4 * n):
        swag.evict()
        swag.insert(source.random())
        with c.spent() as spent:
            swag.queries(range(1, n + 1))
        assert spent() == n - 1


@pytest.mark.parametrize("algorithm", ["flatfit", "b_int"])
@pytest.mark.parametrize("n", SIZES)
def test_circles_are_as_long_as_the_window(algorithm: str, n: int) -> None:
    """2n slots for states and pointers, or for all intervals, from the second round on."""
    c = Counting()
    swag: Any = aggregator(c.max, algorithm)
    for i, _ in enumerate(slides(swag, c, n, 12 * n)):
        assert swag._held() <= 2 * max(4, 3 * n // 2 if i < 2 * n else n)
    for _ in range(4 * n):  # as a push does: one value more before one leaves
        swag.insert(0.0)
        swag.evict()
    assert swag._held() <= 2 * max(4, n + 1)


@pytest.mark.parametrize("algorithm", ["flatfit", "b_int"])
def test_circles_move_a_constant_number_of_states_a_value(algorithm: str) -> None:
    """Whatever the window does: lengths that change in every round, too."""
    swag: Any = aggregator(Counting().max, algorithm)
    moved, resize = 0, swag._resize

    def counted(capacity: int) -> None:
        nonlocal moved
        moved += len(swag)
        resize(capacity)

    swag._resize = counted
    source = random.Random(7)
    for i in range(20_000):
        swag.insert(float(i))
        if len(swag) > 100 + 50 * math.sin(i / 300) + source.randint(0, 9):
            swag.evict(min(len(swag), source.randint(1, 3)))
    assert moved <= 3 * 20_000


# -- Monoid trees ----------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["log_mta", "amta"])
@pytest.mark.parametrize("n", [2, 8, 33, 1000])
def test_monoid_trees_are_logarithmic_at_worst(algorithm: str, n: int) -> None:
    c = Counting()
    bound = 2 * math.ceil(math.log2(n + 1)) + 2
    costs = list(slides(aggregator(c.max, algorithm), c, n, 6 * n))
    assert all(max(cost) <= bound for cost in costs)
    if algorithm == "log_mta":
        assert all(query == 0 for _, _, query in costs)
    else:
        assert sum(map(sum, costs)) <= 4.1 * len(costs) + bound


@pytest.mark.parametrize("algorithm", ["log_mta", "amta"])
def test_a_result_is_made_once(algorithm: str) -> None:
    c = Counting()
    swag = aggregator(c.max, algorithm)
    swag.extend(range(100))
    swag.evict(3)
    swag.insert(7)
    assert swag.query() == 99
    with c.spent() as spent:
        assert swag.query() == 99
        assert swag.query() == 99
    assert spent() == 0
    swag.evict(96)
    assert swag.query() == 99
    swag.evict()
    assert swag.query() == 7


@pytest.mark.parametrize("algorithm", ["log_mta", "amta"])
def test_any_range_costs_a_logarithm(algorithm: str) -> None:
    n, c = 1 << 12, Counting()
    swag = aggregator(c.max, algorithm)
    swag.extend(range(5, -n, -1))
    swag.evict(100)
    swag.extend(range(-n, -n - 200, -1))
    swag.evict(777)
    for last in (1, 2, 3, 199, 200, 201, 1000, 2000, len(swag) - 1, len(swag)):
        with c.spent() as spent:
            assert swag.query(last) == last - 1 - n - 199
        assert spent() <= 2 * 12


@pytest.mark.parametrize("algorithm", ["log_mta", "amta"])
def test_bulk_eviction_is_logarithmic_whatever_its_size(algorithm: str) -> None:
    n = 1 << 14
    for gone in (1, 2, 100, n // 3, n // 2, n - 77, n - 1, n):
        c = Counting()
        swag: Any = aggregator(c.max, algorithm)
        for i in range(n):
            swag.insert(n - i)
        swag.evict(5)  # so that the head is at no round position
        reads = count_reads(swag)
        with c.spent() as spent:
            swag.evict(min(gone, len(swag)))
        assert spent() <= 2 * 14 + 2
        assert reads() <= 3 * 14 + 3
        swag._check()
        expected = n - 5 - gone if len(swag) else None
        assert swag.query() == expected
        assert swag.query() is not NOTHING
