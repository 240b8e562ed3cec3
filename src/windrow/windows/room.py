"""Whether memory has room for results, checked before they are made."""

from __future__ import annotations

import os
from pathlib import Path

from windrow.errors import InvalidArgument

# What a result takes at least: where its window lies, and what it is.
_BYTES = 64
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def check_room(results: int, named: str) -> None:
    """Refuse results that memory has no room for; errors begin with `named`, what makes them.

    >>> check_room(1000, "range=2, slide=1")
    """
    if results * _BYTES < 1 << 28:  # not worth asking
        return
    free = free_memory()
    if results * _BYTES > free:
        raise InvalidArgument(
            f"{named} would make {results:,} results, which take {_in_words(results * _BYTES)} or "
            f"more, and {_in_words(free)} of memory are free: take a larger slide, a shorter "
            f"window or fewer rows, or leave slide= out for a result a row"
        )


def free_memory() -> int:
    """Return how many bytes this process can still take, of the machine or of its container."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    for path in _LIMITS:
        limit = _text(path).strip()
        if limit.isdecimal():
            free = min(free, int(limit))
    return free


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # another system, or no container
        return ""


def _in_words(size: int) -> str:
    """Return a number of bytes in words.

    >>> _in_words(5_530_000_000_000), _in_words(800_000_000)
    ('5.5 TB', '800.0 MB')
    """
    number, units = size / 1e6, ["MB", "GB", "TB", "PB", "EB"]
    while number >= 1000 and len(units) > 1:
        number, units = number / 1000, units[1:]
    return f"{number:.1f} {units[0]}"
