"""How fast `rolling` is over arrays, against its targets; its peers: `windrow bench peers`.

    python -m benchmarks.arrays [--quick] [--only own loops …] [--json FILE] [--markdown FILE]

One run measures everything, one contender after the other and then again, so that a disturbance
of the machine meets all of them. A first call, which may compile, is kept apart from the timed
ones; a figure is their median, with the smallest and the largest. All run on one thread unless
the section is about threads. The tables at the top of a section's file say what is measured: a
case is a line there. Ctrl-C ends the run and keeps what is done.
"""

from __future__ import annotations

from benchmarks.arrays import accuracy, first, latency, loops, own, threads
from benchmarks.arrays.measuring import Section

SECTIONS: dict[str, Section] = {
    "accuracy": accuracy.SECTION,
    "own": own.SECTION,
    "loops": loops.SECTION,
    "latency": latency.SECTION,
    "threads": threads.SECTION,
    "first": first.SECTION,
}
