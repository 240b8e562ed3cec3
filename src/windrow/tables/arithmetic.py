"""Expressions over Arrow tables: from the tree to Arrow's kernels, one batch at a time.

A branch of CASE sees only the rows that take it, so a condition guards what would fail elsewhere:
``CASE WHEN kind = 'number' THEN CAST(text AS INT) END``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from windrow.errors import InvalidArgument, InvalidValue, did_you_mean
from windrow.queries.expressions import FIELDS, canonical, interval_text, parse
from windrow.queries.expressions import whole as whole_literal
from windrow.tables import scalars
from windrow.tables.casts import TYPES, convert
from windrow.tables.coercion import Misfit, alike, booleans, texts
from windrow.windows.durations import nanoseconds

OPERATORS: dict[str, Any] = {
    "add": scalars.add,
    "sub": scalars.subtract,
    "mul": scalars.multiply,
    "div": scalars.divide,
    "mod": scalars.remainder,
    "neg": scalars.negate,
    "eq": scalars.equal,
    "neq": scalars.negated(scalars.equal),
    "nullsafeeq": scalars.same,
    "nullsafeneq": scalars.negated(scalars.same),
    "lt": scalars.less,
    "gt": scalars.swapped(scalars.less),
    "lte": scalars.negated(scalars.swapped(scalars.less)),
    "gte": scalars.negated(scalars.less),
    "and": scalars.both,
    "or": scalars.either,
    "not": scalars.inverted,
    "coalesce": scalars.coalesce,
    "nullif": scalars.null_if,
    "in": scalars.one_of,
    "between": scalars.between,
    "greatest": scalars.extreme(scalars.swapped(scalars.less)),
    "least": scalars.extreme(scalars.less),
    "abs": scalars.absolute,
    "floor": scalars.whole(pc.floor),
    "ceil": scalars.whole(pc.ceil),
    "sqrt": scalars.of_float(pc.sqrt),
    "exp": scalars.of_float(pc.exp),
    "pow": scalars.of_float(pc.power),
    "ln": scalars.logarithm,
    "concat": scalars.joined,
    "dpipe": scalars.joined,
    "lower": scalars.of_text(pc.utf8_lower),
    "upper": scalars.of_text(pc.utf8_upper),
    "trim": scalars.of_text(lambda text: pc.utf8_trim(text, " ")),
    "epoch": scalars.seconds,
    "length": scalars.length,
    **{name.lower(): scalars.field(getattr(pc, name.lower())) for name in FIELDS},
}


def evaluate(text: str, table: pa.Table) -> pa.ChunkedArray:
    """The values of an expression for the rows of `table`; O(rows) for each of its operators.

    A column whose name is `text` comes first, before anything is parsed. Other names may differ
    in upper and lower case from the columns', if only one fits.

    >>> table = pa.table({"price": [2.0, 3.0], "quantity": [4, None]})
    >>> evaluate("price * quantity", table).to_pylist()
    [8.0, None]
    """
    if text in table.column_names:
        return table.column(text)
    tree = parse(text)
    nodes = [node for node in tree.walk() if node.key == "column"]
    columns = {node.name: _resolved(node, text, table.column_names) for node in nodes}
    if not columns:
        return pa.chunked_array([_Rows({}, table.num_rows).array(tree)])
    read = table.select(list(dict.fromkeys(columns.values())))
    none = [pa.nulls(0, kind) for kind in read.schema.types]
    batches = read.to_batches() or [pa.record_batch(none, schema=read.schema)]
    parts = [
        _Rows({name: _plain(batch[own]) for name, own in columns.items()}, batch.num_rows)
        for batch in batches
    ]
    return pa.chunked_array([rows.array(tree) for rows in parts])


@dataclass(frozen=True)
class Typed:
    """The tree of an expression over columns of a schema, and what its nodes are there.

    A value is an array without rows, which has a type, or the scalar of a constant. `columns` says
    which column of the schema each name means.
    """

    tree: Any
    columns: dict[str, str]
    values: dict[int, Any]

    def value(self, node: Any) -> Any:
        """What a node is."""
        return self.values[id(node)]


def typed(text: str, schema: pa.Schema) -> Typed:
    """An expression with the types of all its parts, or an error that names what does not fit.

    >>> made = typed("LENGTH(kind) + 1", pa.schema({"kind": pa.string()}))
    >>> str(made.value(made.tree).type)
    'int64'
    """
    tree = parse(text)
    seen: dict[int, Any] = {}
    nodes = [node for node in tree.walk() if node.key == "column"]
    columns = {node.name: _resolved(node, text, schema.names) for node in nodes}
    empty = {name: _plain(pa.nulls(0, schema.field(own).type)) for name, own in columns.items()}
    _Rows(empty, 0, seen).array(tree)
    return Typed(tree, columns, seen)


def _resolved(node: Any, text: str, names: list[str]) -> str:
    """The column that a name means."""
    name = node.name
    if name in names:
        return str(name)
    near = [other for other in names if other.lower() == name.lower()]
    if len(near) == 1:
        return near[0]
    subject = f"{text!r} names {name!r}, which " if name != text else f"the column {name!r} "
    if near:
        raise InvalidArgument(f"{subject}could be {' or '.join(map(repr, near))}: write it exactly")
    quoted = node.this.args.get("quoted")
    hint = f"; a string is written '{name}', in single quotes" if quoted else ""
    raise InvalidArgument(f"{subject}is not in the frame; {did_you_mean(name, names)}{hint}")


def _plain(array: pa.Array) -> pa.Array:
    """Without the ways of storing that kernels do not know."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pt.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    return array.cast(pa.string()) if pt.is_string_view(array.type) else array


@dataclass(frozen=True)
class _Rows:
    """Some rows, and what the nodes of a tree come to over them: arrays, or scalars if constant."""

    columns: dict[str, pa.Array]
    count: int
    seen: dict[int, Any] | None = None  # where to note the value of every node

    def array(self, node: Any) -> pa.Array:
        """The value of a node for each row."""
        value = self.value(node)
        return pa.repeat(value, self.count) if isinstance(value, pa.Scalar) else value

    def value(self, node: Any) -> Any:
        """The value of a node: an array, or a scalar where no column is read."""
        own = getattr(self, f"_{node.key}", None)
        if own is not None:
            value = own(node)
        else:
            operands = [self.value(child) for child in node.iter_expressions()]
            value = _checked(node, OPERATORS[node.key], *operands)
        if self.seen is not None:
            self.seen[id(node)] = value
        return value

    # -- leaves -----------------------------------------------------------------------------

    def _column(self, node: Any) -> Any:
        return self.columns[node.name]

    def _literal(self, node: Any) -> Any:
        if node.is_string:
            return pa.scalar(node.this)
        return pa.scalar(int(node.this) if node.this.isdecimal() else float(node.this))

    def _boolean(self, node: Any) -> Any:
        return pa.scalar(bool(node.this))

    def _null(self, node: Any) -> Any:
        return pa.scalar(None)

    def _interval(self, node: Any) -> Any:
        size = nanoseconds(interval_text(node), "INTERVAL")
        fine = size % 1000 != 0
        return pa.scalar(size if fine else size // 1000, pa.duration("ns" if fine else "us"))

    # -- what is more than a kernel over its operands ---------------------------------------

    def _paren(self, node: Any) -> Any:
        return self.value(node.this)

    def _is(self, node: Any) -> Any:
        value = self.value(node.this)
        if node.expression.key == "null":
            return pc.is_null(value)
        (value,) = _checked(node, booleans, value)
        value = value if node.expression.this else pc.invert(value)
        return pc.fill_null(value, False)

    def _like(self, node: Any) -> Any:
        (text,) = _checked(node, texts, self.value(node.this))
        return pc.match_like(text, node.expression.this, ignore_case=node.key == "ilike")

    _ilike = _like

    def _substring(self, node: Any) -> Any:
        (text,) = _checked(node, texts, self.value(node.this))
        start, length = (whole_literal(node.args.get(name)) for name in ("start", "length"))
        assert start is not None, "parse refuses anything else"
        stop = None if node.args.get("length") is None else start - 1 + (length or 0)
        return pc.utf8_slice_codeunits(text, start - 1, stop)

    def _replace(self, node: Any) -> Any:
        (text,) = _checked(node, texts, self.value(node.this))
        return pc.replace_substring(text, node.expression.this, node.args["replacement"].this)

    def _datetrunc(self, node: Any) -> Any:
        return _checked(node, scalars.cut(node.args["unit"].name), self.value(node.this))

    def _round(self, node: Any) -> Any:
        digits = whole_literal(node.args.get("decimals"))
        assert digits is not None, "parse refuses anything else"
        return _checked(node, scalars.rounded(digits), self.value(node.this))

    def _extract(self, node: Any) -> Any:
        return _checked(node, OPERATORS[node.name.lower()], self.value(node.expression))

    def _cast(self, node: Any) -> Any:
        return _checked(node, convert, self.value(node.this), _target(node.args["to"]))

    # -- branches ---------------------------------------------------------------------------

    def _if(self, node: Any) -> Any:
        return self._branches(node, [node], node.args.get("false"))

    def _case(self, node: Any) -> Any:
        return self._branches(node, node.args["ifs"], node.args.get("default"), node.this)

    def _branches(self, node: Any, branches: Any, default: Any, subject: Any = None) -> Any:
        """The result of the first branch whose condition is true, or equal to the subject."""
        (first, *more), value = branches, branches[0].args["true"]
        if value.key == "column" and not more and default is None and subject is None:
            (meets,) = _checked(first, booleans, self.value(first.this))
            column = self.value(value)
            return pc.if_else(pc.fill_null(meets, False), column, pa.scalar(None, column.type))
        taken = []
        left = pa.repeat(True, self.count)  # rows that no branch has taken
        for branch in branches:
            rows = self._only(left)
            meets = rows.value(branch.this)
            if subject is None:
                (meets,) = _checked(branch, booleans, meets)
            else:
                meets = _checked(branch, scalars.equal, rows.value(subject), meets)
            meets = pc.fill_null(meets, False)
            mask = pc.replace_with_mask(pa.repeat(False, self.count), left, meets)
            taken.append((mask, self._only(mask).value(branch.args["true"])))
            left = pc.and_not(left, mask)
        other = pa.scalar(None) if default is None else self._only(left).value(default)
        taken.append((left, other))
        values = _checked(node, alike, *(value for _, value in taken))
        kind = values[0].type
        if pt.is_duration(kind):  # which Arrow does not replace
            values = [pc.cast(value, pa.int64()) for value in values]
        results = pa.nulls(self.count, values[0].type)
        for (mask, _), value in zip(taken, values, strict=True):
            results = pc.replace_with_mask(results, mask, value)
        return pc.cast(results, kind)

    def _only(self, mask: pa.Array) -> _Rows:
        """The rows where `mask` is true."""
        columns = {name: array.filter(mask) for name, array in self.columns.items()}
        return _Rows(columns, pc.sum(mask, min_count=0).as_py(), self.seen)


def _checked(node: Any, kernel: Callable[..., Any], *operands: Any) -> Any:
    """What a kernel gives; its errors with the text that they are about."""
    try:
        return kernel(*operands)
    except Misfit as error:
        raise InvalidValue(f"{canonical(node)} {error}") from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidValue(f"{canonical(node)}: {error}") from None


def _target(node: Any) -> pa.DataType:
    """The type of Arrow for a type of SQL."""
    if node.this.value != "DECIMAL":
        return TYPES[node.this.value]
    sizes = [int(size.name) for size in node.expressions]
    return pa.decimal128(*(sizes or (10, 0)))
