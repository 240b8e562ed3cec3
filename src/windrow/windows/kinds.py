"""The kinds of windows, one a file, and the one that arguments ask for.

rows       the last rows
frames     the rows between two ends, which may lie behind the current one
groups     the same of groups of equal order
span       the rows within a range of the current one
hopping    [start, start + range), a start every slide
until      what a policy over aggregates leaves of the oldest rows
on         the rows up to each that satisfies a condition
session    the rows that follow each other within a gap
"""

from __future__ import annotations

from typing import Any

from windrow.errors import InvalidArgument
from windrow.windows.base import Window
from windrow.windows.ends import checked_ends, up_to_now
from windrow.windows.frames import Frame, RangeFrame, RowFrame
from windrow.windows.groups import GroupFrame
from windrow.windows.hopping import Hopping
from windrow.windows.on import On
from windrow.windows.rows import Rows
from windrow.windows.session import Session
from windrow.windows.sizes import UNBOUNDED
from windrow.windows.span import Span
from windrow.windows.until import Until

# The kinds by the argument that gives their size, in the order in which errors name them.
KINDS: dict[str, type[Window]] = {
    "rows": Rows, "range": Span, "delta": Span, "groups": GroupFrame, "until": Until, "on": On,
    "gap": Session,
}  # fmt: skip
# Those of sizes that have two ends.
FRAMES: dict[str, type[Frame]] = {
    "rows": RowFrame, "range": RangeFrame, "delta": RangeFrame, "groups": GroupFrame,
}  # fmt: skip


def window_of(asker: str, closed: str = "both", **arguments: Any) -> Window:
    """Return the window that arguments of `sliding` ask for; errors begin with `asker`.

    >>> window_of("sliding", rows=3, range=None)
    Rows(rows=3, slide=None, gaps=False)
    >>> window_of("sliding", range=4, slide=2)
    Hopping(range=4, delta=None, timezone=None, slide=2, offset=None, gaps=False)
    """
    names = [f"{name}=" for name in KINDS if name in arguments]
    arguments = {name: value for name, value in arguments.items() if value is not None}
    for name, value in arguments.items():
        if getattr(value, "ndim", 0):
            raise InvalidArgument(f"{name}={value!r} is an array: give one size, or a list of them")
    sizes = [name for name in KINDS if name in arguments]
    if len(sizes) != 1:
        raise InvalidArgument(
            f"{asker}: give one of {', '.join(names[:-1])} and {names[-1]}; got "
            + (" and ".join(f"{name}={arguments[name]!r}" for name in sizes) or "none")
        )
    size = sizes[0]
    kind = KINDS[size]
    if closed != "both":
        arguments["closed"] = closed
    if size in FRAMES and (size == "groups" or "exclude" in arguments):
        arguments[size] = up_to_now(size, arguments[size])
    two_ends = size in FRAMES and isinstance(arguments[size], tuple)
    if two_ends:
        kind = FRAMES[size]
        arguments[size] = checked_ends(size, arguments)
    for name, value in arguments.items():
        if name not in kind.takes:
            goes = " or ".join(f"{other}=" for other in KINDS if name in KINDS[other].takes)
            raise InvalidArgument(f"{name}={value!r} means nothing with {size}=, only with {goes}")
    if two_ends:
        return framed(size, arguments)
    if kind is Span and "slide" in arguments:
        if "closed" in arguments:
            raise InvalidArgument(
                f"closed={closed!r} goes with a result for each row; hopping windows are "
                f"[start, start + {size}), so leave closed= or slide= out"
            )
        return Hopping(**arguments)
    sliding = ("offset",) if "slide" in arguments else ("offset", "gaps")
    lost = {name: arguments.pop(name) for name in sliding if name in arguments}
    if arguments.get("rows") == UNBOUNDED:
        arguments["rows"] = None
    window = kind(**arguments)
    for name, value in lost.items():
        raise InvalidArgument(f"{name}={value!r} goes with slide= only")
    return window


def framed(size: str, arguments: dict[str, Any]) -> Window:
    """Return the window of arguments of which `size` has two ends that were checked.

    >>> framed("rows", {"rows": (-2, 0)}), framed("range", {"range": (0, "1 hour")}).closed
    (Rows(rows=3, slide=None, gaps=False), 'both')
    """
    frame = FRAMES[size](**arguments)
    return frame if frame.exclude else frame.simplest()
