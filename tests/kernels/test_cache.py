"""Generated modules on disk: found by other processes, and safe when many start at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

OWN = """
import warnings, sys
import numpy as np
from windrow import aggregation, rolling, Max, ArgMax, Sum
warnings.simplefilter("error")
SCALE = 3
spread = aggregation(
    lift=lambda v: (v * SCALE, v * SCALE),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
values = np.random.default_rng(0).normal(size=2000)
answers = [rolling(values, spread, rows=50),
           rolling(values, ArgMax(), rows=50, algorithm="two_stacks"),
           rolling(values, Sum(), rows=50, algorithm="daba")]
print(*(repr(float(a.sum())) for a in answers))
from windrow.kernels import cache
print(*(sum(run.stats.cache_hits.values()) for run in cache.loaded.values()))
"""


def start(cache: Path, numba_cache: Path) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "WINDROW_CACHE_DIR": str(cache),
        "PYTHONHASHSEED": "random",
        "NUMBA_CACHE_DIR": str(numba_cache),
    }
    return subprocess.Popen(
        [sys.executable, "-c", OWN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, list[int]]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    answers, hits = out.splitlines()
    return answers, [int(hit) for hit in hits.split()]


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first, before = finish(start(tmp_path / "a", tmp_path / "n"))
    second, after = finish(start(tmp_path / "a", tmp_path / "n"))
    assert first == second
    assert before == [0, 0, 0]
    assert after == [1, 1, 1]


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_may_start_at_once_on_an_empty_cache(tmp_path: Path, count: int) -> None:
    processes = [start(tmp_path / "a", tmp_path / "n") for _ in range(count)]
    answers = {finish(process)[0] for process in processes}
    assert len(answers) == 1
    again, hits = finish(start(tmp_path / "a", tmp_path / "n"))
    assert {again} == answers
    assert hits == [1, 1, 1]
    assert not list((tmp_path / "a").glob("*.tmp"))


def test_a_cache_that_cannot_be_written_is_replaced(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    answers, _ = finish(start(blocked, tmp_path / "n"))
    assert answers


@pytest.mark.parametrize("variable", ["WINDROW_CACHE_DIR", "XDG_CACHE_HOME"])
def test_where_the_cache_is(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from windrow.kernels.cache import cache_dir

    monkeypatch.delenv("WINDROW_CACHE_DIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "here"))
    where = cache_dir()
    assert where.is_dir()
    assert where == (
        tmp_path / "here" if variable.startswith("W") else tmp_path / "here" / "windrow"
    )
