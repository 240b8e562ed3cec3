"""The fault suite's runner: bounds, and the table that it writes."""

from __future__ import annotations

import re

from tests.faults import PAGE, Case, filled, report


def test_the_table_has_a_row_for_each_case() -> None:
    cases = [
        Case("writers killed", "They are killed.", [("killed", 1200)], "passed", 3.0),
        Case("a flood", "It comes.", [], "skipped: the time of the whole suite was over"),
    ]
    text = report(cases, 61.0)
    assert text.startswith("1 of 2 cases passed, in 1 minutes.\n\n| case | what is done |")
    assert "| writers killed | They are killed. | killed: 1,200 | passed | 3 |" in text
    assert "| a flood | It comes. |  | skipped: the time" in text
    assert re.search(r"<sub>.* cores, .*Python 3\..*</sub>\n$", text)


def test_the_page_has_a_place_for_it() -> None:
    page = PAGE.read_text("utf-8")
    assert "\nnew\n<!-- faults: end -->" in filled(page, "new\n")
    assert filled(filled(page, "new\n"), "other\n") == filled(page, "other\n")
