"""The route by which an aggregation is computed: a kernel, a loop, or the interpreter.

A `Route` is chosen before anything runs, from the aggregation, the types of its columns and the
kind of windows; what runs it asks nothing further, and `explain` prints the same value.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidValue
from windrow.kernels.columns import Column
from windrow.kernels.compiled_states import Compiled, compiled_state
from windrow.kernels.functions import NotCompilable
from windrow.kernels.named import Kernel, kernel_of


class NotCompiledWarning(UserWarning):
    """An aggregation of the user's own runs in the interpreter."""


@dataclass(frozen=True)
class Route:
    """How results are made: by a `kernel`, by a loop over `compiled` states, or by neither.

    `name` is that of the kernel or of the loop's algorithm, "list", "bulk" or "interpreted".
    """

    name: str
    kernel: Kernel | None = None
    compiled: Compiled | None = None

    def __str__(self) -> str:
        interpreted = self.kernel is None and self.compiled is None
        return f"{self.name}{'' if interpreted else ', compiled'}: {self._words.how}"

    @property
    def combines(self) -> str:
        """How many ⊕ it makes."""
        return self._words.combines

    @property
    def state(self) -> str:
        """What it keeps while it runs."""
        return self._words.state

    @property
    def _words(self) -> _Words:
        if self.kernel is not None:
            return _Words(self.kernel.how, self.kernel.combines, self.kernel.state)
        if self.compiled is None:
            return _PLAIN[self.name]
        sketch, held = "1 sketch", "slice" if self.name == FLATFIT else "row"
        why = _WHY[self.name, isinstance(self.compiled, RowAlgebra)]
        if not isinstance(self.compiled, RowAlgebra):
            count = len(self.compiled.fields)
            sketch = f"{count} number{'s' * (count > 1)}"
        return _Words(why, _COMBINES[self.name], f"{sketch} for each {held} of the window")


class _Words(NamedTuple):
    """What `explain` says of a route: how it works, how many ⊕ that takes, and what it keeps."""

    how: str
    combines: str
    state: str


INTERPRETED, LISTED, BULK = Route("interpreted"), Route("list"), Route("bulk")
TWO_STACKS, SUBTRACT, FLATFIT = "two_stacks", "subtract_on_evict", "flatfit"

_PLAIN = {
    "interpreted": _Words(
        "values of Python, which do not compile",
        "one a row of the window",
        "the values of the window",
    ),
    "list": _Words(
        "a stretch of the sorted rows, nothing is computed", "none", "the rows of the window"
    ),
    "bulk": _Words(
        "blocks of rows go to a library's sketches, which Two-Stacks merges",
        "3 or fewer a block, 2 or fewer a result",
        "1 sketch for each block of the window",
    ),
}
_WHY = {
    (TWO_STACKS, False): "no subtraction, whatever leaves the window",
    (TWO_STACKS, True): "a sketch cannot be subtracted from",
    (SUBTRACT, True): "its counters can be subtracted",
    (FLATFIT, False): "each slice is aggregated once",
    (FLATFIT, True): "each slice is aggregated once",
}
_COMBINES = {
    TWO_STACKS: "3 or fewer a row, 1 a result",
    SUBTRACT: "1 and 1 inverse a row",
    FLATFIT: "1 a row, 3 or fewer a slice",
}


def route(
    aggregation: Aggregation,
    dtypes: Sequence[str],
    *,
    nulls: bool = False,
    sliced: bool = False,
    kernels: bool = True,
) -> Route:
    """The route for windows over columns of these types, "int64" or "float64".

    `sliced`: windows begin and end at edges of slices only. Without `kernels`, it is a loop over
    the states.

    >>> from windrow import Bloom, Max, Product
    >>> [route(each, ["float64"]).name for each in (Max(), Product())]
    ['maxima', 'two_stacks']
    >>> route(Bloom(), ["float64"], sliced=True).name
    'flatfit'
    """
    kernel = kernel_of(aggregation) if kernels else None
    if kernel is not None and (kernel.nulls or not nulls or kernel.positional):
        return Route(aggregation.kernel.partition(":")[2], kernel)
    if aggregation.bulk() is not None:
        return BULK
    compiled = compiled_or_warned(aggregation, dtypes)
    if compiled is None:
        return INTERPRETED
    if sliced:
        return Route(FLATFIT, None, compiled)
    subtracts = isinstance(compiled, RowAlgebra) and compiled.minus
    return Route(SUBTRACT if subtracts else TWO_STACKS, None, compiled)


def route_of_objects(aggregation: Aggregation) -> Route:
    """The route for values that are no machine numbers."""
    return INTERPRETED if aggregation.bulk() is None else BULK


def shares(aggregation: Aggregation) -> bool:
    """Whether slices can be aggregated: not where a kernel goes by positions, or has no state.

    >>> from windrow import Count, CountDistinct, Max
    >>> shares(Max()), shares(Count()), shares(CountDistinct())
    (True, False, False)
    """
    kernel = kernel_of(aggregation)
    if kernel is None:
        return aggregation.bulk() is None
    states = aggregation.rows("float64") or aggregation.algebra("float64")
    return not kernel.positional and states is not None


def route_over(
    aggregation: Aggregation,
    columns: Sequence[Column | None],
    *,
    sliced: bool = False,
    kernels: bool = True,
    nulls: bool = False,
) -> Route:
    """The route for windows over these columns; None stands for one of objects.

    A column with a mask may have nulls, whether or not one is set; `nulls` says so of all columns.
    """
    kernel = kernel_of(aggregation) if kernels else None
    known = [c for c in columns if c is not None]
    positional = kernel is not None and kernel.positional
    if not positional and numbers_of(aggregation, columns) is None:
        return route_of_objects(aggregation)
    nulls = nulls or any(c.nulls is not None for c in known)
    dtypes = ["float64" if c.data.dtype.kind == "f" else "int64" for c in known]
    return route(aggregation, dtypes, nulls=nulls, sliced=sliced, kernels=kernels)


# What an aggregation takes in words, and the kinds of NumPy's types that are refused.
_REFUSED = {
    "number": ("numbers", "mM"),
    "number pair": ("numbers", "mM"),
    "summable": ("numbers", "M"),
    "timed": ("numbers", "mM"),
    "integer": ("integers", "bfmM"),
    "boolean": ("booleans", "iufmM"),
    "number or text": ("numbers and text", "mM"),
    "sketch": ("sketches as bytes", "biufmM"),
}


def numbers_of(aggregation: Aggregation, columns: Sequence[Column | None]) -> list[Column] | None:
    """The columns if compiled states take them; None if one holds objects, or times are hashed.

    Times where numbers are asked for are refused.
    """
    known = [c for c in columns if c is not None]
    if len(known) < len(columns):
        return None
    wanted, refused = _REFUSED.get(aggregation.takes, ("", ""))
    for each in known[:1] if aggregation.takes == "timed" else known:
        if each.dtype.kind in refused:
            hint = "; give seconds: values / np.timedelta64(1, 's')"
            raise InvalidValue(
                f"{aggregation!r} takes {wanted}, not {each.dtype}"
                + (hint if each.dtype.kind == "m" else "")
            )
    hashed = aggregation.takes == "hashable" and aggregation.listing is None
    return None if hashed and known[0].dtype.kind in "mM" else known


def compiled_or_warned(
    aggregation: Aggregation, dtypes: Sequence[str], subtracting: bool = False
) -> Compiled | None:
    """The compiled states; None, and a warning if functions of the user's own do not compile."""
    try:
        return compiled_state(aggregation, dtypes, subtracting)
    except NotCompilable as reason:
        warn_user(
            f"{aggregation!r} runs in the interpreter, far slower than compiled: {reason}",
            NotCompiledWarning,
        )
        return None


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn of what the line of the user's own does that called windrow, itself or by Spark."""
    homes = (__name__.partition(".")[0], "pyspark")
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in homes:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


# -- what ran ------------------------------------------------------------------------------------

TRACE = "WINDROW_TRACE"  # names a file to which every process that has it writes what runs
_path = os.environ.get(TRACE)
_traced: ContextVar[list[tuple[str, str]] | None] = ContextVar("traced", default=None)


@contextlib.contextmanager
def traced() -> Iterator[list[tuple[str, str]]]:
    """A list that gets each aggregation that runs, and the name of its route.

    >>> from windrow import Max, rolling
    >>> import numpy as np
    >>> with traced() as ran:
    ...     _ = rolling(np.array([1, 2]), Max(), rows=2)
    >>> ran
    [('Max()', 'maxima')]
    """
    ran: list[tuple[str, str]] = []
    token = _traced.set(ran)
    try:
        yield ran
    finally:
        _traced.reset(token)


def trace(what: object, route: str) -> None:
    """Note what runs by which route, where `traced` or the file of `TRACE` collects it."""
    ran = _traced.get()
    if ran is not None:
        ran.append((repr(what), route))
    if _path:
        with open(_path, "a", encoding="utf-8") as file:
            file.write(f"{what!r}\t{route}\n")
