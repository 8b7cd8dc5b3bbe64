"""A test that failed is asked once more in a new house, and why it failed at first is told.

`pytest-rerunfailures` keeps what a module has made for its tests: a server that died in the first
try would be dead in the second, and blamed for it. What is there for the whole session stays.
"""

from collections.abc import Generator
from typing import Final, cast

import pytest

_MOST: Final = 60
"""Lines of each first failure: its end says most."""

_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_failed] = report.failed or (
        report.when != "setup" and item.stash.get(_failed, False)
    )
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    if item.stash.get(_failed, False):
        item.session._setupstate.teardown_exact(cast("pytest.Item", item.session))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    again = terminalreporter.getreports("rerun")
    if again:
        terminalreporter.section("failed at first, and were asked once more")
    for report in again:
        terminalreporter.write_line(f"{report.nodeid} ({report.when})", bold=True)
        for line in report.longreprtext.splitlines()[-_MOST:]:
            terminalreporter.write_line(f"    {line}")
