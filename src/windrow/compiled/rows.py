"""Aggregations whose state is a row of numbers: the sketches, combined in place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rows:
    """What the generator needs to know of an aggregation with rows for states.

    `unit(x, null, into)`, `plus(a, b, into)`, `minus(total, old, into)` and `answer(state, into)`
    are names in `source`; a row has `width` numbers of `dtype`, an answer too.
    """

    dtype: str
    width: int
    unit: str
    plus: str
    answer: str
    minus: str = ""
    source: str = "from windrow.compiled.rows import *"
    outputs: tuple[str, ...] = ()
