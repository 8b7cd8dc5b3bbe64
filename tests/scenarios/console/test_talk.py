"""Chats, the bridge and debates by the keyboard alone, in a real browser; and what happens behind
an open page is seen on it."""

import itertools
import json

import pytest

from tests.scenarios.console_town import Town
from tests.scenarios.keyboard import Hands
from tests.scenarios.scripted_model import says
from tests.scenarios.somebody_else import Somebody
from tests.scenarios.voting_models import MODELS

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.requirement("console:screens:keyboard"),
]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def harbour(town: Town) -> str:
    """A project that everybody is in."""
    return str(town.ask("POST", "/projects", {"name": "Harbour", "label": "team"})["id"])


def test_a_chat_is_begun_and_gone_on_with(ana: Hands, town: Town) -> None:
    ana.opens("/chat")

    ana.press("n")
    ana.type("Is there a book on knots?")
    ana.press("Enter")
    ana.arrive("/chat/run_*")
    ana.see(".chat-turn .prose", "You said: Is there a book on knots?")
    ana.see("#chat-foot[data-over=yes]")
    first = ana.page.url.rpartition("/")[2]
    ana.press("i")
    ana.type("And on sails?")
    ana.press("Enter")

    ana.page.wait_for_url(lambda url: "/chat/run_" in url and first not in url)
    ana.see(".chat-turn .prose", "You said: And on sails?")
    second = ana.page.url.rpartition("/")[2]
    for run, answer in ((first, "knots"), (second, "sails")):
        told = town.until(f"/traces/{run}", lambda found: found["run"]["status"] == "completed")
        assert answer in json.dumps(told)


def test_a_chat_is_stopped(ana: Hands, town: Town) -> None:
    run = town.chat(says("Too late.", slow=8), say="Take your time.")
    ana.opens(f"/chat/{run}")
    ana.see("#chat-stop")

    ana.press("Escape")

    ana.see("#chat-foot[data-over=yes]", "stopped")
    over = {"stopped", "cancelled"}
    assert town.until(f"/traces/{run}", lambda found: found["run"]["status"] in over)


def test_a_message_from_elsewhere_and_its_answer_come_into_the_chat(ana: Hands, town: Town) -> None:
    run = town.chat(says("I look.", slow=3), say="Look for me.")
    ana.watch(f"/chat/{run}")

    town.ask("POST", f"/agents/runs/{run}/messages", {"message": "And be quick."})

    ana.see(".chat-mine", "And be quick.")
    ana.see(".chat-turn .prose", "And be quick.")
    ana.see("#chat-foot[data-over=yes]")
    assert ana.undisturbed()


def test_a_chat_comes_into_the_list(ana: Hands, town: Town) -> None:
    before = town.chat(says("Yes."), say="Is there a list?")
    ana.watch("/chat")
    ana.see(f'#chats a[href="/chat/{before}"]')

    run = town.chat(says("Here."), say="Are you there?")

    ana.see(f'#chats a[href="/chat/{run}"]', "answered")
    assert ana.undisturbed()


def test_a_project_and_a_conversation_are_begun_and_something_is_said(
    ana: Hands, town: Town, harbour: str
) -> None:
    ana.opens("/bridge")

    ana.choose('a[href="/bridge/new"]')
    ana.until_focused("#name")
    ana.type("Lighthouse")
    ana.press("Enter")
    ana.see("h1", "Lighthouse")
    project = ana.page.url.rpartition("/")[2].partition("?")[0]
    ana.choose(f'a[href="/bridge/{project}/new"]')
    ana.until_focused("#title")
    ana.type("Who keeps the lamp?")
    ana.press("Enter")
    ana.see("h1", "Who keeps the lamp?")
    ana.press("r")
    ana.type("I do, *tonight*.")
    ana.press("Control+Enter")
    ana.see(".bridge-said .prose em", "tonight")

    assert town.ask("GET", f"/projects/{project}")["name"] == "Lighthouse"
    talk = ana.page.url.rpartition("/")[2].partition("?")[0]
    said = town.ask("GET", f"/conversations/{talk}/messages")["data"]
    assert [each["body"] for each in said] == ["I do, *tonight*."]


def test_a_message_is_answered(ana: Hands, town: Town, bo: Somebody, harbour: str) -> None:
    talk = conversation(town, harbour)
    asked = bo.ask("POST", f"/conversations/{talk}/messages", {"body": "Who has the key?"})
    ana.opens(f"/bridge/{harbour}/{talk}")

    ana.mark(f"#{asked['id']}", "k")
    ana.press("r")
    ana.see("#bridge-replying", "Bo")
    ana.type("I have it.")
    ana.press("Control+Enter")

    ana.see(".bridge-said .bridge-quote", "Who has the key?")
    said = town.ask("GET", f"/conversations/{talk}/messages")["data"]
    assert said[-1]["reply_to"] == asked["id"]


@pytest.mark.parametrize("place", ["conversation", "project", "inbox"])
def test_what_somebody_says_is_seen_at_once(
    ana: Hands, town: Town, bo: Somebody, harbour: str, place: str
) -> None:
    talk = conversation(town, harbour)
    at = {
        "conversation": (f"/bridge/{harbour}/{talk}", ".bridge-said", "Land ahead!"),
        "project": (f"/bridge/{harbour}", f"#row-{talk} .bridge-n", "1"),
        "inbox": ("/bridge", f'[aria-label=Unread] a[href*="{talk}"] .bridge-n', "1"),
    }
    path, where, text = at[place]
    ana.watch(path)

    bo.ask("POST", f"/conversations/{talk}/messages", {"body": "Land ahead!"})

    ana.see(where, text)
    assert ana.undisturbed()


def test_what_somebody_begins_comes_into_the_lists(
    ana: Hands, town: Town, bo: Somebody, harbour: str
) -> None:
    ana.watch("/bridge")
    its = bo.ask("POST", "/projects", {"name": f"Mole {next(_numbers)}", "label": "team"})
    ana.see(f'#bridge-projects a[href="/bridge/{its["id"]}"]')
    assert ana.undisturbed()

    ana.watch(f"/bridge/{harbour}")
    talk = bo.ask("POST", "/conversations", {"project": harbour, "title": "Who?", "label": "team"})
    ana.see(f"#row-{talk['id']}", "Who?")
    assert ana.undisturbed()


def test_a_debate_is_started_and_marked(ana: Hands, town: Town) -> None:
    ana.opens("/debates")

    ana.press("c")
    ana.arrive("/debates/new")
    ana.tab_to("#question")
    ana.type("Which store lasts?")
    ana.press("Tab")
    ana.type("PostgreSQL\nSQLite")
    for model in MODELS:
        ana.tab_to(f'input[name=voices][value="voters:{model}"]')
        ana.press("Space")
    ana.see("#debate-estimate", "Calls")
    ana.choose(".debate-go")
    ana.arrive("/debates/dbt_*")
    ana.see("#verdict-h", "PostgreSQL")
    debate = ana.page.url.rpartition("/")[2]
    ana.tab_to("#note")
    ana.type("It is still there.")
    ana.choose("button[value=right]")

    ana.see(".note.ok", "Marked.")
    told = town.ask("GET", f"/debates/{debate}")
    assert told["debate"]["decision"]["answer"] == "PostgreSQL"
    assert [each["note"] for each in told["outcomes"]] == ["It is still there."]


def with_a_guest(town: Town, question: str) -> str:
    wish = {"question": question, "voices": [f"voters:{MODELS[0]}"], "guests": 1}
    return str(town.ask("POST", "/debates", {**wish, "choices": ["yes", "no"]})["id"])


def test_what_a_guest_answers_is_seen_at_once(ana: Hands, town: Town, bo: Somebody) -> None:
    debate = with_a_guest(town, "Is the heron a bird?")
    ana.watch(f"/debates/{debate}")

    bo.ask("POST", f"/debates/{debate}/join", None, Prefer="wait=30")
    bo.ask("POST", f"/debates/{debate}/answer", {"answer": "yes", "rationale": "It has feathers."})

    ana.see(".debate-why", "It has feathers.")
    ana.see("#synthesis")
    assert ana.undisturbed()


def test_a_debate_comes_and_ends_in_the_list(ana: Hands, town: Town) -> None:
    ana.watch("/debates")

    debate = with_a_guest(town, "Is the egret a bird?")
    row = f'#debate-list tr:has(a[href="/debates/{debate}"])'
    ana.see(row, "in progress")
    town.ask("POST", f"/debates/{debate}/stop")

    ana.see(row, "stopped")
    assert ana.undisturbed()
    ana.opens("/runs")
    ana.see("[data-row], tr", "Is the egret a bird?")


def conversation(town: Town, project: str) -> str:
    title = f"Talk {next(_numbers)}"
    talk = {"project": project, "title": title, "label": "team"}
    return str(town.ask("POST", "/conversations", talk)["id"])
