"""Several aggregations over one window: one product aggregation (a tuple of states)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from windrow.aggregations.base import Aggregation, check_aggregation
from windrow.errors import InvalidArgument

# What holds of a tuple of states if it holds of each of them.
LAWS = ("commutative", "invertible", "exact", "exact_on_integers", "bounded")


class Record(dict[str, Any]):
    """The results of several aggregations: a dict whose items are attributes as well."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Together(Aggregation):
    """Named aggregations that share one window and one structure.

    >>> from windrow import aggregator, Max, Mean
    >>> swag = aggregator(Together(peak=Max("load"), mean=Mean("load")))
    >>> for load in (2, 4): swag.insert({"load": load})
    >>> swag.query()
    {'peak': 4, 'mean': 3.0}
    """

    def __init__(self, **parts: Aggregation) -> None:
        super().__init__()
        if not parts:
            raise InvalidArgument("Together needs at least one named aggregation")
        for name, part in parts.items():
            check_aggregation(part, f"Together, {name}")
        self.parts: dict[str, Aggregation] = parts
        self._parts = tuple(parts.values())
        self.identity = tuple(part.identity for part in self._parts)
        for law in LAWS:
            setattr(self, law, all(getattr(part, law) for part in self._parts))

    def parameters(self) -> dict[str, Any]:
        return self.parts

    def lift(self, value: Any) -> Any:
        return tuple(part.lift(value) for part in self._parts)

    unit = lift

    def combine(self, a: Any, b: Any) -> Any:
        return tuple(part.combine(x, y) for part, x, y in zip(self._parts, a, b, strict=True))

    def inverse(self, total: Any, old: Any) -> Any:
        return tuple(part.inverse(x, y) for part, x, y in zip(self._parts, total, old, strict=True))

    def fold(self, states: Iterable[Any]) -> Any:
        columns = zip(*states, strict=True)
        folded = tuple(part.fold(c) for part, c in zip(self._parts, columns, strict=False))
        return folded or self.identity

    def lower(self, state: Any) -> Record:
        return Record(
            (name, part.lower(s)) for (name, part), s in zip(self.parts.items(), state, strict=True)
        )

    def families(self, value: Any) -> tuple[Hashable, ...]:
        return tuple(f for part in self._parts for f in part.families(value))
