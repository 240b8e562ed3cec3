"""`windrow state`: what the checkpoint of a stream holds, and how a changed query gets it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.session import spark_session
from windrow.cli.terminal import Steps, json_option, show_json, verbose_option

if TYPE_CHECKING:
    from windrow.spark.checkpoint import Checkpoint

_path = click.argument("checkpoint")


@click.group()
def state() -> None:
    """What the checkpoint of a stream holds, in how many partitions, and for which query.

    A checkpoint is the directory of --checkpoint, or of Spark's option checkpointLocation.
    """


@state.command()
@_path
@verbose_option
@json_option("The same as JSON, with every bucket of keys.")
def show(checkpoint: str, verbose: bool, as_json: bool) -> None:
    """Tell the query, the watermark, and how much is kept."""
    from windrow.spark.checkpoint import read_checkpoint

    with _session(verbose) as session:
        contents = read_checkpoint(session, checkpoint)
    if as_json:
        show_json(asdict(contents))
    else:
        for name, text in _lines(contents).items():
            click.echo(f"{name:<11}{text}")


@state.command()
@_path
@click.option(
    "--partitions", type=click.IntRange(1), required=True, help="How many there shall be."
)
@click.option("--output", help="The directory that the stream writes files to, if it does.")
@verbose_option
def repartition(checkpoint: str, partitions: int, output: str | None, verbose: bool) -> None:
    """Spread the state of a stream that does not run over so many partitions.

    A partition is what one task keeps, so a stream needs as many as it has cores. Spark lists the
    files that a stream has written, batch by batch; this step is one of them, so name --output.
    """
    from windrow.spark import checkpoint as checkpoints

    with _session(verbose) as session:
        before = checkpoints.read_checkpoint(session, checkpoint).partitions
        if before != partitions:
            checkpoints.repartition(session, checkpoint, partitions, output)
    click.echo(f"{checkpoint} has {partitions} partitions of state (it had {before})", err=True)


@state.command("export")
@_path
@click.argument("directory")
@verbose_option
def export_(checkpoint: str, directory: str, verbose: bool) -> None:
    """Write the state of a stream that does not run to a new directory of Parquet files.

    They hold the rows that wait and what is kept for windows, as columns; a copy of the checkpoint
    lies beside them, with which `import` makes another.
    """
    from windrow.spark.state_files import export_state

    with _session(verbose) as session:
        contents = export_state(session, checkpoint, directory)
    rows = sum(bucket.waiting + bucket.kept for bucket in contents.buckets)
    click.echo(f"{directory} has the state of batch {contents.batch}: {rows:,} rows", err=True)


@state.command("import")
@click.argument("directory")
@_path
@click.option("--query", required=True, help="The changed query: SQL, or a file, as `run` takes.")
@click.option("--buckets", type=click.IntRange(1, 4096), help="Into how many groups keys are put.")
@click.option("--future", help="As `run` was given it.")
@click.option("--fill", is_flag=True, help="Windows may be longer, and fill up from now on.")
@click.option("--output", help="The directory that the stream writes files to, if it does.")
@verbose_option
def import_(
    directory: str,
    checkpoint: str,
    query: str,
    buckets: int | None,
    future: str | None,
    fill: bool,
    output: str | None,
    verbose: bool,
) -> None:
    """Make a new checkpoint, for a changed query, of what `export` wrote.

    The changed query goes on where the other one stopped. It may have other buckets, shorter
    windows, and more results of what is kept; anything else is refused. A query with options that
    only Python has is given to windrow.spark.state_files.import_state there.
    """
    from windrow.cli.failures import Usage, usage
    from windrow.cli.query import read_query
    from windrow.queries.query import Query
    from windrow.queries.streaming import streaming
    from windrow.spark.state_files import import_state

    changed = read_query(query)
    if not isinstance(changed, Query):
        raise Usage("--query: a stream has a query in CQL, as `windrow run --stream` takes it")
    with usage():
        stream = streaming(changed, future=future, buckets=buckets)
    with _session(verbose) as session:
        import_state(session, directory, checkpoint, stream, fill=fill, output=output)
    click.echo(f"{checkpoint} is ready: start the changed query with it", err=True)


@contextmanager
def _session(verbose: bool) -> Iterator[Any]:
    """Give a session of Spark on this machine for the time of a command."""
    with Steps() as steps, spark_session("local[2]", verbose=verbose, steps=steps) as session:
        yield session


def _lines(contents: Checkpoint) -> dict[str, str]:
    """Return what a checkpoint holds, in words, by the names of the lines."""
    buckets = contents.buckets
    oldest = min((b.oldest for b in buckets if b.oldest is not None), default=None)
    query = contents.query.replace("\n", "\n" + " " * 11)
    watermark = None if contents.watermark is None else contents.watermark * 1000
    return {
        "query": query or "none yet: no row has come",
        "batch": f"{contents.batch:,} is done",
        "watermark": _time(watermark),
        "oldest row": _time(oldest),
        "waiting": f"{sum(b.waiting for b in buckets):,} rows, for the watermark",
        "kept": f"{sum(b.kept for b in buckets):,} rows or states in "
        f"{sum(b.chunks for b in buckets):,} chunks",
        "bytes": f"{sum(b.bytes for b in buckets):,}",
        "state": f"{len(buckets)} buckets of keys in {contents.partitions} partitions",
    }


def _time(micros: int | None) -> str:
    if micros is None:
        return "none"
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros} µs since 1970"
    return at.isoformat(sep=" ", timespec="milliseconds")
