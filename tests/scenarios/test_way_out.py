"""Nobody gets from Portico to this machine or its neighbours by an address that they name."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count, islice
from random import Random
from typing import Any

import httpcore2
import httpx2
import pytest

from portico.adapters.egress.client import GuardedWeb, guarded_client
from portico.adapters.egress.dialer import Dialer, OwnAddresses, Resolve
from portico.adapters.egress.proxy import Egress
from portico.sandbox.core.errors import AddressRefused, FetchFailed
from portico.sandbox.core.profile import Network, NetworkEndpoint, Request, why_not_public
from tests.adapters.egress.canary import Canary, canary, listener
from tests.adapters.egress.sites import Page, a_site
from tests.adapters.egress.spellings import KNOWN, hosts, urls

SPELLINGS = 10_000 if os.environ.get("PORTICO_PROOF") else 2_500

OF_THE_SITE: Page = (404, {}, b"a page of the site itself")
ELSEWHERE = "93.184.216.34"
NAMES = {
    "localhost": ["127.0.0.1", "::1"],
    "ip6-localhost": ["::1"],
    "inner.test": ["10.1.2.3"],
    "mixed.test": [ELSEWHERE, "127.0.0.1"],
    "mixed-first.test": ["127.0.0.1", ELSEWHERE],
    "six.test": ["::ffff:127.0.0.1"],
    "mixed-six.test": [ELSEWHERE, "2606:4700::1", "::1"],
    "zone.test": ["fe80::1%lo"],
    "cloud.test": ["169.254.169.254"],
}


async def as_a_system_would(host: str, port: int) -> Sequence[str]:
    """Numbers in whatever spelling, and a few names; nobody outside is asked."""
    if host in NAMES:
        return NAMES[host]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(each[4][0]) for each in found]


class Watched(Dialer):
    """Remembers what was found good enough to be dialled."""

    passed: list[tuple[str, int, Sequence[str]]]

    async def judged(self, host: str, port: int) -> Sequence[str]:
        found = await super().judged(host, port)
        self.passed.append((host, port, found))
        return found


@asynccontextmanager
async def a_web(
    *allow: NetworkEndpoint,
    ports: Collection[int] = (80, 443),
    resolve: Resolve = as_a_system_would,
) -> AsyncIterator[GuardedWeb]:
    async with guarded_client(allow=allow, dialer=Watched(ports=ports, resolve=resolve)) as client:
        yield GuardedWeb(client)


@pytest.fixture(autouse=True)
def passed() -> list[tuple[str, int, Sequence[str]]]:
    Watched.passed = []
    return Watched.passed


@pytest.fixture
async def bird() -> AsyncIterator[Canary]:
    """At every address of this machine, at one port."""
    with listener() as found:
        port = found.getsockname()[1]
    async with canary(hosts=["0.0.0.0", "::"], port=port) as found_:
        found_.ports["127.0.0.1"] = port
        yield found_


async def refused(web: GuardedWeb, request: Request | str) -> str:
    """Which of the two refusals it was."""
    asked = Request(url=request) if isinstance(request, str) else request
    try:
        found = await web.fetch(asked)
    except (AddressRefused, FetchFailed) as error:
        return type(error).__name__
    raise AssertionError(f"{asked.url!r} was fetched: {found}")


def with_port(url: str, port: int) -> str:
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host}:{port}{slash}{path}" if mark else url


@pytest.mark.requirement("web:canary:never-reached")
@pytest.mark.parametrize("url", KNOWN)
async def test_no_known_form_reaches_this_machine(
    url: str, bird: Canary, passed: list[object]
) -> None:
    ports = (80, 443, bird.port)
    async with a_web(ports=ports) as web:
        await refused(web, url)
        await refused(web, with_port(url, bird.port))
        await refused(web, Request(url=with_port(url, bird.port), method="POST", body=b"x"))

    assert (bird.hits, passed) == ([], [])


@pytest.mark.requirement("web:canary:never-reached")
async def test_none_of_thousands_of_spellings_reaches_this_machine(
    bird: Canary, passed: list[object]
) -> None:
    own = [each for each in OwnAddresses()() if ":" not in each]
    spelt = list(islice(urls(Random(5), bird.port, own), SPELLINGS))
    async with a_web(ports=(80, 443, bird.port)) as web:
        outcomes = [await refused(web, url) for url in spelt]

    assert len(set(spelt)) > SPELLINGS * 0.8
    assert (bird.hits, passed) == ([], [])
    assert outcomes.count("AddressRefused") > SPELLINGS * 0.9


async def here(url: str) -> bool:
    """Whether it leads to this machine, if nobody judges it."""
    try:
        parsed = httpx2.URL(url)
        [first, *_] = await as_a_system_would(parsed.raw_host.decode(), parsed.port or 80)
    except (httpx2.InvalidURL, OSError, UnicodeError):
        return False
    kind = why_not_public(first) or ""
    kinds = ("a loopback", "the unspecified", "the mapped form of 127")
    return parsed.scheme == "http" and kind.startswith(kinds)


@pytest.mark.planted
async def test_a_client_without_the_gate_reaches_it_by_very_many_of_them(bird: Canary) -> None:
    """Or the test above shows nothing."""
    ways = [url for url in islice(urls(Random(5), bird.port), 2000) if await here(url)]
    async with httpx2.AsyncClient(trust_env=False, timeout=5) as client:
        for url in ways:
            with suppress(httpx2.HTTPError):
                await client.get(url)

    assert len(bird.hits) > 150


@pytest.mark.requirement("web:canary:never-reached")
async def test_no_spelling_gets_out_of_a_box_to_this_machine(
    bird: Canary, passed: list[object]
) -> None:
    door = listener()
    port = door.getsockname()[1]
    dialer = Watched(ports=(80, 443, bird.port), resolve=as_a_system_would)
    egress = Egress(Network.PUBLIC, [], dialer=dialer)
    await egress.serve(door)
    answers = []
    for host in islice(hosts(Random(7)), SPELLINGS // 10):
        target = f"{host}:{bird.port}".encode()
        for asked in (b"CONNECT %b HTTP/1.1", b"GET http://%b/ HTTP/1.1"):
            answers.append(await said(port, asked % target + b"\r\nHost: x\r\n\r\n"))  # noqa: PERF401 # one after the other
    await egress.close()

    assert (bird.hits, passed) == ([], [])
    assert {answer[9:12] for answer in answers} <= {b"400", b"403", b"502"}


async def said(port: int, text: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    answer = await reader.read()
    writer.close()
    return answer


class Rebinding:
    """A name that is here and there by turns."""

    def __init__(self, *addresses: str) -> None:
        self.asked = count()
        self.addresses = addresses

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        return [self.addresses[next(self.asked) % len(self.addresses)]]


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the library was given to dial; nothing of it is really dialled but this machine."""
    found: list[str] = []
    library: Any = httpcore2.AnyIOBackend
    real = library.connect_tcp

    async def connect(
        self: httpcore2.AnyIOBackend, host: str, port: int, **more: object
    ) -> httpcore2.AsyncNetworkStream:
        found.append(host)
        if host == ELSEWHERE:
            raise httpcore2.ConnectError("not here")
        stream: httpcore2.AsyncNetworkStream = await real(self, host, port, **more)
        return stream

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", connect)
    return found


@pytest.mark.requirement("web:canary:never-reached")
@pytest.mark.parametrize("addresses", [(ELSEWHERE, "127.0.0.1"), ("127.0.0.1", ELSEWHERE)])
async def test_a_name_that_is_bound_anew_is_never_dialled_here(
    bird: Canary, dialled: list[str], addresses: Sequence[str]
) -> None:
    resolve = Rebinding(*addresses)
    async with a_web(ports=(80, bird.port), resolve=resolve) as web:
        told = [await refused(web, f"http://evil.test:{bird.port}/") for _ in range(200)]

    assert (bird.hits, dialled) == ([], [ELSEWHERE] * 100)
    assert (told.count("AddressRefused"), told.count("FetchFailed")) == (100, 100)


@pytest.mark.planted
async def test_who_judges_first_and_resolves_again_dials_this_machine(bird: Canary) -> None:
    """Or the test above shows nothing."""
    resolve = Rebinding(ELSEWHERE, "127.0.0.1")

    [judged] = await resolve("evil.test", bird.port)
    assert why_not_public(judged) is None
    [then] = await resolve("evil.test", bird.port)
    async with httpx2.AsyncClient(trust_env=False) as client:
        await client.get(f"http://{then}:{bird.port}/")

    assert len(bird.hits) == 1


@pytest.mark.requirement("web:canary:never-reached")
@pytest.mark.parametrize("name", NAMES)
async def test_a_name_with_one_address_of_ours_is_not_dialled(
    bird: Canary, dialled: list[str], name: str
) -> None:
    async with a_web(ports=(80, bird.port)) as web:
        for port in (80, bird.port):
            assert await refused(web, f"http://{name}:{port}/") == "AddressRefused"

    assert (bird.hits, dialled) == ([], [])


def chained(hops: int, status: int, end: str) -> Iterator[Page]:
    for hop in range(hops):
        last = hop == hops - 1
        yield status, {"Location": end if last else f"/{hop + 1}"}, b""


@pytest.mark.requirement("web:canary:never-reached")
@pytest.mark.parametrize("hops", [1, 2, 5, 10])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_chain_of_redirects_leads_to_this_machine(
    bird: Canary, hops: int, status: int
) -> None:
    ends = [*(with_port(url, bird.port) for url in KNOWN), *KNOWN]
    ends = [end.encode().decode("latin-1") for end in ends if "\n" not in end]
    ends += [f"//127.0.0.1:{bird.port}/", f"//localhost:{bird.port}", f"\\\\127.0.0.1:{bird.port}"]
    pages = {f"/{number}": page for number, page in enumerate(chained(hops, status, "?"))}
    async with a_site(lambda path: pages.get(path, OF_THE_SITE)) as site:
        place = NetworkEndpoint("site.test", site.port)
        async with a_web(place, ports=(80, bird.port), resolve=_with_site) as web:
            asked = Request(url=site.url("/0"), method="POST", body=b"s3cret", redirects=12)
            for end in islice(ends, (hops + status) % 4, None, 4):
                pages |= {f"/{hops - 1}": (status, {"Location": end}, b"")}
                before = len(site.asked)
                with suppress(AddressRefused, FetchFailed):
                    assert (await web.fetch(asked)).body == OF_THE_SITE[2]
                assert len(site.asked) - before >= hops

    assert bird.hits == []


async def _with_site(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"] if host == "site.test" else await as_a_system_would(host, port)


@pytest.mark.planted
async def test_a_client_without_the_gate_is_led_here(bird: Canary) -> None:
    """Or the test above shows nothing."""
    pages = list(chained(3, 307, f"http://127.1:{bird.port}/"))
    async with (
        a_site(lambda path: pages[int(path[1:])]) as site,
        httpx2.AsyncClient(trust_env=False, follow_redirects=True) as client,
    ):
        await client.post(site.url("/0", host="127.0.0.1"), content=b"s3cret")

    assert b"s3cret" in bird.hits[0] or len(bird.hits) == 1


@pytest.mark.requirement("web:canary:never-reached")
async def test_proxies_of_the_environment_lead_nowhere(
    bird: Canary, monkeypatch: pytest.MonkeyPatch, dialled: list[str]
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{bird.port}")
        monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{bird.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    async with a_web(resolve=Rebinding(ELSEWHERE)) as web:
        assert await refused(web, "http://example.test/") == "FetchFailed"
        assert await refused(web, "https://example.test/") == "FetchFailed"
    assert (bird.hits, set(dialled)) == ([], {ELSEWHERE})

    async with httpx2.AsyncClient() as naive:
        await naive.get("http://example.test/")
    assert len(bird.hits) == 1


@pytest.mark.requirement("web:allow:exactly")
async def test_an_entry_opens_its_host_at_its_port_and_nothing_else(bird: Canary) -> None:
    async with canary() as other:
        async with a_web(NetworkEndpoint("127.0.0.1", bird.port), ports=(80, other.port)) as web:
            found = await web.fetch(Request(url=f"http://127.0.0.1:{bird.port}/"))
            assert found.body == b"INTERNAL"
            assert len(bird.hits) == 1

            for host in ("localhost", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]", "127.0.0.2"):
                assert await refused(web, f"http://{host}:{bird.port}/") == "AddressRefused"
            assert await refused(web, f"http://127.0.0.1:{other.port}/") == "AddressRefused"
            assert await refused(web, "http://127.0.0.1/") == "AddressRefused"
        assert (len(bird.hits), other.hits) == (1, [])


@pytest.mark.requirement("web:allow:exactly")
async def test_ipv6_loopback_is_open_where_it_is_named_and_only_there(bird: Canary) -> None:
    async with a_web(NetworkEndpoint("::1", bird.port)) as web:
        found = await web.fetch(Request(url=f"http://[0:0:0::1]:{bird.port}/"))
        assert found.body == b"INTERNAL"
    async with a_web(NetworkEndpoint("127.0.0.1", bird.port), ports=(bird.port,)) as web:
        assert await refused(web, f"http://[::1]:{bird.port}/") == "AddressRefused"

    assert len(bird.hits) == 1


async def test_every_address_of_this_machine_is_refused(bird: Canary) -> None:
    own = OwnAddresses()()
    async with a_web(ports=(80, bird.port)) as web:
        for address in own:
            host = f"[{address}]" if ":" in address else address
            assert await refused(web, f"http://{host}:{bird.port}/") == "AddressRefused"

    assert bird.hits == []
    assert "127.0.0.1" in own
