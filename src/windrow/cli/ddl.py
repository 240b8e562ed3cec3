"""A schema as Spark writes it, ``ts TIMESTAMP, load DOUBLE``, for readers of Arrow."""

from __future__ import annotations

import re

import pyarrow as pa

from windrow.errors import InvalidArgument, did_you_mean

_TYPES = {
    "boolean": pa.bool_(),
    **dict.fromkeys(("tinyint", "byte"), pa.int8()),
    **dict.fromkeys(("smallint", "short"), pa.int16()),
    **dict.fromkeys(("int", "integer"), pa.int32()),
    **dict.fromkeys(("bigint", "long"), pa.int64()),
    **dict.fromkeys(("float", "real"), pa.float32()),
    "double": pa.float64(),
    **dict.fromkeys(("string", "text"), pa.string()),
    "binary": pa.binary(),
    "date": pa.date32(),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.timestamp("us"),
}
_FIELD = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*[:\s]\s*(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?"
    r"(?:\s+NOT\s+NULL)?\s*(?:,|$)",
    re.IGNORECASE,
)


def schema_of(text: str) -> pa.Schema:
    """The schema that a text of DDL gives.

    >>> schema_of("ts TIMESTAMP, `my load` DOUBLE, price DECIMAL(10, 2)")
    ts: timestamp[us, tz=UTC]
    my load: double
    price: decimal128(10, 2)
    """
    fields: list[pa.Field] = []
    place = 0
    while place < len(text):
        found = _FIELD.match(text, place)
        if found is None:
            raise InvalidArgument(
                f"--schema: {text[place:].strip()!r} is no column: write ts TIMESTAMP, load DOUBLE"
            )
        quoted, bare, kind, digits, scale = found.groups()
        name = quoted.replace("``", "`") if quoted else bare
        fields.append(pa.field(name, _type(kind.lower(), digits, scale)))
        place = found.end()
    if not fields:
        raise InvalidArgument("--schema is empty: write ts TIMESTAMP, load DOUBLE")
    return pa.schema(fields)


def _type(kind: str, digits: str | None, scale: str | None) -> pa.DataType:
    if kind in ("decimal", "numeric", "dec"):
        return pa.decimal128(int(digits or 10), int(scale or 0))
    if kind in ("varchar", "char"):
        return pa.string()
    if kind not in _TYPES:
        raise InvalidArgument(
            f"--schema: the type {kind!r} is unknown; {did_you_mean(kind, [*_TYPES, 'decimal'])}"
        )
    return _TYPES[kind]
