"""What windrow tells about itself: algorithms, functions, plans, and the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from windrow import Max, sliding
from windrow.algorithms import ALGORITHMS
from windrow.cli import doctor, session, trials
from windrow.cli.about import card_facts
from windrow.queries.cql.functions import FUNCTIONS

QUERY = "SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug ORDER BY ts RANGE 1 HOUR]"


def test_algorithms_are_all_listed(windrow: Command) -> None:
    done = windrow("algorithms")
    header, *lines = done.out.splitlines()
    assert done.code == 0 and header.startswith("algorithm ")
    assert [line.split()[0] for line in lines] == list(ALGORITHMS)
    assert "](" not in done.out


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_its_card(windrow: Command, name: str) -> None:
    done = windrow("algorithms", name)
    assert done.code == 0 and done.out.startswith("# ")
    told = windrow("algorithms", name, "--json").json()
    assert told["algorithm"] == name and told["card"].strip() == done.out.strip()


def test_algorithms_as_json(windrow: Command) -> None:
    told = windrow("algorithms", "--json").json()
    assert [fact["algorithm"] for fact in told] == list(ALGORITHMS)
    assert card_facts("daba")["insert"].startswith("at most 4")
    assert all({"insert", "evict", "query", "space", "title", "says"} <= set(f) for f in told)


def test_functions_are_all_listed(windrow: Command) -> None:
    done = windrow("functions")
    assert done.code == 0
    for name in FUNCTIONS:
        assert f"{name}(" in done.out
    assert len(windrow("functions", "--json").json()) == len(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_told(windrow: Command, name: str) -> None:
    done = windrow("functions", name.lower())
    assert done.code == 0
    assert done.out.startswith(f"{name}(") and "windrow." in done.out
    told = windrow("functions", name, "--json").json()
    assert told["name"] == name and told["says"]


def test_the_plan_is_the_querys_own(windrow: Command) -> None:
    query = sliding(partition_by="plug", order_by="ts", range="1 hour", peak=Max("load"))
    done = windrow("explain", QUERY)
    assert (done.code, done.out.rstrip("\n"), done.err) == (0, query.explain(), "")
    told = windrow("explain", QUERY, "--json").json()
    assert told["query"] == repr(query)
    windows = "[t − 1 hour, t], a result for each row"
    assert told["plan"][0] == {"name": "windows", "says": [windows]}
    assert [entry["name"] for entry in told["plan"]][-1] == "peak"
    lines = [line for entry in told["plan"] for line in entry["says"]]
    assert [line[11:] for line in query.explain().splitlines()] == lines


def test_a_mistake_in_a_query_shows_its_place(windrow: Command) -> None:
    done = windrow("explain", QUERY.replace("MAX", "MAXX"))
    assert done.code == 2
    assert "\n    SELECT MAXX(load) AS peak" in done.err and "^^^^" in done.err
    told = json.loads(windrow("explain", "SELECT MAX(load)", "--json").err)
    assert told["error"]["exit_code"] == 2 and told["error"]["kind"] == "usage"


# -- doctor ----------------------------------------------------------------------------------


def test_doctor_finds_what_the_tests_run_on(windrow: Command) -> None:
    done = windrow("doctor", "--fast")
    assert done.code == 0, done.out
    assert "ready: windrow demo" in done.out
    told = {finding["name"]: finding for finding in windrow("doctor", "--fast", "--json").json()}
    assert told["java"]["state"] == told["pyspark"]["state"] == "ok"
    assert {"python", "numpy", "cores", "memory", "cache"} <= set(told)


def test_doctor_runs_something_of_everything(
    windrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_NEEDED_BY_SPARK", ("no-such-package", "java"))
    java = doctor.Finding("java", "missing", "there is none", "apt-get install it")
    monkeypatch.setattr(doctor, "findings", lambda: iter([java]))
    done = windrow("doctor")
    assert done.code == 1 and "apt-get install it" in done.out and "missing: java" in done.out
    assert "✓ local        6 rows had their results in " in done.out


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import time; time.sleep(60)", "it had not ended after 1 s"),
        ("import os; os.abort()", "it ended with -6"),
        ("", "the results are []"),
    ],
)
def test_doctor_tells_of_a_trial_that_fails(
    monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    monkeypatch.setattr(trials, "PATIENCE", 1.0)
    start = subprocess.Popen

    def other(command: list[str], **options: Any) -> Any:
        return start([sys.executable, "-c", code], **options)

    monkeypatch.setattr(subprocess, "Popen", other)
    found = list(trials.results(spark=True, verbose=False))
    assert [name for name, _, _ in found] == ["local", "spark batch", "spark stream"]
    assert str(found[0][1]).startswith(says)
    if "sleep" in code:
        assert [problem for _, problem, _ in found[1:]] == ["the one before did not end"] * 2


def test_doctor_tells_the_error_of_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_QUERY", "SELECT MAX(v) FROM rows [ROWS 0]")
    ((name, problem, _),) = trials.results(spark=False, verbose=False)
    assert name == "local" and "rows" in str(problem)


def test_doctor_names_protobuf(windrow: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    version = doctor.metadata.version

    def without(name: str) -> str:
        if name == "protobuf":
            raise doctor.metadata.PackageNotFoundError
        return version(name)

    monkeypatch.setattr(doctor.metadata, "version", without)
    done = windrow("doctor", "--fast")
    assert done.code == 1 and "✗ protobuf     not installed" in done.out
    assert "pip install 'windrow[spark]'" in done.out


def test_doctor_without_java(
    windrow: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = windrow("doctor", "--fast")
    assert done.code == 1
    assert "Spark needs Java 17 or newer, and there is none on PATH" in done.out
    assert "missing: java" in done.out


def fake_java(folder: Path, version: str) -> None:
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin" / "java"
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    script.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "number"), [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.15", 17), ("21", 21)]
)
def test_the_version_of_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, number: int
) -> None:
    fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = session.find_java()
    assert found.version == number and found.serves == (number >= 17)
    if not found.serves:
        assert f"is Java {number}" in found.problem


def test_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = session.find_java()
    assert not found.serves and f"JAVA_HOME={tmp_path} has none" in found.problem


@pytest.mark.parametrize(
    ("version", "numbers"), [("4.1.0", (4, 1, 0)), ("3.0.0rc1", (3, 0, 0)), ("2.dev0", (2,))]
)
def test_versions_are_compared_by_their_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert doctor._parts(version) == numbers


@pytest.mark.parametrize(
    ("package", "state", "says"),
    [
        (("numpy", "1.0", None), "ok", ""),
        (("numpy", "99", None), "missing", "99 or newer is needed"),
        (("numpy", "1", "2"), "missing", "must be older than 2"),
        (("no-such-package", "1", None), "missing", "not installed"),
    ],
)
def test_packages_are_judged(package: tuple[str, str, str | None], state: str, says: str) -> None:
    found = doctor._package(*package, "pip install it", needed=True)
    assert found.state == state and says in found.says


def test_another_python_for_the_workers_is_told(
    windrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python4")
    assert "PYSPARK_PYTHON=/usr/bin/python4" in windrow("doctor", "--fast").out


def test_a_cache_that_cannot_be_written_is_told(
    windrow: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.delenv("WINDROW_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    told = {f["name"]: f for f in windrow("doctor", "--fast", "--json").json()}
    assert told["cache"]["state"] == "optional"
    assert os.environ["XDG_CACHE_HOME"] == str(blocked)
