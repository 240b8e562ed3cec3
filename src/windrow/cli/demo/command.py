"""`windrow demo`: readings, batch, stream, the comparison; a table, a picture and a page of it."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import click

from windrow.cli.demo.agreement import Agreement
from windrow.cli.demo.chart import save_charts
from windrow.cli.demo.questions import LATENESS
from windrow.cli.demo.run import Findings, run_all
from windrow.cli.failures import Usage
from windrow.cli.outputs import replacing
from windrow.cli.session import check_java, find_java
from windrow.cli.terminal import (
    VERSION,
    Steps,
    json_option,
    say,
    show_json,
    table,
    verbose_option,
)

_LEAST = 60_000  # rows: fewer cover too short a time for a row to be too late
_HEADER = ("query", "results", "batch", "Spark's own", "", "stream", "stream = batch", "= Spark's")


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
    """Spark batch and Spark streaming, the same results.

    Makes smart-plug readings, runs three queries over them as a Spark batch and as a Spark stream
    on this machine, checks that both agree row for row, times them against Spark's own window
    functions, and writes a chart and a page. One to two minutes, and 2 GB of memory.
    """
    if rows < _LEAST:
        raise Usage(f"--rows {rows}: it takes {_LEAST:,} or more, some hours of readings")
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise Usage(f"--output {output}: it is a file, and a directory is needed")
    for module in ("jinja2", "matplotlib", "pyspark", "google.protobuf"):
        import_module(module)  # what is missing is told before the work
    check_java()
    folder.mkdir(parents=True, exist_ok=True)
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


def summary(findings: Findings) -> str:
    """Return the table that goes to stdout."""
    lines = [
        [
            each.question.name,
            f"{each.windrow.table.num_rows:,}",
            f"{each.windrow.seconds:.1f} s",
            f"{each.spark.seconds:.1f} s",
            f"{each.ratio:.1f}×",
            f"{each.stream.seconds:.1f} s",
            _yes_or_no(each.stream_agreement),
            _yes_or_no(each.spark_agreement),
        ]
        for each in findings.comparisons
    ]
    late = (
        f"{findings.arrivals.late:,} rows came more than {LATENESS} late: "
        "the streams counted and dropped them, the batch leaves them out"
    )
    return f"{table(_HEADER, lines, right=[1, 2, 3, 4, 5])}\n\n{late}"


def _yes_or_no(agreement: Agreement) -> str:
    short = agreement.says.partition(":")[0]
    return f"yes, {short}" if agreement.holds else f"NO: {short}"


def as_dict(findings: Findings, seconds: float) -> dict[str, Any]:
    """Return what was found, for machines."""
    return {
        "rows": findings.readings.num_rows,
        "rows_late": findings.arrivals.late,
        "seconds": seconds,
        "agree": findings.stream_agrees,
        "queries": [
            {
                "name": each.question.name,
                "answers": each.windrow.table.num_rows,
                "windrow_seconds": each.windrow.seconds,
                "spark_seconds": each.spark.seconds,
                "stream_seconds": each.stream.seconds,
                "stream_rows_late": each.stream.late,
                "stream_agrees": each.stream_agreement.holds,
                "stream_agreement": each.stream_agreement.says,
                "spark_agrees": each.spark_agreement.holds,
                "spark_agreement": each.spark_agreement.says,
            }
            for each in findings.comparisons
        ],
    }


def write_files(findings: Findings, folder: Path, seconds: float) -> list[Path]:
    """Write the page, which has the chart in it, and the chart by itself; return their paths."""
    results = {each.question.name: each.windrow.table for each in findings.comparisons}
    inline, charts = save_charts(findings.readings, results, folder)
    path = folder / "index.html"
    with replacing(path) as part:
        part.write_text(_page(findings, inline, seconds), "utf-8")
    return [path, *charts]


def _page(findings: Findings, chart: str, seconds: float) -> str:
    """Return one HTML file with everything in it, which needs no network."""
    import pyspark
    from jinja2 import Environment, StrictUndefined

    from windrow.spark.progress_page import style

    template = resources.files("windrow.cli.demo").joinpath("page.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(template).render(
        style=style(),
        readings=findings.readings,
        arrivals=findings.arrivals,
        comparisons=findings.comparisons,
        stream_agrees=findings.stream_agrees,
        longest=max(max(c.windrow.seconds, c.spark.seconds) for c in findings.comparisons),
        lateness=LATENESS,
        seconds=seconds,
        cores=os.cpu_count(),
        chart=chart,
        versions={
            "windrow": VERSION,
            "spark": pyspark.__version__,
            "java": find_java().version,
            "python": platform.python_version(),
        },
    )
    return f"{page}\n"
