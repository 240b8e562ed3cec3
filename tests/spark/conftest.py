"""One Spark session for all tests of a process; under pytest-xdist two processes have one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.examples import PROFILE
from windrow.kernels.routes import TRACE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.sources import Source

HERE = Path(__file__).parent

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.authenticate.socketTimeout": "120s",  # a busy machine starts workers slowly
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    # Compiling each plan takes longer than its few rows: `make test-all` does it all the same.
    "spark.sql.codegen.wholeStage": str(PROFILE != "windrow").lower(),
}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of batches run in one process and those of streams in another: two Java machines."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A classic session on two threads; a machine without Java is a failure, not a skip."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed: windrow[spark]")
    # Workers run `python3` from PATH unless told otherwise, and that one may lack windrow.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    paths = (
        str(HERE.parents[1]),
        os.environ.get("PYTHONPATH"),
    )  # of the daemon, wherever it starts
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    builder = sql.SparkSession.builder.master("local[2]").appName("windrow-tests")
    builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    builder.config("spark.python.daemon.module", "windrow.spark.daemon")
    builder.config("spark.python.unix.domain.socket.enabled", "true")
    for name, value in SETTINGS.items():
        builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def trace_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all traces: workers with another environment would be started anew."""
    return tmp_path_factory.mktemp("traces") / "trace"


@pytest.fixture
def trace(spark: SparkSession, trace_path: Path) -> Iterator[Callable[[], set[tuple[str, ...]]]]:
    """What ran in the workers: the aggregations with their kernels or loops."""
    trace_path.write_text("")
    spark.sparkContext.environment[TRACE] = str(trace_path)
    yield lambda: {tuple(line.split("\t")) for line in trace_path.read_text().splitlines()}
    del spark.sparkContext.environment[TRACE]


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    """Files of rows that a stream reads, each a micro-batch."""
    from tests.spark.sources import Source

    return Source(spark, tmp_path)
