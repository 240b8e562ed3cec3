"""Queries over frames in memory: pandas, Polars and Arrow."""
