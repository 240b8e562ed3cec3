"""Scalar expressions as text of SQL: what may stand in one, its canonical form, what it reads.

An expression is what ``Sum("price * quantity")``, ``where="load > 3"`` and the columns of CQL are
written in. It is kept as text, so that a query stays a plain value; every engine parses it into the
same tree, and every function that one engine knows the others know as well. A name of letters,
digits and underscores is a column and needs no parser.
"""

from __future__ import annotations

from typing import Any

from windrow.errors import InvalidArgument, did_you_mean
from windrow.queries.syntax import NAME, identifier, library, place, tokens, tree, wrong
from windrow.windows.durations import nanoseconds

FIELDS = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
EXTRACTED = (*FIELDS, "EPOCH")
UNITS = (*FIELDS, "WEEK")  # that DATE_TRUNC cuts to
TYPES = (
    *("BIGINT", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "SMALLINT", "TEXT"),
    *("TIMESTAMP", "TINYINT", "VARCHAR"),
)

# The nodes of a tree, by their key in sqlglot, and the arguments of each that engines understand.
_ONE, _TWO, _MANY = ("this",), ("this", "expression"), ("this", "expressions")
_CALLS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("abs", "ceil", "exp", "floor", "length", "ln", "lower", "sqrt"), _ONE),
    **dict.fromkeys(("trim", "upper", *(field.lower() for field in FIELDS)), _ONE),
    **dict.fromkeys(("extract", "nullif", "pow"), _TWO),
    **dict.fromkeys(("greatest", "least"), (*_MANY, "ignore_nulls")),
    "coalesce": _MANY,
    "concat": ("expressions", "safe", "coalesce"),
    "case": ("this", "ifs", "default"),
    "if": ("this", "true", "false"),
    "cast": ("this", "to"),
    "datetrunc": ("unit", "this"),
    "replace": ("this", "expression", "replacement"),
    "round": ("this", "decimals"),
    "substring": ("this", "start", "length"),
}
_NODES: dict[str, tuple[str, ...]] = {
    **_CALLS,
    **dict.fromkeys(("column", "boolean", "null", "paren", "neg", "not", "var"), _ONE),
    **dict.fromkeys(("add", "sub", "mul", "mod", "eq", "neq", "lt", "lte", "gt", "gte"), _TWO),
    **dict.fromkeys(("and", "or", "is", "like", "ilike", "nullsafeeq", "nullsafeneq"), _TWO),
    "in": _MANY,
    "identifier": ("this", "quoted"),
    "literal": ("this", "is_string"),
    "div": (*_TWO, "typed", "safe"),
    "dpipe": (*_TWO, "safe"),
    "between": ("this", "low", "high"),
    "datatype": (*_MANY, "nested"),
    "datatypeparam": _ONE,
    "interval": ("this", "unit"),
}
_SQL_NAMES = {"pow": "POWER", "datetrunc": "DATE_TRUNC"}
FUNCTIONS = tuple(sorted(_SQL_NAMES.get(key, key.upper()) for key in _CALLS))
# What to write for a function that engines take different things for, or that they do not share.
_SECONDS = "EXTRACT(EPOCH FROM b - a) gives the seconds between times"
_INSTEAD = {
    "datediff": f"{_SECONDS}, CAST(b AS DATE) - CAST(a AS DATE) the days",
    "timestampdiff": _SECONDS,
    "dayofweek": "the numbers of days differ between engines: compute the column first",
    "trycast": "write CASE WHEN … THEN CAST(x AS type) END",
    "intdiv": "write FLOOR(a / b)",
}
_WORDS = frozenset({"true", "false", "null"})


def is_expression(text: str) -> bool:
    """Whether `text` is more than the name of a column.

    >>> is_expression("load"), is_expression("load * 2")
    (False, True)
    """
    return NAME.fullmatch(text) is None or text.lower() in _WORDS


def normal(text: Any, argument: str) -> str:
    """Return the canonical text of an expression; errors speak of it as `argument`.

    >>> normal("load>3 and not Upper(kind)='X'", "where")
    "load > 3 AND NOT UPPER(kind) = 'X'"
    """
    if isinstance(text, str) and not is_expression(text.strip()):
        return text.strip()
    return canonical(parse(text, argument))


def as_column(text: str) -> str:
    """Return a column or an expression as SQL writes it; what is no expression is a name.

    >>> as_column("load"), as_column("my load"), as_column("load*2")
    ('load', '"my load"', 'load * 2')
    """
    if is_expression(text):
        try:
            return normal(text, "column")
        except InvalidArgument:
            pass
    return identifier(text)


def columns_of(text: str) -> tuple[str, ...]:
    """Return the names of the columns that an expression reads, in the order they appear in.

    >>> columns_of("price * quantity + price")
    ('price', 'quantity')
    """
    if not is_expression(text):
        return (text,)
    columns = [node for node in parse(text).walk() if node.key == "column"]
    return tuple(dict.fromkeys(node.name for node in sorted(columns, key=lambda n: place(n)[0])))


def parse(text: Any, argument: str = "expression") -> Any:
    """Return the tree of an expression, a node of sqlglot, in which engines know every node.

    >>> parse("load > 3").key
    'gt'
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(f"{argument}={text!r} must be text of SQL, as in 'load > 3'")
    if not is_expression(text.strip()):  # a column, whatever SQL means by the word
        return library().column(text.strip())
    prefix = f"{argument}: "
    return check(tree(tokens(text, prefix), text, prefix), text, prefix)


def canonical(node: Any) -> str:
    """Return the text of a tree; equal trees have equal texts."""
    return str(node.sql(comments=False))


# -- what may stand in a tree ----------------------------------------------------------------


def check(node: Any, text: str, prefix: str = "") -> Any:
    """Return `node`; raise an error if engines do not know it, or a node below it."""
    for part in node.walk():
        problem, hint = _problem(part)
        if problem:
            raise wrong(text, part, f"{prefix}{problem}", hint)
    return node


def _problem(node: Any) -> tuple[str, str]:
    """Return what is wrong with a node itself, and a hint; two empty texts if nothing is."""
    key = node.key
    if key not in _NODES:
        return _unknown(node)
    used = [name for name, value in node.args.items() if value not in (None, False, [])]
    extra = next((name for name in used if name not in _NODES[key]), None)
    if extra is not None:
        if key == "column":
            return f"{node.sql()} names a table", f'a column with a dot is written "{node.sql()}"'
        if extra == "query":
            return _NO_QUERY
        return f"{extra.upper()} is not known to {key.upper()}", ""
    if key == "literal" and not node.is_string and not _fits(node.this):
        return f"{node.this} does not fit into 64 bits", "a float is written 1e20"
    if key == "in" and not node.expressions:
        return "IN needs a list", "write x IN (1, 2)"
    if key in ("like", "ilike") and not node.expression.is_string:
        return f"{key.upper()} takes a pattern in quotes", f"write kind {key.upper()} 'a%'"
    if key == "replace" and not (_text(node.expression) and _text(node.args["replacement"], 0)):
        return "REPLACE takes two strings in quotes", "write REPLACE(kind, 'a', 'b')"
    if key == "substring" and not _substring_fits(node):
        return "SUBSTRING takes whole numbers, from 1 on", "write SUBSTRING(kind, 1, 3)"
    if key == "datetrunc" and node.args["unit"].name.upper() not in UNITS:
        return f"DATE_TRUNC: {did_you_mean(node.args['unit'].name.upper(), UNITS)}", ""
    if key == "is" and node.expression.key not in ("null", "boolean"):
        return "IS goes with NULL, TRUE and FALSE", "write = to compare"
    if key == "round" and whole(node.args.get("decimals")) is None:
        return "ROUND takes a whole number of digits", "write ROUND(load, 2)"
    if key == "extract" and node.name.upper() not in EXTRACTED:
        return f"EXTRACT: {did_you_mean(node.name.upper(), EXTRACTED)}", ""
    if key == "interval":
        return _interval_problem(node)
    if key == "datatype":
        return _type_problem(node)
    return "", ""


def _text(node: Any, least: int = 1) -> bool:
    """Whether a node is a string in quotes of so many characters."""
    return bool(node.is_string) and len(node.this) >= least


def _substring_fits(node: Any) -> bool:
    start, length = whole(node.args.get("start")), whole(node.args.get("length"))
    return start is not None and start >= 1 and length is not None and length >= 0


_NO_QUERY = ("a query is not an expression", "run it first, and give its results as a column")


def _unknown(node: Any) -> tuple[str, str]:
    exp = library().exp
    if node.key in _INSTEAD:
        return f"{node.sql_name()} is not known", _INSTEAD[node.key]
    if isinstance(node, exp.Anonymous):
        return f"{node.name} is no known function", did_you_mean(node.name.upper(), FUNCTIONS)
    if isinstance(node, exp.AggFunc):
        hint = "it goes into the list of results, and its name into HAVING"
        return f"{node.sql_name()} is an aggregation, not a function of one row", hint
    if isinstance(node, exp.Func):
        return f"{node.sql_name()} is no known function", did_you_mean(node.sql_name(), FUNCTIONS)
    if isinstance(node, exp.Alias):
        return f"{node.alias!r} is not expected here", 'a name with spaces is written "my name"'
    if isinstance(node, exp.Query | exp.Subquery):
        return _NO_QUERY
    return f"{node.key.upper()} is not known in expressions", ""


def _fits(number: str) -> bool:
    return not number.isdecimal() or int(number) < 2**63


def whole(node: Any) -> int | None:
    """Return the whole number of a literal, with its sign; 0 for no node; None for any other."""
    if node is None:
        return 0
    if node.key == "neg":
        inner = whole(node.this)
        return None if inner is None else -inner
    return int(node.this) if node.key == "literal" and str(node.this).isdecimal() else None


def interval_text(node: Any) -> str:
    """Return the duration of an INTERVAL, as `nanoseconds` takes it."""
    unit = node.args.get("unit")
    return f"{node.this.name} {unit.name.lower()}" if unit is not None else str(node.this.name)


def _interval_problem(node: Any) -> tuple[str, str]:
    hint = "write INTERVAL '90' MINUTE or INTERVAL '1 hour 30 minutes'"
    if node.this is None or node.this.key != "literal":
        return "INTERVAL takes a number", hint
    try:
        nanoseconds(interval_text(node), "INTERVAL")
    except InvalidArgument as error:
        return str(error), hint
    return "", ""


def _type_problem(node: Any) -> tuple[str, str]:
    kind = node.this.value
    if kind not in TYPES:
        return f"CAST: {did_you_mean(kind, TYPES)}", ""
    if node.expressions and kind != "DECIMAL":
        return f"CAST: {kind} takes no length here", f"write {kind} alone"
    return "", ""
