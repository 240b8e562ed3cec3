"""Where a query runs: frames in memory, and Spark. The frame's own kind tells."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from windrow.errors import InvalidArgument, Unsupported

# Of each library of frames: the extra that installs what it needs, and the module that runs it.
_ENGINES = {
    "pandas": ("pandas", "windrow.tables.pandas"),
    "polars": ("polars", "windrow.tables.polars"),
    "pyarrow": ("arrow", "windrow.tables.arrow"),
    "pyspark": ("spark", "windrow.spark"),
}


def engine_of(frame: Any) -> Any:
    """The module that answers over such frames: it has `run`, `run_shared` and `plan`."""
    homes = [cls.__module__.split(".")[0] for cls in type(frame).__mro__]
    home = next((name for name in homes if name in _ENGINES), None)
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
