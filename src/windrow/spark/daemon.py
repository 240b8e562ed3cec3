"""PySpark's daemon with windrow loaded: the workers that it forks need not load it one by one.

    SparkSession.builder.config("spark.python.daemon.module", "windrow.spark.daemon")

A worker of Spark's own daemon loads NumPy, Numba, pandas, PyArrow and windrow when its first task
comes, which takes a second or two of a core for each. Here they are loaded once, before the first
fork, and what is loaded is set apart from what Python looks through when it collects garbage,
which Spark has it do after every task. Where windrow is not installed, no worker starts.

Spark has workers load PySpark from an archive of its sources, which Python compiles anew in each
process. Where the same PySpark is installed, it is taken from there, which saves two fifths of the
start.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module

LOADED = ("pyspark.worker", "windrow.spark.stream_processor", "windrow.spark.dataframe")
_ARCHIVE = "/pyspark/python/lib/pyspark.zip"


def without_archive(path: Sequence[str]) -> list[str]:
    """Return the places of modules without the archive that an installed PySpark has of itself.

    >>> without_archive(["/opt/pyspark/python/lib/pyspark.zip", "/opt", "/usr/lib"])
    ['/opt', '/usr/lib']
    >>> without_archive(["/spark/pyspark/python/lib/pyspark.zip", "/opt"])
    ['/spark/pyspark/python/lib/pyspark.zip', '/opt']
    """
    installed = {place + _ARCHIVE for place in path}
    return [place for place in path if place not in installed]


if __name__ == "__main__":
    sys.path[:] = without_archive(sys.path)
    for name in LOADED:
        import_module(name)
    gc.collect()
    gc.freeze()
    import_module("pyspark.daemon").manager()
