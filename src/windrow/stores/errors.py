"""What may go wrong with a store.

StoreError               (OSError)           the store cannot do what it was told to
├── StoreUnavailable     (ConnectionError)   its server did not answer in time
├── WindowInUse                              somebody else has the window, or the whole store
└── CorruptValue         (ValueError)        what it holds was not written by windrow, or is
                                             damaged
"""

from __future__ import annotations

from windrow.errors import WindrowError


class StoreError(WindrowError, OSError):
    """The store cannot do what it was told to."""


class StoreUnavailable(StoreError, ConnectionError):
    """The store's server did not answer in time; nothing that was accepted is lost."""


class WindowInUse(StoreError):
    """Somebody else has the window, or the whole store."""


class CorruptValue(StoreError, ValueError):
    """A value of the store was not written by windrow, or is damaged, or missing."""
