"""A query as it is typed or kept in a file: CQL, or TOML with the arguments of `sliding`.

from = "plugs"                       # the name of its input; may be left out
partition_by = ["house_id"]
order_by = "ts"
range = "1 hour"
slide = "1 minute"
lateness = "10 minutes"
where = "load > 0"

[results]                            # a name, and an aggregation as CQL writes it
mean = "AVG(load)"
worst = "ARGMAX(load, ts)"
"""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.cli.failures import Usage, usage
from windrow.errors import InvalidArgument, Unsupported, did_you_mean
from windrow.queries.query import Query, sliding

_SUFFIXES = (".toml", ".cql", ".sql")
_ARGUMENTS = tuple(
    name
    for name, argument in inspect.signature(sliding).parameters.items()
    if argument.kind is argument.KEYWORD_ONLY
)
KEYS = ("from", *_ARGUMENTS, "results")


def read_query(text: str) -> Query:
    """The query that `text` is, or that the file of this name holds; mistakes are wrong usage."""
    from windrow.queries.cql import sql

    with usage():
        path = _path(text)
        if path is None:
            return _read(sql, text)
        try:
            held = path.read_text("utf-8")
            asked = from_toml(held) if path.suffix == ".toml" else _read(sql, held)
        except UnicodeDecodeError:
            raise Usage(f"{path}: a query is text in UTF-8") from None
        except (InvalidArgument, tomllib.TOMLDecodeError) as error:
            raise Usage(f"{path}: {error}") from None
        return asked


def from_toml(text: str) -> Query:
    """The query whose arguments a text of TOML gives.

    >>> from_toml('''
    ... from = "plugs"
    ... rows = 100
    ... [results]
    ... peak = "MAX(load)"
    ... ''')
    sliding(rows=100, peak=Max('load'))
    """
    given = tomllib.loads(text)
    for key in given:
        if key not in KEYS:
            raise InvalidArgument(f"{key!r} is no argument of a query; {did_you_mean(key, KEYS)}")
    if "until" in given:
        raise InvalidArgument("until= is a function of Python: ask such a query from there")
    source = given.pop("from", None)
    if source is not None and not isinstance(source, str):
        raise InvalidArgument(f"from={source!r} must be the name of an input")
    results = given.pop("results", {})
    if not isinstance(results, dict) or not results:
        raise InvalidArgument('a query needs [results], as in: peak = "MAX(load)"')
    parts = {name: _aggregation(name, call) for name, call in results.items()}
    return sliding(parts, **given).replace(source=source)


def as_sql(query: Query) -> str | None:
    """The query as CQL, None where CQL has no words for it."""
    try:
        return query.sql()
    except Unsupported:
        return None


def _path(text: str) -> Path | None:
    """The file that `text` names; None if it is a query itself."""
    if "\n" in text or len(text) > 1000 or text.lstrip()[:6].upper() == "SELECT":
        return None
    path = Path(text)
    if path.is_file():
        return path
    if path.suffix in _SUFFIXES or ("/" in text and " " not in text):
        raise Usage(f"there is no file {text!r}")
    return None


def _read(sql: Any, text: str) -> Query:
    made: Query = sql(text)
    return made


def _aggregation(name: str, call: Any) -> Aggregation:
    """The aggregation that a call in CQL stands for."""
    from windrow.queries.cql import sql

    if not isinstance(call, str):
        raise InvalidArgument(f'results.{name}={call!r} must be a call, as in "MAX(load)"')
    try:
        asked: Query = sql(f"SELECT {call} AS result FROM stream [ROWS 1]")
    except InvalidArgument as error:
        raise InvalidArgument(f"results.{name} = {call!r}: {error}") from None
    if len(asked.aggregations) != 1:
        raise InvalidArgument(f'results.{name}={call!r} must be one call, as in "MAX(load)"')
    return asked.aggregations[0][1]
