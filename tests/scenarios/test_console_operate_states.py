"""The rooms in which one operates, where nothing is there yet, and where something is refused: what
to do next is said, and what was typed is not lost."""

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.installation import installation
from tests.real_servers.gateway import Gateway
from tests.scenarios.browsing import Window, chromium, window
from tests.scenarios.console_keys import (
    Bo,
    focused,
    forgives,
    goes_on,
    retypes,
    settled,
    shows,
    still_there,
    tabs_to,
    types,
    watched,
)
from tests.scenarios.console_town import Town, a_plan, console_town
from tests.scenarios.scripted_model import MODEL
from tests.scenarios.voting_models import MODELS

pytestmark = [
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
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def fresh() -> Iterator[Town]:
    """Set up a moment ago: no server, no agent, no model."""
    with installation() as house, house.serving():
        yield Town(house, Gateway(house))


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with console_town() as made:
        yield made


@pytest.fixture(scope="module")
def at_fresh(browser: Browser, fresh: Town) -> Iterator[Window]:
    with window(browser, fresh.house) as made:
        yield made


@pytest.fixture(scope="module")
def at_town(browser: Browser, town: Town) -> Iterator[Window]:
    with window(browser, town.house) as made:
        yield made


@pytest.fixture
def newcomer(at_fresh: Window) -> Iterator[Window]:
    at_fresh.wrong.clear()
    yield at_fresh
    assert at_fresh.wrong == []


@pytest.fixture
def ana(at_town: Window) -> Iterator[Window]:
    at_town.wrong.clear()
    yield at_town
    assert at_town.wrong == []


@pytest.fixture
def bo(town: Town) -> Bo:
    return Bo(town, town.person(f"Bo {next(_numbers)}", "confidential"))


@pytest.mark.parametrize("screen", EMPTY)
def test_where_nothing_is_yet_one_is_told_what_to_do(newcomer: Window, screen: str) -> None:
    path, title, following = EMPTY[screen]

    page = newcomer.opens(path)

    shows(newcomer, "main", title)
    shows(newcomer, "main", following)
    assert page.locator("main table").count() == 0
    assert newcomer.violations() == []


def test_a_new_project_and_its_first_conversation_are_empty(ana: Window, town: Town) -> None:
    project = town.ask("POST", "/projects", {"name": f"Pier {next(_numbers)}", "label": "team"})
    ana.opens(f"/bridge/{project['id']}")
    shows(ana, "#bridge-list", "No conversation yet.")

    goes_on(ana, f'a[href="/bridge/{project["id"]}/new"]')
    focused(ana, "#title")
    types(ana, "First")
    ana.presses("Enter")

    shows(ana, "#bridge-messages", "Nothing was said yet.")
    shows(ana, "#bridge-messages", "Say the first word below.")


@pytest.mark.parametrize("what", GONE)
def test_what_is_not_there_is_a_page_that_says_so(ana: Window, what: str) -> None:
    page = ana.opens(GONE[what])

    shows(ana, "main .problem .badge", "404")
    assert page.locator("nav.side").is_visible()
    told = page.locator("main").inner_text()
    assert "{" not in told
    assert page.locator("main .fix").inner_text() != ""
    forgives(ana, 404, GONE[what])


@pytest.mark.parametrize("place", ["inbox", "run"])
def test_arguments_that_cannot_be_read_stay_as_they_were_typed(
    ana: Window, town: Town, bo: Bo, place: str
) -> None:
    run, asked = bo.asks(a_plan("typos"))
    path = f"/inbox/{asked}" if place == "inbox" else f"/runs/{run}"
    ana.opens(path)

    ana.presses("e")
    tabs_to(ana, f"#{'inbox' if place == 'inbox' else 'run'}-json")
    retypes(ana, '{"book_id":')
    goes_on(ana, "details[data-key=e] button")

    shows(ana, "[role=alert]", "arguments")
    assert ana.page.locator("textarea[name=arguments]").input_value() == '{"book_id":'
    assert ana.page.locator("textarea[name=arguments]").is_visible()
    assert town.ask("GET", f"/approvals/{asked}")["status"] == "waiting"
    forgives(ana, 422, f"{path}/edit")


def test_what_somebody_else_has_answered_cannot_be_answered_again(
    ana: Window, town: Town, bo: Bo
) -> None:
    _, asked = bo.asks(a_plan("late"))
    watched(ana, f"/inbox/{asked}")
    settled(ana)

    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "reject", "reason": "Not today."})
    shows(ana, "#inbox-detail", "Not today.")
    ana.presses("a")

    assert still_there(ana)
    assert town.ask("GET", f"/approvals/{asked}")["status"] == "rejected"


def test_nothing_is_cancelled_if_nothing_is_chosen(ana: Window, town: Town, bo: Bo) -> None:
    run, _ = bo.asks(a_plan("nothing"))
    ana.opens("/runs")

    goes_on(ana, ".runs-foot button")

    shows(ana, "[role=alert]", "choose at least one")
    shows(ana, f"#r-{run}")
    assert town.ask("GET", f"/runs/{run}")["status"] == "waiting"
    forgives(ana, 422, "/runs/cancel")


def an_agent(town: Town) -> str:
    name = f"leaver-{next(_numbers)}"
    spec = {"name": name, "model": f"script:{MODEL}", "tools": []}
    town.ask("POST", "/agents", {**spec, "instructions": "You go."})
    return name


def test_a_message_to_an_agent_that_is_gone_is_not_lost(ana: Window, town: Town) -> None:
    name = an_agent(town)
    ana.opens(f"/chat?agent={name}")
    town.ask("DELETE", f"/agents/{name}")

    ana.presses("n")
    types(ana, "Are you there?")
    ana.presses("Enter")

    shows(ana, "[role=alert]", name)
    assert ana.page.locator("#message").input_value() == "Are you there?"
    forgives(ana, 404, "/chat")


def test_in_a_chat_whose_agent_is_gone_nothing_is_lost(ana: Window, town: Town) -> None:
    name = an_agent(town)
    run = town.ask("POST", f"/agents/{name}/runs", {"message": "Good bye."})["run"]
    town.until(f"/traces/{run}", lambda found: found["run"]["status"] == "completed")
    town.ask("DELETE", f"/agents/{name}")
    ana.opens(f"/chat/{run}")

    ana.presses("i")
    types(ana, "One more thing.")
    ana.presses("Enter")

    shows(ana, "#chat [role=alert]", "No such agent.")
    assert ana.page.locator("#message").input_value() == "One more thing."
    forgives(ana, 404, f"/chat/{run}")


def test_what_is_said_where_all_was_put_away_can_be_copied(ana: Window, town: Town) -> None:
    project = town.ask("POST", "/projects", {"name": f"Pier {next(_numbers)}", "label": "team"})
    talk = {"project": project["id"], "title": "Over soon", "label": "team"}
    its = town.ask("POST", "/conversations", talk)["id"]
    ana.opens(f"/bridge/{project['id']}/{its}")
    ana.presses("r")
    types(ana, "Wait for me.")
    town.ask("PATCH", f"/conversations/{its}", {"archived": True})

    ana.presses("Control+Enter")

    shows(ana, "[role=alert]")
    shows(ana, ".bridge-post", "nothing is said here any more")
    assert ana.page.locator("#body").input_value() == "Wait for me."
    assert town.ask("GET", f"/conversations/{its}/messages")["data"] == []
    forgives(ana, 409, f"/bridge/{project['id']}/{its}")


def test_a_debate_that_cannot_be_held_stays_as_it_was_written(ana: Window, town: Town) -> None:
    ana.opens("/debates/new")

    tabs_to(ana, "#question")
    types(ana, "Is it dear?")
    tabs_to(ana, "#tokens")
    types(ana, "many")
    goes_on(ana, ".debate-go")

    shows(ana, "main > [role=alert]", "tokens")
    assert ana.page.locator("#question").input_value() == "Is it dear?"
    assert ana.page.locator("#tokens").input_value() == "many"
    held = town.ask("GET", "/debates?q=dear")["data"]
    assert held == []
    forgives(ana, 422, "/debates/new")


def test_an_outcome_without_an_answer_is_asked_for_again(ana: Window, town: Town) -> None:
    voices = [f"voters:{model}" for model in MODELS]
    wish = {"question": "Which store?", "choices": ["PostgreSQL", "SQLite"], "voices": voices}
    debate = town.ask("POST", "/debates", wish, Prefer="wait=60")["id"]
    ana.opens(f"/debates/{debate}")

    tabs_to(ana, "#note")
    types(ana, "I have looked.")
    goes_on(ana, "button[value=answer]")

    shows(ana, "[role=alert]", "must say which answer is right")
    assert ana.page.locator("#note").input_value() == "I have looked."
    assert town.ask("GET", f"/debates/{debate}")["outcomes"] == []
    forgives(ana, 422, f"/debates/{debate}")
