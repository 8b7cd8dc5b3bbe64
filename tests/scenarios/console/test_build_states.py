"""Build, observe and settings where there is nothing yet, and where something is refused: in a
real browser, by keyboard."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests import installation as installations
from tests.installation import Installation
from tests.scenarios.browsing import Window, window
from tests.scenarios.keyboard import Hands

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.requirement("console:screens:states"),
]

EMPTY = {
    "/tools?q=zzyzx": ("No tool fits", "Add a server"),
    "/graph": ("Nothing learnt yet.", "Find a tool and call it"),
    "/servers?only=off": ("None of these.", "Add servers"),
    "/agents": ("No agents yet.", "Begin with a template"),
    "/figures": ("Collecting: first numbers after some calls.", "Find a tool"),
    "/audit?action=debate.": ("No such entries.", "Filter"),
    "/settings/secrets": ("No secrets.", "Set a secret"),
    "/welcome": ("Only Portico's own tools so far.", "portico init"),
}
"""What each says of there being nothing, and what it offers to do."""

GONE = {
    "/tools/library.nothing": 404,
    "/graph?all=1&from=no.one&to=no.two": 404,
    "/servers/nothing": 404,
    "/agents/nothing": 404,
    "/audit?after=nonsense": 422,
    "/settings/nothing": 404,
}


@pytest.fixture(scope="module")
def house() -> Iterator[Installation]:
    """Nothing but what `portico init` makes; no model on this machine is looked for, and nobody
    takes up runs."""
    with installations.installation() as made:
        with (made.home / "config" / "portico.toml").open("a", encoding="utf-8") as settings:
            settings.write("\n[models]\ndiscover = false\n\n[engine]\nwork = false\n")
        with made.serving():
            yield made


@pytest.fixture(scope="module")
def hands(browser: Browser, house: Installation) -> Iterator[Hands]:
    with window(browser, house) as made:
        yield Hands(made)


@pytest.fixture(autouse=True)
def nothing_heard_before(hands: Hands) -> None:
    hands.window.wrong.clear()


def refused_once(made: Window, status: int) -> bool:
    """The browser says of itself that one request was refused, and complains of nothing else."""
    wrong = [
        each for each in made.wrong if f"the server responded with a status of {status} " in each
    ]
    return len(wrong) == 1 and made.wrong == wrong


@pytest.mark.parametrize("path", EMPTY)
def test_a_screen_with_nothing_on_it_says_what_to_do(hands: Hands, path: str) -> None:
    says, offers = EMPTY[path]

    page = hands.window.opens(path)

    main = page.locator("#main")
    expect(main).to_contain_text(says)
    expect(main).to_contain_text(offers)
    assert page.locator("h1").count() == 1
    assert hands.window.wrong == []


@pytest.mark.parametrize("path", GONE)
def test_what_is_not_there_is_said_with_what_to_do(hands: Hands, path: str) -> None:
    page = hands.window.opens(path)

    told = page.get_by_role("alert")
    expect(told).to_be_visible()
    expect(told.locator(".fix")).not_to_be_empty()
    assert '{"' not in page.locator("#main").inner_text()
    assert page.locator("h1").count() == 1
    assert refused_once(hands.window, GONE[path]), hands.window.wrong
    hands.go("w", "/welcome")


def test_a_run_that_has_not_begun_says_so(hands: Hands) -> None:
    with hands.window.house.client() as client:
        run = client.post("/runs", json={"kind": "drill", "input": {}}).json()["id"]

    page = hands.window.opens(f"/runs/{run}")
    hands.window.live()
    hands.settle()

    with hands.without_reload():  # it waits for its steps, and does not ask again and again
        hands.settle()
        expect(page.locator("#main")).to_contain_text("Nothing was done yet.")
    expect(page.locator("#main")).to_contain_text("as soon as they begin")
    assert hands.window.wrong == []


@pytest.mark.parametrize("path", ["/figures", "/audit", "/servers", "/agents"])
def test_whoever_may_not_look_is_told_what_it_takes(
    browser: Browser, house: Installation, path: str
) -> None:
    with house.client() as client:
        narrow = client.post("/keys", json={"name": "narrow", "scopes": ["runs:read"]}).json()
    with window(browser, house, narrow["key"]) as made:
        made.wrong.clear()
        page = made.opens(path)

        told = page.get_by_role("alert")
        expect(told).to_be_visible()
        expect(told.locator(".fix")).to_contain_text("scope")
        assert refused_once(made, 403), made.wrong


def test_a_wrong_key_does_not_open_the_door(browser: Browser, house: Installation) -> None:
    with window(browser, house) as made:
        made.context.clear_cookies()
        page, ana = made.opens("/login"), Hands(made)

        ana.until_focused(page.get_by_label("Key"))
        ana.type("ptc_nothing_nothing")
        ana.press("Enter")

        expect(page.get_by_role("alert").locator(".fix")).not_to_be_empty()
        ana.until_focused(page.get_by_label("Key"))
        assert refused_once(made, 401), made.wrong


def test_a_link_of_somebody_else_asks_before_it_logs_in(
    browser: Browser, house: Installation
) -> None:
    with house.client() as client:
        who = {"name": "eve", "roles": ["member"], "clearance": "team"}
        invited = client.post("/invitations", json=who).json()["link"].partition("#")[2]
    with house.client(invited) as client:
        eve = client.post("/invitations/accept").json()["key"]
    with house.client(eve) as client:
        link = client.post("/console-links").json()["link"]
    with window(browser, house) as made:
        page, ana = made.page, Hands(made)

        page.goto(link)

        expect(page.get_by_role("heading", name="Log in as somebody else?")).to_be_visible()
        assert "#" not in page.url
        assert made.violations() == []
        ana.tab_to(page.get_by_role("button", name="Log in as eve in home"))
        ana.press("Enter")
        expect(page.locator(".who")).to_contain_text("eve in home")
        made.opens("/login")
        ana.arrive("/inbox")


def test_a_paste_that_is_no_server_is_refused_and_kept(hands: Hands) -> None:
    page = hands.window.opens("/servers/_add")

    hands.press("/")
    hands.type('{"mcpServers": 7}')
    hands.tab_to(page.get_by_role("button", name="See what would be added"))
    hands.press("Enter")

    expect(page.get_by_role("alert")).to_contain_text("It cannot be added.")
    expect(page.locator("#add-text")).to_have_value('{"mcpServers": 7}')
    assert hands.window.wrong == []


def test_an_agent_with_wrong_limits_is_refused_at_the_field(hands: Hands) -> None:
    page = hands.window.opens("/agents/new")

    hands.skip_menu()
    hands.tab_to(page.get_by_label("Name", exact=True))
    hands.type("archivist")
    hands.tab_to(page.get_by_label("Instructions"))
    hands.type("You keep what is old.")
    hands.tab_to(page.get_by_label("Turns"))
    hands.press("Control+a")
    hands.type("many")
    hands.press("Control+s")

    expect(page.get_by_role("alert")).to_contain_text("What is wrong is said at each field.")
    expect(page.locator("#turns-wrong")).not_to_be_empty()
    expect(page.get_by_label("Turns")).to_have_value("many")
    expect(page.get_by_label("Instructions")).to_have_value("You keep what is old.")
    with hands.window.house.client() as client:
        assert client.get("/agents/archivist").status_code == 404
    assert len(hands.window.wrong) == 1, hands.window.wrong
