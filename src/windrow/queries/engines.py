"""Where a query runs: frames in memory, and Spark. The frame's own kind tells."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from windrow.errors import InvalidArgument, Unsupported
from windrow.queries.plan import Plan
from windrow.queries.query import Query
from windrow.queries.shared import Shared

# Of each library of frames: the extra that installs what it needs, and the module that runs it.
_ENGINES = {
    "pandas": ("pandas", "windrow.tables.pandas"),
    "polars": ("polars", "windrow.tables.polars"),
    "pyarrow": ("arrow", "windrow.tables.arrow"),
    "pyspark": ("spark", "windrow.spark"),
}


def run(query: Query, frame: Any) -> Any:
    """The answers of `query` over `frame`, as a frame of the same kind."""
    return _engine(frame).run(query, frame)


def run_shared(shared: Shared, frame: Any) -> Any:
    """The answers of several queries over `frame`."""
    return _engine(frame).run_shared(shared, frame)


def plan(query: Query, frame: Any) -> Plan:
    """What will run for `query` over `frame`."""
    found: Plan = _engine(frame).plan(query, frame)
    return found


def _engine(frame: Any) -> Any:
    home = next((_home(c) for c in type(frame).__mro__ if _home(c) in _ENGINES), None)
    if home is None:
        raise InvalidArgument(
            f"a query takes a pandas, Polars, Arrow or Spark frame, not {type(frame).__name__}"
        )
    extra, module = _ENGINES[home]
    try:
        return import_module(module)
    except ImportError as missing:
        raise Unsupported(
            f"{home} frames need {missing.name} as well: pip install 'windrow[{extra}]'"
        ) from missing


def _home(cls: type) -> str:
    return cls.__module__.split(".")[0]
