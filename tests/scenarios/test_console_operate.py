"""The rooms in which one operates, by the keyboard alone in a real browser; and what happens behind
an open page is seen on it."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.scenarios.browsing import Window, chromium, window
from tests.scenarios.console_keys import (
    Bo,
    arrives,
    focused,
    goes_on,
    marks,
    retypes,
    settled,
    shows,
    still_there,
    tabs_to,
    types,
    watched,
)
from tests.scenarios.console_town import Town, a_plan, console_town
from tests.scenarios.scripted_model import says
from tests.scenarios.voting_models import MODELS

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.requirement("console:screens:keyboard"),
]
ECHO = {"id": "echo", "tool": "everything.echo", "arguments": {"message": "Ahoy"}}
"""Asked for by no rule of ours: it can be approved for longer than once."""
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with console_town() as made:
        made.ask("PUT", "/effects", {"tools": "everything.echo", "effect": "irreversible"})
        made.ask("DELETE", "/policy/rules/let-everything")
        yield made


@pytest.fixture(scope="module")
def harbour(town: Town) -> str:
    """A project that everybody is in."""
    return str(town.ask("POST", "/projects", {"name": "Harbour", "label": "team"})["id"])


@pytest.fixture(scope="module")
def opened(browser: Browser, town: Town) -> Iterator[Window]:
    with window(browser, town.house) as made:
        yield made


@pytest.fixture
def ana(opened: Window) -> Iterator[Window]:
    """Nothing may be on the console of her browser."""
    opened.wrong.clear()
    yield opened
    assert opened.wrong == []


@pytest.fixture
def bo(town: Town) -> Bo:
    """Another one for each test: what is approved for good is approved for them alone."""
    return Bo(town, town.person(f"Bo {next(_numbers)}", "confidential"))


def approval(town: Town, which: str) -> dict[str, Any]:
    found: dict[str, Any] = town.ask("GET", f"/approvals/{which}")
    return found


def ended(town: Town, run: str) -> str:
    over = {"done", "failed", "cancelled"}
    return str(town.until(f"/runs/{run}", lambda found: found["status"] in over)["status"])


@pytest.mark.parametrize(("key", "answer"), [("a", "once"), ("x", "reject")])
def test_an_approval_is_answered_by_one_key(
    ana: Window, town: Town, bo: Bo, key: str, answer: str
) -> None:
    run, asked = bo.asks(a_plan("keys"))
    ana.opens(f"/inbox/{asked}")
    settled(ana)

    ana.presses(key)

    shows(ana, ".inbox-said", "Approved, once." if key == "a" else "Rejected.")
    assert approval(town, asked)["answered"]["answer"] == answer
    assert ended(town, run) == ("done" if key == "a" else "failed")


def test_arguments_are_changed_and_approved(ana: Window, town: Town, bo: Bo) -> None:
    run, asked = bo.asks(a_plan("edits"))
    ana.opens(f"/inbox/{asked}")

    ana.presses("e")
    tabs_to(ana, "#inbox-json")
    retypes(ana, '{"book_id": "book-other"}')
    goes_on(ana, "details[data-key=e] button")

    shows(ana, ".inbox-said", "Approved with your arguments.")
    other = approval(town, approval(town, asked)["replaced_by"])
    assert other["arguments"] == {"book_id": "book-other"}
    assert ended(town, run) == "done"


def test_why_it_is_asked_is_told(ana: Window, bo: Bo) -> None:
    _, asked = bo.asks(a_plan("reasons"))
    ana.opens(f"/inbox/{asked}")

    ana.presses("w")

    shows(ana, "#inbox-why", "What would change it")
    shows(ana, "#inbox-why code", "ask-to-lend")


@pytest.mark.parametrize("answer", ["run", "always"])
def test_more_than_once_is_approved(ana: Window, town: Town, bo: Bo, answer: str) -> None:
    run, asked = bo.asks([ECHO])
    ana.opens(f"/inbox/{asked}")

    goes_on(ana, ".inbox-ways details:not([data-key]) > summary")
    goes_on(ana, f"button[value={answer}]")

    shows(ana, ".inbox-said", "Approved")
    given = approval(town, asked)["answered"]
    rules = [each["name"] for each in town.ask("GET", "/policy/rules")["data"]]
    assert given["answer"] == answer
    assert given["rule"] in rules
    assert ended(town, run) == "done"


def test_what_is_marked_in_the_list_is_shown_beside_it(ana: Window, bo: Bo) -> None:
    for topic in ("first", "second"):
        bo.asks(a_plan(topic))
    ana.opens("/inbox")
    rows = ana.page.locator("#inbox-list [data-row]")
    first, second = (rows.nth(place).get_attribute("data-id") for place in (0, 1))
    shows(ana, f'#inbox-detail[data-id="{first}"]')

    ana.presses("j")
    shows(ana, f'#inbox-detail[data-id="{second}"]')
    ana.presses("k")
    shows(ana, f'#inbox-detail[data-id="{first}"]')


def test_a_request_comes_and_goes_by_itself(ana: Window, town: Town, bo: Bo) -> None:
    watched(ana, "/inbox")

    _, asked = bo.asks(a_plan("news"))
    shows(ana, f"#row-{asked}", "library.lend_book")
    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "reject"})

    ana.page.locator(f"#row-{asked}").wait_for(state="detached")
    assert still_there(ana)


@pytest.mark.parametrize("way", ["marked", "chosen"])
def test_a_run_is_cancelled_from_the_list(ana: Window, town: Town, bo: Bo, way: str) -> None:
    run, _ = bo.asks(a_plan("runs"))
    ana.opens("/runs")

    marks(ana, f"#r-{run}", "j")
    if way == "marked":
        ana.presses("c")
    else:
        ana.presses("s")
        goes_on(ana, ".runs-foot button")

    shows(ana, ".note.ok", "Cancelled.")
    assert ended(town, run) == "cancelled"


def test_a_run_is_opened_from_the_list(ana: Window, town: Town) -> None:
    run = town.plan(a_plan("opening")[:1], wait=30)
    ana.opens("/runs")

    marks(ana, f"#r-{run}", "j")
    ana.presses("Enter")

    arrives(ana, f"/runs/{run}")
    shows(ana, "#run-state", "done")


def test_a_run_comes_and_ends_in_the_list(ana: Window, town: Town, bo: Bo) -> None:
    watched(ana, "/runs")

    run, asked = bo.asks(a_plan("lists"))
    shows(ana, f"#r-{run} .badge", "Waiting")
    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "once"})

    shows(ana, f"#r-{run} .badge", "done")
    assert still_there(ana)


@pytest.mark.parametrize(("key", "told"), [("a", "done"), ("x", "failed")])
def test_a_step_is_answered_on_the_page_of_its_run(
    ana: Window, town: Town, bo: Bo, key: str, told: str
) -> None:
    run, asked = bo.asks(a_plan("steps"))
    ana.opens(f"/runs/{run}")

    ana.presses(key)

    shows(ana, ".note.ok")
    assert approval(town, asked)["answered"]["via"] == "web"
    assert ended(town, run) == told


def test_a_run_is_cancelled(ana: Window, town: Town, bo: Bo) -> None:
    run, _ = bo.asks(a_plan("ends"))
    ana.opens(f"/runs/{run}")

    goes_on(ana, "#run-acts form[action$=cancel] button")

    shows(ana, ".note.ok", "ancelled")
    assert ended(town, run) == "cancelled"


def test_steps_are_gone_through_and_one_is_forked_from(ana: Window, town: Town) -> None:
    run = town.plan(a_plan("forks")[:4], wait=30)
    ana.opens(f"/runs/{run}")

    ana.presses("j", "j", "Enter")
    shows(ana, '#inspector[data-for="card"]', "library.read_card")
    assert ana.page.evaluate("document.activeElement.dataset.step") == "card"
    goes_on(ana, "#inspector form[action$=fork] button")

    arrives(ana, "/runs/*?done=forked")
    fork = ana.page.url.rpartition("/")[2].partition("?")[0]
    assert town.ask("GET", f"/runs/{fork}")["forked_from"] == run
    assert ended(town, fork) == "done"


def test_a_step_that_was_approved_elsewhere_is_done_on_the_page(
    ana: Window, town: Town, bo: Bo
) -> None:
    run, asked = bo.asks(a_plan("waits"))
    watched(ana, f"/runs/{run}")
    shows(ana, ".run-node[data-s=waiting]", "lend_book")

    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "once"})

    shows(ana, ".run-node[data-s=done]", "lend_book")
    shows(ana, "#run-state", "done")
    ana.page.locator("#inspector button[value=once]").wait_for(state="detached")
    assert still_there(ana)


def test_a_chat_is_begun_and_gone_on_with(ana: Window, town: Town) -> None:
    ana.opens("/chat")

    ana.presses("n")
    types(ana, "Is there a book on knots?")
    ana.presses("Enter")
    arrives(ana, "/chat/run_*")
    shows(ana, ".chat-turn .prose", "You said: Is there a book on knots?")
    shows(ana, "#chat-foot[data-over=yes]")
    first = ana.page.url.rpartition("/")[2]
    ana.presses("i")
    types(ana, "And on sails?")
    ana.presses("Enter")

    ana.page.wait_for_url(lambda url: "/chat/run_" in url and first not in url)
    shows(ana, ".chat-turn .prose", "You said: And on sails?")
    second = ana.page.url.rpartition("/")[2]
    for run, answer in ((first, "knots"), (second, "sails")):
        told = town.until(f"/traces/{run}", lambda found: found["run"]["status"] == "completed")
        assert answer in json.dumps(told)


def test_a_chat_is_stopped(ana: Window, town: Town) -> None:
    run = town.chat(says("Too late.", slow=8), say="Take your time.")
    ana.opens(f"/chat/{run}")
    shows(ana, "#chat-stop")

    ana.presses("Escape")

    shows(ana, "#chat-foot[data-over=yes]", "stopped")
    over = {"stopped", "cancelled"}
    assert town.until(f"/traces/{run}", lambda found: found["run"]["status"] in over)


def test_a_message_from_elsewhere_and_its_answer_come_into_the_chat(
    ana: Window, town: Town
) -> None:
    run = town.chat(says("I look.", slow=3), say="Look for me.")
    watched(ana, f"/chat/{run}")

    town.ask("POST", f"/agents/runs/{run}/messages", {"message": "And be quick."})

    shows(ana, ".chat-mine", "And be quick.")
    shows(ana, ".chat-turn .prose", "And be quick.")
    shows(ana, "#chat-foot[data-over=yes]")
    assert still_there(ana)


def test_a_chat_comes_into_the_list(ana: Window, town: Town) -> None:
    before = town.chat(says("Yes."), say="Is there a list?")
    watched(ana, "/chat")
    shows(ana, f'#chats a[href="/chat/{before}"]')

    run = town.chat(says("Here."), say="Are you there?")

    shows(ana, f'#chats a[href="/chat/{run}"]', "answered")
    assert still_there(ana)


def test_a_project_and_a_conversation_are_begun_and_something_is_said(
    ana: Window, town: Town, harbour: str
) -> None:
    ana.opens("/bridge")

    goes_on(ana, 'a[href="/bridge/new"]')
    focused(ana, "#name")
    types(ana, "Lighthouse")
    ana.presses("Enter")
    shows(ana, "h1", "Lighthouse")
    project = ana.page.url.rpartition("/")[2].partition("?")[0]
    goes_on(ana, f'a[href="/bridge/{project}/new"]')
    focused(ana, "#title")
    types(ana, "Who keeps the lamp?")
    ana.presses("Enter")
    shows(ana, "h1", "Who keeps the lamp?")
    ana.presses("r")
    types(ana, "I do, *tonight*.")
    ana.presses("Control+Enter")
    shows(ana, ".bridge-said .prose em", "tonight")

    assert town.ask("GET", f"/projects/{project}")["name"] == "Lighthouse"
    talk = ana.page.url.rpartition("/")[2].partition("?")[0]
    said = town.ask("GET", f"/conversations/{talk}/messages")["data"]
    assert [each["body"] for each in said] == ["I do, *tonight*."]


def test_a_message_is_answered(ana: Window, town: Town, bo: Bo, harbour: str) -> None:
    talk = conversation(town, harbour)
    asked = bo.ask("POST", f"/conversations/{talk}/messages", {"body": "Who has the key?"})
    ana.opens(f"/bridge/{harbour}/{talk}")

    marks(ana, f"#{asked['id']}", "k")
    ana.presses("r")
    shows(ana, "#bridge-replying", "Bo")
    types(ana, "I have it.")
    ana.presses("Control+Enter")

    shows(ana, ".bridge-said .bridge-quote", "Who has the key?")
    said = town.ask("GET", f"/conversations/{talk}/messages")["data"]
    assert said[-1]["reply_to"] == asked["id"]


@pytest.mark.parametrize("place", ["conversation", "project", "inbox"])
def test_what_somebody_says_is_seen_at_once(
    ana: Window, town: Town, bo: Bo, harbour: str, place: str
) -> None:
    talk = conversation(town, harbour)
    at = {
        "conversation": (f"/bridge/{harbour}/{talk}", ".bridge-said", "Land ahead!"),
        "project": (f"/bridge/{harbour}", f"#row-{talk} .bridge-n", "1"),
        "inbox": ("/bridge", f'[aria-label=Unread] a[href*="{talk}"] .bridge-n', "1"),
    }
    path, where, text = at[place]
    watched(ana, path)

    bo.ask("POST", f"/conversations/{talk}/messages", {"body": "Land ahead!"})

    shows(ana, where, text)
    assert still_there(ana)


def test_a_debate_is_started_and_marked(ana: Window, town: Town) -> None:
    ana.opens("/debates")

    ana.presses("c")
    arrives(ana, "/debates/new")
    tabs_to(ana, "#question")
    types(ana, "Which store lasts?")
    ana.presses("Tab")
    types(ana, "PostgreSQL\nSQLite")
    for model in MODELS:
        tabs_to(ana, f'input[name=voices][value="voters:{model}"]')
        ana.presses("Space")
    shows(ana, "#debate-estimate", "Calls")
    goes_on(ana, ".debate-go")
    arrives(ana, "/debates/dbt_*")
    shows(ana, "#verdict-h", "PostgreSQL")
    debate = ana.page.url.rpartition("/")[2]
    tabs_to(ana, "#note")
    types(ana, "It is still there.")
    goes_on(ana, "button[value=right]")

    shows(ana, ".note.ok", "Marked.")
    told = town.ask("GET", f"/debates/{debate}")
    assert told["debate"]["decision"]["answer"] == "PostgreSQL"
    assert [each["note"] for each in told["outcomes"]] == ["It is still there."]


def with_a_guest(town: Town, question: str) -> str:
    wish = {"question": question, "voices": [f"voters:{MODELS[0]}"], "guests": 1}
    return str(town.ask("POST", "/debates", {**wish, "choices": ["yes", "no"]})["id"])


def test_what_a_guest_answers_is_seen_at_once(ana: Window, town: Town, bo: Bo) -> None:
    debate = with_a_guest(town, "Is the heron a bird?")
    watched(ana, f"/debates/{debate}")

    bo.ask("POST", f"/debates/{debate}/join", None, Prefer="wait=30")
    bo.ask("POST", f"/debates/{debate}/answer", {"answer": "yes", "rationale": "It has feathers."})

    shows(ana, ".debate-why", "It has feathers.")
    shows(ana, "#synthesis")
    assert still_there(ana)


def test_a_debate_comes_and_ends_in_the_list(ana: Window, town: Town) -> None:
    watched(ana, "/debates")

    debate = with_a_guest(town, "Is the egret a bird?")
    row = f'#debate-list tr:has(a[href="/debates/{debate}"])'
    shows(ana, row, "in progress")
    town.ask("POST", f"/debates/{debate}/stop")

    shows(ana, row, "stopped")
    assert still_there(ana)


def conversation(town: Town, project: str) -> str:
    title = f"Talk {next(_numbers)}"
    talk = {"project": project, "title": title, "label": "team"}
    return str(town.ask("POST", "/conversations", talk)["id"])
