"""The options of a stream: what they may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from windrow import Count, sliding, streaming
from windrow.errors import InvalidArgument

QUERY = sliding(order_by="ts", rows=3, lateness="1 minute", n=Count())


def test_buckets_are_a_whole_number_of_python_or_numpy() -> None:
    assert repr(streaming(QUERY, buckets=np.int64(8))) == repr(streaming(QUERY, buckets=8))


@pytest.mark.parametrize("buckets", [True, 0, 4097, 2.0, "2"])
def test_other_buckets_are_refused(buckets: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"buckets must be a whole number, 1 to 4096"):
        streaming(QUERY, buckets=buckets)
