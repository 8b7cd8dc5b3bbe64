"""What happens behind an open screen shows on it without a reload; and what a browser alone can
show of screens with nothing on them, and of whoever comes by a link."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.installation import Installation, installation
from tests.scenarios.browsing import window
from tests.scenarios.console_town import Town, a_plan, console_town
from tests.scenarios.keyboard import Hands
from tests.scenarios.scripted_model import MODEL, says
from tests.scenarios.somebody_else import Somebody
from tests.scenarios.voting_models import MODELS

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
]
LIVE = pytest.mark.requirement("console:screens:live")
STATES = pytest.mark.requirement("console:screens:states")


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with console_town() as made:
        made.plan(a_plan("rivers")[:4], wait=30)
        made.chat(says("Yes."), say="Is there a list?")
        made.ask("POST", "/projects", {"name": "Harbour", "label": "team"})
        yield made


def an_agent(town: Town) -> None:
    spec = {"name": "bookbinder", "model": f"script:{MODEL}", "tools": []}
    town.ask("POST", "/agents", {**spec, "instructions": "You bind books."})


def a_debate(town: Town, question: str = "Is the egret a bird?") -> str:
    wish = {"question": question, "voices": [f"voters:{MODELS[0]}"], "guests": 1}
    return str(town.ask("POST", "/debates", {**wish, "choices": ["yes", "no"]})["id"])


Act = Callable[[Town], Any]
COMES: dict[str, tuple[str, str, Act]] = {
    "/agents": ("#agents-list [data-row]", "bookbinder", an_agent),
    "/settings/keys": (
        "#keys-list [data-row]",
        "night-shift",
        lambda town: town.ask("POST", "/keys", {"name": "night-shift"}),
    ),
    "/audit?action=policy.": (
        "#audit-entries tbody tr",
        "deny-nothing-real",
        lambda town: town.ask(
            "POST",
            "/policy/rules",
            {"name": "deny-nothing-real", "decision": "deny", "tools": ["library.no_such"]},
        ),
    ),
    "/welcome": (
        "#welcome-servers [data-row]",
        "late-library",
        lambda town: town.gateway.add("late-library", ["/usr/bin/false"]),
    ),
    "/debates": ("#debate-list tr", "Is the egret a bird?", a_debate),
    "/bridge": (
        "#bridge-projects",
        "Mole",
        lambda town: town.ask("POST", "/projects", {"name": "Mole", "label": "team"}),
    ),
    "/servers?only=off": (
        "#servers-list [data-row]",
        "everything",
        lambda town: town.ask("POST", "/servers/everything/disable"),
    ),
}
"""On which screen what is seen, once what was done."""


@LIVE
@pytest.mark.parametrize("path", COMES)
def test_what_is_made_elsewhere_comes_into_the_list(ana: Hands, town: Town, path: str) -> None:
    where, text, act = COMES[path]
    town.ask("POST", "/servers/everything/enable")
    ana.watch(path)
    expect(ana.page.locator(where).filter(has_text=text)).to_have_count(0)

    act(town)

    ana.see(where, text)
    assert ana.undisturbed()


def some_calls(town: Town) -> None:
    for topic in ("salt", "stars", "tides"):
        town.plan(a_plan(topic)[:3], wait=30)


def other_ways(town: Town) -> None:
    echo = {"id": "say", "tool": "everything.echo", "arguments": {"message": "tides"}}
    add = {"id": "add", "tool": "everything.get-sum", "arguments": {"a": 1, "b": 2}}
    town.plan([*a_plan("tides")[:1], {**echo, "after": ["found"]}], wait=30)
    town.plan([echo, {**add, "after": ["say"]}], wait=30)


@LIVE
@pytest.mark.parametrize(
    ("path", "where", "act"),
    [
        ("/figures", "#figures-library", some_calls),
        ("/graph?all=1", "#graph-count", other_ways),
        ("/tools", "#tools-count", lambda town: town.ask("POST", "/servers/everything/disable")),
    ],
)
def test_what_is_counted_changes_while_one_looks(
    ana: Hands, town: Town, path: str, where: str, act: Act
) -> None:
    town.ask("POST", "/servers/everything/enable")
    ana.watch(path)
    counted = ana.page.locator(where)
    before = counted.inner_text()

    act(town)

    expect(counted).not_to_have_text(before)
    assert ana.undisturbed()


@LIVE
def test_a_chat_comes_into_the_list(ana: Hands, town: Town) -> None:
    ana.watch("/chat")

    run = town.chat(says("Here."), say="Are you there?")

    ana.see(f'#chats a[href="/chat/{run}"]', "answered")
    assert ana.undisturbed()


@LIVE
def test_a_browser_elsewhere_comes_into_the_sessions(
    ana: Hands, browser: Browser, town: Town
) -> None:
    ana.watch("/settings")
    rows = ana.page.locator("#own-sessions [data-row]")
    many = rows.count()

    with window(browser, town.house):
        expect(rows).to_have_count(many + 1)
    assert ana.undisturbed()


@LIVE
def test_a_step_that_was_approved_elsewhere_is_done_on_the_page(
    ana: Hands, town: Town, bo: Somebody
) -> None:
    run, asked = bo.asks(a_plan("waits"))
    ana.watch(f"/runs/{run}")
    ana.see(".run-node[data-s=waiting]", "lend_book")

    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "once"})

    ana.see(".run-node[data-s=done]", "lend_book")
    ana.see("#run-state", "done")
    ana.page.locator("#inspector button[value=once]").wait_for(state="detached")
    assert ana.undisturbed()


@LIVE
def test_what_somebody_else_has_answered_cannot_be_answered_again(
    ana: Hands, town: Town, bo: Somebody
) -> None:
    run, asked = bo.asks(a_plan("late"))
    ana.watch(f"/inbox/{asked}")
    ana.settle()

    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "reject", "reason": "Not today."})
    ana.see("#inbox-detail", "Not today.")
    ana.press("a")

    assert ana.undisturbed()
    assert town.ask("GET", f"/approvals/{asked}")["status"] == "rejected"
    ana.opens("/runs")
    ana.see(f"#r-{run} .badge", "Failed")


@LIVE
def test_a_message_from_elsewhere_and_its_answer_come_into_the_chat(ana: Hands, town: Town) -> None:
    run = town.chat(says("I look.", slow=3), say="Look for me.")
    ana.watch(f"/chat/{run}")

    town.ask("POST", f"/agents/runs/{run}/messages", {"message": "And be quick."})

    ana.see(".chat-mine", "And be quick.")
    ana.see(".chat-turn .prose", "And be quick.")
    ana.see("#chat-foot[data-over=yes]")
    assert ana.undisturbed()


@LIVE
@pytest.mark.parametrize("place", ["conversation", "project", "inbox"])
def test_what_somebody_says_is_seen_at_once(
    ana: Hands, town: Town, bo: Somebody, place: str
) -> None:
    project = town.ask("POST", "/projects", {"name": f"Pier of the {place}", "label": "team"})["id"]
    begun = {"project": project, "title": "Land", "label": "team"}
    talk = town.ask("POST", "/conversations", begun)["id"]
    at = {
        "conversation": (f"/bridge/{project}/{talk}", ".bridge-said", "Land ahead!"),
        "project": (f"/bridge/{project}", f"#row-{talk} .bridge-n", "1"),
        "inbox": ("/bridge", f'[aria-label=Unread] a[href*="{talk}"] .bridge-n', "1"),
    }
    path, where, text = at[place]
    ana.watch(path)

    bo.ask("POST", f"/conversations/{talk}/messages", {"body": "Land ahead!"})

    ana.see(where, text)
    assert ana.undisturbed()


@LIVE
def test_what_a_guest_answers_is_seen_at_once(ana: Hands, town: Town, bo: Somebody) -> None:
    debate = a_debate(town, "Is the heron a bird?")
    ana.watch(f"/debates/{debate}")

    bo.ask("POST", f"/debates/{debate}/join", None, Prefer="wait=30")
    bo.ask("POST", f"/debates/{debate}/answer", {"answer": "yes", "rationale": "It has feathers."})

    ana.see(".debate-why", "It has feathers.")
    ana.see("#synthesis")
    assert ana.undisturbed()


@pytest.fixture(scope="module")
def fresh() -> Iterator[Installation]:
    """Nothing but what `portico init` makes; no model on this machine is looked for, and nobody
    takes up runs."""
    with installation() as made:
        with (made.home / "config" / "portico.toml").open("a", encoding="utf-8") as settings:
            settings.write("\n[models]\ndiscover = false\n\n[engine]\nwork = false\n")
        with made.serving():
            yield made


EMPTY = (
    *("/inbox", "/runs", "/chat", "/bridge", "/debates", "/debates/new", "/tools?q=zzyzx"),
    *("/graph", "/servers?only=off", "/agents", "/figures", "/audit?action=debate."),
    *("/settings/secrets", "/welcome", "/runs/run_00000000000000000000000000"),
)


@STATES
def test_screens_with_nothing_on_them_can_be_read_by_everybody(
    browser: Browser, fresh: Installation
) -> None:
    with window(browser, fresh) as made:
        for path in EMPTY:
            page = made.opens(path)

            assert page.locator("h1").count() == 1, path
            assert made.violations() == [], path


@STATES
def test_a_run_that_has_not_begun_says_so(browser: Browser, fresh: Installation) -> None:
    with fresh.client() as client:
        run = client.post("/runs", json={"kind": "drill", "input": {}}).json()["id"]
    with window(browser, fresh) as made:
        ana = Hands(made)
        ana.watch(f"/runs/{run}")
        ana.settle()

        ana.settle()  # it waits for its steps, and does not ask again and again

        expect(made.page.locator("#main")).to_contain_text("Nothing was done yet.")
        assert ana.undisturbed()
        assert made.wrong == []


@STATES
def test_a_link_of_somebody_else_asks_before_it_logs_in(
    browser: Browser, fresh: Installation
) -> None:
    with fresh.client() as client:
        who = {"name": "eve", "roles": ["member"], "clearance": "team"}
        invited = client.post("/invitations", json=who).json()["link"].partition("#")[2]
    with fresh.client(invited) as client:
        eve = client.post("/invitations/accept").json()["key"]
    with fresh.client(eve) as client:
        link = client.post("/console-links").json()["link"]
    with window(browser, fresh) as made:
        page, ana = made.page, Hands(made)

        page.goto(link)

        expect(page.get_by_role("heading", name="Log in as somebody else?")).to_be_visible()
        assert "#" not in page.url
        assert made.violations() == []
        ana.choose(page.get_by_role("button", name="Log in as eve in home"))
        expect(page.locator(".who")).to_contain_text("eve in home")
        made.opens("/login")
        ana.arrive("/inbox")
