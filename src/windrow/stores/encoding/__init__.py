"""State as bytes: a frame with a version and a checksum around a value or around tables.

`frame` says what a frame is and what may be wrong with one. `values` encodes values of Python for
key-value stores; `tables` encodes Arrow tables for the chunks of a stream, and needs pyarrow.
"""

from __future__ import annotations

from windrow.stores.encoding.values import check_storable, decode, encode, register

__all__ = ["check_storable", "decode", "encode", "register"]
