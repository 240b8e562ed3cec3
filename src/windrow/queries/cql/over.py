"""OVER: the rows that a window looks at, in which order, and its frame.

An order that goes down is the same order up, with frames the other way round: 3 PRECEDING is
3 FOLLOWING. A column that goes another way than the others is turned by itself: -x goes up where x
goes down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, QuerySyntaxError, did_you_mean
from windrow.queries.cql.calls import Calls, called, is_call, narrowed
from windrow.queries.cql.frames import check_unbounded, excluded
from windrow.queries.cql.parser import Parsed
from windrow.queries.expressions import as_column, interval_text
from windrow.queries.select import OWN, Columns
from windrow.queries.syntax import identifier
from windrow.windows.base import Window
from windrow.windows.kinds import window_of
from windrow.windows.sizes import UNBOUNDED, is_number, opposite

# What goes up where values of a family go down; NaN is larger than any number.
_TURNED = {
    "number": ("NOT {} > CAST('Infinity' AS DOUBLE)", "-{}"),
    "boolean": ("NOT {}",),
    "time": ("CAST('1970-01-01' AS DATE) - {}",),
    "duration": ("-{}",),
}


@dataclass(frozen=True)
class Ordered:
    """The rows that a window looks at: of which partition, in which order.

    `order` are columns that all go up; `down` says that the order itself goes the other way.
    `along` is the column that sizes are measured along, if there is only one, and `as_usual` tells
    whether nulls come where they do if nothing is said.
    """

    partition: tuple[str, ...]
    order: tuple[str, ...]
    down: bool = False
    along: str | None = None
    as_usual: bool = True
    level: int = 0  # how many stages must come before, whose results it reads


@dataclass(frozen=True)
class Frame:
    """A frame as it is written: its kind, and both ends relative to the current row."""

    kind: str
    start: Any
    end: Any
    exclude: str | None = None


@dataclass(frozen=True)
class Use:
    """An aggregation over a window of rows in an order."""

    level: int  # how many stages must come before, as in `Ordered`
    partition: tuple[str, ...]
    order: tuple[str, ...]
    window: Window
    part: Aggregation


class Overs(Calls):
    """A statement over the columns of a frame, None if it is not known, and what its OVERs say."""

    understood = (
        *("expressions", "from_", "where", "windows", "qualify", "order", "limit", "offset"),
        *("distinct", "group", "having"),
    )

    def __init__(self, parts: Parsed, select: Any, columns: Columns | None) -> None:
        super().__init__(parts, select)
        self.check_clauses()
        self.columns = columns
        named = self.select.args.get("windows") or ()
        self._windows = {window.this.name.lower(): window for window in named}
        self.keys: dict[tuple[int, str], str] = {}  # of a level and an expression, its column
        self.uses: dict[Use, str] = {}  # of an aggregation over a window, its column

    # -- columns ----------------------------------------------------------------------------

    def own(self, node: Any) -> Any:
        """Return the node, its columns by the exact names that the frame has for them."""
        for column in super().own(node).find_all(exp.Column):
            name = column.name
            if self.columns is None or name.startswith(OWN):
                continue
            exact = self._exact(column)
            column.this.set("this", exact)
            column.this.set("quoted", identifier(exact) != exact)
        return node

    def _exact(self, column: Any) -> str:
        """Return the name of a column as the frame writes it."""
        assert self.columns is not None
        name, names = str(column.name), list(self.columns.names)
        if name in names:
            return name
        near = [other for other in names if other.lower() == name.lower()]
        if len(near) == 1:
            return near[0]
        if near:
            raise self.wrong(column, f"{name} could be {' or '.join(near)}", "write it exactly")
        quoted = column.this.args.get("quoted")
        string = f"; a string is written '{name}', in single quotes" if quoted else ""
        raise self.wrong(
            column, f"the frame has no column {name!r}", did_you_mean(name, names) + string
        )

    def family(self, text: str) -> str:
        """Return the family of an expression's types; without a frame any could be a number."""
        return "number" if self.columns is None else self.columns.family(text)

    def check_over(self, node: Any) -> None:
        """Refuse an aggregation without OVER."""
        for below in node.walk():
            if is_call(below):
                name = called(below)
                hint = f"write {name}(…) OVER (PARTITION BY … ORDER BY …)"
                raise self.wrong(below, f"{name} has no OVER", hint)

    def computed(self, text: str, level: int = 0) -> str:
        """Return the name of the column that holds the values of an expression."""
        return self.keys.setdefault((level, text), f"{OWN}key_{len(self.keys)}")

    # -- over which rows --------------------------------------------------------------------

    def rows_and_frame(self, node: Any) -> tuple[Ordered, Frame]:
        """Return what OVER says of the rows and of the frame, named windows included."""
        partition, order, spec = self._clauses(node, ())
        keys = tuple(sorted({self._key(column)[0] for column in partition}))
        rows = self._sorted(keys, order)
        if spec is None:
            return rows, Frame("range", UNBOUNDED, 0 if order else UNBOUNDED)
        return rows, self._frame(spec)

    def _clauses(self, node: Any, seen: tuple[str, ...]) -> tuple[list[Any], list[Any], Any]:
        """Return PARTITION BY, ORDER BY and the frame, those of a named window included."""
        order = node.args.get("order")
        own = (
            list(node.args.get("partition_by") or ()),
            [] if order is None else order.expressions,
            node.args.get("spec"),
        )
        alias = node.args.get("alias")
        if alias is None:
            return own
        name = alias.name.lower()
        if name not in self._windows or name in seen:
            known = [window for window in self._windows if window not in seen]
            hint = f"write WINDOW {alias.name} AS (PARTITION BY … ORDER BY …)"
            raise self.wrong(
                alias,
                f"there is no window {alias.name!r}",
                did_you_mean(name, known) if known else hint,
            )
        base = self._clauses(self._windows[name], (*seen, name))
        for word, mine, theirs in zip(("PARTITION BY", "ORDER BY"), own[:2], base[:2], strict=True):
            if mine and theirs:
                raise self.wrong(alias, f"{word} stands here and in the window {alias.name!r}")
        return own[0] or base[0], own[1] or base[1], own[2] or base[2]

    def _key(self, node: Any) -> tuple[str, str]:
        """Return the column of PARTITION BY or ORDER BY, and the expression that it is."""
        self.check_over(node)
        node = node.copy()
        if isinstance(node, exp.Column):
            name = str(self.own(node).name)
            return name, as_column(name)
        text = self.expression(node)
        return self.computed(text), f"({text})"

    def _sorted(self, partition: tuple[str, ...], order: Sequence[Any]) -> Ordered:
        if not order:
            return Ordered(partition, ())
        down = bool(order[0].args.get("desc"))
        try:
            return self._turned(partition, order, down)
        except QuerySyntaxError:  # a column that cannot be turned goes the other way
            if len({bool(node.args.get("desc")) for node in order}) == 1:
                raise
            return self._turned(partition, order, not down)

    def _turned(self, partition: tuple[str, ...], order: Sequence[Any], down: bool) -> Ordered:
        """Return the rows in an order that goes up as a whole, or down as a whole if `down`."""
        keys: list[str] = []
        for node in order:
            # as it is in an order that goes up as a whole
            descends = bool(node.args.get("desc")) != down
            nulls_first = bool(node.args.get("nulls_first")) != down
            keys += self._up(node.this, descends, nulls_first)
        usual = bool(order[0].args.get("nulls_first")) != down
        along = self._key(order[0].this)[0] if len(order) == 1 else None
        return Ordered(partition, tuple(dict.fromkeys(keys)), down, along, usual)

    def _up(self, node: Any, descends: bool, nulls_first: bool) -> list[str]:
        """Return the columns that go up, nulls first, where this one goes as it is written."""
        name, text = self._key(node)
        keys = [] if nulls_first else [self.computed(f"{text} IS NULL")]
        if not descends:
            return [*keys, name]
        turned = _TURNED.get(self.family(text))
        if turned is None:
            hint = "order by columns that all go up, or all down, or by numbers or times"
            raise self.wrong(node, f"{node.sql()} goes another way than other columns", hint)
        return [*keys, *(self.computed(form.format(text)) for form in turned)]

    def _upward(self, rows: Ordered) -> Ordered:
        """Return the rows by columns that go up where theirs go down.

        For aggregations that depend on the order, and cannot be turned with it.
        """
        texts = {name: f"({text})" for (_, text), name in self.keys.items()}
        keys: list[str] = []
        for name in rows.order:
            text = texts.get(name) or as_column(name)
            turned = _TURNED.get(self.family(text))
            if turned is None:
                raise InvalidArgument(
                    f"this depends on the order of rows, and {name} goes down: order by columns "
                    f"that go up, or by numbers or times"
                )
            keys += [f"{text} IS NULL", *(form.format(text) for form in turned)]
        return replace(rows, order=tuple(map(self.computed, keys)), down=False, along=None)

    def _frame(self, spec: Any) -> Frame:
        """Return the frame of ROWS, RANGE or GROUPS."""
        clauses = spec.args
        sides = [str(clauses.get(name)).upper() for name in ("start_side", "end_side")]
        start = self._end(clauses.get("start"), sides[0])
        end = 0 if clauses.get("end") is None else self._end(clauses["end"], sides[1])
        check_unbounded((start, end), sides)
        exclude = clauses.get("exclude")
        left_out = None if exclude is None else excluded(exclude.name)
        return Frame(str(clauses["kind"]).lower(), start, end, left_out)

    def _end(self, value: Any, side: Any) -> Any:
        """Return an end of a frame relative to the current row: negative before it."""
        if value == "CURRENT ROW":
            return 0
        if value == "UNBOUNDED":
            return UNBOUNDED
        if isinstance(value, exp.Interval):
            if not isinstance(value.this, exp.Literal):
                raise InvalidArgument("INTERVAL takes a number: write INTERVAL '90' MINUTE")
            size: Any = interval_text(value)
        else:
            size = self.constant(value)
        if is_number(size) and size < 0:
            other = "FOLLOWING" if side == "PRECEDING" else "PRECEDING"
            raise self.wrong(value, "a size is not negative", f"write {-size} {other}")
        return opposite(size) if side == "PRECEDING" else size

    def _window(self, rows: Ordered, frame: Frame) -> tuple[tuple[str, ...], Window]:
        """Return the order that a window has, and the window itself."""
        kind, ends, order = frame.kind, (frame.start, frame.end), rows.order
        sized = kind == "range" and any(end not in (UNBOUNDED, 0) for end in ends)
        if not order and kind != "rows":
            if sized or kind == "groups" or frame.exclude not in (None, "current row"):
                raise InvalidArgument(f"a {kind.upper()} frame of a size needs ORDER BY")
            kind, ends = "rows", (UNBOUNDED, UNBOUNDED)  # all rows are equal in no order
        if kind == "rows" and frame.exclude in ("group", "ties"):
            raise InvalidArgument(
                f"EXCLUDE {frame.exclude.upper()} goes with RANGE and GROUPS: which rows are of "
                f"equal order is not known where they are counted"
            )
        if sized:
            if rows.along is None:
                raise InvalidArgument(
                    "a RANGE of a size goes along one column of ORDER BY, and up if the result "
                    "depends on the order of rows"
                )
            if UNBOUNDED in ends and not rows.as_usual:
                raise InvalidArgument(
                    "nulls come first in an order that goes up, and last in one that goes down, "
                    "where a RANGE has a size and UNBOUNDED: leave NULLS out"
                )
            order = (rows.along,)
        if kind == "range" and ends == (UNBOUNDED, UNBOUNDED) and frame.exclude is None:
            kind = "rows"
        if rows.down:
            ends = (opposite(ends[1]), opposite(ends[0]))
        size: dict[str, Any] = {kind: ends}
        return order, window_of("SQL", **size, exclude=frame.exclude)

    def use(
        self, rows: Ordered, frame: Frame, part: Aggregation, condition: str | None = None
    ) -> str:
        """Return the name of the column that holds the results of an aggregation over a frame."""
        if rows.down:
            turned = part.turned()
            rows, part = (self._upward(rows), part) if turned is None else (rows, turned)
        order, window = self._window(rows, frame)
        if condition is not None:
            part = narrowed(part, condition)
        used = Use(rows.level, rows.partition, order, window, part)
        return self.uses.setdefault(used, f"{OWN}{len(self.uses)}")
