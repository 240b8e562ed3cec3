"""The made-up departures look like departures: sorted, seeded, late in the evening."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow.errors import InvalidArgument
from windrow.samples.flights import COLUMNS, departures


def test_rows_are_as_many_as_asked_for_sorted_and_the_same_again() -> None:
    for rows in (0, 1, 899, 5000):
        table = departures(rows)
        assert table.num_rows == rows and table.column_names == list(COLUMNS)
        assert (np.diff(table["scheduled"].cast(pa.int64()).to_numpy()) >= 0).all()
    assert departures(100).equals(departures(100))
    assert not departures(100).equals(departures(100, seed=8))
    with pytest.raises(InvalidArgument, match="rows must be 0 or more"):
        departures(-1)


def test_delays_grow_over_the_day_and_a_few_flights_are_cancelled() -> None:
    table = departures(40_000)
    hour = pc.hour(table["scheduled"]).to_numpy()
    delay = table["delay"].to_numpy()
    morning, evening = (np.nanmean(delay[part]) for part in (hour < 8, hour > 18))
    assert morning + 4 < evening < 20
    assert np.nanmin(delay) < 0 and np.nanmax(delay) > 120
    assert 0.005 < table["delay"].null_count / table.num_rows < 0.03
    assert len(pc.unique(table["origin"])) == 6 and hour.min() >= 5
