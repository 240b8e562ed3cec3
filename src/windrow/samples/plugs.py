"""Smart-plug readings as a utility sees them: houses, households, plugs, and their load in watts.

    house ─┬─ household ─┬─ plug    standby + daily rhythm × weekend + bursts + noise
           │             └─ plug    a reading about every `every`, now and then a gap
           └─ household ─── plug

`readings` gives the rows in the order of their time, `in_arrival_order` in the order in which a
network delivers them: nearly sorted, some late, a few later than anyone waits for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import InvalidArgument, whole_number
from windrow.windows.durations import nanoseconds

START = np.datetime64("2026-01-05T00:00", "us")  # a Monday
COLUMNS = ("ts", "house_id", "household_id", "plug_id", "load")

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_GAPS = 1 / 1500  # of the readings are followed by one
_GAP = (20 * 60 * _SECOND, 180 * 60 * _SECOND)
_BURSTS = 1 / 250  # of the readings begin one: a kettle, a washing machine
_LONGEST_BURST = 12


def readings(rows: int, *, seed: int = 7, houses: int = 10, every: Any = "30 seconds") -> pa.Table:
    """Return `rows` readings, sorted by time: ts, house_id, household_id, plug_id, load.

    A house has one to three households of three to seven plugs; ids are unique in all houses. The
    more rows, the longer the time that they cover: 300,000 of ten houses are about a day. NumPy
    makes about a million rows a second.

    >>> table = readings(1000, houses=2)
    >>> table.column_names
    ['ts', 'house_id', 'household_id', 'plug_id', 'load']
    >>> table.num_rows, str(table.schema.field("ts").type), table.equals(readings(1000, houses=2))
    (1000, 'timestamp[us, tz=UTC]', True)
    """
    whole_number("rows", rows, least=0)
    whole_number("houses", houses, least=1)
    step = nanoseconds(every, "every") // 1000
    random = np.random.default_rng(seed)
    house, household = _places(random, houses)
    plugs = len(house)
    per_plug = int(rows / plugs * 1.25) + 8  # plugs with gaps fall behind the others
    time = _times(random, plugs, per_plug, step)
    load = _loads(random, time, household)
    chosen = np.argsort(time, axis=None, kind="stable")[:rows]
    plug = chosen // per_plug
    columns = {
        "ts": pa.array(START + time.ravel()[chosen]).cast(pa.timestamp("us", "UTC")),
        "house_id": pa.array(house[plug], pa.int32()),
        "household_id": pa.array(household[plug], pa.int32()),
        "plug_id": pa.array(plug, pa.int32()),
        "load": pa.array(load.ravel()[chosen]),
    }
    return pa.table(columns)


def in_arrival_order(
    table: pa.Table,
    *,
    lateness: Any = "10 minutes",
    late: float = 0.02,
    lost: float = 0.0005,
    lost_by: tuple[Any, Any] | None = None,
    seed: int = 7,
) -> pa.Table:
    """Return the same rows as they come in: out of order by seconds, and some by much more.

    The share `late` comes up to `lateness` after newer rows, never more than that; the share
    `lost` comes later by a time between those of `lost_by`, or else three to twenty times as late,
    if there is so much time before the last row. A sort.

    >>> table = readings(5000, houses=2)
    >>> arrived = in_arrival_order(table)
    >>> arrived.num_rows == table.num_rows, arrived.equals(table)
    (True, False)
    >>> arrived.sort_by([("ts", "ascending"), ("plug_id", "ascending")]).equals(
    ...     table.sort_by([("ts", "ascending"), ("plug_id", "ascending")]))
    True
    """
    for name, share in (("late", late), ("lost", lost)):
        if not 0 <= share <= 1:
            raise InvalidArgument(f"{name}={share!r} must be a share between 0 and 1")
    allowed = nanoseconds(lateness, "lateness") // 1000
    shortest, longest = 3 * allowed, 20 * allowed
    if lost_by is not None:
        shortest, longest = (nanoseconds(time, "lost_by") // 1000 for time in lost_by)
    random = np.random.default_rng(seed)
    n = table.num_rows
    jitter = min(2 * _SECOND, allowed // 2)
    delay = random.uniform(0, jitter, n)
    drawn = random.random(n)
    is_late = drawn < late
    delay[is_late] = random.uniform(jitter, allowed, int(is_late.sum()))
    time = table.column("ts").cast(pa.int64()).to_numpy()
    long_delay = random.uniform(shortest, longest, n)
    is_lost = (drawn >= 1 - lost) & (time + long_delay <= time.max(initial=0))
    delay[is_lost] = long_delay[is_lost]
    return table.take(pa.array(np.argsort(time + delay.astype(np.int64), kind="stable")))


def _places(random: np.random.Generator, houses: int) -> tuple[Any, Any]:
    """Return the house and the household of each plug."""
    household_house = np.repeat(np.arange(houses), random.integers(1, 4, houses))
    plugs = random.integers(3, 8, len(household_house))
    household = np.repeat(np.arange(len(household_house)), plugs)
    return household_house[household], household


def _times(random: np.random.Generator, plugs: int, readings: int, step: int) -> Any:
    """Return when each plug is read, in microseconds: steady but for a jitter, and with gaps."""
    steps = step + random.integers(-step // 20, step // 20 + 1, (plugs, readings))
    gaps = random.random(steps.shape) < _GAPS
    steps[gaps] += random.integers(*_GAP, int(gaps.sum()))
    steps[:, 0] = random.integers(0, step, plugs)
    return np.cumsum(steps, axis=1)


def _loads(random: np.random.Generator, time: Any, household: Any) -> Any:
    """Return the watts at each time, to the milliwatt: people sleep, work, and come home."""
    plugs = len(household)
    standby = random.gamma(2.0, 3.0, (plugs, 1))
    height = random.gamma(2.0, 30.0, (plugs, 1))
    phase = random.normal(0, 0.04, household[-1] + 1)[household][:, None]  # early birds, night owls
    day = time / _DAY + phase
    rhythm = 0.1 + 0.7 * _bump(day, hour=7.5, width=8) + _bump(day, hour=19.5, width=5)
    weekend = np.where(day % 7 >= 5, 1.3, 1.0)
    load = standby + height * rhythm * weekend
    load += _bursts(random, time.shape) * random.uniform(300, 2400, (plugs, 1))
    load *= random.normal(1, 0.03, time.shape)
    return np.round(np.clip(load, 0, None), 3)


def _bump(day: Any, hour: float, width: float) -> Any:
    """Return a smooth hill of height 1 at this hour of every day; a larger `width` is narrower."""
    return np.exp(width * (np.cos(2 * np.pi * (day - hour / 24)) - 1))


def _bursts(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    """Return the share of its full power that a plug draws at each reading in bursts."""
    begins = np.flatnonzero(random.random(shape[0] * shape[1]) < _BURSTS)
    lasts = random.integers(1, _LONGEST_BURST + 1, len(begins))
    share = random.uniform(0.4, 1, len(begins))
    power = np.zeros(shape[0] * shape[1] + _LONGEST_BURST)
    for later in range(_LONGEST_BURST):
        on = lasts > later
        power[begins[on] + later] = share[on]
    return power[:-_LONGEST_BURST].reshape(shape)
