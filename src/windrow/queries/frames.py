"""The engine that runs queries over a frame, and the error for a frame that no engine takes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from windrow.errors import Unsupported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of each library of frames: the extra that installs what it needs, and the module that runs it.
_ENGINES = {
    "pandas": ("pandas", "windrow.tables.pandas"),
    "polars": ("polars", "windrow.tables.polars"),
    "pyarrow": ("arrow", "windrow.tables.arrow"),
    "pyspark": ("spark", "windrow.spark"),
    "duckdb": ("arrow", "windrow.tables.duckdb"),
    "narwhals": ("arrow", "windrow.tables.narwhals"),
}
# What makes a frame of other things, by the library and the class; "" is any class of a library.
_CONVERSIONS = {
    ("modin", ""): "frame.modin.to_pandas()",
    ("cudf", ""): "frame.to_arrow()",
    ("dask", ""): "frame.compute()",
    ("dask_expr", ""): "frame.compute()",
    ("numpy", ""): "pandas.DataFrame({'load': frame}), or rolling(frame, Max(), rows=3) as it is",
    ("builtins", "dict"): "pyarrow.table(frame)",
    ("builtins", "list"): "pyarrow.Table.from_pylist(frame)",
    ("pandas", "Series"): "frame.to_frame('load')",
    ("pandas", "DataFrameGroupBy"): "frame.obj, with the keys in partition_by=",
    ("polars", "Series"): "frame.to_frame('load')",
    ("polars", "GroupBy"): "the DataFrame itself, with the keys in partition_by=",
    ("polars", "LazyGroupBy"): "the LazyFrame itself, with the keys in partition_by=",
    ("pyarrow", "ChunkedArray"): "pyarrow.table({'load': frame})",
    ("pyarrow", "Array"): "pyarrow.table({'load': frame})",
    ("pyarrow", "Dataset"): "frame.to_table()",
    ("pyarrow", "Scanner"): "frame.to_table()",
    ("duckdb", "DuckDBPyConnection"): "frame.sql('FROM plugs'), with the name of a table",
    ("narwhals", "Series"): "frame.to_frame()",
    ("pyspark", "GroupedData"): "the DataFrame itself, with the keys in partition_by=",
}


def engine_of(frame: Any) -> Any:
    """Return the module that runs queries over a frame, chosen by the frame's class."""
    cls: Any = type(frame)
    home = _library(cls)
    if home is None and (_conversion(frame) or not hasattr(frame, "__arrow_c_stream__")):
        raise unknown_frame(frame)
    extra, module = _ENGINES[home or "pyarrow"]
    try:
        return sys.modules.get(module) or import_module(module)
    except ImportError as missing:
        raise Unsupported(
            f"{home or _home(type(frame))} frames need {missing.name} as well: "
            f"pip install 'windrow[{extra}]'"
        ) from missing


@lru_cache(maxsize=64)
def _library(cls: type) -> str | None:
    """Return the library with an engine that a class, or one that it inherits from, is of."""
    return next((name for name in map(_home, cls.__mro__) if name in _ENGINES), None)


def plotted(queries: Sequence[Any], frame: Any, key: Any) -> Figure:
    """Return the figure of queries over a frame, for one of its keys."""
    engine_of(frame)  # which says what is missing
    figure: Figure = import_module("windrow.tables.plot").plot(queries, frame, key)
    return figure


def unknown_frame(frame: Any) -> Unsupported:
    """Return the error for what no engine takes: its type, and how to make a frame of it.

    >>> print(str(unknown_frame([{"load": 3.0}])).partition("not ")[2])
    list; give it pyarrow.Table.from_pylist(frame)
    """
    cls, line = type(frame), _conversion(frame)
    home = "" if cls.__module__ == "builtins" else f"{_home(cls)}."
    if line is None:
        line = "a table of Arrow, which pyarrow.table(…) makes of columns by their names"
    return Unsupported(
        "a query takes a frame of pandas, Polars, Arrow, DuckDB or Spark, not "
        f"{home}{cls.__name__}; give it {line}"
    )


def _conversion(frame: Any) -> str | None:
    """Return the line of Python that makes a frame of something, if one is known."""
    for cls in type(frame).__mro__:
        for name in (cls.__name__, ""):
            if (_home(cls), name) in _CONVERSIONS:
                return _CONVERSIONS[_home(cls), name]
    return None


def _home(cls: type) -> str:
    """Return the library that a class is of; DuckDB's is `_duckdb` in some versions."""
    return cls.__module__.split(".")[0].lstrip("_")
