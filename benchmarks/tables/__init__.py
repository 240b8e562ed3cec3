"""How fast queries over tables are, against their peers and as tables and windows grow.

    python -m benchmarks.tables [--quick] [--only peers growth …] [--json FILE] [--markdown FILE]

One run measures everything, in rounds of another order each; a figure is the median of the rounds,
with the smallest and the largest. Everyone has all cores. What would take longer than LONG seconds
is measured on a twentieth of the table, with windows as long, and multiplied; the fastest peer is
then run once over all of it. Ctrl-C ends the run and keeps what is done.
"""

from __future__ import annotations

from benchmarks.arrays.measuring import Section
from benchmarks.tables import growth, memory, peers

SECTIONS: dict[str, Section] = {
    "peers": peers.SECTION,
    "rows": growth.ROWS,
    "windows": growth.WINDOWS,
    "memory": memory.SECTION,
}
PACKAGES = ("numpy", "numba", "pyarrow", "pandas", "polars", "duckdb")
TITLE = "windrow over tables"
