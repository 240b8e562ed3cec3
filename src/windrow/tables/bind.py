"""A query meets a schema: every mistake is found here, before any row is read."""

from __future__ import annotations

import datetime
import typing
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import NoneType
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, InvalidValue, did_you_mean
from windrow.kernels.compiled_states import compiled_state
from windrow.kernels.functions import NotCompilable
from windrow.kernels.routes import compiled_or_warned
from windrow.queries.expressions import as_column
from windrow.queries.plan import Plan, ResultPlan, plan_of, share
from windrow.queries.query import Query
from windrow.tables.types import (
    COMPILED,
    anything_as,
    asked_for,
    axis_of,
    compiled_type,
    is_number,
    is_text,
    is_time,
    kind_of,
    plain,
    result_type,
    takes_as_double,
    type_along,
)
from windrow.windows.sizes import Axis

_ANNOTATED = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    datetime.date: pa.date32(),
    datetime.timedelta: pa.duration("us"),
}


@dataclass(frozen=True)
class Bound:
    """A query that fits a schema, with its order column and the types of its results."""

    query: Query
    schema: pa.Schema  # of the frame
    types: dict[str, Any]  # of the results; None where only running tells
    needed: tuple[str, ...]  # the columns of the frame that are read
    kinds: dict[str, str]  # of what the aggregations read, as plans know them
    native: bool = True  # whether Spark can make the states of slices itself

    @cached_property
    def plan(self) -> Plan:
        """What will run."""
        return plan_of(self.query, self.kinds, self.native)

    @cached_property
    def interpreted(self) -> list[ResultPlan]:
        """The results of functions of the user's own over numbers that run in the interpreter."""
        return [
            result
            for result in self.plan.results
            if result.aggregation.functions is not None
            and result.form == "objects"
            and all(kind in COMPILED for kind in result.kinds)
        ]

    @property
    def order(self) -> str | None:
        """The one column that a span measures along."""
        return self.query.order_by[0] if self.query.order_by else None

    @property
    def own_rows(self) -> tuple[str, ...]:
        """The columns that tell where windows lie, if results are rows of their own."""
        return self.query.window.columns

    @cached_property
    def plain_fields(self) -> bool:
        """Whether the schema has neither metadata nor columns that must not be null."""
        names_and_types = pa.schema([(field.name, field.type) for field in self.schema])
        return bool(self.schema.equals(names_and_types, check_metadata=True))

    @cached_property
    def alone(self) -> Plan:
        """What will run where no other query runs beside it."""
        return share([self.plan])[0]

    @cached_property
    def by_groups(self) -> bool:
        """Whether windows go by the numbers of groups of equal order, not by a column's values."""
        types = [plain(self.schema.field(name).type) for name in self.query.order_by]
        return self.query.window.by_peers and not (len(types) == 1 and _is_measure(types[0]))

    @cached_property
    def order_type(self) -> pa.DataType:
        """The type of what windows are measured along."""
        if self.by_groups:
            return pa.int64()
        return _measured_type(self.query, str(self.order), self.schema)

    @cached_property
    def axis(self) -> Axis:
        """What windows are measured in along the order column."""
        return self.query.window.start_axis(axis_of(self.order_type, str(self.order)))

    @cached_property
    def at_type(self) -> pa.DataType:
        """The type that the order column is brought to, and of where windows start and end."""
        return type_along(self.axis, self.order_type)

    @property
    def filters(self) -> bool:
        """Whether some results may not come out."""
        return self.query.having is not None or self.query.emit != "rstream"

    @property
    def chooses(self) -> bool:
        """Whether some rows of the frame may not be in the result."""
        window = self.query.window
        some = self.query.where is not None or window.row_size is not None
        return some or self.filters or not window.per_row

    def output(self) -> pa.Schema:
        """The schema of the result: what rides along, and the results."""
        if self.own_rows:
            keys = [self.schema.field(name) for name in self.query.partition_by]
            fields = [*keys, *(pa.field(name, self.at_type) for name in self.own_rows)]
        else:
            fields = list(self.schema)
        return pa.schema([*fields, *(pa.field(n, t) for n, t in self.types.items())])


def bind_once(query: Query, schema: pa.Schema, order: str | None = None) -> Bound:
    """What `bind` gives; what it gave for the last schemas of the last queries is kept.

    A query is known by being this one, as another that is equal may print itself otherwise.
    """
    its, known = _bound.get(id(query), (query, ()))
    for its_schema, its_order, bound in known if its is query else ():
        if its_order == order and (
            its_schema is schema or its_schema.equals(schema, check_metadata=True)
        ):
            return bound
    bound = bind(query, schema, order)
    if len(_bound) >= _QUERIES:
        _bound.clear()
    _bound[id(query)] = query, ((schema, order, bound), *(known if its is query else ()))[:_SCHEMAS]
    return bound


_QUERIES, _SCHEMAS = 64, 4  # so many are kept
# Queries by their ids, with the schemas and orders that they were bound to, the last one first.
_bound: dict[int, tuple[Query, tuple[tuple[pa.Schema, str | None, Bound], ...]]] = {}


def bind(
    query: Query, schema: pa.Schema, order: str | None = None, *, along_decimals: bool = True
) -> Bound:
    """`query` over a frame of this schema, or an error that names what does not fit.

    `order` is the column that a query goes by which names none and needs one. Windows are measured
    `along_decimals` where each row has a result.
    """
    for name, count in Counter(schema.names).items():
        if count > 1:
            raise InvalidArgument(f"the frame has {count} columns named {name!r}")
    query = _with_order(query, schema, order)
    frame = _Columns(schema)
    for argument in ("partition_by", "order_by"):
        for name in getattr(query, argument):
            frame.check(argument, name)
    _check_key_types(query, schema)
    _check_order(query, schema, along_decimals)
    needed = [*query.partition_by, *query.order_by]
    types, parts = {}, []
    read_kinds = {name: kind_of(schema.field(name).type) for name in query.order_by}
    for name, part in query.aggregations:
        part, columns = frame.read_part(name, part)
        parts.append((name, part))
        needed += [read for _, reads in columns for read in reads]
        kinds = [kind for kind, _ in columns]
        for text, kind in zip(part.columns, kinds, strict=True):
            known = kind_of(anything_as(part.takes) if pt.is_null(kind) else kind)
            if read_kinds.get(text) != "text":  # nothing but nulls is text for all if for one
                read_kinds[text] = known
        made = result_type(name, part, kinds)
        types[name] = _found_type(part, kinds) if made is None else made
    if parts != list(query.aggregations):
        query = query.replace(aggregations=tuple(parts))
    _check_names(query, schema)
    for argument, text in _conditions(query):
        there = frame if argument != "having" else _Columns(_after(query, schema, types))
        kind, reads = there.read(argument, text)
        if argument != query.window.measured:  # a size, which is checked below
            _check_condition(f"{argument}={text!r}", kind)
        needed += [read for read in reads if read in frame.names]
    _check_row_size(query, schema, frame)
    for text in query.window.reads:
        kind, reads = frame.read("until", text)
        if not is_number(plain(kind)):
            raise InvalidValue(f"until={query.window.policy!r} takes numbers, not {kind}")
        needed += reads
    if query.window.reads_rows:
        needed += schema.names  # the function may look at any of them
    return Bound(query, schema, types, tuple(dict.fromkeys(needed)), read_kinds)


def warn_of_interpreted(bounds: Iterable[Bound]) -> None:
    """Warn of functions of the user's own over numbers that will run in the interpreter."""
    for bound in bounds:
        for result in bound.interpreted:
            compiled_or_warned(result.aggregation, result.dtypes)


def _check_condition(what: str, kind: pa.DataType) -> None:
    if not (pt.is_boolean(plain(kind)) or pt.is_null(kind)):
        raise InvalidValue(f"{what}: a condition is true or false; this one is of type {kind}")


def _conditions(query: Query) -> Iterator[tuple[str, str]]:
    conditions = {"where": query.where, **query.window.conditions(), "having": query.having}
    for argument, text in conditions.items():
        if text is not None:
            yield argument, text


def _after(query: Query, schema: pa.Schema, types: dict[str, Any]) -> pa.Schema:
    """What `having` can speak of: the frame's columns, the results, and where windows lie."""
    new = [pa.field(name, kind or pa.null()) for name, kind in types.items()]
    own = [name for name in query.window.columns if name not in schema.names]
    if own:
        order = str(query.order_by[0])
        along = _measured_type(query, order, schema)
        kind = type_along(query.window.start_axis(axis_of(along, order)), along)
        new += [pa.field(name, kind) for name in own]
    return pa.schema([*schema, *new])


def _with_order(query: Query, schema: pa.Schema, order: str | None) -> Query:
    """The query with an order, if it names none and needs one: this, or the only time column."""
    if query.order_by or not query.window.measured:
        return query
    times = [field.name for field in schema if is_time(field.type)] if order is None else [order]
    if len(times) != 1:
        problem = (
            f"the frame has {', '.join(times)}" if times else "the frame has no column of times"
        )
        size = query.window.arguments()[query.window.measured]
        raise InvalidArgument(
            f"{query.window.measured}={size!r} measures along a column, and {problem}: name it, as "
            f"in order_by='ts' (in SQL, ORDER BY ts in the bracket)"
        )
    return query.replace(order_by=(times[0],))


def _as_double(text: str, cast: bool) -> str:
    """A column or an expression, as a double if it is to be cast."""
    return f"CAST({as_column(text)} AS DOUBLE)" if cast else text


class SchemaColumns:
    """The columns of a schema, as statements of SQL ask about them."""

    def __init__(self, schema: pa.Schema) -> None:
        self.names = list(schema.names)
        self._columns = _Columns(schema)

    def check(self, part: Aggregation) -> None:
        """Refuse an aggregation that does not take what its columns hold."""
        read, columns = self._columns.read_part("", part)
        result_type("", read, [kind for kind, _ in columns])

    def family(self, text: str) -> str:
        """The family of types that an expression is of."""
        from windrow.tables.coercion import family

        kind = self._columns.read("column", text)[0]
        return family(pa.nulls(0, plain(kind)))


def columns_read(text: str, schema: pa.Schema) -> list[str]:
    """The columns of a frame that a column or an expression reads."""
    return _Columns(schema).read("column", text)[1]


class _Columns:
    """The columns that names and expressions may speak of."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self.names = set(schema.names)

    def check(self, argument: str, name: str) -> None:
        """Refuse a name that no column has."""
        if name not in self.names:
            raise InvalidArgument(
                f"{argument}={name!r}: the frame has no such column; "
                f"{did_you_mean(name, self._schema.names)}"
            )

    def read_part(
        self, name: str, part: Aggregation
    ) -> tuple[Aggregation, list[tuple[pa.DataType, list[str]]]]:
        """An aggregation with decimals cast where it takes none, and what its columns are."""
        if part.condition is not None:
            _check_condition(asked_for(name, part), self.read(name, part.condition)[0])
        columns = [self.read(name, text) for text in part.columns]
        cast = [takes_as_double(part, i, plain(kind)) for i, (kind, _) in enumerate(columns)]
        if any(cast):
            part = part.reading(tuple(map(_as_double, part.columns, cast)))
            columns = [self.read(name, text) for text in part.columns]
        return part, columns

    def read(self, argument: str, text: str) -> tuple[pa.DataType, list[str]]:
        """The type of a column or an expression, and the columns that it reads."""
        if text in self.names:
            return self._schema.field(text).type, [text]
        from windrow.queries.expressions import columns_of, is_expression
        from windrow.tables.arithmetic import evaluate

        if not is_expression(text):
            raise InvalidArgument(
                f"{argument}: the frame has no column {text!r}; "
                f"{did_you_mean(text, self._schema.names)}"
            )
        # those that the expression may mean, and all if it means one that is not there
        means = [self._in_any_case.get(name.lower(), []) for name in columns_of(text)]
        few = pa.schema([self._schema.field(n) for n in dict.fromkeys(chain(*means))])
        values = evaluate(text, (few if all(means) else self._schema).empty_table())
        reads = [
            n if n in self.names else own[0] for n, own in zip(columns_of(text), means, strict=True)
        ]
        return values.type, reads

    @cached_property
    def _in_any_case(self) -> dict[str, list[str]]:
        """The columns that a name in lower case may mean."""
        names: dict[str, list[str]] = {}
        for name in self._schema.names:
            names.setdefault(name.lower(), []).append(name)
        return names


def _check_key_types(query: Query, schema: pa.Schema) -> None:
    for argument, done in (("partition_by", "grouped"), ("order_by", "ordered")):
        for name in getattr(query, argument):
            kind = plain(schema.field(name).type)
            if pt.is_nested(getattr(kind, "storage_type", kind)):
                raise InvalidValue(
                    f"{argument}={name!r} is of type {kind}, which cannot be {done} by"
                )


def _check_order(query: Query, schema: pa.Schema, along_decimals: bool) -> None:
    if not query.window.measured or query.window.by_peers:
        return
    for name in query.order_by:
        kind = _measured_type(query, name, schema)
        window = query.window
        decimals = along_decimals and window.per_row and window.row_size is None
        if not (_is_measure(kind) or (decimals and pt.is_decimal(kind))):
            raise InvalidValue(
                f"order_by={name!r} is of type {kind}; {query.window.measured}= measures along "
                f"times or numbers"
            )
        query.window.check_axis(axis_of(kind, name))


def _check_row_size(query: Query, schema: pa.Schema, frame: _Columns) -> None:
    """Refuse sizes of rows that do not go with the order column."""
    text, argument = query.window.row_size, query.window.measured
    if text is None:
        return
    order = query.order_by[0]
    kind, along = plain(frame.read(argument, text)[0]), _measured_type(query, order, schema)
    axis = axis_of(along, order)
    if axis.tick is not None:
        fits, give = is_text(kind) or pt.is_duration(kind), "durations, or texts as '5 minutes'"
    elif axis.floating:
        fits, give = is_number(kind), "numbers"
    else:
        fits, give = pt.is_integer(kind), "whole numbers"
    if not (fits or pt.is_null(kind)):
        raise InvalidValue(
            f"{argument}={text!r} is of type {kind}, and {order!r} is of type {along}: give {give}"
        )


def _is_measure(kind: pa.DataType) -> bool:
    """Whether values of a type lie so far apart, which windows can be measured in."""
    return bool(is_number(kind) or is_time(kind) or pt.is_duration(kind))


def _measured_type(query: Query, name: str, schema: pa.Schema) -> pa.DataType:
    """The type of a column that windows are measured along; what has only nulls is of any."""
    kind = plain(schema.field(name).type)
    if not pt.is_null(kind):
        return kind
    try:
        query.window.check_axis(axis_of(pa.int64(), name))
    except InvalidValue:  # durations, which go with times
        return pa.timestamp("us")
    return pa.int64()


def _check_names(query: Query, schema: pa.Schema) -> None:
    own = query.window.columns
    taken = {*query.partition_by, *own} if own else set(schema.names)
    for name, part in query.aggregations:
        if name in taken:
            raise InvalidArgument(
                f"{name}={part!r}: the result already has a column {name!r}; choose another name"
            )
    for name in own:
        if name in query.partition_by:
            raise InvalidArgument(
                f"partition_by={name!r} is a name that such windows give their own column; "
                f"rename it"
            )


def _found_type(part: Aggregation, types: list[pa.DataType]) -> Any:
    """The type of results that an aggregation does not state.

    Compiling a user's functions tells it, or else what `lower` says it returns. None where neither
    does.
    """
    functions = part.functions or {"lower": part.lower}
    try:
        outputs = compiled_outputs(part, types)
    except NotCompilable:
        return _annotated(_returned(functions["lower"]))
    kinds = [COMPILED[output] for output in outputs]
    if len(kinds) == 1:
        return kinds[0]
    return pa.struct([(f"f{i}", kind) for i, kind in enumerate(kinds)])


def compiled_outputs(part: Aggregation, types: list[pa.DataType]) -> tuple[str, ...]:
    """The types of the numbers that a user's own functions answer, or NotCompilable."""
    for kind in types:
        if not is_number(kind):
            raise NotCompilable(f"only numbers compile, and a column is of type {kind}")
    compiled = compiled_state(part, [compiled_type(t) for t in types])
    if compiled is None:
        raise NotCompilable("it states neither fields nor functions")
    return compiled.outputs


def _returned(function: Any) -> Any:
    """What a function is annotated to return; a type returns itself."""
    if isinstance(function, type):
        return function
    try:
        return typing.get_type_hints(function).get("return")
    except (NameError, TypeError):  # it names what is not there, or has no annotations
        return None


def _annotated(hint: Any) -> Any:
    """The type of a column of such values; None for what has none."""
    members = [m for m in typing.get_args(hint) if m is not NoneType]
    if typing.get_origin(hint) is list and len(members) == 1:
        inner = _annotated(members[0])
        return None if inner is None else pa.list_(inner)
    if len(members) == 1 and NoneType in typing.get_args(hint):  # X | None
        return _annotated(members[0])
    return _ANNOTATED.get(hint) if isinstance(hint, type) else None
