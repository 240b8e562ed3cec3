"""Several sizes of one window at once: `range=["1 hour", "7 days"]`, `rows=[10, 100]`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.errors import InvalidArgument
from windrow.queries.frames import engine_of, plotted
from windrow.queries.query import Query, call_text
from windrow.queries.shared import Shared
from windrow.windows.durations import short
from windrow.windows.sizes import in_cql, is_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Horizons(Shared):
    """A query over windows of several sizes, as `sliding` returns it for a list of them.

    It has a query for each size; they run together over rows that are sorted, shuffled and kept
    once. All results stand beside the rows of the frame: `peak_1h`, `peak_7d`.
    """

    arguments: tuple[tuple[str, Any], ...] = ()  # the arguments of `sliding`
    results: tuple[tuple[str, Any], ...] = ()  # and the results that it names

    def __call__(self, frame: Any) -> Any:
        """The results over `frame`, as a frame of the same kind."""
        return engine_of(frame).run_together(self, frame)

    def plot(self, frame: Any, key: Any = None) -> Figure:
        """A figure of Matplotlib, as that of a query: the results of all sizes."""
        return plotted(self.queries, frame, key)

    def explain(self, frame: Any = None) -> str:
        """What will run: the explanations of the queries of each size."""
        from windrow.queries.explain import Explanation

        plans = [query.explain(frame) for query in self.queries]
        text = "\n\n".join(["sizes share their rows: sorted, shuffled and kept once", *plans])
        return Explanation(text, [plan for each in plans for plan in each.plans])

    def _pictures(self) -> list[str]:
        """The windows as a drawing in HTML: those of one row, one a size."""
        from windrow.queries.diagram import picture_of_sizes

        return [picture_of_sizes(self.queries)]

    def __repr__(self) -> str:
        return call_text(dict(self.arguments), self.results)


def horizons(
    size: str,
    sizes: Sequence[Any],
    names: Sequence[str] | None,
    queries: Sequence[Query],
) -> Horizons:
    """Queries that differ in one size only, as one; a result is named after its size.

    >>> from windrow import Max, sliding
    >>> sliding(order_by="ts", range=["1 hour", "7 days"], peak=Max("load"))
    sliding(order_by='ts', range=['1 hour', '7 days'], peak=Max('load'))
    """
    if not sizes:
        raise InvalidArgument(f"{size}=[] has no size in it")
    given = names
    names = [_name(size, each) for each in sizes] if names is None else list(names)
    if len(names) != len(sizes) or not all(isinstance(n, str) and n for n in names):
        raise InvalidArgument(
            f"names={given!r} must have a name for each of the {len(sizes)} sizes of {size}="
        )
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(f"two sizes of {size}={list(sizes)!r} are called {name!r}")
    first = queries[0]
    for query in queries:
        if not query.window.per_row or query.having is not None or query.emit != "rstream":
            raise InvalidArgument(
                f"{size}={list(sizes)!r}: several sizes have a result a row, without slide=, "
                f"having= and emit=; choose among the rows that come back"
            )
    arguments = {**first.arguments(), size: list(sizes)}
    if given is not None:
        arguments["names"] = names
    several = tuple(
        query.replace(aggregations=tuple((f"{n}_{name}", p) for n, p in query.aggregations))
        for query, name in zip(queries, names, strict=True)
    )
    every = [name for query in several for name in query.parts]
    for name in every:
        if every.count(name) > 1:
            raise InvalidArgument(f"the name {name!r} is given to {every.count(name)} results")
    return Horizons(several, tuple(arguments.items()), first.aggregations)


def _name(size: str, given: Any) -> str:
    """The end of a result's name.

    >>> _name("range", "1 hour"), _name("rows", 10), _name("delta", 2.5)
    ('1h', '10', '2_5')
    """
    if is_number(given):
        return str(given).replace(".", "_").replace("-", "minus_")
    if isinstance(given, tuple):
        raise InvalidArgument(f"{size}: {given!r} has two ends and no short name; give names=[…]")
    if isinstance(given, datetime.timedelta):
        given = in_cql(given).lower()
    return short(str(given))
