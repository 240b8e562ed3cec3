"""The plan of a query in words: what will run, what it costs, and why."""

from __future__ import annotations

from windrow.aggregations.algebra import RowAlgebra
from windrow.aggregations.base import Aggregation
from windrow.algorithms import choose
from windrow.kernels.routes import planned
from windrow.queries.query import Query
from windrow.windows.kinds import UNBOUNDED, On, Rows, Span, Until, named
from windrow.windows.slicing import choose_slicing, slices


def explain(query: Query) -> str:
    """What will run, a line for each thing there is to know.

    >>> from windrow import Max, sliding
    >>> hourly = sliding(order_by="ts", range="1 hour", slide="10 minutes", peak=Max("load"))
    >>> print(hourly.explain())
    windows    [start, start + 1 hour) for every start that is a multiple of 10 minutes
    keys       none: one sequence of windows over all rows
    order      by ts
    slices     6 a window, 1 a slide (panes, since the range is a multiple of the slide)
    on Spark   Spark aggregates the slices, and only they are sorted and merged
    peak       Max('load')
               maxima, compiled: windows put together from blocks of 64 rows, by vector instructions
               ⊕: 3 or fewer a row
               state: 2 numbers for each row of the window
    """
    keys = ", ".join(query.partition_by)
    lines = [
        ("windows", str(query.window)),
        ("keys", f"by {keys}" if keys else "none: one sequence of windows over all rows"),
        ("order", _order(query)),
        ("slices", _slices(query)),
        ("on Spark", _on_spark(query)),
    ]
    for name in ("where", "having"):
        if getattr(query, name) is not None:
            lines.append((name, getattr(query, name)))
    if query.emit == "istream":
        lines.append(("emits", "an answer when it differs from the one before"))
    if query.lateness is not None:
        lines.append(("lateness", f"{query.lateness}: later rows are counted and dropped"))
        lines.append(("on a stream", _on_a_stream(query)))
    for name, part in query.aggregations:
        algorithm, combines, state = _route(query, part)
        lines += [(name, repr(part)), ("", algorithm), ("", f"⊕: {combines}")]
        lines.append(("", f"state: {state}"))
    width = max(10, *(len(name) for name, _ in lines))
    return "\n".join(f"{name:<{width}} {text}".rstrip() for name, text in lines)


def _order(query: Query) -> str:
    if query.order_by:
        return f"by {', '.join(query.order_by)}"
    return "by the only column of times" if isinstance(query.window, Span) else "as the rows come"


def _slices(query: Query) -> str:
    window = query.window
    if isinstance(window, Rows | Span) and not window.per_row:
        if isinstance(window, Rows):
            if window.rows is None:
                return f"of {window.slide} rows; a window is all of them so far"
            size, slide = window.rows, window.slide or 1
        else:
            size, slide = int(window.measured()[1]), int(window.step())
            if (size, slide) != (window.measured()[1], window.step()):
                return "cut where windows begin and end"
        strategy, why = choose_slicing(size, slide)
        cut = slices(size, slide, strategy)
        counts = f"{cut.slices_per_window} a window, {cut.slices_per_slide} a slide"
        return f"{counts} ({strategy}, since {why.split(':')[0]})"
    if isinstance(window, On):
        return "1 a window: a window begins where the one before ends"
    return "1 a row: a window may begin at any of them"


def _on_spark(query: Query) -> str:
    """The plan for a DataFrame."""
    window = query.window
    native = all(part.commutative and part.spark_fields for part in query.parts.values())
    if isinstance(window, Span) and not window.per_row and native:
        return "Spark aggregates the slices, and only they are sorted and merged"
    cut = window.per_row and isinstance(window, Rows | Span) and query.emit == "rstream"
    cut = cut and (isinstance(window, Span) or len(query.order_by) < 2)
    if query.partition_by:
        each = "shuffled by key, sorted, and one pass over each partition"
        return f"{each}; a key with most rows is cut along the order into ranges" if cut else each
    if cut:
        return "no key: cut along the order into ranges that run in parallel"
    return "no key: one pass over a single partition"


def _on_a_stream(query: Query) -> str:
    """What waits, and what is kept in the state store."""
    window = query.window
    if isinstance(window, Span) and not window.per_row:
        if all(part.commutative for part in query.parts.values()):
            return "rows enter slices as they come; kept is an aggregate a key and slice"
        return "rows wait for the watermark; kept is an aggregate a key and slice"
    grows = isinstance(window, Span) and window.range == UNBOUNDED
    if grows or isinstance(window, On) or (isinstance(window, Rows) and window.rows is None):
        return "rows wait for the watermark; kept is an aggregate a key"
    if isinstance(window, Until):
        return "rows wait for the watermark; kept are the rows of the window"
    return "rows wait for the watermark; kept are rows, and aggregates of those between"


def _route(query: Query, part: Aggregation) -> tuple[str, str, str]:
    """The algorithm and why, the number of ⊕, and the size of the state."""
    window = query.window
    if isinstance(window, Until):
        searched = f"amta: {named(window.until)} is searched for in the tree, not row by row"
        return (
            searched,
            "O(log n) an answer, O(1) amortised where one row leaves",
            "2 partials a row",
        )
    if part.functions is not None:
        state = "as large as the function's own, for each row of the window"
        return "two_stacks, compiled if the functions can be", "3 or fewer a row, 1 a result", state
    if part.listing is not None and not part.listing.distinct:
        return "none: a list is a stretch of the sorted rows", "none", "the rows of the window"
    way = planned(part, by_rows=isinstance(window, Rows) and window.per_row)
    if way.kernel is not None:
        kernel = way.kernel
        return f"{way.name}, compiled: {kernel.how}", kernel.combines, kernel.state
    if way.compiled is None:
        algorithm, why = choose(part)
        return f"{algorithm}, interpreted: {why}", "one a row of the window", "the distinct values"
    if isinstance(way.compiled, RowAlgebra):
        inverse = way.name == "subtract_on_evict"
        why = "its counters can be subtracted" if inverse else "a sketch cannot be subtracted from"
        combines = "1 and 1 inverse a row" if inverse else "3 or fewer a row, 1 a result"
        return f"{way.name}, compiled: {why}", combines, "1 sketch for each row of the window"
    count = len(way.compiled.fields)
    state = f"{count} number{'s' * (count > 1)} for each row of the window"
    why = "no subtraction, whatever leaves the window"
    return f"{way.name}, compiled: {why}", "3 or fewer a row, 1 a result", state
