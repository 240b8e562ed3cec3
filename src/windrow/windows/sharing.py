"""Several windows over one stream: one plan, one set of slices, one FlatFIT (paper 002).

At each edge of the plan (`shared_plan`) the queries that are due are answered from one FlatFIT of
the slices, the longest window first, since the shorter ones then find its work done. Windows that
do not profit from one plan have several (`weaving`).
"""

from __future__ import annotations

import heapq
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from windrow.aggregations.base import Aggregation, State
from windrow.aggregations.shared_states import SharedStates
from windrow.aggregations.together import Record
from windrow.algorithms.base import NOTHING
from windrow.algorithms.flatfit import FlatFit
from windrow.errors import InvalidArgument
from windrow.windows.room import check_room
from windrow.windows.shared_plan import Edge, SharedPlan
from windrow.windows.slicing import Slicing
from windrow.windows.weaving import PlanGroup, woven

# Up to so many results of a query at a time, nobody asks whether there is room for them.
_MANY = 1 << 20


class Answer(NamedTuple):
    """The result of a query over [end − range, end)."""

    query: int
    end: int
    value: Any


class SharedWindows:
    """Several windows over one stream of values, answered one event at a time.

    Each window has an aggregation, or named ones; one given for all is shared by all. Positions
    are the numbers of the values, or the times that come with them as whole numbers (nanoseconds,
    say); windows that no value lies in are left out. Windows that do not profit from one plan are
    planned apart (`groups`).

    With `lateness`, a value waits until the newest time is so much later, and enters in its turn;
    one that comes after its turn is dropped, and counted in `late`.

    >>> from windrow import Max
    >>> shared = SharedWindows([(4, 2), (3, 3)], Max())
    >>> for value in (5, 1, 2, 0, 3, 4):
    ...     print([(answer.query, answer.value) for answer in shared.push(value)])
    []
    [(0, 5)]
    [(1, 5)]
    [(0, 5)]
    []
    [(0, 4), (1, 4)]
    """

    def __init__(
        self,
        windows: Sequence[tuple[int, ...]],
        aggregations: Any,
        strategy: str = "auto",
        lateness: int | None = None,
    ) -> None:
        self.late = 0  # how many values came too late and were dropped
        self._lateness = lateness
        self._waiting: list[tuple[int, int, Any, list[State]]] = []  # by time, then as they came
        self._came = itertools.count()
        self._latest: int | None = None  # the newest time that came
        plan = SharedPlan(windows, strategy)
        wanted = _wanted(aggregations, len(plan.queries))
        self._queries = plan.queries
        self._many = _MANY * min(query.slide for query in plan.queries)
        self.groups = [SharedSlices(group, plan.queries, wanted) for group in woven(plan.queries)]
        self._begun = False
        self._due = 0  # the first edge behind the position
        self._position = 0  # up to here everything is answered
        self._newest = 0  # where the newest value lies
        self._timed: bool | None = None
        self._broken = False

    def push(self, value: Any, at: int | None = None) -> list[Answer]:
        """Add `value` and return the results that are due, by their ends, then the longest first.

        Without times, these are the ones that end with this value; with times, those that end at
        or before `at`. Some 3 ⊕ a result, amortised.
        """
        timed = at is not None
        if self._timed not in (None, timed):
            raise InvalidArgument("push: give at= with every value or with none")
        if self._lateness is not None:
            return self._push_late(value, at)
        place = self._time(at) if timed else self._position
        families = [group.fitting(value) for group in self.groups]
        return self._moved(place, timed, self._lifted(value), families)

    def advance(self, to: int) -> list[Answer]:
        """Return the results up to the time `to`: no value before it will come."""
        if self._timed is False:
            raise InvalidArgument("advance: these windows count values, so only push moves them")
        if self._lateness is not None:
            return self._released(_whole(to))
        return self._moved(self._time(to), timed=True)

    def _push_late(self, value: Any, at: Any) -> list[Answer]:
        """Let `value` wait for its turn, and return the results that are final by now."""
        if at is None:
            raise InvalidArgument("push: a lateness is about times: give at= with every value")
        assert self._lateness is not None
        self._check_whole()
        place = _whole(at)
        if self._begun and place < self._position:
            self.late += 1
            return []
        heapq.heappush(self._waiting, (place, next(self._came), value, self._lifted(value)))
        self._latest = place if self._latest is None else max(self._latest, place)
        return self._released(self._latest - self._lateness)

    def _released(self, to: int) -> list[Answer]:
        """Add the values up to `to` in the order of their times, and return the results so far."""
        self._check_whole()
        to = max(to, self._position) if self._begun else to
        answers: list[Answer] = []
        self._broken = True  # unless all of it is done
        while self._waiting and self._waiting[0][0] <= to:
            self._check_room(self._waiting[0][0])
            place, _, value, states = heapq.heappop(self._waiting)
            families = [group.fitting(value) for group in self.groups]
            self._broken = False
            answers += self._moved(place, True, states, families)
            self._broken = True
        self._check_room(to)
        self._broken = False
        return answers + self._moved(to, timed=True)

    def _lifted(self, value: Any) -> list[State]:
        return [group.partials.lift(value) for group in self.groups]

    def _check_whole(self) -> None:
        if self._broken:
            raise InvalidArgument("an earlier push failed half-way; start again with a new one")

    def _moved(
        self,
        place: int,
        timed: bool,
        states: Sequence[State] = (),
        families: Sequence[Any] = (),
    ) -> list[Answer]:
        """Return the results up to `place`, and add the value there, if there is one."""
        self._check_whole()
        self._timed = timed
        if not self._begun:
            for group in self.groups:
                group.begin(place)
            self._begun = True
            self._due = min(group.due for group in self.groups)
        if place - self._position > self._many:
            self._check_room(place)
        self._broken = True
        answers = self._until(place)
        if states:
            for group, state, family in zip(self.groups, states, families, strict=True):
                group.add(state, family)
            self._newest = place
            if not timed:
                answers = self._until(place + 1)
        self._broken = False
        return answers

    def _time(self, at: Any) -> int:
        place = _whole(at)
        if self._begun and place < self._position:
            raise InvalidArgument(
                f"at={at} lies before {self._position}, which is answered already"
            )
        return place

    def _until(self, position: int) -> list[Answer]:
        """Return the results at all edges up to `position`."""
        self._position = position
        if position < self._due:
            return []
        answers: list[Answer] = []
        for group in self.groups:
            answers += group.until(position, self._newest)
        if len(self.groups) > 1:
            answers.sort(key=lambda answer: (answer.end, -self._queries[answer.query].range))
        self._due = min(group.due for group in self.groups)
        return answers

    def _check_room(self, position: int) -> None:
        """Refuse more results up to `position` than memory has room for."""
        if position - self._position <= self._many or all(group.empty for group in self.groups):
            return
        longest = max(query.range for query in self._queries)
        last = min(position, self._newest + longest)
        due = sum(
            max(0, (last - q.offset) // q.slide - (self._position - q.offset) // q.slide)
            for q in self._queries
        )
        check_room(due, f"moving from {self._position} to {position}")

    def explain(self) -> str:
        """Return the plans, and the states that the aggregations share."""
        if len(self.groups) == 1:
            return self.groups[0].explain()
        said = [f"{len(self._queries)} windows in {len(self.groups)} plans, as they profit from it"]
        for group in self.groups:
            said.append(f"\nplan of {group.group}\n{group.explain()}")
        return "\n".join(said)

    def __repr__(self) -> str:
        held = ", ".join(f"{group.partials!r}, {len(group)} slice(s)" for group in self.groups)
        return f"<shared windows of {held}>"

    def _check(self) -> None:
        for group in self.groups:
            group._check(self._position, self._begun)


class SharedSlices:
    """The slices of a group of windows with one plan, and what of them is due.

    `queries` are all windows, and `wanted` has the aggregations of each: one, or several by names.
    """

    def __init__(
        self,
        group: PlanGroup,
        queries: Sequence[Slicing],
        wanted: Sequence[Aggregation | Mapping[str, Aggregation]],
    ) -> None:
        self.group, self.members = group, group.members
        self.plan = SharedPlan([queries[i] for i in self.members])
        self._places, aggregations = _places([wanted[i] for i in self.members])
        self.partials = SharedStates(*aggregations)
        self._slices = SliceFlatFit(self.partials)
        self._growing: State = NOTHING
        self._edges: Iterator[Edge]
        self._edge: Edge

    def __len__(self) -> int:
        return len(self._slices)

    @property
    def empty(self) -> bool:
        """Whether no slice is held, not even one that grows."""
        return self._growing is NOTHING and not len(self._slices)

    @property
    def due(self) -> int:
        """Where the next edge lies."""
        return self._edge.at

    def fitting(self, value: Any) -> Any:
        """Return the families once `value` is in; raise if it does not go with what is held."""
        return self._slices.fitting(value, self._growing)

    def begin(self, place: int) -> None:
        """Begin anew with an empty slice at `place`; no value lies before it."""
        self._slices.keep(0)
        self._growing = NOTHING
        self._edges = self.plan.edges(after=place, begun=True)
        self._edge = next(self._edges)

    def add(self, state: State, families: Any) -> None:
        """Add a value to the slice that grows."""
        self._growing = self._slices.plus(self._growing, state)
        self._slices.families = families

    def until(self, position: int, newest: int) -> list[Answer]:
        """Return the results at all edges up to `position`; the newest value lies at `newest`."""
        answers: list[Answer] = []
        while self._edge.at <= position:
            if self._edge.at - self.plan.longest > newest:  # all that is left is a gap
                self.begin(position)
                break
            answers += self._answers(self._edge)
            self._edge = next(self._edges)
        return answers

    def _answers(self, edge: Edge) -> list[Answer]:
        if edge.cut:
            self._slices.append(self._growing)
            self._growing = NOTHING
        answers = []
        for query, count in edge.due:
            state = self._slices.plus(self._slices.newest(count), self._growing)
            if state is not NOTHING:
                answers.append(Answer(self.members[query], edge.at, self._result(query, state)))
        self._slices.keep(edge.held)
        return answers

    def _result(self, query: int, state: State) -> Any:
        places = self._places[query]
        if isinstance(places, int):
            return self.partials.result_of(places, state)
        return Record((name, self.partials.result_of(i, state)) for name, i in places.items())

    def explain(self) -> str:
        """Return the plan, and the states that the aggregations share."""
        kept = ", ".join(map(repr, self.partials.parts.values()))
        return f"{self.plan.explain()}\neach slice keeps the state of {kept}"

    def _check(self, position: int, begun: bool) -> None:
        self._slices._check()
        assert not begun or self._edge.at > position


class SliceFlatFit(FlatFit):
    """FlatFIT over slices: it takes their states, NOTHING for a slice without values.

    In the paper a query does not extend the partial where it begins, as that one is overwritten
    next. That is so for the longest window only; the others' beginnings stay and are passed by
    longer windows. Extending them too saves two fifths of the ⊕ for ranges 10, 20, 40, 80, 160.
    """

    def __init__(self, aggregation: Aggregation) -> None:
        super().__init__(aggregation)
        self._combine = self.plus = self._plus
        self.families: Any = None

    def fitting(self, value: Any, growing: State) -> Any:
        """Return the families once `value` is in; raise if it does not go with what is held."""
        empty = not len(self) and growing is NOTHING
        return self.families_with(value, None if empty else self.families)

    def folded(self, values: Iterable[Any]) -> State:
        """Return the state of a slice of these values: as many ⊕, less one."""
        growing = NOTHING
        for value in values:
            families = self.fitting(value, growing)
            growing = self.plus(growing, self.aggregation.lift(value))
            self.families = families
        return growing

    def append(self, state: State) -> None:
        """Add a slice. No ⊕."""
        self._insert(state)

    def newest(self, count: int) -> State:
        """Return the ⊕ of the newest `count` slices, or of all if there are fewer."""
        count = min(count, len(self))
        if not count:
            return NOTHING
        answer = self._query_last(count)
        slot = (self._end - count) % len(self._partials)
        self._partials[slot], self._pointers[slot] = answer, self._end
        return answer

    def keep(self, count: int) -> None:
        """Forget all but the newest `count`."""
        if len(self) > count:
            self._evict(len(self) - count)

    def _check(self) -> None:
        for position in range(self._head, self._end):
            assert position < self._pointers[position % len(self._pointers)] <= self._end


def _whole(at: Any) -> int:
    """Return a time as the whole number that it must be."""
    try:
        return operator.index(at)
    except TypeError:
        raise InvalidArgument(f"at must be a whole number, got {at!r}") from None


def _wanted(aggregations: Any, count: int) -> list[Any]:
    """Return the aggregations of each window: one, or several by their names."""
    if isinstance(aggregations, Aggregation | Mapping):
        aggregations = [aggregations] * count
    if len(aggregations) != count:
        raise InvalidArgument(
            f"aggregations: {len(aggregations)} for {count} windows; give one for each, or one "
            f"for all"
        )
    return [getattr(wanted, "parts", None) or wanted for wanted in aggregations]


def _places(wanted: Sequence[Any]) -> tuple[list[int | dict[str, int]], list[Aggregation]]:
    """Return the places of each query's aggregations in the list of all of them, and that list."""
    aggregations: list[Aggregation] = []
    places: list[int | dict[str, int]] = []
    for parts in wanted:
        if isinstance(parts, Mapping):
            places.append({name: len(aggregations) + i for i, name in enumerate(parts)})
            aggregations += parts.values()
        else:
            places.append(len(aggregations))
            aggregations.append(parts)
    return places, aggregations
