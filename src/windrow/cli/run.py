"""`windrow run`: a query over files, on Spark, as a stream, or in this process."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from windrow.cli.failures import Usage
from windrow.cli.inputs import FORMATS, STDIN, Input, absolute, is_address, read_inputs
from windrow.cli.outputs import STDOUT, is_directory, output_format, write_directory, write_table
from windrow.cli.query import read_query
from windrow.cli.session import LOCAL, read_settings, spark_session
from windrow.cli.terminal import Steps, say
from windrow.queries.query import Query


@dataclass(frozen=True)
class Job:
    """What was asked for, checked."""

    query: Query
    source: Input
    schema: str | None
    time_column: str | None
    output: str
    format: str
    master: str
    settings: dict[str, str]
    verbose: bool
    as_json: bool


@click.command()
@click.argument("query", metavar="QUERY|FILE")
@click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    required=True,
    metavar="[NAME=]PATH",
    help="What the query reads: files, directories, patterns; NAME is the one after FROM. "
    "With --local, - is stdin. May be given several times.",
)
@click.option(
    "--format",
    "input_format",
    type=click.Choice(FORMATS),
    help="The format of the input; json is a line for each row. Else the names of the files tell.",
)
@click.option(
    "--schema",
    metavar="DDL",
    help="The input's columns, as in 'ts TIMESTAMP, load DOUBLE'; else the files tell.",
)
@click.option(
    "--time-column",
    metavar="NAME",
    help="The column of times: read as such even if it is text, and the order of a query that "
    "names none.",
)
@click.option(
    "--output",
    "-o",
    default=STDOUT,
    metavar="PATH|-",
    help="A file (.csv, .jsonl, .parquet), a directory, or - for stdout.  [default: -]",
)
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    help="The format of the output; else its name tells, or csv on stdout, parquet elsewhere.",
)
@click.option("--local", is_flag=True, help="In this process, without Spark.")
@click.option(
    "--master", metavar="URL", help=f"Where Spark runs, sc://… included.  [default: {LOCAL}]"
)
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark.")
@click.option("--stream", is_flag=True, help="Go on as directories grow, until Ctrl-C.")
@click.option(
    "--checkpoint",
    metavar="DIR",
    help="Where a stream keeps what it has done; the next run goes on from there.",
)
@click.option("--once", is_flag=True, help="A stream that ends when it has read what is there.")
@click.option("--every", metavar="TIME", help="How often a stream looks, as in '10 seconds'.")
@click.option("--verbose", is_flag=True, help="Show Spark's log.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="JSON lines on stdout; with --output PATH, a summary. Errors are JSON too.",
)
def run(query: str, inputs: tuple[str, ...], **options: Any) -> None:
    """Run a query over files, on Spark or in this process.

    QUERY is CQL, or a file with CQL (.cql, .sql) or with the arguments of a query (.toml) in it.
    The answers go to stdout, or to --output, which is never there in half.

    \b
    windrow run 'SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug RANGE 1 HOUR]' \\
        --input plugs=plugs.csv --output peaks.parquet
    windrow run hourly.toml -i plugs/ --stream --checkpoint state/ -o answers/
    """
    _check_together(options)
    job = _job(query, inputs, options)
    if options["stream"]:
        from windrow.cli.stream import run_stream

        run_stream(job, options["checkpoint"], options["once"], options["every"])
        return
    started = time.perf_counter()
    rows = _run_local(job) if options["local"] else _run_spark(job)
    _summary(job, rows, time.perf_counter() - started)


def _check_together(options: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    if options["local"]:
        for name in ("stream", "master", "conf"):
            if options[name]:
                raise Usage(f"--{name} is Spark's, and --local runs without it: leave one out")
    if not options["stream"]:
        for name in ("checkpoint", "once", "every"):
            if options[name]:
                raise Usage(f"--{name} goes with --stream")
    if options["once"] and options["every"]:
        raise Usage("--once ends by itself: leave --every out")


def _job(query: str, inputs: tuple[str, ...], options: dict[str, Any]) -> Job:
    asked = read_query(query)
    source = read_inputs(inputs, asked, options["input_format"])
    if STDIN in source.paths and not options["local"]:
        raise Usage("--input -: Spark does not read stdin; add --local")
    column = options["time_column"]
    if column is not None and not asked.order_by:
        asked = asked.replace(order_by=(column,))
    output = options["output"]
    made = output_format(output, options["output_format"], options["as_json"])
    if output != STDOUT and not is_directory(output) and not Path(output).parent.is_dir():
        raise Usage(f"--output {output}: there is no directory {str(Path(output).parent)!r}")
    return Job(
        asked,
        source,
        options["schema"],
        column,
        output,
        made,
        options["master"] or LOCAL,
        read_settings(options["conf"]),
        options["verbose"],
        options["as_json"],
    )


def _run_local(job: Job) -> int:
    from windrow.cli.tables import read_table

    with Steps(quiet=not sys.stderr.isatty()) as steps:
        with steps.step(f"reading {job.source.name}") as note:
            table = read_table(job.source, job.schema, job.time_column)
            note(f"{table.num_rows:,} rows")
        with steps.step("running the query"):
            answers = job.query(table)
    write_table(answers, job.output, job.format)
    return int(answers.num_rows)


def _run_spark(job: Job) -> int | None:
    from windrow.cli.frames import read_frame

    with Steps(quiet=not sys.stderr.isatty()) as steps, ExitStack() as open_session:
        with steps.step("starting Spark"):
            started = spark_session(job.master, job.settings, job.verbose)
            spark = open_session.enter_context(started)
        answers = read_frame(spark, job).transform(job.query)
        with steps.step("running the query"):
            if job.output != STDOUT and is_directory(job.output):
                _save(answers, job)
                return None
            table = answers.toArrow()
    write_table(table, job.output, job.format)
    return int(table.num_rows)


def _save(answers: Any, job: Job) -> None:
    """A directory of files, by Spark: no row passes through this process."""

    def save(path: str) -> None:
        answers.write.format(job.format).option("header", True).save(path)

    if is_address(job.output):
        save(job.output)
    else:
        write_directory(save, absolute(job.output))


def _summary(job: Job, rows: int | None, seconds: float) -> None:
    if job.output == STDOUT:
        return
    if job.as_json:
        told = {"output": job.output, "format": job.format, "rows": rows, "seconds": seconds}
        click.echo(json.dumps(told))
        return
    many = "the answers" if rows is None else f"{rows:,} rows"
    say(f"{many} in {job.output} after {seconds:.1f} s")
