"""The base of windows that values are pushed through."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from windrow.algorithms import aggregator, algorithm_class
from windrow.algorithms.base import Aggregator, times_of
from windrow.algorithms.sba import Cuts
from windrow.algorithms.stored import Stored
from windrow.errors import InvalidArgument
from windrow.identity import digest_of
from windrow.stores.base import Closing
from windrow.windows import base
from windrow.windows.pushed_numbers import loops
from windrow.windows.rows import Rows
from windrow.windows.span import Span


def options_of(algorithm: str, extent: base.Window) -> dict[str, Any]:
    """Return the options of an algorithm for a window of such an extent."""
    cuts = Cuts()
    if isinstance(extent, Rows) and extent.rows is not None:
        cuts = Cuts.by_rows(extent.rows, extent.slide or 1)
    elif isinstance(extent, Span) and extent.bounded:
        cuts = Cuts.by_time(extent.measure())
    return algorithm_class(algorithm).options_for(cuts)


def emptied(swag: Aggregator, extent: base.Window) -> Aggregator:
    """Return an empty window of the same aggregation and algorithm."""
    new = aggregator(swag.aggregation, swag.algorithm, **options_of(swag.algorithm, extent))
    new.why = swag.why
    return new


class Window(Closing):
    """A window that values are pushed through; `windrow.window` makes one."""

    def __init__(self, extent: base.Window, swag: Aggregator) -> None:
        self.extent = extent
        self.late = 0  # how many values came too late and were dropped
        self._swag = swag
        self._stored = swag if isinstance(swag, Stored) else None

    @abstractmethod
    def push(self, value: Any, at: Any = None) -> Any:
        """Insert `value`, slide, and return the result."""

    def push_many(self, values: Any, at: Any = None) -> Any:
        """Push each of `values`, with its time in `at`; return an array of the results.

        What has no result is NaN, NaT, None or masked there, as in `rolling`; several aggregations
        give a dict of arrays.

        >>> from windrow import Max, window
        >>> window(Max(), rows=2).push_many([5, 3, 1])
        array([5, 5, 3])
        """
        values = loops().values_of(values)
        if at is None:
            results = [self.push(value) for value in values]
        else:
            times = times_of(len(values), at, "push_many")
            results = [self.push(v, at=t) for v, t in zip(values, times, strict=True)]
        return loops().result_array(self._swag.aggregation, results)

    def query(self, at: Any = None) -> Any:
        """Return the aggregate of the window; with `at`, when time has gone on to that.

        Costs what the algorithm's query costs.
        """
        if at is not None:
            self.advance(at)
        return self._swag.query()

    def advance(self, at: Any) -> None:
        """Let time go on to `at`, as if something that is not aggregated came then.

        Values leave that are before the window that ends there, and one that comes with a time
        before `at` is late from then on. For `range=` and `delta=`.

        >>> from windrow import Count, window
        >>> w = window(Count(), range=60)
        >>> w.push("a", at=0), w.push("b", at=30), w.query(at=75), w.query(at=100)
        (1, 2, 1, 0)
        """
        raise InvalidArgument(
            f"at={at!r} goes with range= or delta=: a window with "
            f"{', '.join(base.written(self.extent.arguments()))} does not change with time"
        )

    @property
    def is_empty(self) -> bool:
        """Return whether no value is in the window, or waits to be."""
        return not len(self)

    def __len__(self) -> int:
        return len(self._swag)

    def flush(self) -> None:
        """Return when the window, as it is now, is safe in its store, if it has one."""
        if self._stored is not None:
            self._stored.flush()

    def close(self) -> None:
        """`flush`, and let others open the window, if it has a store."""
        if self._stored is not None:
            self._stored.close()

    def resume(self) -> None:
        """Go on where the window in the store was; raise if that is another one."""
        if self._stored is None:
            return
        arguments = self.extent.arguments()
        digests = [digest_of(value) for value in arguments.values() if callable(value)]
        identity = " ".join([", ".join(base.written(arguments)), *digests])
        try:
            stored, *beside = self._stored.beside or (None,)
        except TypeError as error:
            raise self._stored.foreign_record() from error
        if stored != identity and (stored is not None or self._stored.used):
            what = stored or "the values of an aggregator"
            raise InvalidArgument(
                f"window {self._stored.window!r} of {self._stored.store!r} holds {what}, so it "
                f"cannot be opened as {identity}"
            )
        self._stored.beside = identity, *beside
        try:
            if beside:
                self._resume(*beside)
        except (TypeError, ValueError) as error:
            raise self._stored.foreign_record() from error

    def _resume(self, *beside: Any) -> None:
        """Take back what `_note_beside` was given."""

    def _note_beside(self, *beside: Any) -> None:
        """Store what the window knows beside its values, with the next commit of these."""
        if self._stored is not None:
            self._stored.beside = self._stored.beside[0], *beside

    def explain(self) -> str:
        """Return what the window holds, what runs, and why.

        >>> from windrow import Max, window
        >>> print(window(Max(), rows=3).explain())
        the last 3 rows, a result for each row; late values are refused
        slick_deque: SlickDeque
        of Max(): commutative, selective, exact
        because its result is always one of the values: fewer than 2 ⊕ a value
        in the interpreter; compiled after 10,000 numbers of a type, or by push_many
        """
        return f"{self._holds}\n{self._swag.explain()}\n{self._engine}"

    @property
    def _holds(self) -> str:
        """What the window holds, in words."""
        return str(self.extent)

    @property
    def _engine(self) -> str:
        """Where the ⊕ run, in words: in the interpreter, or compiled."""
        return "in the interpreter"

    def __repr__(self) -> str:
        return (
            f"<window of {self._swag.aggregation!r}, {', '.join(base.written(self._arguments()))}, "
            f"by {self._swag.algorithm}: {len(self)} value(s)>"
        )

    def _arguments(self) -> dict[str, Any]:
        return self.extent.arguments()

    def _check(self) -> None:
        self._swag._check()
