"""PBA compiled: its second thread, by rows, by time, by slide, and from batch to batch."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, wait
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from tests.forks import in_a_child
from windrow import Concat, HyperLogLog, Max, MomentSketch, RollingState, Sum, aggregation, rolling
from windrow.algorithms.pba import Pba
from windrow.algorithms.sba import Cuts
from windrow.kernels import stream_loop
from windrow.kernels.loops import pba as pba_loop
from windrow.kernels.loops import protocol

AFFINE = aggregation(  # neither commutative nor selective: what is out of order shows
    lift=lambda v: (v % 7 + 1, v % 5),
    combine=lambda f, g: (f[0] * g[0] % 101, (g[0] * f[1] + g[1]) % 101),
    lower=lambda f: f[0] * 1000 + f[1],
)


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[Future[None]]:
    """What the second thread was asked for."""
    asked: list[Future[None]] = []
    workers = stream_loop.workers()

    class Pool:
        def submit(self, *work: Any) -> Future[None]:
            asked.append(workers.submit(*work))
            return asked[-1]

    monkeypatch.setattr(stream_loop, "workers", Pool)
    return asked


def in_batches(values: Any, sizes: Iterable[int], at: Any = None, **options: Any) -> list[Any]:
    """The results of batches of such sizes, again and again, and of what is left at the end."""
    state, got, a = RollingState(), [], 0
    while a < len(values):
        for size in sizes:
            here = slice(a, a + size)
            times = {} if at is None else {"at": at[here]}
            got += rolling(values[here], state=state, **times, **options).tolist()
            a += size
    return got + state.finish().tolist()


@pytest.mark.parametrize("w", [1022, 1023, 1500, 4000])
@pytest.mark.parametrize("sizes", [(5, 300, 1), (1000, 2600), (9000,)])
def test_rows_in_two_threads(w: int, sizes: tuple[int, ...], helpers: list[Any]) -> None:
    values = np.random.default_rng(w).integers(0, 1000, 9000)
    expected = rolling(values, AFFINE, rows=w).tolist()
    assert in_batches(values, sizes, aggregation=AFFINE, rows=w, algorithm="pba") == expected
    assert helpers


def times_with_bursts() -> Any:
    """Ever denser times, a gap longer than any window, many equal ones, and few again."""
    dense = np.cumsum(np.random.default_rng(1).exponential(np.geomspace(3, 0.01, 6000)))
    gaps = dense[-1] + 5000 + np.cumsum(np.repeat([0, 40.0], 500))
    sparse = gaps[-1] + np.arange(1, 3001) * 1.5
    return np.concatenate([dense, gaps, np.full(1500, gaps[-1] + 1), sparse])


@pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])
@pytest.mark.parametrize("kind", ["numbers", "times"])
def test_time_in_two_threads(closed: str, kind: str, helpers: list[Any]) -> None:
    at = times_with_bursts()
    sizes: list[Any] = [0.5, 20.0, 900.0, 10_000.0]
    if kind == "times":
        at = np.datetime64("1969-12-31T23:30", "ns") + (at * 1e9).astype("m8[ns]")
        sizes = [f"{size} s" for size in sizes]
    values = np.random.default_rng(2).integers(0, 1000, at.size)
    for size in sizes:
        options: dict[str, Any] = {"range": size, "closed": closed, "aggregation": AFFINE}
        got = rolling(values, at=at, algorithm="pba", **options)
        np.testing.assert_array_equal(got, rolling(values, at=at, **options))
    assert helpers


def test_strings_by_time_are_cut_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the interpreter as well: by half of the range, however many values that is."""
    at = np.array([0, 1, 2, 3, 11, 12, 13, 20, 21, 34, 35])
    values = np.array(list("abcdefghijk"))
    closed: list[int] = []
    closing = Pba._closing

    def noted(swag: Pba, states: list[Any], aggregate: Any) -> Any:
        closed.append(len(states))
        return closing(swag, states, aggregate)

    monkeypatch.setattr(Pba, "_closing", noted)
    options: dict[str, Any] = {"aggregation": Concat(), "range": 20, "at": at}
    got = rolling(values, algorithm="pba", **options).tolist()
    assert got == rolling(values, **options).tolist()
    assert closed == [4, 3, 2], "0 … 9, 10 … 19, 20 … 29"


@pytest.mark.parametrize("sizes", [(1, 700, 16), (4000,)])
def test_batches_by_time_have_the_same_bits(sizes: tuple[int, ...]) -> None:
    at = times_with_bursts()
    values = np.random.default_rng(3).lognormal(size=at.size)
    options: dict[str, Any] = {"aggregation": Sum(), "range": 900.0, "algorithm": "pba"}
    whole = rolling(values, at=at, **options).tolist()
    assert in_batches(values, sizes, at, **options) == whole


@pytest.mark.parametrize("sketch", [HyperLogLog(precision=4), MomentSketch(order=3)], ids=repr)
def test_sketches_in_two_threads(sketch: Any, helpers: list[Any]) -> None:
    values = np.random.default_rng(4).integers(0, 10_000, 6000)
    options: dict[str, Any] = {"aggregation": sketch, "rows": 1100}
    got = rolling(values, algorithm="pba", **options).tolist()
    expected = rolling(values, **options).tolist()
    assert helpers
    if isinstance(sketch, MomentSketch):
        for one, other in zip(got, expected, strict=True):
            assert (one.count, one.maximum) == (other.count, other.maximum)
            np.testing.assert_allclose(one.sums, other.sums)
    else:
        assert got == expected
        assert in_batches(values, (100, 1999), algorithm="pba", **options) == expected


def test_a_small_batch_does_no_chunk_again(helpers: list[Any]) -> None:
    """The second thread is asked for once a chunk, not once a batch."""
    values, w = np.random.default_rng(5).normal(size=1 << 15), 1 << 13
    whole = rolling(values, Max(), rows=w, algorithm="pba").tolist()
    helpers.clear()
    assert in_batches(values, (16,), aggregation=Max(), rows=w, algorithm="pba") == whole
    assert len(helpers) == (values.size - 1) // (w // 2 + 1)


@pytest.mark.parametrize("w", [1, 2, 3, 1100, 1101])
def test_the_loop_makes_three_combinations_a_row(w: int) -> None:
    """Its text, run by the interpreter with functions that count: in the caller's thread."""
    counted: Counter[int] = Counter()

    def plus(a: Any, b: Any, into: Any) -> Any:
        counted[threading.get_ident()] += 1
        return max(a, b)

    def claimed(progress: list[int], i: int, number: int) -> bool:
        with lock:
            progress[i] += (free := progress[i] == number)
        return free

    lock = threading.Lock()
    functions = {
        "window": lambda r, row, w, lo, hi: (max(0, r + 1 - w), r + 1),
        "lift": lambda columns, nulls, j, position, into: columns[0][j],
        "combine": plus,
        "slot": lambda buffer, i: None,
        "load": lambda buffer, i: buffer[i],
        "store": list.__setitem__,
        "keep": list.__setitem__,
        "emit": lambda out, valid, i, state: out.append(state),
        "published": lambda progress, i: progress[i],
        "publish": list.__setitem__,
        "claimed": claimed,
        "let_others_run": lambda: time.sleep(0),
    }
    loop = dict(vars(pba_loop))
    for each in (*vars(protocol).values(), *vars(pba_loop).values()):
        if isinstance(each, FunctionType):
            loop[each.__name__] = FunctionType(each.__code__, loop, each.__name__)
    loop |= functions
    values = np.random.default_rng(w).integers(0, 10**6, 4 * w + 50)
    progress, cursors = [0] * 40, [0] * 16
    cursors[2], cursors[pba_loop.HELPED] = w, 1
    cursors[pba_loop.EDGE] = cursors[pba_loop.STEP] = Cuts.by_rows(w).step
    buffers = [[0] * w, [0] * 4, progress, np.empty(0, np.int64)]
    helper = [*cursors[: pba_loop.HELPS], 1, *cursors[pba_loop.HELPS + 1 :]]
    second = threading.Thread(target=loop["run"], args=(*[0] * 8, helper, *buffers, [], []))
    second.start()
    out: list[int] = []
    costs = []
    for r in range(values.size):
        before = counted[threading.get_ident()]
        loop["run"](r, r + 1, 0, w, 0, 0, (values,), 0, cursors, *buffers, out, [])
        costs.append(counted[threading.get_ident()] - before)
        while progress[pba_loop.DONE] + progress[pba_loop.MINE] < progress[pba_loop.JOBS]:
            time.sleep(0)  # or the caller does what is not yet begun
    progress[pba_loop.OVER] = 1
    second.join(30)
    assert out == rolling(values, Max(), rows=w).tolist()
    assert max(costs) <= 3
    if w > 1000:
        assert sum(costs) < 2.4 * len(costs) < sum(counted.values()) < 4.2 * len(costs)


@pytest.mark.parametrize("algorithm", ["auto", "sba", "pba", "daba"])
@pytest.mark.parametrize(("rows", "slide"), [(10, 3), (10, 10), (4000, 7), (4001, 1300), (7, 1)])
def test_a_result_after_every_slide(algorithm: str, rows: int, slide: int) -> None:
    values = np.random.default_rng(rows).integers(0, 1000, 9001)
    options: dict[str, Any] = {"aggregation": AFFINE, "rows": rows, "algorithm": algorithm}
    expected = rolling(values, AFFINE, rows=rows)[slide - 1 :: slide].tolist()
    assert rolling(values, slide=slide, **options).tolist() == expected
    assert in_batches(values, (1, 17, 4000), slide=slide, **options) == expected


def test_what_the_second_thread_raises_is_raised(helpers: list[Any]) -> None:
    largest = aggregation(
        lift=lambda v: v, combine=lambda a, b: max(a, b) + 0 // (a - 7 * b), lower=lambda s: s
    )
    values = np.full(9000, 100)
    values[[0, 700]] = 5000, 700  # 700 is 7 times what is behind it, but not what is before
    options: dict[str, Any] = {"aggregation": largest, "rows": 3000, "algorithm": "pba"}
    with pytest.raises(ZeroDivisionError):
        rolling(values, **options)
    helpers.clear()
    state = RollingState()

    def roll_on() -> None:
        for a in (0, 1000, 2000):
            rolling(values[a : a + 1000], state=state, **options)
            wait(helpers)

    with pytest.raises(ZeroDivisionError):  # by the call in which the chunk is closed, or the next
        roll_on()
    (helper,) = helpers
    assert isinstance(helper.exception(), ZeroDivisionError)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_and_a_copy_go_on() -> None:
    """The second thread may be at work when a process is forked, or a state copied."""
    values = np.random.default_rng(6).normal(size=1 << 18)
    options: dict[str, Any] = {"aggregation": Max(), "rows": 1 << 16, "algorithm": "pba"}
    expected = rolling(values, **options)
    first, rest = values[: 1 << 17], values[1 << 17 :]
    state = RollingState()
    rolling(first, state=state, **options)
    copies = [copy.deepcopy(state), pickle.loads(pickle.dumps(state))]

    def work() -> Iterable[str]:
        return map(str, rolling(rest, state=state, **options).tolist())

    in_child = in_a_child(lambda: [str(hash(tuple(work())))])
    assert in_child == [str(hash(tuple(work())))]
    for each in copies:
        got = rolling(rest, state=each, **options)
        np.testing.assert_array_equal(got, expected[1 << 17 :])
