"""What went wrong, in words for the one who typed the command: no traceback, and an exit code.

    0  done          1  failed          2  wrong usage: an option, a query, a file that is not there

With --json an error is one line of JSON on stderr; with --verbose, or if windrow itself is at
fault, the traceback is there too.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from windrow.cli.terminal import coloured
from windrow.errors import InvalidArgument, WindrowError

# Which extra brings a module that is missing.
EXTRAS = {
    **dict.fromkeys(("rich", "matplotlib", "jinja2", "click"), "cli"),
    **dict.fromkeys(("sqlglot", "lark"), "sql"),
    **dict.fromkeys(("pyspark", "pandas", "py4j"), "spark"),
    "pyarrow": "arrow",
}

# The last line of a traceback of Python, as a worker sends it.
_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Argument|Value|Unsupported|Interrupt)\b: ")


class Failed(Exception):
    """A command could not be done; the message says why, and what would help."""


class Usage(Failed):
    """A command was asked for in a way that cannot be."""


@dataclass
class Outcome:
    """The exit code of a command."""

    code: int = 0


@dataclass(frozen=True)
class _Told:
    """What is told of an exception."""

    code: int
    kind: str
    message: str
    trace: bool = False


@contextmanager
def explained(arguments: list[str]) -> Iterator[Outcome]:
    """Tell what a command raises, and keep its exit code."""
    outcome = Outcome()
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    try:
        yield outcome
    except click.exceptions.Exit as done:
        outcome.code = done.exit_code
    except BrokenPipeError:  # `windrow … | head`: whoever read has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        outcome.code = 1
    except (Exception, KeyboardInterrupt) as error:
        told = tell(error)
        outcome.code = told.code
        if "--json" in options:
            known = {"kind": told.kind, "message": told.message, "exit_code": told.code}
            click.echo(json.dumps({"error": known}, ensure_ascii=False), err=True)
        else:
            click.echo(f"{coloured('windrow:', 'red')} {told.message}", err=True)
        if told.trace or "--verbose" in options:
            traceback.print_exception(error)


def tell(error: BaseException) -> _Told:
    """The exit code, the kind and the words for an exception."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return _Told(1, "interrupted", "interrupted")
    if isinstance(error, click.ClickException):
        return _Told(2, "usage", _usage(error))
    if isinstance(error, Usage):
        return _Told(2, "usage", str(error))
    if isinstance(error, Failed):
        return _Told(1, "failed", str(error))
    if isinstance(error, WindrowError):
        kind = next(c for c in type(error).__mro__ if c.__module__ == WindrowError.__module__)
        return _Told(1, kind.__name__, str(error))
    if isinstance(error, ImportError):
        return _Told(1, "missing", _missing(error))
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return _Told(1, "file", f"{named}{error.strerror or error}")
    home = type(error).__module__.split(".")[0]
    if home in ("pyspark", "py4j"):
        return _Told(1, "spark", _spark(error))
    if home == "pyarrow":
        return _Told(1, "data", str(error))
    return _Told(1, "bug", f"{type(error).__name__}: {error}", trace=True)


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message()
    return f"{message}\nTry '{context.command_path} --help'." if context else message


def _missing(error: ImportError) -> str:
    if "pip install" in str(error):
        return str(error)
    module = (error.name or "").split(".")[0]
    if module not in EXTRAS:
        return str(error)
    return f"this needs {module}: pip install 'windrow[{EXTRAS[module]}]'"


def _spark(error: BaseException) -> str:
    """The first cause that Spark tells, without the stacks of two languages around it."""
    if "JAVA_GATEWAY_EXITED" in str(error):
        return "Spark could not start Java: `windrow doctor` tells what is missing"
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    own = [line for line in raised if line.startswith("windrow.errors.")]
    if own:
        return own[-1].partition(": ")[2]
    cause = (raised or lines or [type(error).__name__])[-1 if raised else 0]
    return f"Spark: {cause}\n(--verbose shows Spark's log)"


@contextmanager
def usage() -> Iterator[None]:
    """What is wrong with an argument here was wrong in what was typed: exit code 2."""
    try:
        yield
    except InvalidArgument as error:
        raise Usage(str(error)) from None
