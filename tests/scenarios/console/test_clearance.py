"""Somebody who is cleared for less looks at everything through the console: what is above them is
on no screen, in no search, in no count and in no stream, and its address is as one of nothing."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.real_servers.world import give_away
from tests.scenarios.agent_house import LIBRARY
from tests.scenarios.browsing import Window, window
from tests.scenarios.console_town import Filled, Town, a_plan

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(600),
]

CANARY = "kestrel"
"""A word of everything that is above them, and of nothing else."""
NOTHING = "osprey"
LISTS = (
    *("/inbox", "/inbox?status=all", "/runs", "/chat", "/bridge", "/debates", "/tools"),
    *(f"/tools?q={CANARY}", "/graph", "/servers", "/agents", "/figures", "/welcome"),
    *(f"/bridge?q={CANARY}", f"/palette?q={CANARY}"),
)
_TIMES = re.compile(r"\b(just now|\d+(\.\d+)? (ms|s|min|h|d)( ago)?|in \d+ \w+|never)\b")
_LIKELY = re.compile(r"\d+\s*%\s*likely")
"""How rare a word is, is counted over all tools of a space: what is above them may move it."""


@dataclass(frozen=True)
class Secrets:
    """Addresses of what is above them."""

    places: list[str]
    topics: list[str]


@pytest.fixture(scope="module")
def bob(browser: Browser, town: Town, filled: Filled) -> Iterator[Window]:
    """A member who is cleared for what is the team's."""
    with window(browser, town.house, town.person("bob", "team")) as made:
        yield made


def kept(town: Town, filled: Filled) -> Secrets:
    folder = town.house.home.parent / CANARY
    folder.mkdir()
    give_away(folder)
    town.gateway.add(CANARY, [sys.executable, str(LIBRARY), "0", str(folder)])
    town.gateway.approve(CANARY)
    town.ask("PUT", f"/servers/{CANARY}/label", {"label": "restricted", "clearance": "restricted"})
    secret = {"label": "restricted"}
    project = town.ask("POST", "/projects", {"name": f"Project {CANARY}", **secret})["id"]
    talk = {"project": filled.project, "title": f"About the {CANARY}", **secret}
    conversation = town.ask("POST", "/conversations", talk)["id"]
    for place in (conversation, filled.conversation):
        said: dict[str, Any] = {"body": f"The {CANARY} flies at night.", **secret}
        town.ask("POST", f"/conversations/{place}/messages", said)
    memory = f"/projects/{filled.project}/memory/value?key={CANARY}"
    town.ask("PUT", memory, {"value": CANARY, **secret})
    plan = {"plan": {"steps": a_plan(CANARY)[:4]}, "intent": f"Look for the {CANARY}", **secret}
    run = town.ask("POST", "/workflows", plan)["run"]
    voices = ["voters:gpt-heron", "voters:claude-egret"]
    wish = {"question": f"Is the {CANARY} a bird?", "voices": voices, **secret}
    debate = town.ask("POST", "/debates", wish, Prefer="wait=60")["id"]
    places = [
        *(f"/runs/{run}", f"/bridge/{project}", f"/bridge/{filled.project}/{conversation}"),
        *(f"/debates/{debate}", f"/servers/{CANARY}", f"/tools/{CANARY}.find_books"),
    ]
    return Secrets(places, [run, conversation, debate])


def texts(who: Window, places: tuple[str, ...]) -> dict[str, str]:
    """What they read there, without the times."""
    found = {}
    for place in places:
        page = who.opens(place)
        if page.locator("#live").count():
            who.live()
        text = _LIKELY.sub("", _TIMES.sub("", page.locator("body").inner_text()))
        found[place] = " ".join(text.split())
    return found


@pytest.mark.requirement("console:clearance:nothing-above")
def test_what_is_above_them_changes_nothing_that_they_see(
    town: Town, filled: Filled, bob: Window
) -> None:
    talk = f"/bridge/{filled.project}/{filled.conversation}"
    places = (*LISTS, talk, f"/bridge/{filled.project}", f"/runs/{filled.waiting}")
    before = texts(bob, places)
    bob.opens("/runs")
    bob.page.evaluate(
        """topics => { window.told = []; window.source = new EventSource('/live?topics=' + topics);
        window.source.onmessage = event => window.told.push(event.data); }""",
        f"runs,{filled.conversation}",
    )

    secrets = kept(town, filled)

    told = "".join(bob.page.evaluate("window.told"))
    assert CANARY not in told
    assert not [topic for topic in secrets.topics if topic in told]
    after = texts(bob, places)
    for place in places:
        assert CANARY not in after[place].replace(f"{CANARY}”", "").replace(f"q={CANARY}", ""), (
            place
        )
        assert after[place] == before[place], place
    for place in (*secrets.places, "/runs/run_" + "0" * 26):
        told = missed(bob, place)
        if CANARY in place:
            # It says again what it was asked for, as of what nobody has ever heard of.
            assert told.replace(CANARY, NOTHING) == missed(bob, place.replace(CANARY, NOTHING))
        else:
            assert CANARY not in told, place


def missed(who: Window, place: str) -> str:
    """What is said of something that is not there for them."""
    answer = who.page.goto(f"{who.house.url}{place}")
    assert answer is not None
    assert answer.status == 404, place
    return who.page.locator("main").inner_text()
