"""Queries over PySpark DataFrames: ``df.transform(query)``.

One file a plan:

    slices     hopping windows: slices that Spark aggregates, merged into windows
    in_place   no key: partitions that follow each other along the order, without a shuffle
    ranges     no key, or a hot one: rows cut along the order, whole pieces enter as one state
    sessions   the same for sessions: parts of them, merged
    frames     short windows of rows, by Spark's own window functions
    keys       shuffle by key, sort, and one pass over each partition with carried state
    stream     streaming DataFrames: `buckets` of keys, their state in Spark's store

`dataframe` chooses among them, and `select` puts them together for a statement of SQL. `groups` and
`cuts` find where ranges begin, `schema` says what a query reads and gives, `workers` takes rows to
Python and results back, `daemon` starts workers with all of it loaded, and `interpreter` looks
whether their Python has what it needs. `checkpoint` reads the state of a stream, and `state_files`
takes it to a changed query. `progress` has the figures of running streams, and passes them on to
a terminal, to Prometheus and to a live page.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.spark.dataframe import plans, run, run_shared, run_stream, run_together
    from windrow.spark.observed_results import live_results
    from windrow.spark.progress_page import live_view
    from windrow.spark.select import columns_of_frame, run_select

# The modules of what is not in `dataframe`.
_HOMES = {
    "columns_of_frame": "select",
    "live_results": "observed_results",
    "live_view": "progress_page",
    "run_select": "select",
}
__all__ = [
    "columns_of_frame",
    "live_results",
    "live_view",
    "plans",
    "run",
    "run_select",
    "run_shared",
    "run_stream",
    "run_together",
]


def __getattr__(name: str) -> Any:
    """Load a module on first use of a name of it: a worker that makes events needs no plans."""
    if name in __all__:
        home = _HOMES.get(name, "dataframe")
        return getattr(import_module(f"windrow.spark.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
