"""A query as it is typed or kept in a file: SQL, or TOML with the arguments of `sliding`.

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

import tomllib
from pathlib import Path
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.cli.failures import Usage, usage
from windrow.errors import InvalidArgument, did_you_mean
from windrow.queries.cql import sql
from windrow.queries.query import ARGUMENTS, Query, sliding
from windrow.queries.select import Select

_SUFFIXES = (".toml", ".cql", ".sql")
KEYS = ("from", *ARGUMENTS, "results")


def read_query(text: str) -> Query | Select:
    """Return the query in `text`, or in the file of this name; mistakes are wrong usage."""
    path = _path(text)
    if path is None:
        with usage():
            return sql(text)  # type: ignore[no-any-return]
    try:
        content = path.read_text("utf-8")
        return from_toml(content) if path.suffix == ".toml" else sql(content)
    except UnicodeDecodeError:
        raise Usage(f"{path}: a query is text in UTF-8") from None
    except (InvalidArgument, tomllib.TOMLDecodeError) as error:
        raise Usage(f"{path}: {error}") from None


def from_toml(text: str) -> Query:
    """Return the query whose arguments a text of TOML gives.

    >>> from_toml('''
    ... from = "plugs"
    ... rows = 100
    ... [results]
    ... peak = "MAX(load)"
    ... ''')
    sliding(rows=100, peak=Max('load'))
    """
    arguments = tomllib.loads(text)
    for key in arguments:
        if key not in KEYS:
            raise InvalidArgument(f"{key!r} is no argument of a query; {did_you_mean(key, KEYS)}")
    if "until" in arguments:
        raise InvalidArgument("until= is a function of Python: ask such a query from there")
    source = arguments.pop("from", None)
    if source is not None and not isinstance(source, str):
        raise InvalidArgument(f"from={source!r} must be the name of an input")
    results = arguments.pop("results", {})
    if not isinstance(results, dict) or not results:
        raise InvalidArgument('a query needs [results], as in: peak = "MAX(load)"')
    parts = {name: _aggregation(name, call) for name, call in results.items()}
    return sliding(parts, **arguments).replace(source=source)


def _path(text: str) -> Path | None:
    """Return the file that `text` names; None if it is a query itself."""
    if "\n" in text or len(text) > 1000 or text.lstrip()[:6].upper() == "SELECT":
        return None
    path = Path(text)
    if path.is_file():
        return path
    if path.suffix in _SUFFIXES or ("/" in text and " " not in text):
        raise Usage(f"there is no file {text!r}")
    return None


def _aggregation(name: str, call: Any) -> Aggregation:
    """Return the aggregation that a call in CQL stands for."""
    if not isinstance(call, str):
        raise InvalidArgument(f'results.{name}={call!r} must be a call, as in "MAX(load)"')
    try:
        query = sql(f"SELECT {call} AS result FROM stream [ROWS 1]")
    except InvalidArgument as error:
        raise InvalidArgument(f"results.{name} = {call!r}: {error}") from None
    if len(query.aggregations) != 1:
        raise InvalidArgument(f'results.{name}={call!r} must be one call, as in "MAX(load)"')
    part: Aggregation = query.aggregations[0][1]
    return part
