"""A function is known by what it does: its code, its constants, and what it calls."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.streams.feeding import plan_of
from windrow import Count, Sum, aggregation, aggregator, sliding
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument
from windrow.identity import digest_of
from windrow.stores import MemoryStore

TEXT = """
import functools, math
SCALE = {scale}
TABLE = {{"a": [1, {entry}], "b": {{3, 4}}}}
def helper(v, times={times}):
    return v * SCALE {sign} times
def lift(v):
    return [helper(x) for x in (v, math.sqrt(v))], TABLE
def spoken(v):
    return 0 if v < 1 else spoken(v - 1) + helper(v)
class Scaled:
    step = {step}
    def __init__(self, factor): self.factor = factor
    def __call__(self, v): return v * self.factor + self.step
    def method(self, v): return helper(v) + self.factor
def closed(n):
    return lambda v: v + n
PARTIAL = functools.partial(helper, times=5)
"""
PLAIN: dict[str, Any] = {"scale": 2, "entry": 7, "times": 3, "sign": "+", "step": 1}
CHANGES = [{"scale": 9}, {"entry": 9}, {"times": 9}, {"sign": "-"}, {"step": 9}]
THINGS = {
    "lift": ["scale", "entry", "times", "sign"],
    "spoken": ["scale", "times", "sign"],
    "PARTIAL": ["scale", "times", "sign"],
    "Scaled(2)": ["step", "scale", "times", "sign"],  # its method calls the helper
    "Scaled(2).method": ["step", "scale", "times", "sign"],
    "closed(3)": [],
}


def things(**changed: Any) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(TEXT.format(**{**PLAIN, **changed}), scope)
    return {name: eval(name, scope) for name in THINGS}


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("name", THINGS)
def test_a_digest_changes_with_what_is_used_and_with_nothing_else(
    name: str, change: dict[str, Any]
) -> None:
    (what,) = change
    before, same, after = (things(**given)[name] for given in ({}, {}, change))
    assert digest_of(before) == digest_of(same)
    assert (digest_of(before) != digest_of(after)) == (what in THINGS[name])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (things()["closed(3)"], lambda v: v - 3),
        (functools.partial(max, 1), functools.partial(max, 2)),
        (functools.partial(max, 1), functools.partial(min, 1)),
        (1, 1.0),
        (1, True),
        ("1", 1),
        ((1, 2), [1, 2]),
        (0.0, -0.0),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (np.float64(1), np.float32(1)),
        (Decimal("1.0"), Decimal("1.00")),
        (re.compile("a"), re.compile("b")),
        ({1, 2}, {1, 3}),
        ({"a": 1}, {"b": 1}),
        (len, sum),
        (np.add, np.multiply),
        (np.linalg.norm, np.linalg.det),
        ([], [[]]),
        (MappingProxyType({"a": 1}), MappingProxyType({"a": 2})),
    ],
)
def test_different_things(one: Any, other: Any) -> None:
    assert digest_of(one) != digest_of(other)


def test_sets_have_no_order() -> None:
    names = [f"name {i}" for i in range(50)]
    backwards = names[::-1]
    assert digest_of(set(names)) == digest_of(set(backwards))


def test_what_contains_itself_ends() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert digest_of(loop) != digest_of([1, [1]])


def test_what_cannot_be_digested_asks_for_a_name() -> None:
    with pytest.raises(InvalidArgument, match="name="):
        digest_of(things()["closed(3)"].__class__ and (v for v in range(3)))


def test_a_digest_is_the_same_in_another_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    told = "".join(f"\nprint(digest_of({name}))" for name in THINGS)
    program.write_text(
        TEXT.format(**PLAIN) + textwrap.dedent("from windrow.identity import digest_of") + told
    )
    runs = [
        subprocess.run(
            [sys.executable, str(program)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].split())) == len(THINGS)


# -- aggregations, windows and queries ---------------------------------------------------------


def add(a: float, b: float) -> float:
    return a + b


def larger(a: float, b: float) -> float:
    return max(a, b)


def times(factor: float, v: float) -> float:
    return factor * v


def own(combine: Any = add, lift: Any = float, **options: Any) -> Aggregation:
    return aggregation("v", lift=lift, combine=combine, lower=float, **options)


class Total(Sum):
    """A class of the user's own."""


QUERIES: list[tuple[Any, Any]] = [
    (lambda: own(), lambda: own(larger)),
    (lambda: own(), lambda: own(lambda a, b: a + b)),
    (lambda: own(lambda a, b: a + b), lambda: own(lambda a, b: a - b)),
    (
        lambda: own(lift=functools.partial(times, 2.0)),
        lambda: own(lift=functools.partial(times, 3.0)),
    ),
    (lambda: own(lift=things()["Scaled(2)"]), lambda: own(lift=things(step=9)["Scaled(2)"])),
    (lambda: own(name="spread"), lambda: own(name="spread", version=2)),
    (lambda: own(name="spread"), lambda: own(name="other")),
    (lambda: Sum("v"), lambda: Total("v")),
]


@pytest.mark.parametrize(("one", "other"), QUERIES)
def test_aggregations_are_known_by_their_functions(one: Any, other: Any) -> None:
    assert one().fingerprint == one().fingerprint != other().fingerprint
    first, same, changed = (sliding(rows=3, order_by="t", x=make()) for make in (one, one, other))
    assert first.fingerprint == same.fingerprint != changed.fingerprint
    assert " at 0x" not in first.fingerprint


def test_a_name_stands_for_the_functions() -> None:
    before, after = own(name="spread", version=1), own(larger, name="spread", version=1)
    assert before.fingerprint == after.fingerprint


@pytest.mark.parametrize("argument", ["until", "on"])
def test_queries_are_known_by_the_functions_of_their_windows(argument: str) -> None:
    def query(function: Any) -> str:
        return sliding(**{argument: function}, order_by="t", n=Count()).fingerprint  # type: ignore[no-any-return]

    arguments = "total, old" if argument == "until" else "row"
    one, same, other = (
        eval(f"lambda {arguments}: {text}", {"__name__": "__main__"}) for text in ("1", "1", "0")
    )
    assert query(one) == query(same) != query(other)


@pytest.mark.parametrize(("one", "other"), QUERIES)
def test_a_window_in_a_store_is_not_opened_as_another(one: Any, other: Any) -> None:
    store = MemoryStore()
    with aggregator(one(), "amta", store=store) as swag:
        swag.insert({"v": 4.0})
    with aggregator(one(), "amta", store=store) as swag:
        assert len(swag) == 1
    with pytest.raises(InvalidArgument, match="cannot be opened as"):
        aggregator(other(), "amta", store=store)


@pytest.mark.parametrize(("one", "other"), QUERIES)
def test_the_state_of_a_stream_belongs_to_its_functions(one: Any, other: Any) -> None:
    schema = pa.schema([("t", pa.timestamp("us")), ("v", pa.float64())])

    def identity(make: Any) -> bytes:
        return plan_of(sliding(rows=3, order_by="t", x=make()), schema=schema).identity(1)[0]

    assert identity(one) == identity(one) != identity(other)
