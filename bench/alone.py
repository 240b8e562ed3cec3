"""Runs a function in a process of its own, with other cores, less memory, or memory all its own.

    python -m bench.alone MODULE:FUNCTION ARGUMENTS-AS-JSON

The function calls `tell` with what it found, as often as it likes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def alone(
    function: Callable[..., None],
    *arguments: Any,
    seconds: float | None = None,
    cwd: Path | None = None,
    **environment: str,
) -> Iterator[Any]:
    """Yield what the function tells in a new process.

    After all of it comes a TimeoutError if the process took longer than `seconds`, and a
    RuntimeError with the last line of its errors if it failed.
    """
    name = f"{function.__module__}:{function.__qualname__}"
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        command = [sys.executable, "-m", "bench.alone", name, json.dumps(arguments)]
        problem: Exception | None = None
        try:
            done = subprocess.run(
                command,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=seconds and max(1.0, seconds),
                cwd=cwd,
                env=os.environ | {"PYTHONPATH": path} | environment,
            )
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["it failed"]
                problem = RuntimeError(lines[-1][:120])
        except subprocess.TimeoutExpired as error:
            problem = TimeoutError(f"it took longer than {error.timeout:.0f} s")
        output.seek(0)
        for line in output:
            if line.startswith("{"):
                yield json.loads(line)["value"]
        if problem:
            raise problem


def tell(value: Any) -> None:
    """Send a value to the process that asked."""
    print(json.dumps({"value": value}), flush=True)


def private_memory() -> dict[str, int]:
    """Return bytes: `private` is this process's own, `resident` has mapped files as well.

    Only Linux tells.
    """
    return {"private": status_bytes("RssAnon"), "resident": status_bytes("VmRSS")}


def status_bytes(name: str) -> int:
    """Return a size of this process as Linux tells it."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


if __name__ == "__main__":
    module, _, function = sys.argv[1].partition(":")
    getattr(import_module(module), function)(*json.loads(sys.argv[2]))
