"""KLL, TDigest, HLL and Theta: the sketches of Apache DataSketches, in its own bytes.

A state is what the library writes, which its versions for Java and C++ read as well: so Spark's
functions (`kll_sketch_agg_double`, `hll_union_agg`, `theta_sketch_estimate`, …) merge and answer
the sketches that are made here, and the other way round. ``windrow[sketches]`` installs it.

    values ──▶ KLL("x", q=0.5)                 the estimate
    values ──▶ KLL("x", sketch=True)           the sketch, bytes
    sketches ─▶ KLL("s", q=0.5, merge=True)    the estimate of all their values

The library takes values in bulk, so windows are made of blocks of rows (`windrow.kernels.bulk`).
"""

from __future__ import annotations

import copy
import functools
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from windrow.aggregations.algebra import BulkAlgebra, SqlName
from windrow.aggregations.base import Aggregation, Takes
from windrow.aggregations.ordering import plain, real
from windrow.aggregations.quantiles import shares_of
from windrow.errors import InvalidArgument, InvalidValue, extra, whole_number

_WHOLE = range(-(2**63), 2**63)
_NUMBERS, _WORDS = ("int64", "float64"), ("int64", "text")  # kinds of columns


@functools.cache
def _library(asker: str) -> Any:
    return extra(asker, "datasketches", "sketches")


class _Sketch(Aggregation):
    """Base of the library's sketches. A subclass has these, where a builder may be a sketch itself:

    `_start`, `_add`, `_join` and `_done` as `BulkAlgebra` has them, `_open` makes a sketch of
    bytes and `_bytes` bytes of a sketch, and `_estimate` is the result.
    """

    commutative = True
    exact = False
    exact_on_integers = False
    family = ""
    takes: Takes = "number"
    block = 64
    # What Spark calls it, of values and of sketches, and the kinds of columns that it takes.
    spark: tuple[str, str] | None = None
    spark_kinds: tuple[str, ...] = ()
    merge: bool
    sketch: bool

    def _set(self, size: int, merge: bool, sketch: bool) -> None:
        """Check that the library is there, and say what goes in and what comes out."""
        for name, value in (("merge", merge), ("sketch", sketch)):
            if not isinstance(value, bool):
                name = f"{type(self).__name__}: {name}"
                raise InvalidArgument(f"{name} must be True or False, got {value!r}")
        self._size = size
        _library(type(self).__name__)
        self._turn(merge, sketch)

    def _turn(self, merge: bool, sketch: bool) -> Self:
        """Take sketches for values, give them for results, or both."""
        self.merge, self.sketch = merge, sketch
        self.takes = "sketch" if merge else type(self).takes
        self.result = "bytes" if sketch else self._kind
        self.empty = None if sketch else type(self).empty
        return self

    @property
    def _kind(self) -> str:
        return "int64"

    @property
    def _make(self) -> Any:
        return _library(type(self).__name__)

    # -- one value, one state -------------------------------------------------------------------

    def checked(self, value: Any) -> Any:
        if self.takes == "number":
            return real(value, self)
        if self.takes == "sketch":
            if isinstance(value, bytes | bytearray | memoryview):
                return bytes(value)
            raise InvalidValue(f"{self!r} takes sketches as bytes, not {type(value).__name__}")
        value = plain(value)
        known = value in _WHOLE if isinstance(value, int) else isinstance(value, float | str)
        if not known:
            raise InvalidValue(
                f"{self!r} takes integers of 64 bits, floats and text, not "
                f"{type(value).__name__} {value!r}"
            )
        return int(value) if isinstance(value, bool) else value

    def unit(self, value: Any) -> bytes:
        builder = self._start()
        if self.merge:
            self._join(builder, self._opened(value))
        else:
            self._add(builder, self._read([value]))
        return self._bytes(self._done(builder))

    def plus(self, a: bytes, b: bytes) -> Any:
        return self.fold((a, b))

    def fold(self, states: Iterable[bytes | None]) -> Any:
        """Of n states in n merges, and one sketch is written."""
        known = [state for state in states if state is not None]
        if len(known) < 2:
            return known[0] if known else None
        builder = self._start()
        for state in known:
            self._join(builder, self._open(state))
        return self._bytes(self._done(builder))

    def answer(self, state: bytes) -> Any:
        return self._answer(self._open(state))

    def _answer(self, sketch: Any) -> Any:
        return self._bytes(sketch) if self.sketch else self._estimate(sketch)

    def _opened(self, value: bytes) -> Any:
        """Return the sketch of bytes that came from elsewhere."""
        try:
            return self._open(value)
        except Exception as error:  # the library raises what it likes
            raise InvalidValue(
                f"{self!r}: a value of {len(value)} bytes is no {self.family} sketch: {error}"
            ) from None

    # -- many of them ---------------------------------------------------------------------------

    def bulk(self) -> BulkAlgebra:
        return BulkAlgebra(
            field=f"{self.family}{self._size}",
            block=1 if self.merge else self.block,
            read=self._read_sketches if self.merge else self._read,
            start=self._start,
            add=self._add_sketches if self.merge else self._add,
            join=self._join,
            done=self._done,
            answer=self._answer,
            variant=lambda merge, sketch: copy.copy(self)._turn(merge, sketch),
            spark_kinds=("binary",) if self.merge else self.spark_kinds,
        )

    def _read_sketches(self, values: Any) -> list[Any]:
        return [self._opened(self.checked(value)) for value in values]

    def _add_sketches(self, builder: Any, sketches: list[Any]) -> None:
        for sketch in sketches:
            self._join(builder, sketch)

    @property
    def spark_fields(self) -> Mapping[str, str]:  # type: ignore[override]
        if self.spark is None:
            return {}
        return {self.bulk().field: self.spark[self.merge].format("{0}", self._size)}

    # -- what a subclass has --------------------------------------------------------------------

    def _start(self) -> Any:
        raise NotImplementedError

    def _read(self, values: Any) -> Any:
        raise NotImplementedError

    def _add(self, builder: Any, values: Any) -> None:
        builder.update(values)

    def _join(self, builder: Any, sketch: Any) -> None:
        builder.update(sketch)

    def _done(self, builder: Any) -> Any:
        return builder

    def _open(self, data: bytes) -> Any:
        raise NotImplementedError

    def _bytes(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize())

    def _estimate(self, sketch: Any) -> Any:
        return round(sketch.get_estimate())


# -- quantiles -----------------------------------------------------------------------------------


class _Quantiles(_Sketch):
    """Estimated quantiles of numbers; a NaN is left out, as a null is."""

    least_size = 1

    def __init__(
        self,
        *columns: str,
        q: float | Sequence[float] | None = None,
        k: int = 200,
        merge: bool = False,
        sketch: bool = False,
    ) -> None:
        super().__init__(*columns)
        name = type(self).__name__
        self.k = whole_number(f"{name}: k", k, self.least_size, 65535)
        if q is None and sketch is False:
            raise InvalidArgument(f"{name}: give q=0.5 or several shares, or sketch=True")
        self.q = None if q is None else shares_of(q, f"{name}: q")
        self._set(self.k, merge, sketch)

    @property
    def _kind(self) -> str:
        return "list of float64" if isinstance(self.q, tuple) else "float64"

    def _read(self, values: Any) -> Any:
        return np.array(values, np.float64)  # of its own: the library takes none that is read-only

    def _join(self, builder: Any, sketch: Any) -> None:
        builder.merge(sketch)

    @classmethod
    def examples(cls) -> list[Aggregation]:
        return [cls(q=0.5), cls(q=(0.25, 0.9))]


class KLL(_Quantiles):
    """Estimated quantiles at the share `q`, or at several; a sketch is about `k` to 3·k numbers.

    The share of values up to the estimate differs from `q` by at most 1.33 % for k = 200, with 99 %
    confidence, whatever the values are; a window of k values or fewer is exact: the first value
    that a share q of all do not exceed. The sketch tosses coins, so two runs may differ so much.

    ``sketch=True`` gives the sketch, as Spark's `kll_sketch_agg_double`, and ``merge=True`` takes
    such sketches for values. A NaN is left out, as a null is.

    >>> kll = KLL(q=(0.5, 0.99))
    >>> kll.lower(kll.fold(map(kll.lift, range(1, 101))))
    [50.0, 99.0]
    """

    family = "kll"
    least_size = 8
    sql_names = {
        **dict.fromkeys(("APPROX_PERCENTILE", "PERCENTILE_APPROX"), SqlName({}, ("q",))),
        "APPROX_MEDIAN": SqlName({"q": 0.5}, ()),
        "KLL_SKETCH_AGG_DOUBLE": SqlName({"sketch": True}, ("k",)),
        "KLL_MERGE_AGG_DOUBLE": SqlName({"sketch": True, "merge": True}, ("k",)),
    }
    spark = ("kll_sketch_agg_double(cast({} as double), {})", "kll_merge_agg_double({}, {})")
    spark_kinds = _NUMBERS

    def _start(self) -> Any:
        return self._make.kll_doubles_sketch(self.k)

    def _open(self, data: bytes) -> Any:
        return self._make.kll_doubles_sketch.deserialize(data)

    def _estimate(self, sketch: Any) -> Any:
        if sketch.is_empty():
            return None
        if isinstance(self.q, tuple):
            return list(sketch.get_quantiles(self.q, True))
        return sketch.get_quantile(self.q, True)


class TDigest(_Quantiles):
    """Estimated quantiles at the share `q`, or at several, best near 0 and 1: Dunning's t-digest.

    A sketch is at most about 2·`k` means of neighbouring values, fewer of them towards the ends, so
    the 0.999th quantile is nearly exact; nothing bounds the error for all data. Small windows are
    exact. The same values in the same order give the same estimate.

    ``sketch=True`` gives the sketch, and ``merge=True`` takes such sketches for values. A NaN is
    left out, as a null is.

    >>> digest = TDigest(q=0.5)
    >>> digest.lower(digest.fold(map(digest.lift, [1, 2, 100])))
    2.0
    """

    family = "tdigest"
    least_size = 10
    sql_names = {"APPROX_QUANTILE": SqlName({}, ("q",))}

    def _start(self) -> Any:
        return self._make.tdigest_double(self.k)

    def _open(self, data: bytes) -> Any:
        return self._make.tdigest_double.deserialize(data)

    def _estimate(self, sketch: Any) -> Any:
        if sketch.is_empty():
            return None
        if isinstance(self.q, tuple):
            return [sketch.get_quantile(share) for share in self.q]
        return sketch.get_quantile(self.q)


# -- distinct values -----------------------------------------------------------------------------


class _Distinct(_Sketch):
    """An estimate of how many distinct values there are, as an integer; 0 when there are none."""

    takes = "number or text"
    block = 32
    empty = 0
    sizes = (0, 0)

    def __init__(
        self, *columns: str, lg_k: int = 12, merge: bool = False, sketch: bool = False
    ) -> None:
        super().__init__(*columns)
        self.lg_k = whole_number(f"{type(self).__name__}: lg_k", lg_k, *self.sizes)
        self._set(self.lg_k, merge, sketch)

    def _read(self, values: Any) -> list[Any]:
        items: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values
        if {str, float}.issuperset(map(type, items)) or getattr(values, "dtype", None) == np.int64:
            return items
        return [self.checked(value) for value in items]


class HLL(_Distinct):
    """About how many distinct values, by 2^`lg_k` registers: the HyperLogLog that Spark's is.

    The standard error is 1.04 / √(2^lg_k): 1.6 % for 12. Text counts by its UTF-8, the empty text
    not at all. ``sketch=True`` gives the sketch, as Spark's `hll_sketch_agg`, and ``merge=True``
    takes such sketches for values. `HyperLogLog` needs no library and is far faster; its states are
    windrow's own.

    >>> hll = HLL()
    >>> hll.lower(hll.fold(map(hll.lift, ["Ada", "Bob", "Ada"])))
    2
    """

    family = "hll"
    sizes = (4, 21)
    sql_names = {
        "HLL_SKETCH_AGG": SqlName({"sketch": True}, ("lg_k",)),
        "HLL_UNION_AGG": SqlName({"sketch": True, "merge": True}, ("lg_k",)),
    }
    spark = ("hll_sketch_agg({}, {})", "hll_union_agg({}, true)")
    spark_kinds = _WORDS

    def _start(self) -> Any:
        return self._make.hll_union(self.lg_k)

    def _add(self, builder: Any, values: Any) -> None:
        deque(map(builder.update, values), 0)

    def _done(self, builder: Any) -> Any:
        """Return the sketch, one without order: the estimate follows from the values alone.

        The library estimates better while it sees values one by one: sketches with the same
        registers then differ by how they came about. Merged with itself a sketch is as any other.
        """
        sketch = builder.get_result(self._make.HLL_8)
        if sketch.get_compact_serialization_bytes() <= 1 << self.lg_k:
            return sketch  # it has all values still
        builder.update(sketch)
        return builder.get_result(self._make.HLL_8)

    def _open(self, data: bytes) -> Any:
        return self._make.hll_sketch.deserialize(data)

    def _bytes(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize_compact())


class Theta(_Distinct):
    """About how many distinct values, by the 2^`lg_k` smallest hashes: exact up to that many.

    The standard error beyond is 1 / √(2^lg_k): 1.6 % for 12. Text counts by its UTF-8, the empty
    text not at all. ``sketch=True`` gives the sketch, as Spark's `theta_sketch_agg`, which can be
    intersected and subtracted there; ``merge=True`` takes such sketches for values.

    >>> theta = Theta()
    >>> theta.lower(theta.fold(map(theta.lift, [3, 5, 3])))
    2
    """

    family = "theta"
    sizes = (5, 26)
    sql_names = {
        "THETA_SKETCH_AGG": SqlName({"sketch": True}, ("lg_k",)),
        "THETA_UNION_AGG": SqlName({"sketch": True, "merge": True}, ("lg_k",)),
    }
    spark = ("theta_sketch_agg({}, {})", "theta_union_agg({}, {})")
    spark_kinds = (*_NUMBERS, "text")

    def _start(self) -> Any:
        return self._make.theta_union(self.lg_k)

    def _add(self, builder: Any, values: Any) -> None:
        sketch = self._make.update_theta_sketch(self.lg_k)
        deque(map(sketch.update, values), 0)
        builder.update(sketch)

    def _done(self, builder: Any) -> Any:
        return builder.get_result()

    def _open(self, data: bytes) -> Any:
        return self._make.compact_theta_sketch.deserialize(data)
