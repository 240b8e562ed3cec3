"""`rolling` over arrays of pandas, Polars and Arrow: their nulls are nulls, as a mask's are."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from windrow import (
    ArgMax,
    Count,
    First,
    LongestRun,
    Max,
    Mean,
    Min,
    RollingState,
    Sum,
    aggregation,
    rolling,
)
from windrow.errors import InvalidArgument, InvalidValue

BIG = 2**53 + 1  # no double has it
DAY = dt.date(2026, 1, 1)
NOON = dt.datetime(2026, 1, 1, 12)
NUMBERS: dict[str, list[Any]] = {
    "int64": [BIG, None, None, 3, BIG - 7, None],
    "int8": [5, None, None, 3, -7, None],
    "uint32": [5, None, None, 3, 7, None],
    "float64": [1.5, None, None, 3.0, -2.5, None],
    "float32": [1.5, None, None, 3.0, -2.5, None],
    "bool": [True, None, None, False, True, None],
}
ARROW: dict[str, Any] = {
    **{name: pa.bool_() if name == "bool" else getattr(pa, name)() for name in NUMBERS},
    "timestamp": pa.timestamp("us"),
    "zoned": pa.timestamp("ms", "Europe/Berlin"),
    "date": pa.date32(),
    "duration": pa.duration("us"),
}
VALUES: dict[str, list[Any]] = {
    **NUMBERS,
    "timestamp": [NOON, None, None, NOON - dt.timedelta(1), NOON + dt.timedelta(1), None],
    "zoned": [NOON, None, None, NOON - dt.timedelta(1), NOON + dt.timedelta(1), None],
    "date": [DAY, None, None, DAY - dt.timedelta(1), DAY + dt.timedelta(1), None],
    "duration": [dt.timedelta(n) if n else None for n in (5, 0, 0, 3, 7, 0)],
}
_PANDAS = {
    "int64": "Int64",
    "int8": "Int8",
    "uint32": "UInt32",
    "float64": "Float64",
    "float32": "Float32",
    "bool": "boolean",
}


def arrow(name: str, values: list[Any]) -> Any:
    return pa.array(values, ARROW[name])


def libraries(name: str, values: list[Any]) -> dict[str, Any]:
    """The same values as each library has them."""
    array = arrow(name, values)
    n = len(values)
    made = {
        "arrow": array,
        "arrow, sliced": pa.concat_arrays([array, array]).slice(n, n),
        "arrow, in chunks": pa.chunked_array([array[:2], array[2:]]),
        "arrow, one chunk": pa.chunked_array([array]),
        "arrow, encoded": array.dictionary_encode(),
        "polars": pl.Series(pl.from_arrow(array)),
        "pandas, of arrow": pd.Series(array, dtype=pd.ArrowDtype(ARROW[name])),
        "pandas, array of arrow": pd.array(array, dtype=pd.ArrowDtype(ARROW[name])),
    }
    if name in _PANDAS:
        made["pandas"] = pd.Series(values, dtype=_PANDAS[name], index=range(7, 7 + n))
        made["pandas, array"] = pd.array(values, dtype=_PANDAS[name])
    if name in ("timestamp", "zoned"):
        made["pandas"] = array.to_pandas()
    return made


def masked(name: str, values: list[Any]) -> Any:
    """The same values as NumPy has them."""
    array = arrow(name, values)
    present = array.drop_null().to_numpy(zero_copy_only=False)
    full = np.zeros(len(values), present.dtype)
    mask = np.array([value is None for value in values])
    full[~mask] = present
    return np.ma.MaskedArray(full, mask)


CASES = [(name, library) for name in VALUES for library in libraries(name, VALUES[name])]


def alike(got: Any, expected: Any, *, unit: bool = True) -> None:
    assert type(got) is type(expected)
    assert got.dtype == expected.dtype or not unit
    assert np.ma.getmaskarray(got).tolist() == np.ma.getmaskarray(expected).tolist()
    here = ~np.ma.getmaskarray(got)
    np.testing.assert_array_equal(np.asarray(got)[here], np.asarray(expected)[here])


@pytest.mark.parametrize(("name", "library"), CASES)
def test_nulls_are_nulls(name: str, library: str) -> None:
    values, expected = libraries(name, VALUES[name])[library], masked(name, VALUES[name])
    unit = not (library == "pandas" and name in ("timestamp", "zoned"))  # nanoseconds in pandas
    for asked in (Max(), Min(), Count("x"), First()):
        for algorithm in ("auto", "two_stacks"):
            got = rolling(values, asked, rows=2, algorithm=algorithm)
            alike(got, rolling(expected, asked, rows=2, algorithm=algorithm), unit=unit)


@pytest.mark.parametrize(("name", "library"), [case for case in CASES if case[0] in NUMBERS])
def test_sums_and_functions_skip_nulls(name: str, library: str) -> None:
    values, expected = libraries(name, VALUES[name])[library], masked(name, VALUES[name])
    own = aggregation(
        lift=lambda v: (v,), combine=lambda a, b: (a[0] + b[0],), lower=lambda s: s[0]
    )
    for asked in (Sum(), Mean(), own):
        alike(rolling(values, asked, rows=2), rolling(expected, asked, rows=2))


@pytest.mark.parametrize("library", libraries("int64", [1, 2]))
def test_batches_may_begin_without_nulls(library: str) -> None:
    state = RollingState()
    parts = [VALUES["int64"][:1], VALUES["int64"][1:]]
    got = [rolling(libraries("int64", p)[library], Max(), rows=2, state=state) for p in parts]
    whole = rolling(masked("int64", VALUES["int64"]), Max(), rows=2)
    alike(np.ma.concatenate(got), whole)


@pytest.mark.parametrize("library", libraries("float64", [1.0]))
def test_nan_is_a_value_beside_nulls(library: str) -> None:
    array = pa.array([1.0, None, float("nan"), None])
    values = {
        **libraries("float64", [1.0]),
        "arrow": array,
        "arrow, sliced": array.slice(0),
        "arrow, in chunks": pa.chunked_array([array[:1], array[1:]]),
        "arrow, one chunk": pa.chunked_array([array]),
        "arrow, encoded": array.dictionary_encode(),
        "polars": pl.Series([1.0, None, float("nan"), None]),
        "pandas, of arrow": pd.Series(array, dtype=pd.ArrowDtype(pa.float64())),
        "pandas, array of arrow": pd.array(array, dtype=pd.ArrowDtype(pa.float64())),
        "pandas": pd.Series(
            pd.arrays.FloatingArray(
                np.array([1.0, 0.0, np.nan, 0.0]), np.array([False, True, False, True])
            )
        ),
        "pandas, array": pd.arrays.FloatingArray(
            np.array([1.0, 0.0, np.nan, 0.0]), np.array([False, True, False, True])
        ),
    }[library]
    assert rolling(values, Count("x"), rows=2).tolist() == [1, 1, 1, 1]
    np.testing.assert_array_equal(rolling(values, Max(), rows=2), [1.0, 1.0, np.nan, np.nan])
    assert rolling(values, Count("x"), rows=2, nan="null").tolist() == [1, 1, 0, 0]


def test_a_plain_series_of_pandas_is_the_array_that_it_holds() -> None:
    """Its NaN is a value, as in the array; in a frame, where it can only mean null, it is one."""
    series = pd.Series([1.0, np.nan, 3.0])
    np.testing.assert_array_equal(rolling(series, Max(), rows=2), [1.0, np.nan, np.nan])
    np.testing.assert_array_equal(rolling(series, Max(), rows=2, nan="null"), [1.0, 1.0, 3.0])


@pytest.mark.parametrize("library", [pa.Table, pa.RecordBatch, pl.DataFrame, pl.LazyFrame])
def test_a_frame_is_no_column(library: Any) -> None:
    frame = pa.table({"load": [1.0, 2.0]})
    given = {
        pa.Table: frame, pa.RecordBatch: frame.to_batches()[0],
        pl.DataFrame: pl.from_arrow(frame), pl.LazyFrame: pl.from_arrow(frame).lazy(),
    }[library]  # fmt: skip
    for each in (given, frame.to_pandas()):
        with pytest.raises(InvalidArgument, match=r"one column, not a .*: give frame\['load'\]"):
            rolling(each, Max(), rows=2)


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_strings(missing: Any) -> None:
    texts = ["b", None, None, "a"]
    for values in (
        pa.array(texts),
        pl.Series(texts),
        pd.Series(["b", missing, missing, "a"], dtype="string"),
        np.ma.MaskedArray(["b", "x", "x", "a"], [False, True, True, False]),
    ):
        assert rolling(values, Max(), rows=2).tolist() == ["b", "b", None, "a"]
    marks = np.array([False, True, True, False])
    assert rolling(np.array(list("bxxa")), Max(), rows=2, nulls=marks).tolist() == [
        *"bb",
        None,
        "a",
    ]


@pytest.mark.parametrize("algorithm", ["auto", "daba"])
@pytest.mark.parametrize("library", libraries("int64", [1, 2]))
def test_a_null_argument_is_an_argument(library: str, algorithm: str) -> None:
    loads, names = np.array([1.0, 5.0, 2.0, 3.0]), [BIG, None, 3, 4]
    values = (loads, libraries("int64", names)[library])
    got = rolling(values, ArgMax(), rows=2, algorithm=algorithm)
    assert got.tolist() == [BIG, None, None, 4]
    loads_with_nulls = pl.Series([1.0, None, None, 3.0])
    got = rolling((loads_with_nulls, values[1]), ArgMax(), rows=2, algorithm=algorithm)
    assert got.tolist() == [BIG, BIG, None, 4]


def test_a_null_part_of_a_run_is_said_or_refused() -> None:
    loads = np.array([1.0, 2.0, 3.0])
    at = pl.Series([None, 2.0, 3.0])
    assert np.isnan(rolling((loads, at), LongestRun(), rows=2)["start"]).tolist() == [
        *(True, True, False)
    ]
    with pytest.raises(InvalidValue, match="an argument is null, which int64 cannot say"):
        rolling((loads, pl.Series([None, 2, 3])), LongestRun(), rows=2)


@pytest.mark.parametrize("name", ["int64", "timestamp", "date", "float64"])
@pytest.mark.parametrize("library", libraries("timestamp", [NOON]))
def test_times_may_be_of_any_library(name: str, library: str) -> None:
    times: dict[str, list[Any]] = {
        "int64": [1, 2, 9],
        "float64": [1.0, 2.0, 9.0],
        "timestamp": [NOON, NOON + dt.timedelta(hours=1), NOON + dt.timedelta(days=9)],
        "date": [DAY, DAY + dt.timedelta(1), DAY + dt.timedelta(9)],
    }
    size: Any = 2 if name in ("int64", "float64") else "2 days"
    if library not in libraries(name, times[name]):
        pytest.skip("pandas has no dates")
    values = np.array([5, 3, 2])
    at = libraries(name, times[name])[library]
    assert rolling(values, Max(), range=size, at=at).tolist() == [5, 5, 2]
    at = libraries(name, [*times[name][:2], None])[library]
    with pytest.raises(InvalidValue, match=r"at\[2\] is (null|not a time)"):
        rolling(values, Max(), range=size, at=at)


def test_instants_with_a_zone_are_times() -> None:
    at = pd.Series(pd.date_range("2026-01-01", periods=3, freq="h", tz="Europe/Berlin"))
    assert rolling(np.array([5, 3, 2]), Max(), range="1 hour", at=at).tolist() == [5, 5, 3]


@pytest.mark.parametrize("library", ["arrow", "arrow, one chunk", "polars", "pandas, of arrow"])
def test_what_has_the_same_bits_is_not_copied(library: str) -> None:
    from windrow.kernels.columns import as_array

    values = libraries("float64", [1.0, 2.0, 3.0])[library]
    assert np.shares_memory(as_array(values), as_array(values))
    if library != "polars":  # which hands its memory out only where nothing is null
        values = libraries("float64", VALUES["float64"])[library]
        assert np.shares_memory(as_array(values).data, as_array(values).data)


@pytest.mark.parametrize(
    "code", ["polars.Series([1.0, None])", "pandas.Series([1, None], dtype='Int64')"]
)
def test_a_library_s_array_needs_no_other(code: str) -> None:
    library = code.split(".")[0]
    program = (
        "import sys\n"
        f"import {library}\n"
        "for other in ('pandas', 'polars', 'pyarrow'):\n"
        f"    if other != '{library}': sys.modules[other] = None\n"
        "from windrow import Count, rolling\n"
        f"assert rolling({code}, Count('x'), rows=2).tolist() == [1, 1]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
