"""`windrow demo`: a story in four acts on the terminal, and a picture and a page of it."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import import_module, resources
from pathlib import Path

import click
import pyarrow as pa

from windrow.cli.demo.chart import Pictures, save_charts
from windrow.cli.demo.questions import LATENESS, MANY, QUESTIONS
from windrow.cli.demo.run import (
    Comparison,
    Findings,
    Job,
    Kill,
    Race,
    as_batch,
    as_stream,
    go_on,
    in_this_process,
    make_readings,
    race,
    run_and_kill,
)
from windrow.cli.failures import Usage
from windrow.cli.outputs import replacing
from windrow.cli.session import check_java, find_java
from windrow.cli.terminal import (
    VERSION,
    Steps,
    coloured,
    json_option,
    say,
    show_json,
    table,
    verbose_option,
)

_LEAST = 60_000  # rows: fewer cover too short a time for a row to be too late


@click.command()
@click.option("--rows", default=120_000, show_default=True, help="How many readings to make.")
@click.option(
    "--output",
    "-o",
    default="windrow-demo",
    show_default=True,
    metavar="DIR",
    help="Where the chart and the page go.",
)
@click.option("--watch", is_flag=True, help="Keep the page of the stream open until Enter.")
@verbose_option
@json_option("What was found as JSON.")
def demo(rows: int, output: str, watch: bool, verbose: bool, as_json: bool) -> int:
    """One query on three engines, and a stream that is killed.

    Makes smart-plug readings and asks the same of them in this process, as a Spark batch and as a
    Spark stream: the same rows. Races Spark's own window functions, kills the stream while you
    watch it on a page, and starts it again: nothing is lost. Writes a chart and a page. One to two
    minutes, and 2 GB of memory.
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
    place = tempfile.TemporaryDirectory(prefix="windrow-demo-", ignore_cleanup_errors=True)
    with place as name:
        story = Story(Path(name), as_json, verbose)
        findings = story.run(rows, watch and not as_json)
    seconds = time.perf_counter() - started
    paths = write_files(findings, story.readings, story.tables, folder, seconds)
    if as_json:
        fields = {**asdict(findings), "seconds": seconds, "agree": findings.agree}
        show_json({**fields, "files": [str(path) for path in paths]})
    else:
        click.echo(f"\n{seconds:.0f} s in all. The results as a page and as a chart:")
        click.echo("\n".join(map(str, paths)))
    return 0 if findings.agree else 1


class Story:
    """The acts one by one, with what each found; nothing is shown if `quiet`."""

    readings: pa.Table
    tables: dict[str, pa.Table]  # the results in this process, by question

    def __init__(self, place: Path, quiet: bool, verbose: bool) -> None:
        self._place, self._quiet, self._verbose = place, quiet, verbose

    def run(self, rows: int, watch: bool) -> Findings:
        """Run the acts, and return what they found."""
        place, verbose = self._place, self._verbose
        with self._steps() as steps, steps.step(f"making {rows:,} readings of smart plugs"):
            self.readings, arrivals = make_readings(rows, place)
        self._head("1  What is asked")
        self._show("\n\n".join(f"{q.says}:\n{q.query}" for q in QUESTIONS))
        self._head("2  The same query in this process and on Spark")
        with self._steps() as steps, steps.step("in this process, without Spark"):
            own = {q.name: in_this_process(q, arrivals) for q in QUESTIONS}
        self.tables = {name: table for name, (table, _) in own.items()}
        with Job(place, verbose) as job:
            with self._steps() as steps:
                with steps.step("starting Spark, and warming up"):
                    job.until("warm")
                with steps.step("as a Spark batch"):
                    comparisons = [as_batch(job, q, own[q.name], place) for q in QUESTIONS]
            self._show(engines(comparisons))
            self._head("3  Against Spark's own window functions")
            with self._steps() as steps, steps.step(MANY.says.partition(",")[0]) as note:
                raced = race(job, place, note)
            self._show(race_in_words(raced))
            self._head("4  A stream that is killed")
            url = job.until("live")["url"]
            self._show(f"look at it while it runs: {url}")
            with self._steps() as steps, steps.step("streaming, out of order and late") as note:
                committed, begun = run_and_kill(job, arrivals, place, note)
            self._show(
                f"killed, without a warning, in micro-batch {begun} of {arrivals.files}: "
                f"{committed} {'is' if committed == 1 else 'are'} done"
            )
        with Job(place, verbose, url) as job:
            with self._steps() as steps:
                with steps.step("starting it again"):
                    job.until("live")
                with steps.step("streaming on from its checkpoint") as note:
                    go_on(job, arrivals, committed, note)
            streams = [as_stream(q, self.tables[q.name], place) for q in QUESTIONS]
            comparisons = [
                replace(comparison, stream_agrees=same.holds, stream_agreement=same.says)
                for comparison, (same, _, _) in zip(comparisons, streams, strict=True)
            ]
            _, rows_out, late = streams[0]
            kill = Kill(arrivals.files, committed, begun, late)
            findings = Findings(rows, arrivals.late, rows_out, comparisons, raced, kill)
            self._show(kill_in_words(findings))
            if watch:
                click.pause(f"the page is at {url}; Enter ends it", err=True)
        return findings

    def _steps(self) -> Steps:
        return Steps(quiet=self._quiet)

    def _head(self, text: str) -> None:
        if not self._quiet:
            say(f"\n{coloured(text, 'bold')}")

    def _show(self, text: str) -> None:
        if not self._quiet:
            click.echo(text)


# -- in words ------------------------------------------------------------------------------------


def engines(comparisons: Sequence[Comparison]) -> str:
    """Return a table: how many results, how long it took, and whether they are the same."""
    header = ("query", "results", "in this process", "Spark batch", "the same rows")
    lines = [
        [
            query.name,
            f"{query.answers:,}",
            f"{query.table_seconds:.2f} s",
            f"{query.spark_seconds:.2f} s",
            yes_or_no(query.batch_agrees, query.batch_agreement),
        ]
        for query in comparisons
    ]
    return table(header, lines, right=[1, 2, 3])


def race_in_words(race: Race) -> str:
    """Return who won, and that both have the same results."""
    faster = race.ratio >= 1
    ratio, word = (race.ratio, "fast") if faster else (1 / race.ratio, "long")
    return (
        f"{MANY.says}:\n"
        f"windrow {race.windrow_seconds:.1f} s, Spark's own functions {race.spark_seconds:.1f} s: "
        f"{ratio:.1f} times as {word}\n"
        f"the same {race.numbers:,} numbers: {yes_or_no(race.agrees, race.agreement)}"
    )


def kill_in_words(findings: Findings) -> str:
    """Return whether the stream that was killed has the results of the batch, all and once."""
    late, rows = findings.kill.rows_late, findings.rows_out
    same = "; ".join(
        f"{query.name}: {yes_or_no(query.stream_agrees, query.stream_agreement)}"
        for query in findings.queries
    )
    lost = "nothing is lost, nothing is there twice" if findings.engines_agree else "NOT THE SAME"
    return (
        f"{rows - late:,} readings have their result, and {late:,} came more than "
        f"{LATENESS} late and are marked so:\n{rows:,} of {findings.rows:,}, {lost}\n"
        f"the same rows as in this process: {same}"
    )


def yes_or_no(agrees: bool, says: str) -> str:
    """Return whether two tables are the same, in words."""
    return f"yes, {says}" if agrees else f"NO: {says}"


def write_files(
    findings: Findings,
    readings: pa.Table,
    results: dict[str, pa.Table],
    folder: Path,
    seconds: float,
) -> list[Path]:
    """Write the page, which has the chart in it, and the chart by itself; return their paths."""
    chart, paths = save_charts(readings, results, folder)
    path = folder / "index.html"
    with replacing(path) as part:
        part.write_text(_page(findings, readings, chart, seconds), "utf-8")
    return [path, *paths]


def _page(findings: Findings, readings: pa.Table, chart: Pictures, seconds: float) -> str:
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
        findings=findings,
        readings=readings,
        many=MANY,
        questions=QUESTIONS,
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
