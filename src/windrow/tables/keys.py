"""The values of the key columns as small whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.tables.columns import (
    as_arrow,
    decoded,
    nulls_of,
    numbers,
    whole,
    with_one_zero,
)

# Keys from so few numbers that a counter each costs less than the rows are their own codes.
_SPARE = 1 << 16


def codes(columns: Sequence[Any]) -> tuple[NDArray[np.int64] | None, int]:
    """A number below the second result for every row, the same for rows of the same key.

    Nulls are a key like any other, as in SQL's PARTITION BY. None and 1 for no key. O(n).
    """
    code: NDArray[np.int64] | None = None
    n = 1
    for column in columns:
        part, size = _code(column)
        if code is None:
            code, n = part, size
            continue
        code, n = code * size + part, n * size
        if n > 4 * code.size + _SPARE:
            code, n = _dense(code)
    return code, n


def runs(columns: Sequence[Any], n: int) -> tuple[NDArray[np.int64] | None, int]:
    """The same for rows that are sorted by key: a run of equal keys has the next number. O(n)."""
    if not columns or n == 0:
        return None, 1
    changes = np.zeros(n, np.bool_)
    for column in columns:
        array = whole(column)
        changes[1:] |= ~alike(array.slice(1), array.slice(0, n - 1))
    code = np.cumsum(changes, dtype=np.int64)
    return code, int(code[-1]) + 1


def alike(a: pa.Array, b: pa.Array) -> NDArray[np.bool_]:
    """Whether values are the same, null the same as null and NaN as NaN."""
    if pt.is_nested(a.type):
        pairs = zip(a.to_pylist(), b.to_pylist(), strict=True)
        return np.fromiter((x == y for x, y in pairs), np.bool_, len(a))
    a, b = decoded(a), decoded(b)
    equal = np.asarray(pc.fill_null(pc.equal(a, b), False).to_numpy(zero_copy_only=False))
    if not (a.null_count or b.null_count or pt.is_floating(a.type)):
        return equal
    both = pc.and_(pc.is_null(a, nan_is_null=True), pc.is_null(b, nan_is_null=True))
    same = pc.and_(both, pc.equal(pc.is_null(a), pc.is_null(b)))
    return np.asarray(equal | same.to_numpy(zero_copy_only=False))


def oldest(columns: Sequence[Any], n: int) -> NDArray[np.bool_]:
    """Which of n rows is the first with the same values in these columns."""
    return _first(codes(columns)[0], n)


def newest(columns: Sequence[Any], n: int) -> NDArray[np.bool_]:
    """Which of n rows is the last with the same values in these columns."""
    key = codes(columns)[0]
    return _first(None if key is None else key[::-1], n)[::-1]


def _first(key: NDArray[np.int64] | None, n: int) -> NDArray[np.bool_]:
    """Which of n rows is the first of its key."""
    first = np.zeros(n, np.bool_)
    first[np.unique(np.zeros(n, np.int64) if key is None else key, return_index=True)[1]] = True
    return first


def _code(column: Any) -> tuple[NDArray[np.int64], int]:
    array = whole(column)
    if pt.is_dictionary(array.type):
        array = _unique_dictionary(array)
        return _indices(array), len(array.dictionary) + 1
    if pt.is_integer(array.type) and len(array):
        values, nulls = numbers(array), nulls_of(array)
        assert values is not None
        present = values if nulls is None else values[~nulls]
        if present.size:
            least, most = int(present.min()), int(present.max())
            if most - least <= 2 * len(array) + _SPARE:
                if values.dtype == np.uint64:  # the largest of which are no int64
                    values, least, most = values - np.uint64(least), 0, most - least
                code = values.astype(np.int64, copy=nulls is not None)
                code = code - np.int64(least) if least else code
                if nulls is not None:
                    code[nulls] = most - least + 1
                return code, most - least + 2
    encoded = with_one_zero(decoded(as_arrow(array))).dictionary_encode()
    return _indices(encoded), len(encoded.dictionary) + 1


def _unique_dictionary(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """A dictionary may hold a value twice; keys must not."""
    if len(array.dictionary.unique()) == len(array.dictionary) and not array.dictionary.null_count:
        return array
    return array.cast(array.type.value_type).dictionary_encode()


def _indices(encoded: pa.DictionaryArray) -> NDArray[np.int64]:
    indices = encoded.indices
    code = numbers(indices)
    nulls = nulls_of(indices)
    assert code is not None
    code = code.astype(np.int64)
    if nulls is not None:
        code[nulls] = len(encoded.dictionary)
    return code


def _dense(code: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    encoded = pa.array(code).dictionary_encode()
    return _indices(encoded), len(encoded.dictionary) + 1
