"""How much memory a query takes beyond its input and its output.

Each figure is that of a process of its own: it makes the table, asks the query of a short one so
that everything is loaded and compiled, and then compares the most it ever held with what it held.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.arrays.measuring import Section, Settings, table
from benchmarks.tables.growth import cases
from windrow.bench.measuring import Row
from windrow.bench.peers.contenders import OURS, Window, query
from windrow.bench.peers.frames import Frames, readings

TARGET = 3.0
ANSWER = 8  # bytes: each of the three is a double or a time


def memory(settings: Settings) -> Iterator[Row]:
    for case, (keys, window) in cases(settings).items():
        rows = "" if window.rows is None else str(window.rows)
        results = {}
        for name in OURS:
            kind = name.partition(", ")[2].lower()
            told = [kind, str(settings.n), str(keys), rows]
            command = [sys.executable, "-c", f"from {__name__} import tell; tell()", *told]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                results[name] = {"status": f"failed: {done.stderr.strip().splitlines()[-1]}"[:120]}
            else:
                results[name] = {"status": "ok", **json.loads(done.stdout)}
        yield {"case": case, "n": settings.n, "results": results}


def measured(kind: str, n: int, keys: int, window: Window) -> Row:
    """Bytes of the input, and of what the query held at most beyond input and output."""
    asked = query(keys, window, located=True)
    asked(getattr(Frames(readings(1000, keys), keys), kind))
    frame = getattr(Frames(readings(n, keys), keys), kind)
    _forget_the_peak()
    before = _status("VmRSS")
    made = asked(frame)
    peak = _status("VmHWM")
    output = 3 * ANSWER * len(made)
    beyond = max(0, peak - before - output)
    return {"input": 3 * ANSWER * n, "output": output, "beyond": beyond}


def tell() -> None:
    """What a process of its own does: the measurement as JSON."""
    kind, n, keys, rows = sys.argv[1:]
    window = Window(int(rows) if rows else None)
    print(json.dumps(measured(kind, int(n), int(keys), window)))


def _status(name: str) -> int:
    """A size of this process as the kernel tells it, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def _forget_the_peak() -> None:
    """Let VmHWM begin anew; where that is not allowed the figure is too large, never too small."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError as error:
        print(f"the peak counts from the start of the process: {error}", file=sys.stderr)


def show(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        cells = [
            f"{r['beyond'] / r['input']:.2f}× ({r['beyond'] / 1e6:,.0f} MB)"
            if r["status"] == "ok"
            else r["status"]
            for r in row["results"].values()
        ]
        lines.append([row["case"], *cells])
    size = rows[0]["n"] * 3 * ANSWER / 1e6
    return (
        f"The most that max, mean and argmax held beyond the input of {size:,.0f} MB and the three "
        "columns of answers, by the input; the resident size of a process of its own.\n\n"
        + table(["", *rows[0]["results"]], lines)
    )


SECTION = Section(
    "Memory",
    memory,
    show,
    f"at most {TARGET:g} times the input",
    lambda rows: [
        r["beyond"] <= TARGET * r["input"]
        for row in rows
        for r in row["results"].values()
        if r["status"] == "ok"
    ],
)
