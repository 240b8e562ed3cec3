"""FOA's own: earlier versions of the window stay valid, and branches do not meet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windrow import Collect, aggregator
from windrow.algorithms.foa import Version


@given(st.lists(st.integers(0, 2), max_size=60))
def test_every_version_stays_what_it_was(steps: list[int]) -> None:
    versions = [Version(Collect())]
    contents: list[list[int]] = [[]]
    for i, step in enumerate(steps):
        at = (i * 7 + step) % len(versions)  # continue from any version, not only the newest
        if step and contents[at]:
            versions.append(versions[at].evict())
            contents.append(contents[at][1:])
        else:
            versions.append(versions[at].insert(i))
            contents.append([*contents[at], i])
    for version, content in zip(versions, contents, strict=True):
        assert (version.query() or []) == content
        assert len(version) == len(content)


def test_a_snapshot_is_not_touched_by_what_follows() -> None:
    swag = aggregator(Collect(), "foa")
    swag.extend(range(10))
    before = swag.snapshot()
    swag.evict(7)
    swag.extend("abc")
    assert before.query() == list(range(10))
    assert before.evict().query() == list(range(1, 10))
    assert swag.query() == [7, 8, 9, "a", "b", "c"]


def test_long_windows_need_no_deep_recursion() -> None:
    swag = aggregator(Collect(), "foa")
    for i in range(20_000):
        swag.insert(i % 10) if i < 5 else swag.insert(None)
    swag.evict(19_000)
    assert len(swag) == 1000
    del swag
