"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import stores
from benchmarks.arrays.measuring import say
from benchmarks.stores import sections
from windrow.bench.measuring import Row, load, machine

SECTIONS = ("memory", "events")


def markdown(report: Row) -> str:
    about, rows = report["machine"], report["rows"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    parts = [
        "# windrow in stores",
        f"{about['cpu']}, {about['cores']} cores, {about['system']}; Python {about['python']}, "
        f"windrow {about['windrow']}, {versions}. Load {about['load_before']:.1f} before, "
        f"{about['load_after']:.1f} after. {about['when']}."
        + (" A quick run, with small windows." if report["quick"] else ""),
    ]
    if "memory" in rows:
        parts += [
            "## Memory",
            "One window of Max with AMTA, in a process of its own: what the process has grown by.",
            sections.show_memory(rows["memory"]),
            "## Evicting many",
            sections.show_evicting(rows["memory"]),
        ]
    if "events" in rows:
        text = f"A window of {sections.EVENTS_WINDOW:,} values of Max; medians of rounds."
        parts += ["## Time an event", text, sections.show_events(rows["events"])]
    lines = [
        f"- {text}: **{'reached' if met else 'missed'}**" for text, met in sections.verdicts(rows)
    ]
    return "\n\n".join([*parts, "## Targets", "\n".join(lines)]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stores",
        description=stores.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small windows, few events")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="NAME")
    parser.add_argument("--redis", metavar="URL", help="a server to measure as well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the raw results go")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="where the tables go")
    given = parser.parse_args(arguments)
    about = machine(("rocksdict", "lmdb", "redis"))
    rows: dict[str, list[Row]] = {}
    for name in given.only or SECTIONS:
        say(name)
        found = (
            sections.filling(given.quick)
            if name == "memory"
            else sections.events(given.quick, given.redis)
        )
        rows[name] = list(found)
    about["load_after"] = load()
    report: Row = {"machine": about, "quick": given.quick, "rows": rows}
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if given.markdown:
        given.markdown.write_text(markdown(report), encoding="utf-8")
    print(markdown(report), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
