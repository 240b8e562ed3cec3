"""PySpark's daemon with windrow loaded: the workers that it forks need not load it one by one.

Of a session of the tests, which starts dozens of workers, this takes a second or two for each of
them. Sessions of processes of their own (a cluster, the command line, kills) have PySpark's daemon.
"""

from __future__ import annotations

from importlib import import_module

from pyspark.daemon import manager

LOADED = ("pyspark.worker", "windrow.spark.stream_processor", "windrow.spark.dataframe")

if __name__ == "__main__":
    for name in LOADED:
        import_module(name)
    manager()
