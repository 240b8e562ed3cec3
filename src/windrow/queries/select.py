"""A statement of standard SQL, as `sql` returns it for a text with OVER, and its steps.

    WHERE → columns → windows in one order → … → QUALIFY, DISTINCT → ORDER BY, LIMIT → columns
            └──────────── a stage ────────────┘

All windows of the same PARTITION BY and ORDER BY are one stage, whatever their frames are: one sort
of a table, one shuffle of a DataFrame. Stages follow one another. A statement in FROM runs first,
and gives the frame that the one around it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol

from windrow.aggregations.base import Aggregation
from windrow.queries.expressions import columns_of
from windrow.queries.frames import engine_of
from windrow.queries.query import Query

OWN = "__windrow_"  # how the columns begin that a statement adds for itself


class Columns(Protocol):
    """The columns of a frame."""

    @property
    def names(self) -> Sequence[str]:
        """Their names."""

    def family(self, text: str) -> str:
        """Return the family of types of an expression: "number", "text", "boolean" or another."""

    def check(self, part: Aggregation) -> None:
        """Refuse an aggregation that does not take what its columns hold."""


@dataclass(frozen=True)
class Stage:
    """Columns that are computed row by row, and then queries over the rows in one order."""

    computed: tuple[tuple[str, str], ...]
    queries: tuple[Query, ...]

    @property
    def results(self) -> list[str]:
        """The names of the columns that the queries add."""
        return [name for query in self.queries for name in query.parts]


@dataclass(frozen=True)
class SortKey:
    """A column or an expression that results are put in order by."""

    text: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Steps:
    """What a statement does to a frame, in this order.

    `results` has the name of each column that comes out, and the column or expression that it is.
    Of rows that have the same values of all `distinct` expressions only the first comes out, unless
    there are none: those of GROUP BY, or the results of SELECT DISTINCT.
    """

    where: str | None
    stages: tuple[Stage, ...]
    qualify: str | None
    order: tuple[SortKey, ...]
    offset: int
    limit: int | None
    results: tuple[tuple[str, str], ...]
    distinct: tuple[str, ...] = ()

    def reads(self, names: Sequence[str]) -> list[str]:
        """Return those of a frame's columns that are computed with; others are only passed on."""
        texts = [*self._texts(), *(text for _, text in self.results if text not in names)]
        columns = ((text,) if text in names else columns_of(text) for text in texts)
        return [name for name in dict.fromkeys(chain.from_iterable(columns)) if name in names]

    def uses(self, names: Sequence[str]) -> list[str]:
        """Return those of a frame's columns that are computed with or passed on."""
        passed_on = [text for _, text in self.results if text in names]
        return list(dict.fromkeys([*self.reads(names), *passed_on]))

    def _texts(self) -> Iterator[str]:
        yield from (text for text in (self.where, self.qualify) if text is not None)
        for stage in self.stages:
            yield from (text for _, text in stage.computed)
            for query in stage.queries:
                yield from (text for part in query.parts.values() for text in part.columns)
                yield from (*query.partition_by, *query.order_by)
        yield from (key.text for key in self.order)
        yield from self.distinct


@dataclass(frozen=True, repr=False)
class Select:
    """A statement of standard SQL over one frame, as `sql` returns it.

    It is a value, as a query is. Called with a pandas, Polars or Arrow table it returns one of the
    same kind, its rows in the same order; ``DataFrame.transform`` of PySpark takes it.

    >>> from windrow import sql
    >>> sql("SELECT *, MAX(load) OVER (ORDER BY ts ROWS 2 PRECEDING) AS peak FROM plugs").source
    'plugs'
    """

    text: str
    source: str
    inside: int = 0  # how many statements stand inside this one

    @property
    def inner(self) -> Select | None:
        """The statement whose results this one reads, None if it reads the frame itself."""
        return replace(self, inside=self.inside - 1) if self.inside else None

    def __call__(self, frame: Any) -> Any:
        """Return the results over `frame`, as a frame of the same kind."""
        frame = frame if self.inner is None else self.inner(frame)
        return engine_of(frame).run_select(self, frame)

    def steps(self, columns: Columns | None = None) -> Steps:
        """Return what will be done to a frame of these columns; without them, of any it names."""
        from windrow.queries.cql.standard import steps_of

        return steps_of(self.text, self.inside, columns)

    def explain(self, frame: Any = None) -> str:
        """Return what will run: the stages, and the plan of each of their queries."""
        inner = None if self.inner is None else self.inner.explain(frame)
        known = frame is not None and inner is None
        steps = self.steps(engine_of(frame).columns_of_frame(frame) if known else None)
        lines = [] if inner is None else [inner, "", "over these results:"]
        lines += [] if steps.where is None else [f"WHERE {steps.where}"]
        for i, stage in enumerate(steps.stages, 1):
            frames = len(stage.queries)
            lines.append(
                f"stage {i} of {len(steps.stages)}: {frames} frame{'s' if frames > 1 else ''} over "
                f"rows that are sorted and shuffled once"
            )
            lines += [f"  {name} = {text}" for name, text in stage.computed]
            lines += [f"\n{query.explain()}\n" for query in stage.queries]
        lines += [f"{name} = {text}" for name, text in steps.results if name != text]
        lines += [] if steps.qualify is None else [f"QUALIFY {steps.qualify}"]
        lines += [f"DISTINCT {', '.join(steps.distinct)}"] if steps.distinct else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"sql({self.text!r})"
