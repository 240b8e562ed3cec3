"""How a column writes its times: `--timestamp-format`, the same in this process and on Spark.

A pattern of strptime, such as ``%d.%m.%Y %H:%M``, becomes one regular expression that rewrites text
as ISO 8601, which Arrow and Spark read alike; ``epoch-ms`` and its like are numbers since 1970.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from windrow.cli.failures import Failed, Usage

# How many microseconds each unit has.
EPOCHS = {"epoch-s": 1_000_000, "epoch-ms": 1_000, "epoch-us": 1, "epoch-ns": 0.001}
# What stands for each part of a time, and what it is where the pattern has none.
_PARTS = {
    "Y": (r"(\d{4})", ""),
    "m": (r"(\d{1,2})", "01"),
    "d": (r"(\d{1,2})", "01"),
    "H": (r"(\d{1,2})", "00"),
    "M": (r"(\d{1,2})", "00"),
    "S": (r"(\d{1,2})", "00"),
    "f": (r"(\d{1,6})", "0"),
    "z": (r"(Z|[+-]\d\d:?\d\d)", ""),
}


@dataclass(frozen=True)
class TimeFormat:
    """How times are written: a pattern of strptime, or the unit of numbers since 1970."""

    text: str

    def __post_init__(self) -> None:
        names = re.findall(r"%(.?)", self.text)
        known = {*names} <= {*_PARTS} and len({*names}) == len(names) and "Y" in names
        if not self.is_epoch and not known:
            raise Usage(
                f"--timestamp-format {self.text}: write {', '.join(EPOCHS)}, or a pattern of "
                f"{' '.join(f'%{name}' for name in _PARTS)}, as in '%d.%m.%Y %H:%M'; the year is "
                f"needed"
            )

    @property
    def is_epoch(self) -> bool:
        """Whether times are numbers."""
        return self.text in EPOCHS

    def iso(self, mark: str) -> tuple[str, str]:
        """Return the expression that a time matches, and what makes ISO 8601 of its groups.

        `mark` is what stands before the number of a group.

        >>> TimeFormat("%m/%d/%Y").iso("$")[1]
        '$3-$1-$2 00:00:00.0'
        """
        names = re.findall("%(.)", self.text)
        literals = [re.escape(text) for text in re.split("%.", self.text)]
        regex = literals[0]
        for name, literal in zip(names, literals[1:], strict=True):
            regex += _PARTS[name][0] + literal
        part = {
            name: f"{mark}{names.index(name) + 1}" if name in names else default
            for name, (_, default) in _PARTS.items()
        }
        return f"^{regex}$", "{Y}-{m}-{d} {H}:{M}:{S}.{f}{z}".format(**part)

    def in_arrow(self, column: Any, name: str) -> Any:
        """Return a column of an Arrow table as times of UTC."""
        import pyarrow as pa
        import pyarrow.types as pt

        if pt.is_timestamp(column.type) or pt.is_date(column.type):
            raise self._times_already(name)
        try:
            return self._numbers(column) if self.is_epoch else self._texts(column, name)
        except pa.ArrowException as error:
            raise Failed(f"--timestamp-format {self.text}: {name}: {error}") from None

    def _numbers(self, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as pt

        if pt.is_string(column.type):
            try:
                column = column.cast(pa.int64())
            except pa.ArrowInvalid:
                column = column.cast(pa.float64())
        unit = EPOCHS[self.text]
        if not pt.is_integer(column.type):
            counted = pc.floor(pc.add(pc.multiply(column.cast(pa.float64()), unit), 0.5))
        elif unit < 1:
            counted = pc.divide(column.cast(pa.int64()), round(1 / unit))
        else:
            counted = pc.multiply_checked(column.cast(pa.int64()), unit)
        return counted.cast(pa.int64()).cast(pa.timestamp("us", "UTC"))

    def _texts(self, column: Any, name: str) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = column.cast(pa.string())
        regex, iso = self.iso("\\")
        others = column.filter(pc.invert(pc.match_substring_regex(column, regex)))
        if len(others):
            raise Failed(f"{name}: {others[0].as_py()!r} is not written as {self.text}")
        text = pc.replace_substring_regex(column, regex, iso)
        text = pc.replace_substring_regex(text, r"([- :])(\d)\b", r"\10\2")  # of one digit, two
        if "%z" in self.text:
            return text.cast(pa.timestamp("us", "UTC"))
        return pc.assume_timezone(text.cast(pa.timestamp("us")), "UTC")

    def on_spark(self, frame: Any, name: str) -> Any:
        """Return a column of a DataFrame as times."""
        from pyspark.sql import functions as sf
        from pyspark.sql.types import IntegralType, StringType

        from windrow.spark.columns import quoted

        kind = frame.schema[name].dataType
        if kind.typeName() in ("timestamp", "timestamp_ntz", "date"):
            raise self._times_already(name)
        column = quoted(name)
        if not self.is_epoch:
            regex, iso = self.iso("$")
            text = sf.expr(column).cast("string")
            other = sf.concat(
                sf.lit(f"{name}: '"), text, sf.lit(f"' is not written as {self.text}")
            )
            times = sf.regexp_replace(text, regex, iso).cast("timestamp")
            return sf.when(text.isNull() | text.rlike(regex), times).otherwise(
                sf.raise_error(other)
            )
        unit = EPOCHS[self.text]
        counts = f"* {unit}" if unit >= 1 else f"div {round(1 / unit)}"
        whole = f"try_cast({column} AS BIGINT) {counts}"
        fraction = f"CAST(floor(CAST({column} AS DOUBLE) * {unit}D + 0.5D) AS BIGINT)"
        if isinstance(kind, StringType):
            fraction = f"coalesce({whole}, {fraction})"
        counted = whole if isinstance(kind, IntegralType) else fraction
        return sf.expr(f"timestamp_micros({counted})")

    def _times_already(self, name: str) -> Usage:
        return Usage(f"--timestamp-format {self.text}: {name!r} holds times already: leave it out")
