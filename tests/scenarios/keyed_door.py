"""A door that adds a key to every request: for programs that cannot be given one."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import uvicorn
from starlette.types import Receive, Scope, Send

_OWN = {b"connection", b"content-length", b"transfer-encoding", b"keep-alive"}


class KeyedDoor:
    """Passes on everything else as it comes: the host and the origin too."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in _OWN]
        headers.append((b"authorization", f"Bearer {self._key}".encode()))
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        passing = asyncio.create_task(self._pass(scope, headers, body, send))
        leaving = asyncio.create_task(_until_gone(receive))
        await asyncio.wait([passing, leaving], return_when=asyncio.FIRST_COMPLETED)
        for task in (passing, leaving):
            task.cancel()
        await asyncio.wait([passing, leaving])

    async def _pass(
        self, scope: Scope, headers: list[tuple[bytes, bytes]], body: bytes, send: Send
    ) -> None:
        async with (
            httpx2.AsyncClient(timeout=None, trust_env=False, verify=False) as client,
            client.stream(
                scope["method"], f"{self._url}{scope['path']}", headers=headers, content=body
            ) as answer,
        ):
            told = [(name, value) for name, value in answer.headers.raw if name.lower() not in _OWN]
            await send(
                {"type": "http.response.start", "status": answer.status_code, "headers": told}
            )
            async for part in answer.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@contextmanager
def keyed_door(listener: socket.socket, url: str, key: str) -> Iterator[None]:
    config = uvicorn.Config(KeyedDoor(url, key), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)
