"""`sliding`, and the `Query` that it returns: an immutable value that engines run over frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from windrow.aggregations.base import Aggregation, check_aggregation, fingerprints
from windrow.errors import InvalidArgument, choice, did_you_mean, whole_number
from windrow.identity import digest_of
from windrow.queries.expressions import as_column, normal
from windrow.queries.frames import engine_of, plotted
from windrow.queries.policies import text_policy
from windrow.queries.syntax import NAME
from windrow.windows.base import Window, written
from windrow.windows.durations import nanoseconds
from windrow.windows.kinds import window_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from windrow.queries.explain import Explanation
    from windrow.windows.sharing import SharedWindows

EMIT = ("rstream", "istream")


@dataclass(frozen=True, repr=False)
class Query:
    """A query over sliding windows, as `sliding` and `sql` return it.

    It is compared and pickled by value, and prints as a call of `sliding`. Called with a pandas,
    Polars or Arrow table it returns one of the same kind; ``DataFrame.transform`` of PySpark takes
    it as it is.

    >>> from windrow import Max, sliding
    >>> sliding(rows=3, peak=Max("load"))
    sliding(rows=3, peak=Max('load'))
    """

    window: Window
    aggregations: tuple[tuple[str, Aggregation], ...]
    partition_by: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    where: str | None = None
    having: str | None = None
    emit: str = "rstream"
    lateness: Any = None
    source: str | None = field(default=None, compare=False)
    min_rows: int | None = None  # how many values a window needs that are not null

    def __post_init__(self) -> None:
        parts = tuple((name, _conditioned(part, name)) for name, part in self.aggregations)
        object.__setattr__(self, "aggregations", parts)
        names = [name for name, _ in self.aggregations]
        if not names:
            raise InvalidArgument("a query needs at least one named aggregation: peak=Max('load')")
        for name, part in self.aggregations:
            check_aggregation(part, f"sliding, {name}")
            if part.parts is not None:
                raise InvalidArgument(f"{name}={part!r}: name its parts in the query itself")
            columns = part.columns if part.written is None else part.written
            if not columns and not part.column_optional:
                raise InvalidArgument(
                    f"{name}={part!r} names no column: write {part.written_with('load')}"
                )
        check_distinct(names)
        for name in names:
            if name in self.partition_by:
                raise InvalidArgument(f"the result {name!r} has the name of a partition column")
        if None in self.window.reads:
            raise InvalidArgument(
                f"until={self.window.policy!r} names no column: write Adwin('load')"
            )
        choice("emit", self.emit, EMIT)
        if self.window.measured and len(self.order_by) > 1 and not self.window.by_peers:
            raise InvalidArgument(
                f"{self.window.measured}= measures along one column, and order_by names "
                f"{len(self.order_by)}: {', '.join(self.order_by)}"
            )
        if self.lateness is not None:
            nanoseconds(self.lateness, "lateness")
        if self.min_rows is not None:
            whole_number("min_rows", self.min_rows, least=1)

    # -- running ----------------------------------------------------------------------------

    def __call__(self, frame: Any) -> Any:
        """Return the results over `frame`, as a frame of the same kind.

        Per-row windows add a column for each aggregation to the rows, in the order they came in;
        the others give a row for each closed window.
        """
        return engine_of(frame).run(self, frame)

    def explain(self, frame: Any = None) -> Explanation:
        """Return the plan in words: the window, its slices, and how each aggregation is computed.

        With a frame, it is the plan over its columns; without one, over columns of floats.
        """
        from windrow.queries.explain import explain
        from windrow.queries.plan import plan_of

        return explain(plan_of(self) if frame is None else engine_of(frame).plans([self], frame)[0])

    def plot(self, frame: Any, key: Any = None) -> Figure:
        """Return a figure of Matplotlib: the columns over time, and the results of their windows.

        It shows one key: `key` is its value, or a tuple where keys have several columns. A result
        that is no number is left out. It needs `pip install "windrow[plot]"`.
        """
        return plotted((self,), frame, key)

    def stream(self) -> SharedWindows:
        """Return the query as a stream that takes one event at a time: `push` a row, get results.

        With a `lateness`, values wait for their turn, and those that come after it are dropped
        and counted in `late`.

        >>> from windrow import Max, sliding
        >>> peaks = sliding(order_by="t", range="2 s", slide="1 s", lateness="1 s", peak=Max("v"))
        >>> stream, second = peaks.stream(), 10**9
        >>> for at, value in ((3, 5), (2, 7), (4, 1), (1, 9)):
        ...     print(stream.push({"v": value}, at=at * second), stream.late)
        [] 0
        [] 0
        [Answer(query=0, end=3000000000, value={'peak': 7})] 0
        [] 1
        """
        from windrow.queries.shared import Shared

        return Shared((self,)).stream()

    def sql(self) -> str:
        """Return the query as a text of CQL; `windrow.sql` reads it back."""
        from windrow.queries.cql import to_sql

        return to_sql(self)

    def replace(self, **changes: Any) -> Query:
        """Return the same query with other values in these fields."""
        return replace(self, **changes)

    # -- a value of Python ------------------------------------------------------------------

    @property
    def parts(self) -> dict[str, Aggregation]:
        """The aggregations by the names of their results."""
        return dict(self.aggregations)

    @property
    def commutative(self) -> bool:
        """Whether no result depends on the order of the rows in its window."""
        return all(part.commutative for _, part in self.aggregations)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `sliding` that make this query, without the defaults."""
        arguments: dict[str, Any] = {}
        for name in ("partition_by", "order_by"):
            columns = getattr(self, name)
            if columns:
                arguments[name] = columns[0] if len(columns) == 1 else list(columns)
        arguments |= self.window.arguments()
        for name in ("min_rows", "lateness", "where", "having"):
            if getattr(self, name) is not None:
                arguments[name] = getattr(self, name)
        if self.emit != "rstream":
            arguments["emit"] = self.emit
        return arguments

    @property
    def fingerprint(self) -> str:
        """A text that is the same for a query with the same results, in other processes too.

        It includes digests of the user's own functions, of aggregations and of windows.
        """
        window = [f"{n}: {digest_of(f)}" for n, f in vars(self.window).items() if callable(f)]
        return "\n".join([repr(self), *fingerprints(self.parts), *window])

    def __repr__(self) -> str:
        return call_text(self.arguments(), self.aggregations)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the call, its windows drawn, and the plan as a diagram."""
        from windrow.queries.diagram import page, pictures
        from windrow.queries.plan import plan_of

        return page(repr(self), pictures([self]), [plan_of(self)])


def check_distinct(names: Iterable[str]) -> None:
    """Refuse two results of the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidArgument(f"the name {name!r} is given to {count} results")


def call_text(arguments: Mapping[str, Any], results: Sequence[tuple[str, Aggregation]]) -> str:
    """Return the text of a call of `sliding`, on several lines if it is long.

    Results whose names cannot be keywords go into a dict, which is the first argument.
    """
    words = written(arguments)
    reserved = {n for n, _ in results if n in ARGUMENTS or not NAME.fullmatch(n)}
    if reserved:
        words.insert(0, repr({n: a for n, a in results if n in reserved}))
    words += [f"{n}={a!r}" for n, a in results if n not in reserved]
    line = f"sliding({', '.join(words)})"
    return line if len(line) <= 100 else "sliding(\n    " + ",\n    ".join(words) + ",\n)"


def sliding(
    also: Mapping[str, Aggregation] | None = None,
    /,
    *,
    partition_by: str | Sequence[str] | None = None,
    order_by: str | Sequence[str] | None = None,
    rows: int | str | tuple[Any, Any] | list[Any] | None = None,
    range: Any = None,
    delta: Any = None,
    groups: int | str | tuple[Any, Any] | list[Any] | None = None,
    until: Any = None,
    on: Any = None,
    gap: Any = None,
    slide: Any = None,
    closed: str = "both",
    exclude: str | None = None,
    offset: Any = None,
    gaps: bool = False,
    timezone: str | None = None,
    min_rows: int | None = None,
    lateness: Any = None,
    where: str | None = None,
    having: str | None = None,
    emit: str = "rstream",
    names: Sequence[str] | None = None,
    **aggregations: Aggregation,
) -> Query:
    """Return a query over windows, of which there is one kind for each of these arguments.

    - `rows=w`: the last w rows; with `slide=s`, a result after every s rows.
    - `range=r`: rows whose `order_by` lies in [t − r, t], t being the current row's; rows of equal
      t see each other. `closed` as in pandas. With `slide=s`, hopping windows [start, start + r)
      at the multiples of s, shifted by `offset`. With `gaps=True` a slide may be larger than the
      window; rows between windows are then in none. The same goes for `rows`.
    - `range="1 month"`, a quarter, a year: of the calendar, so 31 March less a month is the last
      day of February. With `timezone="Europe/Berlin"` days and weeks are those there, too, 23 to 25
      hours long. With `slide="1 month"`, "1 week" or "1 day" windows start with the first of a
      month, on a Monday or at midnight there. Times that have no zone are local as they are.
    - `delta=d`: the same for an `order_by` of numbers.
    - `rows=(-3, 3)`, `range=("-20 days", "-5 days")`: both ends relative to the current row, as in
      PySpark's `rowsBetween` and `rangeBetween`; "unbounded" on either side.
    - `groups=(-1, 1)`: the same in groups of rows of equal `order_by`. `exclude` leaves the
      "current row", its "group" or its "ties" out of such windows.
    - `until=policy`: the oldest part goes while ``policy(total, old)`` is true, or the oldest row
      while ``policy(window)`` is; a text such as ``"s > 10"`` is a policy of the second kind. With
      `slide=s`, a result after every s rows.
    - `on=condition`: a window closes at each row that satisfies it; with `slide=s`, there is a
      result after every s rows of the window, too.
    - `gap=g`: sessions, the rows that follow each other within g, as Spark's `session_window`: a
      row for each with `session_start` and `session_end`, the last row's `order_by` + g. An
      expression such as ``"CASE WHEN kind = 'a' THEN '5 minutes' ELSE '1 hour' END"`` gives each
      row its own gap.

    A list of sizes, `range=["1 hour", "7 days"]`, asks for windows of each of them at once, with
    results such as `peak_1h` and `peak_7d`, or `peak_short` with `names=["short", …]`.

    `min_rows=k` gives null until a window has k values that are not null, as pandas' `min_periods`.

    Without `order_by`, windows measured in time go along a pandas index of times, or else along the
    frame's only column of times; those that count rows take them as they stand.

    A column may be an expression, as in ``Sum("price * quantity")``. `where` drops rows before
    the window, `having` drops results after it; `emit="istream"` keeps only results that differ
    from the one before. Names that are no keywords of Python go into a dict before all others.

    >>> from windrow import ArgMax, Max, sliding
    >>> sliding(partition_by="plug", order_by="ts", range="1 hour",
    ...         peak=Max("load"), when=ArgMax("load", "ts"))
    sliding(
        partition_by='plug',
        order_by='ts',
        range='1 hour',
        peak=Max('load'),
        when=ArgMax('load', 'ts'),
    )
    """
    arguments = dict(locals())
    for name in ("also", "names", "aggregations"):
        del arguments[name]
    arguments |= aggregations
    if not (also is None or (isinstance(also, Mapping) and all(isinstance(n, str) for n in also))):
        raise InvalidArgument(f"sliding({also!r}, …) takes results by their names in a dict")
    _check_named({**(also or {}), **aggregations})
    for name in ("rows", "range", "delta", "groups"):
        if isinstance(arguments[name], list):
            from windrow.queries.horizons import horizons

            sizes = arguments[name]
            queries = [sliding(also, **{**arguments, name: size}) for size in sizes]
            return horizons(name, sizes, names, queries)  # type: ignore[return-value]
    if names is not None:
        raise InvalidArgument(f"names={names!r} goes with several sizes, as in rows=[10, 100]")
    if isinstance(until, str):
        until = text_policy(until, {**(also or {}), **aggregations})
    window = window_of(
        "sliding", rows=rows, range=range, delta=delta, groups=groups, until=until, on=on, gap=gap,
        slide=slide, closed=closed, exclude=exclude, offset=offset, gaps=gaps or None,
        timezone=timezone,
    )  # fmt: skip
    if window.row_size is not None:
        window = window.with_row_size(normal(window.row_size, window.measured))
    return Query(
        window,
        (*(also or {}).items(), *aggregations.items()),
        _names("partition_by", partition_by),
        _names("order_by", order_by),
        None if where is None else normal(where, "where"),
        None if having is None else normal(having, "having"),
        emit,
        lateness,
        min_rows=min_rows,
    )


def _conditioned(part: Any, name: str) -> Any:
    """Return an aggregation that reads null in rows that do not satisfy its `where`, if it has one.

    >>> from windrow import Count, Max
    >>> _conditioned(Max("load").where("kind='a'"), "peak").columns
    ("CASE WHEN kind = 'a' THEN load END",)
    """
    if not isinstance(part, Aggregation) or part.condition is None or part.written is not None:
        return part
    condition = normal(part.condition, f"{name}, where")
    first, *others = part.columns or ("1",)
    value = as_column(first) if part.columns else first
    filtered = part.reading((f"CASE WHEN {as_column(condition)} THEN {value} END", *others))
    filtered.condition = condition
    return filtered


ARGUMENTS = tuple(sliding.__kwdefaults__ or ())  # the keywords of `sliding`


def _check_named(aggregations: Mapping[str, Any]) -> None:
    """Refuse a mistyped argument, which would otherwise be taken for the name of a result."""
    for name, value in aggregations.items():
        if not isinstance(value, Aggregation):
            if isinstance(value, type) and issubclass(value, Aggregation):
                raise InvalidArgument(f"{name}={value.__name__}: write {value.__name__}(…)")
            raise InvalidArgument(
                f"{name}={value!r} is neither an aggregation nor an argument of sliding; "
                f"{did_you_mean(name, sorted(ARGUMENTS))}"
            )


def _names(argument: str, value: Any) -> tuple[str, ...]:
    """Return the names of columns in an argument that takes one name or several."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    names = () if value is None else tuple(value) if several else (value,)
    if not all(isinstance(name, str) and name for name in names):
        raise InvalidArgument(f"{argument}={value!r} must be the name of a column, or several")
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(f"{argument} names {name!r} {names.count(name)} times")
    return names
