"""`windrow watch`, and the live page of `windrow run --stream --watch`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import PEAK, Command
from windrow.cli import watch as watching

pytest.importorskip("pyspark", reason="PySpark is not installed: windrow[spark]")

from windrow.spark import progress_page
from windrow.spark.progress_page import LiveView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("streams")
LATE = PEAK.replace("RANGE", "LATENESS 10 MINUTES RANGE")


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that a browser was asked to open."""
    pages: list[str] = []
    monkeypatch.setattr("webbrowser.open", pages.append)
    return pages


def test_the_page_of_a_program_that_runs_is_found(
    windrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    # ports of this test's own: another program of this machine may have a page on the usual ones
    monkeypatch.setattr(progress_page, "PORT", 40_000 + os.getpid() % 20_000)
    with LiveView() as view:
        done = windrow("watch")
        assert (done.code, done.err) == (0, f"live page: {view.url}\n")
        port = view.url.rstrip("/").rpartition(":")[2]
        assert windrow("watch", "--port", port).err == done.err
    done = windrow("watch", "--port", port)
    assert done.code == 1
    assert done.err.startswith(f"windrow: no stream is watched on port {port} of this machine")
    assert "live_view(spark)" in done.err


def test_a_page_is_opened_where_there_is_a_desktop_and_a_person(
    monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    watching.open_page("http://127.0.0.1:1/")
    assert opened == []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    watching.open_page("http://127.0.0.1:1/")
    assert opened == ["http://127.0.0.1:1/"]


def test_mistakes_are_told(windrow: Command, tmp_path: Path) -> None:
    done = windrow("watch", "nowhere.py")
    assert (done.code, done.err) == (2, "windrow: there is no program 'nowhere.py'\n")
    program = tmp_path / "idle.py"
    program.write_text("import sys; print(__name__, sys.argv[1:])")
    with LiveView(0) as view:
        port = view.url.rstrip("/").rpartition(":")[2]
        done = windrow("watch", "--port", port, program)
        assert (done.code, done.out) == (2, "") and f"127.0.0.1:{port}" in done.err
    done = windrow("watch", "--port", "0", program, "--port", "7", "x")
    assert (done.code, done.out) == (1, "__main__ ['--port', '7', 'x']\n")
    assert done.err.endswith(f"{program} has ended, and no stream has run in it\n")
    program.write_text("1 / 0")
    done = windrow("watch", "--port", "0", program)
    assert done.code == 1 and "ZeroDivisionError" in done.err and "windrow: " not in done.err


def test_without_spark_it_says_what_to_install(
    windrow: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    program = tmp_path / "job.py"
    program.write_text("print('ran')")
    done = windrow("watch", program)
    assert (done.code, done.out) == (1, "")
    assert "pip install 'windrow[spark]'" in done.err


def test_a_stream_over_files_is_watched(
    spark: SparkSession, windrow: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    close = LiveView.close

    def closing(view: LiveView) -> None:
        close(view)
        shown.append(view.snapshot())

    monkeypatch.setattr(LiveView, "close", closing)
    given = ("run", LATE, "-i", f"plugs={files / 'folder'}", "--stream", "--watch", "--port", "0")
    done = windrow(*given, "--once", "--key", "1", "--key", "2")
    assert done.code == 0, done.err
    assert re.match(r"live page: http://127\.0\.0\.1:\d+/\n", done.err)
    (query,) = shown[0]["queries"]
    assert query["query"] == "plugs" and query["totals"]["rows so far"] == "1,000"
    names = {name for batch in query["batches"] for name in batch["results"]}
    assert names == {"plug_id 1 peak", "plug_id 2 peak"}
    for key, message in (("x", "plug_id is of type int"), ("1,2", "plug_id is of type int")):
        done = windrow(*given, "--once", "--key", key)
        assert done.code == 2 and message in done.err


PROGRAM = """
    import sys
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
    rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    query = rows.writeStream.format("noop").queryName("rates").start()
    query.awaitTermination(int(sys.argv[1]))
    query.stop()
    import urllib.request, os
    print(urllib.request.urlopen(os.environ["PAGE"] + "state.json").read().decode())
    spark.stop()
"""


@pytest.mark.slow
def test_the_streams_of_a_program_are_shown(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(textwrap.dedent(PROGRAM))
    with LiveView(0) as view:
        port = view.url.rstrip("/").rpartition(":")[2]  # one that is free
    done = subprocess.run(
        [sys.executable, "-m", "windrow.cli", "watch", "--port", port, str(program), "6"],
        env={**os.environ, "PAGE": view.url}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"live page: {view.url}" in done.stderr
    assert '"query":"rates"' in done.stdout and '"batches":[{' in done.stdout
