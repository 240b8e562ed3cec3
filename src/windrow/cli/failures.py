"""Errors of commands: a message in words instead of a traceback, and an exit code.

    0  done, or whoever read the results has enough (`| head`)        130  Ctrl-C
    1  failed        2  wrong usage: an option, a query, a column, a file that is not there

With --json an error is one line of JSON on stderr; with --verbose, or if windrow itself is at
fault, the traceback is there too.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from windrow.cli.terminal import coloured, say, show_json
from windrow.errors import WindrowError

# What each extra brings: the distribution, the oldest version, the first one too new.
Package = tuple[str, str, str | None]
EXTRAS: dict[str, tuple[Package, ...]] = {
    "cli": (
        ("click", "8.1", None),
        ("rich", "13", None),
        ("jinja2", "3.1", None),
        ("matplotlib", "3.8", None),
    ),
    "sql": (("sqlglot", "30.30", "30.31"), ("lark", "1.2", None)),
    "arrow": (("pyarrow", "18", None),),
    "spark": (("pyspark", "4.2", None), ("pandas", "2.2", "3"), ("protobuf", "6.33.5", None)),
    "polars": (("polars", "1", None),),
    "rocksdb": (("rocksdict", "0.3.29", None),),
    "lmdb": (("lmdb", "1.6", None),),
    "redis": (("redis", "6", None),),
    "sketches": (("datasketches", "5.2", None),),
}

# The line of a traceback of Python that says what was raised, as a worker sends it, and the first
# line behind a message of several lines.
_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Argument|Value|Unsupported|Interrupt)\b: ")
_OWN_ERROR = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE|$)", re.MULTILINE)
_OWN = ("windrow.", "OverflowError: ")
_HEADER = re.compile(r"CSV header (?:.*\n)((?:.*\n)+?)\s*CSV file: (?:file:(?://)?)?(.*)")
_FILE = re.compile(r"Encountered error while reading file (?:file:(?://)?)?(\S+?)\.?\s")
_NANOSECONDS = (
    "Spark reads no Parquet whose times are in nanoseconds, as pandas writes them: write it with "
    "coerce_timestamps='us', or run with --local"
)
_BEHIND = re.compile(r"\s+at [\w.$]+|\s*SQLSTATE|(JVM|Driver) stacktrace:|===|Traceback ")


INTERRUPTED = 130  # what a shell makes of a process that Ctrl-C ends


class Failed(Exception):
    """A command could not be done; the message says why, and what would help."""


class Usage(Failed):
    """A command was typed in a way that cannot be; exit code 2."""


@contextmanager
def usage() -> Iterator[None]:
    """Turn errors of windrow into wrong usage: where no row is read, what was typed is wrong."""
    try:
        yield
    except WindrowError as error:
        raise Usage(str(error)) from None


@dataclass(frozen=True)
class Failure:
    """The exit code, the kind and the message for an exception."""

    code: int
    kind: str
    message: str


def exit_code(work: Callable[[], Any], arguments: list[str]) -> int:
    """Do the work of a command; tell what it raises on stderr, and return the exit code."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    try:
        returned = work()
        sys.stdout.flush()
        return returned if isinstance(returned, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except BrokenPipeError:  # `windrow … | head`: whoever read has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:
        failure = failure_of(error)
        if "--json" in options:
            fields = {"kind": failure.kind, "message": failure.message, "exit_code": failure.code}
            show_json({"error": fields}, indent=None, err=True)
        else:
            say(f"{coloured('windrow:', 'red')} {failure.message}")
        if failure.kind == "bug" or "--verbose" in options:
            traceback.print_exception(error)
        return failure.code


def failure_of(error: BaseException) -> Failure:
    """Return the exit code, the kind and the message for an exception."""
    if isinstance(error, click.ClickException):
        return Failure(2, "usage", _click_message(error))
    if isinstance(error, Usage):
        return Failure(2, "usage", str(error))
    if isinstance(error, Failed):
        return Failure(1, "failed", str(error))
    if isinstance(error, WindrowError):
        kind = next(c for c in type(error).__mro__ if c.__module__ == WindrowError.__module__)
        return Failure(_code_of(kind.__name__), kind.__name__, str(error))
    if isinstance(error, ImportError):
        return Failure(1, "missing", _import_message(error))
    if isinstance(error, OverflowError):
        return Failure(1, "data", str(error))
    if isinstance(error, ConnectionError):  # nothing else here has connections
        return _spark_failure(error)
    if isinstance(error, OSError):
        file = f"{error.filename}: " if error.filename else ""
        return Failure(1, "file", f"{file}{error.strerror or error}")
    package = type(error).__module__.split(".")[0]
    if package in ("pyspark", "py4j"):
        return _spark_failure(error)
    if package == "pyarrow":
        return Failure(1, "data", str(error))
    return Failure(1, "bug", f"{type(error).__name__}: {error}")


def _code_of(kind: str) -> int:
    """Return 2 for an error in what was typed, 1 for one in the data."""
    return 2 if kind in ("InvalidArgument", "QuerySyntaxError", "Unsupported") else 1


def _click_message(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message()
    return f"{message}\nTry '{context.command_path} --help'." if context else message


def _import_message(error: ImportError) -> str:
    module = (error.name or "").split(".")[0]
    extras = {name: extra for extra, packages in EXTRAS.items() for name, *_ in packages}
    if "pip install" in str(error) or module not in extras:
        return str(error)
    return f"this needs {module}: pip install 'windrow[{extras[module]}]'"


def _spark_failure(error: BaseException) -> Failure:
    """Return the first cause that Spark names, without the stacks of two languages around it."""
    text = str(error)
    if "JAVA_GATEWAY_EXITED" in text:
        return Failure(1, "spark", "Spark could not start Java: `windrow doctor` tells why")
    if "No module named 'windrow'" in text:
        says = "the Python of Spark's workers has no windrow: install it there, or "
        return Failure(1, "spark", f"{says}export PYSPARK_PYTHON={sys.executable}")
    if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        says = "Spark's Java ended; if it was out of memory, --conf spark.driver.memory=8g helps"
        return Failure(1, "spark", f"{says}\n(--verbose shows Spark's log)")
    header = _HEADER.search(text)
    if header:
        fits = "on Spark a header has all columns in the order of --schema, or of the other files"
        return Failure(1, "data", f"{header[2]}: {fits}: {' '.join(header[1].split())}")
    if "(NANOS" in text:
        return Failure(1, "data", _NANOSECONDS)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    own = [i for i, line in enumerate(lines) if line in raised and line.startswith(_OWN)]
    if own:
        (first, *more) = lines[own[-1] :]
        kind, _, says = first.partition(": ")
        rest = itertools.takewhile(lambda line: not _BEHIND.match(line), more)
        return Failure(_code_of(kind.rpartition(".")[2]), "spark", "\n".join([says, *rest]))
    own_error = _OWN_ERROR.search(text)  # which an expression of windrow's raised
    if own_error:
        return Failure(1, "data", own_error[1])
    lines = [line for line in lines if not line.startswith("An error occurred while calling")]
    cause = (raised or lines or [type(error).__name__])[-1 if raised else 0]
    file = _FILE.search(text)
    roots = [line for line in lines if line.startswith("Caused by: ")]
    if file and roots:
        cause = f"{file[1]}: {roots[-1].removeprefix('Caused by: ')}"
    return Failure(1, "spark", f"Spark: {cause.lstrip(': ')}\n(--verbose shows Spark's log)")
