"""The rows of a step: how results are put in the order of their rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.streams.step import NewResults


@given(st.lists(st.integers(0, 30), max_size=40), st.booleans())
def test_results_come_out_in_the_order_of_rows(rows: list[int], distinct: bool) -> None:
    rows = list(dict.fromkeys(rows)) if distinct else rows
    table = pa.table({"x": np.arange(31) * 10})
    results = NewResults(table, np.array(rows, np.int64), {"r": pa.array(range(len(rows)))})
    wanted = sorted(range(len(rows)), key=lambda i: rows[i])
    found = results.result(["x"])
    assert found.column("r").to_pylist() == wanted
    assert found.column("x").to_pylist() == [10 * rows[i] for i in wanted]
