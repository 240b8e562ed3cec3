"""The benchmarks of windrow: the papers' experiments, and comparisons with other libraries.

    python -m bench papers | peers | figures | compare | cold

An `Experiment` yields `Point`s: who, where on the axis, and the time of each round, or why there is
none. It states `Rule`s, which are checked on the points. A run keeps the points as they come; the
reports and the figures in the documents are written from what it kept. See docs/bench.md.
"""
