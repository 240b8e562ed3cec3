"""The kinds of windows: which rows each holds, and when it answers.

    Rows(size, slide)            the last `size` rows; an answer a row, or after every `slide` rows
    Span(size, slide, …)         the rows whose order lies within `size` before the current one's;
                                 with a slide, hopping windows [start, start + size)
    Until(policy)                what a policy over aggregates leaves of the oldest rows
    On(predicate)                the rows since the last one that satisfied the predicate

Each is a value: it checks its arguments when it is made, and knows nothing of the data. Sizes of
spans are kept as they were written, since "1 hour" prints better than 3600000000000, and measured
when the type of the order column is known.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from windrow.errors import InvalidArgument, did_you_mean, whole_number
from windrow.windows.durations import nanoseconds

CLOSED = ("both", "right", "left", "neither")
UNBOUNDED = "unbounded"
NOW = "now"


def is_number(value: Any) -> bool:
    """Whether `value` is a number, which an order column of numbers takes; bool is none.

    >>> is_number(1.5), is_number("1 hour"), is_number(True)
    (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def measure(name: str, value: Any) -> tuple[bool, int | float]:
    """Whether a size is one of time, and the size: in nanoseconds, or as the number that it is.

    >>> measure("range", "90s"), measure("delta", 2.5)
    ((True, 90000000000), (False, 2.5))
    """
    if not is_number(value):
        return True, nanoseconds(value, name)
    if not (value > 0 and math.isfinite(value)):
        raise InvalidArgument(f"{name}={value!r} must be larger than 0")
    return False, value


@dataclass(frozen=True)
class Window:
    """Base of the kinds."""

    @property
    def per_row(self) -> bool:
        """Whether every row has an answer."""
        return True

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of `sliding` that differ from the defaults."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != f.default}


@dataclass(frozen=True)
class Rows(Window):
    """The last `rows` rows of the partition, the current one included; None: all so far."""

    rows: int | None
    slide: int | None = None

    def __post_init__(self) -> None:
        if self.rows is not None:
            whole_number("rows", self.rows, least=1)
        if self.slide is None:
            return
        whole_number("slide", self.slide, least=1)
        if self.rows is not None and self.slide > self.rows:
            raise InvalidArgument(
                f"slide={self.slide} is larger than rows={self.rows}, so rows between the windows "
                f"would be lost; take a slide of at most {self.rows}"
            )

    @property
    def per_row(self) -> bool:
        """Whether no slide was given."""
        return self.slide is None

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of `sliding`: None rows are unbounded."""
        return {**super().arguments(), "rows": UNBOUNDED if self.rows is None else self.rows}

    def __str__(self) -> str:
        if self.rows is None:
            return "all rows so far, " + ("an answer a row" if self.per_row else self._every())
        last = f"the last {self.rows} row{'s' if self.rows > 1 else ''}"
        return f"{last}, " + ("an answer a row" if self.per_row else self._every())

    def _every(self) -> str:
        return f"an answer after every {self.slide} rows"


@dataclass(frozen=True)
class Span(Window):
    """The rows whose order lies within a size of the current row's, up to and with it.

    `range` is a duration or a number, "unbounded" (all rows so far, those of equal order with
    them) or "now" (the rows of equal order); `delta` is a number. One of them is given.
    """

    range: Any = None
    delta: Any = None
    slide: Any = None
    closed: str = "both"
    offset: Any = None

    def __post_init__(self) -> None:
        if self.closed not in CLOSED:
            raise InvalidArgument(
                f"closed={self.closed!r} is unknown; {did_you_mean(str(self.closed), CLOSED)}"
            )
        if self.delta is not None and not is_number(self.delta):
            raise InvalidArgument(
                f"delta={self.delta!r} must be a number; for a duration give range="
            )
        if self.bounded:
            is_time, size = self.measured()
        elif self.closed != "both" or self.slide is not None:
            raise InvalidArgument(f"range={self.range!r} goes with neither closed= nor slide=")
        if self.slide is None:
            if self.offset is not None:
                raise InvalidArgument(f"offset={self.offset!r} goes with slide= only")
            return
        if self.closed != "both":
            raise InvalidArgument(
                f"closed={self.closed!r} goes with one answer a row; hopping windows are "
                f"[start, start + {self.name}), so leave closed= or slide= out"
            )
        for name in ("slide", "offset"):
            value = getattr(self, name)
            if value is not None and is_number(value) == is_time:
                raise InvalidArgument(
                    f"{name}={value!r} must be {'a duration' if is_time else 'a number'}, as "
                    f"{self.name}={self.size!r} is"
                )
        if self.step() > size:
            raise InvalidArgument(
                f"slide={self.slide!r} is larger than {self.name}={self.size!r}, so rows between "
                f"the windows would be lost; take a slide of at most {self.size!r}"
            )
        self.shift()

    @property
    def name(self) -> str:
        """The argument that gives the size."""
        return "range" if self.delta is None else "delta"

    @property
    def size(self) -> Any:
        """The size as it was written."""
        return self.range if self.delta is None else self.delta

    @property
    def bounded(self) -> bool:
        """Whether the size is one, not "unbounded" or "now"."""
        return self.size not in (UNBOUNDED, NOW)

    @property
    def per_row(self) -> bool:
        """Whether no slide was given."""
        return self.slide is None

    def measured(self) -> tuple[bool, int | float]:
        """Whether the size is one of time, and the size."""
        return measure(self.name, self.size)

    def step(self) -> int | float:
        """`slide` in the unit of the size."""
        return measure("slide", self.slide)[1]

    def shift(self) -> int | float:
        """`offset` in the unit of the size; it may be negative."""
        if self.offset is None:
            return 0
        if is_number(self.offset):
            return self.offset  # type: ignore[no-any-return]
        if isinstance(self.offset, str) and self.offset.lstrip().startswith("-"):
            return -nanoseconds(self.offset.lstrip()[1:], "offset")
        if isinstance(self.offset, datetime.timedelta) and self.offset < datetime.timedelta(0):
            return -nanoseconds(-self.offset, "offset")
        return nanoseconds(self.offset, "offset")

    def __str__(self) -> str:
        if self.range == UNBOUNDED:
            return "all rows so far and those of equal order, an answer a row"
        if self.range == NOW:
            return "the rows of equal order, an answer a row"
        if not self.per_row:
            shifted = "" if self.offset is None else f", shifted by {self.offset}"
            return (
                f"[start, start + {self.size}) for every start that is a multiple of "
                f"{self.slide}{shifted}"
            )
        left = "[" if self.closed in ("both", "left") else "("
        right = "]" if self.closed in ("both", "right") else ")"
        return f"{left}t − {self.size}, t{right}, an answer a row"


@dataclass(frozen=True)
class Until(Window):
    """What is left when the oldest rows go for as long as ``policy(total, old)`` is true."""

    until: Callable[[Any, Any], bool]

    def __post_init__(self) -> None:
        if not callable(self.until):
            raise InvalidArgument(
                f"until={self.until!r} must be a function of (total, old) that is true while the "
                f"oldest part must go"
            )

    def __str__(self) -> str:
        return f"the newest rows, without the oldest for which {named(self.until)}, an answer a row"


@dataclass(frozen=True)
class On(Window):
    """The rows since the last punctuation; each row that satisfies `on` closes one."""

    on: Callable[[Any], bool] | str

    def __post_init__(self) -> None:
        if not (callable(self.on) or (isinstance(self.on, str) and self.on.strip())):
            raise InvalidArgument(
                f"on={self.on!r} must be a condition such as \"kind = 'end'\", the name of a "
                f"column of booleans, or a function of a row"
            )

    @property
    def per_row(self) -> bool:
        """Only the rows that close a window have an answer."""
        return False

    def __str__(self) -> str:
        return f"the rows up to each that satisfies {named(self.on)}"


def named(function: Any) -> str:
    """A function by its name, anything else as it prints."""
    return getattr(function, "__qualname__", None) or str(function)
