"""Keys with so many rows that the task of one would run long after all others have ended.

A window with a key runs in one task a key. Where a frame may have a key of more than a million
rows, a sample of its keys is counted when the query meets it: a job that reads the key columns, and
groups one row in 256. Frames that Spark knows to be small cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as sf

from windrow.spark.columns import as_number, column

# A key of fewer rows is answered in about a second, wherever it is.
ROWS = 1 << 20
SAMPLE = 1 / 256
_MOST = 32  # hot keys in one plan


@dataclass(frozen=True)
class Hot:
    """Some keys of a frame, by their values in each of the key columns."""

    names: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]

    def which(self, frame: Any) -> Any:
        """The number of a row's key, as an expression; null for all other keys."""
        columns = [_comparable(name, frame) for name in self.names]
        found = sf.lit(None).cast("int")
        for i, key in reversed(list(enumerate(self.keys))):
            is_it = sf.lit(True)
            for each, value in zip(columns, key, strict=True):
                is_it = is_it & (each.isNull() if value is None else each.eqNullSafe(sf.lit(value)))
            found = sf.when(is_it, sf.lit(i)).otherwise(found)
        return found


def hot_keys(frame: Any, names: tuple[str, ...], tasks: int) -> Hot | None:
    """The keys that may have more rows than the share of a task; None if there is none."""
    if tasks < 2 or _small(frame):
        return None
    columns = [_comparable(name, frame) for name in names]
    if any(each is None for each in columns):
        return None
    named = [each.alias(f"k{i}") for i, each in enumerate(columns)]
    sampled = frame.select(*named).sample(False, SAMPLE, seed=7)
    counted = sampled.groupBy(*[f"k{i}" for i in range(len(names))]).agg(
        sf.count(sf.lit(1)).alias("rows")
    )
    found = counted.where(sf.col("rows") >= int(ROWS * SAMPLE)).collect()
    found = sorted(found, key=lambda row: -row["rows"])
    known = sum(row["rows"] for row in found)
    keys = [tuple(row)[:-1] for row in found if row["rows"] * tasks > known]
    return Hot(names, tuple(keys[:_MOST])) if keys else None


def _small(frame: Any) -> bool:
    """Whether Spark knows that no key can be hot: a row has a byte at least."""
    plan = getattr(frame, "_jdf", None)
    if plan is None:  # Connect does not tell
        return False
    size = plan.queryExecution().optimizedPlan().stats().sizeInBytes()
    return int(str(size)) < ROWS


def _comparable(name: str, frame: Any) -> Any:
    """A key column as what a literal can stand for exactly; None if nothing can."""
    kind = frame.schema[name].dataType.typeName()
    if kind in ("timestamp", "timestamp_ntz", "date"):  # no zone has a say in numbers
        return as_number(name, kind)
    known = ("byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary")
    return column(name) if kind in (*known, "boolean", "char", "varchar") else None
