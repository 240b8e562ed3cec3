"""The command line: `windrow demo`, `run`, `explain`, and what tells about windrow itself.

    app        the commands by name, each imported when it is called
    failures   what went wrong, in words, and the exit code
    terminal   options that commands share, JSON and tables, messages and progress
    query      CQL, or a file with a query in it, to a query
    inputs     files by name, format and schema, as Spark reads them; tables reads them here
    outputs    rows to a file or to stdout, all of them or none
    session    Spark, quiet, and the Java that it runs on
    stream     what run does with --stream
    run, doctor, bench, demo/: a command each; about: explain, algorithms, functions, completion

Results go to stdout, everything else to stderr; the exit code is 0, 1 (failed) or 2 (wrong usage).
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the arguments of this process ask for, and exit."""
    try:
        from windrow.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        print("the windrow command needs click: pip install 'windrow[cli]'", file=sys.stderr)
        raise SystemExit(1) from None
    raise SystemExit(run(sys.argv[1:]))
