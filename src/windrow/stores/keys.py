"""The keys of a window's entries in a store.

    m name                        the window's record: its ends, results, stack and tails
    g name                        the position before which its nodes were removed
    r name                        the window is being removed, and its nodes are nobody's
    l name                        who has the window (only where a store needs it)
    n length name level position  a node: level one byte, position eight, so nodes lie in order;
                                  level 255 has the times of the values

A name is at most 255 bytes of UTF-8 and follows its length, so the keys of two windows' nodes
never begin alike.
"""

from __future__ import annotations

from windrow.errors import InvalidArgument

RECORD, GARBAGE, REMOVED, LOCK, NODE = b"m", b"g", b"r", b"l", b"n"
_LONGEST = 255


def name_of(window: str) -> bytes:
    """Return the name of a window as bytes; raise if it cannot be one.

    >>> name_of("plug 7")
    b'plug 7'
    """
    try:
        name = window.encode()
    except (AttributeError, UnicodeEncodeError):
        raise InvalidArgument(f"window must be a text of Unicode, got {window!r}") from None
    if not 1 <= len(name) <= _LONGEST:
        raise InvalidArgument(
            f"window must be a name of 1 to {_LONGEST} bytes of UTF-8, got {len(name)}: {window!r}"
        )
    return name


def nodes_of(name: bytes) -> bytes:
    """Return what the keys of a window's nodes begin with.

    >>> nodes_of(b"plug") + node(2, 9)
    b'n\\x04plug\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\t'
    """
    return NODE + bytes((len(name),)) + name


def node(level: int, position: int) -> bytes:
    """Return what the key of a node ends with."""
    return (level << 64 | position).to_bytes(9, "big")
