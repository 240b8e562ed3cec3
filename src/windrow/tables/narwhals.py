"""Queries over the frames of narwhals: those of the library inside, wrapped again."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from windrow.queries.frames import engine_of, unknown_frame
from windrow.queries.plan import Plan
from windrow.queries.query import Query
from windrow.queries.select import Columns, Select
from windrow.queries.shared import Shared


def run(query: Query, frame: Any) -> Any:
    """The results of a query as a frame of the same kind."""
    inside = _inside(frame)
    return _wrapped(engine_of(inside).run(query, inside), frame)


def run_shared(shared: Shared, frame: Any) -> list[Any]:
    """The results of each query."""
    inside = _inside(frame)
    return [_wrapped(each, frame) for each in engine_of(inside).run_shared(shared, inside)]


def run_together(shared: Shared, frame: Any) -> Any:
    """The results of queries with a result a row, all beside the rows of one frame."""
    inside = _inside(frame)
    return _wrapped(engine_of(inside).run_together(shared, inside), frame)


def run_select(select: Select, frame: Any) -> Any:
    """The results of a statement of SQL, as a frame of the same kind."""
    inside = _inside(frame)
    return _wrapped(engine_of(inside).run_select(select, inside), frame)


def read(queries: Sequence[Query], frame: Any) -> Any:
    """The queries as they fit the frame, and the columns that they need as a table of Arrow."""
    inside = _inside(frame)
    return engine_of(inside).read(queries, inside)


def columns_of_frame(frame: Any) -> Columns:
    """The columns of a frame, as statements of SQL ask about them."""
    inside = _inside(frame)
    columns: Columns = engine_of(inside).columns_of_frame(inside)
    return columns


def plans(queries: Sequence[Query], frame: Any) -> list[Plan]:
    """What will run for queries over a frame."""
    inside = _inside(frame)
    result: list[Plan] = engine_of(inside).plans(queries, inside)
    return result


def _inside(frame: Any) -> Any:
    if not hasattr(type(frame), "columns"):  # a series, an expression
        raise unknown_frame(frame)
    return frame.to_native()


def _wrapped(result: Any, frame: Any) -> Any:
    """A result as a frame of the version of narwhals that the frame is of."""
    home = type(frame).__module__
    api = import_module(home if home.startswith("narwhals.stable.") else "narwhals")
    return api.from_native(result)
