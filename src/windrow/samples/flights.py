"""Departures as an airport's board has them: when a flight was due, and how late it left.

Delays grow over the day, as late aircraft come back late, and rise for hours where the weather is
bad. A flight that was cancelled has no delay.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.errors import whole_number

START = np.datetime64("2026-01-05T00:00", "us")  # a Monday
COLUMNS = ("scheduled", "origin", "carrier", "distance", "delay")

_ORIGINS = ("ATL", "BOS", "DEN", "JFK", "ORD", "SFO")
_SHARES = (0.28, 0.1, 0.18, 0.12, 0.2, 0.12)
_CARRIERS = ("AA", "B6", "DL", "UA", "WN")
_A_DAY = 900  # departures
_HOURS = 8  # blocks of three hours have one weather
_BAD = 0.06  # of them have a bad one


def departures(rows: int, *, seed: int = 7) -> pa.Table:
    """Return `rows` departures, sorted by time: scheduled, origin, carrier, distance, delay.

    A day has 900 of them. `distance` is in kilometres and `delay` in minutes; it is negative for a
    flight that left early, and null for one that was cancelled.

    >>> table = departures(1000)
    >>> table.column_names
    ['scheduled', 'origin', 'carrier', 'distance', 'delay']
    >>> table.num_rows, table.equals(departures(1000)), table["delay"].null_count > 0
    (1000, True, True)
    """
    whole_number("rows", rows, least=0)
    random = np.random.default_rng(seed)
    day = np.arange(rows) // _A_DAY
    morning, evening = random.triangular(5, 7.5, 14, rows), random.triangular(10, 18, 24, rows)
    hour = np.where(random.random(rows) < 0.5, morning, evening)
    minute = np.sort(day * 1440 + (hour * 12).astype(np.int64) * 5)  # due every five minutes
    origin = random.choice(len(_ORIGINS), rows, p=_SHARES)
    blocks = random.exponential(45, (len(_ORIGINS), rows // _A_DAY * _HOURS + _HOURS))
    blocks[random.random(blocks.shape) >= _BAD] = 0
    weather = blocks[origin, minute // (1440 // _HOURS)]
    late = random.exponential(4 + 0.6 * np.maximum(0, minute % 1440 / 60 - 5))
    delay = random.normal(-5, 3, rows) + late + weather * random.random(rows)
    cancelled = random.random(rows) < np.where(weather > 0, 0.06, 0.008)
    columns = {
        "scheduled": pa.array(START + minute * np.timedelta64(1, "m")),
        "origin": pa.array(np.array(_ORIGINS)[origin]),
        "carrier": pa.array(np.array(_CARRIERS)[random.integers(len(_CARRIERS), size=rows)]),
        "distance": pa.array(np.round(random.gamma(3, 500, rows)), pa.float64()),
        "delay": pa.array(np.round(delay) + 0.0, mask=cancelled),  # no −0.0
    }
    return pa.table(columns)
