"""`rolling` over windows that a function decides about, and such windows with a slide."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.kernels.test_policies import Hidden
from tests.streams.feeding import Stream, plan_of
from windrow import ArgMax, Collect, Count, Last, Max, Mean, RollingState, Sum, rolling, sliding
from windrow import window as push_window
from windrow.errors import InvalidArgument
from windrow.kernels.routes import traced
from windrow.tables.bind import bind
from windrow.tables.walk import Walk

PARTS = {"s": Sum(), "last": Last(), "n": Count(), "high": Max()}
POLICIES: dict[str, Any] = {
    "compiled": lambda total, old: total.s - old.s + old.last > 10,
    "interpreted": Hidden(lambda total, old: total.s - old.s + old.last > 10),
    "of the window": lambda window: window.high > 3 and window.n > 2,
}
VALUES = st.lists(st.integers(-3, 6), max_size=40)
CUTS = st.lists(st.integers(0, 40), max_size=4)


def batches(values: list[Any], cuts: list[int]) -> list[Any]:
    edges = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    return [np.array(values[a:b], np.int64) for a, b in pairwise(edges)]


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_over_arrays_is_that_of_pushes(name: str) -> None:
    @examples(20)
    @given(values=VALUES, cuts=CUTS)
    def check(values: list[int], cuts: list[int]) -> None:
        policy = POLICIES[name]
        pushed = push_window(PARTS, until=policy)
        wanted = [pushed.push(value) for value in values]
        made = rolling(np.array(values, np.int64), PARTS, until=policy)
        columns = {name: plain(array) for name, array in made.items()}
        assert columns == {name: [each[name] for each in wanted] for name in PARTS}
        state, parts = RollingState(), []
        for batch in batches(values, cuts):
            parts.append(rolling(batch, PARTS, until=policy, state=state))
        for part in PARTS:
            assert [x for each in parts for x in plain(each[part])] == plain(made[part])

    check()


def plain(array: Any) -> list[Any]:
    return list(np.ma.MaskedArray(array).tolist())


@examples(20)
@given(values=VALUES, cuts=CUTS)
def test_punctuation_over_arrays_is_that_of_pushes(values: list[int], cuts: list[int]) -> None:
    pushed = push_window(Sum(), on=lambda v: v > 3)
    wanted = [pushed.push(value) for value in values]
    made = rolling(np.array(values, np.int64), Sum(), on=lambda v: v > 3)
    assert plain(made) == wanted
    state = RollingState()
    parts = [rolling(b, Sum(), on=lambda v: v > 3, state=state) for b in batches(values, cuts)]
    assert [x for part in parts for x in plain(part)] == wanted


def test_one_aggregation_is_seen_as_it_is() -> None:
    values = np.array([2.0, 2.0, 3.0, 3.0, 4.0])
    with traced() as ran:
        assert rolling(values, Sum(), until=lambda s: s > 10).tolist() == [2, 4, 7, 10, 10]
    assert ran[0][1] == "compiled"
    pairs = rolling((values, np.arange(5)), ArgMax(), until=lambda total, old: old < total)
    assert pairs.tolist() == [0, 0, 2, 2, 4]
    words = np.array(["a", "bb", "c"], object)
    assert rolling(words, Collect(), until=lambda w: len(w) > 2).tolist() == [
        ["a"], ["a", "bb"], ["bb", "c"],
    ]  # fmt: skip


def test_nulls_are_in_the_window_and_have_no_value() -> None:
    values = np.array([1.0, np.nan, 2.0, 9.0])
    made = rolling(values, {"s": Sum(), "n": Count()}, until=lambda w: w.s > 10, nan="null")
    assert made["n"].tolist() == [1, 2, 3, 1]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"until": 3}, "until=3 must be a function"),
        ({"on": "v > 3"}, "on='v > 3' must be a function of a value"),
        ({"until": bool, "algorithm": "daba"}, "algorithm= goes with rows= and range=, not with"),
        ({"on": bool, "lateness": 3}, "lateness= goes with rows= and range=, not with on="),
        ({"until": bool, "at": np.array([1])}, "at= goes with range="),
    ],
)
def test_what_does_not_go_together(given: Any, problem: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        rolling(np.array([1]), Sum(), **given)
    assert problem in str(caught.value)


# -- with a slide ----------------------------------------------------------------------------


def slid(window: dict[str, Any], table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    """The results of a table, of sorted rows in pieces, and of a stream."""
    query = sliding(
        partition_by="k", order_by="ts", n=Count(), s=Sum("v"), all=Collect("i"), **window
    )
    bound = bind(query, table.schema)
    ordered = table.sort_by([("k", "ascending"), ("ts", "ascending")])
    edges = [0, *sorted(min(cut, table.num_rows) for cut in cuts), table.num_rows]
    walk = Walk(bound, piece=1)
    pieces = [ordered.slice(a, b - a) for a, b in pairwise(edges)]
    walked = pa.concat_tables(
        [ordered.slice(0, 0), *walk.run(iter(pieces))], promote_options="default"
    )
    stream = Stream(plan_of(query, schema=table.schema))
    for a, b in pairwise(edges):
        stream.push(table.slice(a, b - a))
        stream.restart(cold=False)
    return [
        each.sort_by("i").select(["i", "n", "s", "all"])
        for each in (query(table), walked, stream.finish())
    ]


@examples(25)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=40),
    slide=st.integers(1, 5),
    cuts=CUTS,
    kind=st.sampled_from(["until", "on"]),
)
def test_a_slide_leaves_results_out_and_changes_none(
    rows: Any, slide: int, cuts: list[int], kind: str
) -> None:
    n = len(rows)
    table = pa.table(
        {
            "i": np.arange(n),
            "k": pa.array([k for k, _ in rows], pa.int64()),
            "ts": pa.array(10**15 + np.arange(n) * 10**6, pa.timestamp("us", "UTC")),
            "v": pa.array([v for _, v in rows], pa.int64()),
        }
    )
    wanted, held, count = [], {}, {}
    for i, (k, v) in enumerate(rows):
        window = held.setdefault(k, [])
        window.append((i, v))
        count[k] = count.get(k, 0) + 1
        if kind == "until":
            while sum(v for _, v in window) > 10:
                window.pop(0)
            due = count[k] % slide == 0
        else:
            due = v == 5 or len(window) % slide == 0
        if due:
            wanted.append((i, len(window), [i for i, _ in window] or None))
        if kind == "on" and v == 5:
            held[k] = []
    decided = {"until": lambda window: window.s > 10} if kind == "until" else {"on": "v = 5"}
    for made in slid({**decided, "slide": slide}, table, cuts):
        found = zip(*(made[name].to_pylist() for name in ("i", "n", "all")), strict=True)
        assert list(found) == wanted


def test_a_slide_must_be_a_number_of_rows() -> None:
    for decided in ({"until": "n > 3"}, {"on": "v = 5"}):
        with pytest.raises(InvalidArgument, match="slide must be a whole number, got '1 minute'"):
            sliding(**decided, slide="1 minute", n=Count())
    assert "a result after every 3 rows" in sliding(until="n > 3", slide=3, n=Count()).explain()
    assert "and up to every 3 rows of them" in sliding(on="v = 5", slide=3, n=Mean("v")).explain()
