"""What the demo found: as a table, as JSON, as a chart and a page."""

from __future__ import annotations

import os
import platform
from importlib import import_module
from pathlib import Path
from typing import Any

from windrow.cli.demo.chart import draw, inline, save
from windrow.cli.demo.page import render
from windrow.cli.demo.questions import LATENESS
from windrow.cli.demo.run import Findings, Result
from windrow.cli.java import find_java
from windrow.cli.outputs import replacing
from windrow.cli.terminal import table


def summary(findings: Findings) -> str:
    """The table that goes to stdout."""
    header = [
        "query",
        "answers",
        "batch",
        "Spark's own",
        "",
        "stream",
        "stream = batch",
        "= Spark's",
    ]
    lines = [
        [
            result.question.name,
            f"{result.own.answers.num_rows:,}",
            f"{result.own.seconds:.1f} s",
            f"{result.spark.seconds:.1f} s",
            f"{result.ratio:.1f}×",
            f"{result.streamed.seconds:.1f} s",
            _yes(result.agreement.holds, str(result.agreement)),
            _yes(result.same, result.sameness.partition(":")[0]),
        ]
        for result in findings.results
    ]
    late = (
        f"{findings.arrivals.late:,} rows came more than {LATENESS} late: "
        "the streams counted and dropped them, the batch leaves them out"
    )
    return f"{table(header, lines, right=[1, 2, 3, 4, 5])}\n\n{late}"


def _yes(holds: bool, how: str) -> str:
    return f"yes, {how}" if holds else f"NO: {how}"


def as_dict(findings: Findings, seconds: float) -> dict[str, Any]:
    """What was found, for machines."""
    return {
        "rows": findings.readings.num_rows,
        "rows_late": findings.arrivals.late,
        "seconds": seconds,
        "agree": findings.agree,
        "queries": [
            {
                "name": result.question.name,
                "answers": result.own.answers.num_rows,
                "windrow_seconds": result.own.seconds,
                "spark_seconds": result.spark.seconds,
                "stream_seconds": result.streamed.seconds,
                "stream_rows_late": result.streamed.tally.late,
                "stream_agrees": result.agreement.holds,
                "stream_agreement": str(result.agreement),
                "spark_agrees": result.same,
                "spark_agreement": result.sameness,
            }
            for result in findings.results
        ],
    }


def draw_all(findings: Findings, folder: Path, seconds: float) -> list[Path]:
    """The page, and the chart as files of its own."""
    import pyspark

    readings, results = findings.readings, findings.results
    figure = draw(readings, {r.question.name: r.own.answers for r in results})
    charts = save(figure, folder)
    longest = max(max(r.own.seconds, r.spark.seconds) for r in results)
    page = render(
        rows=f"{readings.num_rows:,}",
        plugs=len(readings.column("plug_id").unique()),
        houses=len(readings.column("house_id").unique()),
        agree=findings.agree,
        compared=f"{sum(r.agreement.rows for r in results):,}",
        files=findings.arrivals.files,
        late=f"{findings.arrivals.late:,}",
        lateness=LATENESS,
        seconds=f"{seconds:.0f}",
        cores=os.cpu_count(),
        chart=inline(figure),
        questions=[_row(result, longest) for result in results],
        versions={
            "windrow": import_module("windrow").__version__,
            "spark": pyspark.__version__,
            "java": find_java().version,
            "python": platform.python_version(),
        },
    )
    path = folder / "index.html"
    with replacing(path) as part:
        part.write_text(page, "utf-8")
    return [path, *charts]


def _row(result: Result, longest: float) -> dict[str, Any]:
    """What the page tells of one question."""
    ratio = result.ratio
    return {
        "name": result.question.name,
        "says": result.question.says,
        "answers": f"{result.own.answers.num_rows:,}",
        "own": f"{result.own.seconds:.1f}",
        "spark": f"{result.spark.seconds:.1f}",
        "own_share": round(60 * result.own.seconds / longest, 1),
        "spark_share": round(60 * result.spark.seconds / longest, 1),
        "ratio": f"{ratio:.1f}× as fast" if ratio >= 1 else f"{1 / ratio:.1f}× as long",
        "stream": f"{result.streamed.seconds:.1f}",
        "agrees": result.agreement.holds,
        "agreement": str(result.agreement),
        "same": result.same,
        "sameness": result.sameness,
        "query": repr(result.question.query),
        "plan": result.question.query.explain(),
    }
