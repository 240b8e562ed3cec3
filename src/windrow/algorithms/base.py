"""What every aggregator shares: the papers' data type, and what an algorithm says of itself.

`insert(v)`, `evict(k)`, `query()` and `len()` are the sliding-window aggregation type of paper
003. An algorithm implements `_insert`, `_evict` and `_query` on states; this base lifts and lowers
values and refuses those that do not fit.

Every operation computes first and changes the structure last: when a `combine` raises, the
window is what it was before. What takes several steps (`extend`, an `evict` of many, a push) runs
by `atomically`: what a step changes in place, it notes how to take back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from windrow.aggregations.base import Aggregation, State
from windrow.errors import EmptyWindow, InvalidArgument, InvalidValue, Unsupported, whole_number

if TYPE_CHECKING:
    from windrow.algorithms.sba import Cuts

Result = TypeVar("Result")
Families = tuple[Hashable, ...]  # of which types values are that go together, for each input


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
SMALLEST = 4  # slots of the smallest circular array


def plus(combine: Callable[[State, State], State], a: State, b: State) -> State:
    """Return a ⊕ b; `combine` is not called where one side is empty."""
    if a is NOTHING:
        return b
    if b is NOTHING:
        return a
    return combine(a, b)


def same_states(a: State, b: State) -> bool:
    """Return whether two states are equal: arrays element by element, NaN to itself."""
    if a is NOTHING or b is NOTHING:
        return a is b
    equal = a == b
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal or (a != a and b != b))


def shrunk(capacity: int, size: int) -> int:
    """Return a capacity, halved while `size` values fill less than a quarter of it.

    >>> shrunk(64, 20), shrunk(64, 5), shrunk(64, 0)
    (64, 16, 4)
    """
    while size < capacity // 4 and capacity > SMALLEST:
        capacity //= 2
    return capacity


# The attributes that operations change, by class. They are read by an `attrgetter`, since a look at
# the `__dict__` of an object makes all later uses of its attributes slower.
_Changing = tuple[list[str], Callable[[Any], tuple[Any, ...]]]
_CHANGING: dict[type, _Changing] = {}
_FIXED = {"aggregation", "why", "_combine", "_plus", "_undo", "_operations"}


def _changing(swag: Aggregator) -> _Changing:
    """Return the names of the attributes that operations change, and what reads them."""
    names = sorted(vars(swag).keys() - _FIXED)
    return _CHANGING.setdefault(type(swag), (names, attrgetter(*names)))


def times_of(count: int, at: Iterable[Any], operation: str = "extend") -> list[Any]:
    """Return the times of so many values, or raise if there are more or fewer."""
    times = list(at)
    if len(times) != count:
        raise InvalidArgument(f"{operation}: at has {len(times)} times for {count} values")
    return times


def no_time(operation: str, at: Any) -> InvalidValue:
    """Return the error for what is no time, as NaN and NaT."""
    return InvalidValue(f"{operation}: at={at!r} is no time: it has no place among others")


def no_times(operation: str, at: Any) -> InvalidValue:
    """Return the error for a time among values that have none."""
    return InvalidValue(
        f"{operation}: the window's values have no times, so at={at!r} has no place among them; "
        f"give every value its at="
    )


def _cut(states: Any, length: int) -> None:
    """Take the newest from a list or deque that is longer than `length`."""
    while len(states) > length:
        states.pop()


class Aggregator(ABC):
    """A window that is kept aggregated; `windrow.aggregator` makes one by its algorithm's name."""

    algorithm: ClassVar[str]
    full_name: ClassVar[str]
    needs_inverse: ClassVar[bool] = False
    out_of_order: ClassVar[bool] = False
    keeps_times: ClassVar[bool] = False
    bulk_evict: ClassVar[bool] = False
    several_ranges: ClassVar[bool] = False
    prefix_search: ClassVar[bool] = False
    cuts_by_time = False  # whether `insert` takes times, though they are not kept

    def __init__(self, aggregation: Aggregation) -> None:
        refusal = self.refuses(aggregation)
        if refusal:
            raise Unsupported(refusal)
        self.aggregation = aggregation
        self.why = "it was asked for by name"
        self._combine = aggregation.combine
        self._plus = partial(plus, aggregation.combine)
        self._families: Families | None = None
        self._undo: list[Callable[[], object]] | None = None  # takes back the steps of `atomically`
        self._operations = 0  # how often `atomically` was called

    # -- what it can do ---------------------------------------------------------------------

    @classmethod
    def refuses(cls, aggregation: Aggregation) -> str | None:
        """Return why this algorithm cannot run `aggregation`; None if it can."""
        if cls.needs_inverse and not aggregation.invertible:
            return (
                f"{cls.algorithm} subtracts what leaves the window, and {aggregation!r} has no "
                f"inverse; take two_stacks, daba or auto, or give the aggregation an inverse="
            )
        return None

    @classmethod
    def supports(cls, aggregation: Aggregation) -> bool:
        """Return whether this algorithm can run `aggregation`."""
        return cls.refuses(aggregation) is None

    @classmethod
    def make(cls, aggregation: Aggregation, **options: Any) -> Aggregator:
        """Return an empty window; algorithms that come in several kinds choose one here."""
        return cls(aggregation, **options)

    @classmethod
    def options_for(cls, cuts: Cuts) -> dict[str, Any]:
        """Return the options for a window that is best cut so; none where it is not cut."""
        return {}

    # -- the data type ----------------------------------------------------------------------

    def insert(self, value: Any, at: Any = None) -> None:
        """Add `value` as the newest; `at` is its time, for algorithms with `keeps_times`.

        With `out_of_order` a late value goes to its place in time, else `at` must be the newest.
        """
        self._refuse_times(at)
        families = self.families_with(value, self._families if len(self) else None)
        self._insert(self.aggregation.lift(value))
        self._families = families

    def extend(self, values: Iterable[Any], at: Iterable[Any] | None = None) -> None:
        """Insert all of `values`, in order; if one cannot be, none is.

        With `at`, each at its place in time (out-of-order algorithms). They are in memory together,
        so give very many in parts.
        """
        self._refuse_times(at)
        states, families = self._lifted(values)
        self.atomically(self._insert_each, states)
        self._families = families

    def evict(self, k: int = 1) -> None:
        """Remove the `k` oldest values."""
        if whole_number("evict: k", k, least=0) > len(self):
            raise EmptyWindow(
                f"evict: the window holds {len(self)} value(s), so {k} cannot be evicted; "
                f"it was left as it is"
            )
        if k:
            self._evict(k)

    def evict_while(self, goes: Callable[[Any], object]) -> int:
        """Remove the longest oldest part whose aggregate satisfies `goes`; return how many values.

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
        """Return how many values the longest oldest part has whose aggregate satisfies `goes`.

        `goes` must be monotone: where it is true of an oldest part, it is true of every shorter
        one. If it is not monotone, the part found still satisfies `goes` (or is empty), and with
        one value more it does not (or there is none). `goes` is called for the oldest value first.
        O(log k) ⊕ and calls for a result of k. For algorithms with `prefix_search`.
        """
        if not self.prefix_search:
            raise Unsupported(
                f"{self.algorithm} cannot read the aggregate of its oldest part; take amta, "
                f"log_mta or flatfat to search there"
            )
        lower = self.aggregation.lower
        return self._count_while(lambda state: bool(goes(lower(state))))

    def query(self, last: int | None = None) -> Any:
        """Return the aggregate of the window; with `last`, of its newest `last` values."""
        if last is None:
            state = self._query()
        else:
            self._check_ranges((last,))
            state = self._query_last(last)
        return self.aggregation.lower(self.aggregation.identity if state is NOTHING else state)

    def query_with(self, value: Any, last: int | None = None) -> Any:
        """Return what `query` would if `value` were the newest; the window stays as it is.

        With `last`, of the `last` newest values and of `value`. One ⊕ more than a query.
        """
        self.admit(value)
        if last is None or last == len(self):
            state = self._query()
        else:
            state = NOTHING if last == 0 else self._query_last(last)
        return self.aggregation.lower(self._plus(state, self.aggregation.lift(value)))

    def admit(self, value: Any) -> None:
        """Raise if `insert` would refuse `value`; the window stays as it is. No ⊕."""
        self.families_with(value, self._families if len(self) else None)
        self.aggregation.lift(value)

    def atomically(self, steps: Callable[..., Result], *arguments: Any) -> Result:
        """Return what `steps(*arguments)` returns; if it raises, the window is what it was before.

        The steps are operations on this window: inserts, then at most one evict, then queries.
        """
        if self._undo is not None:
            return steps(*arguments)
        names, values = _CHANGING.get(type(self)) or _changing(self)
        before = values(self)
        self._operations += 1
        undo: list[Callable[[], object]] = []
        self._undo = undo
        try:
            return steps(*arguments)
        except BaseException:
            for take_back in reversed(undo):
                take_back()
            for name, value in zip(names, before, strict=True):
                setattr(self, name, value)
            raise
        finally:
            self._undo = None

    def count_older(self, goes: Callable[[Any], object]) -> int:
        """Return how many of the oldest values have times that satisfy `goes`: no ⊕.

        `goes` must be monotone: where it is true of a time, it is true of every earlier one. For
        algorithms with `keeps_times`.
        """
        raise Unsupported(f"{self.algorithm} keeps no times; take amta, log_mta, fiba or flatfat")

    @property
    def oldest_time(self) -> Any:
        """The time of the oldest value; None where values have no times."""
        return None

    def queries(self, ranges: Sequence[int]) -> list[Any]:
        """Return the aggregates of the newest r values, for each r of `ranges`."""
        self._check_ranges(ranges)
        # The longest first: flatfit reuses its work for the others.
        results = {r: self.query(r) for r in sorted(set(ranges), reverse=True)}
        return [results[r] for r in ranges]

    @abstractmethod
    def __len__(self) -> int:
        """Return how many values the window holds."""

    # -- what an algorithm implements -------------------------------------------------------

    @abstractmethod
    def _insert(self, state: State) -> None:
        """Append `state` as the newest."""

    @abstractmethod
    def _evict(self, k: int) -> None:
        """Remove the k oldest states, 1 ≤ k ≤ len."""

    @abstractmethod
    def _query(self) -> State:
        """Return the ⊕ of all states, NOTHING for none."""

    def _query_last(self, last: int) -> State:
        """Return the ⊕ of the newest `last` states, 1 ≤ last ≤ len."""
        raise NotImplementedError

    def _count_while(self, goes: Callable[[State], bool]) -> int:
        """Return how many of the oldest states have a ⊕ that satisfies `goes`: by `_search`."""
        raise NotImplementedError

    @abstractmethod
    def _check(self) -> None:
        """Assert every invariant of the structure; for tests and for finding faults."""

    # -- shared steps -----------------------------------------------------------------------

    def _note(self, take_back: Callable[..., object], *arguments: Any) -> None:
        """Note how a change in place is taken back, if it is a step of `atomically`.

        Attributes need no note: `atomically` has kept what they were.
        """
        if self._undo is not None:
            self._undo.append(partial(take_back, *arguments))

    def _note_length(self, states: Any) -> None:
        """Note how long a list or deque is, if this is the first step of `atomically`.

        Inserts come first, so one note is enough for all of them.
        """
        if self._undo is not None and not self._undo:
            self._undo.append(partial(_cut, states, len(states)))

    def _refuse_times(self, at: Any) -> None:
        if at is not None and not self.keeps_times:
            raise Unsupported(
                f"{self.algorithm} keeps values in the order of their arrival and has no use for "
                f"at={at!r}; take fiba or flatfat to insert by time, amta or log_mta if times are "
                f"in order"
            )

    def _lifted(self, values: Iterable[Any]) -> tuple[list[State], Families | None]:
        """Return the states of new values, and the families of a window with them in it."""
        families = self._families if len(self) else None
        states = []
        for value in values:
            families = self.families_with(value, families)
            states.append(self.aggregation.lift(value))
        return states, families

    def _insert_each(self, states: Iterable[State]) -> None:
        for state in states:
            self._insert(state)

    def _fold(self, states: Iterable[State]) -> State:
        """Return the ⊕ of the states that are not NOTHING, oldest first."""
        present = [state for state in states if state is not NOTHING]
        return self.aggregation.fold(present) if present else NOTHING

    def _search(
        self,
        node: Callable[[int, int], State],
        start: int,
        end: int,
        goes: Callable[[State], bool],
    ) -> int:
        """Return the position up to which the ⊕ from `start` satisfies `goes`, in a dyadic tree.

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

    def families_with(self, value: Any, families: Families | None) -> Families:
        """Return the families of a window with `value` in it; raise if it does not fit."""
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

    def _check_ranges(self, ranges: Sequence[int]) -> None:
        if not self.several_ranges:
            raise Unsupported(
                f"{self.algorithm} gives the whole window only; take flatfit, flatfat, "
                f"b_int, amta, log_mta or recalculate for other ranges"
            )
        for r in ranges:
            if not 1 <= whole_number("query: last", r, least=1) <= len(self):
                raise InvalidArgument(
                    f"query: last must be from 1 to the window's length {len(self)}, got {r}"
                )

    def explain(self) -> str:
        """Return what runs, and why.

        >>> from windrow import Max, aggregator
        >>> print(aggregator(Max()).explain())
        slick_deque: SlickDeque
        of Max(): commutative, selective, exact
        because its result is always one of the values: fewer than 2 ⊕ a value
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
