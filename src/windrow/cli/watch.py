"""`windrow watch`: a program's streams on a live page, or the page of one that runs already."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from windrow.cli.failures import Failed, Usage
from windrow.cli.terminal import say

port_option = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Where the page is, at 127.0.0.1; 0 is any free port.  [default: 4141, or the next free]",
)


# What follows PROGRAM is the program's own, its options too.
@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@port_option
@click.argument("program", required=False, metavar="[PROGRAM.py]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def watch(port: int | None, program: str | None, arguments: tuple[str, ...]) -> None:
    """Show the streams of a program on a live page.

    Runs PROGRAM.py with its ARGUMENTS, as python would; all Spark streams that it starts are on the
    page until it ends. Without a PROGRAM, opens the page of one that runs already: under `windrow
    watch`, `windrow run --stream --watch`, or with live_view(spark) in it.

    \b
    windrow watch job.py --date 2026-01-01
    windrow watch
    """
    if program is None:
        open_page(_running_page(port))
        return
    if not Path(program).is_file():
        raise Usage(f"there is no program {program!r}")
    import_module("pyspark")  # if it is missing, that is told before the program runs
    from windrow.spark.progress_page import LiveView

    with LiveView(port) as view:
        open_page(view.url)
        with _every_session(view.listen):
            _run(program, arguments)
        if not view.snapshot()["queries"]:
            raise Failed(f"{program} has ended, and no stream has run in it")


def open_page(url: str) -> None:
    """Print where a page is, and open it where there is a desktop and a person."""
    say(f"live page: {url}")
    desktop = sys.platform in ("darwin", "win32") or any(
        name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if desktop and sys.stderr.isatty():
        webbrowser.open(url)


def _running_page(port: int | None) -> str:
    """Return the address of a live page on this machine, by asking each port for one."""
    from windrow.spark.local_server import LOCAL
    from windrow.spark.progress_page import ABOUT, PORT, PORTS

    ports = range(PORT, PORT + PORTS) if port is None else [port]
    for candidate in ports:
        url = f"http://{LOCAL}:{candidate}/"
        with (
            suppress(OSError, ValueError),
            urllib.request.urlopen(f"{url}about", timeout=1) as answer,
        ):
            if answer.read(99) == ABOUT:
                return url
    where = f"port {port}" if port is not None else f"ports {PORT} to {PORT + PORTS - 1}"
    raise Failed(
        f"no stream is watched on {where} of this machine: start one with `windrow watch "
        f"PROGRAM.py` or `windrow run … --stream --watch`, or call live_view(spark) in its program"
    )


@contextmanager
def _every_session(listen: Callable[[Any], object]) -> Iterator[None]:
    """Have `listen` called with each session that `SparkSession.builder` makes in the block."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.Builder
    get_or_create = builder.getOrCreate
    heard: list[Any] = []

    def seen(self: Any) -> Any:
        session = get_or_create(self)
        if all(session is not other for other in heard):
            heard.append(session)
            listen(session)
        return session

    builder.getOrCreate = seen
    try:
        yield
    finally:
        builder.getOrCreate = get_or_create


def _run(program: str, arguments: tuple[str, ...]) -> None:
    """Run a program as python would, its errors included."""
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:0] = [program, *arguments], [str(Path(program).resolve().parent)]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # which has windrow
    try:
        runpy.run_path(program, run_name="__main__")
    except Exception:
        traceback.print_exc()
        raise click.exceptions.Exit(1) from None
    finally:
        sys.argv, sys.path[:] = before
