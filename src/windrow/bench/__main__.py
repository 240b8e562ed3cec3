"""`python -m windrow.bench`: the same as `windrow bench`."""

from __future__ import annotations

from windrow.bench.command import bench

if __name__ == "__main__":
    bench(prog_name="python -m windrow.bench")
