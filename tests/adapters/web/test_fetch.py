"""The web as an agent has it: typed answers, typed refusals."""

import asyncio

import pytest

from portico.adapters.web.fetch import GuardedWeb
from portico.box.core.errors import AddressRefused, FetchFailed
from portico.box.core.profile import Place
from portico.box.core.web import Request
from tests.adapters.web.canary import canary, listener
from tests.adapters.web.sites import Page, a_client, a_site


def page(path: str) -> Page:
    match path:
        case "/on":
            return 302, {"Location": "/end"}, b""
        case "/round":
            return 302, {"Location": "/round"}, b""
        case "/large":
            return 200, {}, bytes(10_001)
        case _:
            return 418, {"X-Pot": "tea"}, b"short and stout"


async def test_what_is_fetched_says_where_it_came_from() -> None:
    async with a_site(page) as site, a_client(Place("site.test", site.port)) as client:
        asked = Request(url=site.url("/on"), method="post", body=b"{}", headers={"X-Mine": "1"})
        found = await GuardedWeb(client).fetch(asked)

    assert (found.status, found.url, found.body) == (418, site.url("/end"), b"short and stout")
    assert found.headers["x-pot"] == "tea"
    assert site.asked[0].method == "POST"
    assert site.asked[0].headers["x-mine"] == "1"


async def test_headers_of_the_connection_are_not_taken() -> None:
    bad = {"Host": "inner", "Transfer-Encoding": "chunked", "Content-Length": "1", "TE": "x"}
    async with a_site(page) as site, a_client(Place("site.test", site.port)) as client:
        await GuardedWeb(client).fetch(
            Request(url=site.url(), headers=bad | {"Accept-Encoding": "br"})
        )

    [asked] = site.asked
    assert asked.headers["host"] == f"site.test:{site.port}"
    assert asked.headers["accept-encoding"] == "gzip"
    assert not {"transfer-encoding", "te", "content-length"} & set(asked.headers)


@pytest.mark.parametrize(
    "url", ["http://[", "http://\t127.0.0.1/", "http://" + "x" * 70_000, "x:y"]
)
async def test_what_is_no_address_is_refused(url: str) -> None:
    async with a_client() as client:
        with pytest.raises(AddressRefused):
            await GuardedWeb(client).fetch(Request(url=url))


@pytest.mark.parametrize(
    "request_",
    [
        *(
            Request(url="http://site.test/?k=s3cret", method=each)
            for each in ("CONNECT", "A B", "")
        ),
        Request(url="http://site.test/?k=s3cret", headers={"X": "s3cret\r\nY: z"}),
        Request(url="http://site.test/?k=s3cret", headers={"X\r\n": "s3cret"}),
        Request(url="http://site.test/?k=s3cret", headers={"X": "s3cret\u2603"}),
    ],
)
async def test_what_cannot_be_sent_is_not_and_nothing_of_it_is_told(request_: Request) -> None:
    async with a_client(Place("site.test", 80)) as client:
        with pytest.raises(FetchFailed) as failed:
            await GuardedWeb(client).fetch(request_)

    assert "s3cret" not in f"{failed.value} {failed.value.fix}"


async def test_a_header_that_no_connection_can_carry_is_not_told() -> None:
    async with a_site(page) as site, a_client(Place("site.test", site.port)) as client:
        asked = Request(url=site.url(), headers={"A B": "s3cret"})
        with pytest.raises(FetchFailed, match="one of its headers cannot be sent") as failed:
            await GuardedWeb(client).fetch(asked)

    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize(
    ("path", "told"),
    [("/large", "longer than 10,000 bytes"), ("/round", "leads on more than 2 times")],
)
async def test_what_goes_too_far_is_told(path: str, told: str) -> None:
    async with a_site(page) as site, a_client(Place("site.test", site.port)) as client:
        asked = Request(url=site.url(path), largest=10_000, redirects=2)
        with pytest.raises(FetchFailed, match=told):
            await GuardedWeb(client).fetch(asked)


async def test_what_takes_too_long_is_told() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with canary(silent) as bird, a_client(Place("site.test", bird.port)) as client:
        asked = Request(url=f"http://site.test:{bird.port}/", seconds=0.2)
        with pytest.raises(FetchFailed, match=r"took longer than 0\.2 s"):
            await GuardedWeb(client).fetch(asked)


async def test_what_is_not_there_is_told() -> None:
    with listener() as closed:
        dead = closed.getsockname()[1]
    async with a_client(Place("site.test", dead)) as client:
        with pytest.raises(FetchFailed, match="could not be fetched"):
            await GuardedWeb(client).fetch(Request(url=f"http://site.test:{dead}/"))


async def test_what_nobody_allowed_says_how_to_allow_it() -> None:
    async with a_client() as client:
        with pytest.raises(AddressRefused, match=r"site\.test:80 .* leads to a loopback") as no:
            await GuardedWeb(client).fetch(Request(url="http://site.test/"))

    assert no.value.fix == (
        "An admin can allow exactly this place: `portico config set web.allow HOST:PORT`."
    )
