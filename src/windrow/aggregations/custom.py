"""A user's own aggregation, made from plain functions."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from windrow.aggregations.base import Aggregation, State, is_null
from windrow.errors import InvalidArgument, accepts
from windrow.identity import digest_of, named

_ABSENT: Any = object()


class Custom(Aggregation):
    """An aggregation of the user's own functions; made by `aggregation`."""

    exact = False
    exact_on_integers = False
    sql_name = None
    name: str | None = None
    version: Any = None

    def __init__(
        self,
        *columns: str,
        lift: Callable[..., State],
        combine: Callable[[State, State], State],
        lower: Callable[[State], Any],
        identity: State = _ABSENT,
        inverse: Callable[..., State] | None = None,
    ) -> None:
        functions: dict[str, Callable[..., Any]] = {
            "lift": lift,
            "combine": combine,
            "lower": lower,
        }
        _check_functions(functions, {"combine": 2, "lower": 1})
        self.has_identity = identity is not _ABSENT
        self.identity = identity if self.has_identity else None
        self.invertible = inverse is not None
        if inverse is not None:
            functions["inverse"] = inverse
            self.unary_inverse = _positional(inverse) == 1
        self.functions: Mapping[str, Callable[..., Any]] = functions
        self._lift, self._combine, self._lower, self._inverse = lift, combine, lower, inverse
        self._take(columns)

    def _take(self, columns: tuple[str, ...]) -> None:
        self.arity = max(1, len(columns))  # type: ignore[misc]  # as many as the user names
        if columns:
            _check_functions({"lift": self._lift}, {"lift": len(columns)})
        super().__init__(*columns)

    def __call__(self, *columns: str) -> Custom:
        """Return the same aggregation of these columns: ``spread("load")``."""
        other = copy.copy(self)
        other._take(columns)
        return other

    def skips(self, value: Any) -> bool:
        """Return whether any of the columns is null."""
        return any(map(is_null, value)) if self.arity > 1 else is_null(value)

    def unit(self, *values: Any) -> State:
        return self._lift(*values)

    def combine(self, a: State, b: State) -> State:
        if not self.has_identity:  # None then stands for the window that holds nothing
            if a is None:
                return b
            if b is None:
                return a
        return self._combine(a, b)

    def inverse(self, total: State, old: State) -> State:
        inverse = self._inverse
        if inverse is None:
            return super().inverse(total, old)
        if old is None and not self.has_identity:
            return total
        return self.combine(inverse(old), total) if self.unary_inverse else inverse(total, old)

    def lower(self, state: State) -> Any:
        if state is None and not self.has_identity:
            return None
        return self._lower(state)

    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {**self.functions}
        if self.has_identity:
            parameters["identity"] = self.identity
        for flag in ("commutative", "selective", "exact"):
            if getattr(self, flag):
                parameters[flag] = True
        known = {"name": self.name, "version": self.version}
        return {**parameters, **{key: value for key, value in known.items() if value is not None}}

    @property
    def fingerprint(self) -> str:
        """Return the name and version that the user gave, or else a digest of the functions."""
        if self.name is not None:
            known = f"name={self.name!r}", f"version={self.version!r}"
            return f"aggregation({', '.join([*map(repr, self.columns), *known])}){self._where()}"
        return f"{self!r} {digest_of(self.parameters())}"

    def _key(self) -> Hashable:
        return (
            type(self),
            self.columns,
            tuple((k, v) for k, v in self.parameters().items() if k != "identity"),
            repr(self.identity),
            self.condition,
        )

    def __repr__(self) -> str:
        arguments = list(map(repr, self.columns if self.written is None else self.written))
        for name, value in self.parameters().items():
            arguments.append(f"{name}={named(value) if callable(value) else repr(value)}")
        return f"aggregation({', '.join(arguments)}){self._where()}"


def aggregation(
    *columns: str,
    lift: Callable[..., State],
    combine: Callable[[State, State], State],
    lower: Callable[[State], Any],
    identity: State = _ABSENT,
    inverse: Callable[..., State] | None = None,
    commutative: bool = False,
    selective: bool = False,
    exact: bool = False,
    name: str | None = None,
    version: Any = None,
) -> Custom:
    """Return an aggregation of your own: three functions, and what you know of them.

    `lift` makes a state of one value (of as many as `columns` names), `combine` joins the states
    of two adjacent parts of a window, the older first, and must be associative; `lower` makes
    the result. Without an `identity` one is added, which your functions never see: an empty
    window then gives None. `inverse(total, old)` takes the oldest part away again (a function of
    one argument is taken as the group's inverse). A state must not be changed once made.

    In a query, call it with the names of the columns that it takes: ``spread("load")``.

    A store or a checkpoint remembers the functions by a digest of their code. With a `name` it goes
    by that and the `version` instead: change the version when the functions give other results.

    >>> from windrow import aggregator
    >>> spread = aggregation(
    ...     lift=lambda v: (v, v),
    ...     combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    ...     lower=lambda s: s[1] - s[0],
    ... )
    >>> swag = aggregator(spread)
    >>> for v in (7, 3, 5): swag.insert(v)
    >>> swag.query()
    4
    """
    own = Custom(
        *columns, lift=lift, combine=combine, lower=lower, identity=identity, inverse=inverse
    )
    own.commutative, own.selective, own.exact = commutative, selective, exact
    own.name, own.version = name, version
    return own


def _check_functions(
    functions: Mapping[str, Callable[..., Any]], counts: Mapping[str, int]
) -> None:
    """Refuse what is no function, or none of so many values."""
    for what, function in functions.items():
        if not callable(function):
            raise InvalidArgument(f"aggregation: {what} must be a function, got {function!r}")
        count = counts.get(what)
        if count is not None and not accepts(function, count):
            raise InvalidArgument(
                f"aggregation: {what} must take {count} value(s), and {named(function)} does not"
            )


def _positional(function: Callable[..., Any]) -> int:
    """Return how many positional arguments `function` takes; 2 if Python cannot tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
