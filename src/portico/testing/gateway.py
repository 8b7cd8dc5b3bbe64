"""The gateway's doors in memory: servers, their tools, vectors and results; and makers of them."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from portico.gateway.core.calls import KeptResult, ResultId, sealed_with
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef
from portico.gateway.core.errors import ResultNotFound, ServerExists, ServerNotFound
from portico.gateway.core.servers import ADDED, Launch, Plain, Server, ServerId, Stdio, Tally, tally
from portico.guard.core.contexts import context_of
from portico.guard.ports import Vault
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import join, may_read
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from portico.testing.vault import MemoryVault
from portico.testing.world import KeptText, MemoryWorld, RowRefused, all_or_nothing


class MemoryServers:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def all(self, caller: Principal) -> Sequence[Server]:
        mine = [server for (space, _), server in self._world.servers.items() if _is(caller, space)]
        return sorted(mine, key=lambda server: server.name)

    async def get(self, caller: Principal, name: str) -> Server:
        for server in await self.all(caller):
            if server.name == name:
                return server
        raise ServerNotFound(name)

    @asynccontextmanager
    async def changing(self, caller: Principal, name: str) -> AsyncIterator[Server]:
        async with self._world.turns["server", caller.space, name]:
            with all_or_nothing():
                yield await self.get(caller, name)

    async def add(self, caller: Principal, server: Server) -> None:
        _exists(self._world, caller)
        for other in await self.all(caller):
            if other.name == server.name or _place(other) == _place(server):
                raise ServerExists(server.name, server.name)
        self._world.servers.insert((caller.space, server.id), server)

    async def put(self, caller: Principal, server: Server) -> None:
        """Only what can change: not what it is called, nor where it comes from."""
        before = self._world.servers.get((caller.space, server.id))
        if before is None:
            raise ServerNotFound(server.name)
        self._world.servers[caller.space, server.id] = replace(
            server,
            name=before.name,
            origin=before.origin,
            entry=before.entry,
            created_at=before.created_at,
        )

    async def remove(self, caller: Principal, server: ServerId) -> None:
        self._world.servers.pop((caller.space, server), None)
        self._world.tools.pop((caller.space, server), None)
        self._world.log_out_of(caller.space, server)
        self._world.unlearn(caller.space, server)


class MemoryTools:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def all(self, caller: Principal) -> Mapping[ServerId, Sequence[Tool]]:
        return {
            server: [*tools]
            for (space, server), tools in self._world.tools.items()
            if _is(caller, space) and tools
        }

    async def of(self, caller: Principal, server: Server) -> Sequence[Tool]:
        return [*self._world.tools.get((caller.space, server.id), ())]

    async def tally(self, caller: Principal) -> Mapping[ServerId, Tally]:
        return {server: tally(tools) for server, tools in (await self.all(caller)).items()}

    async def put(self, caller: Principal, server: ServerId, tools: Sequence[Tool]) -> None:
        if (caller.space, server) not in self._world.servers:
            raise RowRefused(f"There is no server {server}.")
        if len({tool.ref.name for tool in tools}) < len(tools):
            raise RowRefused("Two tools have one name.")
        self._world.tools[caller.space, server] = [*tools]


class MemoryVectors:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def get(
        self, caller: Principal, model: str, keys: Sequence[str]
    ) -> Mapping[str, NDArray[np.float32]]:
        kept = {key: self._world.embeddings.get((caller.space, model, key)) for key in keys}
        return {
            key: np.frombuffer(vector, np.float32)
            for key, vector in kept.items()
            if vector is not None
        }

    async def put(
        self, caller: Principal, model: str, vectors: Mapping[str, NDArray[np.float32]]
    ) -> None:
        _exists(self._world, caller)
        for key, vector in vectors.items():
            place = (caller.space, model, key)
            if place not in self._world.embeddings:
                self._world.embeddings[place] = vector.astype(np.float32).tobytes()


class MemoryResults:
    def __init__(self, world: MemoryWorld, vault: Vault | None = None) -> None:
        self._world = world
        self._vault = vault or MemoryVault()

    async def keep(
        self, caller: Principal, result: ResultId, kept: KeptResult, until: datetime
    ) -> None:
        if (caller.space, caller.id) not in self._world.identities:
            raise RowRefused(f"There is no principal {caller.id} to keep a result for.")
        task = self._world.contexts.get((caller.space, context_of(caller)))
        label = kept.label if task is None else join([kept.label, task.label])
        untrusted = kept.untrusted or (task is not None and task.untrusted)
        context = sealed_with(caller.space, caller.id, result)
        sealed = self._vault.seal(json.dumps(kept.content).encode(), context)
        text = KeptText(caller.id, sealed, until, label, untrusted)
        there = self._world.results.setdefault((caller.space, result), text)
        if there.principal != caller.id:
            raise RowRefused(f"Somebody else has a result {result}.")

    async def get(self, caller: Principal, result: ResultId, now: datetime) -> KeptResult:
        kept = self._world.results.get((caller.space, result))
        if kept is None or kept.principal != caller.id or kept.until <= now:
            raise ResultNotFound(str(result))
        if not may_read(caller.clearance, kept.label):
            raise ResultNotFound(str(result))
        text = self._vault.unseal(kept.sealed, sealed_with(caller.space, caller.id, result))
        if text is None:
            raise ResultNotFound(str(result))
        content: JsonValue = json.loads(text)
        return KeptResult(content=content, label=kept.label, untrusted=kept.untrusted)


def _is(caller: Principal, space: object) -> bool:
    return caller.space == space


def _place(server: Server) -> object:
    """Where a file names it; what comes from none is in no place that another could take."""
    return server.id if server.entry is None else (server.origin, server.entry)


def _exists(world: MemoryWorld, caller: Principal) -> None:
    if caller.space not in world.spaces:
        raise RowRefused(f"There is no space {caller.space}.")


def a_server(name: str = "files", *, launch: Launch | None = None, origin: str = ADDED) -> Server:
    """Nobody has approved it yet. The same name, the same id."""
    return Server(
        id=ServerId.mint(BEGINNING, SeededEntropy(f"server {name}")),
        name=name,
        origin=origin,
        entry=None if origin == ADDED else f"/mcpServers/{name}",
        launch=launch or Stdio("serve", (Plain(name),)),
        launch_pin=f"launch pin of {name}",
        created_at=BEGINNING,
    )


def an_approved_server(name: str = "files") -> Server:
    """As `a_server`, and an operator has allowed it, and looked at its tools."""
    server = a_server(name)
    return replace(
        server,
        approved_launch_pin=server.launch_pin,
        approved_by="root",
        approved_at=BEGINNING,
        tools_accepted=True,
    )


def a_tool(
    name: str = "files.read",
    description: str = "Reads a file.",
    *,
    effect: Effect | None = None,
    **more: JsonValue,
) -> Tool:
    """By its whole name; with an effect it is accepted as it is. `more` is what its server says
    of it besides. The same words, the same pin."""
    ref = ToolRef.parse(name)
    raw: JsonObject = {
        "name": ref.name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        **more,
    }
    definition = Definition(
        name=ref.name,
        title=str(raw.get("title", "")),
        description=description,
        input_schema=_object(raw["inputSchema"]),
        output_schema=None,
        annotations=_object(raw.get("annotations", {})),
        raw=raw,
    )
    pin = sha256(canonical(raw)).hexdigest()
    tool = Tool(ref=ref, definition=definition, pin=pin, tokens=Tokens(len(canonical(raw)) // 4))
    if effect is None:
        return tool
    return replace(tool, effect=effect, accepted=definition, accepted_pin=pin)


def _object(value: JsonValue) -> JsonObject:
    assert isinstance(value, Mapping)
    return value
