"""What a release must pass: it is built, its page renders, and the wheel runs README's examples.

`make release-check` runs this with `build` and `twine`. The wheel is installed into a new
environment for each Python of 3.11 to 3.13 that is found; examples of Spark run in
`make test-extras`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
EXTRAS = "arrow,pandas,polars,sql"
# the package, and the module in which Spark looks for its source (docs/architecture.md)
INSIDE = {"windrow", "pyspark_windrow.py"}
PLACEHOLDER = ".example"
RUN = """
import doctest, sys
for text in {blocks!r}:
    test = doctest.DocTestParser().get_doctest(text, {{}}, "README.md", None, 0)
    if doctest.DocTestRunner().run(test).failed:
        sys.exit(1)
"""


def examples(text: str) -> list[str]:
    """Return the README's examples with prompts; those of Spark have none."""
    found = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in found if ">>> " in block]


def unexpected(wheel: Path) -> set[str]:
    """Return what lies in a wheel at the top and should not."""
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    return {name for name in names - INSIDE if not name.endswith(".dist-info")}


def interpreter(version: str) -> str | None:
    """Return a Python of a version, if one is there that runs."""
    python = shutil.which(f"python{version}")
    works = python and not subprocess.run([python, "-c", ""], capture_output=True).returncode
    return python if works else None


def run(*command: str | Path, folder: Path = ROOT) -> None:
    """Run a command, and end with its code if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=folder, check=False)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command[:4]))} …")


def main() -> None:
    """Build, check, install, and run the examples."""
    with tempfile.TemporaryDirectory() as made:
        dist = Path(made) / "dist"
        print("building", flush=True)
        run(sys.executable, "-m", "build", "--outdir", dist, ROOT)
        run(sys.executable, "-m", "twine", "check", "--strict", *sorted(dist.iterdir()))
        (wheel,) = dist.glob("*.whl")
        if others := unexpected(wheel):
            sys.exit(f"the wheel has at its top what it should not: {sorted(others)}")
        blocks = examples((ROOT / "README.md").read_text("utf-8"))
        found = [(version, python) for version in PYTHONS if (python := interpreter(version))]
        for version, python in found:
            print(f"Python {version}: the wheel, and {len(blocks)} examples of README", flush=True)
            home = Path(made) / version
            run(python, "-m", "venv", home)
            wanted = f"windrow[{EXTRAS}] @ {wheel.as_uri()}"
            pip = ("-m", "pip", "install", "-q", "--disable-pip-version-check")
            run(home / "bin" / "python", *pip, wanted)
            code = RUN.format(blocks=blocks)
            run(home / "bin" / "python", "-I", "-c", code, folder=Path(made))
        for version in sorted(set(PYTHONS) - {version for version, _ in found}):
            print(f"Python {version}: not found, so not tried")
        if not found:
            sys.exit("no Python was found to try the wheel with")
    if PLACEHOLDER in (ROOT / "pyproject.toml").read_text("utf-8"):
        print("before a release: the addresses in pyproject.toml are placeholders")


if __name__ == "__main__":
    main()
