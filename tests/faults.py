"""The fault suite: ``python -m tests.faults`` runs it and writes docs/reliability.md.

A case is a test marked `faults`; its docstring says what is done, and `record_property` counts it.
The whole run is bounded, and so is each case. With arguments, which go to pytest, only those cases
run and nothing is written.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from bench.report import as_markdown
from bench.run import machine

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
MARKS = re.compile(r"(<!-- faults: begin[^>]*-->\n).*?(<!-- faults: end -->\n)", flags=re.DOTALL)
WHOLE, CASE = 15 * 60, 6 * 60  # seconds
PACKAGES = ["pyspark", "pyarrow", "numba", "numpy", "rocksdict", "lmdb", "redis"]


@dataclass
class Case:
    """One case, and what came of it."""

    name: str
    done: str
    counts: list[tuple[str, Any]] = field(default_factory=list)
    outcome: str = "not run"
    seconds: float = 0.0


class FaultSuite:
    """What pytest calls: it bounds the cases, and keeps their counts."""

    def __init__(self, whole: float = WHOLE, case: float = CASE) -> None:
        self._end, self._case = time.monotonic() + whole, case
        self.cases: dict[str, Case] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        slowest = ("spark", "test_faults")  # what takes longest comes last
        items.sort(key=lambda item: [part in item.nodeid for part in slowest])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.cases[item.nodeid] = Case(name_of(item), first_line(getattr(item, "obj", None)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        with self._bounded():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with self._bounded():
            return (yield)

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """Raise in what runs, when the time of a case or of them all is over."""
        left = min(self._case, self._end - time.monotonic())

        def over(*_: object) -> None:
            raise TimeoutError(f"it took longer than {max(left, 0):.0f} s")

        if left <= 0:
            pytest.skip("the time of the whole suite was over")
        before = signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, left)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        case = self.cases[report.nodeid]
        case.seconds += report.duration
        if report.when == "call" or not report.passed:
            case.outcome = report.outcome
            case.counts = list(report.user_properties)
            if report.skipped and isinstance(report.longrepr, tuple):
                case.outcome += f": {report.longrepr[2].removeprefix('Skipped: ')}"
            elif report.failed:
                crash = getattr(report.longrepr, "reprcrash", None)
                case.outcome += f": {crash.message.splitlines()[0]}" if crash else ""


def name_of(item: pytest.Item) -> str:
    """Return the name of a test as words."""
    name, _, case = item.name.removeprefix("test_").partition("[")
    about = case.rstrip("]").replace("-", ", ")
    return name.replace("_", " ") + (f" ({about})" if about else "")


def first_line(function: Any) -> str:
    """Return the first sentence of a docstring."""
    return " ".join((getattr(function, "__doc__", None) or "").strip().split("\n\n")[0].split())


def report(cases: list[Case], seconds: float) -> str:
    """Return the cases as a table, with the machine, the versions and the date below."""
    rows = [["case", "what is done", "counted", "outcome", "seconds"]]
    for case in cases:
        counts = "; ".join(f"{what}: {number:,}" for what, number in case.counts)
        rows.append([case.name, case.done, counts, case.outcome, f"{case.seconds:.0f}"])
    here = machine()
    versions = {"Python": here["python"], "windrow": here["windrow"]}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    passed = sum(case.outcome == "passed" for case in cases)
    return (
        f"{passed} of {len(cases)} cases passed, in {seconds / 60:.0f} minutes.\n\n"
        f"{as_markdown(rows)}\n\n"
        f"<sub>{here['cpu']}, {here['cores']} cores, {here['system']}, load "
        f"{here['load_before'] or 0:.0f}; {listed}; "
        f"{here['when']}.</sub>\n"
    )


def filled(page: str, inside: str) -> str:
    """Return the page with `inside` between its marks.

    >>> filled("a\\n<!-- faults: begin -->\\nold\\n<!-- faults: end -->\\n", "new\\n")
    'a\\n<!-- faults: begin -->\\nnew\\n<!-- faults: end -->\\n'
    """
    return MARKS.sub(lambda match: f"{match[1]}{inside}{match[2]}", page)


def main(arguments: list[str]) -> int:
    suite, begin = FaultSuite(), time.monotonic()
    options = ["-m", "faults", "-q", "-p", "no:cacheprovider"]
    code = int(pytest.main([*options, *(arguments or [str(ROOT / "tests")])], plugins=[suite]))
    inside = report(list(suite.cases.values()), time.monotonic() - begin)
    if arguments:
        print(inside)
    else:
        PAGE.write_text(filled(PAGE.read_text("utf-8"), inside), encoding="utf-8")
        print(f"windrow: written to {PAGE.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
