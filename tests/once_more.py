"""A test that failed is asked once more in a new house, and why it failed at first is told.

`pytest-rerunfailures` keeps what a module has made for its tests: a server that died in the first
try would be dead in the second, and blamed for it. What is there for the whole session stays.

What a test had open when it failed is kept by its traceback until some later test, which would be
blamed for not closing it: it is let go of at once, and without a word.
"""

import gc
import sys
import traceback
import warnings
from collections.abc import Generator
from typing import Final, cast

import pytest

_MOST: Final = 60
"""Lines of each first failure: its end says most."""

_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.excinfo is not None and not item.config.getoption("usepdb"):
        _let_go(call.excinfo.value)
    item.stash[_failed] = report.failed or (
        report.when != "setup" and item.stash.get(_failed, False)
    )
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    if item.stash.get(_failed, False):
        item.session._setupstate.teardown_exact(cast("pytest.Item", item.session))


def _let_go(error: BaseException) -> None:
    """What it says has been written down by now."""
    for name in ("last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in _with_its_causes(error):
            traceback.clear_frames(each.__traceback__)
            for frame, _ in traceback.walk_tb(each.__traceback__):
                _ = (
                    frame.f_locals
                )  # whoever has shown them keeps a copy, which is made anew by this
        gc.collect()


def _with_its_causes(error: BaseException) -> list[BaseException]:
    found = [error]
    for each in found:
        others = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        for other in (each.__cause__, each.__context__, *others):
            if other is not None and other not in found:
                found.append(other)
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    again = terminalreporter.getreports("rerun")
    if again:
        terminalreporter.section("failed at first, and were asked once more")
    for report in again:
        terminalreporter.write_line(f"{report.nodeid} ({report.when})", bold=True)
        for line in report.longreprtext.splitlines()[-_MOST:]:
            terminalreporter.write_line(f"    {line}")
