"""The one client: what it follows, what it carries along, what it keeps, and where it stops."""

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass

import httpcore2
import httpx2
import pytest

from portico.adapters.egress.client import (
    BOUNDS,
    Bounds,
    GuardedBackend,
    GuardedTransport,
    GuardedWeb,
    TooLong,
    next_request,
    written,
)
from portico.adapters.egress.dialer import Dialer, OwnAddresses, SystemNames
from portico.sandbox.core.errors import AddressRefused, FetchFailed
from portico.sandbox.core.profile import NetworkEndpoint, Request
from tests.adapters.egress.canary import canary, listener
from tests.adapters.egress.sites import Page, Site, a_client, a_site

SECRET = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Cookie": "s=s3cret"}


def plain(path: str) -> Page:
    return 200, {}, b"here"


@asynccontextmanager
async def reached(
    page: Callable[[str], Page], *places: NetworkEndpoint
) -> AsyncIterator[tuple[Site, httpx2.AsyncClient]]:
    async with (
        a_site(page) as site,
        a_client(NetworkEndpoint("site.test", site.port), *places) as client,
    ):
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
        async with a_client(NetworkEndpoint("site.test", site.port)) as client:
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
        places = [written(str(vendor)), NetworkEndpoint("site.test", site.port)]
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

        places = (NetworkEndpoint("other.test", other.port),)
        async with (
            a_site(page) as site,
            a_client(NetworkEndpoint("site.test", site.port), *places) as client,
        ):
            await client.get(site.url("/a"), headers=SECRET | {"Accept": "text/x"})

    assert [each.headers.get("x-api-key") for each in site.asked] == ["s3cret", "s3cret"]
    assert "s3cret" not in str(other.asked)
    assert other.asked[0].headers["accept"] == "text/x"
    assert other.asked[0].headers["host"] == f"other.test:{other.port}"


async def test_credentials_given_beside_the_request_stay_too() -> None:
    async with a_site(plain) as other:
        places = (NetworkEndpoint("other.test", other.port),)
        async with (
            a_site(lambda path: (302, {"Location": other.url(host="other.test")}, b"")) as site,
            a_client(NetworkEndpoint("site.test", site.port), *places) as client,
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
        a_client(NetworkEndpoint("site.test", site.port), bounds=bounds) as client,
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
        a_client(NetworkEndpoint("site.test", bird.port), bounds=bounds) as client,
    ):
        asked = client.build_request("GET", f"http://site.test:{bird.port}/")
        with pytest.raises(error):
            await (await client.send(asked, stream=streamed)).aread()

    assert speaker.said < 30_000_000


def test_an_address_in_a_setting_is_an_entry_for_its_host_and_port() -> None:
    assert written("http://127.0.0.1:11434/v1") == NetworkEndpoint("127.0.0.1", 11_434)
    assert written("https://API.example.org/v1") == NetworkEndpoint("api.example.org", 443)
    assert written("http://[::1]/v1") == NetworkEndpoint("::1", 80)
    for bad in ("127.0.0.1:11434", "http://a b\n/", "file:///x"):
        with pytest.raises(AddressRefused):
            written(bad)


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
    async with a_site(page) as site, a_client(NetworkEndpoint("site.test", site.port)) as client:
        asked = Request(url=site.url("/on"), method="post", body=b"{}", headers={"X-Mine": "1"})
        found = await GuardedWeb(client).fetch(asked)

    assert (found.status, found.url, found.body) == (418, site.url("/end"), b"short and stout")
    assert found.headers["x-pot"] == "tea"
    assert site.asked[0].method == "POST"
    assert site.asked[0].headers["x-mine"] == "1"


async def test_headers_of_the_connection_are_not_taken() -> None:
    bad = {"Host": "inner", "Transfer-Encoding": "chunked", "Content-Length": "1", "TE": "x"}
    async with a_site(page) as site, a_client(NetworkEndpoint("site.test", site.port)) as client:
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
    async with a_client(NetworkEndpoint("site.test", 80)) as client:
        with pytest.raises(FetchFailed) as failed:
            await GuardedWeb(client).fetch(request_)

    assert "s3cret" not in f"{failed.value} {failed.value.fix}"


async def test_a_header_that_no_connection_can_carry_is_not_told() -> None:
    async with a_site(page) as site, a_client(NetworkEndpoint("site.test", site.port)) as client:
        asked = Request(url=site.url(), headers={"A B": "s3cret"})
        with pytest.raises(FetchFailed, match="one of its headers cannot be sent") as failed:
            await GuardedWeb(client).fetch(asked)

    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize(
    ("path", "told"),
    [("/large", "longer than 10,000 bytes"), ("/round", "leads on more than 2 times")],
)
async def test_what_goes_too_far_is_told(path: str, told: str) -> None:
    async with a_site(page) as site, a_client(NetworkEndpoint("site.test", site.port)) as client:
        asked = Request(url=site.url(path), largest=10_000, redirects=2)
        with pytest.raises(FetchFailed, match=told):
            await GuardedWeb(client).fetch(asked)


async def test_what_takes_too_long_or_is_not_there_is_told() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    with listener() as closed:
        dead = closed.getsockname()[1]
    async with canary(silent) as bird:
        places = (NetworkEndpoint("site.test", bird.port), NetworkEndpoint("site.test", dead))
        slow, gone = (f"http://site.test:{place.port}/" for place in places)
        async with a_client(*places) as client:
            with pytest.raises(FetchFailed, match=r"took longer than 0\.2 s"):
                await GuardedWeb(client).fetch(Request(url=slow, seconds=0.2))
            with pytest.raises(FetchFailed, match="could not be fetched"):
                await GuardedWeb(client).fetch(Request(url=gone))


async def test_what_nobody_allowed_says_how_to_allow_it() -> None:
    async with a_client() as client:
        with pytest.raises(AddressRefused, match=r"site\.test:80 .* leads to a loopback") as no:
            await GuardedWeb(client).fetch(Request(url="http://site.test/"))

    assert no.value.fix == (
        "An admin can allow exactly this place: `portico config set web.allow HOST:PORT`."
    )


async def test_sockets_of_this_machine_are_refused() -> None:
    with pytest.raises(AddressRefused, match="a socket of this machine"):
        await GuardedBackend(Dialer()).connect_unix_socket("/run/docker.sock")


async def test_retries_of_the_library_pass_the_gate_each_time() -> None:
    with listener() as closed:
        dead = closed.getsockname()[1]
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) < 3 else ["10.0.0.1"]

    dialer = Dialer([NetworkEndpoint("site.test", dead)], resolve=resolve)
    backend = GuardedBackend(dialer)
    async with httpcore2.AsyncConnectionPool(retries=1, network_backend=backend) as pool:
        with pytest.raises(httpcore2.ConnectError):
            await pool.request("GET", f"http://site.test:{dead}/")

    assert asked == ["site.test", "site.test"]


async def test_a_refusal_is_not_tried_again() -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    backend = GuardedBackend(Dialer(resolve=resolve))
    async with httpcore2.AsyncConnectionPool(retries=3, network_backend=backend) as pool:
        with pytest.raises(AddressRefused):
            await pool.request("GET", "http://site.test/")

    assert asked == ["site.test"]


async def test_the_failures_of_the_library_have_the_names_that_callers_know() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise TimeoutError if host == "slow.test" else OSError("nowhere")

    transport = GuardedTransport(Dialer(resolve=resolve), ssl.create_default_context())
    async with httpx2.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx2.ConnectTimeout):
            await client.get("http://slow.test/")
        with pytest.raises(httpx2.ConnectError, match="nowhere"):
            await client.get("http://gone.test/")


PUBLIC = ("93.184.216.34", "2606:4700:4700::1111")


def answering(*addresses: str) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve


def a_dialer(
    *addresses: str, places: Sequence[NetworkEndpoint] = (), public: bool = True
) -> Dialer:
    return Dialer(
        places, public=public, own=lambda: ["93.184.216.99"], resolve=answering(*addresses)
    )


async def test_a_name_with_public_addresses_alone_is_judged_good() -> None:
    assert await a_dialer(*PUBLIC).judged("Example.ORG.", 443) == PUBLIC


@pytest.mark.parametrize(
    ("host", "addresses", "told"),
    [
        *(
            ("mixed.example.org", (*PUBLIC, bad), "it leads to")
            for bad in ("127.0.0.1", "::1", "10.0.0.1", "::ffff:8.8.8.8", "fe80::1%lo")
        ),
        ("wiki.inner.example.org", ("10.11.12.13",), "it leads to"),
        ("93.184.216.99", (), "an address of this machine"),
        ("me.example.org", ("93.184.216.99",), "an address of this machine"),
    ],
)
async def test_one_bad_answer_refuses_all_and_is_not_told(
    host: str, addresses: tuple[str, ...], told: str
) -> None:
    with pytest.raises(AddressRefused, match=told) as refused:
        await a_dialer(*addresses).judged(host, 443)

    assert refused.value.place == f"{host}:443"
    assert "10.11.12.13" not in str(refused.value)


def test_the_addresses_of_this_machine_are_found_and_kept_for_a_while() -> None:
    own = OwnAddresses()

    assert "127.0.0.1" in own()
    assert own() is own()


@pytest.mark.parametrize("port", [1, 22, 25, 79, 81, 444, 8080, 6379, 65_535])
async def test_other_ports_than_those_of_http_are_refused(port: int) -> None:
    with pytest.raises(AddressRefused, match="only the ports 80 and 443"):
        await a_dialer(*PUBLIC).judged("example.org", port)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.1",
            "0",
            "0x7f000001",
            "0177.0.0.1",
            "2130706433",
            "1.2.3",
            "0x7f.1",
            "example.0x7f",
        ),
        *("", ".", "..", "a..b", "a b", "a\0b", "-a.org", "a%2eorg", "exämple.org", "a@b", "a/b"),
        *(
            "\uff11\uff12\uff17.0.0.1",
            "127\u30020\u30020\u30021",
            "x" * 254,
            "a\tb",
            "[",
            "a\\b",
            "fe80::1%25lo",
        ),
    ],
)
async def test_what_is_no_plain_name_is_refused_before_anybody_is_asked(host: str) -> None:
    with pytest.raises(AddressRefused):
        await a_dialer(*PUBLIC).judged(host, 80)


async def test_a_place_is_reached_whatever_it_resolves_to_at_its_port_alone() -> None:
    dialer = a_dialer("127.0.0.1", places=[NetworkEndpoint("ollama.lan", 11_434)])

    assert await dialer.judged("OLLAMA.lan.", 11_434) == ("127.0.0.1",)
    with pytest.raises(AddressRefused):
        await dialer.judged("ollama.lan", 80)
    with pytest.raises(AddressRefused):
        await dialer.judged("127.0.0.1", 11_434)


async def test_a_place_that_is_an_address_is_known_in_every_spelling() -> None:
    dialer = a_dialer(places=[NetworkEndpoint("::1", 8080)])

    assert await dialer.judged("0:0:0:0:0:0:0:1", 8080) == ["::1"]
    with pytest.raises(AddressRefused):
        await dialer.judged("::1", 80)


async def test_a_narrowed_dialer_knows_none_of_the_places_of_the_other() -> None:
    wide = a_dialer(*PUBLIC, places=[NetworkEndpoint("127.0.0.1", 1)])
    narrow = wide.narrowed([NetworkEndpoint("127.0.0.1", 2)], public=False)

    assert await narrow.judged("127.0.0.1", 2) == ["127.0.0.1"]
    for host, port in (("127.0.0.1", 1), ("example.org", 443)):
        with pytest.raises(AddressRefused, match="only places that were named"):
            await narrow.judged(host, port)


async def test_what_has_no_address_is_not_dialled() -> None:
    with pytest.raises(OSError, match="no address"):
        await a_dialer().judged("nowhere.example.org", 443)


async def test_the_address_that_was_judged_is_dialled() -> None:
    async with canary() as bird:
        place = NetworkEndpoint("bird.lan", bird.port)
        with await a_dialer("127.0.0.1", places=[place]).dial("bird.lan", bird.port) as found:
            assert found.getpeername() == ("127.0.0.1", bird.port)


@pytest.mark.parametrize("seconds", [5.0, None])
async def test_when_one_address_does_not_answer_the_next_is_tried(seconds: float | None) -> None:
    with listener() as closed:
        dead = closed.getsockname()[1]
    async with canary(hosts=["127.0.0.2"], port=dead):
        place = NetworkEndpoint("bird.lan", dead)
        dialer = a_dialer("127.0.0.1", "127.0.0.2", places=[place])

        with await dialer.dial("bird.lan", dead, seconds=seconds) as found:
            assert found.getpeername() == ("127.0.0.2", dead)


async def test_a_dial_that_lasts_too_long_is_given_up() -> None:
    with listener() as full:
        full.listen(0)
        place = NetworkEndpoint("127.0.0.1", full.getsockname()[1])
        dialer = a_dialer(places=[place])
        with pytest.raises(TimeoutError), ExitStack() as waiting:
            for _ in range(10):  # until its queue is full
                found = await dialer.dial(place.host, place.port, seconds=0.2)
                waiting.enter_context(found)


async def test_the_system_resolves_in_threads_of_its_own(nothing_blocks: None) -> None:
    assert "127.0.0.1" in await SystemNames()("localhost", 80)


async def test_a_name_that_cannot_be_encoded_is_no_name() -> None:
    with pytest.raises(socket.gaierror):
        await SystemNames()("a" * 70 + "ä.org", 80)
