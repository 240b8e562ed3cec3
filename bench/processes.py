"""The processes below one, and their memory and processor time, as Linux tells them."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def family(top: int | None = None) -> dict[int, str]:
    """Return the names of a process and of all below it, by their numbers; None is this process."""
    names: dict[int, str] = {}
    children: dict[int, list[int]] = {}
    for path in PROC.iterdir():
        if path.name.isdecimal():
            try:
                head, _, tail = (path / "stat").read_text("utf-8").rpartition(")")
            except OSError:  # it has ended
                continue
            names[int(path.name)] = head.partition("(")[2]
            children.setdefault(int(tail.split()[1]), []).append(int(path.name))
    below = {}
    waiting = [os.getpid() if top is None else top]
    while waiting:
        pid = waiting.pop()
        below[pid] = names.get(pid, "")
        waiting += children.get(pid, [])
    return below


def resident_bytes(pid: int) -> int:
    """Return what a process has in memory, pages that it shares with others included."""
    try:
        pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def shared_bytes(pid: int) -> int:
    """Return what a process has in memory; pages that it shares count in part."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def processor_seconds(name: str) -> float:
    """Return the processor time of the processes of that name below this one, so far."""
    total = 0
    for pid in (pid for pid, other in family().items() if other == name):
        try:
            fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")
