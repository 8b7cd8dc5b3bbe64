"""The protocol's own conformance suite against a running Portico, in both eras."""

import asyncio
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from tests.installation import installation
from tests.scenarios.let_in import conformance_launch, conformance_over_http, let_in
from tests.scenarios.node_packages import installed, node

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


pytestmark = [pytest.mark.nightly, pytest.mark.scenario]

ERAS: Final = ("modern", "legacy")
PACKAGE = "@modelcontextprotocol/conformance"
STABLE = "0.1.16"
NEXT = "0.2.0-alpha.12"
"""The first that knows 2026-07-28."""
WHEN = re.compile(r"-\d{4}-\d\d-\d\dT[-\dZ]+$")
"""What the suite adds to the name of a scenario for the folder of its results."""

NOT_OFFERED = {
    "resources-subscribe": "the capability is optional, and not declared",
    "resources-unsubscribe": "likewise",
    "server-sse-polling": "streams are not taken up again after they broke; not required",
}


@dataclass(frozen=True)
class Door:
    url: str

    def run(self, version: str, results: Path, *arguments: str) -> Mapping[str, Counter[str]]:
        """How often each verdict was given, by scenario."""
        program = installed(PACKAGE, version) / "dist" / "index.js"
        done = node(program, "server", "--url", self.url, "-o", results, *arguments)
        found: dict[str, Counter[str]] = {}
        for file in results.glob("*/checks.json"):
            scenario, dated = re.split(WHEN, file.parent.name.removeprefix("server-"))
            assert not dated, file
            checks = json.loads(file.read_text())
            found[scenario] = Counter(check["status"] for check in checks)
        assert found, done.stdout + done.stderr
        return found


@pytest.fixture(scope="module")
def doors() -> Iterator[Mapping[str, Door]]:
    """Of a server of each era behind the gateway, one over HTTP and one over stdio, with the key
    that the suite cannot send."""
    with socket.socket() as listener, installation() as made:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        made.run("config", "set", "server.public_url", f"http://127.0.0.1:{port}")
        with (
            conformance_over_http() as modern,
            made.serving(),
            keyed_door(listener, made.url, made.key),
        ):
            let_in(made, "modern", modern)
            let_in(made, "legacy", conformance_launch("legacy"))
            yield {era: Door(f"http://127.0.0.1:{port}/mcp/servers/{era}") for era in ERAS}


def failing(found: Mapping[str, Counter[str]]) -> set[str]:
    return {scenario for scenario, verdicts in found.items() if verdicts["FAILURE"]}


@pytest.mark.parametrize("behind", ["modern", "legacy"])
def test_all_that_applies_of_the_stable_suite_passes(
    doors: Mapping[str, Door], behind: str, tmp_path: Path
) -> None:
    found = doors[behind].run(STABLE, tmp_path)

    assert len(found) == 30
    assert failing(found) <= set(NOT_OFFERED)


@pytest.mark.parametrize("behind", ["modern", "legacy"])
def test_what_2025_11_25_requires_passes(
    doors: Mapping[str, Door], behind: str, tmp_path: Path
) -> None:
    found = doors[behind].run(NEXT, tmp_path, "--requirements", "2025-11-25")

    assert len(found) >= 30
    assert failing(found) <= set(NOT_OFFERED)


def test_what_2026_07_28_requires_passes(doors: Mapping[str, Door], tmp_path: Path) -> None:
    found = doors["modern"].run(NEXT, tmp_path, "--requirements", "2026-07-28")
    without_extensions = {name for name in failing(found) if not name.startswith("tasks-")}

    assert len(found) >= 37
    assert without_extensions == set()
    # It waits a second and a half to be told of a changed list, which is not always enough here.
    warned = {name for name, verdicts in found.items() if verdicts["WARNING"]}
    assert warned <= {"server-stateless"}
