"""The same canaries behind a running server, asked for over REST, SSE and MCP."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote, unquote

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from tests.installation import Installation
from tests.storm.bridge_world import COMMON
from tests.storm.leak_oracle import CANARY, LEVELS, Book, Leak, Needs, covers

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


SSE, MCP = "events", "subscriptions/listen"
_CONVERSATION = "portico://conversations/"


async def begin_to_listen(wires: Wires, reader: Reader) -> "list[asyncio.Task[None]]":
    """To all that the reader may follow, over both."""
    seen = [talk for talk, *_ in wires.talks if wires.may_know(reader, talk)][:16]
    reader.may_hear.clear()
    reader.may_hear.update((stream, talk) for stream in (SSE, MCP) for talk in seen)
    if not seen:
        return []
    ready = [asyncio.Event(), asyncio.Event()]
    listening = [
        asyncio.create_task(_by_events(wires, reader, seen, ready[0])),
        asyncio.create_task(_by_subscription(wires, reader, seen, ready[1])),
    ]
    async with asyncio.timeout(60):
        for each in ready:
            await each.wait()
    return listening


async def _by_events(
    wires: Wires, reader: Reader, seen: Sequence[str], ready: asyncio.Event
) -> None:
    asked, event = {"conversation": [*seen]}, ""
    async with reader.http.stream("GET", "/bridge/events", params=asked) as told:
        async for line in told.aiter_lines():
            ready.set()
            wires.leaks += wires.book.leaks(
                line, way=SSE, who=reader.id, cleared=reader.clearance, asked=json.dumps(asked)
            )
            field, _, value = line.partition(": ")
            event = value if field == "event" else event
            if field == "data" and event == "news":
                wires.woken(reader, SSE, json.loads(value)["conversation"])


async def _by_subscription(
    wires: Wires, reader: Reader, seen: Sequence[str], ready: asyncio.Event
) -> None:
    wanted = [f"{_CONVERSATION}{talk}" for talk in seen]
    async with reader.mcp.listen(resource_subscriptions=wanted) as subscription:
        ready.set()
        async for event in subscription:
            assert isinstance(event, ResourceUpdated)
            wires.woken(reader, MCP, event.uri.removeprefix(_CONVERSATION))


async def ended(tasks: "Sequence[asyncio.Task[None]]") -> None:
    """Raises what went wrong in any."""
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


@dataclass(frozen=True, slots=True)
class Asker:
    """Somebody who knows the ids, the names and the keys of all there is."""

    wires: Wires
    reader: Reader
    random: Random

    def _one(self, things: Sequence[str]) -> str:
        """More often of what they may see."""
        its = self.random.choice(things)
        for _ in range(8 if self.random.random() < 0.7 else 0):
            if self.wires.may_know(self.reader, its.rpartition("/")[2]):
                break
            its = self.random.choice(things)
        return its

    @property
    def word(self) -> str:
        return self.random.choice(COMMON)

    @property
    def limit(self) -> int:
        return self.random.choice([1, 50])

    @property
    def project(self) -> str:
        return self._one([*self.wires.projects.values()])

    @property
    def name(self) -> str:
        return self.random.choice([self.project, *self.wires.names])

    @property
    def talk(self) -> str:
        return self._one([talk for talk, *_ in self.wires.talks])

    @property
    def message(self) -> str:
        return self._one(self.wires.said)

    @property
    def file(self) -> str:
        return self._one([*self.wires.files, "0" * 64])

    @property
    def work(self) -> str:
        return self._one([*self.wires.works, "wrk_00000000000000000000000000"])

    @property
    def key(self) -> dict[str, Any]:
        key = self._one([*self.wires.keys])
        return {"project": self.wires.keys[key], "key": key}

    @property
    def remembered(self) -> str:
        key = self.key
        return f"{key['project']}/memory/{quote(key['key'], safe='')}"

    @property
    def value(self) -> str:
        key = self.key
        return f"{key['project']}/memory/value?key={quote(key['key'], safe='')}"

    @property
    def history(self) -> str:
        return self.value.replace("/value?", "/history?")


_REST = {
    "projects": "/projects?limit={its.limit}",
    "project": "/projects/{its.project}",
    "export": "/projects/{its.project}/export",
    "conversations": "/conversations?limit={its.limit}",
    "conversation": "/conversations/{its.talk}",
    "participants": "/conversations/{its.talk}/participants",
    "messages": "/conversations/{its.talk}/messages",
    "cursor": "/conversations/{its.talk}/cursor",
    "message": "/messages/{its.message}",
    "versions": "/messages/{its.message}/versions",
    "thread": "/messages/{its.message}/thread",
    "acknowledged": "/messages/{its.message}/acknowledgements",
    "lowered": "/messages/{its.message}/declassifications",
    "words": "/bridge/search?q={its.word}",
    "meaning": "/bridge/search?q={its.word}&by=meaning",
    "page over some": "/bridge/messages?conversation={its.talk}&conversation={its.talk}",
    "inbox": "/inbox",
    "inbox total": "/inbox/total",
    "whoami": "/whoami",
    "memory": "/projects/{its.project}/memory",
    "words of memory": "/projects/{its.project}/memory/search?q={its.word}",
    "value": "/projects/{its.value}",
    "history": "/projects/{its.history}",
    "attachment": "/attachments/{its.file}",
    "leases": "/projects/{its.project}/leases",
    "works": "/projects/{its.project}/work",
    "work": "/work/{its.work}",
    "presence": "/projects/{its.project}/presence",
}
_RESOURCES = {
    "resource project": "projects/{its.project}",
    "resource conversation": "conversations/{its.talk}",
    "resource memory": "projects/{its.remembered}",
    "resource attachment": "attachments/{its.file}",
}
_TOOLS: dict[str, Callable[[Asker], tuple[str, dict[str, Any]]]] = {
    "mcp whoami": lambda its: ("whoami", {}),
    "mcp projects": lambda its: ("projects", {}),
    "mcp project": lambda its: ("projects", {"project": its.name}),
    "mcp conversations": lambda its: ("conversations", {}),
    "mcp conversation": lambda its: ("conversations", {"conversation": its.talk}),
    "mcp read": lambda its: ("read", {"conversations": [its.talk]}),
    "mcp thread": lambda its: ("read", {"thread": its.message}),
    "mcp attachment": lambda its: ("read", {"attachment": its.file}),
    "mcp inbox": lambda its: ("inbox", {}),
    "mcp search": lambda its: ("search", {"query": its.word}),
    "mcp meaning": lambda its: ("search", {"query": its.word, "by_meaning": True}),
    "mcp memory": lambda its: ("memory_get", its.key),
    "mcp history": lambda its: ("memory_get", {**its.key, "history": True}),
    "mcp names of memory": lambda its: ("memory_find", {"project": its.project}),
    "mcp leases": lambda its: ("lease", {"do": "list", "project": its.project}),
    "mcp tasks": lambda its: ("task", {"do": "list", "project": its.project}),
    "mcp task": lambda its: ("task", {"do": "show", "task": its.work}),
    "mcp change": lambda its: ("change", {"message": its.message, "body": "Not mine."}),
}
WAYS = (*_REST, *_TOOLS, *_RESOURCES)
CHANCES = (*_REST, *WAYS)
"""Two of three over REST: what MCP tells comes out of the same use cases."""
ONLY_REFUSED = {"mcp change"}


async def ask(wires: Wires, reader: Reader, way: str, random: Random) -> None:
    """One question over a wire, and all that came of it."""
    its = Asker(wires, reader, random)
    if way in _REST:
        path = _REST[way].format(its=its)
        answer = await reader.http.get(path)
        assert answer.status_code < 500, answer.text
        wires.statuses[way, answer.status_code] += 1
        wires.judge(reader, way, f"{answer.text} {dict(answer.headers)}", unquote(path))
    elif way in _TOOLS:
        tool, given = _TOOLS[way](its)
        result = await reader.mcp.call_tool(tool, given)
        wires.statuses[way, 400 if result.is_error else 200] += 1
        wires.judge(reader, way, result.model_dump_json(), given)
    else:
        await _read(wires, reader, way, f"portico://{_RESOURCES[way].format(its=its)}")


async def _read(wires: Wires, reader: Reader, way: str, uri: str) -> None:
    try:
        read = await reader.mcp.read_resource(uri)
    except MCPError as error:
        wires.statuses[way, 400] += 1
        wires.judge(reader, way, f"{error} {error.error.model_dump_json()}", unquote(uri))
    else:
        wires.statuses[way, 200] += 1
        wires.judge(reader, way, read.model_dump_json(), unquote(uri))
