"""`import windrow.polars` gives Polars' frames, lazy ones too, `frame.windrow.sliding(…)`."""

from windrow.errors import extra
from windrow.tables.accessors import FrameWindows

_api = extra("frame.windrow", "polars", "polars").api
_api.register_dataframe_namespace("windrow")(FrameWindows)
_api.register_lazyframe_namespace("windrow")(FrameWindows)
