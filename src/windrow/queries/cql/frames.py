"""Frames, as brackets and OVER both write them: BETWEEN end AND end EXCLUDE rows.

An end is a size relative to the current row, negative before it: 3 PRECEDING is -3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.errors import InvalidArgument
from windrow.windows.sizes import UNBOUNDED


def check_unbounded(ends: Sequence[Any], sides: Sequence[Any]) -> None:
    """Refuse a frame that begins behind all rows, or ends before them."""
    if (ends[0], sides[0]) == (UNBOUNDED, "FOLLOWING"):
        raise InvalidArgument("a frame cannot begin with UNBOUNDED FOLLOWING")
    if (ends[1], sides[1]) == (UNBOUNDED, "PRECEDING"):
        raise InvalidArgument("a frame cannot end with UNBOUNDED PRECEDING")


def excluded(words: str) -> str | None:
    """Return the rows that the words behind EXCLUDE leave out, as `sliding` names them.

    >>> excluded("Current  Row"), excluded("NO OTHERS")
    ('current row', None)
    """
    rows = " ".join(words.lower().split())
    return None if rows == "no others" else rows
