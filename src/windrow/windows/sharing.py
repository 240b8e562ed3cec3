"""Several windows over one stream: one plan, one set of slices, one FlatFIT (paper 002).

The slices of all queries are cut at the edges of any of them, and each slice is aggregated once:

    (6, 2)     ├───────┼───────┼───────┼───────┤    results at 2, 4, 6, 8 …
    (8, 4)     ├───────────────┼───────────────┤    answers at    4,    8 …
    shared     ├── 2 ──┼── 2 ──┼── 2 ──┼── 2 ──┤    (6, 2) over 3 slices, (8, 4) over 4

At each edge the queries that are due are answered from one FlatFIT of the slices, the longest
window first, since the shorter ones then find its work done.
"""

from __future__ import annotations

import heapq
import itertools
import math
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from windrow.aggregations.base import Aggregation, State
from windrow.aggregations.shared_states import SharedStates
from windrow.aggregations.together import Record
from windrow.algorithms.base import NOTHING
from windrow.algorithms.flatfit import FlatFit
from windrow.errors import InvalidArgument
from windrow.windows.slicing import Slicing, choose_slicing, slices


class Due(NamedTuple):
    """A result that is due: of which query, and over how many of the newest whole slices."""

    query: int
    slices: int


class Edge(NamedTuple):
    """A position where a slice ends (`cut`), where queries are due, or both.

    `length` is that of the slice up to here, `held` the number of whole slices that any later
    result may need. Where a query is due and no slice ends, its window ends with the slice that
    still grows.
    """

    at: int
    length: int
    cut: bool
    due: tuple[Due, ...]
    held: int


class SharedPlan:
    """The slices of several windows (range, slide) or (range, slide, offset), and who is due when.

    >>> plan = SharedPlan([(6, 2), (8, 4)])
    >>> plan.composite
    4
    >>> [(edge.at, edge.due) for edge in plan.steps()]
    [(2, (Due(query=0, slices=3),)), (4, (Due(query=1, slices=4), Due(query=0, slices=3)))]
    """

    def __init__(self, windows: Sequence[tuple[int, ...]], strategy: str = "auto") -> None:
        if not windows:
            raise InvalidArgument("windows: a shared plan needs at least one (range, slide)")
        self.queries: tuple[Slicing, ...] = tuple(_slicing(w, strategy) for w in windows)
        self.composite = math.lcm(*(query.slide for query in self.queries))
        self.longest = max(query.range for query in self.queries)
        self._reach = max(self.longest, *(query.slide for query in self.queries))
        self._by_length = sorted(enumerate(self.queries), key=lambda iq: -iq[1].range)

    def edges(self, after: int = 0) -> Iterator[Edge]:
        """The edges behind `after`, without end, as if the stream had always been running.

        O(queries) each; the first one costs as much for each slice of the longest window.
        """
        latest, at, count = after - self._reach, after, -1
        numbers: OrderedDict[int, int] = OrderedDict()  # of the cuts that later windows begin at
        while True:
            cut = min(query.next_cut(latest) for query in self.queries)
            here = min(cut, *(query.next_answer(at) for query in self.queries))
            length = here - latest
            if here == cut:
                latest, count = cut, count + 1
                numbers[cut] = count
            if here <= after:
                continue
            at = here
            due = tuple(
                Due(i, count - numbers[at - query.range])
                for i, query in self._by_length
                if (at - query.offset) % query.slide == 0
            )
            while numbers and next(iter(numbers)) <= at - self.longest:
                numbers.popitem(last=False)
            yield Edge(at, length, at == cut, due, max(len(numbers) - 1, 0))

    def steps(self) -> Iterator[Edge]:
        """The edges of one composite slide; they repeat behind it."""
        return itertools.takewhile(lambda edge: edge.at <= self.composite, self.edges())

    def explain(self) -> str:
        """The slices, and what sharing them saves. O(edges of a composite slide).

        >>> print(SharedPlan([(6, 2), (8, 4)]).explain())
        2 windows share 2 slices in each 4 positions, where alone they have 3
        range 6, slide 2: panes, the range is a multiple of the slide: one slice a slide
        range 8, slide 4: panes, the range is a multiple of the slide: one slice a slide
        at most 4 slices are held, by flatfit: answers reuse longer ones' work
        """
        shared = most = 0
        for edge in self.steps():
            shared += edge.cut
            most = max(most, edge.held, *(due.slices for due in edge.due))
        alone = sum(q.slices_per_slide * (self.composite // q.slide) for q in self.queries)
        cut = f"{shared} slices in each {self.composite} positions, where alone they have {alone}"
        lines = [f"{len(self.queries)} windows share {cut}"]
        for query in self.queries:
            auto, why = choose_slicing(query.range, query.slide)
            why = why if query.strategy == auto else "as it was asked for"
            lines.append(f"range {query.range}, slide {query.slide}: {query.strategy}, {why}")
        lines.append(f"at most {most} slices are held, by flatfit: answers reuse longer ones' work")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"SharedPlan({[(q.range, q.slide, q.offset) for q in self.queries]})"


def _slicing(window: tuple[int, ...], strategy: str) -> Slicing:
    if not isinstance(window, tuple) or len(window) not in (2, 3):
        raise InvalidArgument(
            f"windows: {window!r} is not (range, slide) or (range, slide, offset)"
        )
    range, slide, *offset = window
    return slices(range, slide, strategy, *offset)


class Answer(NamedTuple):
    """The result of a query over [end − range, end)."""

    query: int
    end: int
    value: Any


class SharedWindows:
    """Several windows over one stream of values, answered one event at a time.

    Each window has an aggregation, or named ones; one given for all is shared by all. Positions
    are the numbers of the values, or the times that come with them as whole numbers (nanoseconds,
    say); windows that no value lies in are left out.

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
        self._waiting: list[tuple[int, int, Any, State]] = []  # by time, then as they came
        self._came = itertools.count()
        self._latest: int | None = None  # the newest time that came
        self.plan = SharedPlan(windows, strategy)
        self._places, asked = _places(aggregations, len(self.plan.queries))
        self.partials = SharedStates(*asked)
        self._slices = Slices(self.partials)
        self._growing: State = NOTHING
        self._edges: Iterator[Edge] | None = None
        self._edge: Edge
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
        families = self._slices.fitting(value, self._growing)
        return self._moved(place, timed, self.partials.lift(value), families)

    def advance(self, to: int) -> list[Answer]:
        """The answers up to the time `to`: no value before it will come."""
        if self._timed is False:
            raise InvalidArgument("advance: these windows count values, so only push moves them")
        if self._lateness is not None:
            return self._released(_whole(to))
        return self._moved(self._time(to), timed=True)

    def _push_late(self, value: Any, at: Any) -> list[Answer]:
        """Let `value` wait for its turn; the results that are final by now."""
        if at is None:
            raise InvalidArgument("push: a lateness is about times: give at= with every value")
        assert self._lateness is not None
        self._check_whole()
        place = _whole(at)
        if self._edges is not None and place < self._position:
            self.late += 1
            return []
        turn = (place, next(self._came), value, self.partials.lift(value))
        heapq.heappush(self._waiting, turn)
        self._latest = place if self._latest is None else max(self._latest, place)
        return self._released(self._latest - self._lateness)

    def _released(self, to: int) -> list[Answer]:
        """Let the values up to `to` enter, in the order of their times, and answer up to there."""
        self._check_whole()
        to = to if self._edges is None else max(to, self._position)
        answers: list[Answer] = []
        self._broken = True  # unless all of it is done
        while self._waiting and self._waiting[0][0] <= to:
            place, _, value, state = heapq.heappop(self._waiting)
            families = self._slices.fitting(value, self._growing)
            self._broken = False
            answers += self._moved(place, True, state, families)
            self._broken = True
        self._broken = False
        return answers + self._moved(to, timed=True)

    def _check_whole(self) -> None:
        if self._broken:
            raise InvalidArgument("an earlier push failed half-way; start again with a new one")

    def _moved(
        self, place: int, timed: bool, state: State = NOTHING, families: Any = None
    ) -> list[Answer]:
        """Answer up to `place` and add the value there, if there is one."""
        self._check_whole()
        self._timed = timed
        if self._edges is None:
            self._begin(place)
        self._broken = True
        answers = self._until(place)
        if state is not NOTHING:
            self._growing = self._slices.plus(self._growing, state)
            self._newest = place
            self._slices.families = families
            if not timed:
                answers = self._until(place + 1)
        self._broken = False
        return answers

    def _time(self, at: Any) -> int:
        place = _whole(at)
        if self._edges is not None and place < self._position:
            raise InvalidArgument(
                f"at={at} lies before {self._position}, which is answered already"
            )
        return place

    def _begin(self, place: int) -> None:
        """Let the slices begin at `place`: no value lies before."""
        self._slices.keep(0)
        self._growing = NOTHING
        self._edges = self.plan.edges(after=place)
        self._edge = next(self._edges)

    def _until(self, position: int) -> list[Answer]:
        """Pass all edges up to `position`."""
        assert self._edges is not None
        answers: list[Answer] = []
        while self._edge.at <= position:
            if self._edge.at - self.plan.longest > self._newest:  # all that is left is a gap
                self._begin(position)
                break
            answers += self._answers(self._edge)
            self._edge = next(self._edges)
        self._position = position
        return answers

    def _answers(self, edge: Edge) -> list[Answer]:
        if edge.cut:
            self._slices.append(self._growing)
            self._growing = NOTHING
        answers = []
        for query, count in edge.due:
            state = self._slices.plus(self._slices.newest(count), self._growing)
            if state is not NOTHING:
                answers.append(Answer(query, edge.at, self._result(query, state)))
        self._slices.keep(edge.held)
        return answers

    def _result(self, query: int, state: State) -> Any:
        places = self._places[query]
        if isinstance(places, int):
            return self.partials.result_of(places, state)
        return Record((name, self.partials.result_of(i, state)) for name, i in places.items())

    def explain(self) -> str:
        """The plan, and the states that the aggregations share."""
        kept = ", ".join(map(repr, self.partials.parts.values()))
        return f"{self.plan.explain()}\neach slice keeps the state of {kept}"

    def __repr__(self) -> str:
        return f"<shared windows of {self.partials!r}, {len(self._slices)} slice(s)>"

    def _check(self) -> None:
        self._slices._check()
        assert self._edges is None or self._edge.at > self._position


class Slices(FlatFit):
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
        """The families once `value` is in; an error if it does not fit to what is held."""
        empty = not len(self) and growing is NOTHING
        return self._fitting(value, None if empty else self.families)

    def folded(self, values: Iterable[Any]) -> State:
        """The state of a slice of these values: as many ⊕, less one."""
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
        """The ⊕ of the newest `count` slices, or of all if there are fewer."""
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
    """A time as the whole number that it must be."""
    try:
        return operator.index(at)
    except TypeError:
        raise InvalidArgument(f"at must be a whole number, got {at!r}") from None


def _places(aggregations: Any, count: int) -> tuple[list[int | dict[str, int]], list[Aggregation]]:
    """All aggregations that the queries ask for, and each query's among them, by names if any."""
    if isinstance(aggregations, Aggregation | Mapping):
        aggregations = [aggregations] * count
    if len(aggregations) != count:
        raise InvalidArgument(
            f"aggregations: {len(aggregations)} for {count} windows; give one for each, or one "
            f"for all"
        )
    asked: list[Aggregation] = []
    places: list[int | dict[str, int]] = []
    for wanted in aggregations:
        parts = getattr(wanted, "parts", None) or wanted
        if isinstance(parts, Mapping):
            places.append({name: len(asked) + i for i, name in enumerate(parts)})
            asked += parts.values()
        else:
            places.append(len(asked))
            asked.append(parts)
    return places, asked
