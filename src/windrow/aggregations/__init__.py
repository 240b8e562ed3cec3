"""What is computed: every aggregation as lift, combine, lower and an identity.

The modules load on first use, because the sketches need NumPy and the others nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.aggregations.base import Aggregation as Aggregation
    from windrow.aggregations.bits import BitAnd as BitAnd
    from windrow.aggregations.bits import BitOr as BitOr
    from windrow.aggregations.bits import BitXor as BitXor
    from windrow.aggregations.bivariate import R2 as R2
    from windrow.aggregations.bivariate import Corr as Corr
    from windrow.aggregations.bivariate import Covariance as Covariance
    from windrow.aggregations.bivariate import Intercept as Intercept
    from windrow.aggregations.bivariate import Slope as Slope
    from windrow.aggregations.bloom import Bloom as Bloom
    from windrow.aggregations.collections import Collect as Collect
    from windrow.aggregations.collections import CollectDistinct as CollectDistinct
    from windrow.aggregations.collections import Concat as Concat
    from windrow.aggregations.collections import CountDistinct as CountDistinct
    from windrow.aggregations.count import Count as Count
    from windrow.aggregations.counters import Delta as Delta
    from windrow.aggregations.counters import Increase as Increase
    from windrow.aggregations.counters import Rate as Rate
    from windrow.aggregations.countmin import CountMin as CountMin
    from windrow.aggregations.custom import aggregation as aggregation
    from windrow.aggregations.datasketches import HLL as HLL
    from windrow.aggregations.datasketches import KLL as KLL
    from windrow.aggregations.datasketches import TDigest as TDigest
    from windrow.aggregations.datasketches import Theta as Theta
    from windrow.aggregations.ends import First as First
    from windrow.aggregations.ends import FirstN as FirstN
    from windrow.aggregations.ends import Last as Last
    from windrow.aggregations.ends import LastN as LastN
    from windrow.aggregations.ends import Nth as Nth
    from windrow.aggregations.ewm import EWM as EWM
    from windrow.aggregations.ewm import EWMByTime as EWMByTime
    from windrow.aggregations.extrema import ArgMax as ArgMax
    from windrow.aggregations.extrema import ArgMin as ArgMin
    from windrow.aggregations.extrema import Max as Max
    from windrow.aggregations.extrema import MaxCount as MaxCount
    from windrow.aggregations.extrema import Min as Min
    from windrow.aggregations.extrema import MinCount as MinCount
    from windrow.aggregations.extrema import Range as Range
    from windrow.aggregations.frequencies import Histogram as Histogram
    from windrow.aggregations.frequencies import Mode as Mode
    from windrow.aggregations.hyperloglog import HyperLogLog as HyperLogLog
    from windrow.aggregations.logic import All as All
    from windrow.aggregations.logic import Any as Any
    from windrow.aggregations.moments import Kurtosis as Kurtosis
    from windrow.aggregations.moments import Skewness as Skewness
    from windrow.aggregations.momentsketch import MomentSketch as MomentSketch
    from windrow.aggregations.products import Product as Product
    from windrow.aggregations.quantiles import BottomK as BottomK
    from windrow.aggregations.quantiles import Median as Median
    from windrow.aggregations.quantiles import Quantile as Quantile
    from windrow.aggregations.quantiles import TopK as TopK
    from windrow.aggregations.ranks import PercentRank as PercentRank
    from windrow.aggregations.ranks import Rank as Rank
    from windrow.aggregations.runs import LongestRun as LongestRun
    from windrow.aggregations.sums import ArithmeticMean as ArithmeticMean
    from windrow.aggregations.sums import GeometricMean as GeometricMean
    from windrow.aggregations.sums import Mean as Mean
    from windrow.aggregations.sums import Sum as Sum
    from windrow.aggregations.sums import WeightedMean as WeightedMean
    from windrow.aggregations.together import Together as Together
    from windrow.aggregations.variance import PopulationStdDev as PopulationStdDev
    from windrow.aggregations.variance import SampleStdDev as SampleStdDev
    from windrow.aggregations.variance import StdDev as StdDev
    from windrow.aggregations.variance import Variance as Variance

MODULES = {
    "base": ("Aggregation",),
    "bivariate": ("Corr", "Covariance", "Intercept", "R2", "Slope"),
    "bits": ("BitAnd", "BitOr", "BitXor"),
    "bloom": ("Bloom",),
    "collections": ("Collect", "CollectDistinct", "Concat", "CountDistinct"),
    "count": ("Count",),
    "counters": ("Delta", "Increase", "Rate"),
    "countmin": ("CountMin",),
    "custom": ("aggregation",),
    "datasketches": ("HLL", "KLL", "TDigest", "Theta"),
    "ends": ("First", "FirstN", "Last", "LastN", "Nth"),
    "ewm": ("EWM", "EWMByTime"),
    "extrema": ("ArgMax", "ArgMin", "Max", "MaxCount", "Min", "MinCount", "Range"),
    "frequencies": ("Histogram", "Mode"),
    "hyperloglog": ("HyperLogLog",),
    "moments": ("Kurtosis", "Skewness"),
    "logic": ("All", "Any"),
    "momentsketch": ("MomentSketch",),
    "products": ("Product",),
    "quantiles": ("BottomK", "Median", "Quantile", "TopK"),
    "ranks": ("PercentRank", "Rank"),
    "runs": ("LongestRun",),
    "sums": ("ArithmeticMean", "GeometricMean", "Mean", "Sum", "WeightedMean"),
    "together": ("Together",),
    "variance": ("PopulationStdDev", "SampleStdDev", "StdDev", "Variance"),
}
_HOME = {name: module for module, names in MODULES.items() for name in names}
NAMES = sorted(_HOME)

if not TYPE_CHECKING:  # a type checker knows the names from above, and takes no others for objects
    __all__ = NAMES

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return list(NAMES)
