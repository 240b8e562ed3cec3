"""`windrow demo`: readings, batch, stream, the comparison, a picture and a page."""

from __future__ import annotations

import tempfile
import time
from importlib import import_module
from pathlib import Path

import click

from windrow.cli.failures import Usage
from windrow.cli.terminal import Steps, json_option, say, show_json, verbose_option

_LEAST = 60_000  # rows: fewer cover too short a time for a row to be too late


@click.command()
@click.option("--rows", default=300_000, show_default=True, help="How many readings to make.")
@click.option(
    "--output",
    "-o",
    default="windrow-demo",
    show_default=True,
    metavar="DIR",
    help="Where the chart and the page go.",
)
@verbose_option
@json_option("What was found as JSON.")
def demo(rows: int, output: str, verbose: bool, as_json: bool) -> int:
    """Spark batch and Spark streaming, the same answers.

    Makes smart-plug readings, runs three queries over them as a Spark batch and as a Spark stream
    on this machine, checks that both agree row for row, times them against Spark's own window
    functions, and writes a chart and a page. One to two minutes, and 2 GB of memory.
    """
    if rows < _LEAST:
        raise Usage(f"--rows {rows}: it takes {_LEAST:,} or more, some hours of readings")
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise Usage(f"--output {output}: it is a file, and a directory is needed")
    folder.mkdir(parents=True, exist_ok=True)
    for module in ("jinja2", "matplotlib", "pyspark"):  # a missing one is told before the work
        import_module(module)
    from windrow.cli.demo.report import as_dict, summary, write_files
    from windrow.cli.demo.run import run_all

    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="windrow-demo-", ignore_cleanup_errors=True) as place,
        Steps(quiet=as_json) as steps,
    ):
        findings = run_all(steps, rows, Path(place), verbose)
        with steps.step("drawing the chart and the page"):
            paths = write_files(findings, folder, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    if as_json:
        show_json({**as_dict(findings, seconds), "files": [str(path) for path in paths]})
    else:
        click.echo(summary(findings))
        say("\n".join(["", *map(str, paths)]))
    return 0 if findings.stream_agrees and findings.spark_agrees else 1
