"""`windrow warm`: what has been warmed is not compiled again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.conftest import PEAK, Command
from windrow.cli import warm

# Runs a query, and tells how many functions were compiled for it.
RUN = """
import sys
from numba.core import event
from windrow.cli.app import run
with event.install_recorder("numba:compile") as compiled:
    code = run(sys.argv[1:])
print(code, len(compiled.buffer))
"""


def process(*arguments: str, cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WINDROW_CACHE_DIR": str(cache)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", [("--function", "max"), (PEAK, "--schema", "ts TIMESTAMP, plug_id INT, load DOUBLE")]
)
def test_a_query_after_it_compiles_nothing(
    files: Path, tmp_path: Path, what: tuple[str, ...]
) -> None:
    cache, out = tmp_path / "cache", str(tmp_path / "out.csv")
    query = ("run", PEAK, "-i", f"plugs={files / 'plugs.csv'}", "--local", "-o", out)
    told = json.loads(process("-m", "windrow", "warm", *what, "--json", cache=cache))
    assert told["functions"] > 5 and Path(told["cache"]).parent == cache
    assert process("-c", RUN, *query, cache=cache).split() == ["0", "0"]
    cold = process("-c", RUN, *query, cache=tmp_path / "other").split()
    assert cold[0] == "0" and int(cold[1]) > 5


# Pushes a number through a window, and tells how many functions were compiled for it.
PUSH = """
from datetime import datetime
from numba.core import event
from windrow import Max, window
with event.install_recorder("numba:compile") as compiled:
    for kind in (float, int):
        by_rows, by_time = window(Max(), rows=9), window(Max(), range="1 hour")
        by_rows.push_many([kind(3)])
        by_rows.push(kind(4))
        by_time.push_many([kind(3)], at=[datetime(2026, 1, 1)])
        by_time.push(kind(4), at=datetime(2026, 1, 1))
print(by_time.explain().count("compiled"), len(compiled.buffer))
"""


@pytest.mark.slow
def test_a_push_after_it_compiles_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    process("-m", "windrow", "warm", "--function", "max", cache=cache)
    assert process("-c", PUSH, cache=cache).split() == ["1", "0"]
    cold = process("-c", PUSH, cache=tmp_path / "other").split()
    assert cold[0] == "1" and int(cold[1]) > 5


def test_an_aggregation_is_run_over_what_it_takes(
    windrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bits of integers, booleans and texts: no column of another type is tried."""
    seen: list[Any] = []
    pushed: list[Any] = []
    monkeypatch.setattr(warm, "_run", lambda query, columns: seen.append(query))
    monkeypatch.setattr(warm, "_push", lambda part: pushed.append(part))
    arguments = [word for name in ("bit_and", "any", "concat", "max") for word in ("-f", name)]
    assert windrow("warm", *arguments).code == 0
    columns = {repr(query.aggregations[0][1]) for query in seen}
    wanted = {"BitAnd('count')", "Any('flag')", "Concat('name')", "Max('load')", "Max('count')"}
    assert columns == wanted == {repr(part) for part in pushed}


def test_it_runs_every_window_over_every_type(
    windrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(warm, "_run", lambda query, columns: seen.append(query))
    monkeypatch.setattr(warm, "_push", lambda part: None)
    done = windrow("warm", "-f", "median", "-f", "argmax")
    assert done.code == 0 and "compiling MEDIAN: 0 functions" in done.err
    assert "0 functions compiled in " in done.err
    assert len(seen) == len({repr(query) for query in seen}) == 2 * 2 * 2 * 3
    seen.clear()
    assert windrow("warm").code == 0
    names = {type(query.aggregations[0][1]).__name__ for query in seen}
    assert names == {"Count", "Sum", "Mean", "Min", "Max", "StdDev"}


def test_the_columns_of_a_query_are_guessed_or_given(
    windrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(warm, "_run", lambda query, columns: seen.append((query, columns)))
    assert windrow("warm", PEAK.replace("load", "load * factor")).code == 0
    types = {field.name: str(field.type) for field in seen[0][1]}
    assert types == {
        "factor": "double",
        "load": "double",
        "plug_id": "int64",
        "ts": "timestamp[us, tz=UTC]",
    }
    ddl = "ts TIMESTAMP_NTZ, plug_id STRING, load DECIMAL(10, 2), day DATE, raw BINARY, on BOOLEAN"
    assert windrow("warm", PEAK, "--schema", ddl).code == 0
    query, columns = seen[1]
    for nulls in (False, True):
        table = warm._table(query, columns, 50, nulls)
        assert table.schema == columns and table.num_rows == 50
        assert (table["load"].null_count > 0) == nulls and table["ts"].null_count == 0
        assert isinstance(query(table), pa.Table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-f", "maxx"), "did you mean 'MAX'?"),
        (("-f", "percentile"), "give a query that has it"),
        (("--schema", "a INT"), "--schema is that of queries"),
        ((PEAK, "--schema", "ts TIMESTAMP"), "partition_by='plug_id'"),
        (("SELECT",), "SELECT"),
    ],
)
def test_mistakes_are_told(windrow: Command, arguments: tuple[str, ...], message: str) -> None:
    done = windrow("warm", *arguments)
    assert done.code == 2 and message in done.err and "Traceback" not in done.err


def test_without_a_cache_there_is_nothing_to_warm(
    windrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "cache_dir", lambda: None)
    done = windrow("warm")
    assert done.code == 1 and "set WINDROW_CACHE_DIR" in done.err
