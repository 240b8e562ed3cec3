"""The laws that every aggregation states of itself, named after the laws."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, CLASSES, closeness, identified, same, values_for
from tests.examples import examples
from windrow import Count, Max, aggregation
from windrow.aggregations.base import Aggregation
from windrow.aggregations.custom import Custom

every = pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
State = Any


@functools.cache
def states(agg: Aggregation) -> st.SearchStrategy[State]:
    """States of windows of up to four values."""
    return st.lists(values_for(agg), max_size=4).map(lambda vs: agg.fold(map(agg.lift, vs)))


def associative(agg: Aggregation, a: State, b: State, c: State) -> None:
    left = agg.combine(agg.combine(a, b), c)
    right = agg.combine(a, agg.combine(b, c))
    assert same(left, right, closeness(agg)), (left, right)


def identity(agg: Aggregation, a: State, b: State, c: State) -> None:
    assert same(agg.combine(agg.identity, a), a)
    assert same(agg.combine(a, agg.identity), a)


def commutative(agg: Aggregation, a: State, b: State, c: State) -> None:
    ab, ba = agg.combine(a, b), agg.combine(b, a)
    assert same(ab, ba, closeness(agg)), (ab, ba)


def inverse(agg: Aggregation, a: State, b: State, c: State) -> None:
    back = agg.inverse(agg.combine(a, b), a)
    # A variance is made of squares, so what subtraction loses is measured against their size.
    assert same(back, b, closeness(agg, scale=1e12)), (back, b)


def selective(agg: Aggregation, a: State, b: State, c: State) -> None:
    ab = agg.combine(a, b)
    assert ab is a or ab is b


def fold_is_combine_in_order(agg: Aggregation, a: State, b: State, c: State) -> None:
    for parts in ([a], [a, b], [a, b, c], [c, b, a, b, c]):
        total = functools.reduce(agg.combine, parts)
        assert same(agg.fold(iter(parts)), total, closeness(agg))


def laws(agg: Aggregation) -> list[Callable[[Aggregation, State, State, State], None]]:
    """What an aggregation states of itself."""
    stated = [(agg.commutative, commutative), (agg.invertible, inverse), (agg.selective, selective)]
    return [associative, identity, fold_is_combine_in_order, *(law for is_, law in stated if is_)]


@every
@given(data=st.data())
@examples(120)
def test_the_laws(agg: Aggregation, data: st.DataObject) -> None:
    """Each over the same states, which no law may change."""
    drawn = tuple(data.draw(states(agg)) for _ in range(3))
    before = copy.deepcopy(drawn)
    for law in laws(agg):
        law(agg, *drawn)
        assert same(drawn, before), f"{law.__name__} has changed its operands"


@pytest.mark.parametrize("agg", [a for a in AGGREGATIONS if a != Count()], ids=identified)
@given(data=st.data())
@examples(60)
def test_nulls_change_nothing(agg: Aggregation, data: st.DataObject) -> None:
    values = data.draw(st.lists(values_for(agg), max_size=6))
    without = [v for v in values if v is not None]
    with_nulls = agg.fold(map(agg.lift, values))
    assert same(with_nulls, agg.fold(map(agg.lift, without)), closeness(agg))


@every
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
