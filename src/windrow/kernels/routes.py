"""The way that an aggregation goes from windows to results: a kernel, a loop, or the interpreter.

A `Route` is chosen before anything runs, from the aggregation, the types of its columns and the
kind of windows; what runs it asks nothing further, and `explain` prints the same value.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidValue
from windrow.kernels.columns import Column
from windrow.kernels.functions import NotCompilable
from windrow.kernels.monoids import Compiled, compiled_state
from windrow.kernels.named import Kernel, kernel_of


class NotCompiledWarning(UserWarning):
    """An aggregation of the user's own runs in the interpreter."""


@dataclass(frozen=True)
class Route:
    """How results are made: by a `kernel`, by a loop over `compiled` states, or by neither.

    `name` says it in a word: the kernel's, "two_stacks", "subtract_on_evict" or "interpreted".
    """

    name: str
    kernel: Kernel | None = None
    compiled: Compiled | None = None


def route(
    aggregation: Aggregation,
    columns: Sequence[Column | None],
    *,
    by_rows: bool,
    kernels: bool = True,
) -> Route:
    """The way for windows over such columns; None stands for one of objects.

    Without `kernels`, a loop over the states is asked for.

    >>> from windrow import Max, Product
    >>> import numpy as np
    >>> loads = Column(np.empty(0), None, np.dtype(float))
    >>> route(Max(), [loads], by_rows=True).name, route(Product(), [loads], by_rows=True).name
    ('maxima', 'two_stacks')
    """
    kernel = kernel_of(aggregation) if kernels else None
    name = aggregation.kernel.partition(":")[2]
    if kernel is not None and kernel.positional:
        return Route(name, kernel)
    known = [c for c in columns if c is not None]
    if len(known) < len(columns):
        return Route("interpreted")
    check_types(aggregation, known[0])
    nulls = any(c.nulls is not None for c in known)
    if kernel is not None and (by_rows or not kernel.rows_only) and (kernel.nulls or not nulls):
        return Route(name, kernel)
    compiled = None
    if not (aggregation.takes == "hashable" and known[0].dtype.kind in "mM"):
        compiled = _compiled(aggregation, known)  # times hash as what they are, not as numbers
    if compiled is None:
        return Route("interpreted")
    subtracts = isinstance(compiled, RowAlgebra) and compiled.minus
    return Route("subtract_on_evict" if subtracts else "two_stacks", None, compiled)


def planned(aggregation: Aggregation, *, by_rows: bool) -> Route:
    """The way over columns of floats without nulls, which `explain` tells before there are any."""
    floats = Column(np.empty(0), None, np.dtype(np.float64))
    columns = 1 if aggregation.takes == "ordered pair" else aggregation.arity
    return route(aggregation, [floats] * columns, by_rows=by_rows)


def check_types(aggregation: Aggregation, first: Column) -> None:
    """Refuse times where numbers are asked for."""
    refused = {"number": "Mm", "summable": "M"}.get(aggregation.takes, "")
    if first.dtype.kind in refused:
        raise InvalidValue(f"{aggregation!r} takes numbers, not {first.dtype}")


def _compiled(aggregation: Aggregation, columns: Sequence[Column]) -> Compiled | None:
    """The compiled states; None, and a warning for functions that cannot be compiled."""
    try:
        return compiled_state(aggregation, [str(c.data.dtype) for c in columns])
    except NotCompilable as error:
        warn_interpreted(aggregation, error)
        return None


def warn_interpreted(aggregation: Aggregation, reason: NotCompilable) -> None:
    """Warn that an aggregation of the user's own runs in the interpreter."""
    warnings.warn(
        f"{aggregation!r} runs in the interpreter, far slower than compiled: {reason}",
        NotCompiledWarning,
        stacklevel=5,
    )


# -- what ran ------------------------------------------------------------------------------------

_traced: ContextVar[list[tuple[Aggregation, str]] | None] = ContextVar("traced", default=None)


@contextlib.contextmanager
def traced() -> Iterator[list[tuple[Aggregation, str]]]:
    """A list that gets each aggregation that runs, and the name of the way that it took.

    >>> from windrow import Max, rolling
    >>> import numpy as np
    >>> with traced() as ran:
    ...     _ = rolling(np.array([1, 2]), Max(), rows=2)
    >>> ran
    [(Max(), 'maxima')]
    """
    ran: list[tuple[Aggregation, str]] = []
    token = _traced.set(ran)
    try:
        yield ran
    finally:
        _traced.reset(token)


def trace(aggregation: Aggregation, way: Route) -> None:
    """Note what runs, if somebody listens."""
    ran = _traced.get()
    if ran is not None:
        ran.append((aggregation, way.name))
