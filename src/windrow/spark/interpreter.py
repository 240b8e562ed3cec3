"""Checks that the Python of Spark's workers has windrow, before a job fails for want of it.

Workers run PYSPARK_PYTHON as it was when the session was made, or else `python3` from their PATH:
not the Python of a virtual environment that was not activated. What is certain is refused:

    local master         workers run on this machine: their Python is started once, without Spark,
                         and asked what it has, which takes a twentieth of a second
    cluster, Connect     nothing is known here, and `transform` starts no job to find out; a module
                         that is missing is named by the job

Nor is anything asked where files are sent to the workers (`addPyFile`), which may bring windrow, or
where Databricks gives each notebook modules of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

_BATCH = ("windrow", "numba", "pyarrow")
_STREAM = (*_BATCH, "pandas", "google.protobuf")
_ASK = """
import sys
from importlib.util import find_spec
def lacks(name):
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True
print(*sys.version_info[:2], *filter(lacks, sys.argv[1:]))
"""
_PATIENCE = 20  # seconds; a Python that takes longer is left to the job
_fit: set[tuple[str, ...]] = set()  # a Python and the modules that it was found to have


def check_workers(frame: Any) -> None:
    """Raise an ImportError if the workers' Python cannot run a query over `frame`."""
    context = getattr(frame.sparkSession, "_sc", None)
    if context is None or "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return
    if getattr(context, "_python_includes", ()):
        return
    if not (context.master == "local" or context.master.startswith("local[")):
        return
    modules = _STREAM if frame.isStreaming else _BATCH
    needed = (context.pythonExec, *modules)
    if needed not in _fit:
        problem = _problem(context, modules)
        if problem is not None:
            raise ImportError(problem)
        _fit.add(needed)


def _problem(context: Any, modules: tuple[str, ...]) -> str | None:
    """Return why the workers' Python will not do, and the line that helps; None if it will."""
    python = context.pythonExec
    use_this = (
        f"export PYSPARK_PYTHON={sys.executable} before Python starts, or in Python, before the "
        f'session is made: os.environ["PYSPARK_PYTHON"] = sys.executable'
    )
    paths = (context.environment.get("PYTHONPATH"), os.environ.get("PYTHONPATH"))
    try:
        ran = subprocess.run(
            [python, "-c", _ASK, *modules],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        major, minor, *missing = ran.stdout.split()
    except FileNotFoundError:
        return f"Spark's workers run {python!r}, and there is none: {use_this}"
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if (int(major), int(minor)) != sys.version_info[:2]:
        this = ".".join(map(str, sys.version_info[:2]))
        return f"Spark's workers run {python!r}, Python {major}.{minor} and not {this}: {use_this}"
    if "windrow" in missing:
        return f"Spark's workers run {python!r}, which has no windrow: {use_this}"
    if missing:
        names = " and ".join(name.replace("google.", "") for name in missing)
        cure = f"{python} -m pip install 'windrow[spark]'"
        return f"Spark's workers run {python!r}, which has no {names}: {cure}"
    return None
