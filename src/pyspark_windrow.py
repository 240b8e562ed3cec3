"""Spark looks for data sources in modules of such names: ``format("windrow-events")`` is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """The events of `windrow.spark.events`, which is imported when they are asked for."""

    @classmethod
    def name(cls) -> str:
        """What ``format(…)`` calls it."""
        return "windrow-events"

    def __new__(cls, options: Mapping[str, str]) -> Any:
        """The source itself."""
        from windrow.spark.events import Events

        return Events(options)
