"""The whole gateway with in-memory doors: two approved servers, and one that waits."""

from dataclasses import replace
from datetime import timedelta

from portico.app.gateway_wiring import GatewayDependencies, Limits, assemble_gateway
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.pins import set_pin
from portico.gateway.core.servers import TEAM, Server, ServerId
from portico.gateway.ports import Embedder
from portico.guard.core.principals import Role
from portico.guard.ports import Rules
from portico.kernel.effect import Effect
from portico.kernel.ids import SpaceId
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.engine import MemoryBus
from portico.testing.gateway import ScriptedUpstreams, a_server, a_tool, an_approved_server, seen
from portico.testing.gateway_fakes import NobodyAnswers, memory_gateway
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.memory_store import InMemoryStore, SeededEntropy, TickingClock

ANA = a_person("ana", roles=[Role.OPERATOR])
VIEWER = a_person("vera", roles=[Role.VIEWER])
SECRETARY = replace(
    a_person("sue", roles=[Role.OPERATOR]), clearance=Label(Level.RESTRICTED, frozenset({"hr"}))
)
"""Who may know everything; the others are cleared for their team's."""

READ = a_tool("files.read", "Reads the whole text of a file.", effect=Effect.LOCAL_READ)
WRITE = a_tool("files.write", "Writes text into a file.", effect=Effect.LOCAL_WRITE)
DELETE = a_tool("files.delete", "Deletes a file for good.", effect=Effect.IRREVERSIBLE)
WEATHER = a_tool(
    "sky.forecast", "Weather forecast for a city: rain and wind.", effect=Effect.EXTERNAL_READ
)
HIDDEN = a_tool("tracker.create_ticket", "Creates a ticket in the CANARY issue tracker.")

LIMITS = Limits(call_timeout=timedelta(seconds=30), page_size=200)


class OpenRoom:
    def __init__(
        self,
        limits: Limits = LIMITS,
        rules: Rules | None = None,
        encoder: Embedder | None = None,
    ) -> None:
        self.world = InMemoryStore()
        self.world.spaces[ANA.space] = a_space()
        for each in map(an_identity, ("ana", "vera", "sue")):
            self.world.identities.insert((each.space, each.id), each)
        self.clock, self.bus = TickingClock(), MemoryBus()
        self.asking = NobodyAnswers()
        self.upstreams = ScriptedUpstreams(offers={"files": seen(), "sky": seen()})
        self.doors: GatewayDependencies = memory_gateway(
            self.world,
            self.upstreams,
            bus=self.bus,
            clock=self.clock,
            entropy=SeededEntropy(),
            encoder=encoder,
            limits=limits,
            rules=rules,
            ask_first=self.asking,
        )
        self.gateway = assemble_gateway(self.doors)
        self.use = self.gateway.over_http
        for server, tools in (
            (an_approved_server("files"), [READ, WRITE, DELETE]),
            (an_approved_server("sky"), [WEATHER]),
            (a_server("tracker"), [HIDDEN]),
        ):
            self.world.servers[ANA.space, server.id] = server
            self.world.tools[ANA.space, server.id] = tools

    def label(
        self, name: str, label: Label = PUBLIC, *, clearance: Label = TEAM, trusted: bool = False
    ) -> None:
        place, server = self._server(name)
        self.world.servers[place] = replace(
            server, label=label, clearance=clearance, trusted=trusted
        )

    def _server(self, name: str) -> tuple[tuple[SpaceId, ServerId], Server]:
        [found] = [
            (place, server) for place, server in self.world.servers.items() if server.name == name
        ]
        return found

    def replace(self, *tools: Tool) -> None:
        """As if its server had said something else since."""
        place, server = self._server(tools[0].ref.server)
        self.world.servers[place] = replace(server, set_pin=set_pin(tools))
        self.world.tools[place] = [*tools]


def ref(name: str) -> ToolRef:
    return ToolRef.parse(name)
