"""Expressions written in Spark's SQL, with the meaning and the types that they have in memory.

An expression is evaluated over the frame's columns without a row first, so the type of every part
is known. Operands are then cast to what the operator computes with, and its result to the type that
it has in memory: Spark's own rules never get a say. Casts to the type that a value has already cost
nothing.

An integer that does not fit, or a value that cannot be cast, is an error: Spark raises it in ANSI
mode, and is told to without:

    COALESCE(TRY_ADD(a, b), IF(a IS NULL OR b IS NULL, NULL, RAISE_ERROR('a + b: overflow')))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_type

from windrow.queries.expressions import canonical, interval_text
from windrow.queries.syntax import library
from windrow.spark.columns import quoted
from windrow.spark.schema import arrow_schema
from windrow.tables.arithmetic import OPERATORS, Typed, typed
from windrow.tables.coercion import alike, booleans, comparable, moments, numbers, texts
from windrow.tables.types import MOST_DIGITS
from windrow.windows.durations import nanoseconds

_LARGEST = "9.223372036854775E18D"  # no double beyond it is a BIGINT
_NEGATED = 34  # digits of a decimal that Spark keeps when it turns the sign
_SCALE = 6  # digits behind the point that Spark keeps when a result could have more than 38
_SYMBOLS = dict(
    zip(
        (
            *("add", "sub", "mul", "eq", "neq", "lt", "lte", "gt", "gte", "and", "or", "dpipe"),
            "nullsafeeq",
        ),
        ("+", "-", "*", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "<=>"),
        strict=True,
    )
)
_IN_A_DAY = ("HOUR", "MINUTE", "SECOND")
_TRIED = {"add": "TRY_ADD", "sub": "TRY_SUBTRACT", "mul": "TRY_MULTIPLY"}


def spark_sql(text: str, schema: pa.Schema, *, ansi: bool = True) -> str:
    """Return the expression in Spark's SQL over a frame of this schema, for ANSI mode or without.

    >>> spark_sql("a / b > 0.5", pa.schema({"a": pa.float64(), "b": pa.float64()}))
    '((`a` / NULLIF(`b`, 0D)) > 0.5D)'
    """
    expression = typed(text, schema)
    return _Writer(expression, ansi).write(expression.tree)


def spark_column(text: str, frame: Any, schema: pa.Schema | None = None) -> Any:
    """Return the expression as a column of a DataFrame; `schema` is the frame's, if it is known."""
    ansi = frame.sparkSession.conf.get("spark.sql.ansi.enabled") == "true"
    return sf.expr(spark_sql(text, schema or arrow_schema(frame), ansi=ansi))


def _spark_type(kind: pa.DataType) -> str:
    """Return the name of a type in Spark's SQL; times without a zone stay so."""
    return str(from_arrow_type(kind, True).simpleString()).upper()


def _digits(kind: pa.DataType) -> int:
    """Return how many digits a whole number or a decimal has before the point, at most."""
    return kind.precision - kind.scale if pt.is_decimal(kind) else 19


def _is_long(kind: pa.DataType) -> bool:
    """Whether a decimal has more digits than Spark negates without loss."""
    return bool(pt.is_decimal(kind)) and kind.precision > _NEGATED


@dataclass(frozen=True)
class _Writer:
    """Writes the nodes of a tree, each as a value of the type that it has in memory."""

    typed: Typed
    ansi: bool

    def write(self, node: Any) -> str:
        """Return a node as an expression that can stand anywhere."""
        own = getattr(self, f"_{node.key}", None)
        if own is not None:
            return str(own(node))
        return self._call(node, list(node.iter_expressions()))

    def type(self, node: Any) -> pa.DataType:
        """Return the type of a node."""
        return self.typed.value(node).type

    def _as(self, coerce: Callable[..., list[Any]], nodes: Sequence[Any]) -> list[str]:
        """Return nodes as operands, cast to the types that an operator coerces them to."""
        values = coerce(*(self.typed.value(node) for node in nodes))
        return [self._brought(node, value) for node, value in zip(nodes, values, strict=True)]

    def _brought(self, node: Any, value: Any) -> str:
        """Return a node as a value of the type that `value` has."""
        kind, to = self.type(node), value.type
        if _spark_type(kind) == _spark_type(to) or pt.is_null(to):
            return self.write(node)
        if pt.is_decimal(to) and not pt.is_null(kind) and _digits(kind) > _digits(to):
            return self._converted(node, self.write(node), node, to)
        return f"CAST({self.write(node)} AS {_spark_type(to)})"

    def _call(self, node: Any, nodes: Sequence[Any], name: str = "") -> str:
        """Return an operator or a function over its operands, of the type that its result has."""
        coerce = OPERATORS[name.lower() or node.key].operands
        operands = self._as(coerce, nodes)
        if node.key in _SYMBOLS:
            left, right = operands
            sql = f"({left} {_SYMBOLS[node.key]} {right})"
            if node.key not in _TRIED:
                return sql
            return self._fitting(node, sql, nodes, operands)
        name = name or type(node).sql_name()
        return f"CAST({name}({', '.join(operands)}) AS {_spark_type(self.type(node))})"

    # -- leaves -----------------------------------------------------------------------------

    def _column(self, node: Any) -> str:
        return quoted(self.typed.columns[node.name])

    def _literal(self, node: Any) -> str:
        if node.is_string:
            return str(node.sql(dialect="spark"))
        return f"{node.this}L" if node.this.isdecimal() else f"{node.this}D"

    def _boolean(self, node: Any) -> str:
        return "TRUE" if node.this else "FALSE"

    def _null(self, node: Any) -> str:
        return "NULL"

    def _interval(self, node: Any) -> str:
        """Return an interval in the one unit that is never too coarse."""
        size = nanoseconds(interval_text(node), "INTERVAL") // 1000
        return f"INTERVAL '{size}' MICROSECOND"

    def _paren(self, node: Any) -> str:
        return self.write(node.this)

    # -- what may not fit -------------------------------------------------------------------

    def _fitting(self, node: Any, sql: str, nodes: Sequence[Any], operands: list[str]) -> str:
        """Return a sum, difference or product, which is an error where it does not fit its type."""
        kind = self.type(node)
        if not pt.is_integer(kind) and not (pt.is_decimal(kind) and kind.precision == MOST_DIGITS):
            return sql
        return self._checked(
            node, sql, nodes, operands, lambda *names: f"{_TRIED[node.key]}({', '.join(names)})"
        )

    def _checked(
        self,
        node: Any,
        sql: str,
        nodes: Sequence[Any],
        operands: Sequence[str],
        attempt: Callable[..., str],
    ) -> str:
        """Return `sql` in ANSI mode; else an attempt, which is null on failure, or an error then.

        Operands that are more than a name are bound to one, so that nothing is written twice.
        """
        if self.ansi:
            return sql
        leaves = all(part.unnest().key in ("column", "literal", "null") for part in nodes)
        names = list(operands) if leaves else [f"x.f{i}" for i in range(len(operands))]
        null = " OR ".join(f"{name} IS NULL" for name in names)
        message = library().exp.Literal.string(f"{canonical(node)}: does not fit its type")
        failed = f"IF({null}, NULL, RAISE_ERROR({message.sql(dialect='spark')}))"
        checked = f"COALESCE({attempt(*names)}, {failed})"
        if leaves:
            return checked
        fields = ", ".join(f"'f{i}', {operand}" for i, operand in enumerate(operands))
        return f"GET(TRANSFORM(ARRAY(NAMED_STRUCT({fields})), x -> {checked}), 0)"

    def _neg(self, node: Any) -> str:
        (operand,) = self._as(OPERATORS["neg"].operands, [node.this])
        sql = self._negative(node, operand)
        if not pt.is_integer(self.type(node)):
            return sql
        return self._checked(node, sql, [node.this], [operand], "TRY_SUBTRACT(0L, {})".format)

    def _negative(self, node: Any, operand: str) -> str:
        """Return a value with the other sign and all of its digits."""
        kind = self.type(node)
        if pt.is_integer(kind):
            return f"(0L - {operand})"
        if not _is_long(kind):
            return f"(- {operand})"
        if kind.precision == MOST_DIGITS and kind.scale > _SCALE:  # a difference has a digit less
            other = f"REGEXP_REPLACE(CONCAT('-', CAST({operand} AS STRING)), '^--', '')"
        else:
            other = f"0BD - {operand}"
        return f"CAST({other} AS {_spark_type(kind)})"

    def _abs(self, node: Any) -> str:
        (operand,) = self._as(OPERATORS["abs"].operands, [node.this])
        kind = self.type(node)
        if not pt.is_integer(kind) and not _is_long(kind):
            return f"ABS({operand})"
        sql = f"GREATEST({operand}, {self._negative(node, operand)})"
        if not pt.is_integer(kind):
            return sql
        return self._checked(
            node, sql, [node.this], [operand], "IF({0} < 0L, TRY_SUBTRACT(0L, {0}), {0})".format
        )

    def _cast(self, node: Any) -> str:
        return self._converted(node, self.write(node.this), node.this, self.type(node))

    def _converted(self, node: Any, sql: str, operand: Any, to: pa.DataType) -> str:
        """Return a value as another type, which is an error where it cannot be."""
        name = _spark_type(to)
        cast = f"CAST({sql} AS {name})"
        if pt.is_null(self.type(operand)):
            return cast
        return self._checked(node, cast, [operand], [sql], lambda x: f"TRY_CAST({x} AS {name})")

    # -- what Spark says otherwise ----------------------------------------------------------

    def _div(self, node: Any) -> str:
        left, right = self._as(OPERATORS["div"].operands, [node.this, node.expression])
        return f"({left} / NULLIF({right}, 0D))"

    def _mod(self, node: Any) -> str:
        """Return the rest of a division; that by 0 is null."""
        left, right = self._as(OPERATORS["mod"].operands, [node.this, node.expression])
        zero = "0L" if pt.is_integer(self.type(node)) else "0D"
        return f"({left} % NULLIF({right}, {zero}))"

    def _not(self, node: Any) -> str:
        (operand,) = self._as(OPERATORS["not"].operands, [node.this])
        return f"(NOT {operand})"

    def _floor(self, node: Any) -> str:
        (value,) = numbers(self.typed.value(node.this))
        operand = self._brought(node.this, value)
        if pt.is_integer(value.type):
            return operand
        name = type(node).sql_name()
        if pt.is_decimal(value.type):
            return self._converted(node, f"{name}({operand})", node, pa.int64())
        fits = f"{operand} BETWEEN -{_LARGEST} AND {_LARGEST}"  # NaN and infinity do not
        return f"{name}(IF({fits}, {operand}, NULL))"

    _ceil = _floor

    def _round(self, node: Any) -> str:
        (operand,) = self._as(numbers, [node.this])
        digits = node.args.get("decimals")
        if pt.is_floating(self.type(node)):
            return f"ROUND({operand}, {0 if digits is None else canonical(digits)})"
        if pt.is_integer(self.type(node)):  # by decimals, which do not wrap around
            operand = f"CAST({operand} AS DECIMAL(19,0))"
        sql = f"ROUND({operand}, {0 if digits is None else canonical(digits)})"
        return self._converted(node, sql, node, self.type(node))

    def _extract(self, node: Any) -> str:
        if node.name.upper() == "EPOCH":
            return self._seconds(node.expression)
        return self._call(node, [node.expression], node.name.upper())

    def _seconds(self, node: Any) -> str:
        """Return the length of a duration in seconds, or those of a time since 1970."""
        kind, value = self.type(node), self.write(node)
        if pt.is_null(kind):
            return "CAST(NULL AS DOUBLE)"
        if pt.is_date(kind) or (pt.is_timestamp(kind) and kind.tz is None):
            value = f"(CAST({value} AS TIMESTAMP_NTZ) - TIMESTAMP_NTZ '1970-01-01')"
        if not pt.is_timestamp(kind) or kind.tz is None:
            value = f"(TIMESTAMP_MICROS(0L) + {value})"
        return f"(UNIX_MICROS({value}) / 1000000D)"

    def _datetrunc(self, node: Any) -> str:
        """Return a time cut to a unit, one without a zone by its own fields."""
        (value,) = self._as(moments, [node.this])
        kind, unit = self.type(node), node.args["unit"].name.upper()
        if kind.tz is not None:
            return f"DATE_TRUNC('{unit}', {value})"
        day = f"CAST({value} AS DATE)"
        if unit not in _IN_A_DAY:
            begins = day if unit == "DAY" else f"TRUNC({day}, '{unit}')"
            return f"CAST({begins} AS {_spark_type(kind)})"
        fields = [f"{each}({value})" for each in _IN_A_DAY[: _IN_A_DAY.index(unit) + 1]]
        within = ", ".join(["0", *fields])
        return f"(CAST({day} AS {_spark_type(kind)}) + MAKE_DT_INTERVAL({within}))"

    def _substring(self, node: Any) -> str:
        return self._with_constants(node, "SUBSTRING", ("start", "length"))

    def _replace(self, node: Any) -> str:
        return self._with_constants(node, "REPLACE", ("expression", "replacement"))

    def _with_constants(self, node: Any, name: str, constants: Sequence[str]) -> str:
        """Return a function of a string and of constants, which stand as they are written."""
        (text,) = self._as(texts, [node.this])
        given = [node.args[each] for each in constants if node.args.get(each) is not None]
        return f"{name}({', '.join([text, *(each.sql(dialect='spark') for each in given)])})"

    def _greatest(self, node: Any) -> str:
        nodes = list(node.iter_expressions())
        return self.write(nodes[0]) if len(nodes) == 1 else self._call(node, nodes)

    _least = _greatest

    def _nullif(self, node: Any) -> str:
        _, other = comparable(self.typed.value(node.this), self.typed.value(node.expression))
        return f"NULLIF({self.write(node.this)}, {self._brought(node.expression, other)})"

    # -- conditions -------------------------------------------------------------------------

    def _is(self, node: Any) -> str:
        if node.expression.key == "null":
            return f"({self.write(node.this)} IS NULL)"
        (value,) = self._as(booleans, [node.this])
        return f"({value} IS {self.write(node.expression)})"

    def _in(self, node: Any) -> str:
        value, *choices = self._as(comparable, [node.this, *node.expressions])
        return f"({value} IN ({', '.join(choices)}))"

    def _between(self, node: Any) -> str:
        nodes = [node.this, node.args["low"], node.args["high"]]
        value, low, high = self._as(comparable, nodes)
        return f"({value} BETWEEN {low} AND {high})"

    def _like(self, node: Any) -> str:
        (text,) = self._as(texts, [node.this])
        return f"({text} {node.key.upper()} {node.expression.sql(dialect='spark')})"

    _ilike = _like

    def _nullsafeneq(self, node: Any) -> str:
        left, right = self._as(comparable, [node.this, node.expression])
        return f"(NOT ({left} <=> {right}))"

    # -- branches ---------------------------------------------------------------------------

    def _if(self, node: Any) -> str:
        return self._branches([node], node.args.get("false"))

    def _case(self, node: Any) -> str:
        return self._branches(node.args["ifs"], node.args.get("default"), node.this)

    def _branches(self, branches: Sequence[Any], default: Any, subject: Any = None) -> str:
        """Return a CASE with results of one type; a subject is compared with each condition."""
        results = [branch.args["true"] for branch in branches]
        results += [] if default is None else [default]
        written = self._as(alike, results)
        other = written.pop() if default is not None else "NULL"
        parts = ["CASE" if subject is None else f"CASE {self.write(subject)}"]
        for branch, result in zip(branches, written, strict=True):
            parts.append(f"WHEN {self._condition(branch.this, subject)} THEN {result}")
        return " ".join([*parts, f"ELSE {other} END"])

    def _condition(self, node: Any, subject: Any) -> str:
        if subject is None:
            return self._as(booleans, [node])[0]
        _, value = comparable(self.typed.value(subject), self.typed.value(node))
        return self._brought(node, value)
