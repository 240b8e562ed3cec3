"""States as bytes: what comes out is what went in, and nothing else is taken for it."""

from __future__ import annotations

import datetime
import enum
import math
import zlib
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.catalogue import AGGREGATIONS, identified, same, values_for
from tests.examples import examples
from windrow.aggregations.base import Aggregation
from windrow.errors import InvalidArgument, InvalidValue
from windrow.stores.encoding import check_storable, decode, encode, register, tables
from windrow.stores.encoding.frame import MAGIC, VERSION
from windrow.stores.errors import CorruptValue

zones = st.sampled_from(
    [None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3)), ZoneInfo("Europe/Paris")]
)
hashable = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-300, 300),
        st.floats(allow_nan=False),
        st.text(),
        st.binary(),
        st.decimals(allow_nan=False),
        st.fractions(),
        st.complex_numbers(allow_nan=False),
        st.dates(),
        st.timedeltas(),
        st.times(timezones=zones),
        st.datetimes(timezones=zones),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple), st.frozensets(inner, max_size=4)
    ),
    max_leaves=8,
)
values = st.recursive(
    hashable,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.sets(hashable, max_size=4),
        st.dictionaries(hashable, inner, max_size=4),
    ),
    max_leaves=10,
)


def exactly(a: Any, b: Any) -> bool:
    """Equal, and of the same types all the way down; sets and dicts by their equality."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(exactly, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(exactly(a[k], b[k]) for k in a)
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    if isinstance(a, datetime.datetime | datetime.time):
        return a == b and str(a.tzinfo) == str(b.tzinfo) and a.fold == b.fold
    return bool(a == b)


@given(values)
@examples(80)
def test_what_comes_out_is_what_went_in(value: Any) -> None:
    assert exactly(decode(encode(value)), value)
    check_storable(value)


@given(st.sets(st.one_of(st.text(), st.integers())))
def test_equal_sets_have_equal_bytes(value: set[Any]) -> None:
    other = set()
    for item in sorted(value, key=str, reverse=True):
        other.add(item)
    assert encode(value) == encode(other)


@given(
    arrays.arrays(
        st.sampled_from(["<f8", ">f4", "<i8", "|u1", "|b1", "<c16", "<M8[ns]", "<m8[s]", "<U3"]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays(value: Any) -> None:
    found = decode(encode(value))
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    assert found.tobytes() == value.tobytes()
    assert not found.flags.writeable
    for number in value.ravel()[:3]:
        again = decode(encode(number))
        assert type(again) is type(number)
        assert again.tobytes() == number.tobytes()


@pytest.mark.parametrize("number", [math.nan, -math.nan, math.inf, -0.0, 5e-324, Decimal("sNaN")])
def test_odd_numbers(number: Any) -> None:
    assert repr(decode(encode(number))) == repr(number).replace("-nan", "nan")


def test_nan_stays_the_one_that_dicts_find() -> None:
    assert math.nan in decode(encode({math.nan: None}))
    assert decode(encode({math.nan: None})) | {math.nan: 1} == {math.nan: 1}


@pytest.mark.parametrize("agg", AGGREGATIONS, ids=identified)
@given(data=st.data())
@examples(8)
def test_states_of_every_aggregation(agg: Aggregation, data: st.DataObject) -> None:
    taken = data.draw(st.lists(values_for(agg), max_size=6))
    state = agg.fold(map(agg.lift, taken))
    found = decode(encode(state))
    assert type(found) is type(state)
    assert same(found, state)
    more = agg.lift(data.draw(values_for(agg)))
    assert same(agg.combine(found, more), agg.combine(state, more))


@given(values, st.data())
@examples(50)
def test_a_changed_byte_is_found(value: Any, data: st.DataObject) -> None:
    good = encode(value)
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CorruptValue, match=r"^this one (is damaged|was not written by windrow)"):
        decode(bytes(bad), "this one")


@given(values, st.data())
@examples(50)
def test_a_missing_end_is_found(value: Any, data: st.DataObject) -> None:
    good = encode(value)
    with pytest.raises(CorruptValue):
        decode(good[: data.draw(st.integers(0, len(good) - 1))])


@given(st.binary())
def test_bytes_of_others_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptValue):
        decode(data)


def sealed(body: bytes, version: int = VERSION) -> bytes:
    data = bytes((MAGIC, version)) + body
    return data + zlib.crc32(data).to_bytes(4, "little")


@given(st.binary(min_size=1))
def test_a_right_checksum_is_not_enough(body: bytes) -> None:
    """Whatever was written by another program ends in a value or in a clear error."""
    try:
        found = decode(sealed(body))
    except CorruptValue:
        return
    assert encode(found)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            sealed(b"N", version=9),
            "another version of windrow .its format is 9, and .* reads 2",
        ),
        (sealed(b"N", version=1), "its format is 1, .*: start with a new store or checkpoint"),
        (b"WRWS\1\0 a chunk of version 1", "its format is 1, .*: start with a new store or check"),
        (sealed(b"NN"), "is damaged: it ends at byte 3 of 4"),
        (sealed(b"\x01"), "unknown tag 0x1"),
        (sealed(b"R\x01s\x05Cloud"), "a record 'Cloud', which is unknown here; register"),
    ],
)
def test_errors_say_what_is_wrong(data: bytes, message: str) -> None:
    with pytest.raises(CorruptValue, match=message):
        decode(data)


class Unregistered(NamedTuple):
    a: int


class Colour(enum.IntEnum):
    RED = 1


class Odd(datetime.tzinfo):
    def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "cannot hold object .*; it holds None, numbers"),
        ((1, [{2: len}]), "cannot hold builtin_function_or_method"),
        (Unregistered(1), "cannot hold Unregistered .* register its class"),
        (Colour.RED, "cannot hold Colour"),
        (bytearray(b"a"), "cannot hold bytearray"),
        (np.array([None]), "cannot hold ndarray"),
        (np.ma.array([1]), "cannot hold MaskedArray"),
        (np.zeros(1, "i4,i4"), "cannot hold ndarray"),
        (datetime.datetime(2026, 1, 1, tzinfo=Odd()), "cannot hold the time zone"),
    ],
)
def test_what_cannot_be_stored(value: Any, message: str) -> None:
    for call in (encode, check_storable):
        with pytest.raises(InvalidValue, match=message):
            call(value)


@pytest.mark.parametrize("tag", ["t", "l", "S", "Z", "m", "D", "q", "c", "y", "A", "a", "R"])
@pytest.mark.parametrize("depth", [101, 5000, 200_000])
def test_a_value_made_to_be_deep(tag: str, depth: int) -> None:
    body = (tag.encode() + b"\x01") * depth + b"N"
    data = bytes((MAGIC, VERSION)) + body
    with pytest.raises(CorruptValue):
        decode(data + zlib.crc32(data).to_bytes(4, "little"))


def nested(depth: int) -> Any:
    value: Any = 1.5
    for i in range(depth):
        value = (value,) if i % 2 else [value]
    return value


def test_what_is_written_can_be_read_however_deep() -> None:
    assert decode(encode(nested(100))) == nested(100)
    for depth in (101, 5000):
        with pytest.raises(InvalidValue, match="nested more than 100 deep"):
            encode(nested(depth))
        with pytest.raises(InvalidValue, match="nested more than 100 deep"):
            check_storable(nested(depth))


def test_a_fraction_made_to_take_for_ever() -> None:
    made = bytearray(encode(("1e999999999", 1)))
    made[2:4] = b"q\x02"
    data = bytes(made[:-4])
    with pytest.raises(CorruptValue, match="cannot be read"):
        decode(data + zlib.crc32(data).to_bytes(4, "little"))


def test_a_record_of_ones_own() -> None:
    class Pair(NamedTuple):
        left: int
        right: Fraction

    register(Pair, "tests.Pair")
    found = decode(encode([Pair(1, Fraction(1, 3))]))
    assert type(found[0]) is Pair
    assert found == [(1, Fraction(1, 3))]
    with pytest.raises(InvalidArgument, match=r"another record 'tests\.Pair'"):
        register(Unregistered, "tests.Pair")
    with pytest.raises(InvalidArgument, match="is not a NamedTuple"):
        register(dict)


def test_it_is_compact() -> None:
    assert len(encode(5)) == 7
    assert len(encode(None)) == 7
    assert len(encode((1000, 500_000, 0.0, 0, 0, 0))) < 30  # a state of Sum


# -- tables ------------------------------------------------------------------------------------

TABLE = pa.table({"key": ["a", None, "b"], "x": [1, 2, 3]})


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.slice(1, 1),
        TABLE.slice(0, 0),
        pa.concat_tables([TABLE, TABLE]),
        TABLE.select([]),
    ],
)
def test_tables(table: pa.Table) -> None:
    for several in ([table], [table, TABLE], [TABLE, table, table]):
        schemas = [each.schema for each in several]
        assert tables.decode(tables.encode(*several), schemas, "it") == several


def test_damaged_and_foreign_tables_are_told_apart() -> None:
    data = tables.encode(TABLE)
    schemas = [TABLE.schema]
    for wrong, message in [
        (b"something else", "it was not written by windrow"),
        (data[:-1] + b"?", "it is damaged"),
        (sealed(data[2:-4], version=9), r"it was .* another version of windrow .its format is 9"),
        (encode([1, 2]), "it does not hold tables"),
        (tables.encode(), "it does not hold what this query keeps"),
        (tables.encode(TABLE, TABLE), "it does not hold what this query keeps: it holds more"),
        (tables.encode(TABLE.select(["x"])), "it does not hold what this query keeps"),
    ]:
        with pytest.raises(CorruptValue, match=message):
            tables.decode(wrong, schemas, "it")
    with pytest.raises(CorruptValue, match="unknown tag 0x57"):
        decode(data)
