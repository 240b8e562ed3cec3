"""The papers' experiments and the peers: what `windrow bench` measures and draws.

A result is a `Point`: who, where on the axis, and how long in each round, or why there is nothing.
An `Experiment` yields points and states by which rules they agree with what was to be expected; a
run keeps the points as they come, and a report is made from what is there.
"""
