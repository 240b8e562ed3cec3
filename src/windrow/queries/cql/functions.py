"""The aggregations by their names in SQL: those of their classes, and those of other engines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import windrow.aggregations as aggregations
from windrow.aggregations.base import Aggregation

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Function:
    """How a call becomes an aggregation: so many columns first, then constants."""

    make: Callable[..., Aggregation]
    arity: int
    parameters: tuple[str, ...]
    fixed: dict[str, Any] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()  # parameters without a default
    turned: bool = False  # SQL names the argument before the measure


def _of(name: str, **changes: Any) -> Function:
    """Return the function that makes an aggregation, as its signature says but for `changes`."""
    make = getattr(aggregations, name)
    words = inspect.signature(make).parameters.values()
    named = [word for word in words if word.kind is word.KEYWORD_ONLY]
    known = {
        "parameters": tuple(word.name for word in named),
        "needed": frozenset(word.name for word in named if word.default is word.empty),
    }
    return Function(make, getattr(make, "arity", 1), **{**known, **changes})


def _functions() -> dict[str, Function]:
    """Return every aggregation by its class's name, and by the names that other engines use."""
    by_class, by_sql_name = {}, {}
    for name in aggregations.NAMES:
        cls = getattr(aggregations, name)
        if cls in (aggregations.Aggregation, aggregations.Together, aggregations.aggregation):
            continue
        by_class[name.upper()] = _of(name)
        for sql_name, call in getattr(cls, "sql_names", {}).items():
            changes: dict[str, Any] = {"fixed": dict(call.fixed), "turned": call.turned}
            if call.parameters is not None:
                words = inspect.signature(cls).parameters
                needed = (n for n in call.parameters if words[n].default in (None, _EMPTY))
                changes |= {"parameters": call.parameters, "needed": frozenset(needed)}
            by_sql_name[sql_name] = _of(name, **changes)
    return by_class | by_sql_name


FUNCTIONS: dict[str, Function] = _functions()


class Filtered(NamedTuple):
    """A call that is another aggregation of some rows.

    `column` is the argument that it takes, None for the rows themselves; `condition` is written
    with the `arity` arguments.
    """

    name: str
    arity: int
    column: int | None
    condition: str


FILTERED = {
    **dict.fromkeys(("COUNT_IF", "COUNTIF"), Filtered("Count", 1, None, "{0}")),
    "REGR_COUNT": Filtered("Count", 2, 0, "{1} IS NOT NULL"),
    "REGR_AVGX": Filtered("Mean", 2, 1, "{0} IS NOT NULL"),
    "REGR_AVGY": Filtered("Mean", 2, 0, "{1} IS NOT NULL"),
}

# Aggregate functions of DuckDB and of Spark that are not here, and what to write instead.
_OF_GROUPS = "there are no GROUPING SETS here"
_DOUBLE = "write KLL_{}_AGG_DOUBLE(x): sketches of doubles alone are read in Python"
_TOP = "write MODE(x) for the commonest value, or COUNTMIN(x) for how often each occurs"
_BITMAPS = "write COUNT(DISTINCT x), or THETA_SKETCH_AGG(x) for a sketch"
_TUPLES = "write THETA_SKETCH_AGG(x) for the keys and SUM(y) for the values"
_INTERNAL = "it is DuckDB's own: write {}"
_OVERFLOW = "write {}(x): integers that do not fit are an error, which no result hides"
_SUMS = "write {} and REGR_COUNT(y, x), and multiply the results"
REFUSED: dict[str, str] = {
    **dict.fromkeys(("GROUPING", "GROUPING_ID"), _OF_GROUPS),
    **dict.fromkeys(("KLL_SKETCH_AGG_BIGINT", "KLL_SKETCH_AGG_FLOAT"), _DOUBLE.format("SKETCH")),
    **dict.fromkeys(("KLL_MERGE_AGG_BIGINT", "KLL_MERGE_AGG_FLOAT"), _DOUBLE.format("MERGE")),
    **dict.fromkeys(("APPROX_TOP_K", "APPROX_TOP_K_ACCUMULATE", "APPROX_TOP_K_COMBINE"), _TOP),
    **dict.fromkeys(
        ("BITMAP_AND_AGG", "BITMAP_CONSTRUCT_AGG", "BITMAP_OR_AGG", "BITSTRING_AGG"), _BITMAPS
    ),
    **{
        f"TUPLE_{what}_AGG_{kind}": _TUPLES
        for what in ("SKETCH", "UNION", "INTERSECTION")
        for kind in ("DOUBLE", "INTEGER")
    },
    "ARG_MAX_NULLS_LAST": "write ARG_MAX(arg, x), which leaves rows out whose x is null",
    "ARG_MIN_NULLS_LAST": "write ARG_MIN(arg, x), which leaves rows out whose x is null",
    "COLLECT_UNION": "write COLLECT_SET(x), of values and not of arrays",
    "COMBINE_AGGR": _INTERNAL.format("the aggregation by its name"),
    "COUNT_MIN_SKETCH": "write COUNTMIN(x), whose bytes are windrow's own",
    "COUNT_STAR": "write COUNT(*)",
    "DECIMAL_AVERAGE": _INTERNAL.format("AVG(x)"),
    "ENTROPY": "write COLLECT_LIST(x), and compute with the results",
    "HISTOGRAM_EXACT": "write HISTOGRAM(x, [0, 10, 100]), whose edges are given",
    "HISTOGRAM_NUMERIC": "write HISTOGRAM(x, [0, 10, 100]), whose edges are given",
    "LTTB": "write FIRST(x) or MEAN(x) over windows that hop",
    "MAD": "write QUANTILE(x, (0.25, 0.75)) for the spread about the middle",
    "MEASURE": "it is of Spark's metric views: write the aggregation by its name",
    "REGR_SXX": _SUMS.format("VAR_POP(x) FILTER (WHERE y IS NOT NULL)"),
    "REGR_SXY": _SUMS.format("COVAR_POP(y, x)"),
    "REGR_SYY": _SUMS.format("VAR_POP(y) FILTER (WHERE x IS NOT NULL)"),
    "RESERVOIR_QUANTILE": "write APPROX_QUANTILE(x, 0.5), or the exact QUANTILE(x, 0.5)",
    "SEM": "write STDDEV_POP(x) and COUNT(x), and divide by the root of the count",
    "SUM_NO_OVERFLOW": _INTERNAL.format("SUM(x)"),
    "THETA_INTERSECTION_AGG": "write THETA_UNION_AGG(s), or intersect the sketches on Spark",
    "TRY_AVG": _OVERFLOW.format("AVG"),
    "TRY_SUM": _OVERFLOW.format("SUM"),
    "VARIANT_GROUP_OBJECT": _INTERNAL.format("COLLECT_LIST(x)"),
}
