"""Nobody has a tool do more than they may: many small worlds, and somebody who knows the truth.

A world is people with keys, servers that lie about themselves, rules and a plan, all by chance;
the use cases are the real ones. What reaches a server is judged by `effect_oracle`, which knows
what each tool really does. Each gate has to be needed: with any one of them taken out, calls that
should not have been made are found.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

import pytest

from portico.gateway.calls import CallTool
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.calls import Called
from portico.gateway.core.catalog_snapshot import Tool, ToolRef, ToolStatus
from portico.gateway.core.errors import ServerNotFound
from portico.gateway.core.servers import Server
from portico.guard.core.access_request import (
    AccessRequest,
    ActionTarget,
    Allowed,
    Decision,
    NeedsApproval,
    TaintContext,
)
from portico.guard.core.approvals import ApprovalGrant
from portico.guard.core.policy import decide
from portico.guard.core.rules import Rule, Ruling
from portico.guard.policy_gate import Gate
from portico.kernel.ids import ApprovalId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.workflows.run_context import Acting
from portico.workflows.step_calls import MakeCall
from tests.scenarios.effect_paths import (
    CALL_PATHS,
    Direct,
    House,
    McpVerbs,
    Path,
    Resource,
    WithTicket,
)
from tests.scenarios.effect_run_paths import RUN_PATHS, AsProgram, AsWorkflow
from tests.scenarios.effect_world import Wish, a_world

PATHS = (*CALL_PATHS, *RUN_PATHS)
FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
WORLDS = 100_000 if FULL_SIZE else 900
"""Of each path."""
TO_BE_CAUGHT = 6_000
"""Worlds within which a missing gate has to be noticed."""

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(3600 if FULL_SIZE else 600)]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that only waits is put away without looking again whether it does."""
    monkeypatch.setattr("portico.engine.execution._SETTLING", 0.0)


@dataclass
class Found:
    wrong: list[str] = field(default_factory=list)
    """Calls above what was allowed."""
    different: list[str] = field(default_factory=list)
    """What came out otherwise than the oracle says, where nothing changed meanwhile."""
    kinds: Counter[str] = field(default_factory=Counter)


async def walk(path: Path, seed: int, found: Found) -> None:
    dice = random.Random(f"{path.name} {seed}")
    house = House(a_world(dice), dice)
    for wish in house.world.plan:
        await step(path, house, wish, found, seed)
    found.wrong += [f"world {seed}: {each}" for each in house.wrong]


async def step(path: Path, house: House, wish: Wish, found: Found, seed: int) -> None:
    house.wish, house.tries = wish, 0
    house.meanwhile("before")
    sure = not house.changed and (house.wish.change is None)
    expected = path.expected(house, wish) if sure else None
    reached, asked = house.reached, len(house.asked)
    await path(house, wish)
    became = "run" if house.reached > reached else "ask" if len(house.asked) > asked else "deny"
    found.kinds[became] += 1
    thing = house.world.thing(wish.tool)
    if became == "run" and thing is not None:
        found.kinds[f"run {thing.does}"] += 1
    if house.wish.change is None and wish.change is not None:
        found.kinds[f"changed {wish.change[0]}, then {became}"] += 1
    if wish.forged != "no" and house.approved:
        found.kinds[f"forged, then {became}"] += 1
    if expected is not None:
        found.kinds["foreseen"] += 1
        if became != expected:
            found.different.append(f"world {seed}: {wish} was {became}, not {expected}")


async def tried(path: Path, worlds: int, *, until_wrong: bool = False) -> Found:
    found = Found()
    for seed in range(worlds):
        await walk(path, seed, found)
        if until_wrong and found.wrong:
            break
    return found


@pytest.mark.requirement("guard:effects:gate")
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
async def test_no_call_goes_beyond_what_was_allowed(path: Path) -> None:
    worlds = WORLDS * 5 // 9 if path in RUN_PATHS else WORLDS
    found = await tried(path, worlds)

    print(f"{path.name}: {worlds} worlds, {dict(sorted(found.kinds.items()))}")
    assert found.wrong == []
    assert found.different == []
    check_much_was_tried(path, found.kinds, worlds)


def check_much_was_tried(path: Path, kinds: Counter[str], worlds: int) -> None:
    """Not all of one kind; and tickets for what they were given, and for other things."""
    assert min(kinds["run"], kinds["deny"]) > worlds // 10
    assert kinds["ask"] > {"ticket": worlds // 100, "early": -1}.get(path.name, worlds // 20)
    assert kinds["foreseen"] > worlds // 2
    effects = ["pure", "local_read", "external_read", "local_write", "external_write"]
    assert min(kinds[f"run {effect}"] for effect in effects) > worlds // 50
    moments = ["before", "deciding", "taking_in", "beginning", "between_tries"]
    assert min(kinds[f"changed {moment}, then deny"] for moment in moments) > 0
    if isinstance(path, WithTicket):
        assert min(kinds["run irreversible"], kinds["forged, then ask"]) > worlds // 20


Patch = Callable[[pytest.MonkeyPatch], None]
WIDEST = Label(Level.RESTRICTED, frozenset({"hr"}))
BOTH = frozenset({"tools:call", "tools:write"})


@dataclass(frozen=True, kw_only=True)
class Misled:
    """The same decision, about something that looks more harmless than it is."""

    act: Callable[[AccessRequest], AccessRequest] = lambda act: act
    without: Ruling | None = None
    trusting: bool = False
    lenient: str | None = None
    """A reason to ask that does not count."""

    def __call__(
        self, act: AccessRequest, context: TaintContext, rules: Iterable[Rule], now: datetime
    ) -> Decision:
        told = replace(context, untrusted=False) if self.trusting else context
        kept = [rule for rule in rules if rule.ruling is not self.without]
        found = decide(self.act(act), told, kept, now)
        if isinstance(found, NeedsApproval) and found.rule == self.lenient:
            return Allowed("nobody", "cares")
        return found

    def put(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr("portico.guard.policy.decide", self)


def no_standing(patch: pytest.MonkeyPatch) -> None:
    def standing(_server: Server, tool: Tool) -> ToolStatus:
        return ToolStatus.GONE if tool.gone else ToolStatus.LIVE

    patch.setattr("portico.gateway.catalog_snapshot.standing", standing)


def no_second_look(patch: pytest.MonkeyPatch) -> None:
    async def server(self: CallTool, act: AccessRequest, ref: ToolRef) -> Server:
        servers = (await self.catalogues.current(replace(act.caller, clearance=WIDEST))).servers
        return servers[ref.server]

    patch.setattr(CallTool, "_server", server)


def no_scopes(patch: pytest.MonkeyPatch) -> None:
    for module in ("calls", "resources_and_prompts"):
        patch.setattr(f"portico.gateway.{module}.permit", lambda _caller, _scope: None)
    Misled(act=lambda act: replace(act, caller=replace(act.caller, scopes=BOTH))).put(patch)


def no_clearance(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CatalogSnapshot, "below", lambda self, _clearance: self)
    Misled(act=lambda act: replace(act, caller=replace(act.caller, clearance=WIDEST))).put(patch)


def no_servers_approved(patch: pytest.MonkeyPatch) -> None:
    def server(self: CatalogSnapshot, name: str) -> Server:
        if name not in self.servers:
            raise ServerNotFound(name)
        return self.servers[name]

    patch.setattr(CatalogSnapshot, "server", server)
    Misled(act=lambda act: replace(act, target=replace(act.target, live=True))).put(patch)


def no_hashes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ApprovalGrant, "good_for", lambda _self, _act: True)


def no_memory(patch: pytest.MonkeyPatch) -> None:
    async def take_in(_self: Gate, _caller: Principal, _aim: ActionTarget) -> None: ...

    patch.setattr(Gate, "taint_context", take_in)


def no_lists_in_runs(patch: pytest.MonkeyPatch) -> None:
    """As if a run were carried out by whoever started it, and not as they came in."""

    async def asker(self: Acting) -> Principal:
        return replace(await self.as_now(), tools=())

    patch.setattr(Acting, "requester", asker)


def no_waiting_in_runs(patch: pytest.MonkeyPatch) -> None:
    """As if what a run asks for were approved by its asking."""
    made = MakeCall._made  # what is to be taken out

    async def anyway(self: MakeCall, attempt: Any) -> Any:
        found = await made(self, attempt)
        if isinstance(found, Called):
            return found
        wish = attempt.wish
        tool = cast("CallTool", self.call_tool)
        asker = await attempt.acting.requester()
        patch.setattr(ApprovalGrant, "good_for", lambda _self, _act: True)
        approval = ApprovalId.parse(found.pending.approval)
        ticket = ApprovalGrant(approval=approval, hash="", by="nobody")
        return await tool(asker, wish.tool, await wish.arguments(), whole=True, ticket=ticket)

    patch.setattr(MakeCall, "_made", anyway)


RED: Mapping[str, tuple[Path, Patch]] = {
    "standing": (Direct(), no_standing),
    "pin": (Direct(), no_second_look),
    "scope": (Direct(), no_scopes),
    "clearance of the caller": (Direct(), no_clearance),
    "allow-list": (
        Direct(),
        Misled(act=lambda act: replace(act, caller=replace(act.caller, tools=()))).put,
    ),
    "deny rule": (Direct(), Misled(without=Ruling.DENY).put),
    "ask rule": (Direct(), Misled(without=Ruling.ASK).put),
    "flow": (Direct(), Misled(lenient="default:flow").put),
    "flow, far away": (
        Direct(),
        Misled(act=lambda act: replace(act, target=replace(act.target, outside=False))).put,
    ),
    "taint": (Direct(), Misled(trusting=True).put),
    "default ask": (Direct(), Misled(lenient="default:destroys").put),
    "context raise": (Direct(), no_memory),
    "context raise, verbs": (McpVerbs(), no_memory),
    "servers approved": (Resource(), no_servers_approved),
    "scope, resources": (Resource(), no_scopes),
    "deny rule, resources": (Resource(), Misled(without=Ruling.DENY).put),
    "flow, resources": (Resource(), Misled(lenient="default:flow").put),
    "context raise, resources": (Resource(), no_memory),
    "ticket's hash": (WithTicket(), no_hashes),
    "default ask, tickets": (WithTicket(), Misled(lenient="default:destroys").put),
    "standing, workflows": (AsWorkflow(), no_standing),
    "scope, workflows": (AsWorkflow(), no_scopes),
    "allow-list, workflows": (AsWorkflow(), no_lists_in_runs),
    "approval, workflows": (AsWorkflow(), no_waiting_in_runs),
    "flow, workflows": (AsWorkflow(), Misled(lenient="default:flow").put),
    "context raise, workflows": (AsWorkflow(), no_memory),
    "pin, programs": (AsProgram(), no_second_look),
    "deny rule, programs": (AsProgram(), Misled(without=Ruling.DENY).put),
    "allow-list, programs": (AsProgram(), no_lists_in_runs),
    "approval, programs": (AsProgram(), no_waiting_in_runs),
    "taint, programs": (AsProgram(), Misled(trusting=True).put),
    "context raise, programs": (AsProgram(), no_memory),
}


@pytest.mark.parametrize("gate", RED)
@pytest.mark.planted
async def test_each_gate_is_needed(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, take_out = RED[gate]
    take_out(monkeypatch)

    found = await tried(path, TO_BE_CAUGHT, until_wrong=True)

    assert found.wrong
