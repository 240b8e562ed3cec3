"""The plan of a query in words: what will run, what it costs, and why."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.identity import named
from windrow.queries.plan import Plan, ResultPlan
from windrow.windows.slicing import choose_slicing

_SPARK = {
    "slices": "Spark aggregates the slices, and only they are sorted and merged",
    "partitions": "no key: partitions follow each other along the order, and rows stay in them",
    "frames": "Spark's own window functions: for so few rows they are faster, with equal results",
    "tables": "shuffled by key; partitions are small, so each is held and sorted by a worker",
    "keys": "shuffled by key, sorted, and one pass over each partition",
    "one task": "no key: one pass over a single partition",
}
_RANGES = {
    True: "shuffled by key, sorted, and one pass over each partition; a key with most rows is cut "
    "along the order into ranges",
    False: "no key: cut along the order into ranges that run in parallel",
}
_KEPT = {
    "aggregate": "kept is an aggregate a key",
    "window": "kept are the rows of the window",
    "chunks": "kept are rows, and aggregates of those between",
    "rows": "kept are the rows that windows may hold",
    "followed": "kept are whole rows",
}

_AT_ONCE = {"slices": "slice", "sessions": "open session"}
# The entries of each step that a row goes through; results are a step of their own.
_STEPS = {
    "rows": ("keys", "order", "columns", "where", "lateness"),
    "windows": ("windows", "slices", "passes", "policy"),
    "results": (),
    "out": ("nulls", "having", "emits"),
    "engines": ("on Spark", "on a stream"),
}


class Explanation(str):
    """Plans in words, as `explain` prints them; a notebook shows them as a diagram."""

    plans: tuple[Plan, ...]

    def __new__(cls, text: str, plans: Sequence[Plan] = ()) -> Explanation:
        """Return the text with the plans that it is about."""
        explanation = super().__new__(cls, text)
        explanation.plans = tuple(plans)
        return explanation

    def _repr_html_(self) -> str:
        from windrow.queries.diagram import diagram

        return diagram(self.plans)


def explain(plan: Plan) -> Explanation:
    """Return the plan as text, an entry a line.

    >>> from windrow import Max, sliding
    >>> hourly = sliding(order_by="ts", range="1 hour", slide="10 minutes", peak=Max("load"))
    >>> print(hourly.explain())
    windows    [start, start + 1 hour) for every start that is a multiple of 10 minutes
    keys       none: one sequence of windows over all rows
    order      by ts
    slices     6 a window, 1 a slide (panes, since the range is a multiple of the slide)
    on Spark   Spark aggregates the slices, and only they are sorted and merged
    columns    taken for floats; explain(frame) goes by the types that a frame has
    peak       Max('load')
               maxima, compiled: windows put together from blocks of 64 rows, by vector instructions
               ⊕: 3 or fewer a row
               state: 2 numbers for each row of the window
    """
    texts_of = entries(plan)
    width = max(10, *(len(name) for name in texts_of))
    lines = [
        f"{name if i == 0 else '':<{width}} {text}".rstrip()
        for name, texts in texts_of.items()
        for i, text in enumerate(texts)
    ]
    return Explanation("\n".join(lines), [plan])


def steps(plan: Plan) -> dict[str, dict[str, list[str]]]:
    """Return the entries by the steps that a row goes through; those of no step are the last's."""
    results = {result.name for result in plan.results}
    step_of = dict.fromkeys(results, "results")
    step_of |= {name: step for step, names in _STEPS.items() for name in names}
    by_step: dict[str, dict[str, list[str]]] = {step: {} for step in _STEPS}
    for name, texts in entries(plan).items():
        by_step[step_of.get(name, "engines")][name] = texts
    return {step: texts for step, texts in by_step.items() if texts}


def entries(plan: Plan) -> dict[str, list[str]]:
    """Return the entries of a plan by name, those of results last."""
    query = plan.query
    keys = ", ".join(query.partition_by)
    texts = {
        "windows": [str(query.window)],
        "keys": [f"by {keys}" if keys else "none: one sequence of windows over all rows"],
        "order": [_order(plan)],
        "slices": [_slices(plan)],
    }
    if plan.spark is not None:
        texts["on Spark"] = [_SPARK.get(plan.spark) or _RANGES[bool(query.partition_by)]]
    if query.window.go_back:
        more = "some more for windows that begin before an earlier one, as on 31 March"
        texts["passes"] = [f"one over the rows, and {more}"]
    if plan.assumed and any(part.columns for part in query.parts.values()):
        texts["columns"] = ["taken for floats; explain(frame) goes by the types that a frame has"]
    if plan.policy is not None:
        texts["policy"] = [f"{named(query.window.policy)}, {plan.policy}"]
    if query.min_rows is not None:
        texts["nulls"] = [f"where a window has fewer than {query.min_rows} values"]
    for name in ("where", "having"):
        if getattr(query, name) is not None:
            texts[name] = [getattr(query, name)]
    if query.emit == "istream":
        texts["emits"] = ["a result when it differs from the one before"]
    if query.lateness is not None:
        texts["lateness"] = [f"{query.lateness}: later rows are counted and dropped"]
    if query.lateness is not None or plan.spark is None:
        texts["on a stream"] = [_on_a_stream(plan)]
    for result in plan.results:
        texts.setdefault(result.name, []).extend(_result(result))
    return texts


def _result(result: ResultPlan) -> list[str]:
    route, with_nulls = result.route(), result.route(nulls=True)
    lines = [repr(result.aggregation), str(route)]
    if with_nulls.name != route.name:
        lines.append(f"where values are null: {with_nulls}")
    if result.by_bounds_at_ends:
        lines.append(
            "where a quarter of the rows or more have windows that their key's end cuts off: by "
            "the bounds of each window"
        )
    if result.source not in (None, result.aggregation):
        lines.append(f"from the slices of {result.source!r}, which another query asks for")
    if result.beside:
        lines.append(f"found once with {', '.join(result.beside)}: {', '.join(result.common)}")
    return [*lines, f"⊕: {route.combines}", f"state: {route.state}"]


def _order(plan: Plan) -> str:
    if plan.query.order_by:
        return f"by {', '.join(plan.query.order_by)}"
    return "by the only column of times" if plan.query.window.measured else "as the rows come"


def _slices(plan: Plan) -> str:
    cut = plan.slicing
    if cut is None:
        return plan.query.window.slices_in_words
    _, why = choose_slicing(cut.range, cut.slide)
    counts = f"{cut.slices_per_window} a window, {cut.slices_per_slide} a slide"
    return f"{counts} ({cut.strategy}, since {why.split(':')[0]})"


def _on_a_stream(plan: Plan) -> str:
    """Return what waits, and what is kept in the state store."""
    if plan.stream not in _AT_ONCE:
        behind = " to pass their windows" if plan.stream == "followed" else ""
        waits = f"rows wait for the watermark{behind}"
        return f"{waits if plan.query.order_by else 'rows go as they come'}; {_KEPT[plan.stream]}"
    commutes = all(result.aggregation.commutative for result in plan.results)
    when = f"rows enter {plan.stream} as they come" if commutes else "rows wait for the watermark"
    return f"{when}; kept is an aggregate a key and {_AT_ONCE[plan.stream]}"
