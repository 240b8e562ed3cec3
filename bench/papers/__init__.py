"""The experiments of the papers: one file each, named after the paper and what it shows.

| paper | |
|---|---|
| 000 | General Incremental Sliding-Window Aggregation (VLDB 2015) |
| 001 | Monoid Tree Aggregator |
| 002 | FlatFIT (SSDBM 2017) |
| 003 | Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time (DEBS 2017) |
| 004 | Parallel Boundary Aggregator (KDD 2021) |
"""
