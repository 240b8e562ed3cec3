"""`import windrow.pandas` gives the frames of pandas `frame.windrow.sliding(…)`."""

from windrow.errors import extra
from windrow.tables.accessors import FrameWindows

extra("frame.windrow", "pandas", "pandas").api.extensions.register_dataframe_accessor("windrow")(
    FrameWindows
)
