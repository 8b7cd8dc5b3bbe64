"""The shell: who comes in, what every page has, and what it may load."""

from portico.faces.web.wall import COOKIE
from tests.faces.web.conftest import Browser

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


async def test_who_has_no_session_is_asked_for_a_key(stranger: Browser) -> None:
    answer = await stranger.get("/runs?status=failed")

    assert answer.status == 303
    assert answer.headers["location"] == "/login?to=%2Fruns%3Fstatus%3Dfailed"


async def test_a_key_opens_a_session_and_leads_to_where_one_wanted(stranger: Browser) -> None:
    answer = await stranger.post("/login", {"key": stranger.site.key, "to": "/runs"})

    assert answer.status == 303
    assert answer.headers["location"] == "/runs"
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()


async def test_a_login_never_leads_elsewhere(stranger: Browser) -> None:
    for to in ["https://else.example", "//else.example", "/\\else.example", "javascript:x", ""]:
        answer = await stranger.post("/login", {"key": stranger.site.key, "to": to})

        assert answer.headers["location"] == "/"


async def test_a_wrong_key_is_told_so(stranger: Browser) -> None:
    answer = await stranger.post("/login", {"key": "ptc_nothing"})

    assert answer.status == 401
    assert "set-cookie" not in answer.headers
    assert b"ptc_nothing" not in answer.body


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


async def test_the_stream_stands_at_the_end_and_tells_what_comes(console: Browser) -> None:
    await console.site.ask("POST", "/api/v1/runs", {"kind": "drill", "input": {"steps": 1}})

    async with console.live("runs") as stream:
        await stream.until(lambda: stream.status == 200)
        await console.site.ask("POST", "/api/v1/runs", {"kind": "drill", "input": {"steps": 1}})
        await stream.until(lambda: any(each.data for each in stream.messages))

    told = [each for each in stream.messages if each.data]
    assert {each.data["topic"] for each in told} == {"runs"}
    assert all(each.id for each in told)
