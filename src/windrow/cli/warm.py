"""`windrow warm`: compile ahead what queries need, into the cache that the next process finds.

What is compiled depends on the aggregation, the kind of window, the types of the columns and
whether they hold nulls, not on the other aggregations beside it. So each is run by itself over rows
made here; on Spark, where that would take long, all aggregations of a window at once.
"""

from __future__ import annotations

import copy
import datetime as dt
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyarrow import parquet

from windrow.aggregations.base import Aggregation
from windrow.cli.failures import Failed, Usage, usage
from windrow.cli.query import read_query
from windrow.cli.tables import schema_of
from windrow.cli.terminal import Steps, json_option, say, show_json, verbose_option
from windrow.compiled import cache_dir
from windrow.errors import InvalidValue, did_you_mean
from windrow.queries.cql.functions import FUNCTIONS
from windrow.queries.expressions import columns_of
from windrow.queries.query import Query, sliding
from windrow.queries.select import Select
from windrow.tables.types import result_type
from windrow.windows.push import window
from windrow.windows.pushed_numbers import is_numeric

COMMON = ("COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV")
_WINDOWS: tuple[dict[str, Any], ...] = (
    {"rows": 100},
    {"range": "1 minute"},
    {"range": "1 minute", "slide": "10 seconds"},
)
_VALUES = {"load": pa.float64(), "count": pa.int64()}
_OTHERS = {"flag": pa.bool_(), "name": pa.string()}  # for what takes no numbers
_TIMES, _KEYS = pa.timestamp("us", "UTC"), pa.int64()
_SIZES = (300, 200_000)  # large tables are sorted and cut in other ways
_ON_SPARK = 2_000

Case = tuple[Query, pa.Schema]  # a query, and the columns that it is run over


@click.command()
@click.argument("queries", metavar="[QUERY|FILE]...", nargs=-1)
@click.option(
    "--function",
    "-f",
    "functions",
    multiple=True,
    metavar="NAME",
    help="An aggregation, over windows of rows, of time and hopping ones, of DOUBLE and BIGINT, "
    "and pushed through a window. May be given several times.  "
    f"[default: {', '.join(COMMON)}, if no query is given]",
)
@click.option(
    "--schema",
    metavar="DDL",
    help="The columns of the queries, as in 'ts TIMESTAMP, load DOUBLE'; else the order is "
    "TIMESTAMP, keys are BIGINT and values DOUBLE.",
)
@click.option("--spark", is_flag=True, help="As a batch and as a stream on Spark, too.")
@verbose_option
@json_option("What was compiled as JSON.")
def warm(
    queries: tuple[str, ...],
    functions: tuple[str, ...],
    schema: str | None,
    spark: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Compile ahead, into the cache that later processes find.

    For container images: a query that has been warmed compiles nothing when it first runs. What is
    compiled is kept in the cache directory of this user, for this processor.

    \b
    windrow warm
    windrow warm --function ARGMAX --function MEDIAN
    windrow warm hourly.toml --schema 'ts TIMESTAMP, house_id INT, plug_id INT, load DOUBLE' --spark
    """
    place = cache_dir()
    if place is None:
        raise Failed("there is no cache to keep code in: set WINDROW_CACHE_DIR to a directory")
    if schema is not None and not queries:
        raise Usage("--schema is that of queries, and none is given")
    with usage():
        own_cases = [_of_query(read_query(text), schema) for text in queries]
    names = [name.upper() for name in functions] or ([] if queries else [*COMMON])
    parts = {name: _parts(name) for name in names}
    work = [(text, [case]) for text, case in zip(queries, own_cases, strict=True)]
    work += [(name, [*_cases(parts[name])]) for name in names]
    started, before = time.perf_counter(), _kept(place)
    with ExitStack() as stack:
        steps = stack.enter_context(Steps(quiet=as_json))
        for name, cases in work:
            with steps.step(f"compiling {name}") as note, usage():
                known = _kept(place)
                for case in cases:
                    _run(*case)
                for _, part in parts.get(name, ()):
                    _push(part)
                note(f"{_kept(place) - known} functions")
        if spark:
            from windrow.cli.session import spark_session

            session = stack.enter_context(spark_session(verbose=verbose, steps=steps))
            together = [named for typed in parts.values() for named in typed]
            with steps.step("compiling on Spark") as note, usage():
                known = _kept(place)
                for case in [*own_cases, *_cases(together, at_once=True)]:
                    _run_on_spark(session, *case)
                note(f"{_kept(place) - known} functions")
    compiled, seconds = _kept(place) - before, time.perf_counter() - started
    if as_json:
        show_json({"cache": str(place), "functions": compiled, "seconds": seconds})
    else:
        say(f"{compiled} functions compiled in {seconds:.0f} s, kept in {place}")


def _kept(place: Path) -> int:
    """Return how many functions are in the cache."""
    return len(list(place.glob("*.code")))


# -- what to run ---------------------------------------------------------------------------------


def _parts(name: str) -> list[tuple[str, Aggregation]]:
    """Return the aggregation of this name over each type of values."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise Usage(f"--function {name}: there is none; {did_you_mean(name, FUNCTIONS)}")
    if function.needed:
        wanted = ", ".join(sorted(function.needed))
        raise Usage(f"--function {name}: it needs {wanted}: give a query that has it")
    parts = {
        column: function.make(*[column] * function.arity, **function.fixed)
        for column in (*_VALUES, *_OTHERS)
    }
    fitting = [c for c in _VALUES if _fits(parts[c], _VALUES[c])]
    fitting = fitting or [c for c in _OTHERS if _fits(parts[c], _OTHERS[c])][:1]
    return [(f"{name}_{column}", parts[column]) for column in fitting]


def _fits(aggregation: Aggregation, kind: pa.DataType) -> bool:
    """Return whether an aggregation takes columns of a type."""
    try:
        result_type("", aggregation, [kind] * len(aggregation.columns))
    except InvalidValue:
        return False
    return True


def _cases(parts: Sequence[tuple[str, Aggregation]], at_once: bool = False) -> Iterable[Case]:
    """Yield queries of the aggregations, one for each or all `at_once`, over every window.

    On Spark rows without a key are cut into ranges, each of which is as a key.
    """
    columns = pa.schema([("ts", _TIMES), ("key", _KEYS), *_VALUES.items(), *_OTHERS.items()])
    for extent in _WINDOWS if parts else ():
        for chosen in [parts] if at_once else [[part] for part in parts]:
            for key in ("key",) if at_once else ("key", None):
                query = sliding(
                    dict(chosen), partition_by=key, order_by="ts", lateness="1 minute", **extent
                )
                yield query, columns


def _of_query(query: Query | Select, schema: str | None) -> Case:
    """Return a query with the columns that it is run over."""
    if not isinstance(query, Query):
        raise Usage(
            "standard SQL is compiled as it runs: warm its aggregations, as in --function MAX"
        )
    if schema is not None:
        return query, schema_of(schema)
    texts = [text for _, part in query.aggregations for text in part.columns]
    texts += [*query.window.reads, *query.window.conditions().values()]
    names = {name for text in [*texts, *filter(None, [query.where])] for name in columns_of(text)}
    types = dict.fromkeys(sorted(names), pa.float64())
    types |= dict.fromkeys(query.partition_by, _KEYS) | dict.fromkeys(query.order_by, _TIMES)
    if query.window.row_size in types:
        types[query.window.row_size] = pa.duration("us")
    return query, pa.schema([*types.items()])


# -- rows ----------------------------------------------------------------------------------------


def _run(query: Query, columns: pa.Schema) -> None:
    """Run a query over tables with nulls and without."""
    for size in _SIZES:
        for nulls in (False, True):
            query(_table(query, columns, size, nulls))


def _push(part: Aggregation) -> None:
    """Push numbers through windows of rows and of time, one by one and many, if that compiles."""
    pushed = copy.copy(part)
    pushed.columns = ()
    kind = _VALUES.get(part.columns[0]) if len(part.columns) == 1 else None
    if kind is None or not is_numeric(pushed):
        return
    numbers = _array(np.arange(8), kind).to_numpy()
    times = _array(np.arange(8), _TIMES).to_numpy()
    for extent, at in ({"rows": 100}, None), ({"range": "1 minute"}, times):
        through: Any = window(pushed, **extent)
        through.push_many(numbers, at=at)
        through.push(numbers[-1].item(), at=None if at is None else at[-1])


def _run_on_spark(session: Any, query: Query, columns: pa.Schema) -> None:
    """Run a query as a batch, and as a stream if it says how late rows may come."""
    for nulls in (False, True):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            table = _table(query, columns, _ON_SPARK, nulls)
            parquet.write_table(table, f"{place}/rows.parquet")
            frame = session.read.parquet(place)
            frame.transform(query).write.format("noop").mode("overwrite").save()
            if query.lateness is not None:
                rows = session.readStream.schema(frame.schema).parquet(place)
                writer = rows.transform(query).writeStream.format("noop")
                writer = writer.option("checkpointLocation", f"{place}/.state")
                writer.trigger(availableNow=True).start().awaitTermination()


def _table(query: Query, columns: pa.Schema, size: int, nulls: bool) -> pa.Table:
    """Return rows of these columns, in no order, some values null if `nulls`."""
    random = np.random.default_rng(size)
    order = random.permutation(size)
    own = {*query.partition_by, *query.order_by}
    arrays = []
    for field in columns:
        numbers = order if field.name in query.order_by else random.integers(0, 9, size)
        array = _array(numbers, field.type)
        if nulls and field.name not in own:
            kept = pa.array(random.random(size) > 0.1)
            array = pc.if_else(kept, array, pa.scalar(None, field.type))
        arrays.append(array)
    return pa.table(arrays, names=columns.names)


def _array(numbers: Any, kind: pa.DataType) -> pa.Array:
    """Return numbers as a type: times are seconds, days are days."""
    if pt.is_timestamp(kind):
        begin = int(dt.datetime(2026, 1, 5, tzinfo=dt.UTC).timestamp())
        return pa.array(numbers + begin).cast(pa.timestamp("s", kind.tz)).cast(kind)
    if pt.is_date(kind):
        return pa.array(numbers.astype(np.int32)).cast(kind)
    if pt.is_binary(kind):
        return pa.array(numbers).cast(pa.string()).cast(kind)
    if pt.is_decimal(kind):
        return pa.array(numbers).cast(pa.decimal128(38, kind.scale)).cast(kind)
    return pa.array(numbers).cast(kind, safe=False)
