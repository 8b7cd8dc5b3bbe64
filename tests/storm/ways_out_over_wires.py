"""Every way in which something can be asked for over a wire."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError

from tests.storm.bridge_wires import Reader, Wires
from tests.storm.bridge_world import COMMON


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


Choice = Callable[[Asker], tuple[str, dict[str, Any]]]


def _remembered(its: Asker) -> str:
    key = its.key
    return f"projects/{key['project']}/memory/{quote(key['key'], safe='')}"


def _value(its: Asker, what: str) -> tuple[str, dict[str, Any]]:
    key = its.key
    return f"/projects/{key['project']}/memory/{what}", {"key": key["key"]}


_REST: dict[str, Choice] = {
    "projects": lambda its: ("/projects", {"limit": its.limit}),
    "project": lambda its: (f"/projects/{its.project}", {}),
    "export": lambda its: (f"/projects/{its.project}/export", {}),
    "conversations": lambda its: ("/conversations", {"limit": its.limit}),
    "conversation": lambda its: (f"/conversations/{its.talk}", {}),
    "participants": lambda its: (
        f"/conversations/{its.talk}/participants",
        {},
    ),
    "messages": lambda its: (f"/conversations/{its.talk}/messages", {}),
    "cursor": lambda its: (f"/conversations/{its.talk}/cursor", {}),
    "message": lambda its: (f"/messages/{its.message}", {}),
    "versions": lambda its: (f"/messages/{its.message}/versions", {}),
    "thread": lambda its: (f"/messages/{its.message}/thread", {}),
    "acknowledged": lambda its: (
        f"/messages/{its.message}/acknowledgements",
        {},
    ),
    "lowered": lambda its: (
        f"/messages/{its.message}/declassifications",
        {},
    ),
    "words": lambda its: ("/bridge/search", {"q": its.word}),
    "meaning": lambda its: (
        "/bridge/search",
        {"q": its.word, "by": "meaning"},
    ),
    "page over some": lambda its: (
        "/bridge/messages",
        {"conversation": [its.talk for _ in range(2)]},
    ),
    "inbox": lambda its: ("/inbox", {}),
    "inbox total": lambda its: ("/inbox/total", {}),
    "whoami": lambda its: ("/whoami", {}),
    "memory": lambda its: (f"/projects/{its.project}/memory", {}),
    "words of memory": lambda its: (
        f"/projects/{its.project}/memory/search",
        {"q": its.word},
    ),
    "value": lambda its: _value(its, "value"),
    "history": lambda its: _value(its, "history"),
    "attachment": lambda its: (
        f"/attachments/{its.file}",
        {},
    ),
    "leases": lambda its: (f"/projects/{its.project}/leases", {}),
    "works": lambda its: (f"/projects/{its.project}/work", {}),
    "work": lambda its: (f"/work/{its.work}", {}),
    "presence": lambda its: (f"/projects/{its.project}/presence", {}),
}
_TOOLS: dict[str, Choice] = {
    "mcp whoami": lambda its: ("whoami", {}),
    "mcp projects": lambda its: ("projects", {}),
    "mcp project": lambda its: (
        "projects",
        {"project": its.name},
    ),
    "mcp conversations": lambda its: ("conversations", {}),
    "mcp conversation": lambda its: (
        "conversations",
        {"conversation": its.talk},
    ),
    "mcp read": lambda its: ("read", {"conversations": [its.talk]}),
    "mcp thread": lambda its: ("read", {"thread": its.message}),
    "mcp attachment": lambda its: (
        "read",
        {"attachment": its.file},
    ),
    "mcp inbox": lambda its: ("inbox", {}),
    "mcp search": lambda its: ("search", {"query": its.word}),
    "mcp meaning": lambda its: (
        "search",
        {"query": its.word, "by_meaning": True},
    ),
    "mcp memory": lambda its: ("memory_get", its.key),
    "mcp history": lambda its: ("memory_get", {**its.key, "history": True}),
    "mcp names of memory": lambda its: (
        "memory_find",
        {"project": its.project},
    ),
    "mcp leases": lambda its: (
        "lease",
        {"do": "list", "project": its.project},
    ),
    "mcp tasks": lambda its: (
        "task",
        {"do": "list", "project": its.project},
    ),
    "mcp task": lambda its: (
        "task",
        {"do": "show", "task": its.work},
    ),
    "mcp change": lambda its: (
        "change",
        {"message": its.message, "body": "Not mine."},
    ),
}
_RESOURCES: dict[str, Callable[[Asker], str]] = {
    "resource project": lambda its: f"projects/{its.project}",
    "resource conversation": lambda its: f"conversations/{its.talk}",
    "resource memory": _remembered,
    "resource attachment": lambda its: f"attachments/{its.file}",
}
WAYS = (*_REST, *_TOOLS, *_RESOURCES)
CHANCES = (*_REST, *WAYS)
"""Two of three over REST: what MCP tells comes out of the same use cases."""
ONLY_REFUSED = {"mcp change"}


async def ask(wires: Wires, reader: Reader, way: str, random: Random) -> None:
    """One question over a wire, and all that came of it."""
    its = Asker(wires, reader, random)
    if way in _REST:
        path, query = _REST[way](its)
        answer = await reader.http.get(path, params=query)
        assert answer.status_code < 500, answer.text
        wires.statuses[way, answer.status_code] += 1
        wires.judge(reader, way, f"{answer.text} {dict(answer.headers)}", [path, query])
    elif way in _TOOLS:
        tool, given = _TOOLS[way](its)
        result = await reader.mcp.call_tool(tool, given)
        wires.statuses[way, 400 if result.is_error else 200] += 1
        wires.judge(reader, way, result.model_dump_json(), given)
    else:
        await _read(wires, reader, way, f"portico://{_RESOURCES[way](its)}")


async def _read(wires: Wires, reader: Reader, way: str, uri: str) -> None:
    try:
        read = await reader.mcp.read_resource(uri)
    except MCPError as error:
        wires.statuses[way, 400] += 1
        wires.judge(reader, way, f"{error} {error.error.model_dump_json()}", unquote(uri))
    else:
        wires.statuses[way, 200] += 1
        wires.judge(reader, way, read.model_dump_json(), unquote(uri))
