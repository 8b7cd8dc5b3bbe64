"""Small sites under names of their own, all on this machine, and a client that may reach them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from portico.adapters.egress.client import guarded_client
from portico.adapters.egress.dialer import Dialer
from portico.sandbox.core.profile import NetworkEndpoint
from tests.adapters.egress.canary import canary

Heads = dict[str, str]
Page = tuple[int, Heads, bytes]


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    headers: Heads
    body: bytes


@dataclass(slots=True)
class Site:
    """Answers with what `page` says of a path."""

    page: Callable[[str], Page]
    port: int = 0
    asked: list[Asked] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "site.test") -> str:
        return f"http://{host}:{self.port}{path}"


def said(page: Page) -> bytes:
    status, heads, body = page
    given = {"Content-Length": str(len(body)), "Connection": "close", **heads}
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def read(text: bytes) -> Asked:
    head, _, body = text.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(": ", 1) for line in rest)
    return Asked(method, path, {name.lower(): value for name, value in pairs}, body)


@asynccontextmanager
async def a_site(page: Callable[[str], Page]) -> AsyncIterator[Site]:
    site = Site(page)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = read(bird.hits[-1])
        site.asked.append(asked)
        writer.write(said(site.page(asked.path)))
        await writer.drain()

    async with canary(answer) as bird:
        site.port = bird.port
        yield site


async def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def a_client(*places: NetworkEndpoint, **more: Any) -> httpx2.AsyncClient:
    return guarded_client(allow=places, dialer=Dialer(resolve=here), **more)
