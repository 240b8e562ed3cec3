"""ADWIN: the windows of its paper, against a histogram kept in lists, and the same everywhere."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.streams.feeding import Stream, plan_of
from windrow import Adwin, Collect, Count, Mean, RollingState, rolling, sliding, window
from windrow.errors import InvalidArgument, InvalidValue


class Reference:
    """ADWIN2 as its paper has it: buckets as lists of values, the newest row of buckets first."""

    def __init__(self, delta: float, most: int) -> None:
        self.delta, self.most = delta, most
        self.rows: list[list[list[float]]] = [[]]  # of each size, the oldest bucket first

    def push(self, value: float) -> int:
        self.rows[0].append([value])
        for level, row in enumerate(self.rows):
            if len(row) > self.most:
                if level + 1 == len(self.rows):
                    self.rows.append([])
                self.rows[level + 1].append(row.pop(0) + row.pop(0))
        gone = 0
        while self.differs():
            gone += len(self.rows[-1].pop(0))
            if not self.rows[-1]:
                self.rows.pop()
        return gone

    def differs(self) -> bool:
        buckets = [bucket for row in reversed(self.rows) for bucket in row]
        values = [value for bucket in buckets for value in bucket]
        n = len(values)
        variance = sum((v - sum(values) / n) ** 2 for v in values) / n
        at = 0
        for bucket in buckets[:-1]:
            at += len(bucket)
            old, new = values[:at], values[at:]
            share = 1 / len(old) + 1 / len(new)
            chance = math.log(2 / (self.delta / math.log(n)))
            bound = math.sqrt(2 * share * variance * chance) + 2 / 3 * share * chance
            if abs(sum(old) / len(old) - sum(new) / len(new)) >= bound:
                return True
        return False


def lengths_of(values: list[float | None], delta: float, most: int) -> list[int]:
    """How many rows each window holds; a row without a value is in it, and goes with others."""
    reference, held, lengths = Reference(delta, most), [], []
    for value in values:
        held.append(value)
        if value is not None:
            gone = reference.push(value)
            while gone:
                gone -= held.pop(0) is not None
                while not gone and held[0] is None:
                    held.pop(0)
        lengths.append(len(held))
    return lengths


LEVELS = st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 40)), min_size=1, max_size=5)
NOISE = st.lists(st.one_of(st.integers(0, 8), st.none()), min_size=1, max_size=7)
DELTAS = st.sampled_from([0.002, 0.1, 0.9])


def series(levels: list[tuple[int, int]], noise: list[int | None]) -> list[float | None]:
    """Multiples of 1/8, whose sums are exact, with some nulls."""
    at = (level for level, n in levels for _ in range(n))
    added = (noise[i % len(noise)] for i in range(10**6))
    return [None if x is None else level + x / 8 for level, x in zip(at, added, strict=False)]


@examples(60)
@given(levels=LEVELS, noise=NOISE, delta=DELTAS, most=st.sampled_from([2, 5]))
def test_windows_are_those_of_the_paper(levels: Any, noise: Any, delta: float, most: int) -> None:
    values = series(levels, noise)
    policy = Adwin(delta=delta, buckets=most)
    wanted = lengths_of(values, delta, most)
    floats = np.array([np.nan if v is None else v for v in values])
    assert rolling(floats, Count(), until=policy).tolist() == wanted
    pushed = window({"n": Count()}, until=policy)
    assert [pushed.push(value).n for value in values] == wanted


@examples(20)
@given(
    levels=LEVELS, noise=NOISE, seed=st.integers(0, 99),
    cuts=st.lists(st.integers(0, 150), max_size=6),
)  # fmt: skip
def test_windows_are_the_same_in_tables_streams_and_batches_of_arrays(
    levels: Any, noise: Any, seed: int, cuts: list[int]
) -> None:
    """Of numbers that are rounded, and of several keys."""
    random = np.random.default_rng(seed)
    values = [None if v is None else v * random.random() for v in series(levels, noise)]
    n = len(values)
    table = pa.table(
        {
            "i": np.arange(n),
            "k": random.integers(0, 2, n),
            "ts": pa.array(10**15 + np.arange(n) * 10**6, pa.timestamp("us", "UTC")),
            "v": pa.array(values, pa.float64()),
        }
    )
    policy = Adwin("v * 2", delta=0.3)
    query = sliding(partition_by="k", order_by="ts", until=policy, n=Count(), all=Collect("i"))
    made = query(table)
    stream = Stream(plan_of(query, schema=table.schema))
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    for begin, end in pairwise(edges):
        stream.push(table.slice(begin, end - begin))
        stream.restart(cold=False)
    assert stream.finish().sort_by("i").column("all").equals(made.column("all"))
    for key in (0, 1):
        own = table.filter(pa.array(table["k"].to_numpy() == key))
        counts = made["n"].to_numpy()[made["k"].to_numpy() == key]
        state, found = RollingState(), []
        for begin, end in pairwise(edges):
            piece = own.slice(begin, end - begin)["v"].combine_chunks()
            doubled = np.array([np.nan if v is None else 2 * v for v in piece.to_pylist()])
            found += rolling(doubled, Count(), until=Adwin(delta=0.3), state=state).tolist()
        assert found == counts.tolist()[: len(found)]


def test_a_push_that_is_refused_leaves_the_window_as_it_was() -> None:
    policy = Adwin(delta=0.5)
    whole, broken = window(Mean(), until=policy), window(Mean(), until=policy)
    for value in [0.0] * 50 + [9.0] * 30:
        with pytest.raises(InvalidValue, match="takes numbers, not str 'x'"):
            broken.push("x")
        assert broken.push(value) == whole.push(value)
    assert len(broken) == len(whole) < 80


def test_mistakes_are_told() -> None:
    with pytest.raises(InvalidArgument, match="delta=2 must be between 0 and 1"):
        Adwin(delta=2)
    with pytest.raises(InvalidArgument, match="buckets"):
        Adwin(buckets=1)
    with pytest.raises(InvalidArgument, match=r"until=Adwin\(\) names no column"):
        sliding(until=Adwin(), n=Count())
    query = sliding(until=Adwin("name"), n=Count())
    with pytest.raises(InvalidValue, match=r"until=Adwin\('name'\) takes numbers, not string"):
        query(pa.table({"name": ["a"]}))
    with pytest.raises(InvalidValue, match="takes numbers"):
        rolling(np.array(["a", "b"]), Count(), until=Adwin())


def test_it_prints_as_it_is_written() -> None:
    query = sliding(until=Adwin("v", delta=0.01), n=Count())
    assert repr(query) == "sliding(until=Adwin('v', delta=0.01), n=Count())"
    assert "policy     Adwin('v', delta=0.01), compiled\n" in query.explain()
    assert query == sliding(until=Adwin("v", delta=0.01), n=Count())
