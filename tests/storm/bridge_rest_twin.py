"""A running server at which a low reader lives over REST, and somebody high above them."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2

from tests.installation import Installation
from tests.storm.bridge_transcript import Transcript
from tests.storm.bridge_twin import WORDS
from tests.storm.bridge_wires import over

PASSING = {"date", "x-request-id", "traceparent"}
"""Headers that are of the moment alone."""


@dataclass
class RestTwin:
    root: httpx2.AsyncClient
    reader: httpx2.AsyncClient
    writer: httpx2.AsyncClient
    above: httpx2.AsyncClient
    reader_id: str
    low_life: Random
    hidden_life: Random | None
    transcript: Transcript = field(default_factory=Transcript)
    news: list[str] = field(default_factory=list)
    projects: list[str] = field(default_factory=list)
    talks: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    works: list[str] = field(default_factory=list)
    cursors: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    hidden_projects: list[str] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    """How often something of each kind was done above."""

    async def move_in(self) -> None:
        for name in ("apollo", "hermes"):
            wish = {"name": name, "description": f"About {name}.", "label": "team"}
            self.projects.append((await done(self.writer, "POST", "/projects", wish))["id"])
        for number, project in enumerate(self.projects * 2):
            begun = {
                "project": project,
                "title": f"Talk {number}",
                "participants": [self.reader_id],
            }
            self.talks.append((await done(self.writer, "POST", "/conversations", begun))["id"])

    async def let_in(self) -> None:
        """From now on the reader may see all of it."""
        wish = {"clearance": "restricted"}
        await done(self.root, "PATCH", f"/principals/{self.reader_id}", wish)

    async def told(self, method: str, path: str, **asked: Any) -> object:
        """All that came back over the wire."""
        answer = await self.reader.request(method, path, **asked)
        headers = {name: value for name, value in answer.headers.items() if name not in PASSING}
        return {"status": answer.status_code, "headers": headers, "body": self._body(answer)}

    def _body(self, answer: httpx2.Response) -> object:
        if "ndjson" in answer.headers.get("content-type", ""):
            return [json.loads(line) for line in answer.text.splitlines()]
        if answer.content and "json" in answer.headers.get("content-type", ""):
            return answer.json()
        return answer.text

    async def listen(self) -> None:
        asked = {"conversation": self.talks}
        async with self.reader.stream("GET", "/bridge/events", params=asked) as told:
            async for line in told.aiter_lines():
                if line.startswith("data: "):
                    self.news.append(line)

    async def heard(self, by: httpx2.AsyncClient, talk: str, wish: object, **more: Any) -> Any:
        """What is said where the reader listens wakes them, once; nothing else is said before."""
        async with asyncio.timeout(60):
            while len(self.news) < len(self.talks):  # noqa: ASYNC110 # they do not listen yet
                await asyncio.sleep(0.005)
            before = len(self.news)
            path = f"/conversations/{talk}/messages"
            answer = await by.post(path, json=wish, **more)
            new = answer.status_code == 201 and "idempotency-replayed" not in answer.headers
            while new and len(self.news) == before:  # noqa: ASYNC110 # they hear of it elsewhere
                await asyncio.sleep(0.005)
        return answer.json()

    async def say(self, talk: str, **more: Any) -> str:
        body = f"{self.low_life.choice(WORDS)} {self.low_life.choice(WORDS)}"
        wish = {"body": body, "label": "team", **more}
        sent: str = (await self.heard(self.writer, talk, wish))["id"]
        self.said.append(sent)
        return sent


async def done(client: httpx2.AsyncClient, method: str, path: str, body: object = None) -> Any:
    answer = await client.request(method, path, json=body)
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


@asynccontextmanager
async def rest_twin(
    house: Installation, low_life: Random, above: Random | None
) -> AsyncIterator[RestTwin]:
    async with AsyncExitStack() as stack:
        root = await stack.enter_async_context(over(house, house.key))
        clients, ids = [], []
        for name, clearance in (("reader", "team"), ("writer", "team"), ("secret", "restricted")):
            wish = {"kind": "agent", "name": name, "clearance": clearance}
            ids.append((await done(root, "POST", "/principals", wish))["id"])
            key = {"name": f"{name}'s", "principal": ids[-1], "clearance": "restricted"}
            shown = (await done(root, "POST", "/keys", key))["key"]
            clients.append(await stack.enter_async_context(over(house, shown)))
        reader, writer, high = clients
        yield RestTwin(root, reader, writer, high, ids[0], low_life, above)
