"""The server is killed under an open page: it says so, comes again, and shows the truth."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.installation import Installation, installation
from tests.scenarios.browsing import PATIENCE, window

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(400),
]


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made


def started(house: Installation) -> str:
    """A drill whose second step waits for an answer."""
    wish = {"kind": "drill", "input": {"steps": 2, "ask": True}}
    with house.client() as client:
        made = client.post("/runs", json=wish)
        assert made.is_success, made.text
        return str(made.json()["id"])


@pytest.mark.requirement("console:live:reconnects")
def test_a_page_whose_server_was_killed_comes_again_and_shows_the_truth(
    house: Installation, browser: Browser
) -> None:
    with house.serving() as server:
        run = started(house)
        with window(browser, house) as ana:
            page = ana.opens(f"/runs/{run}")
            ana.live()

            server.kill()
            server.wait()
            page.wait_for_selector('#live[data-state="again"]', timeout=PATIENCE)
            assert page.locator("#live").inner_text() == "reconnecting…"

            with house.serving():
                with house.client() as client:
                    assert client.post(f"/runs/{run}/cancel").is_success
                ana.live()
                page.get_by_text("Cancelled", exact=False).first.wait_for(timeout=PATIENCE)
