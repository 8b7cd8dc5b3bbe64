"""Whatever a server, a model, an agent or a person writes is text in the console: hundreds of texts
that would run stand on every screen, and none does, nor is any of them taken for markup."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.scenarios.browsing import Window, window
from tests.scenarios.console_town import Town
from tests.scenarios.hostile_texts import hostile_texts
from tests.scenarios.scripted_model import says

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(600),
]

TEXTS = hostile_texts()
TOOLS = Path(__file__).parents[1] / "hostile_tools.py"
ONE = "<img src=x onerror=window.ran=1>"


@pytest.fixture(scope="module")
def places(town: Town) -> list[str]:
    """Where all of it is seen."""
    folder = str(Path(__file__).parents[3])
    town.gateway.add("hostile", [sys.executable, str(TOOLS)], environment={"PYTHONPATH": folder})
    town.gateway.approve("hostile")
    run = town.plan(
        [
            {"id": f"step{number}", "tool": f"hostile.tool_{number}", "on_error": "skip"}
            for number in range(10)
        ],
        wait=30,
        intent=ONE,
    )
    asks = {"name": "ask", "decision": "ask", "tools": ["hostile.tool_1"]}
    town.ask("POST", "/policy/rules", asks)
    for number in range(3):
        given = {"choice": TEXTS[8 + number], TEXTS[8][:120]: TEXTS[9]}
        town.plan([{"id": "asks", "tool": "hostile.tool_1", "arguments": given}], intent=ONE)
    town.until("/approvals?status=waiting", lambda found: len(found["data"]) == 3)
    chat = town.chat(says("\n\n".join(TEXTS)), say="\n\n".join(TEXTS[::5]))
    town.until(f"/traces/{chat}", lambda found: found["run"]["status"] == "completed")
    conversation, project = _talk(town)
    debate = _debate(town)
    _names(town)
    steps = [f"/runs/{run}?step=step{number}" for number in range(10)]
    tools = [f"/tools/hostile.tool_{number}" for number in range(len(TEXTS) // 8)]
    return [
        *("/inbox", "/runs", f"/runs/{run}", *steps, "/chat", f"/chat/{chat}"),
        *("/bridge", f"/bridge/{project}", f"/bridge/{project}/{conversation}"),
        *("/debates", f"/debates/{debate}", "/tools", "/tools?q=script", *tools[:12]),
        *("/graph", "/servers", "/servers/hostile", "/agents", "/agents/librarian"),
        *("/figures", "/audit", "/settings", "/settings/keys", "/settings/people"),
        *("/settings/policy", "/settings/secrets", "/welcome"),
    ]


def _talk(town: Town) -> tuple[str, str]:
    project = town.ask("POST", "/projects", {"name": ONE, "description": "\n".join(TEXTS[:40])})
    talk = {"project": project["id"], "title": ONE}
    conversation = town.ask("POST", "/conversations", talk)["id"]
    for place in range(0, len(TEXTS), 5):
        body = "\n\n".join(TEXTS[place : place + 5])
        town.ask("POST", f"/conversations/{conversation}/messages", {"body": body})
    for number, text in enumerate(TEXTS[:10]):
        path = f"/projects/{project['id']}/memory/value?key=key{number}"
        town.ask("PUT", path, {"value": text})
    return conversation, str(project["id"])


def _debate(town: Town) -> str:
    wish: dict[str, Any] = {
        "question": "\n".join(TEXTS[:20]),
        "choices": [ONE, "PostgreSQL", "SQLite"],
        "voices": ["voters:gpt-heron", "voters:claude-egret"],
    }
    return str(town.ask("POST", "/debates", wish, Prefer="wait=60")["id"])


def _names(town: Town) -> None:
    """Of keys and people, as far as they may be named so."""
    for text in TEXTS[:6]:
        town.ask("POST", "/keys", {"name": text[:100]})
        who = {"name": text[:100], "roles": [], "clearance": "public"}
        town.ask("POST", "/invitations", who)


@pytest.fixture(scope="module")
def ana(browser: Browser, town: Town) -> Iterator[Window]:
    with window(browser, town.house) as made:
        made.page.on("dialog", lambda dialog: made.wrong.append(f"dialog: {dialog.message}"))
        yield made


def test_there_are_two_hundred_of_them() -> None:
    assert len(TEXTS) >= 200


@pytest.mark.requirement("console:hostile:none-runs")
def test_none_of_them_runs_on_any_screen(ana: Window, places: list[str]) -> None:
    """A policy that stopped one would be told of on the browser's console: so none was markup."""
    for place in places:
        ana.wrong.clear()
        page = ana.opens(place)
        page.evaluate("document.querySelectorAll('main details').forEach(it => it.open = true)")
        page.wait_for_timeout(150)

        assert page.evaluate("window.ran") is None, place
        assert ana.wrong == [], place
        strange = "main iframe, main object, main embed, main base, main img:not([data-own])"
        assert page.locator(strange).count() == 0, place
        assert page.locator("main [onerror], main [onload], main [onfocus]").count() == 0, place
        assert page.locator("main a[href^='javascript' i]").count() == 0, place
