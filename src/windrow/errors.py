"""Everything windrow raises on purpose.

    WindrowError
    ├── InvalidArgument   (ValueError)   a parameter has a value that is not allowed
    │   └── QuerySyntaxError             a text of SQL or CQL is wrong at a place that it shows
    ├── InvalidValue      (TypeError)    a value in the stream does not fit the aggregation
    ├── EmptyWindow       (IndexError)   more was evicted than the window holds
    └── Unsupported       (TypeError)    this algorithm cannot do what was asked of it

Each is also the built-in exception that a reader would expect, so ``except ValueError`` works
without importing anything from here.
"""

from __future__ import annotations

import difflib
import inspect
import operator
from collections.abc import Iterable
from importlib import import_module
from typing import Any


class WindrowError(Exception):
    """The root of windrow's exceptions."""


class InvalidArgument(WindrowError, ValueError):
    """A parameter has a value that is not allowed."""


class QuerySyntaxError(InvalidArgument):
    """A text of SQL or CQL is wrong; the message shows the place."""

    @classmethod
    def at(cls, text: str, start: int, stop: int, problem: str, hint: str = "") -> QuerySyntaxError:
        """The error for ``text[start:stop]``, with a caret under each of its characters.

        >>> print(QuerySyntaxError.at("load >> 3", 5, 7, "'>>' is unknown", "write >"))
        '>>' is unknown
            load >> 3
                 ^^
        hint: write >
        """
        begin = text.rfind("\n", 0, start) + 1
        line = text[begin:].partition("\n")[0].rstrip()
        width = max(1, min(stop - start, len(line) - (start - begin)))
        where = f"line {text.count(chr(10), 0, start) + 1}: " if "\n" in text.strip() else ""
        shown = line.replace("\t", " ")  # a caret counts a tab as one place
        message = f"{where}{problem}\n    {shown}\n    {' ' * (start - begin)}{'^' * width}"
        return cls(f"{message}\nhint: {hint}" if hint else message)


class InvalidValue(WindrowError, TypeError):
    """A value in the stream does not fit the aggregation."""


class EmptyWindow(WindrowError, IndexError):
    """More was evicted than the window holds."""


class Unsupported(WindrowError, TypeError):
    """The algorithm cannot do what was asked of it."""


def extra(asker: str, package: str, name: str) -> Any:
    """Return a package that only `asker` needs; an error says how to install it.

    >>> extra("this store", "rocksdb_of_old", "rocksdb")
    Traceback (most recent call last):
    windrow.errors.Unsupported: this store needs rocksdb_of_old: pip install 'windrow[rocksdb]'
    """
    try:
        return import_module(package)
    except ImportError as missing:
        raise Unsupported(f"{asker} needs {package}: pip install 'windrow[{name}]'") from missing


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """`value` as an int from `least` to `most`, or an error that speaks of `name`.

    >>> whole_number("rows", 3, least=1)
    3
    """
    if type(value) is int and value >= least and (most is None or value <= most):
        return value
    wanted = "a whole number" if most is None else f"a whole number, {least} to {most}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise InvalidArgument(f"{name} must be {wanted}, got {value!r}")
    if number < least or (most is not None and number > most):
        wanted = f"{least} or more" if most is None else wanted
        raise InvalidArgument(f"{name} must be {wanted}, got {value!r}")
    return number


def accepts(function: Any, count: int) -> bool:
    """Whether a function can be called with so many values, as far as Python can tell.

    >>> accepts(lambda total, old: True, 2), accepts(lambda window: True, 2), accepts(max, 7)
    (True, False, True)
    """
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not say
        return True
    return True


def choice(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return `value` if it is allowed, or raise an error that speaks of `name`.

    >>> choice("nan", "null", ["value", "null"])
    'null'
    >>> choice("nan", "nul", ["value", "null"])
    Traceback (most recent call last):
    windrow.errors.InvalidArgument: nan='nul' is unknown; did you mean 'null'? Known: value, null
    """
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        raise InvalidArgument(f"{name}={value!r} is unknown; {did_you_mean(str(value), names)}")
    return value


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest known name, then all of them.

    >>> did_you_mean("dabba", ["daba", "flatfat"])
    "did you mean 'daba'? Known: daba, flatfat"
    """
    names = list(known)
    near = difflib.get_close_matches(wrong, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}Known: {', '.join(names)}"
