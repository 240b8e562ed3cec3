"""KLL, TDigest, HLL and Theta: within the library's own bounds, and the same on every path."""

from __future__ import annotations

import sys
from typing import Any

import datasketches
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from windrow import (
    HLL,
    KLL,
    Aggregation,
    Quantile,
    TDigest,
    Theta,
    aggregator,
    rolling,
    sliding,
    sql,
    window,
)
from windrow.aggregations.datasketches import _library
from windrow.errors import InvalidArgument, InvalidValue, Unsupported
from windrow.kernels.routes import traced
from windrow.stores import MemoryStore

RNG = np.random.default_rng(20)
N = 4000
VALUES = {
    "normal": RNG.normal(size=N),
    "few": RNG.integers(0, 5, N).astype(float),
    "heavy tails": RNG.standard_cauchy(N),
    "rising": np.arange(N, dtype=float),
}
SHARES = (0.01, 0.25, 0.5, 0.9, 0.999)
EVERY = [KLL("x", q=0.5), TDigest("x", q=0.5), HLL("x"), Theta("x")]
every = pytest.mark.parametrize("agg", EVERY, ids=repr)


def rank_errors(estimates: Any, values: Any, rows: int, share: float) -> Any:
    """How far the share lies from the ranks of an estimate, 0 between them, in each window."""
    off = []
    for i, estimate in enumerate(estimates):
        held = values[max(0, i + 1 - rows) : i + 1]
        below, upto = np.mean(held < estimate), np.mean(held <= estimate)
        off.append(max(0.0, below - share, share - upto))
    return np.array(off)


# -- how good they are -----------------------------------------------------------------------


@pytest.mark.parametrize("name", VALUES)
def test_kll_keeps_the_bound_of_the_library(name: str) -> None:
    values, rows = VALUES[name], 1500
    bound = datasketches.kll_doubles_sketch.get_normalized_rank_error(200, False)
    made = rolling(values, KLL(q=SHARES), rows=rows)
    for share, estimates in zip(SHARES, made.T, strict=True):
        off = rank_errors(estimates, values, rows, share)[::7]
        # the library's bound holds with 99 % confidence for each window
        assert np.mean(off > bound) <= 0.05, share
        assert off.max() <= 3 * bound, share


@pytest.mark.parametrize("name", VALUES)
def test_a_t_digest_is_nearly_exact_at_the_ends(name: str) -> None:
    values, rows = VALUES[name], 1500
    made = rolling(values, TDigest(q=SHARES), rows=rows)
    for share, estimates in zip(SHARES, made.T, strict=True):
        most = 0.05 * (share * (1 - share)) ** 0.5 + 2 / rows
        off = rank_errors(estimates, values, rows, share)[rows::7]
        if name != "few":  # between equal values it answers what lies between two of them
            assert off.max() <= most, share


@pytest.mark.parametrize("agg", [HLL(), HLL(lg_k=8), Theta(), Theta(lg_k=8)], ids=repr)
@pytest.mark.parametrize("kind", ["integers", "floats", "text"])
def test_distinct_counts_lie_within_three_standard_errors(agg: Any, kind: str) -> None:
    values: Any = RNG.integers(0, 3000, N)
    if kind == "floats":
        values = values / 8
    if kind == "text":
        values = np.array([f"plug {v}" for v in values], object)
    rows, step = 2500, 250
    made = rolling(values, agg, rows=rows)
    error = (1.04 if isinstance(agg, HLL) else 1.0) / 2 ** (agg.lg_k / 2)
    for i in range(step, N, step):
        exact = len(set(values[max(0, i + 1 - rows) : i + 1].tolist()))
        assert abs(made[i] - exact) <= 3.5 * error * exact + 1, i


def test_the_library_says_the_same_of_the_sketch_that_is_answered() -> None:
    values = RNG.integers(0, 10**6, N)
    made = rolling(values, HLL(sketch=True), rows=1000)[-1]
    sketch = datasketches.hll_sketch.deserialize(made)
    assert sketch.get_lower_bound(3) <= len(set(values[-1000:])) <= sketch.get_upper_bound(3)
    assert round(sketch.get_estimate()) == rolling(values, HLL(), rows=1000)[-1]
    made = rolling(values.astype(float), KLL(sketch=True), rows=1000)[-1]
    kll = datasketches.kll_doubles_sketch.deserialize(made)
    assert (kll.n, kll.k) == (1000, 200)


@pytest.mark.parametrize("agg", [KLL(q=SHARES), KLL(q=0.5, k=64)], ids=repr)
def test_kll_is_exact_in_short_windows(agg: Any) -> None:
    values = np.round(VALUES["normal"], 1)
    exact = Quantile(q=agg.q, interpolation="inverted_cdf")
    assert np.array_equal(rolling(values, agg, rows=60), rolling(values, exact, rows=60))


# -- everywhere ------------------------------------------------------------------------------


def frame(n: int = 600) -> pa.Table:
    ts = np.cumsum(RNG.integers(0, 3, n))
    x = RNG.integers(0, 40, n).astype(float)
    return pa.table({"k": RNG.integers(0, 3, n), "ts": ts, "x": pa.array(x, mask=x == 7)})


def oracle(agg: Any, held: list[float]) -> Any:
    """What a window of few values has: no estimate."""
    held = sorted(v for v in held if v is not None)
    if isinstance(agg, KLL | TDigest):
        if not held:
            return None
        exact = Quantile(
            q=agg.q, interpolation="inverted_cdf" if isinstance(agg, KLL) else "higher"
        )
        return exact.lower(exact.fold(map(exact.lift, held)))
    return len(set(held))


@every
def test_rows_and_ranges_of_every_frame(agg: Any) -> None:
    table = frame()
    for window_ in ({"rows": 25}, {"range": 20}, {"rows": (-5, 5)}, {"range": 30, "slide": 10}):
        query = sliding(partition_by="k", order_by="ts", out=agg, **window_)
        with traced() as ran:
            made = query(table)
        assert {way for _, way in ran} == {"bulk"}
        assert made.equals(query(pl.from_arrow(table)).to_arrow().cast(made.schema))
        assert query(table.to_pandas())["out"].equals(made.to_pandas()["out"])
    rows = table.to_pylist()
    made = sliding(partition_by="k", order_by="ts", rows=25, out=agg)(table)["out"].to_pylist()
    for i in range(0, len(rows), 23):
        held = [r["x"] for r in rows[: i + 1] if r["k"] == rows[i]["k"]][-25:]
        assert made[i] == pytest.approx(oracle(agg, held)), i


@every
def test_a_window_that_is_pushed_to(agg: Any) -> None:
    values = RNG.integers(0, 30, 300).astype(float)
    plain = type(agg)(**agg.parameters())
    pushed = window(plain, rows=40)
    stored = window(plain, rows=40, store=MemoryStore())
    rolled = rolling(values, plain, rows=40)
    for value, wanted in zip(values.tolist(), rolled, strict=True):
        assert pushed.push(value) == stored.push(value) == wanted


@every
def test_hopping_windows_by_slices_and_by_rows_of_states(agg: Any) -> None:
    """A window of slices is the window of its rows; few values are exact."""
    table = frame(2000).select(["ts", "x"])
    query = sliding(order_by="ts", range=60, slide=20, out=agg)
    made = query(table).to_pylist()
    for row in made[::9]:
        held = [
            r["x"] for r in table.to_pylist() if row["window_start"] <= r["ts"] < row["window_end"]
        ]
        assert row["out"] == pytest.approx(oracle(agg, held))
    stream = query.stream()
    out = [a.value["out"] for row in table.to_pylist() for a in stream.push(row, at=row["ts"])]
    assert out == [row["out"] for row in made][: len(out)] and len(out) > 90


@every
def test_sketches_are_merged(agg: Any) -> None:
    """Sketches of parts, made here or elsewhere, are values of their own."""
    table = frame(1500).select(["ts", "x"])
    kind = type(agg)
    parts = sliding(order_by="ts", range=20, slide=20, s=kind("x", sketch=True))(table)
    options = {"q": agg.q} if isinstance(agg, KLL | TDigest) else {}
    whole = sliding(order_by="window_end", rows=3, out=kind("s", merge=True, **options))(parts)
    wanted = sliding(order_by="ts", range=60, slide=20, out=agg)(table)
    found = dict(zip(whole["window_end"].to_pylist(), whole["out"].to_pylist(), strict=True))
    for end, out in zip(wanted["window_end"].to_pylist(), wanted["out"].to_pylist(), strict=True):
        if end in found:
            assert found[end] == out


@every
def test_nulls_nan_and_nothing(agg: Any) -> None:
    table = pa.table({"x": pa.array([None, None, 1.0, None, float("nan")])})
    made = sliding(rows=2, out=agg)(table)["out"].to_pylist()
    if isinstance(agg, KLL | TDigest):  # NaN is left out
        assert made == [None, None, 1.0, 1.0, None]
    else:
        assert made == [0, 0, 1, 1, 1]
    empty = sliding(rows=2, out=agg)(table.slice(0, 0))
    assert empty.num_rows == 0


def test_pandas_series_and_threads() -> None:
    values = pd.Series(VALUES["normal"])
    assert np.array_equal(
        rolling(values, TDigest(q=0.5), rows=100, threads=2),
        rolling(VALUES["normal"], TDigest(q=0.5), rows=100),
    )


# -- SQL and words ---------------------------------------------------------------------------


def test_the_names_of_sql() -> None:
    known = {
        "APPROX_PERCENTILE(x, 0.9)": KLL("x", q=0.9),
        "PERCENTILE_APPROX(x, ARRAY(0.5, 0.9))": KLL("x", q=(0.5, 0.9)),
        "APPROX_MEDIAN(x)": KLL("x", q=0.5),
        "APPROX_QUANTILE(x, 0.9)": TDigest("x", q=0.9),
        "KLL(x, 0.9, k => 400)": KLL("x", q=0.9, k=400),
        "KLL_SKETCH_AGG_DOUBLE(x)": KLL("x", sketch=True),
        "KLL_SKETCH_AGG_DOUBLE(x, 100)": KLL("x", k=100, sketch=True),
        "KLL_MERGE_AGG_DOUBLE(x)": KLL("x", merge=True, sketch=True),
        "HLL_SKETCH_AGG(x, 14)": HLL("x", lg_k=14, sketch=True),
        "HLL_UNION_AGG(x)": HLL("x", merge=True, sketch=True),
        "THETA_SKETCH_AGG(x)": Theta("x", sketch=True),
        "THETA_UNION_AGG(x)": Theta("x", merge=True, sketch=True),
        "THETA(x)": Theta("x"),
    }
    for text, wanted in known.items():
        query = sql(f"SELECT {text} AS out FROM s [ROWS 9]")
        assert query.parts["out"] == wanted, text
        assert sql(query.sql()) == query, text


def test_it_explains_itself() -> None:
    told = sliding(rows=1000, out=KLL("x", q=0.5)).explain()
    assert "bulk: blocks of rows go to a library's sketches, which Two-Stacks merges" in told
    hopping = sliding(order_by="ts", range="1 hour", slide="1 minute", out=KLL("x", q=0.5))
    assert "Spark aggregates the slices" in hopping.explain()


def test_mistakes_are_told_before_anything_runs() -> None:
    for call, said in (
        (lambda: KLL("x"), "give q=0.5"),
        (lambda: KLL("x", q=1.5), "q must be from 0 to 1"),
        (lambda: KLL("x", q=0.5, k=7), "8 to 65535"),
        (lambda: HLL("x", lg_k=22), "4 to 21"),
        (lambda: Theta("x", lg_k=4), "5 to 26"),
        (lambda: HLL("x", merge=1), "True or False"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            call()
    times = pa.table({"x": pa.array([1, 2], pa.timestamp("us"))})
    with pytest.raises(InvalidValue, match="takes a column of numbers or strings"):
        sliding(rows=2, out=HLL("x"))(times)
    with pytest.raises(InvalidValue, match="takes a column of sketches"):
        sliding(rows=2, out=KLL("x", q=0.5, merge=True))(pa.table({"x": [1.0]}))
    with pytest.raises(InvalidValue, match="is no kll sketch"):
        sliding(rows=2, out=KLL("x", q=0.5, merge=True))(pa.table({"x": [b"nonsense"]}))
    swag = aggregator(HLL())
    with pytest.raises(InvalidValue, match="integers of 64 bits"):
        swag.insert(2**63)
    assert swag.query() == 0


@pytest.mark.parametrize("cls", [KLL, TDigest, HLL, Theta])
def test_without_the_library(cls: type[Aggregation], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    _library.cache_clear()
    try:
        with pytest.raises(Unsupported, match=r"pip install 'windrow\[sketches\]'"):
            cls("x", sketch=True)  # type: ignore[call-arg]
        with pytest.raises(Unsupported, match=r"KLL needs datasketches"):
            sql("SELECT APPROX_PERCENTILE(x, 0.5) AS p FROM s [ROWS 9]")
    finally:
        _library.cache_clear()
