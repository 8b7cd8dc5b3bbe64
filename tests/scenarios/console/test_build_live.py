"""Build, observe and settings: what happens behind an open page shows on it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.scenarios.browsing import Window, window
from tests.scenarios.console_town import Town, a_plan
from tests.scenarios.keyboard import Hands
from tests.scenarios.scripted_model import MODEL

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.requirement("console:screens:live"),
]


@pytest.fixture(scope="module", autouse=True)
def something_ran(town: Town) -> None:
    town.plan(a_plan("rivers")[:4], wait=30)


@pytest.fixture(scope="module")
def ana(browser: Browser, town: Town) -> Iterator[Window]:
    with window(browser, town.house) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_to_complain_of(ana: Window) -> Iterator[None]:
    ana.wrong.clear()
    yield
    assert ana.wrong == []


def test_a_server_that_is_switched_off_is_so_on_its_list_and_its_tools_are_gone(
    ana: Window, town: Town
) -> None:
    tools = ana.opens("/tools").locator("#tools-count").inner_text()
    page = ana.opens("/servers")
    row = page.locator("#servers-list [data-row]", has_text="everything")
    expect(row).not_to_contain_text("off")

    with Hands(ana).without_reload():
        town.ask("POST", "/servers/everything/disable")
        expect(row).to_contain_text("off")

    counted = ana.opens("/tools").locator("#tools-count")
    expect(counted).not_to_have_text(tools)
    with Hands(ana).without_reload():
        town.ask("POST", "/servers/everything/enable")
        expect(counted).to_have_text(tools)


def test_an_agent_that_somebody_makes_comes_into_the_list(ana: Window, town: Town) -> None:
    page = ana.opens("/agents")
    row = page.locator("#agents-list [data-row]", has_text="bookbinder")
    expect(row).to_have_count(0)

    with Hands(ana).without_reload():
        spec = {"name": "bookbinder", "model": f"script:{MODEL}", "tools": []}
        town.ask("POST", "/agents", {**spec, "instructions": "You bind books."})
        expect(row).to_be_visible()


def test_a_key_that_somebody_makes_comes_into_the_list(ana: Window, town: Town) -> None:
    page = ana.opens("/settings/keys")
    row = page.locator("#keys-list [data-row]", has_text="night-shift")
    expect(row).to_have_count(0)

    with Hands(ana).without_reload():
        town.ask("POST", "/keys", {"name": "night-shift"})
        expect(row).to_be_visible()


def test_what_is_done_comes_into_the_audit(ana: Window, town: Town) -> None:
    page = ana.opens("/audit?action=policy.")
    first = page.locator("#audit-entries tbody tr").first
    before = first.inner_text()

    with Hands(ana).without_reload():
        rule = {"name": "deny-nothing-real", "decision": "deny", "tools": ["library.no_such"]}
        town.ask("POST", "/policy/rules", rule)
        expect(first).not_to_have_text(before)


def test_a_browser_elsewhere_comes_into_the_sessions(
    ana: Window, browser: Browser, town: Town
) -> None:
    rows = ana.opens("/settings").locator("#own-sessions [data-row]")
    many = rows.count()

    with Hands(ana).without_reload(), window(browser, town.house):
        expect(rows).to_have_count(many + 1)


def test_calls_are_counted_while_one_looks(ana: Window, town: Town) -> None:
    page = ana.opens("/figures")
    row = page.locator("#figures-library")
    before = row.inner_text()

    with Hands(ana).without_reload():
        for topic in ("salt", "stars", "tides"):
            town.plan(a_plan(topic)[:3], wait=30)
        expect(row).not_to_have_text(before)


def test_what_is_learnt_is_counted_beside_the_graph(ana: Window, town: Town) -> None:
    counted = ana.opens("/graph?all=1").locator("#graph-count")
    before = counted.inner_text()

    with Hands(ana).without_reload():
        echo = {"id": "say", "tool": "everything.echo", "arguments": {"message": "tides"}}
        add = {"id": "add", "tool": "everything.get-sum", "arguments": {"a": 1, "b": 2}}
        town.plan([*a_plan("tides")[:1], {**echo, "after": ["found"]}], wait=30)
        town.plan([echo, {**add, "after": ["say"]}], wait=30)
        expect(counted).not_to_have_text(before)


def test_a_server_that_is_let_in_is_counted_on_the_welcome(ana: Window, town: Town) -> None:
    page = ana.opens("/welcome")
    row = page.locator("#welcome-servers [data-row]", has_text="late-library")
    expect(row).to_have_count(0)

    with Hands(ana).without_reload():
        town.gateway.add("late-library", ["/usr/bin/false"])
        expect(row).to_be_visible()
    town.gateway.remove("late-library")
