"""A Spark session that keeps quiet: its log is shown with --verbose only."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from subprocess import DEVNULL
from typing import Any

from windrow.cli.failures import Failed, Usage
from windrow.cli.java import find_java

LOCAL = "local[*]"


def read_settings(given: tuple[str, ...]) -> dict[str, str]:
    """The settings of ``--conf name=value`` options."""
    settings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Usage(f"--conf {text}: write name=value, as in spark.driver.memory=8g")
        settings[name.strip()] = value.strip()
    return settings


@contextmanager
def spark_session(
    master: str = LOCAL, settings: Mapping[str, str] | None = None, verbose: bool = False
) -> Iterator[Any]:
    """A session for the time of a command; one that is there already is taken, and left as it is.

    Takes about four seconds. `master` may be the address of a Connect server, sc://…, as well.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    # Workers run `python3` from PATH unless told otherwise, and that one may lack windrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    place = tempfile.mkdtemp(prefix="windrow-spark-")
    try:
        with warnings.catch_warnings():
            if not verbose:
                warnings.simplefilter("ignore")
            wanted = {**_settings(master, place, verbose), **(settings or {})}
            start = _connected if master.startswith("sc://") else _started
            session = start(master, wanted, verbose)
            try:
                yield session
            finally:
                session.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _connected(address: str, settings: Mapping[str, str], verbose: bool) -> Any:
    """A session on a Connect server, which needs no Java here."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(address).getOrCreate()
    session.conf.set("spark.sql.session.timeZone", settings["spark.sql.session.timeZone"])
    return session


def _started(master: str, settings: Mapping[str, str], verbose: bool) -> Any:
    """A session in a Java of its own, which writes to nobody unless it shall be heard."""
    java = find_java()
    if not java.serves:
        raise Failed(f"{java.problem}: {java.cure}\n(windrow run --local needs no Java)")
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setMaster(master).setAppName("windrow")
    for name, value in settings.items():
        conf.set(name, value)
    # stdout is for results in any case
    heard: dict[str, Any] = {"stdout": sys.stderr if verbose else DEVNULL}
    if not verbose:
        heard["stderr"] = DEVNULL
    launch: Any = launch_gateway
    gateway = launch(conf, heard)
    context = SparkContext(conf=conf, gateway=gateway)
    if not verbose:
        context.setLogLevel("OFF")
    return SparkSession(context)


def _settings(master: str, place: str, verbose: bool) -> dict[str, str]:
    made = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": place,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(verbose).lower(),
        "spark.driver.maxResultSize": "0",
        # as INT96, the default, a time has lost its zone for whoever reads it without Spark
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    if master.startswith("local"):
        cores = os.cpu_count() or 1
        made |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.local.dir": place,
            "spark.sql.shuffle.partitions": str(max(2, cores)),
        }
    return made
