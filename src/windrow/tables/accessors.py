"""`frame.windrow`: queries as a method of the frames that they run over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windrow.aggregations.base import Aggregation
from windrow.queries.query import sliding


class FrameWindows:
    """What `frame.windrow` offers, after `import windrow.pandas` or `import windrow.polars`."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def sliding(self, also: Mapping[str, Aggregation] | None = None, /, **arguments: Any) -> Any:
        """The results of `windrow.sliding(…)` over the frame: the arguments are the same.

        >>> import polars as pl, windrow.polars
        >>> from windrow import Max
        >>> pl.DataFrame({"v": [3, 1, 2]}).windrow.sliding(rows=2, peak=Max("v"))["peak"].to_list()
        [3, 3, 2]
        """
        return sliding(also, **arguments)(self._frame)
