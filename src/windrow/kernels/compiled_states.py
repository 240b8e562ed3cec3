"""States as Numba compiles them: an aggregation's own functions, written into a module.

An aggregation says what its states are (`windrow.aggregations.algebra`); here its functions become
the text of a module, for values of one type. States of rows are compiled already, and a user's
plain functions are asked for their types first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windrow.aggregations.algebra import Algebra, RowAlgebra, number_type
from windrow.aggregations.base import Aggregation
from windrow.errors import Unsupported
from windrow.kernels.functions import NotCompilable, NotEmbeddable, embed


@dataclass(frozen=True)
class Monoid:
    """A state that is a tuple of numbers, as the text of a module.

    `unit`, `plus`, `answer` and `minus` are names in `source`; `fields` are the types of a state's
    fields and `outputs` those of the answer. `unit` takes as many values as `columns` says, and
    the position of a value behind them if the state is `positioned`.
    """

    fields: tuple[str, ...]
    outputs: tuple[str, ...]
    source: str
    unit: str = "unit"
    plus: str = "plus"
    answer: str = "answer"
    minus: str = ""
    constants: tuple[Any, ...] = ()
    columns: int = 1
    positioned: bool = False
    error_model: str = "numpy"  # what a division by zero does: "python" raises


Compiled = Monoid | RowAlgebra


def compiled_state(
    aggregation: Aggregation, dtypes: Sequence[str], subtracting: bool = False
) -> Compiled | None:
    """The compiled form of the states over columns of such types; None if there is none.

    Types are "int64" or "float64". `subtracting` asks for states that can be subtracted from
    without a trace. `NotCompilable` tells why functions of the user's own cannot be compiled.

    >>> from windrow import Mean
    >>> compiled_state(Mean(), ["int64"]).fields
    ('int64', 'int64')
    """
    if aggregation.functions is not None:
        from windrow.kernels.custom import own_monoid

        return own_monoid(aggregation, tuple(dtypes))
    rows = aggregation.rows(dtypes[0])
    if rows is not None:
        return rows
    algebra = aggregation.algebra(dtypes[0], subtracting)
    return None if algebra is None else _monoid(algebra, dtypes[0])


def state_of(aggregation: Aggregation, dtypes: Sequence[str]) -> Compiled:
    """The same, or an error that says that there is none."""
    try:
        compiled = compiled_state(aggregation, dtypes)
    except NotCompilable as error:
        raise Unsupported(f"{aggregation!r} does not compile: {error}") from None
    if compiled is None:
        raise Unsupported(f"{aggregation!r} has no state of numbers that could travel")
    return compiled


@functools.lru_cache(maxsize=256)
def _monoid(algebra: Algebra, dtype: str) -> Monoid:
    """The functions of an algebra as a text."""
    functions = {"unit": algebra.unit, "plus": algebra.plus, "answer": algebra.answer}
    if algebra.minus is not None:
        functions["minus"] = algebra.minus
    try:
        text = embed(functions)
    except NotEmbeddable as error:
        raise NotCompilable(str(error)) from None
    compiled = [f"{name} = inner({name})" for name in functions]
    return Monoid(
        algebra.types(dtype),
        tuple(number_type(kind, dtype) for kind in algebra.outputs),
        "\n".join([text, *compiled]),
        minus="minus" if algebra.minus is not None else "",
        constants=algebra.constants,
        positioned=algebra.positioned,
    )
