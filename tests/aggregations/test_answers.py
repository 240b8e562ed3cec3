"""What the aggregations answer, against calculations that share no code with them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, identified
from tests.examples import examples
from windrow import (
    ArgMax,
    ArgMin,
    Collect,
    CollectDistinct,
    Concat,
    Count,
    CountDistinct,
    First,
    FirstN,
    GeometricMean,
    Last,
    LastN,
    LongestRun,
    Max,
    MaxCount,
    Mean,
    Min,
    MinCount,
    Nth,
    Product,
    Range,
    StdDev,
    Sum,
    Together,
    Variance,
)
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, InvalidValue

NAN, INF = math.nan, math.inf


def answer(agg: Aggregation, values: Sequence[Any]) -> Any:
    return agg.lower(agg.fold(map(agg.lift, values)))


integers = st.lists(st.integers(-50, 50), min_size=1, max_size=12)

ORACLES: list[tuple[Aggregation, Callable[[list[int]], Any]]] = [
    (Count(), len),
    (Sum(), sum),
    (Product(), math.prod),
    (Min(), min),
    (Max(), max),
    (Mean(), lambda vs: float(Fraction(sum(vs), len(vs)))),
    (Range(), lambda vs: max(vs) - min(vs)),
    (MinCount(), lambda vs: vs.count(min(vs))),
    (MaxCount(), lambda vs: vs.count(max(vs))),
    (First(), lambda vs: vs[0]),
    (Last(), lambda vs: vs[-1]),
    (FirstN(n=3), lambda vs: vs[:3]),
    (LastN(n=3), lambda vs: vs[-3:]),
    (Nth(n=3), lambda vs: vs[2] if len(vs) > 2 else None),
    (Nth(n=-2), lambda vs: vs[-2] if len(vs) > 1 else None),
    (Collect(), lambda vs: vs),
    (CollectDistinct(), lambda vs: list(Counter(vs))),
    (CountDistinct(), lambda vs: len(set(vs))),
]


@pytest.mark.parametrize(("agg", "oracle"), ORACLES, ids=[identified(a) for a, _ in ORACLES])
@given(values=integers)
@examples(50)
def test_of_integers(
    agg: Aggregation, oracle: Callable[[list[int]], Any], values: list[int]
) -> None:
    assert answer(agg, values) == oracle(values)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers()), min_size=1, max_size=12))
def test_arg_is_that_of_the_first_extreme(pairs: list[tuple[int, int]]) -> None:
    assert answer(ArgMax(), pairs) == max(pairs, key=lambda pair: pair[0])[1]
    assert answer(ArgMin(), pairs) == min(pairs, key=lambda pair: pair[0])[1]


@given(st.lists(st.text(max_size=3), min_size=1, max_size=8))
def test_concat_joins_in_order(words: list[str]) -> None:
    assert answer(Concat(), words) == "".join(words)
    assert answer(Concat(separator=", "), words) == ", ".join(words)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=14))
def test_longest_run_is_the_first_longest(values: list[int]) -> None:
    best = (0, 0)
    for start in range(len(values)):
        end = start + 1
        while end < len(values) and values[end - 1] < values[end]:
            end += 1
        if end - start > best[0]:
            best = (end - start, start)
    length, start = best
    run = answer(LongestRun(), [(v, 10 * i) for i, v in enumerate(values)])
    assert run == (10 * start, 10 * (start + length - 1), length, 10 * (length - 1))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_variance_against_exact_arithmetic(values: list[float]) -> None:
    exact = [Fraction(v) for v in values]
    for ddof, oracle in ((0, statistics.pvariance), (1, statistics.variance)):
        expected = float(oracle(exact))
        scale = max(abs(v) for v in values) ** 2
        got = answer(Variance(ddof=ddof), values)
        assert math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-14 * scale)
        assert answer(StdDev(ddof=ddof), values) == math.sqrt(got)


def test_variance_keeps_its_digits_under_a_large_mean() -> None:
    values = [1e9 + v for v in (4.0, 7.0, 13.0, 16.0)]
    assert answer(Variance(), values) == 30.0


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=30))
def test_geometric_mean_cannot_overflow(values: list[float]) -> None:
    logs = math.fsum(math.log(v) for v in values) / len(values)
    assert math.isclose(answer(GeometricMean(), values), math.exp(logs), rel_tol=1e-12)


def test_geometric_mean_of_zero_and_of_negatives() -> None:
    assert answer(GeometricMean(), [4, 0]) == 0.0
    assert math.isnan(answer(GeometricMean(), [4, -1]))


@given(st.lists(st.floats(-1e300, 1e300), max_size=40))
def test_float_sums_are_correctly_rounded_where_fsum_is(values: list[float]) -> None:
    values = [*values, *(-v for v in values), 1.0]
    assert answer(Sum(), values) == pytest.approx(1.0, abs=1e-16 * max(map(abs, values)) * 1e-14)


@given(st.lists(st.floats(allow_infinity=True, allow_nan=True), min_size=1, max_size=12))
def test_sums_with_nan_and_infinities_are_those_of_ieee(values: list[float]) -> None:
    with np.errstate(all="ignore"):
        expected = float(np.sum(np.array([v for v in values if not math.isfinite(v)])))
    got = answer(Sum(), values)
    if math.isfinite(expected):
        assert math.isfinite(got) or max(map(abs, values)) > 1e300
    else:
        assert got == expected or (math.isnan(got) and math.isnan(expected))


def test_a_product_may_pass_through_what_a_float_cannot_hold() -> None:
    assert answer(Product(), [1e200, 1e200, 1e-300, 1e-100]) == pytest.approx(1.0)
    assert answer(Product(), [10**400, 1e-300, 1e-100]) == pytest.approx(1.0)
    assert answer(Product(), [1e200, 1e200]) == INF
    assert answer(Product(), [1e200, -1e200]) == -INF


# -- nulls, NaN, emptiness -------------------------------------------------------------------

COUNTING = ("Count", "CountDistinct", "HyperLogLog", "HLL", "Theta")


@pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
def test_nothing_gives_null_and_counts_give_zero(agg: Aggregation) -> None:
    empty = agg.lower(agg.identity)
    if type(agg).__name__ in COUNTING:
        assert empty == 0
    elif isinstance(agg, Together):
        assert set(empty.values()) == {None}
    elif type(agg).__name__ == "Custom" and agg.identity is not None:
        assert empty == agg.identity
    else:
        assert empty is None


def test_nulls_are_skipped_and_rows_are_counted() -> None:
    rows = [{"x": 3, "y": "a"}, {"x": None, "y": "b"}, {"x": 5, "y": None}]
    assert answer(Count(), rows) == 3
    assert answer(Count("x"), rows) == 2
    assert answer(Sum("x"), rows) == 8
    assert answer(First("y"), rows) == "a"
    assert answer(Last("y"), rows) == "b"
    assert answer(ArgMax("x", "y"), rows) is None  # the argument is null, the measure is not
    assert answer(Collect("x"), rows) == [3, 5]


def test_nan_is_larger_than_any_number_and_equal_to_itself() -> None:
    values = [1.0, NAN, INF, NAN]
    assert math.isnan(answer(Max(), values))
    assert answer(Min(), values) == 1.0
    assert math.isnan(answer(Min(), [NAN]))
    assert answer(MaxCount(), values) == 2
    assert answer(CountDistinct(), values) == 3
    assert len(answer(CollectDistinct(), values)) == 3
    assert answer(ArgMax(), [(1.0, "a"), (NAN, "b"), (NAN, "c")]) == "b"
    assert math.isnan(answer(Sum(), values))
    assert math.isnan(answer(StdDev(), values))


def test_pandas_marks_are_nulls() -> None:
    pd = pytest.importorskip("pandas")
    assert answer(Sum(), [1, pd.NA, 2]) == 3
    assert answer(Max(), [pd.NaT, pd.Timestamp(0)]) == pd.Timestamp(0)


def test_numpy_marks_are_nulls() -> None:
    day = np.datetime64("2026-01-01")
    assert answer(Max(), [day, np.datetime64("NaT")]) == day
    assert answer(CountDistinct(), [day, np.datetime64("NaT"), day]) == 1
    assert answer(Min(), [np.timedelta64(3, "s"), np.timedelta64("NaT")]) == np.timedelta64(3, "s")
    assert answer(Mean(), [1.0, np.ma.masked, 3.0]) == 2.0


def test_numpy_integers_do_not_wrap_around() -> None:
    assert answer(Sum(), [np.int64(2**62)] * 4) == 2**64
    assert answer(Product(), [np.int32(2**30)] * 4) == 2**120


def test_what_no_float_can_hold() -> None:
    huge = 10**400
    assert answer(Sum(), [huge, huge]) == 2 * huge
    assert answer(Sum(), [huge, 0.5]) == INF
    assert answer(Mean(), [-huge, -huge]) == -INF
    assert math.isnan(answer(Variance(), [huge, 1]))
    assert math.isnan(answer(Max(), [Decimal(1), Decimal("NaN")]))
    assert answer(Sum(), [Decimal(1), Decimal("-Infinity")]) == -INF
    with pytest.raises(InvalidValue, match="can be subtracted"):
        Range().lift("a")
    with pytest.raises(InvalidValue, match="needs times or numbers"):
        LongestRun().lift((1, "monday"))


def test_decimals_and_fractions_stay_what_they_are() -> None:
    assert answer(Sum(), [Decimal("0.1")] * 3) == Decimal("0.3")
    assert answer(Mean(), [Fraction(1, 3), Fraction(2, 3)]) == Fraction(1, 2)


# -- wrong use -------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Sum, Mean, Product, Variance, StdDev, GeometricMean])
def test_numbers_only(cls: type[Aggregation]) -> None:
    with pytest.raises(InvalidValue, match=rf"{cls.__name__}\(\) takes numbers, not str 'three'"):
        cls().lift("three")


@pytest.mark.parametrize("cls", [ArgMax, ArgMin, LongestRun])
def test_pairs_only(cls: type[Aggregation]) -> None:
    with pytest.raises(InvalidValue, match="takes pairs"):
        cls().lift(3)


def test_other_wrong_values() -> None:
    with pytest.raises(InvalidValue, match=r"Concat\(\) takes strings, not int 3"):
        Concat().lift(3)
    with pytest.raises(InvalidValue, match="can be hashed, not list"):
        CountDistinct().lift([1])


def test_wrong_parameters() -> None:
    with pytest.raises(InvalidArgument, match="ddof must be 1"):
        Variance(ddof=2)
    with pytest.raises(InvalidArgument, match="FirstN: n must be 1 or more, got 0"):
        FirstN(n=0)
    with pytest.raises(InvalidArgument, match="FirstN: n must be a whole number, got True"):
        FirstN(n=True)
    with pytest.raises(InvalidArgument, match="columns must be names"):
        Max(3)
    with pytest.raises(InvalidArgument, match="takes 2 column name"):
        ArgMax("load")
    with pytest.raises(InvalidArgument, match="at least one"):
        Together()


def test_rows_and_columns() -> None:
    with pytest.raises(InvalidValue, match="takes rows such as"):
        Max("load").lift(3)
    with pytest.raises(InvalidValue, match="no column 'laod'; did you mean 'load'"):
        Max("laod").lift({"load": 3})
