"""Everything windrow raises on purpose.

    WindrowError
    ├── InvalidArgument   (ValueError)   a parameter has a value that is not allowed
    ├── InvalidValue      (TypeError)    a value in the stream does not fit the aggregation
    ├── EmptyWindow       (IndexError)   more was evicted than the window holds
    └── Unsupported       (TypeError)    this algorithm cannot do what was asked of it

Each is also the built-in exception that a reader would expect, so ``except ValueError`` works
without importing anything from here.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from typing import Any


class WindrowError(Exception):
    """The root of windrow's exceptions."""


class InvalidArgument(WindrowError, ValueError):
    """A parameter has a value that is not allowed."""


class InvalidValue(WindrowError, TypeError):
    """A value in the stream does not fit the aggregation."""


class EmptyWindow(WindrowError, IndexError):
    """More was evicted than the window holds."""


class Unsupported(WindrowError, TypeError):
    """The algorithm cannot do what was asked of it."""


def whole_number(name: str, value: Any, least: int) -> int:
    """`value` as an int that is at least `least`, or an error that speaks of `name`.

    >>> whole_number("rows", 3, least=1)
    3
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise InvalidArgument(f"{name} must be {least} or more, got {value!r}")
    return number


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest known name, then all of them.

    >>> did_you_mean("dabba", ["daba", "flatfat"])
    "did you mean 'daba'? Known: daba, flatfat"
    """
    names = list(known)
    near = difflib.get_close_matches(wrong, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}Known: {', '.join(names)}"
