"""The number of ⊕, exactly: it depends on no machine, so it is counted and never timed."""

from __future__ import annotations

import math
import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from windrow import aggregation, aggregator, window
from windrow.aggregations.custom import Custom
from windrow.algorithms.base import NOTHING, Aggregator
from windrow.algorithms.flatfat import FlatFAT
from windrow.algorithms.sba import Cuts, optimal_chunk, optimal_chunk_in_time, optimal_span
from windrow.errors import Unsupported


class Counting:
    """A maximum that counts its combines (by thread) and inverses."""

    def __init__(self) -> None:
        self.by_thread: Counter[int] = Counter()
        self.inverses = 0

    @property
    def n(self) -> int:
        return sum(self.by_thread.values())

    @property
    def here(self) -> int:
        return self.by_thread[threading.get_ident()]

    def combine(self, a: Any, b: Any) -> Any:
        self.by_thread[threading.get_ident()] += 1
        return a if a >= b else b

    def add(self, a: Any, b: Any) -> Any:
        self.by_thread[threading.get_ident()] += 1
        return a + b

    def subtract(self, total: Any, old: Any) -> Any:
        self.inverses += 1
        return total - old

    @property
    def max(self) -> Custom:
        return aggregation(lift=float, combine=self.combine, lower=float, selective=True)

    @property
    def sum(self) -> Custom:
        return aggregation(lift=int, combine=self.add, lower=int, inverse=self.subtract)

    @contextmanager
    def spent(self) -> Iterator[Callable[[], int]]:
        before = self.n
        yield lambda: self.n - before


def slides(swag: Aggregator, counting: Counting, n: int, rounds: int) -> Iterator[tuple[int, ...]]:
    """Fill a window of n, then slide it; yields the ⊕ of each evict, insert and query."""
    source = random.Random(n)
    for _ in range(n):
        swag.insert(source.random())
    for _ in range(rounds):
        start = counting.n
        swag.evict()
        evicted = counting.n
        swag.insert(source.random())
        inserted = counting.n
        swag.query()
        yield evicted - start, inserted - evicted, counting.n - inserted


SIZES = [1, 2, 3, 4, 5, 7, 8, 16, 33, 100]
every_size = pytest.mark.parametrize("n", SIZES)


@every_size
def test_recalculate_makes_n_minus_1_a_query(n: int) -> None:
    c = Counting()
    for cost in slides(aggregator(c.max, "recalculate"), c, n, 3 * n):
        assert cost == (0, 0, n - 1)


@every_size
def test_subtract_on_evict_makes_1_an_insert_and_1_inverse_an_evict(n: int) -> None:
    c = Counting()
    swag = aggregator(c.sum, "subtract_on_evict")
    for i in range(n):
        swag.insert(i)
    assert (c.n, c.inverses) == (n - 1, 0)
    for i in range(3 * n):
        combines, inverses = c.n, c.inverses
        swag.insert(i)
        assert (c.n - combines, c.inverses - inverses) == (1, 0)
        swag.evict()
        assert (c.n - combines, c.inverses - inverses) == (1, 1)
        swag.query()
        assert (c.n - combines, c.inverses - inverses) == (1, 1)


def test_subtract_on_evict_refuses_what_has_no_inverse() -> None:
    with pytest.raises(Unsupported, match="has no inverse"):
        aggregator(Counting().max, "subtract_on_evict")


@pytest.mark.parametrize("algorithm", ["two_stacks", "two_stacks_lite"])
@every_size
def test_two_stacks_is_amortised_three(algorithm: str, n: int) -> None:
    c = Counting()
    costs = list(slides(aggregator(c.max, algorithm), c, n, 10 * n))
    assert sum(map(sum, costs)) <= 3 * len(costs)
    assert max(evict for evict, _, _ in costs) <= n  # the flip
    assert all(insert <= 1 and query <= 1 for _, insert, query in costs)


@pytest.mark.parametrize(("algorithm", "evicts", "inserts"), [("daba", 3, 4), ("daba_lite", 2, 3)])
@every_size
def test_daba_is_worst_case_constant(algorithm: str, evicts: int, inserts: int, n: int) -> None:
    c = Counting()
    for evict, insert, query in slides(aggregator(c.max, algorithm), c, n, 10 * n):
        assert evict <= evicts
        assert insert <= inserts
        assert query <= 1


@pytest.mark.parametrize("algorithm", ["two_stacks_lite", "daba_lite"])
def test_lite_holds_n_plus_2_at_any_time(algorithm: str) -> None:
    """Between operations, and inside each ⊕, where a flip may be going on."""
    held: list[int] = []

    def combine(a: str, b: str) -> str:
        held.append(swag._held() - len(swag))
        return a + b

    swag: Any = aggregator(aggregation(lift=str, combine=combine, lower=str), algorithm)
    source = random.Random(5)
    values: list[str] = []
    for i in range(3000):
        if source.random() < 0.5 + 0.1 * (i % 1000 < 500):
            swag.insert(str(i))
            values.append(str(i))
        elif values:
            k = 1 if source.random() < 0.95 else source.randint(1, len(values))
            swag.evict(k)
            del values[:k]
        held.append(swag._held() - len(swag))
        assert swag.query() == ("".join(values) or None)
    assert max(held) <= 2


@pytest.mark.parametrize("algorithm", ["two_stacks_lite", "daba_lite"])
def test_lite_slides_with_one_state_a_value(algorithm: str) -> None:
    """All that the structure refers to: no list, deque or undo beside the queue holds states."""
    swag: Any = aggregator(Counting().max, algorithm)
    for i in range(2000):
        swag.insert(float(i))
        if i >= 1000:
            swag.evict()
        lists = [v for v in vars(swag).values() if isinstance(v, list | dict | set | deque)]
        assert sum(map(len, lists)) <= 2, "the two pointers of a flip"
        assert swag._states.end - swag._states.head == len(swag)


@pytest.mark.parametrize(("algorithm", "least"), [("daba", 1.5), ("daba_lite", 1)])
def test_daba_averages_two_and_a_half_and_one_and_a_half(algorithm: str, least: float) -> None:
    """The Lite form half a ⊕ less each."""
    c = Counting()
    costs = list(slides(aggregator(c.max, algorithm), c, 2000, 20_000))
    evicts, inserts, _ = (sum(column) / len(costs) for column in zip(*costs, strict=True))
    assert inserts == pytest.approx(least + 1, abs=0.01)
    assert evicts == pytest.approx(least, abs=0.01)


@pytest.mark.parametrize("algorithm", ["daba", "daba_lite"])
def test_daba_on_random_sequences_keeps_its_bounds_and_lemma_4_1(algorithm: str) -> None:
    c = Counting()
    swag = aggregator(c.max, algorithm)
    source = random.Random(3)
    for _ in range(5000):
        before = c.n
        if len(swag) and source.random() < 0.5:
            swag.evict()
            assert c.n - before <= 3
        else:
            swag.insert(source.random())
            assert c.n - before <= 4
        swag._check()


def test_daba_never_moves_what_it_holds() -> None:
    """Growing by one chunk leaves every other chunk the same object."""
    swag: Any = aggregator(Counting().max, "daba")
    seen: dict[int, list[Any]] = {}
    for i in range(5000):
        swag.insert(i)
        if i > 2000 and i % 3:
            swag.evict()
        for number, chunk in swag._vals._chunks.items():
            assert seen.setdefault(number, chunk) is chunk


@pytest.mark.parametrize("algorithm", ["foa", "ioa"])
@every_size
def test_okasaki_aggregators_are_worst_case_constant(algorithm: str, n: int) -> None:
    c = Counting()
    for evict, insert, query in slides(aggregator(c.max, algorithm), c, n, 10 * n):
        assert evict <= 3
        assert insert <= 4
        assert query <= 1


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

STREAM = (2, 4, 0, 3, 7, 6, 1, 8, 9, 5)
Q1 = [2, 4, 4, 4, 7, 7, 7, 8, 9, 9]
Q2 = [2, 4, 4, 3, 7, 7, 6, 8, 9, 9]


def flatfit_of_nothing(c: Counting, n: int) -> Aggregator:
    """FlatFIT as the paper starts it: full of the operation's initial value."""
    swag = aggregator(c.max, "flatfit")
    swag.extend([-math.inf] * n)
    return swag


@pytest.mark.parametrize("both", [False, True])
def test_flatfit_worked_example_of_section_3_2(both: bool) -> None:
    c = Counting()
    swag = flatfit_of_nothing(c, 5)
    steps, second = [], 0
    for value, q1, q2 in zip(STREAM, Q1, Q2, strict=True):
        swag.evict()
        swag.insert(value)
        with c.spent() as spent:
            assert swag.query(5) == q1
        steps.append(spent())
        if both:
            with c.spent() as spent:
                assert swag.query(2) == q2
            second += spent()
    assert steps == [4, 1, 2, 2, 2, 1, 4, 1, 2, 2]
    assert sum(steps) == 21
    assert second == (6 if both else 0)


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
@every_size
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


# -- SlickDeque, SBA, PBA --------------------------------------------------------------------


@every_size
def test_slick_deque_is_amortised_below_two(n: int) -> None:
    c = Counting()
    costs = list(slides(aggregator(c.max, "slick_deque"), c, n, 20 * n))
    assert sum(map(sum, costs)) < 2 * (len(costs) + n)
    assert all(evict == query == 0 for evict, _, query in costs)


def test_slick_deque_subtracts_where_it_can() -> None:
    c = Counting()
    swag = aggregator(c.sum, "slick_deque")
    for i in range(10):
        swag.insert(i)
    swag.evict(4)
    assert (swag.query(), c.n, c.inverses) == (sum(range(4, 10)), 9, 4)


@every_size
def test_sba_slides_in_three_and_less_on_average(n: int) -> None:
    c = Counting()
    costs = list(slides(aggregator(c.max, "sba"), c, n, 20 * n))
    assert all(insert + query <= 3 for _, insert, query in costs)
    boundary = [evict for evict, _, _ in costs if evict]  # the lcs passes
    assert sum(map(sum, costs)) < 3 * len(costs)
    assert all(cost <= max(2, 2 * n / 3) for cost in boundary)


@every_size
def test_pba_slides_in_three_on_the_callers_thread(n: int) -> None:
    c = Counting()
    swag = aggregator(c.max, "pba")
    source = random.Random(n)
    for _ in range(4 * n):  # until the chunks have the size that belongs to n
        swag.insert(source.random())
        if len(swag) > n:
            swag.evict()
    main = 0
    for _ in range(20 * n):
        before = c.here
        swag.evict()
        swag.insert(source.random())
        swag.query()
        assert c.here - before <= 3
        main += c.here - before
    assert main < 3 * 20 * n
    if n > 4:
        assert len(c.by_thread) > 1, "the lcs are computed elsewhere"


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33, 100, 4096])
@pytest.mark.parametrize("by", ["rows", "slide", "time"])
def test_a_window_that_knows_its_size_pushes_in_three_from_the_first_value_on(
    n: int, by: str
) -> None:
    """Also while it fills and when the first value leaves; the chunks are of one size at once."""
    c, source = Counting(), random.Random(n)
    options: dict[str, Any] = {"rows": n} if by != "time" else {"range": n - 0.5}
    if by == "slide":
        options["slide"] = max(1, n // 5)
    pushed: Any = window(c.max, algorithm="pba", **options)
    recent: deque[float] = deque(maxlen=n)
    for i in range(min(4 * n, n + 5000)):
        recent.append(source.random())
        before = c.here
        result = pushed.push(recent[-1], **({"at": i} if by == "time" else {}))
        assert c.here - before <= 3
        assert i % 97 or pushed._swag._held() <= (3 * n + 13) / 2
        if by != "slide" or (i + 1) % options["slide"] == 0:
            assert result == max(recent)
        else:
            assert result is None
    if n > 4:
        assert len(c.by_thread) > 1


def test_chunks_of_time_are_half_a_range() -> None:
    """However unevenly the values come, a window lies in three chunks, and pushes in three."""
    c, source = Counting(), random.Random(7)
    pushed: Any = window(c.max, range=100, algorithm="pba")
    at = 0.0
    for i in range(4000):
        at += source.choice([0, 0, 0.1, 1, 1, 30, 400]) if i % 1000 < 500 else 0.5
        before = c.here
        pushed.push(source.random(), at=at)
        assert c.here - before <= 3
        assert len(pushed._swag._closed) <= 2
        pushed._check()
        pushed._swag._check()


@pytest.mark.parametrize("algorithm", ["sba", "pba"])
@every_size
def test_boundary_aggregators_hold_one_and_a_half_windows(algorithm: str, n: int) -> None:
    c = Counting()
    swag: Any = aggregator(c.max, algorithm)
    for i, _ in enumerate(slides(swag, c, n, 12 * n)):
        if i > 3 * n:
            assert swag._held() <= (3 * n + 13) / 2


def test_optimal_chunk_sizes() -> None:
    assert [optimal_chunk(n) for n in (1, 2, 3, 10, 1024)] == [1, 2, 2, 6, 513]
    assert optimal_chunk(10, slide=2) == 4
    assert optimal_chunk(16, slide=1) == 9
    for size in range(2, 200):
        for slide in range(1, size):
            assert size // slide // optimal_chunk(size, slide) == 1
            chunk = optimal_chunk_in_time(size, slide, combine_time=0.25)
            assert size // slide // chunk == 1
            cuts = Cuts.by_rows(size, slide)
            assert cuts.first % slide == -size % slide, "a window begins there"
            assert cuts.step == slide * optimal_chunk(size, slide)


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 3600.0])
def test_the_span_of_a_chunk_is_theorem_2_for_slides_ever_smaller(size: float) -> None:
    slide = size / 2**20
    chunk = slide * optimal_chunk_in_time(size, slide, combine_time=2**10 * slide)
    assert optimal_span(size) == pytest.approx(chunk, rel=0.002, abs=0.5 * isinstance(size, int))


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
        reads = _count_reads(swag)
        with c.spent() as spent:
            swag.evict(min(gone, len(swag)))
        assert spent() <= 2 * 14 + 2
        assert reads() <= 3 * 14 + 3
        swag._check()
        expected = n - 5 - gone if len(swag) else None
        assert swag.query() == expected
        assert swag.query() is not NOTHING


def _count_reads(swag: Any) -> Callable[[], int]:
    """Make the levels' queues count what is read of them."""
    reads = 0
    original = type(swag._levels[0])

    class CountingQueue(original):  # type: ignore[misc, valid-type]
        __slots__ = ()

        def __getitem__(self, position: int) -> Any:
            nonlocal reads
            reads += 1
            return super().__getitem__(position)

    for queue in swag._levels:
        queue.__class__ = CountingQueue
    return lambda: reads
