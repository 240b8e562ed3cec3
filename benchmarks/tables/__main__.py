"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import tables
from benchmarks.arrays.measuring import Settings, markdown, measure_all
from windrow.bench.measuring import Row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tables",
        description=tables.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--only", nargs="+", choices=tables.SECTIONS, metavar="NAME",
                        help=f"of {', '.join(tables.SECTIONS)}")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the raw results go")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="where the tables go")
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    n = given.n or (500_000 if given.quick else 5_000_000)
    settings = Settings(given.quick, n, repeats=3)

    def save(report: Row) -> None:
        if given.json:
            given.json.write_text(
                json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )
        if given.markdown:
            given.markdown.write_text(shown(report), encoding="utf-8")

    def shown(report: Row) -> str:
        return markdown(report, tables.SECTIONS, tables.TITLE)

    wanted = given.only or tables.SECTIONS
    sections = {name: s for name, s in tables.SECTIONS.items() if name in wanted}
    report = measure_all(sections, settings, save, tables.PACKAGES)
    print(shown(report), end="")
    return 0 if report["finished"] else 130


if __name__ == "__main__":
    sys.exit(main())
