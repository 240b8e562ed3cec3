"""The commands as a whole: help, version, what they import, what they say when something lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import windrow
from tests.cli.conftest import PEAK, Command
from windrow.cli.app import COMMANDS, app

OWN = [name for name in COMMANDS if name != "bench"]  # which has its own tests
DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"


def command_of(name: str) -> click.Command:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    return found


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_every_command(windrow: Command, arguments: tuple[str, ...]) -> None:
    done = windrow(*arguments)
    assert done.code == 0 and done.err == ""
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in done.out and line in done.out


@pytest.mark.parametrize("name", OWN)
def test_every_command_has_help(windrow: Command, name: str) -> None:
    done = windrow(name, "--help")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith(f"Usage: windrow {name} ")
    text = (command_of(name).help or "").partition("\n")[0]
    assert text[:20] in done.out


@pytest.mark.parametrize("name", OWN)
def test_every_command_and_option_is_documented(name: str) -> None:
    text = DOCUMENT.read_text("utf-8")
    assert f"## windrow {name}" in text
    section = text.partition(f"## windrow {name}")[2].partition("\n## ")[0]
    for parameter in command_of(name).params:
        if isinstance(parameter, click.Option):
            assert f"`{parameter.opts[-1 if len(parameter.opts[0]) == 2 else 0]}" in section


def test_the_version(windrow: Command) -> None:
    done = windrow("--version")
    assert (done.code, done.out) == (0, f"windrow {VERSION}\n")


VERSION = windrow.__version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rum",), "there is no command 'rum'; did you mean 'run'?"),
        (("--nonsense",), "--nonsense"),
        (("algorithms", "--nonsense"), "--nonsense"),
        (("run",), "Missing argument 'QUERY|FILE'"),
        (("algorithms", "dabba"), "did you mean 'daba'?"),
        (("functions", "mxa"), "did you mean 'MAX'?"),
        (("completion", "tcsh"), "'bash', 'zsh', 'fish'"),
        (("explain", "SELECT"), "SELECT"),
        (("demo", "--rows", "many"), "'many' is not a valid integer"),
        (("demo", "--rows", "10"), "--rows 10: it takes 60,000 or more"),
    ],
)
def test_wrong_usage_is_told_without_a_traceback(
    windrow: Command, arguments: tuple[str, ...], message: str
) -> None:
    done = windrow(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err and "Traceback" not in done.err
    assert done.err.startswith("windrow: ")


def test_help_imports_nothing_but_click() -> None:
    heavy = ("numpy", "numba", "pyarrow", "pandas", "pyspark", "rich", "matplotlib", "jinja2")
    done = python(
        "import sys; sys.argv = ['windrow', '--help']\n"
        "from windrow.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"sys.exit(str([name for name in {heavy} if name in sys.modules]))"
    )
    assert done.stderr.strip() == "[]"


MISSING = """
import sys
class Missing:
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
sys.argv = ["windrow", *{arguments!r}]
from windrow.cli import main
main()
"""


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("click", ["--help"], "cli"),
        ("jinja2", ["demo"], "cli"),
        ("matplotlib", ["demo"], "cli"),
        ("sqlglot", ["explain", PEAK], "sql"),
        ("pyarrow", ["run", PEAK, "-i", "plugs.csv", "--local"], "arrow"),
        ("pyspark", ["run", PEAK, "-i", "plugs.csv"], "spark"),
    ],
)
def test_a_missing_package_is_named_with_its_command(
    files: Path, missing: str, arguments: list[str], extra: str, tmp_path: Path
) -> None:
    code = MISSING.format(missing=missing, arguments=arguments)
    if missing in ("jinja2", "matplotlib"):
        code = code.replace("demo'", f"demo', '--output', {str(tmp_path / 'out')!r}")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=files
    )
    assert done.returncode == 1, done.stderr
    assert missing in done.stderr and "Traceback" not in done.stderr
    assert f"pip install 'windrow[{extra}]'" in done.stderr.replace('"', "'")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(windrow: Command, shell: str) -> None:
    done = windrow("completion", shell)
    assert done.code == 0
    assert f"_WINDROW_COMPLETE={shell}_complete" in done.out


def test_completion_of_the_shell_at_hand(windrow: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "fish_complete" in windrow("completion").out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert windrow("completion").code == 2


def test_completion_completes() -> None:
    done = python(
        "from windrow.cli import main; import sys; sys.argv = ['windrow']; main()",
        _WINDROW_COMPLETE="bash_complete",
        COMP_WORDS="windrow al",
        COMP_CWORD="1",
    )
    assert done.stdout.strip() == "plain,algorithms"


def test_the_lines_of_the_help_are_short() -> None:
    assert all(len(line) < 60 and line.endswith(".") for _, line in COMMANDS.values())
