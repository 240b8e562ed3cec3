"""What every aggregator shares: the papers' data type, and what an algorithm says of itself.

`insert(v)`, `evict(k)`, `query()` and `len()` are the sliding-window aggregation type of paper
003. An algorithm implements `_insert`, `_evict` and `_query` on states; this base lifts, lowers
and refuses what must not get in, so that no algorithm repeats it.

Every operation computes first and changes the structure last: when a `combine` raises, the
window is what it was before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar

from windrow.aggregations.base import Aggregation, State
from windrow.errors import EmptyWindow, InvalidArgument, InvalidValue, Unsupported, whole_number


class _Nothing:
    """The state of no values at all: ⊥ in paper 000, the neutral element of any aggregation.

    The algorithms put it where a part of the window is empty. It never reaches a `combine`, so
    an aggregation needs no identity for them, and the number of ⊕ is the number of real ones.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "⊥"

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING: Any = _Nothing()


class Aggregator(ABC):
    """A window that is kept aggregated; `windrow.aggregator` makes one by its algorithm's name."""

    algorithm: ClassVar[str]
    full_name: ClassVar[str]
    needs_inverse: ClassVar[bool] = False
    needs_selective: ClassVar[bool] = False
    out_of_order: ClassVar[bool] = False
    bulk_evict: ClassVar[bool] = False
    several_ranges: ClassVar[bool] = False
    prefix_search: ClassVar[bool] = False

    def __init__(self, aggregation: Aggregation) -> None:
        refusal = self.refuses(aggregation)
        if refusal:
            raise Unsupported(refusal)
        self.aggregation = aggregation
        self.why = "it was asked for by name"
        self._combine = aggregation.combine
        self._families: tuple[Hashable, ...] | None = None

    # -- what it can do ---------------------------------------------------------------------

    @classmethod
    def refuses(cls, aggregation: Aggregation) -> str | None:
        """Why this algorithm cannot run `aggregation`; None if it can."""
        if cls.needs_inverse and not aggregation.invertible:
            return (
                f"{cls.algorithm} subtracts what leaves the window, and {aggregation!r} has no "
                f"inverse; take two_stacks, daba or auto, or give the aggregation an inverse="
            )
        if cls.needs_selective and not aggregation.selective:
            return (
                f"{cls.algorithm} needs an aggregation whose combine returns one of its operands, "
                f"and {aggregation!r} is not selective; take two_stacks, daba or auto"
            )
        return None

    @classmethod
    def supports(cls, aggregation: Aggregation) -> bool:
        """Whether this algorithm can run `aggregation`."""
        return cls.refuses(aggregation) is None

    @classmethod
    def make(cls, aggregation: Aggregation, **options: Any) -> Aggregator:
        """An empty window; some algorithms come in several kinds and choose here."""
        return cls(aggregation, **options)

    # -- the data type ----------------------------------------------------------------------

    def insert(self, value: Any, at: Any = None) -> None:
        """Add `value` as the newest; with `at`, at its place in time (out-of-order algorithms)."""
        if at is not None:
            raise Unsupported(
                f"{self.algorithm} keeps values in the order of their arrival and has no use for "
                f"at={at!r}; take flatfat to insert by time"
            )
        families = self._fitting(value, self._families if len(self) else None)
        self._insert(self.aggregation.lift(value))
        self._families = families

    def extend(self, values: Iterable[Any]) -> None:
        """Insert each of `values`, in order."""
        for value in values:
            self.insert(value)

    def evict(self, k: int = 1) -> None:
        """Remove the `k` oldest values."""
        self._check_evictable(k)
        if k:
            self._evict(k)

    def evict_while(self, goes: Callable[[Any], object]) -> int:
        """Remove the longest oldest part whose aggregate satisfies `goes`; how many values left.

        O(log k) ⊕ and calls of `goes` to find the k values, then one `evict(k)`.

        >>> from windrow import Sum, aggregator
        >>> swag = aggregator(Sum(), algorithm="amta")
        >>> swag.extend([2, 2, 3, 3, 4])
        >>> swag.evict_while(lambda old: old <= 6), swag.query()
        (2, 10)
        """
        k = self.count_while(goes)
        if k:
            self._evict(k)
        return k

    def count_while(self, goes: Callable[[Any], object]) -> int:
        """How many values make up the longest oldest part whose aggregate satisfies `goes`.

        `goes` must be monotone: where it is true of an oldest part, it is true of every shorter
        one. Of any other it still holds that the part found satisfies `goes` (or is empty), and
        that with one value more it does not (or there is none). The oldest value is asked first.
        O(log k) ⊕ and calls for an answer of k; algorithms with `prefix_search`.
        """
        if not self.prefix_search:
            raise Unsupported(
                f"{self.algorithm} cannot read the aggregate of its oldest part; take amta, "
                f"log_mta or flatfat to search there"
            )
        lower = self.aggregation.lower
        return self._count_while(lambda state: bool(goes(lower(state))))

    def query(self, last: int | None = None) -> Any:
        """The aggregate of the window; with `last`, of its newest `last` values."""
        if last is None:
            state = self._query()
        else:
            self._check_ranges((last,))
            state = self._query_last(last)
        return self.aggregation.lower(self.aggregation.identity if state is NOTHING else state)

    def query_with(self, value: Any) -> Any:
        """What `query` would answer if `value` were the newest; the window stays as it is.

        One ⊕ more than a query.
        """
        self.admit(value)
        return self.aggregation.lower(self._plus(self._query(), self.aggregation.lift(value)))

    def admit(self, value: Any) -> None:
        """Refuse `value` where `insert` would; the window stays as it is. No ⊕."""
        self._fitting(value, self._families if len(self) else None)
        self.aggregation.lift(value)

    def queries(self, ranges: Sequence[int]) -> list[Any]:
        """The aggregates of the newest r values, for each r of `ranges`, the longest done first."""
        self._check_ranges(ranges)
        answers = {r: self.query(r) for r in sorted(set(ranges), reverse=True)}
        return [answers[r] for r in ranges]

    @abstractmethod
    def __len__(self) -> int:
        """How many values the window holds."""

    # -- what an algorithm implements -------------------------------------------------------

    @abstractmethod
    def _insert(self, state: State) -> None:
        """Append `state` as the newest."""

    @abstractmethod
    def _evict(self, k: int) -> None:
        """Remove the k oldest states, 1 ≤ k ≤ len."""

    @abstractmethod
    def _query(self) -> State:
        """The ⊕ of all states, NOTHING for none."""

    def _query_last(self, last: int) -> State:
        """The ⊕ of the newest `last` states, 1 ≤ last ≤ len."""
        raise NotImplementedError

    def _count_while(self, goes: Callable[[State], bool]) -> int:
        """How many of the oldest states have a ⊕ that satisfies `goes`: by `_search`."""
        raise NotImplementedError

    @abstractmethod
    def _check(self) -> None:
        """Assert every invariant of the structure; for tests and for finding faults."""

    # -- shared steps -----------------------------------------------------------------------

    def _plus(self, a: State, b: State) -> State:
        """a ⊕ b, without calling `combine` when one side is empty."""
        if a is NOTHING:
            return b
        if b is NOTHING:
            return a
        return self._combine(a, b)

    def _fold(self, states: Iterable[State]) -> State:
        """⊕ of the states that are there, oldest first."""
        present = [state for state in states if state is not NOTHING]
        return self.aggregation.fold(present) if present else NOTHING

    def _search(
        self,
        node: Callable[[int, int], State],
        start: int,
        end: int,
        goes: Callable[[State], bool],
    ) -> int:
        """The position up to which the ⊕ from `start` satisfies `goes`, in a tree of dyadic blocks.

        node(level, m) is the ⊕ of [m·2^level, (m+1)·2^level). Only blocks inside [start, end) are
        read, above level 0 none that is all of it. The search climbs while the next block can be
        added, at most two a level, and then halves the one that could not:

            level 2              [    4 … 7    ]✗
            level 1        [ 2 3 ]✓        [ 4 5 ]✓
            level 0    [1]✓                       [6]✗         start = 1, found: 6

        So a part of k positions costs O(log k) tests, and none at all costs one.
        """
        state: State = NOTHING
        level, climbing = 0, True
        while level >= 0:
            step = 1 << level
            if start + step <= end and goes(
                longer := self._plus(state, node(level, start >> level))
            ):
                start, state = start + step, longer
                if not climbing:
                    level -= 1
                elif not start & step:
                    level += 1
            else:
                climbing = False
                level -= 1
        return start

    def _fitting(self, value: Any, families: tuple[Hashable, ...] | None) -> tuple[Hashable, ...]:
        """The families of a window once `value` is in it; an error if it does not fit."""
        new = self.aggregation.families(value)
        if families is None or new == families:
            return new
        for was, now in zip(families, new, strict=True):
            if was is not None and now is not None and was != now:
                raise InvalidValue(
                    f"{self.aggregation!r}: the window holds {was} values, so {value!r} "
                    f"({now}) cannot join them; it was not inserted"
                )
        return tuple(was if now is None else now for was, now in zip(families, new, strict=True))

    def _check_evictable(self, k: int) -> None:
        if whole_number("evict: k", k, least=0) > len(self):
            raise EmptyWindow(
                f"evict: the window holds {len(self)} value(s), so {k} cannot be evicted; "
                f"it was left as it is"
            )

    def _check_ranges(self, ranges: Sequence[int]) -> None:
        if not self.several_ranges:
            raise Unsupported(
                f"{self.algorithm} answers for the whole window only; take flatfit, flatfat, "
                f"b_int or recalculate for other ranges"
            )
        for r in ranges:
            if not 1 <= whole_number("query: last", r, least=1) <= len(self):
                raise InvalidArgument(
                    f"query: last must be from 1 to the window's length {len(self)}, got {r}"
                )

    def explain(self) -> str:
        """What runs, and why.

        >>> from windrow import Max, aggregator
        >>> print(aggregator(Max()).explain())
        slick_deque: SlickDeque
        of Max(): commutative, selective, exact
        because its answer is always one of the values: fewer than 2 ⊕ a value
        """
        flags = ("commutative", "invertible", "selective", "exact")
        algebra = [flag for flag in flags if getattr(self.aggregation, flag)]
        return (
            f"{self.algorithm}: {self.full_name}\n"
            f"of {self.aggregation!r}: {', '.join(algebra) or 'associative'}\n"
            f"because {self.why}"
        )

    def __repr__(self) -> str:
        return f"<{self.algorithm} of {self.aggregation!r}, {len(self)} value(s)>"
