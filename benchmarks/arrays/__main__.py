"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import arrays
from benchmarks.arrays.measuring import Settings, markdown, measure_all
from windrow.bench.measuring import Row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.arrays",
        description=arrays.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the values")
    parser.add_argument("--only", nargs="+", choices=arrays.SECTIONS, metavar="NAME",
                        help=f"of {', '.join(arrays.SECTIONS)}")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the raw results go")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="where the tables go")
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    n = given.n or (400_000 if given.quick else 4_000_000)
    settings = Settings(given.quick, n, repeats=3 if given.quick else 5)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

    def save(report: Row) -> None:
        if given.json:
            given.json.write_text(
                json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )
        if given.markdown:
            given.markdown.write_text(markdown(report, arrays.SECTIONS), encoding="utf-8")

    wanted = given.only or arrays.SECTIONS
    sections = {name: s for name, s in arrays.SECTIONS.items() if name in wanted}
    report = measure_all(sections, settings, save)
    print(markdown(report, arrays.SECTIONS), end="")
    return 0 if report["finished"] else 130


if __name__ == "__main__":
    sys.exit(main())
