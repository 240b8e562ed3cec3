"""windrow: sliding-window aggregation for Python and Spark.

>>> from windrow import Max, aggregator
>>> swag = aggregator(Max(), algorithm="daba")
>>> swag.insert(3); swag.insert(5); swag.evict()
>>> swag.query(), len(swag)
(5, 1)

Names load on first use, so that importing windrow costs nothing but itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from windrow import aggregations as _aggregations

if TYPE_CHECKING:
    from windrow.aggregations import EWM as EWM
    from windrow.aggregations import HLL as HLL
    from windrow.aggregations import KLL as KLL
    from windrow.aggregations import R2 as R2
    from windrow.aggregations import Aggregation as Aggregation
    from windrow.aggregations import All as All
    from windrow.aggregations import Any as Any
    from windrow.aggregations import ArgMax as ArgMax
    from windrow.aggregations import ArgMin as ArgMin
    from windrow.aggregations import ArithmeticMean as ArithmeticMean
    from windrow.aggregations import BitAnd as BitAnd
    from windrow.aggregations import BitOr as BitOr
    from windrow.aggregations import BitXor as BitXor
    from windrow.aggregations import Bloom as Bloom
    from windrow.aggregations import BottomK as BottomK
    from windrow.aggregations import Collect as Collect
    from windrow.aggregations import CollectDistinct as CollectDistinct
    from windrow.aggregations import Concat as Concat
    from windrow.aggregations import Corr as Corr
    from windrow.aggregations import Count as Count
    from windrow.aggregations import CountDistinct as CountDistinct
    from windrow.aggregations import CountMin as CountMin
    from windrow.aggregations import Covariance as Covariance
    from windrow.aggregations import Delta as Delta
    from windrow.aggregations import EWMByTime as EWMByTime
    from windrow.aggregations import First as First
    from windrow.aggregations import FirstN as FirstN
    from windrow.aggregations import GeometricMean as GeometricMean
    from windrow.aggregations import Histogram as Histogram
    from windrow.aggregations import HyperLogLog as HyperLogLog
    from windrow.aggregations import Increase as Increase
    from windrow.aggregations import Intercept as Intercept
    from windrow.aggregations import Kurtosis as Kurtosis
    from windrow.aggregations import Last as Last
    from windrow.aggregations import LastN as LastN
    from windrow.aggregations import LongestRun as LongestRun
    from windrow.aggregations import Max as Max
    from windrow.aggregations import MaxCount as MaxCount
    from windrow.aggregations import Mean as Mean
    from windrow.aggregations import Median as Median
    from windrow.aggregations import Min as Min
    from windrow.aggregations import MinCount as MinCount
    from windrow.aggregations import Mode as Mode
    from windrow.aggregations import MomentSketch as MomentSketch
    from windrow.aggregations import Nth as Nth
    from windrow.aggregations import PercentRank as PercentRank
    from windrow.aggregations import PopulationStdDev as PopulationStdDev
    from windrow.aggregations import Product as Product
    from windrow.aggregations import Quantile as Quantile
    from windrow.aggregations import Range as Range
    from windrow.aggregations import Rank as Rank
    from windrow.aggregations import Rate as Rate
    from windrow.aggregations import SampleStdDev as SampleStdDev
    from windrow.aggregations import Skewness as Skewness
    from windrow.aggregations import Slope as Slope
    from windrow.aggregations import StdDev as StdDev
    from windrow.aggregations import Sum as Sum
    from windrow.aggregations import TDigest as TDigest
    from windrow.aggregations import Theta as Theta
    from windrow.aggregations import Together as Together
    from windrow.aggregations import TopK as TopK
    from windrow.aggregations import Variance as Variance
    from windrow.aggregations import WeightedMean as WeightedMean
    from windrow.aggregations import aggregation as aggregation
    from windrow.algorithms import aggregator as aggregator
    from windrow.kernels.rolling import RollingState as RollingState
    from windrow.kernels.rolling import rolling as rolling
    from windrow.queries.cql import sql as sql
    from windrow.queries.query import Query as Query
    from windrow.queries.query import sliding as sliding
    from windrow.queries.shared import Shared as Shared
    from windrow.queries.shared import shared as shared
    from windrow.queries.streaming import streaming as streaming
    from windrow.stores import LmdbStore as LmdbStore
    from windrow.stores import MemoryStore as MemoryStore
    from windrow.stores import RedisStore as RedisStore
    from windrow.stores import RocksStore as RocksStore
    from windrow.windows.adwin import Adwin as Adwin
    from windrow.windows.push import window as window

__version__ = "0.1.0.dev0"

_HOME = {
    **dict.fromkeys(_aggregations.__all__, "windrow.aggregations"),
    "aggregator": "windrow.algorithms",
    "RollingState": "windrow.kernels.rolling",
    "rolling": "windrow.kernels.rolling",
    "sql": "windrow.queries.cql",
    "Query": "windrow.queries.query",
    "sliding": "windrow.queries.query",
    "streaming": "windrow.queries.streaming",
    "Shared": "windrow.queries.shared",
    "shared": "windrow.queries.shared",
    **dict.fromkeys(("LmdbStore", "MemoryStore", "RedisStore", "RocksStore"), "windrow.stores"),
    "Adwin": "windrow.windows.adwin",
    "window": "windrow.windows.push",
}

__all__ = sorted(_HOME)

if not TYPE_CHECKING:  # a type checker must not take every name for an object

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value

    def __dir__() -> list[str]:
        return [*__all__, "__version__"]
