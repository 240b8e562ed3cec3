"""The command line as the tests call it, and files to call it on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.spark.conftest import spark as spark
from windrow.cli.app import run
from windrow.samples.plugs import readings


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Done]
PEAK = "SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug_id ORDER BY ts RANGE 1 HOUR]"


@pytest.fixture
def windrow(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""

    def command(*arguments: str) -> Done:
        code = run([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return Done(code, told.out, told.err)

    return command


@pytest.fixture(scope="session")
def plugs() -> pa.Table:
    return readings(1000, houses=2)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, plugs: pa.Table) -> Path:
    """plugs.csv, .jsonl, .parquet, and folder/ with four files of CSV."""
    place = tmp_path_factory.mktemp("files")
    csv.write_csv(plugs, place / "plugs.csv")
    parquet.write_table(plugs, place / "plugs.parquet")
    with open(place / "plugs.jsonl", "w") as file:
        for row in plugs.to_pylist():
            file.write(json.dumps({**row, "ts": row["ts"].isoformat()}) + "\n")
    (place / "folder").mkdir()
    for i in range(4):
        csv.write_csv(plugs.slice(i * 250, 250), place / "folder" / f"{i}.csv")
    (place / "folder" / "_hidden.csv").write_text("not a table")
    (place / "folder" / ".hidden.csv").write_text("not a table")
    return place
