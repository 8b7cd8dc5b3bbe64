"""HTTP servers for tests, on a port of their own, in the loop of the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

CHANGING = NotificationOptions(tools_changed=True)


@asynccontextmanager
async def served(app: ASGIApp, *, lifespan: bool = True) -> AsyncIterator[str]:
    """Its address, without a path."""
    config = uvicorn.Config(app, port=0, log_config=None, lifespan="on" if lifespan else "off")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    port = server.servers[0].sockets[0].getsockname()[1]
    running = asyncio.ensure_future(server.main_loop())
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await running
        server.force_exit = True  # whoever still listens does not keep us
        await server.shutdown()


def sse_app(server: Server[Any]) -> Starlette:
    """As servers were before: `/sse` and `/messages/`, and nothing of Streamable HTTP."""
    transport = SseServerTransport("/messages/")

    async def connect(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            options = server.create_initialization_options(CHANGING)
            await server.run(streams[0], streams[1], options)
        return Response()

    return Starlette(
        routes=[
            Route("/sse", connect, methods=["GET"]),
            Mount("/messages/", app=transport.handle_post_message),
        ]
    )
