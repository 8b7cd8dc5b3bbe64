"""What the gate leaves out, it leaves out by name."""

import re
from pathlib import Path

from tests.selection import MOST, QUARANTINE, quarantined

ROOT = Path(__file__).parents[1]


def test_comments_and_blank_lines_name_no_test() -> None:
    text = "# seen on Monday\n\ntests/test_a.py::test_b[c d]\n  # tried\n"

    assert quarantined(text) == {"tests/test_a.py::test_b[c d]"}


def test_quarantine_is_small_and_every_test_in_it_exists() -> None:
    away = quarantined(QUARANTINE.read_text())

    assert len(away) <= MOST
    for each in away:
        path, _, test = each.partition("::")
        function = re.escape(test.partition("[")[0])
        assert re.search(rf"def {function}\(", (ROOT / path).read_text()), each
