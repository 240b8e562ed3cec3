"""How queries over tables cost as tables and windows grow; their peers: `windrow bench peers`.

    python -m benchmarks.tables [--quick] [--only rows windows …] [--json FILE] [--markdown FILE]

One run measures everything, in rounds of another order each; a figure is the median of the rounds,
with the smallest and the largest, on all cores. Ctrl-C ends the run and keeps what is done.
"""

from __future__ import annotations

from benchmarks.arrays.measuring import Section
from benchmarks.tables import growth, memory

SECTIONS: dict[str, Section] = {
    "rows": growth.ROWS,
    "windows": growth.WINDOWS,
    "memory": memory.SECTION,
}
PACKAGES = ("numpy", "numba", "pyarrow", "pandas", "polars", "duckdb")
TITLE = "windrow over tables"
