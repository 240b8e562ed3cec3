"""Aggregations whose state is a row of numbers: the sketches, combined in place.

Their compiled functions are in `headed` and `moments`, the hashes in `hashing`; generated modules
take all of them from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.aggregations.base import Aggregation
from windrow.aggregations.bloom import Bloom
from windrow.aggregations.countmin import CountMin
from windrow.aggregations.hyperloglog import HyperLogLog
from windrow.aggregations.momentsketch import MomentSketch
from windrow.compiled.hashing import hash_float64, hash_int64
from windrow.compiled.headed import (
    BYTE_HEAD,
    HEAD,
    bloom_answer,
    bloom_plus,
    bloom_unit,
    byte_copy,
    count_answer,
    count_minus,
    count_plus,
    count_unit,
    estimate,
    head_copy,
    hll_answer,
    hll_plus,
    hll_unit,
    row_copy,
)
from windrow.compiled.moments import SUMS, moment_answer, moment_plus, moment_unit

__all__ = [
    "Rows",
    "bloom_answer",
    "bloom_plus",
    "bloom_unit",
    "byte_copy",
    "count_answer",
    "count_minus",
    "count_plus",
    "count_unit",
    "estimate",
    "hash_float64",
    "hash_int64",
    "head_copy",
    "hll_answer",
    "hll_plus",
    "hll_unit",
    "moment_answer",
    "moment_plus",
    "moment_unit",
    "row_copy",
    "rows_monoid",
]


@dataclass(frozen=True)
class Rows:
    """What the generator needs to know of an aggregation with rows for states.

    A state is a row of `width` numbers of `dtype`. These are names in `source`, and `constants`
    follow their arguments: `unit(x, null, into)`, `plus(a, b, into)`, `minus(total, old, into)`
    and `answer(state, into)`, which tells whether there is one. `copy(state, into)` takes none,
    nor does `read`, which turns a value into the `unit`'s x. An answer is a row of `out_width`
    numbers of `out_dtype`, and becomes values of the types `outputs`.
    """

    dtype: str
    width: int
    read: str
    unit: str
    plus: str
    answer: str
    copy: str
    out_dtype: str
    out_width: int
    outputs: tuple[str, ...]
    constants: tuple[int, ...] = ()
    minus: str = ""
    unit_columns: int = 1
    error_model: str = "numpy"
    source: str = "from windrow.compiled.rows import *"


def rows_monoid(aggregation: Aggregation, dtype: str) -> Rows | None:
    """The functions of a sketch of int64 or float64 values; None for other aggregations.

    A subclass may have other functions, so it is none of them.

    >>> rows_monoid(Bloom(bits=1024), "int64").width
    24
    """
    read = f"hash_{dtype}"
    if type(aggregation) is Bloom:
        words = aggregation.bits // 64
        return Rows(
            dtype="uint64",
            width=HEAD + words,
            read=read,
            unit="bloom_unit",
            plus="bloom_plus",
            answer="bloom_answer",
            copy="head_copy",
            out_dtype="uint64",
            out_width=words,
            outputs=("object",),
            constants=(aggregation.bits, aggregation.hashes),
        )
    if type(aggregation) is HyperLogLog:
        return Rows(
            dtype="uint8",
            width=BYTE_HEAD + (1 << aggregation.precision),
            read=read,
            unit="hll_unit",
            plus="hll_plus",
            answer="hll_answer",
            copy="byte_copy",
            out_dtype="int64",
            out_width=1,
            outputs=("int64",),
            constants=(aggregation.precision,),
        )
    if type(aggregation) is CountMin:
        counters = aggregation.width * aggregation.depth
        return Rows(
            dtype="int64",
            width=HEAD + counters,
            read=read,
            unit="count_unit",
            plus="count_plus",
            minus="count_minus",
            answer="count_answer",
            copy="head_copy",
            out_dtype="int64",
            out_width=counters,
            outputs=("object",),
            constants=(aggregation.width, aggregation.depth),
        )
    if type(aggregation) is MomentSketch:
        width = SUMS + 2 * aggregation.order
        return Rows(
            dtype="float64",
            width=width,
            read="float64",
            unit="moment_unit",
            plus="moment_plus",
            answer="moment_answer",
            copy="row_copy",
            out_dtype="float64",
            out_width=width,
            outputs=_quantile_types(aggregation),
            constants=(aggregation.order,),
        )
    return None


def _quantile_types(aggregation: MomentSketch) -> tuple[str, ...]:
    """A number, or several; `Moments`, and tuples of fewer than two, are objects."""
    if isinstance(aggregation.quantiles, float):
        return ("float64",)
    several = aggregation.quantiles is not None and len(aggregation.quantiles) > 1
    return ("float64",) * len(aggregation.quantiles or ()) if several else ("object",)
