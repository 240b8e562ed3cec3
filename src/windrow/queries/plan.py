"""A plan: what will run, as a value that exists before anything runs.

Engines run the plan and `explain` prints it. It depends on the query and the kinds of its columns,
and on nothing else; without a frame, columns are assumed to be floats.

A column is of one of these kinds:

    "float64", "int64"    numbers (booleans are int64)
    "time"                times, dates, durations: whole numbers that mean something else
    "decimal"             decimals of up to 18 digits, which are whole numbers of their last digit
    "long decimal"        longer ones
    "text"                strings
    "binary"              bytes
    "other"               anything else: lists, structs, objects
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from windrow.aggregations.base import Aggregation
from windrow.queries.query import Query
from windrow.windows.base import Kept
from windrow.windows.slicing import Slicing
from windrow.windows.weaving import PlanGroup, woven

Kind = str
# The form in which kernels and loops get the values: as numbers; as ranks among all values, where
# only the order counts; as positions, where a value is only picked; as stretches of sorted rows,
# for lists; as whole numbers of the last digit, for decimals and an exact mean of durations; as
# numbers that hash as the values do, for sketches; or as objects of Python, for the interpreter.
Form = Literal["numbers", "ranks", "positions", "list", "decimals", "hashes", "objects"]
SparkPlan = Literal["slices", "partitions", "ranges", "frames", "tables", "keys", "one task"]

_NUMBERS = ("float64", "int64")
_AS_NUMBERS = (*_NUMBERS, "time", "decimal")


@dataclass(frozen=True)
class ResultPlan:
    """How one result is computed: the form of its values, and the kernel or loop over windows."""

    name: str
    aggregation: Aggregation
    kinds: tuple[Kind, ...]
    sliced: bool  # whether windows begin and end at the edges of slices only
    moved: bool = False  # whether windows of a number of rows do not end with their own row
    shared: bool = False  # whether several queries over the same rows share the slices
    source: Aggregation | None = None  # the aggregation whose states such slices hold
    common: tuple[str, ...] = ()  # what a kernel computes once for this and other results
    beside: tuple[str, ...] = ()  # the names of those results, which are of the same column

    @cached_property
    def form(self) -> Form:
        """The form in which the kernel or loop gets the values."""
        return form_of(self.aggregation, self.kinds)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The types of the arrays that the kernel or loop gets."""
        kinds = self.kinds[:1] if self.aggregation.takes == "timed" else self.kinds
        dtypes = tuple(kind if kind in _NUMBERS else "int64" for kind in kinds)
        return dtypes + ("int64",) * (len(self.kinds) - len(dtypes))  # times are nanoseconds

    def route(self, nulls: bool = False) -> Any:
        """Return the kernel or loop, a `Route` of `windrow.kernels`; nulls may need another."""
        route = self._kernels.get(nulls)
        if route is None:
            route = self._route(nulls)
            if route.kernel is not None:  # a loop would be kept in memory
                self._kernels[nulls] = route
        return route

    @cached_property
    def _kernels(self) -> dict[bool, Any]:
        """The routes that are kernels, by whether there are nulls."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Return all fields but the kernels, which each process looks up for itself."""
        return {name: value for name, value in vars(self).items() if name != "_kernels"}

    def _route(self, nulls: bool) -> Any:
        from windrow.kernels.routes import LISTED, route, route_of_objects, shares

        if self.form == "list":
            return LISTED
        if self.form == "objects":
            return route_of_objects(self.aggregation)
        return route(
            self.aggregation,
            self.dtypes,
            nulls=nulls,
            sliced=self.sliced,
            kernels=not (self.shared and shares(self.aggregation)),
        )

    @property
    def by_bounds_at_ends(self) -> bool:
        """Whether the kernel is given bounds where many rows are near the ends of their keys.

        Windows are cut off there, so they do not all have the same number of rows.
        """
        kernel = self.route().kernel
        return self.moved and kernel is not None and kernel.in_blocks


@dataclass(frozen=True)
class Plan:
    """What will run for a query: on a table, on Spark, and on a stream.

    On Spark, "slices": Spark aggregates slices, which are merged into windows. "ranges": rows are
    cut along the order into ranges that run in parallel; "partitions": they lie in such ranges
    already. "frames": Spark's own window functions, for a few rows. "tables": workers hold small
    partitions and sort them. "keys": a pass over the sorted rows of each key. "one task": one pass
    over all rows. None: the frame is a stream.
    """

    query: Query
    results: tuple[ResultPlan, ...]
    spark: SparkPlan | None
    stream: Kept
    group: tuple[int, ...] = ()  # the numbers of the queries that share slices, if several run
    assumed: bool = False  # whether the kinds of the columns were not known
    policy: Any = None  # how the window's policy runs, a `PolicyPlan` of `windrow.kernels`

    @property
    def slicing(self) -> Slicing | None:
        """How rows are cut into slices, where windows begin and end at their edges only."""
        return None if self.query.window.per_row else self.query.window.slicing()

    def _repr_html_(self) -> str:
        """Return what notebooks show: the steps that `explain` prints, as a diagram."""
        from windrow.queries.diagram import diagram

        return diagram([self])


def plan_of(query: Query, kinds: Mapping[str, Kind] | None = None, native: bool = True) -> Plan:
    """Return the plan of a query over columns of these kinds; without them, over floats.

    `native` is whether Spark itself can aggregate the slices.

    >>> from windrow import Max, sliding
    >>> plan = plan_of(sliding(order_by="ts", range="1 hour", slide="1 minute", peak=Max("load")))
    >>> plan.spark, plan.stream, plan.results[0].route().name
    ('slices', 'slices', 'maxima')
    """
    window = query.window
    results = _with_common(
        ResultPlan(
            name,
            part,
            tuple(_kind_of(part, text, kinds) for text in part.columns),
            sliced=not window.per_row and window.slicing() is not None,
            moved=window.by_rows and not window.ends_now,
        )
        for name, part in query.aggregations
    )
    spark, stream = _on_spark(query, kinds, native), _on_a_stream(query, results)
    policy = None if window.policy is None else _policy(query, results)
    return Plan(query, results, spark, stream, assumed=kinds is None, policy=policy)


def _policy(query: Query, results: Sequence[ResultPlan]) -> Any:
    """Return how the policy of a window runs over columns of the kinds that the results read."""
    from windrow.kernels.policies import policy_plan

    pairs = [pair for r in results for pair in zip(r.aggregation.columns, r.kinds, strict=True)]
    return policy_plan(query.window.policy, query.parts, dict(pairs))


def share(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans of queries that run together: results of the same states share slices.

    States may be those of another aggregation: the slices of a Mean give a Sum as well. Each query
    that shares slices saves a pass over the rows. Windows of every row have no slices to share,
    and are computed one query after the other.
    """
    shared = list(plans)
    for group in groups_of([plan.query for plan in plans]):
        members = [plans[i] for i in group.members]
        several = [result for plan in members for result in plan.results if result.sliced]
        sources = {id(result): _source(result, several) for result in several}
        used = Counter(
            source for plan in members for source in {sources.get(id(r)) for r in plan.results}
        )
        for i, plan in zip(group.members, members, strict=True):
            results = []
            for result in plan.results:
                source = sources.get(id(result))
                if source is not None and used[source] > 1:
                    result = replace(result, shared=True, source=source)
                results.append(result)
            shared[i] = replace(plan, group=group.members, results=_with_common(results))
    return shared


def _source(result: ResultPlan, others: Sequence[ResultPlan]) -> Aggregation:
    """Return the aggregation whose states give a result: that of most fields, or its own."""
    from windrow.kernels.routes import shares
    from windrow.kernels.states import places_of

    best, most = result.aggregation, -1
    if result.form != "numbers" or not result.kinds or not shares(best):
        return best
    for other in others:
        source = other.aggregation
        if other.kinds[:1] != result.kinds[:1] or other.form != "numbers" or not shares(source):
            continue
        algebra = source.algebra(result.dtypes[0])
        if algebra is None or len(algebra.fields) <= most:
            continue
        if places_of(source, result.aggregation, result.dtypes[0]) is not None:
            best, most = source, len(algebra.fields)
    return best


def groups_of(queries: Sequence[Query]) -> list[PlanGroup]:
    """Return the groups of queries that share slices: over the same rows, where it pays."""
    alike: dict[Any, dict[int, Slicing]] = {}
    groups: list[PlanGroup] = []
    for i, query in enumerate(queries):
        cut = None if query.window.per_row else query.window.slicing()
        if cut is None:
            groups.append(PlanGroup((i,)))
        else:
            alike.setdefault(rows_of(query), {})[i] = cut
    for cuts in alike.values():
        groups += woven(list(cuts.values()), list(cuts))
    return sorted(groups, key=lambda group: group.members)


def rows_of(query: Query) -> tuple[Any, ...]:
    """Return what two queries must have in common to look at the same sorted rows."""
    window = query.window
    measured = bool(window.measured)
    return query.where, query.partition_by, query.order_by, measured, window.row_size


def form_of(aggregation: Aggregation, kinds: Sequence[Kind]) -> Form:
    """Return the form in which an aggregation gets the values of columns of these kinds.

    >>> from windrow import ArgMax, Collect, Max, Sum
    >>> form_of(Max("v"), ["text"]), form_of(Sum("v"), ["decimal"]), form_of(Collect("v"), ["time"])
    ('ranks', 'decimals', 'list')
    """
    if not kinds:
        return "numbers"  # no column: rows are counted
    if aggregation.functions is not None:
        return "numbers" if _compiles(aggregation, kinds) else "objects"
    listing, first, takes = aggregation.listing, kinds[0], aggregation.takes
    if listing is not None and not aggregation.kernel:
        return "objects" if listing.distinct else "list"
    exact = first.endswith("decimal") or (first == "time" and aggregation.result == "mean")
    if takes == "summable" and exact:
        return "decimals"
    if takes == "hashable" and listing is None and first not in _NUMBERS:
        return "objects" if aggregation.rows("int64") is None else "hashes"
    if all(kind in _AS_NUMBERS for kind in kinds[: aggregation.inputs]):
        return "numbers"
    if takes == "any":
        return "positions"
    if listing is not None or (takes in ("ordered", "ordered pair") and first != "other"):
        return "ranks"
    return "objects"


def _with_common(results: Iterable[ResultPlan]) -> tuple[ResultPlan, ...]:
    """Return the results of a query, with what kernels over one column compute for several."""
    from windrow.kernels.named import kernel_of

    results = tuple(results)
    finds = []
    for result in results:
        alone = result.form == "numbers" and not result.shared
        kernel = kernel_of(result.aggregation) if alone else None
        finds.append(frozenset(() if kernel is None else kernel.finds))
    plans = []
    for i, result in enumerate(results):
        column, common, beside = result.aggregation.columns[:1], set[str](), []
        for j, other in enumerate(results):
            both = finds[i] & finds[j]
            if i != j and both and column and column == other.aggregation.columns[:1]:
                common |= both
                beside.append(other.name)
        plans.append(replace(result, common=tuple(sorted(common)), beside=tuple(beside)))
    return tuple(plans)


def _compiles(aggregation: Aggregation, kinds: Sequence[Kind]) -> bool:
    """Whether the functions of a user's own aggregation compile for columns of these kinds."""
    from windrow.kernels.compiled_states import compiled_state
    from windrow.kernels.functions import NotCompilable

    if not all(kind in _NUMBERS for kind in kinds):
        return False
    try:
        return compiled_state(aggregation, list(kinds)) is not None
    except NotCompilable:
        return False


# The kind of a column of which only the aggregation is known, where it does not take floats.
_ASSUMED = {"text": "text", "integer": "int64", "boolean": "int64", "sketch": "binary"}


def _kind_of(part: Aggregation, text: str, kinds: Mapping[str, Kind] | None) -> Kind:
    if kinds is not None:
        return kinds[text]
    return _ASSUMED.get(part.takes, "float64")


def _on_spark(query: Query, kinds: Mapping[str, Kind] | None, native: bool) -> SparkPlan:
    window, parts = query.window, query.parts.values()
    native = native and window.kept == "slices" and window.sliced_by_rule
    if native and all(p.commutative and p.spark_fields for p in parts):
        return "slices"
    order = "time" if kinds is None else kinds.get((*query.order_by, "")[0], "other")
    along = len(query.order_by) <= 1 and order in (*_NUMBERS, "time")
    if window.in_ranges and query.emit == "rstream" and along:
        return "ranges"
    return "keys" if query.partition_by else "one task"


def _on_a_stream(query: Query, results: Sequence[ResultPlan]) -> Kept:
    """Return what a stream keeps: chunks of rows only if short states can replace them."""
    kept = query.window.kept
    if kept != "chunks":
        return kept
    short = all(_is_short(result) for result in results)
    return "chunks" if short and any(result.kinds for result in results) else "rows"


def _is_short(result: ResultPlan) -> bool:
    """Whether a state is a few numbers, each of a fixed size."""
    if result.form == "decimals" or result.aggregation.functions is not None:
        return result.form != "objects"
    algebra = result.aggregation.algebra("int64")
    if algebra is None or result.form == "objects":
        return False
    kinds_of = {"value": result.kinds[:1], "argument": result.kinds[-1:]}
    kinds = [kind for _, content in algebra.fields for kind in kinds_of.get(content, ())]
    return all(kind in (*_AS_NUMBERS, "long decimal") for kind in kinds)
