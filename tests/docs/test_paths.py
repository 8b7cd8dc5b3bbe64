"""Files that a page names in the repository are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples/README.md",
]
_PATH = re.compile(r"`((?:src|tests|docs|examples|deploy|requirements|benchmarks)/[\w./-]+)`")
_OLDER = ("docs/decisions/", "CHANGELOG.md")
"""What was so when it was written."""


def paths(page: Path) -> list[str]:
    found = _PATH.findall(page.read_text("utf-8"))
    return [each for each in found if "NAME" not in each and "NNNN" not in each]


def test_pages_name_no_file_that_is_not_there() -> None:
    missing = {
        (page.name, path)
        for page in PAGES
        if not str(page.relative_to(ROOT)).startswith(_OLDER)
        for path in paths(page)
        if not (ROOT / path).exists()
    }

    assert missing == set()


@pytest.mark.requirement("first-hour:architecture:traced")
def test_the_two_requests_of_the_architecture_are_followed_by_files_that_are_there() -> None:
    page = (ROOT / "docs/subsystems/architecture.md").read_text("utf-8")
    call, turn = page.partition("## A tool call")[2].split("## An agent's turn")

    followed = [set(_PATH.findall(part)) for part in (call, turn)]

    assert [len(each) > 12 for each in followed] == [True, True]
    assert all((ROOT / path).is_file() for each in followed for path in each)
