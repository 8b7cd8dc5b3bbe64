"""Build, observe and settings, by keyboard alone, in a real browser on a running Portico; and what
happens behind an open page shows on it."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from portico.faces.web.nav import GROUPS
from tests.scenarios.browsing import window
from tests.scenarios.console_town import Town, a_plan
from tests.scenarios.keyboard import Hands
from tests.scenarios.scripted_model import MODEL

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.requirement("console:screens:keyboard"),
]


@pytest.fixture(scope="module", autouse=True)
def something_ran(town: Town) -> None:
    town.plan(a_plan("rivers")[:4], wait=30)


@pytest.fixture(scope="module")
def hands(browser: Browser, town: Town) -> Iterator[Hands]:
    with window(browser, town.house) as made:
        yield Hands(made)


@pytest.fixture(autouse=True)
def nothing_to_complain_of(hands: Hands) -> Iterator[None]:
    hands.window.wrong.clear()
    yield
    assert hands.window.wrong == []


def test_out_and_in_again(browser: Browser, town: Town) -> None:
    with window(browser, town.house) as made:
        ana = Hands(made)
        page = made.opens("/inbox")

        ana.tab_to(page.get_by_role("button", name="Log out"))
        ana.press("Enter")
        ana.arrive("/login")
        made.opens("/audit")
        ana.arrive("/login")

        ana.until_focused(page.get_by_label("Key"))
        ana.type(town.house.key)
        ana.press("Enter")
        ana.arrive("/audit")
        expect(page.get_by_role("heading", name="Audit")).to_be_visible()
        assert made.wrong == []


def test_every_place_has_its_letter(hands: Hands) -> None:
    page = hands.window.opens("/settings/about")

    for place in [place for group in GROUPS for place in group.places]:
        hands.go(place.key, place.path)

        current = page.locator('nav.side a[aria-current="page"]')
        expect(current).to_contain_text(place.name)


@pytest.mark.parametrize("keys", ["Control+k", "Meta+k"])
def test_the_palette_finds_and_jumps(hands: Hands, keys: str) -> None:
    page = hands.window.opens("/servers")
    found = page.locator("#palette-found")

    hands.press(keys)
    hands.until_focused(page.locator(".palette-in"))
    hands.type("librarian")
    link = found.get_by_role("link", name="Agent librarian")
    expect(link).to_be_visible()
    hands.mark(link, "ArrowDown")
    hands.press("Enter")

    hands.arrive("/agents/librarian")


@pytest.mark.parametrize(("more", "marked"), [("ian", "#palette-found a"), ("ious", ".palette-in")])
def test_what_is_found_late_leaves_the_keyboard_in_the_palette(
    hands: Hands, more: str, marked: str
) -> None:
    page = hands.window.opens("/servers")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(lambda url: url.endswith(f"/palette?q=librar{more}"), hold)
    link = page.locator("#palette-found").get_by_role("link", name="Agent librarian")

    hands.press("Control+k")
    hands.until_focused(page.locator(".palette-in"))
    hands.type("librar")
    expect(link).to_be_visible()
    with page.expect_request(lambda request: request.url.endswith(more)):
        hands.type(more)
    hands.mark(link, "ArrowDown")
    page.evaluate("document.querySelector('#palette-found').firstElementChild.id = 'before'")
    held[0].continue_()
    expect(page.locator("#before")).to_have_count(0)
    page.unroute_all()

    assert hands.focused(marked)


def test_the_palette_is_left_by_escape_where_one_was(hands: Hands) -> None:
    page = hands.window.opens("/servers")
    hands.press("j")
    row = page.locator("[data-row] a").first
    assert hands.focused(row)

    hands.press("Control+k")
    hands.until_focused(page.locator(".palette-in"))
    hands.press("Escape")

    expect(page.locator("#palette")).to_be_hidden()
    hands.until_focused(row)


def test_a_question_mark_lists_the_keys(hands: Hands) -> None:
    page = hands.window.opens("/audit")

    hands.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("to the next")
    hands.press("Escape")

    expect(page.locator("#help")).to_be_hidden()


@pytest.mark.parametrize("path", ["/servers", "/tools", "/agents", "/audit", "/settings/keys"])
def test_j_and_k_mark_one_row_after_the_other(hands: Hands, path: str) -> None:
    page = hands.window.opens(path)
    rows = page.locator("[data-row]")
    marked = page.locator("[data-row]:focus-within, [data-row]:focus")

    last = rows.count() - 1
    wanted = -1
    for keys in ("j", "j", "j", "k"):
        wanted = min(wanted + 1, last) if keys == "j" else max(wanted - 1, 0)
        hands.press(keys)
        expect(marked).to_have_count(1)
        same = rows.nth(wanted).evaluate("row => row.contains(document.activeElement)")
        assert same, (keys, wanted, hands.where())


def test_enter_on_a_server_of_the_tools_opens_it(hands: Hands, town: Town) -> None:
    page = hands.window.opens("/tools")
    group = page.locator(".tools-group", has_text="library").first

    hands.mark(group.locator("summary"))
    hands.press("Enter")

    expect(group.get_by_role("link", name="find_books")).to_be_visible()
    assert town.ask("GET", "/servers/library")["enabled"]


def calls_of(town: Town, tool: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = town.ask("GET", f"/calls?tool={tool}&limit=100")["data"]
    return found


def test_a_tool_is_found_and_called(hands: Hands, town: Town) -> None:
    page = hands.window.opens("/tools")
    before = len(calls_of(town, "library.find_books"))

    hands.press("/")
    hands.type("find books on a topic")
    hit = page.locator(".tools-hit a", has_text="library.find_books")
    expect(hit).to_be_visible()
    hands.press("Escape")
    hands.mark(hit)
    hands.press("Enter")
    hands.arrive("/tools/library.find_books")
    hands.press("t")
    hands.tab_to(page.get_by_label("topic"))
    hands.type("rivers")
    hands.tab_to(page.get_by_role("button", name="Call it"))
    hands.press("Enter")

    expect(page.locator("#tool-result")).to_contain_text("done")
    newest, *_ = made = calls_of(town, "library.find_books")
    assert len(made) == before + 1
    assert newest["arguments"] == {"topic": "rivers"}
    expect(page.get_by_label("topic")).to_have_value("rivers")
    hands.until_focused(page.get_by_role("button", name="Call it"))


def test_a_tool_is_not_called_with_what_is_no_json(hands: Hands) -> None:
    page = hands.window.opens("/tools/library.find_books")

    hands.press("t")
    raw = page.get_by_label("Arguments as one JSON object")
    hands.tab_to(page.locator("#tool-try summary", has_text="Raw JSON"))
    hands.press("Enter", "Tab", "Control+a")
    hands.type("{wrong")
    hands.press("Tab", "Enter")

    expect(page.locator("#tool-try").get_by_role("alert")).to_contain_text("JSON")
    expect(raw).to_have_value("{wrong")
    assert len(hands.window.wrong) == 1, hands.window.wrong
    assert "status of 422 " in hands.window.wrong.pop()


def test_a_path_between_two_tools_is_explained(hands: Hands, town: Town) -> None:
    way = "/graph/path?from=library.find_books&to=library.read_author"
    told = town.until(way, lambda found: found["likeliest"])["likeliest"]
    page = hands.window.opens("/graph")

    hands.press("p")
    hands.type("library.find_books")
    hands.press("Tab")
    hands.type("library.read_author")
    hands.press("Enter")

    hops = page.locator(".graph-hops [data-hop]")
    expect(hops.first).to_contain_text("library.find_books")
    assert [hop.get_attribute("data-hop") for hop in hops.all()] == told["tools"]
    assert len(told["tools"]) > 1
    for hop, its in zip(hops.all()[1:], told["hops"], strict=True):
        expect(hop).to_contain_text(f"{its['confidence']:.2f}")


def test_a_server_is_added_allowed_and_let_in(hands: Hands, town: Town) -> None:
    launch = town.ask("GET", "/servers/library")["launch"]
    page = hands.window.opens("/servers")

    hands.press("n")
    hands.arrive("/servers/_add")
    hands.press("/")
    hands.type(" ".join([launch["command"], *launch["arguments"]]))
    hands.tab_to(page.get_by_label("Name"))
    hands.type("annex")
    hands.press("Enter")
    expect(page.get_by_text("This would be added")).to_be_visible()
    hands.skip_menu()
    hands.tab_to(page.get_by_role("button", name="Add it"))
    hands.press("Enter")
    hands.arrive("/servers/annex")
    assert not town.ask("GET", "/servers/annex")["approved"]
    hands.press("a")
    expect(page.get_by_text("wait to be let in")).to_be_visible()
    hands.press("a")
    expect(page.get_by_text("Its tools can be found and called.")).to_be_visible()

    assert town.ask("GET", "/tools/annex.find_books")["standing"] == "live"
    town.gateway.remove("annex")


def test_an_agent_is_made_and_changed(hands: Hands, town: Town) -> None:
    page = hands.window.opens("/agents")

    hands.press("n")
    hands.arrive("/agents/new")
    hands.skip_menu()
    hands.tab_to(page.get_by_label("Name", exact=True))
    hands.type("archivist")
    hands.press("Tab")
    hands.type(f"{MODEL}")
    hands.tab_to(page.get_by_label("Instructions"))
    hands.type("You keep what is old.")
    hands.press("Control+s")
    hands.arrive("/agents/archivist")
    made = town.ask("GET", "/agents/archivist")
    assert (made["version"], made["instructions"]) == (1, "You keep what is old.")

    hands.skip_menu()
    hands.tab_to(page.get_by_label("What it is for"))
    hands.type("Finds old things")
    hands.press("Control+s")
    expect(page.get_by_text("Saved as another version.")).to_be_visible()
    changed = town.ask("GET", "/agents/archivist")
    assert (changed["version"], changed["description"]) == (2, "Finds old things")
    town.ask("DELETE", "/agents/archivist")


def test_a_range_of_the_metrics_is_chosen(hands: Hands, town: Town) -> None:
    page = hands.window.opens("/figures")
    counted = {each["name"]: each["calls"] for each in town.ask("GET", "/figures?minutes=60")}
    chips = page.get_by_role("navigation", name="Range").get_by_role("link")
    names = [text.split()[0] for text in chips.all_inner_texts()]
    assert len(names) > 2

    for number, _ in enumerate(names, 1):
        hands.press(str(number))
        current = page.locator('nav[aria-label="Range"] a[aria-current="true"]')
        expect(current).to_have_attribute("data-key", str(number))
        hands.arrive("/figures")
        row = page.locator("#figures-library td.r").first
        expect(row).to_have_text(str(counted["library"]))


def test_the_audit_is_searched_opened_and_verified(hands: Hands, town: Town) -> None:
    page = hands.window.opens("/audit")
    newest = town.ask("GET", "/audit?action=policy.*&limit=1")["data"][0]

    hands.press("/")
    hands.type("policy.")
    hands.press("Enter")
    hands.arrive("/audit?action=policy.")
    rows = page.locator(".audit-table tbody tr")
    assert all("policy." in text for text in rows.all_inner_texts())
    hands.press("j")
    hands.tab_to(rows.first.locator("summary"))
    hands.press("Enter")
    expect(rows.first.locator("pre")).to_be_visible()
    assert newest["hash"] in rows.first.inner_text()

    hands.press("v")
    expect(page.locator(".note.ok")).to_be_visible()


def test_a_key_is_made_shown_once_and_revoked(hands: Hands, town: Town) -> None:
    page = hands.window.opens("/settings/keys")

    hands.press("n")
    hands.press("Tab")
    hands.type("lamp")
    hands.press("Enter")
    expect(page.get_by_role("heading", name="The key lamp")).to_be_visible()
    key = page.locator(".settings-issued pre").first.inner_text()
    with town.house.client(key) as client:
        assert client.get("/servers").is_success

    hands.skip_menu()
    row = page.get_by_role("row").filter(has_text=key.split("_")[1])
    hands.tab_to(row.locator("summary", has_text="Revoke"))
    hands.press("Enter")
    hands.tab_to(row.get_by_role("button", name="Revoke"))
    hands.press("Enter")
    expect(page.get_by_text("The key does not work any more.")).to_be_visible()
    with town.house.client(key) as client:
        assert client.get("/servers").status_code == 401


def test_a_session_elsewhere_is_ended(hands: Hands, browser: Browser, town: Town) -> None:
    key = town.ask("POST", "/keys", {"name": "elsewhere"})
    with window(browser, town.house, key["key"]) as other:
        page = hands.window.opens("/settings")
        hands.skip_menu()
        row = page.get_by_role("row").filter(has_text=key["id"])
        hands.tab_to(row.locator("summary"))
        hands.press("Enter")
        hands.tab_to(row.get_by_role("button", name="End"))
        hands.press("Enter")

        expect(page.get_by_text("That session has ended.")).to_be_visible()
        other.opens("/audit")
        Hands(other).arrive("/login")


def test_samples_are_added_from_the_welcome(hands: Hands, town: Town) -> None:
    page = hands.window.opens("/welcome")
    boxes = page.locator('input[name="sample"]')
    names = [str(box.get_attribute("value")) for box in boxes.all()]
    kept = names[0]

    hands.skip_menu()
    for name in names[1:]:
        hands.tab_to(page.locator(f'input[name="sample"][value="{name}"]'))
        hands.press("Space")
    hands.tab_to(page.get_by_role("button", name="Add these"))
    hands.press("Enter")

    expect(page.get_by_text("Added, and not started.")).to_be_visible()
    known = {each["name"]: each for each in town.ask("GET", "/servers")}
    assert kept in known
    assert not known[kept]["approved"]
    assert not set(names[1:]) & set(known)
    town.gateway.remove(kept)
