"""The names of aggregations in CQL: those of their classes, and those that SQL is used to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import windrow.aggregations as aggregations
from windrow.aggregations.base import Aggregation


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
    make = getattr(aggregations, name)
    words = inspect.signature(make).parameters.values()
    named = [word for word in words if word.kind is word.KEYWORD_ONLY]
    known = {
        "parameters": tuple(word.name for word in named),
        "needed": frozenset(word.name for word in named if word.default is word.empty),
    }
    return Function(make, getattr(make, "arity", 1), **{**known, **changes})


_OTHERS = ("Aggregation", "Together", "aggregation")
FUNCTIONS: dict[str, Function] = {
    **{name.upper(): _of(name) for name in aggregations.__all__ if name not in _OTHERS},
    "AVG": _of("Mean"),
    "STDDEV_SAMP": _of("StdDev", parameters=()),
    "STDDEV_POP": _of("StdDev", parameters=(), fixed={"ddof": 0}),
    "VAR_SAMP": _of("Variance", parameters=()),
    "VAR_POP": _of("Variance", parameters=(), fixed={"ddof": 0}),
    **dict.fromkeys(("MAX_BY", "ARG_MAX"), _of("ArgMax", turned=True)),
    **dict.fromkeys(("MIN_BY", "ARG_MIN"), _of("ArgMin", turned=True)),
    **dict.fromkeys(("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT"), _of("HyperLogLog")),
    **dict.fromkeys(("COLLECT_LIST", "ARRAY_AGG"), _of("Collect")),
    "COLLECT_SET": _of("CollectDistinct"),
    "FIRST_VALUE": _of("First"),
    "LAST_VALUE": _of("Last"),
    **dict.fromkeys(("STRING_AGG", "LISTAGG"), _of("Concat")),
    **dict.fromkeys(
        ("PERCENTILE", "APPROX_PERCENTILE", "PERCENTILE_APPROX", "QUANTILE", "APPROX_QUANTILE"),
        _of("MomentSketch", parameters=("quantiles",), needed=frozenset({"quantiles"})),
    ),
    "MEDIAN": _of("MomentSketch", parameters=(), fixed={"quantiles": 0.5}),
}
