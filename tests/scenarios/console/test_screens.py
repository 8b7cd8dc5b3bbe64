"""The console in a real browser on a running Portico: every screen can be read by everybody, and no
browser complains of it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.scenarios.browsing import THEMES, Window, window
from tests.scenarios.console_town import Filled, Town

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(600),
]

SCREENS = {
    "inbox": "/inbox",
    "runs": "/runs",
    "run": "/runs/{filled.waiting}",
    "run-done": "/runs/{filled.done}",
    "run-failed": "/runs/{filled.failed}",
    "chats": "/chat",
    "chat": "/chat/{filled.chat}",
    "bridge": "/bridge",
    "project": "/bridge/{filled.project}",
    "conversation": "/bridge/{filled.project}/{filled.conversation}",
    "debates": "/debates",
    "new-debate": "/debates/new",
    "debate": "/debates/{filled.debate}",
    "tools": "/tools",
    "graph": "/graph",
    "servers": "/servers",
    "server": "/servers/library",
    "agents": "/agents",
    "agent": "/agents/librarian",
    "metrics": "/figures",
    "audit": "/audit",
    "settings": "/settings",
    "keys": "/settings/keys",
    "welcome": "/welcome",
}


@pytest.fixture(scope="module")
def ana(browser: Browser, town: Town) -> Iterator[Window]:
    with window(browser, town.house) as made:
        yield made


@pytest.mark.requirement("console:screens:axe")
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_is_whole(ana: Window, filled: Filled, screen: str, theme: str) -> None:
    """Nothing for axe to find by WCAG 2.2 AA, nothing on the browser's console."""
    ana.wrong.clear()
    ana.dressed(theme)

    page = ana.opens(SCREENS[screen].format(filled=filled))
    ana.live()

    assert page.locator("h1").count() == 1
    assert ana.violations() == []
    assert ana.wrong == []
