"""The soak: what comes, what is recalculated, what is called flat, and a short run of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")

from bench.soak.check import COLUMNS, compare, expected, is_sampled
from bench.soak.report import is_right, markdown, summary, svg, verdicts
from bench.soak.rows import LATENESS, LONG, PERIOD, Workload, is_stuck
from windrow import ArgMax, Count, Max, Sum, sliding

ROOT = Path(__file__).parents[2]
SMALL = Workload(keys=2000, rows=200)


def test_rows_are_late_only_in_floods_and_the_watermark_is_stuck_where_it_says() -> None:
    newest, marks = 0, []
    for batch in range(2 * LONG):
        at = SMALL.rows_of(batch)["ts"].cast(pa.int64()).to_numpy()
        assert np.sum(at < newest - LATENESS) == SMALL.late_rows(batch)
        newest = max(newest, int(at.max(initial=0)))
        marks.append(newest - LATENESS)
    moved = np.diff(marks)
    stuck = np.array([is_stuck(batch) for batch in range(1, 2 * LONG)])
    assert moved[stuck].max() == 0 < 30 * 10**6 < np.median(moved[~stuck])
    sizes = {SMALL.rows_of(batch).num_rows for batch in range(PERIOD)}
    assert sizes == {0, 200, 1200, 2000}


def test_keys_come_and_go_and_are_all_there_in_the_end() -> None:
    seen = [set(SMALL.rows_of(batch)["key"].to_pylist()) for batch in range(10 * PERIOD)]
    assert not seen[0] & seen[PERIOD]
    assert len(set().union(*seen)) > 0.9 * SMALL.keys


def test_recalculation_gives_what_a_table_does_where_no_key_is_idle() -> None:
    batches = PERIOD // 2  # of one cohort, for ten minutes at most
    rows = pa.concat_tables(SMALL.rows_of(batch) for batch in range(batches) if batch % PERIOD != 9)
    rows = rows.filter(pa.array(is_sampled(rows["key"].to_numpy())))
    last = sliding(
        partition_by="key", order_by="ts", rows=8,
        n=Count(), total=Sum("value"), high=Max("value"), worst=ArgMax("value", "id"),
    )  # fmt: skip
    compared, problems = compare([last(rows)], expected(SMALL, batches - 1, 1 << 62))
    assert compared == rows.num_rows > 50
    assert problems == []


def test_what_is_lost_doubled_or_wrong_is_told() -> None:
    right = list(expected(SMALL, 3, 1 << 62))
    table = pa.table(list(zip(*right, strict=True)), COLUMNS)
    assert compare([table], right) == (len(right), [])
    assert compare([table.slice(1)], right)[1] == [f"lost: {right[0]}"]
    assert compare([table, table.slice(0, 1)], right)[1] == [f"doubled: {right[0]}"]
    assert compare([table], right[1:])[1] == [f"too many: {right[0]}"]
    wrong = table.set_column(2, "n", pa.array([99, *table["n"].to_pylist()[1:]]))
    (problem,) = compare([wrong], right)[1]
    assert problem.startswith("wrong: ") and problem.endswith(str(right[0]))


def raw(batches: int, growth: int) -> dict[str, Any]:
    """A run in which the largest worker grows by so many bytes in each micro-batch."""
    each = [
        {"batch": n, "seconds": 1.0, "rows": 5, "late": 0, "store_bytes": 1 << 20,
         "store_entries": 3, "load": 1.5, "workers": 2, "python_bytes": 400 << 20,
         "largest_worker": (200 << 20) + n * growth, "java_bytes": 1 << 30,
         "driver_bytes": 90 << 20}
        for n in range(batches)
    ]  # fmt: skip
    here = {"cpu": "a", "cores": 2, "system": "b", "python": "3", "windrow": "0", "versions": {},
            "when": "today"}  # fmt: skip
    samples = [{"batch": n, "chunks": 1, "state_bytes": 9, "files_bytes": 9} for n in range(3)]
    return {
        "machine": here, "asked": {"minutes": 0, "batches": batches, "keys": 9, "rows": 5},
        "interrupted": False, "minutes": 1.0, "compared": 7, "problems": [], "late": 0,
        "late_expected": 0, "batches": each, "samples": samples,
    }  # fmt: skip


def test_what_grows_is_told() -> None:
    flat, grown = raw(90, 0), raw(90, 1 << 20)
    assert all(verdict.flat for verdict in verdicts(flat)) and is_right(flat)
    assert summary(flat)[-1] == "Everything is flat."
    assert [v.measure.key for v in verdicts(grown) if not v.flat] == ["largest_worker"]
    assert summary(grown)[-1] == "Not flat: Python workers, the largest."
    row = "| Python workers, the largest | MB | 214 | 274 | 1.28 | **grows**: more than 1.1 |"
    assert row in markdown(grown)
    assert "| 81 to 89 |" in markdown(grown)
    assert svg(flat).count("<polyline") == 8
    assert not is_right(flat | {"late": 1}) and not is_right(flat | {"problems": ["lost: …"]})


@pytest.mark.slow
def test_a_short_run_is_right(tmp_path: Path) -> None:
    asked = ["--minutes", "0", "--batches", "20", "--keys", "2000", "--rows", "200"]
    command = [sys.executable, "-m", "bench", "soak", *asked, "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "all are right" in done.stdout
    kept = json.loads((tmp_path / "soak.json").read_text("utf-8"))
    assert len(kept["batches"]) >= 20 and kept["compared"] > 30
    assert kept["late"] == kept["late_expected"] == 1000
    assert {each["rows"] for each in kept["batches"]} >= {0, 200, 1200, 2000}
    for name in ("workers", "python_bytes", "java_bytes", "driver_bytes", "store_bytes"):
        assert kept["batches"][-1][name] > 0
    assert kept["samples"][-1]["state_bytes"] > 0
    assert (tmp_path / "soak.md").read_text("utf-8") == markdown(kept)
