"""The gateway's ports in memory: servers, tools, calls, results, saved workflows."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from portico.engine.core.errors import RunNotFound
from portico.engine.ports import RunQueries
from portico.gateway.core.calls import (
    KNOWN,
    OLDEST,
    REST,
    SKEW,
    Call,
    CallClaim,
    CallId,
    CallOutcome,
    CallStats,
    Phase,
    ResultId,
    ServerHealth,
    ServerListing,
    StoredResult,
    ToolResult,
    UpstreamTarget,
    begun_before,
    lost,
    sealed_with,
)
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef
from portico.gateway.core.config_documents import Described
from portico.gateway.core.errors import (
    BegunBefore,
    ResultNotFound,
    ServerExists,
    ServerNotFound,
    UpstreamDown,
    UpstreamTimedOut,
)
from portico.gateway.core.servers import (
    ADDED,
    Http,
    Identity,
    Launch,
    Plain,
    ProtocolRevision,
    Server,
    ServerId,
    Stdio,
    ToolCounts,
    tally,
)
from portico.gateway.core.tool_usage import faded
from portico.gateway.ports import ClientChannel
from portico.guard.core.access_request import AccessRequest
from portico.guard.core.contexts import context_of
from portico.guard.ports import Vault
from portico.kernel.budget import Tokens
from portico.kernel.clock import Clock
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ContextId, PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import PUBLIC, join, may_read
from portico.kernel.principal import Principal
from portico.testing.memory_store import (
    BEGINNING,
    Acquaintance,
    InMemoryStore,
    MadeCall,
    RowRefused,
    SeededEntropy,
    StoredText,
    TickingClock,
    all_or_nothing,
)
from portico.testing.secrets import MemoryVault
from portico.workflows.core.saved import SavedWorkflow, WorkflowNotFound

Reply = ToolResult | PorticoError | Callable[[JsonObject], ToolResult]


def seen(
    *tools: JsonObject,
    instructions: str | None = None,
    resources: Sequence[JsonObject] = (),
    prompts: Sequence[JsonObject] = (),
) -> ServerListing:
    """What a server offers that has these tools, in the protocol's own form."""
    return ServerListing(
        identity=Identity("scripted", "1.0"),
        protocol_revision=ProtocolRevision.MODERN,
        instructions=instructions,
        tools=tools,
        resources=resources,
        prompts=prompts,
    )


def text(words: str, *, failed: bool = False) -> ToolResult:
    return ToolResult([{"type": "text", "text": words}], failed=failed)


@dataclass(slots=True, kw_only=True)
class ScriptedUpstreams:
    offers: dict[str, ServerListing] = field(default_factory=dict)
    """By server; one that is not here is not there."""
    replies: dict[ToolRef, Reply | list[Reply]] = field(default_factory=dict)
    """Of a list one after the other, and the last one from then on."""
    results: dict[str, JsonObject] = field(default_factory=dict)
    """Of resources by address, of prompts by name, of completions under `complete`."""
    dead: set[str] = field(default_factory=set)
    looked: list[UpstreamTarget] = field(default_factory=list)
    called: list[tuple[ToolRef, JsonObject]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    last_words: dict[str, Sequence[str]] = field(default_factory=dict)
    _held: dict[str, asyncio.Event] = field(default_factory=dict)

    def hang(self, server: str) -> None:
        """It does not answer until `release`."""
        self._held[server] = asyncio.Event()

    def release(self, server: str) -> None:
        self._held.pop(server).set()

    async def look(self, target: UpstreamTarget) -> ServerListing:
        self.looked.append(target)
        await self._reach(target.server)
        return self.offers[target.server]

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,  # noqa: ARG002 # a script asks nothing
    ) -> ToolResult:
        ref = ToolRef(target.server, tool)
        self.called.append((ref, arguments))
        await self._in_time(str(ref), target.server, timeout)
        reply = self._next(ref)
        if isinstance(reply, PorticoError):
            raise reply
        return reply if isinstance(reply, ToolResult) else reply(arguments)

    async def read_resource(
        self,
        target: UpstreamTarget,
        uri: str,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,  # noqa: ARG002 # a script asks nothing
    ) -> JsonObject:
        await self._in_time(uri, target.server, timeout)
        return self.results[uri]

    async def get_prompt(
        self,
        target: UpstreamTarget,
        name: str,
        arguments: Mapping[str, str],  # noqa: ARG002 # the same for all of them
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,  # noqa: ARG002 # a script asks nothing
    ) -> JsonObject:
        await self._in_time(name, target.server, timeout)
        return self.results[name]

    async def complete(
        self,
        target: UpstreamTarget,
        params: JsonObject,  # noqa: ARG002 # the same for all of them
        *,
        timeout: timedelta,
    ) -> JsonObject:
        await self._in_time("complete", target.server, timeout)
        return self.results["complete"]

    async def stop(self, space: SpaceId, server: str) -> None:  # noqa: ARG002 # there is one space
        self.stopped.append(server)

    def health(self, space: SpaceId, server: str) -> ServerHealth:  # noqa: ARG002 # there is one space
        reached = {*self.looked_at, *(ref.server for ref, _ in self.called)}
        phase = Phase.RUNNING if server in reached else Phase.IDLE
        return ServerHealth(phase=phase, last_words=self.last_words.get(server, ()))

    @property
    def looked_at(self) -> Sequence[str]:
        return [target.server for target in self.looked]

    async def _in_time(self, what: str, server: str, timeout: timedelta) -> None:
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                await self._reach(server)
        except TimeoutError as error:
            raise UpstreamTimedOut(what, timeout.total_seconds()) from error

    async def _reach(self, server: str) -> None:
        if server in self._held:
            await self._held[server].wait()
        if server in self.dead or server not in self.offers:
            raise UpstreamDown(server, "it is not there")

    def _next(self, ref: ToolRef) -> Reply:
        reply = self.replies.get(ref, text(f"{ref} was called"))
        if not isinstance(reply, list):
            return reply
        return reply.pop(0) if len(reply) > 1 else reply[0]


class ScriptedSources:
    def __init__(self, *described: Described) -> None:
        self._says: Sequence[Described] = described
        self._changed = asyncio.Event()

    def say(self, *described: Described) -> None:
        """From now on."""
        self._says = described
        self._changed.set()

    async def read(self) -> Sequence[Described]:
        return self._says

    async def changes(self) -> AsyncGenerator[object, None]:
        while True:
            await self._changed.wait()
            self._changed.clear()
            yield None


class MemoryServers:
    def __init__(self, world: InMemoryStore) -> None:
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
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def all(self, caller: Principal) -> Mapping[ServerId, Sequence[Tool]]:
        return {
            server: [*tools]
            for (space, server), tools in self._world.tools.items()
            if _is(caller, space) and tools
        }

    async def of(self, caller: Principal, server: Server) -> Sequence[Tool]:
        return [*self._world.tools.get((caller.space, server.id), ())]

    async def tally(self, caller: Principal) -> Mapping[ServerId, ToolCounts]:
        return {server: tally(tools) for server, tools in (await self.all(caller)).items()}

    async def put(self, caller: Principal, server: ServerId, tools: Sequence[Tool]) -> None:
        if (caller.space, server) not in self._world.servers:
            raise RowRefused(f"There is no server {server}.")
        if len({tool.ref.name for tool in tools}) < len(tools):
            raise RowRefused("Two tools have one name.")
        self._world.tools[caller.space, server] = [*tools]


class MemoryVectors:
    def __init__(self, world: InMemoryStore) -> None:
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
    def __init__(self, world: InMemoryStore, vault: Vault | None = None) -> None:
        self._world = world
        self._vault = vault or MemoryVault()

    async def keep(
        self, caller: Principal, result: ResultId, kept: StoredResult, until: datetime
    ) -> None:
        if (caller.space, caller.id) not in self._world.identities:
            raise RowRefused(f"There is no principal {caller.id} to keep a result for.")
        task = self._world.contexts.get((caller.space, context_of(caller)))
        label = kept.label if task is None else join([kept.label, task.label])
        untrusted = kept.untrusted or (task is not None and task.untrusted)
        context = sealed_with(caller.space, caller.id, result)
        sealed = self._vault.encrypt(json.dumps(kept.content).encode(), context)
        text = StoredText(caller.id, sealed, until, label, untrusted)
        there = self._world.results.setdefault((caller.space, result), text)
        if there.principal != caller.id:
            raise RowRefused(f"Somebody else has a result {result}.")

    async def get(self, caller: Principal, result: ResultId, now: datetime) -> StoredResult:
        kept = self._world.results.get((caller.space, result))
        if kept is None or kept.principal != caller.id or kept.until <= now:
            raise ResultNotFound(str(result))
        if not may_read(caller.clearance, kept.label):
            raise ResultNotFound(str(result))
        text = self._vault.decrypt(kept.sealed, sealed_with(caller.space, caller.id, result))
        if text is None:
            raise ResultNotFound(str(result))
        content: JsonValue = json.loads(text)
        return StoredResult(content=content, label=kept.label, untrusted=kept.untrusted)


def _is(caller: Principal, space: object) -> bool:
    return caller.space == space


def _place(server: Server) -> object:
    """Where a file names it; what comes from none is in no place that another could take."""
    return server.id if server.entry is None else (server.origin, server.entry)


def _exists(world: InMemoryStore, caller: Principal) -> None:
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


class MemoryCallHistory:
    """Of one process; with another `incarnation` on the same world, of the next one."""

    def __init__(
        self, world: InMemoryStore, clock: Clock | None = None, incarnation: str = "one"
    ) -> None:
        self._world = world
        self._clock = clock or TickingClock()
        self._incarnation = incarnation
        self._book: RunQueries | None = None

    def look_at(self, book: RunQueries) -> None:
        """The runs whose calls are recorded here."""
        self._book = book

    async def record_start(self, caller: Principal, call: Call) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        self._write(caller, call)

    async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
        if (found := self._begun(caller, claim)) is not None:
            raise BegunBefore(str(call.ref), found.outcome)
        if await self._late(caller, claim):
            raise BegunBefore(str(call.ref), None)
        await self.record_start(caller, call)

    async def _late(self, caller: Principal, claim: CallClaim) -> bool:
        if self._book is None or claim.run is None:
            return False
        try:
            run = await self._book.get(caller, claim.run)
        except RunNotFound:
            return False
        return run.leg > claim.leg or run.status.over

    async def find_started(
        self, caller: Principal, claims: Sequence[CallClaim]
    ) -> Collection[CallId]:
        return {claim.id for claim in claims if self._begun(caller, claim) is not None}

    def _begun(self, caller: Principal, claim: CallClaim) -> Call | None:
        for call in (claim.id, *claim.earlier):
            made = self._world.calls.get((caller.space, call))
            if made is not None and begun_before(made.call.outcome, own=call == claim.id):
                return made.call
        return None

    async def record(self, caller: Principal, call: Call) -> None:
        """Of a space that is gone nothing is kept."""
        if caller.space in self._world.spaces:
            self._write(caller, call)

    def _write(self, caller: Principal, call: Call) -> None:
        """Past what could take it back: it stays, whatever it was part of."""
        calls, place = self._world.calls.data, (caller.space, call.id)
        if call.context is not None:
            task = self._world.contexts.get((caller.space, call.context))
            call = replace(call, label=join([call.label, task.label if task else PUBLIC]))
        if place not in calls:
            calls[place] = MadeCall(call, json.dumps(call.arguments), self._incarnation)
            return
        before = calls[place]
        ended = replace(
            before.call,
            took=call.took,
            outcome=call.outcome,
            error=call.error,
            bytes_out=call.bytes_out,
        )
        calls[place] = replace(before, call=ended)

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None = None,
        ref: ToolRef | None,
        before: datetime | None,
        limit: int,
        beyond: Collection[str] = (),
    ) -> Sequence[Call]:
        found = [
            call
            for call in self._known(caller, beyond)
            if of in (None, call.principal)
            and ref in (None, call.ref)
            and (before is None or call.started_at < before)
        ]
        return sorted(found, key=lambda call: (call.started_at, call.id.value), reverse=True)[
            :limit
        ]

    async def stats(
        self,
        caller: Principal,
        *,
        since: datetime,
        server: str | None,
        of: PrincipalId | None = None,
        task: ContextId | None = None,
        beyond: Collection[str] = (),
    ) -> Sequence[CallStats]:
        named: defaultdict[str, list[Call]] = defaultdict(list)
        for call in self._known(caller, beyond):
            if of not in (None, call.principal) or task not in (None, call.context):
                continue
            if call.started_at >= since and server in (None, call.ref.server) and call.outcome:
                named[call.ref.server if server is None else call.ref.name].append(call)
        return [_figures(name, named[name]) for name in sorted(named)]

    def _known(self, caller: Principal, beyond: Collection[str]) -> Sequence[Call]:
        now = self._clock.now()
        return [
            self._as_known(made, now)
            for (space, _), made in self._world.calls.items()
            if space == caller.space
            and may_read(caller.clearance, made.call.label)
            and made.call.ref.server not in beyond
        ]

    def _as_known(self, made: MadeCall, now: datetime) -> Call:
        call = replace(made.call, arguments=json.loads(made.arguments))
        theirs = made.by != self._incarnation
        return replace(call, outcome=CallOutcome.UNCERTAIN) if theirs and lost(call, now) else call


class MemoryToolUsageStore:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def found(
        self, caller: Principal, refs: Sequence[ToolRef], query: str, at: datetime
    ) -> None:
        for ref in refs:
            before = self._before(caller, ref)
            self._keep(caller, ref, replace(before, found_for=query, found_at=at))

    async def used(self, caller: Principal, refs: Mapping[ToolRef, int], at: datetime) -> None:
        for ref, times in refs.items():
            before = self._before(caller, ref)
            last = before.called_at or at
            calls = times + faded(before.calls, at - last)
            self._keep(caller, ref, replace(before, calls=calls, called_at=max(at, last)))

    async def known(self, caller: Principal, limit: int) -> Sequence[tuple[ToolRef, str]]:
        def last(known: Acquaintance) -> datetime:
            return max(at for at in (known.found_at, known.called_at) if at is not None)

        mine = sorted(self._mine(caller).items())
        mine.sort(key=lambda item: last(item[1]), reverse=True)
        return [(ref, known.found_for) for ref, known in mine[:limit]]

    async def most_used(self, caller: Principal, limit: int) -> Sequence[ToolRef]:
        called = [
            (known.called_at, known.calls, ref)
            for ref, known in sorted(self._mine(caller).items())
            if known.called_at is not None
        ]
        last = max((at for at, _, _ in called), default=BEGINNING)
        called.sort(key=lambda each: faded(each[1], last - each[0]), reverse=True)
        return [ref for _, _, ref in called[:limit]]

    def _before(self, caller: Principal, ref: ToolRef) -> Acquaintance:
        return self._mine(caller).get(ref, Acquaintance())

    def _keep(self, caller: Principal, ref: ToolRef, known: Acquaintance) -> None:
        if (caller.space, caller.id) not in self._world.identities:
            raise RowRefused(f"There is no principal {caller.id} to remember anything for.")
        self._world.acquaintances[caller.space, caller.id, ref] = known

    def _mine(self, caller: Principal) -> Mapping[ToolRef, Acquaintance]:
        return {
            ref: known
            for (space, principal, ref), known in self._world.acquaintances.items()
            if (space, principal) == (caller.space, caller.id)
        }


def _figures(name: str, calls: Sequence[Call]) -> CallStats:
    took = sorted(call.took for call in calls if call.took is not None)
    return CallStats(
        name=name,
        calls=len(calls),
        failures=sum(call.outcome is not None and call.outcome.wrong for call in calls),
        p50=_percentile(took, 0.5),
        p95=_percentile(took, 0.95),
        p99=_percentile(took, 0.99),
        last_at=max(call.started_at for call in calls),
    )


def _percentile(ordered: Sequence[timedelta], part: float) -> timedelta:
    """Between the two that it lies between, as PostgreSQL's percentile_cont."""
    if len(ordered) < 2:
        return ordered[0] if ordered else timedelta()
    place = part * (len(ordered) - 1)
    below, above = list(pairwise(ordered))[min(int(place), len(ordered) - 2)]
    return below + (above - below) * (place - min(int(place), len(ordered) - 2))


class MemoryElsewhere:
    """What the processes with another `incarnation` are changing."""

    def __init__(
        self, world: InMemoryStore, clock: Clock | None = None, incarnation: str = "one"
    ) -> None:
        self._world = world
        self._clock = clock or TickingClock()
        self._incarnation = incarnation

    async def changed_since(self, act: AccessRequest, since: datetime) -> bool:
        now, caller, server = self._clock.now(), act.caller, act.target.server
        away = {
            its.name
            for (space, _), its in self._world.servers.items()
            if space == caller.space and isinstance(its.launch, Http)
        }
        return any(
            _may_still_change(made.call, since, now)
            for (space, _), made in self._world.calls.items()
            if space == caller.space
            and made.by != self._incarnation
            and (
                made.call.principal == caller.id
                or made.call.ref.server == server
                or (act.target.here and made.call.ref.server not in away)
            )
        )


def _may_still_change(call: Call, since: datetime, now: datetime) -> bool:
    if call.effect.is_read_only or call.started_at < now - OLDEST:
        return False
    if call.outcome is None:
        return not lost(call, now)
    ended = call.started_at + (call.took or timedelta())
    rest = timedelta() if call.outcome in KNOWN else REST
    return ended + rest >= since - SKEW


class MemorySavedWorkflows:
    def __init__(self, world: InMemoryStore) -> None:
        self._world = world

    async def all(self, caller: Principal) -> Sequence[SavedWorkflow]:
        rows = self._world.saved_workflows.items()
        mine = [saved for (space, _), saved in rows if space == caller.space]
        return sorted(mine, key=lambda saved: saved.name)

    async def get(self, caller: Principal, name: str) -> SavedWorkflow:
        found = self._world.saved_workflows.get((caller.space, name))
        if found is None:
            raise WorkflowNotFound(name)
        return found

    async def put(self, caller: Principal, saved: SavedWorkflow) -> None:
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        place = (caller.space, saved.name)
        before = self._world.saved_workflows.get(place)
        first = saved.saved_at if before is None else before.saved_at
        self._world.saved_workflows[place] = replace(saved, saved_at=first)

    async def remove(self, caller: Principal, name: str) -> None:
        if (caller.space, name) not in self._world.saved_workflows:
            raise WorkflowNotFound(name)
        del self._world.saved_workflows[caller.space, name]


def a_saved_workflow(
    name: str = "tidy",
    plan: JsonObject | None = None,
    *,
    description: str = "Tidies up.",
    effect: Effect = Effect.LOCAL_READ,
) -> SavedWorkflow:
    return SavedWorkflow(
        name=name,
        plan=plan or {"steps": [{"id": "read", "tool": "files.read"}]},
        description=description,
        effect=effect,
        saved_by=PrincipalId.mint(BEGINNING, SeededEntropy("who saved")),
        saved_by_name="root",
        saved_at=BEGINNING,
        changed_at=BEGINNING,
    )
