"""The catalog: what a caller may see of servers and tools."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef, ToolStatus
from portico.gateway.core.errors import ToolNotFound
from portico.gateway.core.inferred_schema import ObservedSchema, ToolPlace, vague
from portico.gateway.core.servers import Server, ServerId, standing
from portico.gateway.core.surface import hints
from portico.gateway.ports import Servers, Shapes, Tools, Upstreams
from portico.gateway.search_index import BuildIndex, Finder
from portico.guard.core.principals import Scope
from portico.guard.core.rules import on_lists
from portico.guard.principals import require_scope
from portico.kernel.errors import PorticoError
from portico.kernel.ids import SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_log: Final = logging.getLogger("portico.gateway")

CATALOGUE: Final = "catalogue"
"""What the bus calls a change of a server or of its tools."""

_FEW: Final = 8
_VIEWS: Final = 64
"""Of a space, that are remembered."""

Job = Callable[[], Awaitable[None]]
View = tuple[Label, tuple[tuple[str, ...], ...]]
"""A clearance, and lists of tools."""


@dataclass(slots=True)
class _Room:
    """What is known of one space: `asked` counts the changes, `seen` those the shelf has in it."""

    asked: int = 1
    seen: int = 0
    watched: bool = False
    shelf: CatalogSnapshot = field(default_factory=lambda: CatalogSnapshot({}, {}))
    finder: Finder | None = None
    tools: Mapping[ServerId, Sequence[Tool]] = field(default_factory=dict)
    marks: Mapping[ServerId, object] = field(default_factory=dict)
    """Of each server, what changes whenever its tools do."""
    narrowed: dict[View, tuple[CatalogSnapshot, CatalogSnapshot]] = field(default_factory=dict)
    """Of which shelf, and what of it somebody with that view is shown."""
    finders: dict[View, tuple[Finder, Finder]] = field(default_factory=dict)
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    building: asyncio.Lock = field(default_factory=asyncio.Lock)
    completing: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True, kw_only=True)
class Catalogs:
    servers: Servers
    tools: Tools
    build_index: BuildIndex
    upstreams: Upstreams
    bus: Bus
    wait_timeout: timedelta = timedelta(milliseconds=300)
    """How long a search waits for the newest tools to be put in; then it goes without them."""
    _rooms: dict[SpaceId, _Room] = field(default_factory=dict)
    _jobs: asyncio.Queue[Job] | None = None

    async def current(self, caller: Principal) -> CatalogSnapshot:
        """Never older than the last change that we were told of, and never with anything that is
        labelled above the caller's clearance: whatever looks or calls goes through here."""
        shelf = await self._whole(caller)
        return _narrowed(self._room(caller), shelf, (caller.clearance, ()))

    async def offered(self, caller: Principal) -> CatalogSnapshot:
        """Of the current one, what is on the caller's lists of tools: whatever shows tools to
        choose from goes through here. Who calls another is told that it may not."""
        shelf = await self._whole(caller)
        return _narrowed(self._room(caller), shelf, _view(caller))

    async def finder(self, caller: Principal) -> Finder:
        """What finds the tools that are offered to the caller, and only those."""
        shelf = await self._whole(caller)
        room = self._room(caller)
        if room.finder is None or self._jobs is None:
            await self._build(caller, room, shelf)
        elif room.finder.indexed is not shelf:
            await self._build_meanwhile(caller, room, shelf)
        assert room.finder is not None  # noqa: S101 # built just now, or before
        room.finder = room.finder.on(shelf)
        return _finder(room, room.finder, _narrowed(room, shelf, _view(caller)), _view(caller))

    async def _whole(self, caller: Principal) -> CatalogSnapshot:
        """Of the whole space, whoever asks."""
        room = self._room(caller)
        async with room.loading:
            asked = room.asked
            if room.seen < asked or not room.watched:
                room.shelf = await self._load(caller, room)
                room.seen = asked
        return room.shelf

    async def run(self) -> None:
        """Listen for changes of every space that is looked at, until it is cancelled."""
        self._jobs = asyncio.Queue()
        for space, room in self._rooms.items():  # those that were looked at before this began
            self._jobs.put_nowait(partial(self._watch, space, room))
        try:
            async with asyncio.TaskGroup() as under_way:
                while True:
                    under_way.create_task(_contained(await self._jobs.get()))
        finally:
            self._jobs = None

    def _room(self, caller: Principal) -> _Room:
        room = self._rooms.get(caller.space)
        if room is None:
            room = self._rooms[caller.space] = _Room()
            if self._jobs is not None:
                self._jobs.put_nowait(partial(self._watch, caller.space, room))
        return room

    async def _watch(self, space: SpaceId, room: _Room) -> None:
        with self.bus.listen(space, CATALOGUE) as wakeups:
            room.watched = True
            room.asked += 1
            try:
                while True:
                    await wakeups.wait()
                    room.asked += 1
            finally:
                self._rooms.pop(space, None)

    async def _load(self, caller: Principal, room: _Room) -> CatalogSnapshot:
        """Only the tools of servers that have changed are read again, if they are few."""
        servers = await self.servers.all(caller)
        marks = {its.id: _mark(its) for its in servers}
        changed = [its for its in servers if room.marks.get(its.id) != marks[its.id]]
        if len(changed) > _FEW:
            tools = dict(await self.tools.all(caller))
        else:
            anew = {its.id: await self.tools.of(caller, its) for its in changed}
            tools = {its.id: room.tools.get(its.id, ()) for its in servers} | anew
        room.marks, room.tools = marks, tools
        shelf = CatalogSnapshot.of(servers, {its.name: tools.get(its.id, ()) for its in servers})
        for name in _not_to_run(room.shelf, shelf):
            await self.upstreams.stop(caller.space, name)
        return shelf

    async def _build(self, caller: Principal, room: _Room, shelf: CatalogSnapshot) -> None:
        async with room.building:
            if room.finder is not None and room.finder.indexed is shelf:
                return
            room.finder = await self.build_index(caller, shelf, room.finder)
        if not room.finder.complete and self._jobs is not None:
            self._jobs.put_nowait(lambda: self._complete(caller, room, shelf))

    async def _complete(self, caller: Principal, room: _Room, shelf: CatalogSnapshot) -> None:
        """With the vectors that take their time. What changes meanwhile is built without waiting
        for them, and completed in its turn: what was encoded by then is not encoded again."""
        async with room.completing:
            if (finder := _of(room, shelf)) is None:
                return
            whole = await self.build_index.whole(caller, finder)
            async with room.building:
                if (now := _of(room, shelf)) is not None:
                    room.finder = whole.on(now.snapshot)

    async def _build_meanwhile(
        self, caller: Principal, room: _Room, shelf: CatalogSnapshot
    ) -> None:
        assert self._jobs is not None  # noqa: S101 # asked for only while it runs
        done = asyncio.Event()

        async def built() -> None:
            try:
                await self._build(caller, room, shelf)
            finally:
                done.set()

        self._jobs.put_nowait(built)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.wait_timeout.total_seconds()):
                await done.wait()


def _of(room: _Room, shelf: CatalogSnapshot) -> Finder | None:
    """What finds the tools, if it was made of this shelf and no newer one has come."""
    return room.finder if room.finder is not None and room.finder.indexed is shelf else None


def _view(caller: Principal) -> View:
    return caller.clearance, caller.tools


def _narrowed(room: _Room, whole: CatalogSnapshot, view: View) -> CatalogSnapshot:
    """The same one for as long as nothing changes: it is remembered by what was made of it."""
    kept = room.narrowed.get(view)
    if kept is None or kept[0] is not whole:
        if len(room.narrowed) >= _VIEWS:
            room.narrowed.clear()
        clearance, lists = view
        kept = room.narrowed[view] = (whole, whole.below(clearance).on(lists))
    return kept[1]


def _finder(room: _Room, whole: Finder, shelf: CatalogSnapshot, view: View) -> Finder:
    if shelf is whole.snapshot:
        return whole
    kept = room.finders.get(view)
    if kept is None or kept[0] is not whole or kept[1].snapshot is not shelf:
        if len(room.finders) >= _VIEWS:
            room.finders.clear()
        kept = room.finders[view] = (whole, whole.on(shelf))
    return kept[1]


def _not_to_run(before: CatalogSnapshot, after: CatalogSnapshot) -> Sequence[str]:
    """Somebody, perhaps in another process, has switched it off, taken it away or described it
    otherwise; whatever runs of it here must not go on."""
    mine = {name: its.launch_pin for name, its in before.servers.items() if its.may_start}
    still = {name: its.launch_pin for name, its in after.servers.items() if its.may_start}
    return [name for name, pin in mine.items() if still.get(name) != pin]


def _mark(server: Server) -> object:
    return server.set_pin, server.accepted_set_pin, server.approved_at


async def _contained(job: Job) -> None:
    """What could not be made is tried again when it is next asked for."""
    try:
        await job()
    except Exception as error:  # noqa: BLE001 # the edge of a background loop
        foreseen = isinstance(error, PorticoError)
        _log.warning("the catalogue is behind: %s", error, exc_info=not foreseen)


@dataclass(frozen=True, slots=True)
class ServerTools:
    tools: Sequence[JsonObject]
    """In the protocol's own form."""
    said: str
    """What the server says of itself, as far as somebody has approved it."""
    schemas: Mapping[str, JsonObject]

    def schema(self, name: str) -> JsonObject | None:
        return self.schemas.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListServerTools:
    catalogues: Catalogs
    _made: dict[tuple[SpaceId, str], tuple[object, ServerTools]] = field(default_factory=dict)

    async def __call__(self, caller: Principal, server: str) -> ServerTools:
        """Asks nobody. Raises `ServerNotFound`, `ServerDisabled`, `ServerNotApproved`."""
        require_scope(caller, Scope.TOOLS_READ)
        shelf = await self.catalogues.offered(caller)
        found = shelf.server(server)
        made = self._made.get((caller.space, server))
        if made is None or made[0] is not shelf.version:
            live = list(shelf.of_server(server))
            schemas = {tool.ref.name: tool.definition.input_schema for tool in live}
            tools = ServerTools([_listed(tool) for tool in live], found.said, schemas)
            made = self._made[caller.space, server] = (shelf.version, tools)
        return made[1]


def _listed(tool: CallableTool) -> JsonObject:
    """As it was approved, but for its hints: those are what an operator said of it."""
    said = tool.definition.raw.get("annotations")
    kept = said if isinstance(said, Mapping) else {}
    schema = {"type": "object", **tool.definition.input_schema}
    annotations = {**kept, **hints(tool.effect)}
    return {**tool.definition.raw, "inputSchema": schema, "annotations": annotations}


@dataclass(frozen=True, slots=True)
class ToolDetails:
    tool: Tool
    status: ToolStatus
    returns: ObservedSchema | None = None
    """What has been learnt from its results, if its server does not say what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTools:
    servers: Servers
    tools: Tools

    async def __call__(
        self, caller: Principal, *, server: str | None = None
    ) -> Sequence[ToolDetails]:
        """By server, in its own order; those on the caller's lists. Raises `ServerNotFound`."""
        require_scope(caller, Scope.SERVERS_READ)
        if server is not None:
            one = await self.servers.get(caller, server)
            found = await self.tools.of(caller, one)
            return [_look(caller, one, it) for it in found if on_lists(caller, str(it.ref))]
        every = await self.tools.all(caller)
        return [
            _look(caller, its, tool)
            for its in await self.servers.all(caller)
            for tool in every.get(its.id, ())
            if on_lists(caller, str(tool.ref))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTool:
    servers: Servers
    tools: Tools
    shapes: Shapes

    async def __call__(self, caller: Principal, ref: ToolRef) -> ToolDetails:
        """Raises `ServerNotFound`, `ToolNotFound`."""
        require_scope(caller, Scope.SERVERS_READ)
        server = await self.servers.get(caller, ref.server)
        for tool in await self.tools.of(caller, server):
            if tool.ref == ref and on_lists(caller, str(ref)):
                look = _look(caller, server, tool)
                return replace(look, returns=await self._returns(caller, server, look))
        raise ToolNotFound(str(ref))

    async def _returns(
        self, caller: Principal, server: Server, look: ToolDetails
    ) -> ObservedSchema | None:
        tool, says = look.tool, look.tool.definition.output_schema
        if look.status is not ToolStatus.LIVE or not (says is None or vague(says)):
            return None
        place = ToolPlace(server.id, tool.ref.name)
        return (await self.shapes.known(caller, {place: tool.pin})).get(place)


def _look(caller: Principal, server: Server, tool: Tool) -> ToolDetails:
    """What nobody has approved is told to those who approve; to others only that it is there."""
    stands = standing(server, tool)
    if stands is ToolStatus.LIVE or caller.may(Scope.SERVERS_APPROVE):
        return ToolDetails(tool, stands)
    name = tool.definition.name
    unsaid = Definition(name, "", "", {}, None, {}, {"name": name})
    return ToolDetails(replace(tool, definition=unsaid, accepted=None, refused=None), stands)
