"""The processes below this one, and what they take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def family() -> Iterator[int]:
    """Yield this process and all below it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            children.setdefault(parent, []).append(int(path.name))
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def shared_bytes(pid: int) -> int:
    """Return what a process has in memory; pages that it shares count in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def processor_seconds(name: str) -> float:
    """Return the processor time of the processes of that name below this one, so far."""
    total = 0
    for pid in family():
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if text.partition("(")[2].rpartition(")")[0] == name:
            fields = text.rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")
