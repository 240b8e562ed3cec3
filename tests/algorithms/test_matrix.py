"""Every algorithm with every aggregation that it supports, against recalculation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, PAIRS, closeness, identified, same, values_for
from tests.examples import examples
from windrow import aggregator
from windrow.aggregations.base import Aggregation
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import Unsupported

matrix = pytest.mark.parametrize(
    ("algorithm", "agg"), PAIRS, ids=[f"{a}-{identified(b)}" for a, b in PAIRS]
)


class Evict:
    """An eviction of a share of the window, so that shrinking keeps sequences valid."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __repr__(self) -> str:
        return f"Evict({self.share})"


def operations(agg: Aggregation) -> st.SearchStrategy[list[Any]]:
    """Inserts, single and bulk evictions, in bursts so that windows grow and shrink."""
    insert = values_for(agg).map(lambda value: ("insert", value))
    evict = st.sampled_from([0.0, 0.0, 0.0, 0.3, 0.5, 1.0]).map(lambda s: ("evict", s))
    return st.lists(st.one_of(insert, insert, evict), max_size=60)


@matrix
@given(data=st.data())
@examples(15)
def test_agrees_with_recalculation(algorithm: str, agg: Aggregation, data: st.DataObject) -> None:
    swag, oracle = aggregator(agg, algorithm), aggregator(agg, "recalculate")
    close = closeness(agg, scale=1e12)
    for kind, what in data.draw(operations(agg)):
        if kind == "insert":
            swag.insert(what)
            oracle.insert(what)
        elif len(oracle):
            k = max(1, int(len(oracle) * what))
            swag.evict(k)
            oracle.evict(k)
        swag._check()
        assert len(swag) == len(oracle)
        assert same(swag._query(), oracle._query(), close), (swag._query(), oracle._query())
        if swag.several_ranges and len(oracle):
            last = 1 + len(oracle) // 2
            assert same(swag._query_last(last), oracle._query_last(last), close)
    if agg.exact:
        assert same(swag.query(), oracle.query())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
def test_what_is_not_supported_is_refused_with_a_reason(algorithm: str, agg: Aggregation) -> None:
    cls = algorithm_class(algorithm)
    if cls.supports(agg):
        assert aggregator(agg, algorithm).algorithm == algorithm
        return
    with pytest.raises(Unsupported, match=f"^{algorithm} .*(inverse|selective).* take two_stacks"):
        aggregator(agg, algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_long_slide_over_many_chunks(algorithm: str) -> None:
    """Windows larger than a chunk of the queues, and positions far from zero."""
    agg = next(
        a
        for a in AGGREGATIONS
        if type(a).__name__ in ("Sum", "Max") and algorithm_class(algorithm).supports(a)
    )
    swag, oracle = aggregator(agg, algorithm), aggregator(agg, "recalculate")
    for i in range(3000):
        value = i * 7919 % 1009
        swag.insert(value)
        oracle.insert(value)
        if len(oracle) > 700:
            swag.evict()
            oracle.evict()
        if i % 1000 == 999:
            swag.evict(400)
            oracle.evict(400)
        if i % 97 == 0:
            assert swag.query() == oracle.query()
    swag._check()
