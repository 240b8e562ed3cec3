"""`python -m bench`: the same as `windrow bench` in a checkout."""

from __future__ import annotations

from bench.command import bench

if __name__ == "__main__":
    bench(prog_name="python -m bench")
