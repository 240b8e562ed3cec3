"""What a partial aggregate is: columns that are made of rows, merged, and answered."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from windrow.aggregations.base import Aggregation
from windrow.engines.answers import Answerer


class Part(ABC):
    """How one aggregation, over columns of `types`, travels as columns of a table."""

    def __init__(self, name: str, aggregation: Aggregation, types: Sequence[pa.DataType]) -> None:
        self.name, self.aggregation, self.types = name, aggregation, list(types)
        self.fields = self.schema()
        self.names = [field.name for field in self.fields]

    @abstractmethod
    def schema(self) -> list[pa.Field]:
        """The columns, known from the types alone."""

    @abstractmethod
    def make(self, answerer: Answerer) -> list[pa.Array]:
        """The columns for windows over rows."""

    @abstractmethod
    def merge(self, answerer: Answerer) -> list[pa.Array]:
        """The columns for windows over rows of such columns."""

    @abstractmethod
    def answer(self, answerer: Answerer, kind: Any) -> pa.Array:
        """The answers, of type `kind`, for windows over rows of such columns."""

    def own(self, field: str, kind: pa.DataType) -> pa.Field:
        """A column that no other aggregation can use."""
        return pa.field(f"partial::{self.name}:{field}", kind)


def shared(what: str, text: str, kind: pa.DataType) -> pa.Field:
    """A column that every aggregation of `text` that needs it can use."""
    return pa.field(f"partial:{what}:{text}", kind)


def bound_to(aggregation: Aggregation, *columns: str) -> Aggregation:
    """The same aggregation of other columns.

    >>> from windrow import Max
    >>> bound_to(Max("load"), "peak")
    Max('peak')
    """
    made = copy.copy(aggregation)
    made.columns = columns
    return made
