"""The main action of every screen by the keyboard alone, in a real browser on a running Portico."""

import itertools
import json
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from portico.interfaces.console.page import GROUPS
from tests.scenarios.console_town import Town, a_plan
from tests.scenarios.keyboard import Hands
from tests.scenarios.scripted_model import MODEL, says
from tests.scenarios.somebody_else import Somebody
from tests.scenarios.voting_models import MODELS

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.requirement("console:screens:keyboard"),
]
_LONGER_THAN_IT_TAKES = 1_000
"""Milliseconds, for what must not happen."""
_numbers = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def something_ran(town: Town) -> None:
    town.plan(a_plan("rivers")[:4], wait=30)


def test_every_place_has_its_letter(ana: Hands) -> None:
    page = ana.opens("/settings/about")

    for place in [place for group in GROUPS for place in group.places]:
        ana.go(place.key, place.path)

        current = page.locator('nav.side a[aria-current="page"]')
        expect(current).to_contain_text(place.name)


@pytest.mark.parametrize("keys", ["Control+k", "Meta+k"])
def test_the_palette_finds_and_jumps(ana: Hands, keys: str) -> None:
    page = ana.opens("/servers")

    ana.press(keys)
    ana.until_focused(page.locator(".palette-in"))
    ana.type("librarian")
    link = page.locator("#palette-found").get_by_role("link", name="Agent librarian")
    expect(link).to_be_visible()
    ana.mark(link, "ArrowDown")
    ana.press("Enter")

    ana.arrive("/agents/librarian")


@pytest.mark.parametrize(("more", "marked"), [("ian", "#palette-found a"), ("ious", ".palette-in")])
def test_what_is_found_late_leaves_the_keyboard_in_the_palette(
    ana: Hands, more: str, marked: str
) -> None:
    page = ana.opens("/servers")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(lambda url: url.endswith(f"/palette?q=librar{more}"), hold)
    link = page.locator("#palette-found").get_by_role("link", name="Agent librarian")

    ana.press("Control+k")
    ana.until_focused(page.locator(".palette-in"))
    ana.type("librar")
    expect(link).to_be_visible()
    with page.expect_request(lambda request: request.url.endswith(more)):
        ana.type(more)
    ana.mark(link, "ArrowDown")
    page.evaluate("document.querySelector('#palette-found').firstElementChild.id = 'before'")
    held[0].continue_()
    expect(page.locator("#before")).to_have_count(0)
    page.unroute_all()

    assert ana.focused(marked)


def test_the_palette_is_left_by_escape_where_one_was(ana: Hands) -> None:
    page = ana.opens("/servers")
    ana.press("j")
    row = page.locator("[data-row] a").first
    assert ana.focused(row)

    ana.press("Control+k")
    ana.until_focused(page.locator(".palette-in"))
    ana.press("Escape")

    expect(page.locator("#palette")).to_be_hidden()
    ana.until_focused(row)


def test_a_question_mark_lists_the_keys(ana: Hands) -> None:
    page = ana.opens("/audit")

    ana.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("to the next")
    ana.press("Escape")

    expect(page.locator("#help")).to_be_hidden()


@pytest.mark.parametrize("path", ["/servers", "/tools", "/agents", "/audit", "/settings/keys"])
def test_j_and_k_mark_one_row_after_the_other(ana: Hands, path: str) -> None:
    page = ana.opens(path)
    rows = page.locator("[data-row]")
    marked = page.locator("[data-row]:focus-within, [data-row]:focus")

    last = rows.count() - 1
    wanted = -1
    for keys in ("j", "j", "j", "k"):
        wanted = min(wanted + 1, last) if keys == "j" else max(wanted - 1, 0)
        ana.press(keys)
        expect(marked).to_have_count(1)
        same = rows.nth(wanted).evaluate("row => row.contains(document.activeElement)")
        assert same, (keys, wanted, ana.where())


def test_an_approval_is_given_by_one_key(ana: Hands, town: Town, bo: Somebody) -> None:
    run, asked = bo.asks(a_plan("keys"))
    ana.opens(f"/inbox/{asked}")
    ana.settle()

    ana.press("a")

    ana.see(".inbox-said", "Approved, once.")
    assert ended(town, run) == "done"


def test_arguments_are_changed_and_approved(ana: Hands, town: Town, bo: Somebody) -> None:
    run, asked = bo.asks(a_plan("edits"))
    ana.opens(f"/inbox/{asked}")

    ana.press("e")
    ana.tab_to("#inbox-json")
    ana.retype('{"book_id": "book-other"}')
    ana.choose("details[data-key=e] button")

    ana.see(".inbox-said", "Approved with your arguments.")
    assert ended(town, run) == "done"


def test_why_it_is_asked_is_told(ana: Hands, bo: Somebody) -> None:
    _, asked = bo.asks(a_plan("reasons"))
    ana.opens(f"/inbox/{asked}")

    ana.press("w")

    ana.see("#inbox-why", "What would change it")
    ana.see("#inbox-why code", "ask-to-lend")


def test_what_is_marked_in_the_list_is_shown_beside_it(ana: Hands, bo: Somebody) -> None:
    """And whoever goes by Tab past the list keeps what is shown: what somebody is about to answer
    is not exchanged below their hands."""
    for topic in ("first", "second"):
        bo.asks(a_plan(topic))
    ana.opens("/inbox")
    rows = ana.page.locator("#inbox-list [data-row]")
    first, second = (rows.nth(place).get_attribute("data-id") for place in (0, 1))
    ana.see(f'#inbox-detail[data-id="{first}"]')

    ana.press("j")
    ana.see(f'#inbox-detail[data-id="{second}"]')
    ana.press("k")
    ana.see(f'#inbox-detail[data-id="{first}"]')

    ana.tab_to(rows.last)
    ana.page.wait_for_timeout(_LONGER_THAN_IT_TAKES)
    assert ana.page.locator("#inbox-detail").get_attribute("data-id") == first
    ana.press("Enter")
    ana.see(f'#inbox-detail[data-id="{rows.last.get_attribute("data-id")}"]')


@pytest.mark.parametrize("way", ["marked", "chosen"])
def test_a_run_is_cancelled_from_the_list(ana: Hands, town: Town, bo: Somebody, way: str) -> None:
    run, _ = bo.asks(a_plan("runs"))
    ana.opens("/runs")

    ana.mark(f"#r-{run}", "j")
    if way == "marked":
        ana.press("c")
    else:
        ana.press("s")
        ana.choose(".runs-foot button")

    ana.see(".note.ok", "Cancelled.")
    assert ended(town, run) == "cancelled"


def test_a_step_is_answered_on_the_page_of_its_run(ana: Hands, town: Town, bo: Somebody) -> None:
    run, asked = bo.asks(a_plan("steps"))
    ana.opens(f"/runs/{run}")

    ana.press("a")

    ana.see(".note.ok")
    assert town.ask("GET", f"/approvals/{asked}")["answered"]["via"] == "web"
    assert ended(town, run) == "done"


def test_steps_are_gone_through_and_one_is_forked_from(ana: Hands, town: Town) -> None:
    run = town.plan(a_plan("forks")[:4], wait=30)
    ana.opens(f"/runs/{run}")

    ana.press("j", "j", "Enter")
    ana.see('#inspector[data-for="card"]', "library.read_card")
    assert ana.page.evaluate("document.activeElement.dataset.step") == "card"
    ana.choose("#inspector form[action$=fork] button")

    ana.arrive("/runs/*?done=forked")
    fork = ana.page.url.rpartition("/")[2].partition("?")[0]
    assert town.ask("GET", f"/runs/{fork}")["forked_from"] == run


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
    told = town.until(f"/traces/{second}", lambda found: found["run"]["status"] == "completed")
    assert "sails" in json.dumps(told)


def test_a_chat_is_stopped(ana: Hands, town: Town) -> None:
    run = town.chat(says("Too late.", slow=8), say="Take your time.")
    ana.opens(f"/chat/{run}")
    ana.see("#chat-stop")

    ana.press("Escape")

    ana.see("#chat-foot[data-over=yes]", "stopped")


def test_in_a_chat_whose_agent_is_gone_nothing_is_lost(ana: Hands, town: Town) -> None:
    name = f"leaver-{next(_numbers)}"
    town.ask("POST", "/agents", {"name": name, "model": f"script:{MODEL}", "instructions": "Go."})
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


def test_a_project_and_a_conversation_are_begun_and_something_is_said(
    ana: Hands, town: Town
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
    ana.see("#bridge-messages", "Nothing was said yet.")
    ana.press("r")
    ana.type("I do, *tonight*.")
    ana.press("Control+Enter")
    ana.see(".bridge-said .prose em", "tonight")

    talk = ana.page.url.rpartition("/")[2].partition("?")[0]
    said = town.ask("GET", f"/conversations/{talk}/messages")["data"]
    assert [each["body"] for each in said] == ["I do, *tonight*."]


def test_a_message_is_answered(ana: Hands, town: Town, bo: Somebody) -> None:
    project = town.ask("POST", "/projects", {"name": "Harbour", "label": "team"})["id"]
    begun = {"project": project, "title": "Keys", "label": "team"}
    talk = town.ask("POST", "/conversations", begun)["id"]
    asked = bo.ask("POST", f"/conversations/{talk}/messages", {"body": "Who has the key?"})
    ana.opens(f"/bridge/{project}/{talk}")

    ana.mark(f"#{asked['id']}", "k")
    ana.press("r")
    ana.see("#bridge-replying", "Bo")
    ana.type("I have it.")
    ana.press("Control+Enter")

    ana.see(".bridge-said .bridge-quote", "Who has the key?")
    said = town.ask("GET", f"/conversations/{talk}/messages")["data"]
    assert said[-1]["reply_to"] == asked["id"]


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
    assert [each["note"] for each in told["outcomes"]] == ["It is still there."]


def test_enter_on_a_server_of_the_tools_opens_it(ana: Hands) -> None:
    page = ana.opens("/tools")
    group = page.locator(".tools-group", has_text="library").first

    ana.mark(group.locator("summary"))
    ana.press("Enter")

    expect(group.get_by_role("link", name="find_books")).to_be_visible()


def calls_of(town: Town, tool: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = town.ask("GET", f"/calls?tool={tool}&limit=100")["data"]
    return found


def test_a_tool_is_found_and_called(ana: Hands, town: Town) -> None:
    page = ana.opens("/tools")
    before = len(calls_of(town, "library.find_books"))

    ana.press("/")
    ana.type("find books on a topic")
    hit = page.locator(".tools-hit a", has_text="library.find_books")
    expect(hit).to_be_visible()
    ana.press("Escape")
    ana.mark(hit)
    ana.press("Enter")
    ana.arrive("/tools/library.find_books")
    ana.press("t")
    ana.tab_to(page.get_by_label("topic"))
    ana.type("rivers")
    ana.choose(page.get_by_role("button", name="Call it"))

    expect(page.locator("#tool-result")).to_contain_text("done")
    newest, *_ = made = calls_of(town, "library.find_books")
    assert (len(made), newest["arguments"]) == (before + 1, {"topic": "rivers"})
    expect(page.get_by_label("topic")).to_have_value("rivers")
    ana.until_focused(page.get_by_role("button", name="Call it"))


def test_a_path_between_two_tools_is_explained(ana: Hands, town: Town) -> None:
    way = "/graph/path?from=library.find_books&to=library.read_author"
    told = town.until(way, lambda found: found["likeliest"])["likeliest"]
    page = ana.opens("/graph")

    ana.press("p")
    ana.type("library.find_books")
    ana.press("Tab")
    ana.type("library.read_author")
    ana.press("Enter")

    hops = page.locator(".graph-hops [data-hop]")
    expect(hops.first).to_contain_text("library.find_books")
    assert [hop.get_attribute("data-hop") for hop in hops.all()] == told["tools"]


def test_a_server_is_added_allowed_and_let_in(ana: Hands, town: Town) -> None:
    launch = town.ask("GET", "/servers/library")["launch"]
    page = ana.opens("/servers")

    ana.press("n")
    ana.arrive("/servers/_add")
    ana.press("/")
    ana.type(" ".join([launch["command"], *launch["arguments"]]))
    ana.tab_to(page.get_by_label("Name"))
    ana.type("annex")
    ana.press("Enter")
    expect(page.get_by_text("This would be added")).to_be_visible()
    ana.skip_menu()
    ana.choose(page.get_by_role("button", name="Add it"))
    ana.arrive("/servers/annex")
    ana.press("a")
    expect(page.get_by_text("wait to be let in")).to_be_visible()
    ana.press("a")
    expect(page.get_by_text("Its tools can be found and called.")).to_be_visible()

    assert town.ask("GET", "/tools/annex.find_books")["standing"] == "live"
    town.gateway.remove("annex")


def test_an_agent_is_made_and_changed(ana: Hands, town: Town) -> None:
    page = ana.opens("/agents")

    ana.press("n")
    ana.arrive("/agents/new")
    ana.skip_menu()
    ana.tab_to(page.get_by_label("Name", exact=True))
    ana.type("archivist")
    ana.press("Tab")
    ana.type(f"{MODEL}")
    ana.tab_to(page.get_by_label("Instructions"))
    ana.type("You keep what is old.")
    ana.press("Control+s")
    ana.arrive("/agents/archivist")
    ana.skip_menu()
    ana.tab_to(page.get_by_label("What it is for"))
    ana.type("Finds old things")
    ana.press("Control+s")

    expect(page.get_by_text("Saved as another version.")).to_be_visible()
    changed = town.ask("GET", "/agents/archivist")
    assert (changed["version"], changed["description"]) == (2, "Finds old things")
    town.ask("DELETE", "/agents/archivist")


def test_a_range_of_the_metrics_is_chosen(ana: Hands) -> None:
    page = ana.opens("/figures")

    for number in ("1", "2", "3"):
        ana.press(number)
        current = page.locator('nav[aria-label="Range"] a[aria-current="true"]')
        expect(current).to_have_attribute("data-key", number)


def test_the_audit_is_searched_opened_and_verified(ana: Hands) -> None:
    page = ana.opens("/audit")

    ana.press("/")
    ana.type("policy.")
    ana.press("Enter")
    ana.arrive("/audit?action=policy.")
    rows = page.locator(".audit-table tbody tr")
    assert all("policy." in text for text in rows.all_inner_texts())
    ana.press("j")
    ana.choose(rows.first.locator("summary"))
    expect(rows.first.locator("pre")).to_be_visible()
    ana.press("v")

    expect(page.locator(".note.ok")).to_be_visible()


def test_a_key_is_made_shown_once_and_revoked(ana: Hands, town: Town) -> None:
    page = ana.opens("/settings/keys")

    ana.press("n", "Tab")
    ana.type("lamp")
    ana.press("Enter")
    expect(page.get_by_role("heading", name="The key lamp")).to_be_visible()
    key = page.locator(".settings-issued pre").first.inner_text()
    ana.skip_menu()
    row = page.get_by_role("row").filter(has_text=key.split("_")[1])
    ana.choose(row.locator("summary", has_text="Revoke"))
    ana.choose(row.get_by_role("button", name="Revoke"))

    expect(page.get_by_text("The key does not work any more.")).to_be_visible()
    with town.house.client(key) as client:
        assert client.get("/servers").status_code == 401


def test_samples_are_added_from_the_welcome(ana: Hands, town: Town) -> None:
    page = ana.opens("/welcome")
    kept, *others = [
        str(box.get_attribute("value")) for box in page.locator('input[name="sample"]').all()
    ]

    ana.skip_menu()
    for name in others:
        ana.tab_to(f'input[name="sample"][value="{name}"]')
        ana.press("Space")
    ana.choose(page.get_by_role("button", name="Add these"))

    expect(page.get_by_text("Added, and not started.")).to_be_visible()
    known = {each["name"] for each in town.ask("GET", "/servers")}
    assert known & {kept, *others} == {kept}
    town.gateway.remove(kept)


def ended(town: Town, run: str) -> str:
    over = {"done", "failed", "cancelled"}
    return str(town.until(f"/runs/{run}", lambda found: found["status"] in over)["status"])
