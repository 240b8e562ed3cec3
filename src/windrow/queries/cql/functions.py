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


def _functions() -> dict[str, Function]:
    """Every aggregation by its class's name, then by those that SQL is used to."""
    made = {}
    others = {}
    for name in aggregations.__all__:
        cls = getattr(aggregations, name)
        if cls in (aggregations.Aggregation, aggregations.Together, aggregations.aggregation):
            continue
        made[name.upper()] = _of(name)
        for known, given in getattr(cls, "sql_names", {}).items():
            changes: dict[str, Any] = {"fixed": dict(given.fixed), "turned": given.turned}
            if given.parameters is not None:
                changes |= {"parameters": given.parameters, "needed": frozenset(given.parameters)}
            others[known] = _of(name, **changes)
    return made | others


FUNCTIONS: dict[str, Function] = _functions()
