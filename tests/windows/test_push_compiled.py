"""Windows of numbers that are compiled: the same results, whenever and however that happens."""

from __future__ import annotations

import contextlib
import copy
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from tests.catalogue import AGGREGATIONS, identified
from tests.examples import examples
from windrow import Count, Max, Mean, Sum, Variance, rolling, window
from windrow.algorithms import ALGORITHMS
from windrow.kernels import push as compiled
from windrow.windows import pushed_numbers, pushed_rows
from windrow.windows.base import written
from windrow.windows.instants import instant, number_of_times_like
from windrow.windows.pushed_numbers import is_numeric

NUMERIC = [each for each in AGGREGATIONS if is_numeric(each)]
LOOPS = [name for name in ALGORITHMS if compiled.has_loop(name, Sum())]


def first(few: Any, items: list[Any]) -> list[Any]:
    """All items, of which those that are not among the few are slow: each compiles a loop."""
    return [item if item in few else pytest.param(item, marks=pytest.mark.slow) for item in items]


every_loop = pytest.mark.parametrize("algorithm", first(("two_stacks", "daba"), LOOPS))
rng = np.random.default_rng(7)
FLOATS = [float(v) for v in rng.normal(0, 1e3, 150)] + [0.1, -0.0, 1e300, 1e300, 3.5] * 3
INTS = [int(v) for v in rng.integers(-50, 50, 150)]
TIMES = [int(t) for t in np.cumsum(rng.integers(0, 3, 200))]


@pytest.fixture(autouse=True)
def not_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """No window is compiled sooner because another test has the loop."""
    monkeypatch.setattr(pushed_numbers, "_ready", set())


def pushed(w: Any, values: list[Any], timed: bool) -> list[Any]:
    """Push each value; return the results."""
    at = TIMES if timed else [None] * len(values)
    return [w.push(v) if t is None else w.push(v, at=t) for v, t in zip(values, at, strict=False)]


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal, of the same type, NaN to itself and 0 to its sign."""
    return repr(a) == repr(b)


def runs(w: Any) -> str:
    return str(w.explain().splitlines()[-1])


@pytest.mark.parametrize(
    ("extent", "values"),
    [
        ({"rows": 7}, FLOATS),
        ({"range": 5, "closed": "right"}, INTS),
        *(
            pytest.param(extent, values, marks=pytest.mark.slow)
            for extent in ({"rows": 1}, {"rows": 7}, {"range": 5})
            for values in (FLOATS, INTS)
        ),
    ],
    ids=lambda part: "-".join(written(part)) if isinstance(part, dict) else type(part[0]).__name__,
)
@pytest.mark.parametrize(
    "aggregation", first((Max(), Mean(), Variance(), Count()), NUMERIC), ids=identified
)
def test_a_window_that_is_compiled_on_the_way_answers_as_before(
    aggregation: Any, extent: dict[str, Any], values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `auto`, with nulls, bit for bit."""
    values = [None if i % 11 == 3 else v for i, v in enumerate(values)]
    timed = "range" in extent
    interpreted = window(aggregation, **extent)
    expected = pushed(interpreted, values, timed)
    assert "in the interpreter" in runs(interpreted)
    monkeypatch.setattr(pushed_numbers, "PUSHES", 20)
    w = window(aggregation, **extent)
    results = pushed(w, values, timed)
    assert runs(w).startswith("compiled")
    wrong = [i for i, pair in enumerate(zip(results, expected, strict=True)) if not same(*pair)]
    assert not wrong, (wrong[0], results[wrong[0]], expected[wrong[0]])
    assert same(w.query(), interpreted.query())
    assert len(w) == len(interpreted)


@pytest.mark.parametrize("rows", [1, 7, 64])
@every_loop
def test_results_are_those_of_rolling_bit_for_bit(algorithm: str, rows: int) -> None:
    """Of a variance, which shows in which order floats were put together."""
    values, aggregation = FLOATS, Variance(ddof=0)
    expected = rolling(np.array(values), aggregation, rows=rows, algorithm=algorithm)
    w = window(aggregation, rows=rows, algorithm=algorithm)
    first = w.push_many(values[:10])
    rest = [w.push(v) for v in values[10:30]]
    last = w.push_many(np.array(values[30:]))
    assert runs(w).startswith("compiled")
    got = np.concatenate([first, rest, last])
    assert got.dtype == expected.dtype
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("extent", [{"rows": 37}, {"range": 37}], ids=["rows", "range"])
@every_loop
def test_floats_are_compiled_on_the_way_where_they_are_rounded_alike(
    algorithm: str, extent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others stay in the interpreter, unless they are compiled from the first value on."""
    timed = "range" in extent
    values = [float(v) for v in rng.normal(1e3, 1e2, len(TIMES))]
    expected = pushed(window(Variance(ddof=0), algorithm=algorithm, **extent), values, timed)
    monkeypatch.setattr(pushed_numbers, "PUSHES", 20)
    w = window(Variance(ddof=0), algorithm=algorithm, **extent)
    assert pushed(w, values, timed) == expected
    compiles = algorithm not in pushed_numbers.OTHER_BITS
    assert runs(w).startswith("compiled") == compiles


@given(
    steps=st.lists(st.tuples(st.sampled_from([0, 0, 1, 2, 9]), st.integers(0, 3)), max_size=60),
    size=st.integers(1, 9),
    closed=st.sampled_from(["both", "right"]),
    unit=st.sampled_from(["datetime", "datetime64", "int", "float"]),
)
@examples(60)
def test_a_range_by_one_or_by_many(
    steps: list[tuple[int, int]], size: int, closed: str, unit: str
) -> None:
    """Values of equal time do not see each other before they are pushed."""
    times = np.cumsum([step for step, _ in steps], dtype=np.int64)
    start = datetime(2026, 1, 1)
    at: Any = {
        "datetime": [start + timedelta(seconds=int(t)) for t in times],
        "datetime64": np.datetime64(start, "s") + times,
        "int": times,
        "float": times / 4,
    }[unit]
    extent = {"int": size, "float": size / 4}.get(unit, f"{size} s")
    values = np.arange(len(steps)) * 1.5
    one = window({"n": Count(), "max": Max(), "sum": Sum()}, range=extent, closed=closed)
    many = window({"n": Count(), "max": Max(), "sum": Sum()}, range=extent, closed=closed)
    expected = [one.push(v, at=t) for v, t in zip(values, at, strict=True)]
    assert runs(one).startswith("in the interpreter")
    results, done = [], 0
    for _, more in steps:
        here = slice(done, done + more)
        if more == 1 and done < len(steps):
            results.append(many.push(values[done], at=at[done]))
        else:
            arrays = many.push_many(values[here], at=at[here])
            results += [
                dict(zip(arrays, row, strict=True)) for row in zip(*arrays.values(), strict=True)
            ]
        done = min(done + more, len(steps))
    assert results == expected[:done]
    assert (many.query(), len(many)) == (
        (expected[done - 1], expected[done - 1]["n"]) if done else (many.query(), 0)
    )


@pytest.mark.parametrize("other", [7, "x", None, 2**70, True], ids=repr)
@pytest.mark.parametrize("aggregation", [Max(), Count()], ids=repr)
def test_another_type_of_value_brings_the_interpreter_back(aggregation: Any, other: Any) -> None:
    twin, w = window(aggregation, rows=5), window(aggregation, rows=5)
    w.push_many(np.array(FLOATS[:30]))
    for value in FLOATS[:30]:
        twin.push(value)
    for value in (1.5, other, 2.5, other, 1.0, 0.5):
        try:
            expected = twin.push(value)
        except windrow.errors.InvalidValue as error:
            with pytest.raises(type(error)):
                w.push(value)
            assert runs(w).startswith("compiled")
        else:
            assert same(w.push(value), expected)
        assert (len(w), w.query()) == (len(twin), twin.query())
        w._check()


@pytest.mark.parametrize("value", [2**62, -(2**63), 2**60])
def test_integers_that_a_loop_could_not_hold_are_added_exactly(value: int) -> None:
    twin, w = window({"s": Sum(), "m": Mean()}, rows=3), window({"s": Sum(), "m": Mean()}, rows=3)
    w.push_many([1, 2, 3])
    for small in (1, 2, 3):
        twin.push(small)
    for each in (value, value, 5, value):
        assert same(w.push(each), twin.push(each))


def test_a_late_value_is_refused_and_changes_nothing() -> None:
    w = window(Max(), range=5)
    w.push_many([1.0, 2.0], at=[1, 4])
    with pytest.raises(windrow.errors.InvalidValue, match="at=3 is before the newest time, 4"):
        w.push(9.0, at=3)
    with pytest.raises(windrow.errors.InvalidValue, match="at=3 is before the newest time, 5"):
        w.push_many([7.0, 9.0], at=[5, 3])
    assert (w.query(), len(w)) == (7.0, 3), "those before it were pushed"
    times = window(Max(), range="1 h")
    times.push_many([1.0], at=np.array(["2026-01-01T12:00"], "M8[m]"))
    with pytest.raises(
        windrow.errors.InvalidValue, match=r"newest time, datetime.*\(2026, 1, 1, 12"
    ):
        times.push(9.0, at=datetime(2026, 1, 1))
    with pytest.raises(windrow.errors.InvalidArgument, match="push_many: at has 1 times for 2"):
        w.push_many([7.0, 9.0], at=[5])
    with pytest.raises(windrow.errors.InvalidArgument, match="range= needs each value's time"):
        w.push_many([7.0])


def test_a_null_result_is_told_as_rolling_tells_it() -> None:
    values = np.ma.MaskedArray([1, 2, 3], [True, True, False])
    assert window(Max(), rows=2).push_many(values).tolist() == [None, None, 3]
    w = window(Variance(), rows=2)
    assert np.isnan(w.push_many([1.0, 2.0])[0])
    w = window(Variance(), rows=2)
    w.push_many(np.empty(0))
    assert runs(w).startswith("compiled")
    assert [w.push(v) for v in (None, 1.0, 2.0, None, None)] == [None, None, 0.5, None, None]


def test_what_does_not_compile_has_arrays_of_results_as_well() -> None:
    assert window(windrow.Collect(), rows=2).push_many("ab").tolist() == [["a"], ["a", "b"]]
    assert window(Max(), rows=2).push_many([1, 2.5, "x"][:2]).tolist() == [1, 2.5]
    assert window(Max(), rows=2).push_many("bac").tolist() == ["b", "b", "c"]
    assert window(Max(), rows=2).push_many(v for v in (1, 3)).tolist() == [1, 3]
    assert window(Max(), on=lambda v: v > 2).push_many([1, 3]).tolist() == [None, 3]
    rows = [{"load": 1}, {"load": 3}]
    assert window({"peak": Max("load")}, rows=2).push_many(rows)["peak"].tolist() == [1, 3]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_a_compiled_window_is_copied_and_pickled(copied: Any) -> None:
    w = window({"max": Max(), "n": Count()}, rows=9)
    w.push_many(FLOATS[:40])
    other = copied(w)
    assert [w.push(v) for v in FLOATS[40:80]] == [other.push(v) for v in FLOATS[40:80]]
    assert w.query() == other.query()


def test_infinities_and_nan_leave_the_window_again() -> None:
    inf, nan = float("inf"), float("nan")
    values = [1.0, inf, 2.0, -inf, nan, 1e308, 1e308, 1e308, 5.0, 6.0, 7.0, 8.0]
    for aggregation in (Sum(), Mean(), Max()):
        twin, w = window(aggregation, rows=3), window(aggregation, rows=3)
        w.push_many(np.empty(0))
        for value in values:
            expected = twin.push(value)
            got = w.push(value)
            assert same(got, expected), (aggregation, value, got, expected)


def test_the_first_pushes_load_nothing_heavy() -> None:
    code = (
        "import sys; from windrow import Mean, window;"
        "w = window(Mean(), rows=5); [w.push(float(i)) for i in range(100)];"
        "print([m for m in ('numpy', 'numba') if m in sys.modules], w.explain().splitlines()[-1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    then = f"compiled after {pushed_numbers.PUSHES:,} numbers of a type, or by push_many"
    assert done.stdout.strip() == f"[] in the interpreter; {then}"


def test_a_loop_that_is_there_is_taken_sooner() -> None:
    window(Max(), rows=9).push_many(np.empty(0))
    windows = window(Max(), rows=3, partition_by=True)
    for i in range(pushed_numbers.PUSHES_IF_READY + 1):
        windows.push(float(i), key="many")
        windows.push(float(i % 7), key="few" if i < 50 else "others")
    assert [runs(w).split()[0] for w in windows.values()] == ["compiled,", "in", "in"]


@pytest.mark.parametrize("extent", [{"rows": 4}, {"range": 6}], ids=["rows", "range"])
@pytest.mark.parametrize("step", ["push", "push_many", "query"])
def test_what_is_interrupted_is_not_done(
    step: str, extent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the first of two aggregations has taken the value, and the second one not."""

    def interrupt(*_: Any) -> Any:
        patched.undo()
        raise KeyboardInterrupt

    def act() -> None:
        if step == "push":
            w.push(1e9, **at(TIMES[50]))
        elif step == "push_many":
            w.push_many([1e9, 2e9], **at([TIMES[50], TIMES[51]]))
        else:
            w.query(at=TIMES[50] + 3)

    def at(times: Any) -> dict[str, Any]:
        return {"at": times} if "range" in extent else {}

    if step == "query" and "rows" in extent:
        pytest.skip("it does not go by time")
    w, twin = (window({"max": Max(), "n": Count()}, **extent) for _ in range(2))
    for each in (w, twin):
        each.push_many(FLOATS[:50], **at(TIMES[:50]))
    with monkeypatch.context() as patched:
        last: Any = w._numbers.loop._parts[1]  # type: ignore[attr-defined]
        patched.setattr(last, "kernel", interrupt)
        with pytest.raises(KeyboardInterrupt):
            act()
    assert (w.query(), len(w)) == (twin.query(), len(twin))
    for i in range(50, 90):
        assert w.push(FLOATS[i], **at(TIMES[i])) == twin.push(FLOATS[i], **at(TIMES[i]))


def test_a_push_whose_result_is_lost_is_undone() -> None:
    """Somebody interrupts it when the loop has taken the value."""

    class Interrupted(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            entry = super().get(key, default)
            if key is None:  # many values, as when it is undone
                return entry

            def run(*arguments: Any) -> None:
                entry.run(*arguments)
                raise KeyboardInterrupt

            return SimpleNamespace(run=run)

    w, twin = window(Sum(), range=6), window(Sum(), range=6)
    for each in (w, twin):
        each.push_many(FLOATS[:50], at=TIMES[:50])
        each.push(FLOATS[50], at=TIMES[50])
    (part,) = w._numbers.loop._parts  # type: ignore[attr-defined]
    kernels, part._kernels = part._kernels, Interrupted(part._kernels)
    with pytest.raises(KeyboardInterrupt):
        w.push(1e9, at=TIMES[51] + 5)
    part._kernels = kernels
    assert (w.query(), len(w)) == (twin.query(), len(twin))
    assert [w.push(FLOATS[i], at=TIMES[i]) for i in range(51, 90)] == [
        twin.push(FLOATS[i], at=TIMES[i]) for i in range(51, 90)
    ]


MADE: dict[str, Any] = {
    "datetime": lambda ns: datetime(1970, 1, 1) + timedelta(microseconds=ns // 1000),
    "zoned": lambda ns: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1000),
    "Berlin": lambda ns: MADE["zoned"](ns).astimezone(ZoneInfo("Europe/Berlin")),
    "datetime64[ns]": lambda ns: np.datetime64(ns, "ns"),
    "datetime64[s]": lambda ns: np.datetime64(ns // 10**9, "s"),
    "Timestamp": pd.Timestamp,
    "zoned Timestamp": lambda ns: pd.Timestamp(ns, tz="Asia/Tokyo"),
    "Timestamp[s]": lambda ns: pd.Timestamp(ns // 10**9, unit="s").as_unit("s"),
    "int": int,
    "int64": np.int64,
    "float": lambda ns: ns / 1e9,
}


@given(st.lists(st.integers(-(2**61), 2**61), min_size=2, max_size=2, unique=True))
@examples(30)
def test_the_number_of_a_time_found_quickly_is_that_found_slowly(times: list[int]) -> None:
    for make in MADE.values():
        first, second = map(make, sorted(times))
        assert number_of_times_like(first)(second) == instant(second)[1]


@pytest.mark.parametrize("name", MADE)
def test_times_of_one_type_take_the_short_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One compiled call, and no look at what a time may be; another kind is refused as ever."""
    number = name.startswith(("int", "float"))
    w = window(Count(), range=10**10 if number else "10 s")
    at = [MADE[name](10**18 + second * 10**9) for second in range(4)]
    w.push_many([1.0], at=at[:1])
    w.push(1.0, at=at[1])
    with monkeypatch.context() as patched:
        patched.setattr(pushed_rows, "instant", None)
        assert w.push(1.0, at=at[2]) == 3
    for other in (datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), 10**30):
        with contextlib.suppress(windrow.errors.InvalidValue):
            w.push(1.0, at=other)
            assert instant(other)[0] == instant(at[0])[0]
    with pytest.raises(windrow.errors.InvalidValue, match="is before the newest time"):
        w.push(1.0, at=at[0])


@pytest.mark.parametrize("closed", ["both", "right"])
def test_any_number_of_values_leaves_at_once(closed: str) -> None:
    w = window({"n": Count(), "max": Max()}, range=5000, closed=closed)
    w.push_many(np.arange(20000.0), at=np.arange(20000))
    times = list(range(20000))
    for gap in (1, 2, 1, 900, 4095, 0, 50000):
        times.append(times[-1] + gap)
        oldest = times[-1] - 5000
        expected = sum(t >= oldest if closed == "both" else t > oldest for t in times)
        assert w.push(-1.0, at=times[-1])["n"] == len(w) == expected


@pytest.mark.parametrize("first", ["push", "push_many"])
def test_times_of_another_type_bring_the_interpreter_back(first: str) -> None:
    w, twin = window(Count(), range=2), window(Count(), range=2)
    if first == "push":
        w.push_many(np.empty(0), at=np.empty(0))
        w.push(1.0, at=10)
    else:
        w.push_many([1.0], at=[10])
    twin.push(1.0, at=10)
    for at in (11, 12.5, 12.75, 13, 2**70):
        assert w.push(1.0, at=at) == twin.push(1.0, at=at)
    assert runs(w) == "in the interpreter"


def test_what_cannot_be_compiled_stays_in_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise windrow.errors.Unsupported("Max() does not compile")

    monkeypatch.setattr(pushed_numbers, "PUSHES", 3)
    monkeypatch.setattr(compiled, "push_loop_of", refuse)
    w = window(Max(), rows=2)
    assert [w.push(v) for v in (5.0, 4.0, 3.0, 2.0, 1.0)] == [5, 5, 4, 3, 2]
    assert w.push_many([7.0]).tolist() == [7]
    assert runs(w) == "in the interpreter"
