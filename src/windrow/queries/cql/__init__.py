"""SQL in and out of queries: CQL, with a window in brackets after the stream, and standard SQL."""

from __future__ import annotations

from typing import Any

from windrow.errors import InvalidArgument, did_you_mean
from windrow.queries.cql.printer import to_sql
from windrow.queries.query import Query
from windrow.queries.select import Select
from windrow.queries.syntax import missing

__all__ = ["sql", "to_sql"]


def sql(text: str, /, **frames: Any) -> Any:
    """Return the query of a text; with a frame, given by the name after FROM, its results.

    The text is CQL, with a window in brackets, or standard SQL, with OVER. The results are a frame
    of the same kind. Names of frames compare without regard to upper and lower case. Mistakes are a
    `QuerySyntaxError` that shows the place.

    >>> sql("SELECT MAX(len) AS mxl FROM calls [RANGE 24 HOURS SLIDE 1 MINUTE]")
    sliding(range='24 hours', slide='1 minute', mxl=Max('len'))
    >>> import pyarrow as pa
    >>> calls = pa.table({"at": [1, 2, 3], "len": [5, 9, 4]})
    >>> text = "SELECT at, SUM(len) OVER (ORDER BY at) AS so_far FROM calls"
    >>> sql(text, calls=calls).to_pydict()
    {'at': [1, 2, 3], 'so_far': [5, 14, 18]}
    """
    try:
        from windrow.queries.cql.compile import compiled
    except ModuleNotFoundError as error:
        raise missing(error) from None
    query = compiled(text)
    return query(_frame_of(query, frames)) if frames else query


def _frame_of(query: Query | Select, frames: dict[str, Any]) -> Any:
    """Return the frame that the query reads, of those given by name."""
    source = str(query.source)
    read = next((name for name in frames if name.lower() == source.lower()), None)
    if read is None:
        raise InvalidArgument(
            f"FROM names {source!r}, and no frame has that name; {did_you_mean(source, frames)}"
        )
    for name in frames:
        if name != read:
            raise InvalidArgument(
                f"the frame {name!r} is not used: the query reads {source!r} only"
            )
    return frames[read]
