"""What the demo found: as a table, as JSON, as a chart and a page."""

from __future__ import annotations

import os
import platform
from importlib import resources
from pathlib import Path
from typing import Any

from windrow.cli.demo.agreement import Agreement
from windrow.cli.demo.chart import save_charts
from windrow.cli.demo.questions import LATENESS
from windrow.cli.demo.run import Findings
from windrow.cli.outputs import replacing
from windrow.cli.session import find_java
from windrow.cli.terminal import VERSION, table

_HEADER = ("query", "answers", "batch", "Spark's own", "", "stream", "stream = batch", "= Spark's")


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

    template = resources.files("windrow.cli.demo").joinpath("page.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(template).render(
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
