"""Each aggregation over the windows of sorted rows, as a column of the type that was promised.

The compiled path knows numbers. Everything else is brought to it as numbers: what has an order as
its rank, what is only picked (First, ArgMax, …) as its position, lists as stretches of positions,
decimals as counts of their last digit. Only what is left goes to the interpreter as objects.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from windrow.aggregations.base import Aggregation
from windrow.aggregations.count import Count
from windrow.aggregations.hashing import hash64, unmix64
from windrow.aggregations.sums import Sum
from windrow.kernels.aggregate import aggregate, few_rows, few_values, takes_parts
from windrow.kernels.columns import nanoseconds_of
from windrow.kernels.interpreted import failing_position
from windrow.kernels.named import PRESENT, Common
from windrow.kernels.results import ResultArray, with_nulls
from windrow.kernels.routes import trace
from windrow.kernels.sort import gather
from windrow.kernels.whole_means import rounded_mean
from windrow.queries.plan import ResultPlan
from windrow.tables.columns import (
    as_arrow,
    column_of,
    decoded,
    from_numbers,
    null_where,
    nulls_of,
    numbers,
    objects,
    ranks,
    with_nulls_at,
)
from windrow.tables.decimals import exact_mean, exact_sum
from windrow.tables.lists import stretches
from windrow.tables.result_columns import Back, kinds_of, restored, result_column
from windrow.tables.sort import TableRows
from windrow.tables.types import kind_of
from windrow.windows.positions import Windows


class Values(NamedTuple):
    """A column in sorted order: numbers, and which are null.

    Where they are no numbers themselves they stand for values, and `back` gives these again, null
    where the second argument is true.
    """

    data: NDArray[Any]
    nulls: NDArray[np.bool_] | None
    back: Back | None = None


class SortedColumns:
    """The columns of a table, each brought to numbers and into sorted order once."""

    def __init__(
        self, column: Callable[[str], Any], sorted_rows: TableRows, identity: Sequence[str] = ()
    ) -> None:
        self._column, self.sorted_rows = column, sorted_rows
        self._identity = identity  # the columns that tell a user which row it is
        self._columns: dict[str, Any] = {}
        self._values: dict[tuple[str, str], Values | None] = {}
        self._nulls: dict[str, NDArray[np.bool_] | None] = {}

    def column(self, text: str) -> Any:
        """A column of the table, or an expression's values, in the table's order."""
        column = self._columns.get(text)
        if column is None:
            column = self._columns[text] = decoded(self._column(text))
        return column

    def array(self, text: str) -> pa.Array:
        """The same as an array of Arrow."""
        return as_arrow(self.column(text))

    def described(self, position: int, *texts: str) -> dict[str, Any]:
        """The row at a sorted position by what tells which it is, and by these columns."""
        row = int(self.sorted_rows.rows(np.array([position]))[0])
        names = dict.fromkeys((*self._identity, *texts))
        return {name: self.array(name)[row].as_py() for name in names}

    def nulls(self, text: str) -> NDArray[np.bool_] | None:
        """Which values are null, in sorted order; None if none is."""
        if text not in self._nulls:
            mask = nulls_of(self.column(text))
            self._nulls[text] = None if mask is None else self.sorted_rows.sorted(mask)
        return self._nulls[text]

    def values(self, text: str, takes: str = "number") -> Values | None:
        """A column as numbers in sorted order, as an aggregation that `takes` so wants them.

        None if they are no numbers, and nothing can stand for them.
        """
        as_numbers = self._values.get((text, "number"))
        if as_numbers is not None and takes not in _TYPED:
            return as_numbers  # they are the same for whoever takes them as they are
        key = text, takes
        if key not in self._values:
            values = numbered(self.column(text), takes)
            if values is not None:
                key = key if takes in _TYPED or values.back is not None else (text, "number")
                values = Values(self.sorted_rows.sorted(values.data), self.nulls(text), values.back)
            self._values[key] = values
        return self._values[key]


_TYPED = ("instant", "boolean")  # what takes these wants numbers of a type of its own


def numbered(array: Any, takes: str) -> Values | None:
    """An array as numbers, or as what stands for its values, as `takes` says that it may.

    What has an order goes by its rank, what is only picked by its position; else None.
    """
    if takes == "instant":
        time = array.cast(pa.timestamp("us")) if pt.is_date(array.type) else array
        data = numbers(time)
        assert data is not None
        unit = getattr(time.type, "unit", None)
        return Values(nanoseconds_of(data if unit is None else data.view(f"M8[{unit}]")), None)
    data = numbers(array)
    if data is not None:
        return Values(data.astype(np.bool_) if takes == "boolean" else data, None)
    if takes in ("ordered", "ordered pair", "distinct"):
        data, levels = ranks(array)
        return Values(data, None, lambda at, gone: levels.take(pa.array(at, mask=gone)))
    if takes == "any":
        place = np.arange(len(array))
        return Values(place, None, lambda at, gone: array.take(pa.array(at, mask=gone)))
    return None


Aggregate = Callable[..., ResultArray]


class WindowResults:
    """Results one aggregation after the other over the same windows."""

    def __init__(
        self,
        columns: SortedColumns,
        windows: Windows,
        aggregate: Aggregate = aggregate,
        parts: Sequence[Windows] = (),  # of the windows, if something is left out of them
    ) -> None:
        self.columns, self.sorted_rows, self.windows, self.parts = (
            columns,
            columns.sorted_rows,
            windows,
            parts,
        )
        self.array, self.values = columns.array, columns.values
        self._call = aggregate
        self._found: dict[tuple[str, ...], Any] = {}  # of a column, what several results want
        self._counted: dict[tuple[tuple[str, ...], int], NDArray[np.bool_] | None] = {}

    def over(self, windows: Windows) -> WindowResults:
        """The same over other windows."""
        return WindowResults(self.columns, windows, self._call)

    def result(self, aggregation: Aggregation, kind: pa.DataType | None) -> pa.Array:
        """The results of an aggregation, in the order of the windows."""
        kinds = tuple(kind_of(self.array(text).type) for text in aggregation.columns)
        return self.run(ResultPlan("", aggregation, kinds, sliced=False), kind)

    def run(self, plan: ResultPlan, kind: pa.DataType | None) -> pa.Array:
        """The results as the plan says, in the order of the windows."""
        return as_arrow(self._run(plan, kind))

    def column(self, plan: ResultPlan, kind: pa.DataType | None, least: int | None) -> Any:
        """The same as an array of Arrow or a `NumberColumn`.

        They are null where a window has fewer values than `least` that are not null.
        """
        if least is None:
            return self._run(plan, kind)
        places = self._few_places(plan.aggregation, least)
        if places is None:
            return self._run(plan, kind, self._few(plan.aggregation, least))
        results = self.run(plan, kind)
        if pt.is_primitive(results.type) and results.offset == 0:
            return with_nulls_at(results, places)
        return null_where(results, self._few(plan.aggregation, least))

    def _run(
        self, plan: ResultPlan, kind: pa.DataType | None, few: NDArray[np.bool_] | None = None
    ) -> Any:
        """The results as the plan says, null where `few` is true."""
        aggregation = plan.aggregation
        if aggregation.functions is not None:
            return null_where(self._own(plan, kind), few)
        if plan.form == "list":
            return null_where(self._listed(plan), few)
        if plan.form == "decimals":
            return null_where(self._decimal(aggregation, kind), few)
        if plan.form == "objects":
            return null_where(self._interpreted(plan, kind), few)
        if plan.form == "hashes":
            values = [self._hashed(aggregation)]
        else:
            values = self.values_for(aggregation) if aggregation.columns else []
        results = self._call_on(plan, values)
        if few is not None:
            results = with_nulls(results, few)
        if not values:
            return result_column(results, kind)
        argument = aggregation.columns[-1]
        return restored(
            aggregation, results, kind, self._type(aggregation), values[0].back,
            lambda at, gone: self.picked(argument, at, gone, instead=True),
        )  # fmt: skip

    def values_for(self, aggregation: Aggregation) -> list[Values]:
        """The measured columns as numbers, or as what stands for their values."""
        takes: str = aggregation.takes
        if aggregation.listing is not None and takes != "any":
            takes = "distinct"
        inputs: list[Values] = []
        for text in aggregation.measures:
            values = self.values(text, "instant" if takes == "timed" and inputs else takes)
            assert values is not None, f"{aggregation!r}: the plan says that {text!r} is numbers"
            inputs.append(values)
        return inputs

    def _hashed(self, aggregation: Aggregation) -> Values:
        """Whole numbers that have the hashes of a column's values; each value is hashed once."""
        text = aggregation.columns[0]
        coded = self.array(text).dictionary_encode()
        each = [unmix64(hash64(value, aggregation)) for value in objects(coded.dictionary)]
        codes = coded.indices.fill_null(0).to_numpy()
        hashed = np.array(each or [0], np.uint64).view(np.int64)[codes]
        return Values(self.sorted_rows.sorted(hashed), self.columns.nulls(text))

    def picked(
        self,
        text: str,
        at: NDArray[np.int64],
        gone: NDArray[np.bool_] | None,
        instead: bool = False,
    ) -> Any:
        """The values of a column at sorted positions, null where `gone`.

        They may be written where the positions were, `instead` of these.
        """
        values = self.values(text) if 0 < self.sorted_rows.size <= 2 * at.size else None
        if values is not None:  # worth sorting all
            if values.nulls is not None:
                null = gather(values.nulls, at, threads=self.sorted_rows.threads)
                gone = null if gone is None else gone | null
            data = gather(values.data, at, threads=self.sorted_rows.threads, instead=instead)
            return column_of(data, gone, self.columns.column(text).type)
        return self.array(text).take(pa.array(self.sorted_rows.rows(at), mask=gone))

    def _type(self, aggregation: Aggregation) -> pa.DataType:
        kind: pa.DataType = self.columns.column(aggregation.columns[0]).type
        return kind

    def _call_on(self, plan: ResultPlan, values: Sequence[Values]) -> ResultArray:
        data, nulls, some = [], [], False
        for each in values:
            data.append(each.data)
            nulls.append(each.nulls)
            some = some or each.nulls is not None
        call: Aggregate = aggregate if self.parts else self._call
        return call(
            plan.aggregation,
            data,
            self.parts or self.windows,
            nulls=nulls,
            threads=self.sorted_rows.threads,
            way=plan.route(some),
            common=self._common(plan),
        )

    def takes_parts(self, plan: ResultPlan) -> bool:
        """Whether the result of windows is made of those of their parts."""
        if self.windows.go_back or plan.form in ("list", "objects", "decimals"):
            return False
        texts = plan.aggregation.columns[: plan.aggregation.inputs]
        nulls = any(self.columns.nulls(text) is not None for text in texts)
        return takes_parts(plan.aggregation, plan.route(nulls), len(self.parts))

    def _common(self, plan: ResultPlan) -> Common | None:
        """What the result has in common with others of its column, if it has anything."""
        found = self._found_of(plan.aggregation)
        return Common({*plan.common, *found}, found) if plan.common or found else None

    def _found_of(self, aggregation: Aggregation) -> dict[str, Any]:
        """What was found so far for the first column of an aggregation."""
        found: dict[str, Any] = self._found.setdefault(aggregation.columns[:1], {})
        return found

    def _few(self, aggregation: Aggregation, least: int) -> NDArray[np.bool_] | None:
        """Which windows have fewer values than `least` that are not null; None if none has."""
        measures = aggregation.measures
        key = measures, least
        if key not in self._counted:
            masks = [self.columns.nulls(text) for text in measures]
            known = [mask for mask in masks if mask is not None]
            nulls = functools.reduce(np.logical_or, known).view(np.uint8) if known else None
            # the result itself may ask for the same counts
            alike = measures == aggregation.columns[:1] and not self.windows.go_back
            common = Common((PRESENT,), self._found_of(aggregation)) if alike else None
            counted, threads = self.parts or self.windows, self.sorted_rows.threads
            self._counted[key] = few_values(counted, nulls, least, threads, common)
        return self._counted[key]

    def _few_places(self, aggregation: Aggregation, least: int) -> NDArray[np.int64] | None:
        """The few windows that have fewer rows than `least`; None if many have, or values are null.

        Their bits are cleared one by one, where a mask of all windows would be made, and packed.
        """
        if any(self.columns.nulls(text) is not None for text in aggregation.measures):
            return None
        return few_rows(self.parts or self.windows, least)

    # -- kinds of results -------------------------------------------------------------------

    def counted(self, text: str) -> NDArray[np.int64]:
        """How many values of each window are not null."""
        return np.asarray(self.result(Count(text), pa.int64()).to_numpy())

    def _decimal(self, aggregation: Aggregation, kind: pa.DataType) -> pa.Array:
        (text,) = aggregation.columns
        array = self.array(text)
        nulls = self.columns.nulls(text)

        def total(limb: NDArray[np.int64]) -> NDArray[np.int64]:
            plan = ResultPlan("", Sum(), ("int64",), self.windows.rows is not None, False)
            return self._call_on(plan, [Values(self.sorted_rows.sorted(limb), nulls)]).values

        counts = self.counted(text)
        if pt.is_duration(kind):
            data = numbers(array)
            assert data is not None
            sums = rounded_mean(total(data), counts)
        else:
            sums = exact_sum(array, total)
            if aggregation.result == "mean":
                sums = exact_mean(sums, counts, kind.scale - array.type.scale)
        return from_numbers(sums, counts == 0 if (counts == 0).any() else None, kind)

    def _listed(self, plan: ResultPlan) -> pa.Array:
        aggregation = plan.aggregation
        trace(aggregation, plan.route().name)
        array = self.array(aggregation.columns[0])
        rows = self.sorted_rows.rows(np.arange(self.sorted_rows.size))
        nulls = self.columns.nulls(aggregation.columns[0])
        assert aggregation.listing is not None
        return stretches(array, rows, nulls, self.windows, aggregation.listing)

    def _interpreted(self, plan: ResultPlan, kind: Any) -> Any:
        aggregation = plan.aggregation
        texts = aggregation.columns[: aggregation.inputs]
        lists = [self.sorted_rows.sorted(objects(self.array(text))) for text in texts]
        results = self._call(
            aggregation, lists, self.windows, nulls=None, threads=1, way=plan.route()
        )
        if "argument" not in kinds_of(aggregation):
            return result_column(results, kind)
        return restored(
            aggregation, results, kind, self._type(aggregation), None,
            lambda at, gone: self.picked(aggregation.columns[-1], at, gone),
        )  # fmt: skip

    def _own(self, plan: ResultPlan, kind: Any) -> Any:
        aggregation = plan.aggregation
        try:
            if plan.form == "objects":
                return self._interpreted(plan, kind)
            values = [self.values(text) for text in aggregation.columns]
            return result_column(self._call_on(plan, [v for v in values if v is not None]), kind)
        except Exception as error:
            self.name_failure(aggregation, error)
            raise

    def name_failure(self, aggregation: Aggregation, error: Exception) -> None:
        """Note in an error of the user's functions which they are, and the row."""
        row = self._failing(aggregation, error)
        where = "" if row is None else f", at the row {row!r}"
        error.add_note(f"in {aggregation!r}{where}")

    def _failing(self, aggregation: Aggregation, error: Exception) -> dict[str, Any] | None:
        """The row at which the user's functions fail."""
        lists = [self.sorted_rows.sorted(objects(self.array(text))) for text in aggregation.columns]
        rows = [
            dict(zip(aggregation.columns, row, strict=True)) for row in zip(*lists, strict=True)
        ]
        place = failing_position(aggregation, rows, *self.windows.bounds(), error)
        return None if place is None else self.columns.described(place, *aggregation.columns)


def in_layers(
    over: WindowResults, make: Callable[[WindowResults], dict[str, pa.Array]]
) -> dict[str, pa.Array]:
    """What `make` gives for windows; where their bounds may fall, for those at a time that do not.

    It is in the order of the windows.
    """
    if not over.windows.go_back:
        return make(over)
    layers = over.windows.layers
    if len(layers) == 1:
        return make(over.over(layers[0][1]))
    parts = [make(over.over(windows)) for _, windows in layers]
    places = np.concatenate([numbers for numbers, _ in layers])
    place = np.empty(places.size, np.int64)
    place[places] = np.arange(places.size)
    return {
        name: pa.chunked_array([each[name] for each in parts])
        .combine_chunks()
        .take(pa.array(place))
        for name in parts[0]
    }
