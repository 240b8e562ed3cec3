"""The command line: `windrow demo`, `run`, `explain`, `warm`, and what tells about windrow itself.

    app        the commands by name, each imported when it is called
    failures   what went wrong, in words, and the exit code
    terminal   options that commands share, JSON and tables, messages and progress
    query      CQL, or a file with a query in it, to a query
    inputs     files by name and format; tables reads them here, frames on Spark
    times      how a column writes its times
    outputs    rows to a file or to stdout, all of them or none
    session    Spark, quiet, and the Java that it runs on
    stream     what run does with --stream
    trials     what doctor runs, in processes of their own
    run, watch, warm, doctor, bench, demo/: a command each
    about      explain, algorithms, functions, completion

Results go to stdout, everything else to stderr; `failures` has the exit codes.
"""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command that the arguments of this process ask for, and exit."""
    signal.signal(signal.SIGTERM, _end)
    try:
        from windrow.cli.app import run

        raise SystemExit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        print("the windrow command needs click: pip install 'windrow[cli]'", file=sys.stderr)
        raise SystemExit(1) from None


def _end(number: int, _: object) -> None:
    """End as an exception does, so that what is half written goes; a second signal ends at once."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)
