"""The number of ⊕, exactly: it depends on no machine, so it is counted and never timed."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from tests.algorithms.counting import SIZES, Counting, slides
from windrow import aggregation, aggregator, window
from windrow.algorithms.sba import Cuts, optimal_chunk, optimal_span
from windrow.errors import Unsupported

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


def optimal_chunk_in_time(size: float, slide: float, combine_time: float) -> int:
    """Return the slices of a chunk for a window of `size` time units: theorem 2 of paper 004."""
    q, rest = int(size // slide), size % slide
    extra = slide * rest + combine_time if rest else 0
    if q <= (slide + 2 * combine_time + extra) / combine_time:
        return q
    waiting = q * (slide + combine_time) + slide + 2 * combine_time + extra
    return int(waiting // (slide + 2 * combine_time))


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
