"""Aggregations that share their states answer as each alone, and keep no state that is spare."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import same
from tests.examples import examples
from windrow import (
    ArgMax,
    ArgMin,
    Collect,
    CollectDistinct,
    Concat,
    Count,
    CountDistinct,
    GeometricMean,
    Max,
    MaxCount,
    Mean,
    Min,
    MinCount,
    MomentSketch,
    Product,
    Range,
    StdDev,
    Sum,
    Variance,
)  # fmt: skip
from windrow.aggregations.base import Aggregation
from windrow.aggregations.shared_states import SharedStates, derivation
from windrow.errors import InvalidArgument

ON_X = [
    *(Sum("x"), Mean("x"), GeometricMean("x"), Product("x"), Count("x"), Count()),
    *(Variance("x"), Variance("x", ddof=0), StdDev("x"), StdDev("x", ddof=0)),
    *(Max("x"), Min("x"), Range("x"), MaxCount("x"), MinCount("x")),
    *(ArgMax("x", "y"), ArgMin("x", "y"), Max("y"), ArgMax("y", "x")),
    *(CollectDistinct("x"), CountDistinct("x"), Collect("x")),
    *(MomentSketch("x", order=3), MomentSketch("x", order=3, quantiles=0.5), MomentSketch("x")),
]
numbers = st.one_of(st.none(), st.integers(-3, 3), st.floats(-100, 100), st.just(math.nan))
some_rows = st.lists(st.fixed_dictionaries({"x": numbers, "y": st.integers(0, 5)}), max_size=8)


def folded(agg: Aggregation, rows: list[dict[str, Any]]) -> Any:
    return agg.fold([agg.identity, *map(agg.lift, rows)])


@given(rows=some_rows)
@examples(60)
def test_what_a_state_tells_is_what_the_other_would_keep(rows: list[dict[str, Any]]) -> None:
    for teller, asked in itertools.product(ON_X, ON_X):
        tell = derivation(teller, asked)
        if tell is not None:
            assert same(tell(folded(teller, rows)), folded(asked, rows)), (teller, asked)


@given(asked=st.lists(st.sampled_from(ON_X), min_size=1, max_size=6), rows=some_rows)
@examples(100)
def test_partials_answer_as_each_alone(
    asked: list[Aggregation], rows: list[dict[str, Any]]
) -> None:
    shared = SharedStates(*asked)
    answers = shared.lower(folded(shared, rows))
    for agg, answer in zip(asked, answers, strict=True):
        assert same(answer, agg.lower(folded(agg, rows))), agg
    kept = list(shared.parts.values())
    assert all(derivation(a, b) is None for a, b in itertools.permutations(kept, 2)), (
        "none is spare"
    )


def test_derivations_are_found() -> None:
    found = {
        (type(a), type(b))
        for a, b in itertools.permutations([*ON_X, *TEXTS], 2)
        if derivation(a, b)
    }
    assert found >= {
        *((Sum, Mean), (Mean, Sum), (Sum, Count), (Mean, Count), (GeometricMean, Count)),
        *((Variance, Variance), (Variance, StdDev), (StdDev, Variance), (Variance, Count)),
        *((Range, Min), (Range, Max), (MaxCount, Max), (MinCount, Min), (ArgMax, Max)),
        *((CollectDistinct, CountDistinct), (CountDistinct, CollectDistinct), (Concat, Collect)),
        (MomentSketch, MomentSketch),
    }
    for a, b, c in itertools.permutations(ON_X, 3):
        if derivation(a, b) and derivation(b, c):
            assert derivation(a, c), (a, b, c)


TEXTS = [Concat("x"), Concat("x", separator="-"), Collect("x")]


def test_texts_are_kept_once() -> None:
    shared = SharedStates(*TEXTS)
    assert list(shared.parts.values()) == [Concat("x")]
    state = folded(shared, [{"x": "a"}, {"x": None}, {"x": "b"}])
    assert shared.lower(state) == ("ab", "a-b", ["a", "b"])


def test_what_is_not_shared() -> None:
    class Doubled(Sum):
        def unit(self, value: Any) -> Any:
            return super().unit(2 * value)

    for teller, asked in [
        (Sum(), Count()),  # Count() counts nulls
        (Sum("x"), Count()),
        (Sum("x"), Mean("y")),
        (Sum("x"), Mean()),
        (ArgMax(), Max()),  # ArgMax() takes pairs
        (ArgMax("y", "x"), Max("x")),
        (Variance("x"), Mean("x")),  # a mean of integers is exact, this one is not
        (MomentSketch("x", order=3), MomentSketch("x")),
        (Doubled("x"), Mean("x")),  # a subclass may keep anything
        (Collect("x"), Concat("x")),  # Concat refuses what is no text
    ]:
        assert derivation(teller, asked) is None, (teller, asked)


def test_states_of_nothing_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="SharedStates needs at least one"):
        SharedStates()
