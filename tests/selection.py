"""Which tests run: those marked `nightly` or `planted`, or in quarantine, only with `--nightly`.

`quarantine.txt` names tests that fail by chance and whose cause was not found: one test id a line,
above it a comment with the date, what was seen and what was tried.
"""

from pathlib import Path
from typing import Final

import pytest

QUARANTINE: Final = Path(__file__).parent / "quarantine.txt"
MOST: Final = 10


def quarantined(text: str) -> frozenset[str]:
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nightly",
        action="store_true",
        help="also tests marked nightly or planted, and those in quarantine",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--nightly"):
        return
    away = quarantined(QUARANTINE.read_text())
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        left = any(map(item.get_closest_marker, ("nightly", "planted"))) or item.nodeid in away
        (left_out if left else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    away = quarantined(QUARANTINE.read_text())
    if away and not config.getoption("--nightly"):
        terminalreporter.section("in quarantine, not run")
        for each in sorted(away):
            terminalreporter.write_line(each)
