"""Queries over PySpark DataFrames: ``df.transform(query)``.

One file a plan:

    keyed      shuffle by key, sort, and one pass over each partition with carried state
    ranged     no key, or a hot one: cut along the order, whole pieces enter as one aggregate
    hopping    slices aggregated before the shuffle, merged into windows after it

`choose` says which is taken, and why; `query.explain()` and `plan_of` tell it.
"""

from __future__ import annotations

from windrow.engines.spark.run import run

__all__ = ["run"]
