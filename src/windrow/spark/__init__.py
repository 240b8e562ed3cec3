"""Queries over PySpark DataFrames: ``df.transform(query)``.

One file a plan:

    keyed      shuffle by key, sort, and one pass over each partition with carried state
    ranged     no key, or a hot one: cut along the order, whole pieces enter as one aggregate
    hopping    slices aggregated before the shuffle, merged into windows after it

    together   several queries in one pass
    stream     streaming DataFrames: buckets of keys, their state in Spark's store

`dataframe` takes slices where Spark can aggregate them, ranges where there is no key or `hot` finds
keys with most of the rows, else by key. `strands` and `cuts` say where ranges begin; `hop` takes
rows to Python and answers back.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.spark.dataframe import plan, run, run_shared, run_stream

__all__ = ["plan", "run", "run_shared", "run_stream"]


def __getattr__(name: str) -> Any:
    """Load the plans when they are asked for: a worker that makes events needs none of them."""
    if name in __all__:
        return getattr(import_module("windrow.spark.dataframe"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
