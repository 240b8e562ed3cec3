"""Streams on local Spark: against Spark's own hopping windows, and what state costs.

    python -m benchmarks.streaming --json F --markdown F

Rows come from Parquet files, one a micro-batch, to the noop sink. Rows a second are those of all
micro-batches but the first, which starts workers and compiles.
"""
