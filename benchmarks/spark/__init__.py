"""Queries over Spark DataFrames against Spark's own windows, in one run.

Every case is a job on the same cached rows (key, ts, v) into the noop sink, on all cores. The
cases of a comparison take turns; what is shown are medians, and ratios of medians.
"""
