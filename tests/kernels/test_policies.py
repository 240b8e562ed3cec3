"""Policies compiled: the same windows as in the interpreter, and as by brute force."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogue import AGGREGATIONS, identified
from tests.examples import examples
from windrow import (
    ArgMax,
    Collect,
    Count,
    EWMByTime,
    Last,
    Max,
    Mean,
    Min,
    Product,
    Rate,
    Sum,
    Variance,
    aggregation,
    rolling,
    sliding,
    window,
)
from windrow.aggregations.base import Aggregation
from windrow.kernels.routes import traced
from windrow.queries.query import Query

SPREAD = aggregation(
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
RESULTS = {
    "n": Count(), "here": Count("v"), "s": Sum("v"), "mean": Mean("v"), "last": Last("v"),
    "low": Min("v"), "high": Max("v"), "var": Variance("v", ddof=0), "own": SPREAD("v"),
}  # fmt: skip


def _apart(total: Any, old: Any) -> bool:
    rest = total.n - old.n
    return rest > 1 and abs((total.s - old.s) / rest - old.s / old.n) > 4


def _wider(total: Any, old: Any) -> bool:
    return _helper(total, 6) and old.n < 5


def _helper(some: Any, limit: int) -> bool:
    return some.high - some.low > limit


POLICIES: dict[str, Callable[..., Any]] = {
    "a sum": lambda total, old: total.s - old.s + old.last > 10,
    "means, not monotone": _apart,
    "all of it": lambda total, old: total.n > 6,
    "helpers": _wider,
    "a number for a result": lambda total, old: int(total.own > 7 and old.n < 3),
    "a spread": lambda total, old: total.var > 9.0 and old.n <= 4,
    "by the window, not monotone": lambda window: window.n % 4 == 3 and window.high > 2,
}
VALUES = {
    "int": st.integers(-9, 9),
    "float": st.floats(-9, 9).map(lambda x: round(x, 3)),
}
ROWS = st.integers(0, 2)


class Hidden:
    """A policy that no compiler looks into."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        self.policy = policy
        self.of_window = policy.__code__.co_argcount == 1

    def __call__(self, *seen: Any) -> Any:
        return self.policy(*seen)


def windows_of(query: Query, table: pa.Table) -> tuple[list[Any], str]:
    """The rows of each window, and how the policy ran."""
    with traced() as ran:
        made = query(table).column("all").to_pylist()
    return made, next(way for what, way in ran if what.startswith("'"))


def asked(policy: Callable[..., Any], **more: Any) -> Query:
    parts = {**RESULTS, "all": Collect("i"), **more}
    return sliding(parts, partition_by="k", until=policy)


def table_of(rows: list[tuple[int, Any]]) -> pa.Table:
    keys, values = zip(*rows, strict=True) if rows else ((), ())
    kind = pa.int64() if all(isinstance(v, int) for v in values) else pa.float64()
    table = {
        "i": np.arange(len(rows)),
        "k": pa.array(keys, pa.int64()),
        "v": pa.array(values, kind),
    }
    return pa.table(table)


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        ("a sum", "int"),
        ("means, not monotone", "float"),
        ("all of it", "int"),
        ("helpers", "int"),
        ("a number for a result", "int"),
        ("a spread", "float"),
        ("by the window, not monotone", "int"),
    ],
)
def test_compiled_is_interpreted(policy: str, kind: str) -> None:
    function = POLICIES[policy]

    @examples(20)
    @given(rows=st.lists(st.tuples(ROWS, VALUES[kind]), max_size=60))
    def check(rows: list[tuple[int, Any]]) -> None:
        table = table_of(rows)
        compiled, way = windows_of(asked(function), table)
        assert way == "compiled"
        interpreted, way = windows_of(asked(Hidden(function)), table)
        assert way == "interpreted"
        assert compiled == interpreted
        if kind == "int":  # where nothing is rounded, a window that is pushed has the same
            assert compiled == pushed(function, table)

    check()


def pushed(policy: Callable[..., Any], table: pa.Table) -> list[Any]:
    """What a window holds to which the rows of each key are pushed."""
    found: list[Any] = []
    open_: dict[Any, Any] = {}
    for row in table.to_pylist():
        if row["k"] not in open_:
            open_[row["k"]] = window({**RESULTS, "all": Collect("i")}, until=policy)
        found.append(open_[row["k"]].push(row).all)
    return found


# -- what does not compile -------------------------------------------------------------------

TABLE = pa.table(
    {
        "i": [0, 1, 2, 3],
        "k": [1, 1, 1, 1],
        "v": [1, 2, 3, 4],
        "at": np.array([1, 2, 3, 4], "M8[s]"),
    }
)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (lambda total, old: total.all[0] > 2, "it reads all=Collect('i'), which is not a number"),
        (lambda total, old: total.now is None, "it reads now=Max('at'), which is not a number"),
        (lambda total, old: False, "it reads none of the results by its name"),
        (lambda total, old: total.n > 2 and len(old) < 9, "it calls len, which of results means"),
        (
            lambda total, old: bool(total) and total.n > 2,
            "it does more with results than to ask one",
        ),
        (lambda total, old: total.n > old["n"] + 2, "interpreted: No implementation of function"),
        (lambda total, old: str(total.n) > "2", "it calls str, which means something else"),
        (lambda total, old: TABLE.num_rows < total.n, "refers to 'TABLE', a Table, which cannot"),
    ],
)
def test_what_does_not_compile_is_told_and_interpreted(policy: Any, why: str) -> None:
    query = asked(policy, now=Max("at"))
    assert "policy     <lambda>, interpreted: " in query.explain(TABLE).replace(
        policy.__qualname__, "<lambda>"
    )
    assert why in query.explain(TABLE)
    made, way = windows_of(query, TABLE)
    assert way == "interpreted"
    assert made == windows_of(asked(Hidden(policy), now=Max("at")), TABLE)[0]


def test_explain_says_that_a_policy_is_compiled() -> None:
    assert "compiled" in asked(POLICIES["all of it"]).explain().split("policy ")[1].splitlines()[0]


def test_a_result_that_is_null_needs_the_interpreter() -> None:
    """And only there: rows with nulls among others are compiled for."""
    policy = POLICIES["a sum"]
    table = TABLE.set_column(2, "v", pa.array([1, None, 9, 4]))
    assert windows_of(asked(policy), table) == ([[0], [0, 1], [0, 1, 2], [3]], "compiled")
    table = TABLE.set_column(2, "v", pa.array([None, 2, 9, 4]))
    with pytest.raises(TypeError, match="NoneType") as caught:
        asked(policy)(table)
    assert "at the row {'k': 1, 'v': None, 'i': 0}" in str(caught.value.__notes__)
    two = pa.concat_tables(
        [table.drop_columns("k").append_column("k", pa.array([2] * 4)), TABLE],
        promote_options="permissive",
    )
    careful = asked(lambda total, old: (total.s or 0) - (old.s or 0) >= 9)
    assert windows_of(careful, table) == ([[0], [0, 1], [2], [2, 3]], "interpreted")
    made, way = windows_of(careful, two)
    assert way == "compiled and interpreted", "by keys"
    assert made[4:] == windows_of(careful, TABLE)[0]


def test_a_text_knows_nulls() -> None:
    table = TABLE.set_column(2, "v", pa.array([None, 2, 9, 4]))
    assert windows_of(asked("s >= 9 AND n > 1 OR var IS NULL"), table) == (  # type: ignore[arg-type]
        [None, [1], [2], [3]],
        "compiled",
    )


def test_the_argument_of_the_largest_value_is_seen() -> None:
    table = pa.table({"at": [0, 1800, 3000, 4000, 9000], "load": [3.0, 9.0, 5.0, 4.0, 1.0]})
    query = sliding(
        until=lambda total, old: old.last < total.peak,
        peak=ArgMax("load", "at"), last=Last("at"), all=Collect("at"),
    )  # fmt: skip
    made, way = windows_of(query, table)
    assert (list(map(len, made)), way) == ([1, 1, 2, 3, 4], "compiled")


def test_threads_have_keys_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    table = table_of([(int(k), int(v)) for k, v in random.integers(0, 9, (900, 2))])
    alone = asked(POLICIES["a sum"])(table)
    monkeypatch.setattr("windrow.windows.arrays.PIECE", 50)
    with traced() as ran:
        assert asked(POLICIES["a sum"])(table).equals(alone)
    assert ran[0][1] == "compiled"


def test_products_of_integers_are_exact() -> None:
    query = sliding(until=lambda total, old: total.p % 10 == 1, p=Product("v"), all=Collect("i"))
    table = pa.table({"i": [0, 1], "v": [10**17 + 1, 1000]})
    assert windows_of(query, table) == ([None, [1]], "interpreted")


def test_sums_past_64_bits_are_exact() -> None:
    table = TABLE.set_column(2, "v", pa.array([2**62, -(2**62), 2**62, 5]))
    query = sliding(until=lambda total, old: total.s > 2**62, s=Sum("v"), all=Collect("i"))
    assert windows_of(query, table) == ([[0], [0, 1], [0, 1, 2], None], "interpreted")


def test_an_error_of_a_policy_names_the_row() -> None:
    query = asked(lambda total, old: 1 / (total.n - 3) > 5)
    with pytest.raises(ZeroDivisionError) as caught:
        query(TABLE)
    assert "at the row {'k': 1, 'v': 3, 'i': 2}" in str(caught.value.__notes__)


# -- the tree ----------------------------------------------------------------------------------


@examples(40)
@given(steps=st.lists(st.integers(0, 9), min_size=1, max_size=80), of_window=st.booleans())
def test_a_policy_sees_the_rows_in_their_order(steps: list[int], of_window: bool) -> None:
    """The whole and an oldest part of it, of lists, after any number of rows has gone."""
    at = [0]

    def asked_of(total: Any, old: Any) -> bool:
        assert total.all == list(range(total.all[0], total.all[-1] + 1))
        assert old.all == total.all[: len(old.all)]
        at[0] = total.all[-1]
        return len(old.all) <= steps[at[0]]

    def of_rest(window: Any) -> bool:
        assert window.all == list(range(window.all[0], window.all[-1] + 1))
        return len(window.all) > steps[window.all[-1]]

    policy = of_rest if of_window else asked_of
    query = sliding(until=policy, all=Collect("i"))
    made = query(pa.table({"i": range(len(steps))})).column("all").to_pylist()
    held: list[int] = []
    for i, step in enumerate(steps):
        held.append(i)
        held = held[max(0, len(held) - step) :] if of_window else held[step:]
        assert (made[i] or []) == held


# -- every aggregation -------------------------------------------------------------------------

COMPILED = [
    each
    for each in AGGREGATIONS
    if each.algebra("float64") is not None and not isinstance(each.result, dict)
]


def takes_others(aggregation: Aggregation, kind: str) -> bool:
    """Whether an aggregation takes other values than numbers of the kind."""
    return aggregation.takes == "boolean" or (aggregation.takes == "integer" and kind != "int")


TIMES = {
    "seconds": pa.array(range(200), pa.int64()),
    "fractions": pa.array(np.arange(200) / 4, pa.float64()),
    "times": pa.array(np.arange(200) * 10**6, pa.timestamp("us", "UTC")),
    "nulls": pa.array([None if i % 7 == 3 else i * 10**3 for i in range(200)], pa.timestamp("ms")),
    "days": pa.array(np.arange(200, dtype=np.int32), pa.date32()),
}


@pytest.mark.parametrize("at", TIMES)
@pytest.mark.parametrize(
    "aggregation", [EWMByTime("v", "at", halflife=3), Rate("v", "at")], ids=["EWMByTime", "Rate"]
)
def test_times_are_nanoseconds_in_compiled_code(aggregation: Any, at: str) -> None:
    """As in the interpreter, beside another result of the same column."""

    def above(window: Any) -> bool:
        return window.x is not None and bool(window.x > 2)

    results = {"x": aggregation, "n": Count(), "last": Last("at"), "all": Collect("i")}
    table = pa.table(
        {
            "k": np.repeat([0, 1], 100),
            "v": np.random.default_rng(4).integers(0, 9, 200).astype(float),
            "i": range(200),
            "at": TIMES[at],
        }
    )
    hidden = sliding(results, partition_by="k", until=Hidden(above))
    wanted, way = windows_of(hidden, table)
    assert way == "interpreted"
    found, way = windows_of(sliding(results, partition_by="k", until="x > 2"), table)
    assert way == "compiled"
    assert found == wanted
    assert len({len(each or ()) for each in found}) > 2


def test_times_of_arrays_are_nanoseconds_in_compiled_code() -> None:
    values = np.random.default_rng(4).normal(3, 2, 300)
    at = np.datetime64("2026-01-01", "ms") + np.cumsum(np.arange(300) % 9 * 250)

    def above(window: float) -> bool:
        return window > 3

    def rolled(policy: Any) -> Any:
        return rolling((values, at), EWMByTime(halflife=2), until=policy)

    np.testing.assert_array_equal(rolled(above), rolled(Hidden(above)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("aggregation", COMPILED, ids=identified)
def test_every_aggregation_is_seen_as_in_the_interpreter(
    aggregation: Aggregation, kind: str
) -> None:
    """A policy that goes by the last digits, so that whatever differs leaves other windows."""
    if takes_others(aggregation, kind):
        pytest.skip("it takes no such values")
    part = copy.copy(aggregation)
    part.columns = ("v", "i")[: part.arity]

    def digits(total: Any, old: Any) -> bool:
        return int(total.x * 1e6) % 3 == 1 or int(old.x * 1e6) % 7 == 2

    results = {"x": part, "all": Collect("i")}
    query = sliding(results, partition_by="k", until=digits)
    if query.explain(table_of([(0, 1 if kind == "int" else 0.5)])).count("compiled; where") == 0:
        pytest.skip("it does not compile")
    random = np.random.default_rng(7)
    for nulls in (0.0, 0.2):
        values = random.integers(1, 999, 200) / (1 if kind == "int" else 64.0)
        rows = [(int(k), v.item()) for k, v in zip(random.integers(0, 3, 200), values, strict=True)]
        table = table_of(rows)
        null = pa.array(random.random(200) < nulls)
        table = table.set_column(2, "v", pc.if_else(null, None, table["v"]))
        hidden = sliding(results, partition_by="k", until=Hidden(digits))
        try:
            wanted = windows_of(hidden, table)[0]
        except (TypeError, ValueError, OverflowError):  # of nulls, and of what is no number
            continue
        made, way = windows_of(query, table)
        assert made == wanted
        assert nulls or way == "compiled"
