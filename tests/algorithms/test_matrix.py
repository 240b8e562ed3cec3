"""Every algorithm with every aggregation that it supports, against recalculation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, closeness, identified, same, values_for
from tests.examples import examples
from windrow import aggregator
from windrow.aggregations.base import Aggregation
from windrow.algorithms import ALGORITHMS, algorithm_class
from windrow.errors import Unsupported


def operations(agg: Aggregation) -> st.SearchStrategy[list[Any]]:
    """Inserts, single and bulk evictions: few, or so many that windows grow and shrink."""
    insert = values_for(agg).map(lambda value: ("insert", value))
    evict = st.sampled_from([0.0, 0.0, 0.0, 0.3, 0.5, 1.0]).map(lambda s: ("evict", s))
    either = st.one_of(insert, insert, evict)
    return st.one_of(st.lists(either, max_size=9), st.lists(either, min_size=25, max_size=60))


@pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
@given(data=st.data())
@examples(18)
def test_agrees_with_recalculation(agg: Aggregation, data: st.DataObject) -> None:
    """All algorithms go through the same operations, side by side."""
    oracle, close = aggregator(agg, "recalculate"), closeness(agg, scale=1e12)
    swags = [aggregator(agg, name) for name in ALGORITHMS if algorithm_class(name).supports(agg)]
    for kind, what in data.draw(operations(agg)):
        k = max(1, int(len(oracle) * what)) if kind == "evict" else 0
        if k > len(oracle):
            continue
        for swag in (oracle, *swags):
            if kind == "insert":
                swag.insert(what)
            else:
                swag.evict(k)
        total, last = oracle._query(), 1 + len(oracle) // 2
        newest = oracle._query_last(last) if len(oracle) else None
        for swag in swags:
            swag._check()
            assert len(swag) == len(oracle), swag.algorithm
            assert same(got := swag._query(), total, close), (swag.algorithm, got, total)
            if swag.several_ranges and len(oracle):
                assert same(swag._query_last(last), newest, close), swag.algorithm
    if agg.exact:
        for swag in swags:
            assert same(swag.query(), oracle.query()), swag.algorithm


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_not_supported_is_refused_with_a_reason(algorithm: str) -> None:
    for agg in AGGREGATIONS:
        if algorithm_class(algorithm).supports(agg):
            assert aggregator(agg, algorithm).algorithm == algorithm
            continue
        reason = f"^{algorithm} .*(inverse|selective).* take two_stacks"
        with pytest.raises(Unsupported, match=reason):
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
