"""A chat on a real model, in a real browser: what a small one on llama.cpp says comes word by
word."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.installation import installation
from tests.models.llama_server import llama_server
from tests.real_servers.gateway import Gateway
from tests.scenarios.browsing import PATIENCE, Window, chromium, window
from tests.scenarios.console_town import Town
from tests.scenarios.keyboard import Hands

BRIEF = "brief"
_GREW = """() => {
    const said = document.querySelector('.chat-typed, .chat-turn .prose')?.textContent ?? '';
    window.heard = window.heard ?? [];
    if (said !== '' && window.heard.at(-1) !== said) window.heard.push(said);
    return window.heard.length > 3;
}"""
"""Whether more than three states of the answer were seen on the page, as it is typed and after."""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(600),
    pytest.mark.requirement("console:screens:keyboard"),
]


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with llama_server() as model, installation() as house:
        with (house.home / "config" / "portico.toml").open("a", encoding="utf-8") as settings:
            settings.write(
                "\n[models]\ndiscover = false\n\n[models.providers.llama]\n"
                f'kind = "compatible"\nurl = "{model.url}/v1"\n'
            )
        with house.serving():
            made = Town(house, Gateway(house))
            spec = {"name": BRIEF, "model": f"llama:{model.model}", "most_output": 48}
            made.ask("POST", "/agents", spec)
            yield made


@pytest.fixture(scope="module")
def opened(town: Town) -> Iterator[Window]:
    expect.set_options(timeout=2 * PATIENCE)
    with chromium() as browser, window(browser, town.house) as made:
        yield made


@pytest.fixture
def ana(opened: Window) -> Iterator[Hands]:
    opened.wrong.clear()
    yield Hands(opened)
    assert opened.wrong == []


def test_what_a_model_says_comes_word_by_word_and_is_what_the_trace_keeps(
    ana: Hands, town: Town
) -> None:
    page = ana.window.opens(f"/chat?agent={BRIEF}")

    ana.press("n")
    ana.type("Tell a very long story of two herons.")
    ana.press("Enter")
    page.wait_for_url("**/chat/run_*", timeout=PATIENCE)
    page.wait_for_function(_GREW, polling=20, timeout=2 * PATIENCE)
    expect(page.locator("#chat-foot[data-over=yes]")).to_be_visible()

    states: list[str] = page.evaluate("window.heard")
    for earlier, later in pairwise(states):
        assert _letters(later).startswith(_letters(earlier)), "what was said is not taken back"
    run = page.url.rpartition("/")[2]
    trace = town.until(f"/traces/{run}", lambda found: found["run"]["status"] == "completed")
    shown = page.locator(".chat-turn .prose").last.inner_text()
    assert _letters(shown) == _letters(trace["run"]["answer"])
    assert 0 < trace["run"]["usage"]["output"] <= 48


def _letters(text: str) -> str:
    """Without what Markdown makes of it."""
    return "".join(each for each in text if each.isalpha())
