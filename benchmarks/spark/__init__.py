"""Spark DataFrames: the same question to windrow, to Spark's own windows, and to Spark's hopping
`window()`, in one run.

The frame is cached, results go to the noop sink, and the peers of a comparison take turns. What
would take hours is asked about fewer keys or rows, and compared by rows a second. Cores and memory
are measured in processes of their own.
"""
