"""The use cases about servers with in-memory doors, and a server that answers from a script."""

from portico.gateway.confinement import SetProfile, ShowProfile
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.confinement import ShippedProfiles
from portico.gateway.core.effects import ShippedEffects
from portico.gateway.core.server_approval import Effects, Proposed, look_pin
from portico.gateway.core.servers import Launch, Server, Stdio
from portico.gateway.discovery import Indexed, IndexServer
from portico.gateway.ports import house
from portico.gateway.server_approval import AcceptTools, ApproveLaunch, ReviewServers
from portico.gateway.server_files import ReconcileServers
from portico.gateway.servers import (
    AddServer,
    ListServers,
    RemoveServer,
    RestartServer,
    ServerRegistration,
    ShowServer,
    SwitchServer,
)
from portico.guard.core.principals import Role
from portico.kernel.budget import Tokens
from portico.kernel.json import JsonObject
from portico.sandbox.core.profile import NetworkEndpoint
from portico.testing.engine import MemoryBus
from portico.testing.gateway import MemoryServers, MemoryTools, ScriptedUpstreams
from portico.testing.guard import MemoryAudit, a_person, a_space
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock, together
from portico.testing.sandbox import ScriptedServerConfinement

ROOT = a_person("root", roles=[Role.OPERATOR])
VIEWER = a_person("vera", roles=[Role.VIEWER])
SERVE = Stdio("serve")
PROFILES = ShippedProfiles({"npm:mail": (NetworkEndpoint("mail.example", 443),)})
MEMBER = a_person("max", roles=[Role.MEMBER])


class Letters:
    """Four letters are a token; remembers what it has counted."""

    name = "letters"

    def __init__(self) -> None:
        self.counted: list[str] = []

    def count(self, text: str) -> Tokens:
        self.counted.append(text)
        return Tokens(len(text) // 4)


class Room:
    def __init__(self, shipped: ShippedEffects | None = None) -> None:
        world = InMemoryStore()
        world.spaces[ROOT.space] = a_space()
        self.clock, self.bus = TickingClock(), MemoryBus()
        self.audit = audit = MemoryAudit(world, self.clock)
        self.tokenizer = Letters()
        self.upstreams = ScriptedUpstreams()
        self.walls = walls = ScriptedServerConfinement()
        self.servers, self.tools = MemoryServers(world), MemoryTools(world)
        self.house = house(ROOT.space)
        kinds = shipped or ShippedEffects()
        servers, tools, upstreams = self.servers, self.tools, self.upstreams
        bus, clock, entropy = self.bus, self.clock, SeededEntropy()
        self.index_server = IndexServer(
            servers=servers,
            tools=tools,
            upstreams=upstreams,
            audit=audit,
            tokenizer=self.tokenizer,
            bus=bus,
            clock=clock,
        )
        self.add_server = AddServer(
            servers=servers,
            names=servers,
            unit_of_work=together,
            audit=audit,
            bus=bus,
            clock=clock,
            entropy=entropy,
        )
        self.remove_server = RemoveServer(
            servers=servers, audit=audit, upstreams=upstreams, bus=bus
        )
        self.switch_server = SwitchServer(
            servers=servers, audit=audit, upstreams=upstreams, bus=bus
        )
        self.restart_server = RestartServer(
            servers=servers, upstreams=upstreams, index_server=self.index_server
        )
        self.list_servers = ListServers(
            servers=servers, tools=tools, upstreams=upstreams, confinement=walls
        )
        self.show_server = ShowServer(
            servers=servers, tools=tools, upstreams=upstreams, confinement=walls
        )
        self.show_profile = ShowProfile(servers=servers, confinement=walls, shipped=PROFILES)
        self.set_profile = SetProfile(
            servers=servers,
            audit=audit,
            upstreams=upstreams,
            confinement=walls,
            show=self.show_profile,
            bus=bus,
        )
        self.review = ReviewServers(servers=servers, tools=tools, confinement=walls, shipped=kinds)
        self.approve_launch = ApproveLaunch(
            servers=servers, confinement=walls, audit=audit, bus=bus, clock=clock
        )
        self.accept_tools = AcceptTools(
            servers=servers, tools=tools, audit=audit, shipped=kinds, bus=bus, clock=clock
        )
        self.reconcile = ReconcileServers(
            servers=servers,
            unit_of_work=together,
            audit=audit,
            upstreams=upstreams,
            bus=bus,
            clock=clock,
            entropy=entropy,
        )

    async def added(self, name: str = "files", launch: Launch = SERVE) -> Server:
        return await self.add_server(ROOT, ServerRegistration(name=name, launch=launch))

    async def startable(self, name: str = "files", launch: Launch = SERVE) -> Server:
        server = await self.added(name, launch)
        return await self.approve_launch(ROOT, name, server.launch_pin)

    async def indexed(self, name: str = "files") -> Indexed:
        return await self.index_server(self.house, name)

    async def accepted(self, name: str = "files", effects: Effects = Proposed.ALL) -> Server:
        """Whatever it offers now is let in."""
        await self.indexed(name)
        pin = look_pin(await self.servers.get(ROOT, name))
        return await self.accept_tools(ROOT, name, pin, effects)

    async def tool(self, ref: str) -> Tool:
        server = await self.servers.get(ROOT, ref.partition(".")[0])
        [found] = [it for it in await self.tools.of(ROOT, server) if str(it.ref) == ref]
        return found


def raw(name: str, description: str = "", **more: JsonObject | list[str]) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


READ, WRITE = raw("read_file", "Reads a file."), raw("write_file", "Writes a file.")
WIPE = raw("wipe", "Wipes the disk.")
