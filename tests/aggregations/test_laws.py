"""The laws that every aggregation states of itself, named after the laws."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, CLASSES, closeness, identified, same, values_for
from windrow import Count, Max, aggregation
from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom

every = pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
few = settings(max_examples=60)


def states(agg: Aggregation) -> st.SearchStrategy[Any]:
    """States of windows of up to four values."""
    return st.lists(values_for(agg), max_size=4).map(lambda vs: agg.fold(map(agg.lift, vs)))


@every
@given(data=st.data())
@few
def test_associative(agg: Aggregation, data: st.DataObject) -> None:
    a, b, c = (data.draw(states(agg)) for _ in range(3))
    left = agg.combine(agg.combine(a, b), c)
    right = agg.combine(a, agg.combine(b, c))
    assert same(left, right, closeness(agg)), (left, right)


@every
@given(data=st.data())
@few
def test_identity(agg: Aggregation, data: st.DataObject) -> None:
    a = data.draw(states(agg))
    assert same(agg.combine(agg.identity, a), a)
    assert same(agg.combine(a, agg.identity), a)


@pytest.mark.parametrize("agg", [a for a in AGGREGATIONS if a.commutative], ids=identified)
@given(data=st.data())
@few
def test_commutative(agg: Aggregation, data: st.DataObject) -> None:
    a, b = data.draw(states(agg)), data.draw(states(agg))
    ab, ba = agg.combine(a, b), agg.combine(b, a)
    assert same(ab, ba, closeness(agg)), (ab, ba)


@pytest.mark.parametrize("agg", [a for a in AGGREGATIONS if a.invertible], ids=identified)
@given(data=st.data())
@few
def test_inverse(agg: Aggregation, data: st.DataObject) -> None:
    a, b = data.draw(states(agg)), data.draw(states(agg))
    back = agg.inverse(agg.combine(a, b), a)
    # A variance is made of squares, so what subtraction loses is measured against their size.
    assert same(back, b, closeness(agg, scale=1e12)), (back, b)


@pytest.mark.parametrize("agg", [a for a in AGGREGATIONS if a.selective], ids=identified)
@given(data=st.data())
@few
def test_selective(agg: Aggregation, data: st.DataObject) -> None:
    a, b = data.draw(states(agg)), data.draw(states(agg))
    c = agg.combine(a, b)
    assert c is a or c is b


@pytest.mark.parametrize("agg", [a for a in AGGREGATIONS if a != Count()], ids=identified)
@given(data=st.data())
@few
def test_nulls_change_nothing(agg: Aggregation, data: st.DataObject) -> None:
    values = data.draw(st.lists(values_for(agg), max_size=6))
    without = [v for v in values if v is not None]
    with_nulls = agg.fold(map(agg.lift, values))
    assert same(with_nulls, agg.fold(map(agg.lift, without)), closeness(agg))


@every
@given(data=st.data())
@few
def test_combine_leaves_its_operands_alone(agg: Aggregation, data: st.DataObject) -> None:
    a, b = data.draw(states(agg)), data.draw(states(agg))
    before = copy.deepcopy((a, b))
    agg.combine(a, b)
    if agg.invertible:
        agg.inverse(agg.combine(a, b), a)
    assert same((a, b), before)


@every
@given(data=st.data())
@few
def test_fold_is_combine_in_order(agg: Aggregation, data: st.DataObject) -> None:
    parts = data.draw(st.lists(states(agg), min_size=1, max_size=5))
    total = parts[0]
    for part in parts[1:]:
        total = agg.combine(total, part)
    assert same(agg.fold(iter(parts)), total, closeness(agg))


@pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
def test_a_value_of_python(agg: Aggregation) -> None:
    assert agg == copy.copy(agg)
    assert hash(agg) == hash(copy.copy(agg))
    assert agg != aggregation(lift=int, combine=max, lower=str)
    if not isinstance(agg, Custom):  # lambdas cannot be pickled
        assert pickle.loads(pickle.dumps(agg)) == agg
        assert eval(repr(agg), vars(__import__("windrow")) | _names()) == agg


@pytest.mark.parametrize("cls", CLASSES)
def test_documented_and_says_what_it_takes(cls: type[Aggregation]) -> None:
    assert cls.__doc__
    assert isinstance(cls.takes, str)


def test_parameters_tell_aggregations_apart() -> None:
    assert Max() != Max("load")
    assert Max("load") == Max("load")
    assert len({Max("load"), Max("load"), Max()}) == 2


def _names() -> dict[str, object]:
    import windrow

    return {name: getattr(windrow, name) for name in windrow.__all__}
