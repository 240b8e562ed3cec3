"""Loops specialised to one aggregation over one kind of number."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
