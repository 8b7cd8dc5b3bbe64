"""A remote server is reached at the host and port of its launch, and nothing else is by it."""

import asyncio
import ssl
from collections.abc import Sequence

import pytest

from portico.adapters.mcp.endpoint import Endpoint
from portico.adapters.mcp.resolve import Address
from portico.adapters.mcp.wire import Broken
from portico.adapters.web.dialer import Dialer
from portico.adapters.web.names import Resolve
from tests.adapters.web.canary import canary
from tests.adapters.web.sites import Page, a_site


async def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def an_endpoint(url: str, resolve: Resolve = here) -> Endpoint:
    address = Address(url, {"Authorization": "Bearer s3cret"}, frozenset())
    return Endpoint(address, ssl.create_default_context(), Dialer(resolve=resolve), largest=1000)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def test_an_approved_launch_is_its_own_entry() -> None:
    async with a_site(lambda path: (200, {}, b"{}")) as site:
        endpoint = an_endpoint(site.url("/mcp", host="tools.test"))
        answer = await endpoint.post(b"{}", {})
        await answer.aclose()
        await endpoint.close()

    assert [asked.path for asked in site.asked] == ["/mcp"]


async def test_what_still_waits_for_a_connection_at_the_end_is_not_sent() -> None:
    asked, found = asyncio.Event(), asyncio.Event()

    async def slowly(host: str, port: int) -> Sequence[str]:
        asked.set()
        await found.wait()
        return ["127.0.0.1"]

    async with a_site(lambda path: (200, {}, b"{}")) as site:
        endpoint = an_endpoint(site.url("/mcp", host="tools.test"), slowly)
        sending = asyncio.ensure_future(endpoint.sibling("/other").post(b"{}", {}))
        await asked.wait()
        await endpoint.close()
        found.set()
        with pytest.raises(Broken, match="it was ended") as ended:
            await sending

    assert not ended.value.reached
    assert site.asked == []


async def test_the_farewell_alone_is_sent_after_the_end() -> None:
    async with a_site(lambda path: (200, {}, b"{}")) as site:
        endpoint = an_endpoint(site.url("/mcp", host="tools.test"))
        endpoint.end()
        with pytest.raises(Broken, match="it was ended"):
            await endpoint.listen({})
        await (await endpoint.delete({})).aclose()
        await endpoint.close()

    assert [each.method for each in site.asked] == ["DELETE"]


async def test_what_it_leads_to_is_not_followed_to_this_machine() -> None:
    async with canary() as bird:

        def page(path: str) -> Page:
            return 307, {"Location": f"http://127.0.0.1:{bird.port}/"}, b""

        async with a_site(page) as site:
            endpoint = an_endpoint(site.url("/mcp", host="tools.test"))
            with pytest.raises(Broken, match="where its credentials do not belong"):
                await endpoint.post(b"{}", {})
            await endpoint.close()

    assert bird.hits == []


async def test_the_proxy_of_the_environment_is_what_is_dialled_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with canary() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        endpoint = an_endpoint("http://tools.test/mcp")
        answer = await endpoint.post(b"{}", {})
        await answer.aclose()
        await endpoint.close()

    [hit] = proxy.hits
    assert hit.startswith(b"POST http://tools.test/mcp HTTP/1.1\r\n")


async def test_a_proxy_may_be_named_without_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    async with canary() as proxy:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        endpoint = an_endpoint("http://tools.test/mcp")
        await (await endpoint.post(b"{}", {})).aclose()
        await endpoint.close()

    assert len(proxy.hits) == 1


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http:///x", "http://a\tb/"])
async def test_a_proxy_that_cannot_be_used_is_not_gone_round(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)

    with pytest.raises(Broken, match="the proxy that is set for it is none of HTTP") as broken:
        an_endpoint("http://tools.test/mcp")

    assert broken.value.fix is not None
