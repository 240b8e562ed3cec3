"""`windrow run`: a query over files, on Spark, as a stream, or in this process."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from windrow.cli.failures import Usage, usage
from windrow.cli.frames import malformed_records_named, read_frame
from windrow.cli.inputs import FORMATS, STDIN, Input, read_inputs
from windrow.cli.outputs import (
    STDOUT,
    WRITTEN,
    check_free,
    check_parent,
    directory,
    is_directory,
    output_format,
    write_table,
)
from windrow.cli.query import read_query
from windrow.cli.session import LOCAL, check_master, read_settings, spark_session
from windrow.cli.terminal import Steps, json_option, say, show_json, verbose_option
from windrow.cli.times import EPOCHS, TimeFormat
from windrow.cli.watch import port_option
from windrow.queries.query import Query
from windrow.queries.select import Select

# The options that are a stream's.
_STREAMS = ("checkpoint", "once", "every", "future", "watch", "port", "keys")


@dataclass(frozen=True)
class Job:
    """What to run, checked."""

    query: Query | Select
    source: Input
    output: str
    format: str
    as_json: bool
    session: dict[str, Any]  # the arguments of `spark_session`


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
    "--timestamp-format",
    metavar="FORMAT",
    help="How that column, or else the one that the query orders by, writes times: a pattern as "
    f"in '%d.%m.%Y %H:%M', or numbers since 1970, {', '.join(EPOCHS)}.  [default: ISO 8601]",
)
@click.option(
    "--delimiter",
    metavar="CHAR",
    help="What stands between the fields of CSV.  [default: a comma, or a tab in .tsv]",
)
@click.option(
    "--null",
    "nulls",
    multiple=True,
    metavar="TEXT",
    help="A field of CSV that stands for null, as in NA, besides an empty one. May be given "
    "several times.",
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
@click.option(
    "--future",
    metavar="TIME",
    help="How far ahead of the clock a row may be in a stream; those further ahead are counted "
    "and set aside.",
)
@click.option("--watch", is_flag=True, help="Show a stream on a live page of this machine.")
@port_option
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="VALUE",
    help="A key of the query whose newest results --watch draws, as in 3, or a,b for two columns. "
    "May be given several times.",
)
@verbose_option
@json_option("JSON lines on stdout; with --output PATH, a summary. Errors are JSON too.")
def run(query: str, inputs: tuple[str, ...], **options: Any) -> None:
    """Run a query over files, on Spark or in this process.

    QUERY is CQL or standard SQL, or a file with it (.cql, .sql) or with the arguments of a query
    (.toml) in it.
    The results go to stdout, or to --output, which is never there in half.

    \b
    windrow run 'SELECT MAX(load) AS peak FROM plugs [PARTITION BY plug RANGE 1 HOUR]' \\
        --input plugs=plugs.csv --output peaks.parquet
    windrow run 'SELECT *, LAG(load) OVER (PARTITION BY plug ORDER BY ts) AS before FROM plugs' \\
        --input plugs.csv --local
    windrow run hourly.toml -i plugs/ --stream --checkpoint state/ -o results/
    """
    _check_together(options)
    job = _job(query, inputs, options)
    if options["stream"]:
        from windrow.cli.stream import run_stream

        run_stream(job, **{name: options[name] for name in _STREAMS})
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
        for name in ("checkpoint", "once", "every", "future", "watch"):
            if options[name]:
                raise Usage(f"--{name} goes with --stream")
    if not options["watch"]:
        for name, is_set in (("key", options["keys"]), ("port", options["port"] is not None)):
            if is_set:
                raise Usage(f"--{name} goes with --stream --watch")
    if options["once"] and options["every"]:
        raise Usage("--once ends by itself: leave --every out")


def _job(query: str, inputs: tuple[str, ...], options: dict[str, Any]) -> Job:
    """Return what the options ask for; all mistakes in them are found here."""
    parsed = read_query(query)
    column = options["time_column"]
    form = options["timestamp_format"] and TimeFormat(options["timestamp_format"])
    order = parsed.order_by if isinstance(parsed, Query) else ()
    if form and column is None:
        if not order:
            raise Usage(f"--timestamp-format {form.text}: of which column? Give --time-column")
        column = order[0]
    source = read_inputs(
        inputs,
        parsed,
        options["input_format"],
        schema=options["schema"],
        time_column=column,
        time_format=form,
        delimiter={"\\t": "\t", "tab": "\t"}.get(options["delimiter"], options["delimiter"]),
        nulls=options["nulls"],
    )
    if STDIN in source.paths and not options["local"]:
        raise Usage("--input -: Spark does not read stdin; add --local")
    if column is not None and isinstance(parsed, Query) and not order:
        parsed = parsed.replace(order_by=(column,))
    output = options["output"]
    kind = output_format(output, options["output_format"], options["as_json"])
    if output != STDOUT and not is_directory(output):
        check_parent(Path(output))
    if not options["stream"]:
        check_free(output)
    check_master(options["master"] or LOCAL)
    session = {
        "master": options["master"] or LOCAL,
        "settings": read_settings(options["conf"]),
        "verbose": options["verbose"],
    }
    return Job(parsed, source, output, kind, options["as_json"], session)


def _run_local(job: Job) -> int:
    """Run the query in this process, and return the number of rows."""
    from windrow.cli.tables import read_table
    from windrow.tables.bind import bind

    with Steps(quiet=not sys.stderr.isatty()) as steps:
        with steps.step(f"reading {job.source.name}") as note, usage():
            table = read_table(job.source)
            if isinstance(job.query, Query):
                bind(job.query, table.schema)
            else:
                job.query(table.schema.empty_table())
            note(f"{table.num_rows:,} rows")
        with steps.step("running the query"):
            results = job.query(table)
    write_table(results, job.output, job.format)
    return int(results.num_rows)


def _run_spark(job: Job) -> int | None:
    """Run the query on Spark, and return the number of rows; None if Spark wrote them."""
    spread = job.output != STDOUT and is_directory(job.output)
    with ExitStack() as stack:
        # The directory is left last: when a command ends early, Spark has stopped writing to it.
        place = stack.enter_context(directory(job.output)) if spread else ""
        steps = stack.enter_context(Steps(quiet=not sys.stderr.isatty()))
        spark = stack.enter_context(spark_session(**job.session, steps=steps))
        stack.enter_context(malformed_records_named(spark, job.source))
        with usage():
            results = read_frame(spark, job.source).transform(job.query)
        with steps.step("running the query"):
            if spread:  # no row passes through this process
                results.write.format(job.format).options(**WRITTEN).save(place)
                return None
            table = results.toArrow()
    write_table(table, job.output, job.format)
    return int(table.num_rows)


def _summary(job: Job, rows: int | None, seconds: float) -> None:
    """Print where the results are, unless they went to stdout."""
    if job.output == STDOUT:
        return
    if job.as_json:
        fields = {"output": job.output, "format": job.format, "rows": rows, "seconds": seconds}
        show_json(fields, indent=None)
        return
    count = "the results" if rows is None else f"{rows:,} rows"
    say(f"{count} in {job.output} after {seconds:.1f} s")
