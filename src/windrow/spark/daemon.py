"""PySpark's daemon with windrow loaded: the workers that it forks need not load it one by one.

    SparkSession.builder.config("spark.python.daemon.module", "windrow.spark.daemon")

A worker of Spark's own daemon loads NumPy, Numba, pandas, PyArrow and windrow when its first task
comes, which takes a second or two of a core for each. Here they are loaded once, before the first
fork, and what is loaded is set apart from what Python looks through when it collects garbage,
which Spark has it do after every task. Where windrow is not installed, no worker starts.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

LOADED = ("pyspark.worker", "windrow.spark.stream_processor", "windrow.spark.dataframe")

if __name__ == "__main__":
    for name in LOADED:
        import_module(name)
    gc.collect()
    gc.freeze()
    manager()
