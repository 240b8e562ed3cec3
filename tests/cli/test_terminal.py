"""The command line as a person meets it: in a terminal, with keys and colours."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.conftest import PEAK
from windrow import sql
from windrow.cli.terminal import Steps, coloured, table

pexpect = pytest.importorskip("pexpect", reason="pexpect is not installed")

LATE = PEAK.replace("RANGE", "LATENESS 1 MINUTE RANGE")
ESCAPE = "\x1b["
COLOURS = re.compile(r"\x1b\[(\d+;)*[349]\d")


def terminal(*arguments: str, cwd: Path | None = None, timeout: int = 60, **more: str) -> Any:
    """A command in a terminal of its own."""
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return pexpect.spawn(
        sys.executable,
        ["-m", "windrow.cli", *arguments],
        cwd=cwd,
        env={**known, "TERM": "xterm-256color", "COLUMNS": "120", **more},
        encoding="utf-8",
        timeout=timeout,
        dimensions=(40, 120),
    )


def finished(child: Any) -> tuple[int, str]:
    """The exit code and all that was shown."""
    text = child.read()
    child.close()
    return child.exitstatus, text


def test_a_card_is_rendered_in_colours() -> None:
    code, text = finished(terminal("algorithms", "daba"))
    assert code == 0 and "De-Amortized" in text
    assert COLOURS.search(text) and "| Insert |" not in text
    code, text = finished(terminal("algorithms", "daba", NO_COLOR="1"))
    assert code == 0
    assert not COLOURS.search(text)  # bold and italics may stay


def test_errors_are_red_unless_that_is_not_wanted(files: Path) -> None:
    code, text = finished(terminal("algorithms", "dabba"))
    assert code == 2 and text.startswith(f"{ESCAPE}31mwindrow:{ESCAPE}0m there is no algorithm")
    code, text = finished(terminal("algorithms", "dabba", NO_COLOR="1"))
    assert code == 2 and text.startswith("windrow: there is no algorithm") and ESCAPE not in text
    code, text = finished(terminal("algorithms", "dabba", TERM="dumb"))
    assert ESCAPE not in text


def test_progress_is_shown_on_a_terminal(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    child = terminal("run", PEAK, "-i", "plugs=plugs.csv", "--local", "-o", str(out), cwd=files)
    child.expect("reading plugs.csv")
    child.expect("1,000 rows")
    child.expect("running the query")
    child.expect("1,000 rows in .*out.csv after")
    assert finished(child)[0] == 0
    assert len(out.read_text().splitlines()) == 1001


def test_a_session_from_question_to_answer(files: Path, tmp_path: Path) -> None:
    """What a newcomer types, in a shell."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    known = {**os.environ, "PS1": "$ ", "NO_COLOR": "1", "TERM": "dumb"}
    shell = pexpect.spawn(
        bash, ["--norc", "--noediting"], cwd=files, env=known, encoding="utf-8", timeout=60
    )
    windrow = f"{sys.executable} -m windrow.cli"

    def typed(line: str) -> str:
        shell.expect_exact("$ ")
        shell.sendline(f"{line}; echo code=$?")
        shell.expect(r"code=(\d)\r\n")
        return f"{shell.match[1]} {shell.before.partition(chr(10))[2]}"

    assert typed(f"{windrow} --version").startswith("0 windrow ")
    assert "a window may begin at any" in typed(f'{windrow} explain "{PEAK}"')
    shown = typed(f'{windrow} run "{PEAK}" -i plugs=plugs.csv --local 2>/dev/null | head -2')
    assert '"peak"' in shown
    assert typed(f'{windrow} run "{PEAK}" -i plug=plugs.csv --local').startswith("2 windrow: ")
    shell.sendeof()
    shell.close()


def test_whoever_reads_may_have_enough(files: Path) -> None:
    command = [sys.executable, "-m", "windrow.cli", "run", PEAK, "-i", "plugs.csv", "--local"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=files
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


WAITING = """
import sys, time
from windrow.cli import main, outputs
def write(self, table):
    self._file.write(b"half of it")
    self._file.flush()
    print("writing", flush=True)
    time.sleep(60)
outputs.Writer.write = write
sys.argv = ["windrow", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_nothing_half_written(
    files: Path, tmp_path: Path, number: int, code: int
) -> None:
    arguments = ["run", PEAK, "-i", str(files / "plugs.csv"), "--local", "-o", "out.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"writing\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(number)
        assert process.stderr.read() == b""
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_stops_spark_quietly(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ("run", PEAK, "-i", "plugs=plugs.csv", "--master", "local[1]", "-o", str(out))
    child = terminal(*given, cwd=files, timeout=240)
    child.expect("running the query")
    child.sendintr()
    code, text = finished(child)
    assert code == 130 and "Traceback" not in text and "ERROR" not in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_stream_stops_on_ctrl_c_and_goes_on(files: Path, plugs: pa.Table, tmp_path: Path) -> None:
    grows, out = tmp_path / "in", tmp_path / "out"
    grows.mkdir()
    given = ("run", LATE, "-i", f"plugs={grows}", "--format", "csv", "--stream")
    given = (*given, "--checkpoint", str(tmp_path / "state"), "-o", str(out))
    for part in (0, 1), (2, 3):
        for i in part:
            shutil.copy(files / "folder" / f"{i}.csv", grows)
        child = terminal(*given, timeout=240)
        child.expect("streaming; Ctrl-C stops")
        child.expect("500 rows in")
        child.sendintr()
        child.expect("stopped: 500 rows in")
        code, text = finished(child)
        assert code == 0 and "Traceback" not in text and "WARN" not in text
    wanted = {(r["plug_id"], r["ts"]): r["peak"] for r in sql(PEAK, plugs=plugs).to_pylist()}
    told = parquet.read_table([str(p) for p in out.glob("*.parquet")]).to_pylist()
    assert told and len({(r["plug_id"], r["ts"]) for r in told}) == len(told)
    assert all(wanted[r["plug_id"], r["ts"]] == r["peak"] for r in told)


@pytest.mark.slow
def test_sparks_log_is_shown_on_demand(files: Path) -> None:
    given = ("run", PEAK, "-i", "plugs=plugs.csv", "-o", "-", "--master", "local[1]")
    code, quiet = finished(terminal(*given, cwd=files, timeout=240))
    assert code == 0 and "WARN" not in quiet and "log4j" not in quiet
    code, loud = finished(terminal(*given, "--verbose", cwd=files, timeout=240))
    assert code == 0 and "log4j" in loud


@pytest.mark.slow
def test_doctor_tries_spark() -> None:
    code, text = finished(terminal("doctor", timeout=240))
    assert code == 0 and text.count("6 rows had their results in") == 3
    assert "ready: windrow demo" in text


# -- what it is made of ----------------------------------------------------------------------


def test_steps_without_a_terminal_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Steps() as steps:
        with steps.step("reading") as note:
            note("3 rows", 0.5)
        with steps.step("writing"):
            pass
    assert capsys.readouterr() == ("", "reading: 3 rows\nwriting\n")


def test_nothing_is_coloured_without_a_terminal() -> None:
    assert coloured("text", "red") == "text"


def test_tables_line_up() -> None:
    assert table(["a", "b"], [["x", "1"], ["long", "22"]], right=[1]).splitlines() == [
        "a      b",
        "x      1",
        "long  22",
    ]
