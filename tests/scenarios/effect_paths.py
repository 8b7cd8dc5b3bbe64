"""The ways to make a call happen, each tried against the same worlds.

A path is given a house and a wish, and tries to have it its way. Whatever reaches a server is
written down there, with what was so at that moment; whether it was right is the oracle's question.
"""

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Final, Protocol, cast

from portico.adapters.cross_domain.agent_toolbox import AsksNobody, WouldAsk
from portico.adapters.json_schema import JsonSchemaCheck
from portico.gateway.calls import CallTool, RecordCall
from portico.gateway.catalog import Catalogs, ListServerTools
from portico.gateway.core.calls import Call, CallClaim, Called, ToolResult, UpstreamTarget, verb_for
from portico.gateway.core.catalog_snapshot import Tool, ToolRef
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import Server, ServerId
from portico.gateway.ports import CallHistory, ClientChannel, Results, Servers, Tools, Upstreams
from portico.gateway.resources_and_prompts import BesideTools, ReadResource
from portico.gateway.results import StoreResult
from portico.gateway.search_index import BuildIndex
from portico.gateway.tool_usage import ToolUsageRecorder
from portico.guard.authentication import Entry
from portico.guard.core.access_request import AccessRequest, NeedsApproval
from portico.guard.core.approvals import ApprovalGrant, Waiter
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import ApprovalPending
from portico.guard.core.rules import Rule
from portico.guard.ports import Rules
from portico.interfaces.mcp.request_context import GatewayUses, McpRequestContext
from portico.interfaces.mcp.tools import Calls
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.engine import MemoryBus
from portico.testing.gateway import MemoryToolUsageStore
from portico.testing.guard import MemoryContexts, a_gate
from portico.testing.learning import some_lessons
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from tests.scenarios.effect_oracle import Oracle, Somebody, Thing, Verdict
from tests.scenarios.effect_world import Moment, Wish, World

_SCHEMAS: Final = JsonSchemaCheck()
_TIMEOUT: Final = timedelta(seconds=5)
_LATER: Final = timedelta(hours=1)
_FINE: Final = ToolResult([{"type": "text", "text": "done"}])
NO_WISH: Final = Wish(0, ToolRef("none", "none"), {})
Approved = tuple[str, str, str, str]
"""Who, which tool, which definition of it, with what: what a person has said yes to."""


@dataclass
class House:
    """One world with the real use cases in it; everything behind the doors is written down."""

    world: World
    dice: random.Random
    oracle: Oracle = field(default_factory=Oracle)
    wrong: list[str] = field(default_factory=list)
    """Calls that reached a server and should not have."""
    reached: int = 0
    asked: list[AccessRequest] = field(default_factory=list)
    approved: set[Approved] = field(default_factory=set)
    wish: Wish = NO_WISH
    changed: bool = False
    """Something has changed while a call was under way: from then on it may well be stricter."""
    tries: int = 0

    def __post_init__(self) -> None:
        self.oracle.rules = self.world.said
        gate = a_gate(
            rules=cast("Rules", _Rules(self)), contexts=_Contexts(self), journal=_Journal()
        )
        upstreams = cast("Upstreams", _Upstreams(self))
        catalogues = Catalogs(
            servers=cast("Servers", WorldServers(self.world)),
            tools=cast("Tools", WorldTools(self.world)),
            build_index=cast("BuildIndex", None),
            upstreams=upstreams,
            bus=MemoryBus(),
        )
        self.catalogues = catalogues
        clock, entropy = TickingClock(), SeededEntropy()
        self.history = cast("CallHistory", _History(self))
        record = RecordCall(
            history=self.history,
            clock=clock,
            entropy=entropy,
            clean=lambda value: value,
        )
        self.call_tool = CallTool(
            catalogues=catalogues,
            schemas=_SCHEMAS,
            gate=gate,
            ask_first=_Asking(self),
            upstreams=upstreams,
            record=record,
            tool_usage=ToolUsageRecorder(
                tool_usage=MemoryToolUsageStore(InMemoryStore()), clock=clock
            ),
            keep_result=StoreResult(
                results=cast("Results", None), clock=clock, entropy=entropy, page_size=100
            ),
            timeout=_TIMEOUT,
            observers=(some_lessons(clock),),
        )
        self.over_mcp = {
            "call_tool": self.call_tool,
            "list_server_tools": ListServerTools(catalogues=catalogues),
        }
        beside = BesideTools(catalogues=catalogues, gate=gate, record=record, timeout=_TIMEOUT)
        self.read_resource = ReadResource(beside=beside, upstreams=upstreams)

    def caller(self, wish: Wish) -> Principal:
        return self.world.people[wish.who]

    def meanwhile(self, moment: Moment) -> None:
        wish = self.wish
        if wish.change is not None and wish.change[0] == moment:
            self.wish = replace(wish, change=None)
            self.changed = self.changed or moment != "before"
            self.world.change(wish.change[1], wish.tool, self.dice)

    def judge(self, thing: Thing | None, ref: ToolRef, arguments: JsonObject) -> None:
        """What has arrived was right only if it might be done by whoever asked, as things are."""
        self.reached += 1
        who = self._somebody()
        if thing is None:
            self.wrong.append(f"{who.name} called {ref}, which is not there")
            return
        verdict = self.oracle.verdict(who, thing)
        yes = self._definition(who, ref, arguments) in self.approved
        if verdict == "deny" or (verdict == "ask" and not yes):
            self.wrong.append(f"{who} called {thing}: {verdict}, {self.oracle.memory(who)}")
        self.oracle.memory(who).take_in(thing.place)

    def _somebody(self) -> Somebody:
        return self.world.somebody(self.caller(self.wish))

    def _definition(self, who: Somebody, ref: ToolRef, arguments: JsonObject) -> Approved:
        pins = [its.pin for its in self.world.tools.get(ref.server, ()) if its.ref == ref]
        return who.id, str(ref), "".join(pins), repr(sorted(arguments.items()))

    def say_yes(self, act: AccessRequest) -> ApprovalGrant:
        """A person has looked at exactly this, and agrees."""
        ref = ToolRef.parse(act.target.tool)
        who = self.world.somebody(act.caller)
        self.approved.add(self._definition(who, ref, act.arguments))
        approval = ApprovalId.mint(BEGINNING, SeededEntropy(act.hash))
        return ApprovalGrant(approval=approval, hash=act.hash, by="olga")


def a_resource(world: World, server: str) -> Thing:
    return Thing(f"{server}.~resource", world.place(server), "external_read", approved=True)


class _Rules:
    def __init__(self, house: House) -> None:
        self._house = house

    async def all(self, caller: Principal) -> list[Rule]:
        self._house.meanwhile("deciding")
        return self._house.world.rules


class _Contexts(MemoryContexts):
    def __init__(self, house: House) -> None:
        super().__init__()
        self._house = house

    async def raise_taint(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        self._house.meanwhile("taking_in")
        await super().raise_taint(caller, label, untrusted=untrusted)


class _History:
    def __init__(self, house: House) -> None:
        self._house = house

    async def record_start(self, caller: Principal, call: Call) -> None:
        self._house.meanwhile("beginning")

    async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
        self._house.meanwhile("beginning")

    async def record(self, caller: Principal, call: Call) -> None:
        """Nobody reads it here."""


class _Journal:
    """What is decided is not what is looked at here, but what is done."""

    async def note(self, caller: Principal, *entries: AuditEntry) -> None: ...

    async def note_ahead(self, caller: Principal, entry: AuditEntry) -> None: ...

    def note_behind(self, caller: Principal, entry: AuditEntry) -> None: ...


class _Upstreams:
    """Servers that do what they really do, and remember that somebody came."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def stop(self, space: object, server: str) -> None:
        """A process that must not go on; here there are none."""

    async def call(
        self,
        target: UpstreamTarget,
        tool: str,
        arguments: JsonObject,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> ToolResult:
        house = self._house
        house.tries += 1
        if house.wish.breaks and house.tries == 1:
            house.meanwhile("between_tries")
            raise UpstreamDown(target.server, "it ended")
        ref = ToolRef(target.server, tool)
        house.judge(house.world.thing(ref), ref, arguments)
        return _FINE

    async def read_resource(
        self,
        target: UpstreamTarget,
        uri: str,
        *,
        timeout: timedelta,
        line: ClientChannel | None = None,
    ) -> JsonObject:
        thing = a_resource(self._house.world, target.server)
        self._house.judge(thing, ToolRef(target.server, "~resource"), {"uri": uri})
        return {"contents": []}


class _Asking:
    def __init__(self, house: House) -> None:
        self._house = house

    async def __call__(
        self,
        act: AccessRequest,
        decision: NeedsApproval,
        *,
        line: ClientChannel | None,
        whole: bool,
        waiter: Waiter | None = None,
    ) -> Called:
        self._house.asked.append(act)
        approval = ApprovalId.mint(BEGINNING, SeededEntropy(act.hash))
        raise ApprovalPending(act.target.tool, str(approval), BEGINNING + _LATER)

    async def in_place(
        self,
        act: AccessRequest,
        *,
        line: ClientChannel | None,
        whole: bool,
        waiter: Waiter | None = None,
    ) -> Called | None:
        return None


class WorldServers:
    def __init__(self, world: World) -> None:
        self._world = world

    async def all(self, caller: Principal) -> list[Server]:
        return [*self._world.servers.values()]


class WorldTools:
    def __init__(self, world: World) -> None:
        self._world = world

    async def of(self, caller: Principal, server: Server) -> list[Tool]:
        return self._world.tools[server.name]

    async def all(self, caller: Principal) -> Mapping[ServerId, list[Tool]]:
        return {its.id: self._world.tools[its.name] for its in self._world.servers.values()}


class Path(Protocol):
    """One way to a server."""

    @property
    def name(self) -> str: ...

    async def __call__(self, house: House, wish: Wish) -> None:
        """Tries to have it its way; what is refused is refused."""
        ...

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        """What has to come of it if nothing changes meanwhile; None if that is not to be said."""
        ...


@dataclass(frozen=True)
class Direct:
    """The use case itself, as REST and the command line call it."""

    name: str = "direct"

    async def __call__(self, house: House, wish: Wish) -> None:
        with suppress(PorticoError):
            await house.call_tool(house.caller(wish), wish.tool, wish.arguments)

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        thing = house.world.thing(wish.tool)
        if thing is None:
            return "deny"
        who, believed = house.world.somebody(house.caller(wish)), house.world.believed(wish.tool)
        return house.oracle.verdict(who, thing, believed)


@dataclass(frozen=True)
class Early:
    """As an agent's read is begun while its model still speaks: nobody can be asked."""

    name: str = "early"

    async def __call__(self, house: House, wish: Wish) -> None:
        at_once = replace(house.call_tool, ask_first=AsksNobody())
        with suppress(PorticoError, WouldAsk):
            await at_once(house.caller(wish), wish.tool, wish.arguments)

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        """What would have to be asked is left undone, and nobody is asked."""
        found = Direct().expected(house, wish)
        return "deny" if found == "ask" else found


@dataclass(frozen=True)
class McpVerbs:
    """`call_read` and its like, of which a model may choose the wrong one; and the door of one
    server, which has no verbs."""

    name: str = "mcp-verbs"

    async def __call__(self, house: House, wish: Wish) -> None:
        caller, ref = house.caller(wish), wish.tool
        use = cast("GatewayUses", SimpleNamespace(**house.over_mcp))
        door = ref.server if self._door(wish) else None
        knock = McpRequestContext(Entry(caller, caller.key or ""), door, _again)
        given: JsonObject = {"tool": str(ref), "arguments": wish.arguments}
        name, sent = (ref.name, wish.arguments) if door else (self._verb(house, wish), given)
        with suppress(PorticoError):
            await Calls(use)(knock, name, sent, cast("ClientChannel", None), modern=True)

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        found = Direct().expected(house, wish)
        thing = house.world.thing(wish.tool)
        if thing is None or self._door(wish) or found == "deny":
            return found
        right = verb_for(Effect(house.world.believed(wish.tool)))
        return found if self._verb(house, wish) == right else "deny"

    @staticmethod
    def _door(wish: Wish) -> bool:
        return wish.forged == "person"

    @staticmethod
    def _verb(house: House, wish: Wish) -> str:
        if wish.forged != "no" or house.world.thing(wish.tool) is None:
            return "call_read"
        return verb_for(Effect(house.world.believed(wish.tool)))


@dataclass(frozen=True)
class Resource:
    """What a server has beside its tools: a read from outside, whatever it is."""

    name: str = "resource"

    async def __call__(self, house: House, wish: Wish) -> None:
        caller, server = house.caller(wish), wish.tool.server
        if wish.forged == "no":  # so that tasks here have read something too
            await Direct()(house, wish)
            return
        with suppress(PorticoError):
            await house.read_resource(caller, f"portico://{server}/notes")

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        if wish.forged == "no":
            return Direct().expected(house, wish)
        who = house.world.somebody(house.caller(wish))
        found = house.oracle.verdict(who, a_resource(house.world, wish.tool.server))
        return "deny" if found == "ask" else found


@dataclass(frozen=True)
class WithTicket:
    """Somebody has said yes to one call, and it is used for that, or for another."""

    name: str = "ticket"

    async def __call__(self, house: House, wish: Wish) -> None:
        before = len(house.asked)
        await Direct()(house, wish)
        if len(house.asked) == before:
            return
        ticket = house.say_yes(house.asked[-1])
        meant = house.wish = self._turned(house, replace(wish, change=None, breaks=False))
        with suppress(PorticoError):
            await house.call_tool(house.caller(meant), meant.tool, meant.arguments, ticket=ticket)

    def expected(self, house: House, wish: Wish) -> Verdict | None:
        found = Direct().expected(house, wish)
        if found != "ask":
            return found
        return "run" if wish.forged == "no" else None

    @staticmethod
    def _turned(house: House, wish: Wish) -> Wish:
        match wish.forged:
            case "arguments":
                return replace(wish, arguments={"path": "something else"})
            case "person":
                return replace(wish, who=house.dice.randrange(len(house.world.people)))
            case "tool":
                every = [its.ref for tools in house.world.tools.values() for its in tools]
                return replace(wish, tool=house.dice.choice(every))
            case "definition":
                house.world.change("definition", wish.tool, house.dice)
            case "no":
                pass
        return wish


async def _again() -> Entry:
    raise NotImplementedError


CALL_PATHS: Final[tuple[Path, ...]] = (
    Direct(),
    Early(),
    McpVerbs(),
    Resource(),
    WithTicket(),
)
"""Whoever builds another way to a tool adds it here; those of runs are in `effect_run_paths`."""
