"""Every page of the console in one browser on one small world: it is drawn whole, nothing fails and
nothing is complained of. A route that is not named here fails the test. And what else of the
console a gate has to see: a request that comes by itself, and is rejected by one key."""

import html
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import pytest
from playwright.sync_api import APIResponse, Browser, Request
from starlette.routing import Match, Route

from portico.interfaces.console.app import every_route
from tests.scenarios.browsing import Window, logged_out, window
from tests.scenarios.console_town import Filled, Town, a_plan
from tests.scenarios.keyboard import Hands
from tests.scenarios.somebody_else import Somebody
from tests.scenarios.voting_models import MODELS

pytestmark = [
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
]

SCREENS: Final = {
    "/inbox": "Approvals",
    "/inbox/{approval}": "Approvals",
    "/runs": "Runs",
    "/runs/{done}": "Workflow",
    "/runs/{waiting}": "Workflow",
    "/runs/{failed}": "Workflow",
    "/runs/{done}/steps/card": "Workflow",
    "/runs/{done}/log": "Events of a run",
    "/runs/{done}/output?step=card": "What card gave",
    "/chat": "Chat",
    "/chat/{chat}": "play:",
    "/bridge": "Inbox",
    "/bridge/new": "New project",
    "/bridge/search?q=store": "Found for “store”",
    "/bridge/{project}": "Harbour",
    "/bridge/{project}/new": "New conversation",
    "/bridge/{project}/memory": "Harbour",
    "/bridge/{project}/memory/history?key=store": "store",
    "/bridge/{project}/work": "Harbour",
    "/bridge/{project}/{conversation}": "Which store do we take?",
    "/bridge/{project}/{conversation}/messages/{message}": "root",
    "/debates": "Debates",
    "/debates/new": "New debate",
    "/debates/{debate}": "Which store fits?",
    "/debates/{debate}/replay": "Which store fits?",
    "/debates/{open}": "Is the heron a bird?",
    "/debates/{open}/seat": "A seat in a debate",
    "/tools": "Find a tool",
    "/tools?q=find+a+book": "Find a tool",
    "/tools/library.lend_book": "library.lend_book",
    "/tools/result?id={result}": "A long answer",
    "/graph": "Tool graph",
    "/servers": "Servers",
    "/servers/_add": "Add servers",
    "/servers/library": "library",
    "/servers/library/review": "Tools of library, one by one",
    "/servers/library/remove": "Remove library?",
    "/agents": "Agents",
    "/agents/new": "New agent",
    "/agents/librarian": "librarian",
    "/agents/librarian/versions": "Versions of librarian",
    "/figures": "Last 24 hours",
    "/audit": "Audit",
    "/settings": "Settings and keys",
    "/settings/keys": "Keys",
    "/settings/people": "People and agents",
    "/settings/policy": "Policy",
    "/settings/secrets": "Secrets",
    "/settings/about": "About this server",
    "/welcome": "Welcome, root",
}
"""Each page with what its heading begins with."""
PARTS: Final = (
    *("/waiting", "/palette", "/palette?q=book", "/inbox/list", "/inbox/{approval}/part"),
    *("/inbox/{approval}/arguments", "/inbox/{approval}/why", "/runs/list"),
    "/runs/{done}/parts?steps=card",
    *("/runs/{done}/plan", "/runs/{done}/timeline", "/chat/rows", "/chat/{chat}/side"),
    *("/chat/{chat}/earlier", "/chat/{chat}/turns/1", "/chat/{chat}/foot", "/chat/{chat}/trace"),
    *("/bridge/inbox", "/bridge/{project}/list", "/bridge/{project}/around"),
    "/bridge/{project}/{conversation}/older",
    *("/bridge/{project}/{conversation}/newer", "/bridge/{project}/{conversation}/audience"),
    *("/debates/list", "/debates/{debate}/board", "/debates/{debate}/log"),
    *("/debates/{open}/seat/part", "/tools/body", "/tools/group?server=library", "/graph/path"),
    *("/graph/chosen?tool=library.find_books", "/servers/_list", "/servers/library/vitals"),
    *("/figures/now", "/figures/more", "/figures/table", "/welcome/servers"),
)
"""What is put into a page that is there already."""
FILES: Final = (
    *("/static/app.css", "/runs/{done}/export", "/chat/{chat}/text/said-1", "/graph/data"),
    *("/bridge/{project}/export", "/bridge/attachments/{digest}", "/agents/librarian/export"),
    *("/figures/csv", "/audit/export"),
)
LOGIN: Final = "/login"
LEADS_ON: Final = ("/", "/bridge/next")
STREAM: Final = "/live"
"""Every page follows it: each is looked at once it does."""

FOR_PROGRAMMERS: Final = re.compile(
    r"\b[A-Z]\w*\(\w+=|\b(?:UUID|frozenset|mappingproxy|OrderedDict|dict_\w+)\(|\bdatetime\.\w+\("
    r"|<(?:bound method|function|class|coroutine|generator) |<[\w.]+ object\b|<[A-Z]\w*\.\w+: "
    r"|\{\{|\{%"
)
"""What Python calls a value, or a template what stands for one."""
EMPTY_WORDS: Final = """() => [...document.querySelectorAll("body *")]
    .filter(each => !each.children.length && !each.closest("pre, code"))
    .map(each => each.textContent.trim())
    .filter(text => ["None", "undefined", "NaN", "[object Object]"].includes(text))"""
DRESS: Final = "theme => { document.documentElement.dataset.theme = theme; }"

World = Mapping[str, str]
Fetch = Callable[..., APIResponse]


@pytest.fixture(scope="module")
def world(town: Town, filled: Filled) -> World:
    """What stands for each name in braces."""
    project, talk = filled.project, filled.conversation
    plan = b"We take it."
    with town.house.client() as client:
        sent = client.post(f"/projects/{project}/attachments?name=plan.txt", content=plan)
    town.ask("PUT", f"/projects/{project}/memory/value?key=store", {"value": "PostgreSQL"})
    town.ask("POST", "/keys", {"name": "reader"})
    town.ask("PUT", "/secrets/token", {"value": "sesame"})
    who = {"name": "bo", "roles": ["member"], "clearance": "team"}
    town.ask("POST", "/invitations", who)
    wish = {"question": "Is the heron a bird?", "voices": [f"voters:{MODELS[0]}"], "guests": 1}
    [its] = [each for each in town.waiting() if each["run"] == filled.waiting]
    return {
        **asdict(filled),
        "approval": its["id"],
        "digest": sent.json()["digest"],
        "message": town.ask("GET", f"/conversations/{talk}/messages")["data"][0]["id"],
        "open": town.ask("POST", "/debates", {**wish, "choices": ["yes", "no"]})["id"],
        "result": town.ask("GET", f"/workflows/{filled.done}")["steps"][0]["handle"],
    }


@pytest.fixture(scope="module")
def opened(browser: Browser, town: Town) -> Iterator[Window]:
    def note(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # as a stream is when its page is left
            made.wrong.append(f"failed: {request.url} {request.failure}")

    with window(browser, town.house) as made:
        made.page.on("requestfailed", note)
        yield made


@pytest.fixture(scope="module")
def fetch(opened: Window) -> Fetch:
    def fetched(path: str, **more: Any) -> APIResponse:
        url = f"{opened.house.url}{path}"
        return opened.context.request.get(url, max_redirects=0, **more)

    return fetched


def faults(made: Window, path: str, heading: str) -> list[object]:
    page, url = made.page, f"{made.house.url}{path}"
    answered = page.goto(url, wait_until="load")
    if page.locator("#live").count():
        made.live()
    came = None if answered is None else (answered.status, answered.url)
    headings = [each.strip() for each in page.locator("h1").all_text_contents()]
    found: list[object] = [] if came == (200, url) else [came]
    if len(headings) != 1 or not headings[0].startswith(heading):
        found.append(headings)
    if not re.fullmatch(r"\S.* · Portico", page.title()):
        found.append(page.title())
    found += FOR_PROGRAMMERS.findall(html.unescape(page.content()))
    found += page.evaluate(EMPTY_WORDS)
    page.evaluate(DRESS, "dark")
    found += made.violations()
    page.evaluate(DRESS, "light")
    found += made.contrast_violations()
    return found + made.wrong


def route_of(path: str) -> str:
    scope = {"type": "http", "method": "GET", "path": path.partition("?")[0], "root_path": ""}
    found = (each for each in every_route() if each.matches({**scope})[0] is Match.FULL)
    return next(found, Route("/none", lambda _: None)).path


def test_no_page_of_the_console_is_left_out() -> None:
    named = {route_of(each) for each in (*SCREENS, *PARTS, *FILES, *LEADS_ON, LOGIN, STREAM)}

    assert named == {each.path for each in every_route() if "GET" in (each.methods or ())}


@pytest.mark.requirement("console:screens:axe")
@pytest.mark.parametrize("screen", SCREENS)
def test_screen_is_whole(opened: Window, world: World, screen: str) -> None:
    opened.wrong.clear()

    assert faults(opened, screen.format_map(world), SCREENS[screen]) == []


def test_login_is_whole(browser: Browser, town: Town) -> None:
    with logged_out(browser, town.house) as nobody:
        assert faults(nobody, LOGIN, "Portico") == []


@pytest.mark.parametrize("part", PARTS)
def test_part_is_drawn(fetch: Fetch, world: World, part: str) -> None:
    answered = fetch(part.format_map(world), headers={"hx-request": "true"})

    text = answered.text()
    assert answered.status == 200, text[:2000]
    assert "<html" not in text  # it would be a screen
    assert FOR_PROGRAMMERS.findall(html.unescape(text)) == []


@pytest.mark.parametrize("file", FILES)
def test_file_is_no_page(fetch: Fetch, world: World, file: str) -> None:
    answered = fetch(file.format_map(world))

    assert answered.status == 200, answered.text()[:2000]
    assert "html" not in answered.headers["content-type"]


@pytest.mark.parametrize("path", LEADS_ON)
def test_what_leads_on_does_not_lead_out(fetch: Fetch, path: str) -> None:
    answered = fetch(path)

    assert answered.status == 303
    assert answered.headers["location"].startswith(("/inbox", "/bridge"))


@pytest.mark.requirement("console:screens:keyboard")
def test_request_is_rejected_by_one_key(ana: Hands, town: Town, bo: Somebody) -> None:
    run, asked = bo.asks(a_plan("keys"))
    ana.opens(f"/inbox/{asked}")
    ana.settle()

    ana.press("x")

    ana.see(".inbox-said", "Rejected.")
    assert town.ask("GET", f"/approvals/{asked}")["answered"]["answer"] == "reject"
    town.until(f"/runs/{run}", lambda found: found["status"] == "failed")


@pytest.mark.requirement("console:screens:live")
def test_a_request_comes_and_goes_by_itself(ana: Hands, town: Town, bo: Somebody) -> None:
    ana.watch("/inbox")

    _, asked = bo.asks(a_plan("news"))
    ana.see(f"#row-{asked}", "library.lend_book")
    town.ask("POST", f"/approvals/{asked}/answer", {"answer": "reject"})

    ana.page.locator(f"#row-{asked}").wait_for(state="detached")
    assert ana.undisturbed()
