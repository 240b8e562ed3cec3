"""A Spark session that keeps quiet unless --verbose, and the Java that it starts."""

from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.cli.failures import Failed, Usage
from windrow.cli.terminal import Steps

LOCAL = "local[*]"
_MASTERS = re.compile(r"local(\[[\w*, ]+\])?$|local-cluster\[|spark://.|k8s://.|yarn$|sc://.")
_NEEDED = 17  # the oldest Java that Spark runs on
_DAEMON = "windrow.spark.daemon"
_ZONE = "spark.sql.session.timeZone"


def read_settings(options: tuple[str, ...]) -> dict[str, str]:
    """Return the settings of ``--conf name=value`` options."""
    settings = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Usage(f"--conf {text}: write name=value, as in spark.driver.memory=8g")
        settings[name.strip()] = value.strip()
    return settings


def check_master(url: str) -> None:
    """Raise an error unless Spark knows such masters."""
    if not _MASTERS.match(url):
        raise Usage(
            f"--master {url}: write local, local[4], spark://host:7077, yarn, k8s://… or sc://…"
        )


@contextmanager
def spark_session(
    master: str = LOCAL,
    settings: Mapping[str, str] | None = None,
    verbose: bool = False,
    steps: Steps | None = None,
) -> Iterator[Any]:
    """Give a session for the time of a command; one that runs already is used, and goes on.

    Starting takes about four seconds, and is one of the `steps`. `master` may be the address of a
    Connect server, sc://…, as well, which needs no Java here.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    # Workers run `python3` from PATH unless told otherwise, and that one may lack windrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    with (
        tempfile.TemporaryDirectory(prefix="windrow-spark-", ignore_cleanup_errors=True) as place,
        warnings.catch_warnings(),
        ExitStack() as stack,
    ):
        if not verbose:  # py4j logs with its stack whatever it raises
            warnings.simplefilter("ignore")
            stack.enter_context(_without_logging())
        settings = {**_defaults(master, place, verbose), **(settings or {})}
        with (steps or Steps(quiet=True)).step("starting Spark"):
            if master.startswith("sc://"):
                session = SparkSession.builder.remote(master).getOrCreate()
                session.conf.set(_ZONE, settings[_ZONE])
            else:
                session = _started(master, settings, verbose)
        try:
            yield session
        finally:
            with suppress(Exception):  # if Java has ended, there is nothing to stop
                session.stop()


@contextmanager
def _without_logging() -> Iterator[None]:
    """Let no logger of this process write, nor the server that Spark's Java calls back."""
    before, server = logging.root.manager.disable, socketserver.BaseServer
    handle_error = server.handle_error
    logging.disable()
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        logging.disable(before)
        server.handle_error = handle_error  # type: ignore[method-assign]


def _started(master: str, settings: Mapping[str, str], verbose: bool) -> Any:
    """Return a session in a Java of its own, whose output is thrown away unless `verbose`."""
    check_java()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf().setMaster(master).setAppName("windrow").setAll(list(settings.items()))
    # Java's stdout must not mix with the results
    output = (
        {"stdout": sys.stderr}
        if verbose
        else {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    )
    launch: Any = launch_gateway
    context = SparkContext(conf=conf, gateway=launch(conf, output))
    if not verbose:
        context.setLogLevel("OFF")
    session = SparkSession(context)
    if settings.get("spark.python.daemon.module") == _DAEMON:
        threading.Thread(target=_start_workers, args=[session], daemon=True).start()
    return session


def _start_workers(session: Any) -> None:
    """Have the daemon of workers load what it needs while the driver still makes its plans."""

    def same(batches: Any) -> Any:
        return batches

    with suppress(Exception):  # such as that the session has ended
        session.range(1, numPartitions=1).mapInArrow(same, "id long").collect()


def _defaults(master: str, place: str, verbose: bool) -> dict[str, str]:
    """Return the settings of Spark that --conf may change."""
    settings = {
        _ZONE: "UTC",
        "spark.sql.warehouse.dir": place,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(verbose).lower(),
        "spark.driver.maxResultSize": "0",
        # as INT96, the default, a time has lost its zone for whoever reads it without Spark
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    if master.startswith("local"):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.local.dir": place,
            "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 1)),
        }
        if sys.platform == "linux":  # elsewhere a fork of what has loaded much may fail
            settings["spark.python.daemon.module"] = _DAEMON
            # short messages over TCP wait for each other, 40 ms at a time
            settings["spark.python.unix.domain.socket.enabled"] = "true"
    return settings


# -- Java, from JAVA_HOME or else from PATH ------------------------------------------------------


@dataclass(frozen=True)
class Java:
    """What was found: where, and its version (0 where there is none)."""

    path: str | None
    version: int

    @property
    def serves(self) -> bool:
        """Whether Spark runs on it."""
        return self.version >= _NEEDED

    @property
    def problem(self) -> str:
        """What is wrong with it, in words."""
        home = os.environ.get("JAVA_HOME")
        state = "there is none on PATH" if home is None else f"JAVA_HOME={home} has none"
        if self.version:
            state = f"{self.path} is Java {self.version}"
        return f"Spark needs Java {_NEEDED} or newer, and {state}"

    @property
    def cure(self) -> str:
        """The command that mends it."""
        if "JAVA_HOME" in os.environ and shutil.which("java"):
            return "unset JAVA_HOME"
        return _install_command()


def _install_command() -> str:
    """Return how this system gets Java."""
    if shutil.which("apt-get"):
        sudo = "" if hasattr(os, "geteuid") and os.geteuid() == 0 else "sudo "
        return f"{sudo}apt-get install openjdk-17-jre-headless"
    if platform.system() == "Darwin":
        return "brew install openjdk@17"
    if shutil.which("dnf"):
        return "sudo dnf install java-17-openjdk-headless"
    return "install Java 17, and set JAVA_HOME to it"


def check_java() -> None:
    """Raise an error unless there is a Java that Spark runs on."""
    java = find_java()
    if not java.serves:
        raise Failed(f"{java.problem}: {java.cure}\n(windrow run --local needs no Java)")


def find_java() -> Java:
    """Return the Java that Spark would start. Takes a tenth of a second."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if path is None:
        return Java(None, 0)
    try:
        ran = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return Java(path, 0)
    version = re.search(r'version "(?:1\.)?(\d+)', ran.stderr)
    return Java(path, int(version[1]) if version else 0)
