"""Results in the types that they mean; nulls lie apart until `merged` puts them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.aggregations.algebra import output_kinds
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidValue
from windrow.kernels.columns import Column
from windrow.windows.arrays import widened


class ResultArray(NamedTuple):
    """A result a window: numbers, times, structured ones, or objects.

    `missing` is true where the result is null, whatever `values` has there (None among objects);
    None says that no result is. A NaN in `values` is a NaN and not a null. `places` are those that
    are missing, where they are known: few, so that nobody has to look for them.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    places: NDArray[np.int64] | None = None

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which results are null."""
        return np.zeros(self.values.size, np.bool_) if self.missing is None else self.missing

    def since(self, at: int) -> ResultArray:
        """The results from the at-th on."""
        return ResultArray(self.values[at:], None if self.missing is None else self.missing[at:])

    def until(self, at: int) -> ResultArray:
        """The results before the at-th."""
        return ResultArray(self.values[:at], None if self.missing is None else self.missing[:at])

    def preceded_by(self, others: ResultArray) -> ResultArray:
        """Others before these results; copied only if there is no room for them."""
        size = others.values.size
        wide = widened(self.values, size, 0)
        if wide is None or wide.dtype != others.values.dtype:
            return others.followed_by(self)
        wide[:size] = others.values
        return ResultArray(wide, others._mask_with(self))

    def moved(self, by: int, others: ResultArray) -> ResultArray:
        """The results from the by-th on and `others` behind them, in place: as many as before."""
        mask = self._mask_with(others)
        return ResultArray(
            _moved(self.values, by, others.values), None if mask is None else mask[by:]
        )

    def followed_by(self, other: ResultArray) -> ResultArray:
        """These results and others behind them."""
        return ResultArray(np.concatenate([self.values, other.values]), self._mask_with(other))

    def _mask_with(self, other: ResultArray) -> NDArray[np.bool_] | None:
        """Which results are null, and which others behind them; None if none is."""
        if self.missing is None and other.missing is None:
            return None
        return np.concatenate([self.mask, other.mask])


def in_place(parts: Sequence[ResultArray], places: Sequence[NDArray[np.int64]]) -> ResultArray:
    """Results that come in parts, each at its places among all of them.

    >>> in_place([ResultArray(np.array([5, 7])), ResultArray(np.array([6]))], [[0, 2], [1]]).values
    array([5, 6, 7])
    """
    size = sum(part.values.size for part in parts)
    values = np.empty(size, np.result_type(*(part.values for part in parts)))
    missing = np.zeros(size, np.bool_)
    for part, place in zip(parts, places, strict=True):
        values[place], missing[place] = part.values, part.mask
    return ResultArray(values, missing if missing.any() else None)


def _moved(values: NDArray[Any], by: int, others: NDArray[Any]) -> NDArray[Any]:
    """The values from the by-th on and so many others; copied only if there is no room for them."""
    wide = widened(values, 0, by)
    if wide is None:
        values[: values.size - by] = values[by:]
        values[values.size - by :] = others
        return values
    wide[values.size :] = others
    return wide[by:]


def finished(
    aggregation: Aggregation,
    column: Column,
    out: tuple[NDArray[Any], ...],
    valid: NDArray[np.uint8] | None,
) -> ResultArray:
    """What a kernel wrote, in the types that it means; `valid` is 0 where a window had nothing.

    Arguments are positions, as the kernels have them.
    """
    missing = None if valid is None or valid.all() else valid == 0
    return restored(aggregation, column, out, missing)


def restored(
    aggregation: Aggregation,
    column: Column,
    out: tuple[NDArray[Any], ...],
    missing: NDArray[np.bool_] | None,
) -> ResultArray:
    """The same for what is `missing` where a window had nothing; None if each had something."""
    if missing is not None:
        nothing = 0 if aggregation.empty is None else aggregation.empty
        places = np.flatnonzero(missing)  # mostly few: faster than by the mask
        for o in out:
            o[places] = None if o.dtype == object else nothing
    if aggregation.empty is not None:
        missing = None
    result = aggregation.result
    if len(out) == 1 and isinstance(result, str) and result != "span":
        return ResultArray(_restored(aggregation, column, out[0], result), missing)
    kinds = (None,) * len(out) if result is None else output_kinds(result)
    if len(kinds) != len(out):  # numbers that only together are a result
        kinds = (None,) * len(out)
    parts = [_restored(aggregation, column, o, kind) for o, kind in zip(out, kinds, strict=True)]
    if isinstance(result, Mapping):
        return ResultArray(_named(result, parts), missing)
    if len(parts) == 1:
        return ResultArray(parts[0], missing)
    return ResultArray(_table({f"f{i}": part for i, part in enumerate(parts)}), missing)


def lists(items: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Results that are lists: the first so many items of each row.

    >>> merged(ResultArray(lists(np.array([[3.0, 1.0], [2.0, 0.0]]), np.array([2, 1]))))
    array([[ 3.,  1.],
           [ 2., nan]])
    """
    table = np.empty(lengths.size, [("length", np.int64), ("items", items.dtype, items.shape[1:])])
    table["length"], table["items"] = lengths, items
    return table


def are_lists(values: NDArray[Any]) -> bool:
    """Whether results are lists, as `lists` makes them."""
    return values.dtype.names == ("length", "items")


def _restored(
    aggregation: Aggregation, column: Column, values: NDArray[Any], kind: str | None
) -> NDArray[Any]:
    """Numbers of one kind in the column's own type."""
    if kind == "value":
        return column.restore(values)
    if kind == "difference" and values.dtype == np.int64 and (values < 0).any():
        raise OverflowError(
            f"{aggregation!r}: a difference exceeds int64; convert the values to float64"
        )
    if kind == "mean" and column.dtype.kind == "m" and values.dtype != np.int64:
        values = values.round().astype(np.int64)
    subtracted = kind in ("difference", "change", "total", "mean")
    return column.differences(values) if subtracted else values


def _named(result: Mapping[str, str], parts: list[NDArray[Any]]) -> NDArray[Any]:
    """The named parts of results, and the spans that follow from them."""
    remaining = iter(parts)
    columns: dict[str, Any] = {
        name: None if kind == "span" else next(remaining) for name, kind in result.items()
    }
    for name, kind in result.items():
        if kind == "span":
            columns[name] = _span(columns["start"], columns["end"])
    return _table(columns)


def _span(start: NDArray[Any], end: NDArray[Any]) -> NDArray[Any]:
    """How far it is from start to end: int64 of integers, float64 of floats, durations of times.

    >>> _span(np.array([200], np.uint8), np.array([100], np.uint8))
    array([-100])
    """
    if end.dtype.kind == "f":
        return np.subtract(end, start, dtype=np.float64)
    if end.dtype.kind not in "biu":
        return np.asarray(end - start)
    apart = end.astype(np.int64) - start.astype(np.int64)
    if ((apart < 0) != (end < start)).any():  # it wrapped around
        raise OverflowError("a span exceeds int64; convert the times to float64")
    return apart


def _table(columns: Mapping[str, Any]) -> NDArray[Any]:
    table = np.empty(
        len(next(iter(columns.values()))), [(name, c.dtype) for name, c in columns.items()]
    )
    for name, values in columns.items():
        table[name] = values
    return table


def with_arguments(
    aggregation: Aggregation,
    results: ResultArray,
    arguments: NDArray[Any],
    nulls: NDArray[np.bool_] | None,
    oldest: int = 0,
) -> ResultArray:
    """Results that are positions, or have some, with the arguments that stand there.

    `oldest` is the position of the first argument; `nulls` marks those that are null.
    """
    result, values = aggregation.result, results.values

    def at(positions: NDArray[np.int64], column: NDArray[Any]) -> NDArray[Any]:
        places = positions - oldest
        return column[places if results.missing is None else np.where(results.missing, 0, places)]

    if result == "argument":
        missing = results.missing
        if nulls is not None:
            null = at(values, nulls)
            missing = null if missing is None else missing | null
        return ResultArray(at(values, arguments), missing)
    if not isinstance(result, Mapping) or "argument" not in result.values():
        return results
    if nulls is not None and nulls.any():
        arguments = merged(ResultArray(arguments.copy(), nulls))
        if isinstance(arguments, np.ma.MaskedArray):
            raise InvalidValue(
                f"{aggregation!r}: an argument is null, which {arguments.dtype} cannot say in a "
                f"part of a result; give floats or times"
            )
    parts = [
        at(values[name], arguments) if kind == "argument" else values[name]
        for name, kind in result.items()
        if kind != "span"
    ]
    return ResultArray(_named(result, parts), results.missing)


def spread(results: ResultArray, places: NDArray[np.int64], n: int) -> ResultArray:
    """Results at their places among n; there is none at the others."""
    if places.size == n:
        return results
    values, missing = np.zeros(n, results.values.dtype), np.ones(n, np.bool_)
    values[places], missing[places] = results.values, results.mask
    return ResultArray(values, missing)


def with_nulls(results: ResultArray, null: NDArray[np.bool_] | None) -> ResultArray:
    """Results that are null in some places more."""
    if null is None or not null.any():
        return results
    missing = null if results.missing is None else results.missing | null
    return ResultArray(results.values, missing)


_NULLS = {"f": np.nan, "O": None, "M": np.datetime64("NaT"), "m": np.timedelta64("NaT")}


def merged(results: ResultArray) -> Any:
    """One array, with null as its type has it: NaN, NaT, None, or a mask; lists are its rows.

    >>> merged(ResultArray(np.array([1.0, 2.0]), np.array([False, True])))
    array([ 1., nan])
    """
    values, missing = results.values, results.missing
    if are_lists(values):
        lengths, values = values["length"], np.ascontiguousarray(values["items"])
        missing = (np.arange(values.shape[1]) >= lengths[:, None]) | results.mask[:, None]
        if not missing.any():
            return values
    if missing is None:
        return values
    if values.dtype.kind not in _NULLS:
        return np.ma.MaskedArray(values, missing)
    # mostly few: faster than by the mask
    values.reshape(-1)[np.flatnonzero(missing)] = _NULLS[values.dtype.kind]
    return values


def merged_with_ends(results: ResultArray, first: int, last: int) -> Any:
    """The same, null before the first-th and from the last-th on.

    >>> merged_with_ends(ResultArray(np.array([1.0, 2.0, 3.0])), 1, 2)
    array([nan,  2., nan])
    """
    values = results.values
    null = np.zeros(0 if values.dtype.kind in _NULLS else values.size, np.bool_)
    for ends in (slice(None, first), slice(last, None)):
        if null.size:
            null[ends] = True
        elif values.dtype.kind in _NULLS:
            values[ends] = _NULLS[values.dtype.kind]
    return merged(with_nulls(results, null if null.size else None))
