"""The kinds of windows, one a file, and the one that arguments ask for.

rows       the last rows
span       the rows within a range of the current one
hopping    [start, start + range), a start every slide
until      what a policy over aggregates leaves of the oldest rows
on         the rows up to each that satisfies a condition
"""

from __future__ import annotations

from typing import Any

from windrow.errors import InvalidArgument
from windrow.windows.base import Window, named
from windrow.windows.hopping import Hopping
from windrow.windows.on import On
from windrow.windows.rows import Rows
from windrow.windows.sizes import NOW, UNBOUNDED, is_number, measure
from windrow.windows.span import Span
from windrow.windows.until import Until

# The kinds by the argument that gives their size, in the order in which errors name them.
KINDS: dict[str, type[Window]] = {
    "rows": Rows, "range": Span, "delta": Span, "until": Until, "on": On,
}  # fmt: skip
_DEFAULTS = {"closed": "both"}


def window_of(asker: str, **arguments: Any) -> Window:
    """The window that arguments of `sliding` ask for; errors begin with `asker`.

    >>> window_of("sliding", rows=3, range=None), window_of("sliding", range=4, slide=2)
    (Rows(rows=3, slide=None), Hopping(range=4, delta=None, slide=2, offset=None))
    """
    given = {
        name: value
        for name, value in arguments.items()
        if value is not None and (name not in _DEFAULTS or value != _DEFAULTS[name])
    }
    sizes = [name for name in KINDS if name in given]
    if len(sizes) != 1:
        names = [f"{name}=" for name in KINDS if name in arguments]
        raise InvalidArgument(
            f"{asker}: give one of {', '.join(names[:-1])} and {names[-1]}; got "
            + (" and ".join(f"{name}={given[name]!r}" for name in sizes) or "none")
        )
    kind = KINDS[sizes[0]]
    for name, value in given.items():
        if name not in kind.takes:
            raise InvalidArgument(f"{name}={value!r} means nothing with {sizes[0]}=")
    return kind.of(given)


__all__ = [
    "KINDS",
    "NOW",
    "UNBOUNDED",
    "Hopping",
    "On",
    "Rows",
    "Span",
    "Until",
    "Window",
    "is_number",
    "measure",
    "named",
    "window_of",
]
