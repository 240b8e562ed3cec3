"""The ends of frames: what users give, checked, and how it is written in CQL and in words.

A negative end lies before the current row and a positive one behind it; "unbounded" is the first
row or the last.
"""

from __future__ import annotations

from typing import Any

from windrow.errors import InvalidArgument, whole_number
from windrow.windows.sizes import NOW, UNBOUNDED, in_cql, is_number, measure, opposite, signed

Ends = tuple[Any, Any]


def up_to_now(size: str, value: Any) -> Any:
    """Return both ends of a window of one size, which ends with the current row.

    >>> up_to_now("rows", 3), up_to_now("range", "1 hour"), up_to_now("groups", 1)
    ((-2, 0), ('-1 hour', 0), (0, 0))
    """
    if isinstance(value, tuple):
        return value
    if value == UNBOUNDED:
        return UNBOUNDED, 0
    if size in ("rows", "groups"):
        return 1 - whole_number(size, value, least=1), 0
    if value == NOW:
        return 0, 0
    measure(size, value)
    return opposite(value), 0


def checked_ends(size: str, arguments: dict[str, Any]) -> Ends:
    """Return both ends as they are written; raise if something is wrong with them."""
    ends = arguments[size]
    for name in ("slide", "offset", "gaps"):
        if name in arguments:
            raise InvalidArgument(
                f"{name}={arguments[name]!r} does not go with {size}={ends!r}, which has a result "
                f"for each row; give {size}= one size"
            )
    if len(ends) != 2:
        raise InvalidArgument(
            f"{size}={ends!r} must have two ends, as in {size}=(-3, 3), or be one size"
        )
    numbers = [_end(size, end, first=i == 0) for i, end in enumerate(ends)]
    start, end = (0 if number is None else number for number in numbers)
    if None not in numbers and start > end:
        raise InvalidArgument(
            f"{size}={ends!r} ends before it begins: a negative end lies before the current row"
        )
    written = [UNBOUNDED if n is None else e for n, e in zip(numbers, ends, strict=True)]
    if size in ("rows", "groups"):
        written = [UNBOUNDED if n is None else n for n in numbers]
    sized = [end for end in written if end != UNBOUNDED and not is_now(end)]
    if len({is_number(end) for end in sized}) > 1 or (
        size == "delta" and not all(map(is_number, sized))
    ):
        kind = "numbers" if size == "delta" else "both numbers, or both durations"
        raise InvalidArgument(f"{size}={ends!r}: its ends must be {kind}")
    return written[0], written[1]


def _end(size: str, end: Any, first: bool) -> int | float | None:
    """Return one end as a number; None for the first or the last row."""
    if isinstance(end, str) and end.strip().lower() == UNBOUNDED:
        return None
    if size in ("rows", "groups"):
        try:
            return whole_number(f"{size}, {'start' if first else 'end'}", end, least=-(2**62))
        except InvalidArgument as error:
            raise InvalidArgument(f'{error}; or "unbounded"') from None
    return signed(size, end)


def is_now(end: Any) -> bool:
    """Return whether an end is that of the current row."""
    return is_number(end) and end == 0


def end_in_cql(end: Any, first: bool) -> str:
    """Return the first end of a frame or the last, in CQL."""
    if end == UNBOUNDED:
        return f"UNBOUNDED {'PRECEDING' if first else 'FOLLOWING'}"
    size = signed("", end)
    if size == 0:
        return "CURRENT ROW"
    if size > 0:
        return f"{in_cql(end)} FOLLOWING"
    return f"{in_cql(opposite(end))} PRECEDING"


def counted_in_words(start: Any, end: Any) -> str:
    """Return two counted ends in words.

    >>> counted_in_words(-3, UNBOUNDED), counted_in_words(0, 2)
    ('3 before the current one to the last', 'the current one to 2 behind it')
    """
    first = "the first" if start == UNBOUNDED else _counted(start, "the current one")
    it = "it" if start != UNBOUNDED and "current" in first else "the current one"
    last = "the last" if end == UNBOUNDED else _counted(end, it)
    return f"{first} to {last}"


def _counted(end: int, it: str) -> str:
    if end == 0:
        return "the current one"
    return f"{abs(end)} {'behind' if end > 0 else 'before'} {it}"


def measured_in_words(end: Any, first: bool) -> str:
    """Return an end along the order in words, t being the current row's."""
    if end == UNBOUNDED:
        return "the first row" if first else "the last row"
    size = signed("", end)
    if size == 0:
        return "t"
    text = str(abs(end)) if is_number(end) else in_cql(end).lower().lstrip("- ").strip("'")
    return f"t {'+' if size > 0 else '−'} {text}"
