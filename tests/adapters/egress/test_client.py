"""The one client: what it follows, what it carries along, what it keeps, and where it stops."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
import pytest

from portico.adapters.egress.client import BOUNDS, Bounds, TooLong, next_request, written
from portico.sandbox.core.errors import AddressRefused
from portico.sandbox.core.profile import Place
from tests.adapters.egress.canary import canary
from tests.adapters.egress.sites import Page, Site, a_client, a_site

SECRET = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Cookie": "s=s3cret"}


def plain(path: str) -> Page:
    return 200, {}, b"here"


@asynccontextmanager
async def reached(
    page: Callable[[str], Page], *places: Place
) -> AsyncIterator[tuple[Site, httpx2.AsyncClient]]:
    async with a_site(page) as site, a_client(Place("site.test", site.port), *places) as client:
        yield site, client


async def test_what_an_allowed_place_says_is_read() -> None:
    async with reached(plain) as (site, client):
        answer = await client.get(site.url("/a?b=c"))

    assert (answer.status_code, answer.content) == (200, b"here")
    assert [each.path for each in site.asked] == ["/a?b=c"]


async def test_the_host_is_named_as_it_was_asked_for() -> None:
    async with reached(plain) as (site, client):
        await client.get(site.url())

    assert site.asked[0].headers["host"] == f"site.test:{site.port}"


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "gopher://site.test/", "ftp://site.test/", "ws://site.test/"),
        *("http:///", "http:site.test", "data:text/plain,x", "unix:///x", "//site.test/", "/x"),
    ],
)
async def test_nothing_is_spoken_but_http(url: str) -> None:
    async with a_client() as client:
        with pytest.raises(AddressRefused, match="only http and https"):
            await client.get(url)


async def test_an_address_that_names_a_user_is_refused() -> None:
    async with reached(plain) as (site, client):
        with pytest.raises(AddressRefused, match="names a user") as refused:
            await client.get(f"http://user:s3cret@site.test:{site.port}/")

    assert "s3cret" not in str(refused.value)
    assert site.asked == []


async def test_cookies_are_not_kept() -> None:
    async with reached(lambda path: (200, {"Set-Cookie": "a=b; Path=/"}, b"")) as (site, client):
        await client.get(site.url())
        await client.get(site.url())

        assert len(client.cookies) == 0
    assert [each.headers.get("cookie") for each in site.asked] == [None, None]


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with canary() as bird, a_site(plain) as site:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{bird.port}")
        async with a_client(Place("site.test", site.port)) as client:
            assert (await client.get(site.url())).content == b"here"

        assert bird.hits == []


async def test_what_the_operator_wrote_is_reached_by_their_proxy_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with canary() as proxy, a_site(plain) as site:
        monkeypatch.setenv("http_proxy", f"http://ana:pw@127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        vendor = httpx2.URL("http://vendor.test/v1")
        places = [written(str(vendor)), Place("site.test", site.port)]
        async with a_client(*places, proxied=vendor) as client:
            by_proxy = await client.get("http://vendor.test/v1/x")
            straight = await client.get(site.url())

    assert (by_proxy.content, straight.content) == (b"INTERNAL", b"here")
    [hit] = proxy.hits
    assert hit.startswith(b"GET http://vendor.test/v1/x HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic " in hit


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed_through_the_gate(status: int) -> None:
    async with reached(
        lambda path: (status, {"Location": "/b#c"}, b"") if path == "/a" else (200, {}, b"there")
    ) as (site, client):
        answer = await client.get(site.url("/a"))

    assert (answer.content, answer.url.path) == (b"there", "/b")
    assert [each.status_code for each in answer.history] == [status]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_what_nobody_allowed_is_refused(status: int) -> None:
    async with canary() as bird:
        async with reached(
            lambda path: (status, {"Location": f"http://127.0.0.1:{bird.port}/"}, b"")
        ) as (site, client):
            with pytest.raises(AddressRefused):
                await client.post(site.url(), content=b"body")

        assert bird.hits == []


@pytest.mark.parametrize(("status", "method"), [(302, "GET"), (303, "GET"), (307, "POST")])
async def test_what_was_sent_goes_along_only_where_the_method_does(
    status: int, method: str
) -> None:
    async with reached(
        lambda path: (status, {"Location": "/b"}, b"") if path == "/a" else (200, {}, b"")
    ) as (site, client):
        await client.post(site.url("/a"), content=b"body", headers={"Content-Type": "text/x"})

    last = site.asked[-1]
    kept = method == "POST"
    assert (last.method, last.body) == (method, b"body" if kept else b"")
    assert last.headers.get("content-type") == ("text/x" if kept else None)
    assert last.headers.get("content-length") == ("4" if kept else None)


async def test_secrets_stay_with_the_host_they_were_given_for() -> None:
    async with a_site(plain) as other:

        def page(path: str) -> Page:
            there = other.url(host="other.test") if path == "/b" else "/b"
            return 302, {"Location": there}, b""

        places = (Place("other.test", other.port),)
        async with a_site(page) as site, a_client(Place("site.test", site.port), *places) as client:
            await client.get(site.url("/a"), headers=SECRET | {"Accept": "text/x"})

    assert [each.headers.get("x-api-key") for each in site.asked] == ["s3cret", "s3cret"]
    assert "s3cret" not in str(other.asked)
    assert other.asked[0].headers["accept"] == "text/x"
    assert other.asked[0].headers["host"] == f"other.test:{other.port}"


async def test_credentials_given_beside_the_request_stay_too() -> None:
    async with a_site(plain) as other:
        places = (Place("other.test", other.port),)
        async with (
            a_site(lambda path: (302, {"Location": other.url(host="other.test")}, b"")) as site,
            a_client(Place("site.test", site.port), *places) as client,
        ):
            await client.get(site.url(), auth=("ana", "s3cret"))

    assert "authorization" in site.asked[0].headers
    assert "authorization" not in other.asked[0].headers


async def test_a_body_that_cannot_be_sent_again_is_not() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"once"

    async with reached(lambda path: (307, {"Location": "/b"}, b"")) as (site, client):
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(site.url(), content=pieces())


async def test_redirects_end() -> None:
    async with reached(lambda path: (302, {"Location": path + "x"}, b"")) as (site, client):
        with pytest.raises(httpx2.TooManyRedirects):
            await client.get(site.url(), extensions={BOUNDS: Bounds(redirects=5)})

    assert len(site.asked) == 6


@pytest.mark.parametrize(
    "place", ["http://[", "http://a:b:c/", "http://exa\u0308mple\u2100/", "\\\\"]
)
async def test_a_redirect_to_an_address_that_is_none_is_an_error_of_theirs(place: str) -> None:
    async with reached(lambda path: (302, {"Location": place.encode().decode("latin-1")}, b"")) as (
        site,
        client,
    ):
        with pytest.raises((httpx2.RemoteProtocolError, AddressRefused, httpx2.TooManyRedirects)):
            await client.get(site.url())


async def test_a_redirect_without_a_place_is_an_answer() -> None:
    async with reached(lambda path: (302, {}, b"nowhere")) as (site, client):
        assert (await client.get(site.url())).content == b"nowhere"


def test_https_is_not_left_for_http() -> None:
    asked = httpx2.Request("GET", "https://site.test/")
    down = httpx2.Response(302, headers={"Location": "http://site.test/"}, request=asked)
    on = httpx2.Response(302, headers={"Location": "//site.test/x"}, request=asked)

    with pytest.raises(AddressRefused, match="from https to http"):
        next_request(down)
    following = next_request(on)
    assert following is not None
    assert str(following.url) == "https://site.test/x"


async def test_what_is_packed_is_unpacked() -> None:
    body = b"one " * 100_000

    def page(path: str) -> Page:
        half = len(body) // 2
        packed = gzip.compress(body[:half]) + gzip.compress(body[half:])
        return 200, {"Content-Encoding": "gzip"}, packed

    async with reached(page) as (site, client):
        answer = await client.get(site.url())

    assert answer.content == body
    assert "content-encoding" not in answer.headers


async def test_a_bomb_is_not_unpacked_further_than_the_answer_may_be_long() -> None:
    bomb = gzip.compress(bytes(200_000_000), 1)

    bounds = Bounds(largest=1_000_000)
    async with (
        a_site(lambda path: (200, {"Content-Encoding": "gzip"}, bomb)) as site,
        a_client(Place("site.test", site.port), bounds=bounds) as client,
        client.stream("GET", site.url()) as answer,
    ):
        read = 0
        with pytest.raises(TooLong):
            async for piece in answer.aiter_bytes():
                read += len(piece)

    assert read <= 1_000_000


@pytest.mark.parametrize(
    ("packing", "body"),
    [
        *(("br", b"\x1b\xff"), ("zstd", b"(\xb5/\xfd"), ("gzip, gzip", gzip.compress(b"x"))),
        *(("deflate", b"x"), ("gzip", b"no gzip"), ("gzip", gzip.compress(bytes(100_000))[:-9])),
    ],
    ids=["br", "zstd", "twice", "deflate", "none", "cut off"],
)
async def test_what_cannot_be_unpacked_is_an_error(packing: str, body: bytes) -> None:
    async with reached(lambda path: (200, {"Content-Encoding": packing}, body)) as (site, client):
        with pytest.raises(httpx2.DecodingError):
            await client.get(site.url())


@dataclass
class Speaker:
    """Says this without end."""

    begin: bytes
    piece: bytes
    pause: float = 0.0
    said: int = 0

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.begin)
        while True:
            writer.write(self.piece)
            await writer.drain()
            self.said += len(self.piece)
            await asyncio.sleep(self.pause)


OK = b"HTTP/1.1 200 OK\r\n"
PACKED = OK + b"Content-Encoding: gzip\r\n\r\n"
SOON = Bounds(seconds=0.3)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("speaker", "bounds", "error"),
    [
        (Speaker(OK + b"\r\n", bytes(65_536)), Bounds(), TooLong),
        (Speaker(PACKED, gzip.compress(b"") * 3000), Bounds(largest=300_000), TooLong),
        (Speaker(OK, b"X-More: and more\r\n" * 1000), Bounds(), httpx2.RemoteProtocolError),
        (Speaker(b"", b"H", 0.02), SOON, httpx2.ReadTimeout),
        (Speaker(OK + b"Content-Length: 900000\r\n\r\n", b"H", 0.02), SOON, httpx2.ReadTimeout),
        (Speaker(b"", b"HTTP/1.1 102 X\r\n\r\n" * 100, 0.01), SOON, httpx2.ReadTimeout),
    ],
    ids=["long", "much of nothing", "a head", "dripping", "a dripping body", "preparing"],
)
async def test_whoever_speaks_without_end_is_not_heard_for_ever(
    speaker: Speaker, bounds: Bounds, error: type[Exception], streamed: bool
) -> None:
    speaker.said = 0

    async with (
        canary(speaker.speak) as bird,
        a_client(Place("site.test", bird.port), bounds=bounds) as client,
    ):
        asked = client.build_request("GET", f"http://site.test:{bird.port}/")
        with pytest.raises(error):
            await (await client.send(asked, stream=streamed)).aread()

    assert speaker.said < 30_000_000


def test_an_address_in_a_setting_is_an_entry_for_its_host_and_port() -> None:
    assert written("http://127.0.0.1:11434/v1") == Place("127.0.0.1", 11_434)
    assert written("https://API.example.org/v1") == Place("api.example.org", 443)
    assert written("http://[::1]/v1") == Place("::1", 80)
    for bad in ("127.0.0.1:11434", "http://a b\n/", "file:///x"):
        with pytest.raises(AddressRefused):
            written(bad)
