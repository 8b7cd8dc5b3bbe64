"""The door of debates on a socket, and the official client."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from portico.faces.http.host_guard import HostGuard, allowed
from portico.faces.http.protocol import LineProtocol
from portico.faces.mcp.debate.mount import DEBATE, DebateFace
from tests.faces.http.conftest import Site, built
from tests.faces.mcp.bridge_site import Caller


@dataclass
class DebateSite:
    site: Site
    face: DebateFace
    port: int

    @asynccontextmanager
    async def client(self, era: str, key: str | None = None) -> AsyncIterator[Client]:
        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key or self.site.key}"},
            timeout=30,
            trust_env=False,
            verify=False,  # nothing here is encrypted, and a TLS context takes 40 ms to make
        )
        async with http:
            url = f"http://127.0.0.1:{self.port}{DEBATE}"
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=era) as client:
                yield client

    @asynccontextmanager
    async def caller(self, era: str, key: str | None = None) -> AsyncIterator[Caller]:
        async with self.client(era, key) as client:
            yield Caller(client)


@asynccontextmanager
async def debates_serving() -> AsyncIterator[DebateSite]:
    """With debates carried out."""
    site = await built()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        face = DebateFace(site.debates_over_mcp)
        config = uvicorn.Config(
            HostGuard(face, allowed(port, None)),
            http=LineProtocol,
            lifespan="off",
            log_config=None,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        async with site.working(), face.running():
            config.load()
            server.lifespan = config.lifespan_class(config)
            await server.startup([listener])
            try:
                yield DebateSite(site, face, port)
            finally:
                await server.shutdown()
