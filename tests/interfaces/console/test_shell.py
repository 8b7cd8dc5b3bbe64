"""The shell: who comes in, what every page has, and what it says of nothing."""

import html

import pytest

from portico.interfaces.console.sessions import COOKIE
from tests.interfaces.console.conftest import Browser

PLACES = [
    "/inbox",
    "/runs",
    "/chat",
    "/bridge",
    "/debates",
    "/tools",
    "/graph",
    "/servers",
    "/agents",
    "/figures",
    "/audit",
    "/settings",
    "/welcome",
]


async def test_every_place_is_there(console: Browser) -> None:
    for place in PLACES:
        text = await console.sees(place)

        assert f'href="{place}"' in text
        assert "style=" not in text
        assert "<script>" not in text


async def test_who_has_no_session_is_asked_for_a_key_and_led_where_they_wanted(
    stranger: Browser,
) -> None:
    asked = await stranger.get("/runs?status=failed")
    wrong = await stranger.post("/login", {"key": "ptc_nothing"})
    answer = await stranger.post("/login", {"key": stranger.site.key, "to": "/runs"})

    wanted = "/login?to=%2Fruns%3Fstatus%3Dfailed"
    assert (asked.status, asked.headers["location"]) == (303, wanted)
    assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
    assert b"ptc_nothing" not in wrong.body
    assert (answer.status, answer.headers["location"]) == (303, "/runs")
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()


async def test_a_login_never_leads_elsewhere(stranger: Browser) -> None:
    for to in ["https://else.example", "//else.example", "/\\else.example", "javascript:x", ""]:
        answer = await stranger.post("/login", {"key": stranger.site.key, "to": to})

        assert answer.headers["location"] == "/"


async def test_a_form_from_elsewhere_is_refused(console: Browser) -> None:
    answer = await console.post("/logout", {}, (b"sec-fetch-site", b"cross-site"))

    assert answer.status in {400, 403}


async def test_after_logging_out_the_session_opens_nothing(console: Browser) -> None:
    kept = console.cookies[COOKIE]

    assert await console.does("/logout") == "/login"

    console.cookies[COOKIE] = kept
    assert (await console.get("/runs")).status == 303


async def test_a_key_in_the_cookie_is_no_session(console: Browser) -> None:
    console.cookies[COOKIE] = console.site.key

    assert (await console.get("/runs")).status == 303


async def test_a_page_that_is_not_there_says_so_in_the_console(console: Browser) -> None:
    answer = await console.get("/runs/nothing/at/all")

    assert answer.status == 404
    assert b"There is no such page" in answer.body


async def test_every_answer_says_what_the_page_may_load(console: Browser) -> None:
    for path in ["/inbox", "/login", "/nothing", "/static/app.css"]:
        answer = await console.get(path)

        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]


async def test_the_palette_finds_places(console: Browser) -> None:
    answer = await console.get("/palette?q=run", part=True)

    assert b'href="/runs"' in answer.body
    assert b'href="/inbox"' not in answer.body


async def link_of(browser: Browser) -> str:
    made = await browser.site.ask("POST", "/api/v1/console-links")
    assert made.status == 201, made.json
    link: str = made.json["link"]
    return link


async def test_what_a_link_carries_is_exchanged_once_and_is_no_cookie_of_the_browser(
    stranger: Browser,
) -> None:
    address, _, handed = (await link_of(stranger)).partition("#")

    first = await stranger.post("/login", {"handed": handed, "to": "/runs"})
    second = await stranger.post("/login", {"handed": handed})

    assert address == "http://127.0.0.1:3100/login"
    assert (first.status, first.headers["location"]) == (303, "/runs")
    assert handed not in first.headers["set-cookie"]
    assert second.status == 401
    assert (b"portico ui" in second.body, b"Bearer" in second.body) == (True, False)


async def test_what_it_carries_opens_no_other_door(stranger: Browser) -> None:
    handed = (await link_of(stranger)).partition("#")[2]

    assert (await stranger.site.ask("GET", "/api/v1/me", key=handed)).status == 401
    assert (await stranger.post("/login", {"key": handed})).status == 401


async def test_an_agent_gets_no_link(stranger: Browser) -> None:
    key = await stranger.site.ask("POST", "/api/v1/keys", {"name": "bot", "agent": True})

    answer = await stranger.site.ask("POST", "/api/v1/console-links", key=key.json["key"])

    assert (answer.status, answer.json["code"]) == (403, "session_for_people")


async def test_a_link_of_somebody_else_asks_before_it_takes_the_browser_over(
    stranger: Browser,
) -> None:
    asked = {"name": "eve", "roles": ["member"], "clearance": "team"}
    invited = await stranger.site.ask("POST", "/api/v1/invitations", asked)
    token = invited.json["link"].partition("#")[2]
    eve = (await stranger.site.ask("POST", "/api/v1/invitations/accept", key=token)).json["key"]
    made = await stranger.site.ask("POST", "/api/v1/console-links", key=eve)
    handed = made.json["link"].partition("#")[2]
    await stranger.log_in()

    asks = await stranger.post("/login", {"handed": handed, "to": "/runs"})
    sure = await stranger.post("/login", {"handed": handed, "to": "/runs", "sure": "1"})

    assert (asks.status, "set-cookie" in asks.headers) == (200, False)
    assert b"Log in as eve in home" in asks.body
    assert b"logged in as <b>ana in home</b>" in asks.body
    assert (sure.status, sure.headers["location"]) == (303, "/runs")
    assert COOKIE in sure.headers["set-cookie"]


async def test_a_link_of_ones_own_asks_nothing(stranger: Browser) -> None:
    await stranger.log_in()
    handed = (await link_of(stranger)).partition("#")[2]

    answer = await stranger.post("/login", {"handed": handed, "to": "/runs"})

    assert (answer.status, answer.headers["location"]) == (303, "/runs")
    assert "set-cookie" not in answer.headers


async def test_who_is_logged_in_is_not_sent_on_with_what_a_link_carries(console: Browser) -> None:
    """A browser keeps what is behind the # when a server sends it elsewhere."""
    answer = await console.get("/login?to=/runs")
    elsewhere = await console.get("/login?to=//else.example")

    assert answer.status == 200
    assert b'id="onward" href="/runs"' in answer.body
    assert b'id="onward" href="/"' in elsewhere.body


EMPTY = {
    "/inbox": ("Nothing waits for you.", "you say yes or no"),
    "/runs": ("No runs yet.", "portico run plan.toml"),
    "/chat": ("There is no agent yet.", "Make an agent"),
    "/bridge": ("No project yet.", "Create a project"),
    "/debates": ("No debate yet.", "Ask something"),
    "/tools?q=zzyzx": ("No tool fits", "Add a server"),
    "/graph": ("Nothing learnt yet.", "Find a tool and call it"),
    "/servers": ("No servers yet.", "Add servers"),
    "/agents": ("No agents yet.", "Begin with a template"),
    "/figures": ("Collecting: first numbers after some calls.", "Find a tool"),
    "/audit?action=debate.": ("No such entries.", "Filter"),
    "/settings/secrets": ("No secrets.", "Set a secret"),
    "/welcome": ("No servers yet.", "portico init"),
}
NOBODY = "0" * 26
GONE = {
    f"/inbox/apr_{NOBODY}": 404,
    f"/runs/run_{NOBODY}": 404,
    f"/chat/run_{NOBODY}": 404,
    f"/bridge/prj_{NOBODY}": 404,
    f"/bridge/prj_{NOBODY}/cnv_{NOBODY}": 404,
    f"/debates/dbt_{NOBODY}": 404,
    "/debates/what-is-this": 404,
    "/tools/library.nothing": 404,
    "/graph?all=1&from=no.one&to=no.two": 404,
    "/servers/nothing": 404,
    "/agents/nothing": 404,
    "/agents/a%2Fb": 404,
    "/audit?after=nonsense": 422,
    "/inbox?after=bm9wZQ": 422,
    "/runs/%00": 404,
    "/settings/nothing": 404,
}


@pytest.mark.requirement("console:screens:states")
async def test_screens_with_nothing_on_them_say_what_to_do(console: Browser) -> None:
    for path, wanted in EMPTY.items():
        text = html.unescape(await console.sees(path))

        assert [words for words in wanted if words not in text] == [], path


@pytest.mark.requirement("console:screens:states")
async def test_what_is_not_there_is_said_on_a_page_of_the_console(console: Browser) -> None:
    for path, status in GONE.items():
        answer = await console.get(path)

        text = answer.body.decode()
        assert answer.status == status, path
        assert 'role="alert"' in text, path
        assert 'class="fix"' in text, path
        assert '<nav class="side"' in text, path
