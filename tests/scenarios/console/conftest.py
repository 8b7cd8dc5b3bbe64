"""What every test of the console begins with: a browser, and a running Portico to look at."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.scenarios.browsing import PATIENCE, Window, chromium, window
from tests.scenarios.console_town import Filled, Town, console_town, fill
from tests.scenarios.keyboard import Hands
from tests.scenarios.somebody_else import Somebody, somebody


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=2 * PATIENCE)
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with console_town(everything=False) as made:
        yield made


@pytest.fixture(scope="module")
def filled(town: Town) -> Filled:
    return fill(town)


@pytest.fixture(scope="module")
def opened(browser: Browser, town: Town) -> Iterator[Window]:
    with window(browser, town.house) as made:
        yield made


@pytest.fixture
def ana(opened: Window) -> Iterator[Hands]:
    """Nothing may be on the console of her browser."""
    opened.wrong.clear()
    yield Hands(opened)
    assert opened.wrong == []


@pytest.fixture
def bo(town: Town) -> Somebody:
    """Another one for each test: what is approved for good is approved for them alone."""
    return somebody(town)
