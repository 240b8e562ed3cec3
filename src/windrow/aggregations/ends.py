"""First, Last, Nth, FirstN, LastN: what stands at the ends of the window."""

from __future__ import annotations

import operator
from typing import Any

from windrow.aggregations.algebra import Listing, SqlName
from windrow.aggregations.base import Aggregation
from windrow.aggregations.kinds import Single
from windrow.errors import InvalidArgument, whole_number


class First(Single):
    """The oldest value that is not null."""

    selective = True
    result = "value"
    sql_names = dict.fromkeys(("FIRST_VALUE", "ANY_VALUE", "ARBITRARY"), SqlName())
    fields = {"first": "value"}
    kernel = "windrow.kernels.named:firsts"

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return a

    def turned(self) -> Aggregation | None:
        return Last(*self.columns)


class Last(First):
    """The newest value that is not null."""

    sql_names = {"LAST_VALUE": SqlName()}
    fields = {"last": "value"}
    kernel = "windrow.kernels.named:lasts"

    @staticmethod
    def plus(a: Any, b: Any) -> Any:
        return b

    def turned(self) -> Aggregation | None:
        return First(*self.columns)


class FirstN(Aggregation):
    """The n oldest values, oldest first, as a list.

    >>> from windrow import aggregator
    >>> swag = aggregator(FirstN(n=2))
    >>> for v in "abc": swag.insert(v)
    >>> swag.query()
    ['a', 'b']
    """

    identity = ()
    result = "list"

    def __init__(self, *columns: str, n: int) -> None:
        super().__init__(*columns)
        self.n = whole_number(f"{type(self).__name__}: n", n, least=1)

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(n=1), cls(n=3)]

    @property
    def listing(self) -> Listing | None:  # type: ignore[override]
        return Listing(first=self.n)

    def unit(self, value: Any) -> Any:
        return (value,)

    def combine(self, a: Any, b: Any) -> Any:
        missing = self.n - len(a)
        return a if missing <= 0 or not b else a + b[:missing]

    def lower(self, state: Any) -> Any:
        return list(state) or None


class LastN(FirstN):
    """The n newest values, oldest first, as a list."""

    @property
    def listing(self) -> Listing | None:  # type: ignore[override]
        return Listing(last=self.n)

    def combine(self, a: Any, b: Any) -> Any:
        missing = self.n - len(b)
        return b if missing <= 0 or not a else a[-missing:] + b


class Nth(Aggregation):
    """The n-th value that is not null, the oldest being the first; −1 is the newest.

    Null if the window has fewer.

    >>> from windrow import aggregator
    >>> swag = aggregator(Nth(n=-2))
    >>> for v in "abc": swag.insert(v)
    >>> swag.query()
    'b'
    """

    identity = ()
    result = "value"
    sql_names = {"NTH_VALUE": SqlName()}
    kernel = "windrow.kernels.named:nths"

    def __init__(self, *columns: str, n: int) -> None:
        super().__init__(*columns)
        if isinstance(n, bool) or not hasattr(n, "__index__") or n == 0:
            raise InvalidArgument(f"Nth: n must be a whole number other than 0, got {n!r}")
        self.n = operator.index(n)

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(n=2), cls(n=-3)]

    @property
    def listing(self) -> Listing | None:  # type: ignore[override]
        return Listing(first=self.n) if self.n > 0 else Listing(last=-self.n)

    def unit(self, value: Any) -> Any:
        return (value,)

    def combine(self, a: Any, b: Any) -> Any:
        return (a + b)[: self.n] if self.n > 0 else (a + b)[self.n :]

    def lower(self, state: Any) -> Any:
        place = self.n - 1 if self.n > 0 else 0
        return state[place] if len(state) == abs(self.n) else None

    def turned(self) -> Aggregation | None:
        return Nth(*self.columns, n=-self.n)
