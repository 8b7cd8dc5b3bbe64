"""The rooms in which one operates, where nothing is there yet, and where something is refused: what
to do next is said, and what was typed is not lost."""

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.installation import installation
from tests.real_servers.gateway import Gateway
from tests.scenarios.browsing import Window, window
from tests.scenarios.console_town import Town, a_plan
from tests.scenarios.keyboard import Hands
from tests.scenarios.scripted_model import MODEL
from tests.scenarios.somebody_else import Somebody
from tests.scenarios.voting_models import MODELS

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.requirement("console:screens:states"),
]
NOBODY = "0" * 26
"""An id that is well formed, and of nothing."""
EMPTY = {
    "inbox": ("/inbox", "Nothing waits for you.", "you say yes or no"),
    "runs": ("/runs", "No runs yet.", "portico run plan.toml"),
    "chat": ("/chat", "There is no agent yet.", "Make an agent"),
    "bridge": ("/bridge", "No project yet.", "Create a project"),
    "debates": ("/debates", "No debate yet.", "Ask something"),
    "new-debate": ("/debates/new", "No voice can be asked yet.", "Set up a model under Settings"),
}
GONE = {
    "request": f"/inbox/apr_{NOBODY}",
    "run": f"/runs/run_{NOBODY}",
    "chat": f"/chat/run_{NOBODY}",
    "project": f"/bridge/prj_{NOBODY}",
    "conversation": f"/bridge/prj_{NOBODY}/cnv_{NOBODY}",
    "debate": f"/debates/dbt_{NOBODY}",
    "nonsense": "/debates/what-is-this",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def fresh() -> Iterator[Town]:
    """Set up a moment ago: no server, no agent, no model."""
    with installation() as house, house.serving():
        yield Town(house, Gateway(house))


@pytest.fixture(scope="module")
def at_fresh(browser: Browser, fresh: Town) -> Iterator[Window]:
    with window(browser, fresh.house) as made:
        yield made


@pytest.fixture
def newcomer(at_fresh: Window) -> Iterator[Hands]:
    at_fresh.wrong.clear()
    yield Hands(at_fresh)
    assert at_fresh.wrong == []


@pytest.mark.parametrize("screen", EMPTY)
def test_where_nothing_is_yet_one_is_told_what_to_do(newcomer: Hands, screen: str) -> None:
    path, title, following = EMPTY[screen]

    page = newcomer.opens(path)

    newcomer.see("main", title)
    newcomer.see("main", following)
    assert page.locator("main table").count() == 0
    assert newcomer.window.violations() == []


def test_a_new_project_and_its_first_conversation_are_empty(ana: Hands, town: Town) -> None:
    project = town.ask("POST", "/projects", {"name": f"Pier {next(_numbers)}", "label": "team"})
    ana.opens(f"/bridge/{project['id']}")
    ana.see("#bridge-list", "No conversation yet.")

    ana.choose(f'a[href="/bridge/{project["id"]}/new"]')
    ana.until_focused("#title")
    ana.type("First")
    ana.press("Enter")

    ana.see("#bridge-messages", "Nothing was said yet.")
    ana.see("#bridge-messages", "Say the first word below.")


def test_whoever_has_not_talked_to_an_agent_yet_is_told_what_comes(
    browser: Browser, town: Town, bo: Somebody
) -> None:
    with window(browser, town.house, bo.key) as made:
        made.opens("/chat")

        Hands(made).see("main", "No chats yet.")
        Hands(made).see("main", "What you say to an agent")
        assert made.wrong == []


@pytest.mark.parametrize("what", GONE)
def test_what_is_not_there_is_a_page_that_says_so(ana: Hands, what: str) -> None:
    page = ana.opens(GONE[what])

    ana.see("main .problem .badge", "404")
    assert page.locator("nav.side").is_visible()
    told = page.locator("main").inner_text()
    assert "{" not in told
    assert page.locator("main .fix").inner_text() != ""
    ana.forgive(404, GONE[what])


@pytest.mark.parametrize("place", ["inbox", "run"])
def test_arguments_that_cannot_be_read_stay_as_they_were_typed(
    ana: Hands, town: Town, bo: Somebody, place: str
) -> None:
    run, asked = bo.asks(a_plan("typos"))
    path = f"/inbox/{asked}" if place == "inbox" else f"/runs/{run}"
    ana.opens(path)

    ana.press("e")
    ana.tab_to(f"#{'inbox' if place == 'inbox' else 'run'}-json")
    ana.retype('{"book_id":')
    ana.choose("details[data-key=e] button")

    ana.see("[role=alert]", "arguments")
    assert ana.page.locator("textarea[name=arguments]").input_value() == '{"book_id":'
    assert ana.page.locator("textarea[name=arguments]").is_visible()
    assert town.ask("GET", f"/approvals/{asked}")["status"] == "waiting"
    ana.forgive(422, f"{path}/edit")


def test_what_somebody_else_has_answered_cannot_be_answered_again(
    ana: Hands, town: Town, bo: Somebody
) -> None:
    _, asked = bo.asks(a_plan("late"))
    ana.watch(f"/inbox/{asked}")
    ana.settle()

    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "reject", "reason": "Not today."})
    ana.see("#inbox-detail", "Not today.")
    ana.press("a")

    assert ana.undisturbed()
    assert town.ask("GET", f"/approvals/{asked}")["status"] == "rejected"


def test_nothing_is_cancelled_if_nothing_is_chosen(ana: Hands, town: Town, bo: Somebody) -> None:
    run, _ = bo.asks(a_plan("nothing"))
    ana.opens("/runs")

    ana.choose(".runs-foot button")

    ana.see("[role=alert]", "choose at least one")
    ana.see(f"#r-{run}")
    assert town.ask("GET", f"/runs/{run}")["status"] == "waiting"
    ana.forgive(422, "/runs/cancel")


def an_agent(town: Town) -> str:
    name = f"leaver-{next(_numbers)}"
    spec = {"name": name, "model": f"script:{MODEL}", "tools": []}
    town.ask("POST", "/agents", {**spec, "instructions": "You go."})
    return name


def test_a_message_to_an_agent_that_is_gone_is_not_lost(ana: Hands, town: Town) -> None:
    name = an_agent(town)
    ana.opens(f"/chat?agent={name}")
    town.ask("DELETE", f"/agents/{name}")

    ana.press("n")
    ana.type("Are you there?")
    ana.press("Enter")

    ana.see("[role=alert]", name)
    assert ana.page.locator("#message").input_value() == "Are you there?"
    ana.forgive(404, "/chat")


def test_in_a_chat_whose_agent_is_gone_nothing_is_lost(ana: Hands, town: Town) -> None:
    name = an_agent(town)
    run = town.ask("POST", f"/agents/{name}/runs", {"message": "Good bye."})["run"]
    town.until(f"/traces/{run}", lambda found: found["run"]["status"] == "completed")
    town.ask("DELETE", f"/agents/{name}")
    ana.opens(f"/chat/{run}")

    ana.press("i")
    ana.type("One more thing.")
    ana.press("Enter")

    ana.see("#chat [role=alert]", "No such agent.")
    assert ana.page.locator("#message").input_value() == "One more thing."
    ana.forgive(404, f"/chat/{run}")


def test_what_is_said_where_all_was_put_away_can_be_copied(ana: Hands, town: Town) -> None:
    project = town.ask("POST", "/projects", {"name": f"Pier {next(_numbers)}", "label": "team"})
    talk = {"project": project["id"], "title": "Over soon", "label": "team"}
    its = town.ask("POST", "/conversations", talk)["id"]
    ana.opens(f"/bridge/{project['id']}/{its}")
    ana.press("r")
    ana.type("Wait for me.")
    town.ask("PATCH", f"/conversations/{its}", {"archived": True})

    ana.press("Control+Enter")

    ana.see("[role=alert]")
    ana.see(".bridge-post", "nothing is said here any more")
    assert ana.page.locator("#body").input_value() == "Wait for me."
    assert town.ask("GET", f"/conversations/{its}/messages")["data"] == []
    ana.forgive(409, f"/bridge/{project['id']}/{its}")


def test_a_debate_that_cannot_be_held_stays_as_it_was_written(ana: Hands, town: Town) -> None:
    ana.opens("/debates/new")

    ana.tab_to("#question")
    ana.type("Is it dear?")
    ana.tab_to("#tokens")
    ana.type("many")
    ana.choose(".debate-go")

    ana.see("main > [role=alert]", "tokens")
    assert ana.page.locator("#question").input_value() == "Is it dear?"
    assert ana.page.locator("#tokens").input_value() == "many"
    held = town.ask("GET", "/debates?q=dear")["data"]
    assert held == []
    ana.forgive(422, "/debates/new")


def test_an_outcome_without_an_answer_is_asked_for_again(ana: Hands, town: Town) -> None:
    voices = [f"voters:{model}" for model in MODELS]
    wish = {"question": "Which store?", "choices": ["PostgreSQL", "SQLite"], "voices": voices}
    debate = town.ask("POST", "/debates", wish, Prefer="wait=60")["id"]
    ana.opens(f"/debates/{debate}")

    ana.tab_to("#note")
    ana.type("I have looked.")
    ana.choose("button[value=answer]")

    ana.see("[role=alert]", "must say which answer is right")
    assert ana.page.locator("#note").input_value() == "I have looked."
    assert town.ask("GET", f"/debates/{debate}")["outcomes"] == []
    ana.forgive(422, f"/debates/{debate}")
