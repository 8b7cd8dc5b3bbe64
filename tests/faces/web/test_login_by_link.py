"""`portico ui`: a session that is carried to a browser, and exchanged there."""

from portico.faces.web.wall import COOKIE
from tests.faces.web.conftest import Browser


async def link_of(browser: Browser) -> str:
    made = await browser.site.ask("POST", "/api/v1/console-links")
    assert made.status == 201, made.json
    link: str = made.json["link"]
    return link


async def test_the_link_leads_to_the_login_with_a_session_that_no_server_sees(
    stranger: Browser,
) -> None:
    address, _, handed = (await link_of(stranger)).partition("#")

    assert address == "http://127.0.0.1:3100/login"
    assert handed.startswith("ptc_")


async def test_what_it_carries_is_exchanged_once_and_is_no_cookie_of_the_browser(
    stranger: Browser,
) -> None:
    handed = (await link_of(stranger)).partition("#")[2]

    first = await stranger.post("/login", {"handed": handed, "to": "/runs"})
    second = await stranger.post("/login", {"handed": handed})

    assert first.status == 303, first.body[-1500:]
    assert first.headers["location"] == "/runs"
    assert handed not in first.headers["set-cookie"]
    assert second.status == 401
    assert b"portico ui" in second.body
    assert b"Bearer" not in second.body


async def test_what_it_carries_opens_no_other_door(stranger: Browser) -> None:
    handed = (await link_of(stranger)).partition("#")[2]

    assert (await stranger.site.ask("GET", "/api/v1/me", key=handed)).status == 401
    assert (await stranger.post("/login", {"key": handed})).status == 401


async def test_an_agent_gets_no_link(stranger: Browser) -> None:
    key = await stranger.site.ask("POST", "/api/v1/keys", {"name": "bot", "agent": True})

    answer = await stranger.site.ask("POST", "/api/v1/console-links", key=key.json["key"])

    assert (answer.status, answer.json["code"]) == (403, "session_for_people")


async def test_a_key_is_still_taken_by_itself(stranger: Browser) -> None:
    await stranger.log_in()

    assert COOKIE in stranger.cookies
    assert (await stranger.get("/inbox")).status == 200


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
