"""The same canaries behind a running server, asked for over REST, SSE and MCP."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.installation import Installation
from tests.storm.bridge_lattice import CANARY, LEVELS, Book, Leak, Needs, covers
from tests.storm.bridge_world import COMMON

OTHERS = ("memory", "attachment", "work", "lease", "presence")
READERS = (("ann", "public"), ("ben", "team"), ("cat", "confidential"))


@dataclass
class Reader:
    name: str
    id: str
    clearance: str
    http: httpx2.AsyncClient
    mcp: Client
    may_hear: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stream and conversation, how often there was something in it for them since they began to
    listen; that they do counts as once."""


@dataclass
class Wires:
    house: Installation
    root: httpx2.AsyncClient
    random: Random
    book: Book = field(default_factory=Book)
    readers: list[Reader] = field(default_factory=list)
    projects: dict[str, str] = field(default_factory=dict)
    """Of each level one."""
    names: list[str] = field(default_factory=list)
    talks: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Its id, how secret it is, and itself once more if it is closed."""
    said: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    """Of each the project."""
    files: list[str] = field(default_factory=list)
    works: list[str] = field(default_factory=list)
    leaks: list[Leak] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    """Answers by way out, each judged whole."""
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    canaries: int = 0
    """Told to those who may know them."""
    heard: Counter[str] = field(default_factory=Counter)
    """By stream."""
    kept_from: int = 0
    """How often something was said where somebody listened who may not know of it."""
    wrote: Counter[str] = field(default_factory=Counter)
    changed: int = 0

    def __str__(self) -> str:
        refused = sum(many for (_, status), many in self.statuses.items() if status >= 400)
        return (
            f"{self.asked.total()} reads over the wires by {len(self.asked)} ways"
            f" (fewest: {min(self.asked.values(), default=0)}), {refused} refused;"
            f" {self.canaries} canaries told; heard {dict(self.heard)}, kept from hearing"
            f" {self.kept_from}; {self.wrote.total()} writes, {self.changed} changes of clearance"
        )

    async def did(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        sent: dict[str, Any] = {} if body is None else {"json": body}
        answer = await self.root.request(method, path, **sent, **more)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def text(self, label: str, inside: str | None = None) -> str:
        return f"{self.random.choice(COMMON)} {self.book.canary(label, inside)}"

    async def furnish(self) -> None:
        for label in LEVELS:
            wish = {"name": self.text(label), "description": self.text(label), "label": label}
            made = await self.did("POST", "/projects", wish)
            self.projects[label] = made["id"]
            self.names.append(made["name"])
            self.book.there_is(made["id"], label)
            for number in range(4):
                await self._talk(label, closed=number == 0)

    async def _talk(self, label: str, *, closed: bool) -> None:
        title = self.text(label)
        wish = {
            "project": self.projects[label],
            "title": title,
            "closed": closed,
            "participants": [] if closed else [reader.id for reader in self.readers],
        }
        id_ = (await self.did("POST", "/conversations", wish))["id"]
        inside = id_ if closed else None
        self.book.needs[title.split()[1]] = Needs(label, inside)
        self.book.there_is(id_, label, inside)
        self.talks.append((id_, label, inside))

    async def write(self) -> None:
        """A message as secret as its conversation or more, and one of the other things."""
        talk, label, inside = self.random.choice(self.talks)
        above = self.random.choice([each for each in LEVELS if covers(each, label)])
        wish = {"body": self.text(above, inside), "label": above}
        self._said(talk, above, inside)
        sent = await self.did("POST", f"/conversations/{talk}/messages", wish)
        self.book.there_is(sent["id"], above, inside)
        self.said.append(sent["id"])
        label = self.random.choice(LEVELS)
        project = f"/projects/{self.projects[label]}"
        kind = self.random.choice(OTHERS)
        self.wrote.update(["message", kind])
        match kind:
            case "memory":
                key = self.text(label).replace(" ", "/")
                value = {"value": {"note": self.text(label)}}
                await self.did("PUT", f"{project}/memory/value", value, params={"key": key})
                self.keys[key] = self.projects[label]
            case "attachment":
                made = await self.did(
                    "POST",
                    f"{project}/attachments",
                    params={"name": f"{self.book.canary(label)}.txt"},
                    content=self.text(label).encode(),
                    headers={"Content-Type": "text/plain"},
                )
                self.book.there_is(made["digest"], label)
                self.files.append(made["digest"])
            case "work":
                work = {"title": self.text(label), "body": self.text(label)}
                made = await self.did("POST", f"{project}/work", work)
                self.book.there_is(made["id"], label)
                self.works.append(made["id"])
            case "lease":
                resource = self.text(label).replace(" ", "/")
                lease = {"resource": resource, "purpose": self.text(label)}
                made = await self.did("POST", f"{project}/leases", lease)
                self.book.there_is(made["id"], label)
            case _:
                note = {"doing": "busy", "note": self.text(label)}
                await self.did("PUT", f"{project}/presence", note)

    async def change_clearance(self) -> None:
        reader = self.random.choice(self.readers)
        reader.clearance = self.random.choice(LEVELS[:3])
        await self.did("PATCH", f"/principals/{reader.id}", {"clearance": reader.clearance})
        self.changed += 1

    def may_know(self, reader: Reader, id_: str) -> bool:
        return self.book.may_know(id_, reader.id, reader.clearance)

    def judge(self, reader: Reader, way: str, text: str, asked: object) -> None:
        self.asked[way] += 1
        self.canaries += len(CANARY.findall(text))
        self.leaks += self.book.leaks(
            text, way=way, who=reader.id, cleared=reader.clearance, asked=json.dumps(asked)
        )

    def woken(self, reader: Reader, stream: str, talk: str) -> None:
        self.heard[stream] += 1
        reader.may_hear[stream, talk] -= 1
        if reader.may_hear[stream, talk] < 0:
            why = "they were woken more often than there was something for them"
            self.leaks.append(Leak(stream, reader.id, talk, why))

    def _said(self, talk: str, label: str, inside: str | None) -> None:
        """Those who listen may hear of it, or must not."""
        for reader in self.readers:
            for stream, where in [*reader.may_hear]:
                if where == talk:
                    lawful = covers(reader.clearance, label) and inside is None
                    reader.may_hear[stream, talk] += lawful
                    self.kept_from += not lawful


@asynccontextmanager
async def wired(house: Installation, seed: int) -> AsyncIterator[Wires]:
    """A server with things in it that are not for everybody, and its readers at its doors."""
    async with AsyncExitStack() as stack:
        root = await stack.enter_async_context(over(house, house.key))
        wires = Wires(house, root, Random(seed))
        for name, clearance in READERS:
            wish = {"kind": "agent", "name": name, "clearance": clearance}
            made = await wires.did("POST", "/principals", wish)
            key = {"name": f"{name}'s", "principal": made["id"], "clearance": "confidential"}
            secret = (await wires.did("POST", "/keys", key))["key"]
            http = await stack.enter_async_context(over(house, secret))
            wire = await stack.enter_async_context(over(house, secret, base=""))
            client = Client(streamable_http_client(f"{house.url}/mcp/bridge", http_client=wire))
            mcp = await stack.enter_async_context(client)
            wires.readers.append(Reader(name, made["id"], clearance, http, mcp))
        await wires.furnish()
        for _ in range(25):
            await wires.write()
        yield wires


def over(house: Installation, key: str, base: str = "/api/v1") -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=f"{house.url}{base}",
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
        trust_env=False,
        verify=False,  # nothing here is encrypted
    )
