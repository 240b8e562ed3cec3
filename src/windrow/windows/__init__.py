"""Over which rows: the extent of windows."""
