"""Save a plan under a name: from then on it is a tool, for whoever may use its steps."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from portico.engine.ports import Bus
from portico.gateway.catalogue import CATALOGUE, Catalogues
from portico.gateway.cleared_servers import ClearedServers
from portico.gateway.core.acceptance import accepted_server
from portico.gateway.core.audit_facts import about_server
from portico.gateway.core.errors import ServerExists, ToolRefused
from portico.gateway.core.listing import tools_read
from portico.gateway.core.names import slug
from portico.gateway.core.pin import launch_pin, set_pin
from portico.gateway.core.plan.plan import Plan
from portico.gateway.core.reading import read_tools
from portico.gateway.core.saved_workflow import (
    LONGEST_DESCRIPTION,
    SavedWorkflow,
    check_nesting,
    inner,
    tool_definition,
    workflow_name,
)
from portico.gateway.core.saved_workflow_errors import WorkflowSecret
from portico.gateway.core.server import OURS, WORKFLOWS, Era, Identity, Inside, Server, ServerId
from portico.gateway.core.tool import Tool, ToolRef
from portico.gateway.ports import Servers, Tools
from portico.gateway.workflows.check_plan import CheckPlan
from portico.gateway.workflows.saved_ports import SavedWorkflows
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.json import JsonObject
from portico.kernel.label import may_read
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

LAUNCH: Final = Inside(WORKFLOWS, "1")
IDENTITY: Final = Identity("Portico", LAUNCH.version)


async def server_of(servers: Servers, caller: Principal) -> Server | None:
    """The one whose tools they are, by where it comes from: somebody else's may have had its name
    before."""
    here = (OURS, WORKFLOWS)
    found = await servers.all(caller)
    return next((its for its in found if (its.origin, its.entry) == here), None)


@dataclass(frozen=True, slots=True)
class Saved:
    workflow: SavedWorkflow
    tool: Tool
    """That it is from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveWorkflow:
    saved: SavedWorkflows
    servers: Servers
    tools: Tools
    catalogues: Catalogues
    check_plan: CheckPlan
    tokenizer: Tokenizer
    together: Together
    audit: Audit
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(
        self, caller: Principal, name: str, document: JsonObject, *, description: str | None = None
    ) -> Saved:
        """To save it is to approve it as a tool: so only those may who also approve others. Raises
        `NotPermitted`, `BadWorkflowName`, `BadPlan`, `WorkflowCycle`, `WorkflowNestedTooDeep`,
        `WorkflowSecret`, `ToolRefused`."""
        permit(caller, Scope.WORKFLOWS_WRITE)
        workflow_name(name)
        checked = await self.check_plan(_looking(caller), document)
        told = (description or checked.plan.description or _described(checked.plan)).strip()
        now = self.clock.now()
        new = SavedWorkflow(
            name=name,
            plan=document,
            description=told[:LONGEST_DESCRIPTION],
            effect=checked.effect,
            saved_by=caller.id,
            saved_by_name=caller.name,
            saved_at=now,
            changed_at=now,
        )
        ours = await self._ours(caller)
        async with ClearedServers(self.servers).changing(caller, ours.name) as server:
            await self._check(caller, server, new, checked.plan)
            tool = self._tool(server, new, checked.plan)
            await self.saved.put(caller, new)
            await self._let_in(caller, server, tool)
            await self.audit.note(caller, _entry("workflow.saved", new.name, server, new))
        self.bus.wake(caller.space, CATALOGUE)
        return Saved(await self.saved.get(caller, name), tool)

    async def _check(
        self, caller: Principal, server: Server, new: SavedWorkflow, plan: Plan
    ) -> None:
        shelf = await self.catalogues.current(caller)
        for step in plan.steps:
            its = shelf.servers[step.tool.server]
            if not may_read(server.label, its.label):
                raise WorkflowSecret(its.name, its.label, server.name, server.label)
        others = [each for each in await self.saved.all(caller) if each.name != new.name]
        calls = {each.name: inner(each.plan, server.name) for each in [*others, new]}
        check_nesting(new.name, calls)

    def _tool(self, server: Server, new: SavedWorkflow, plan: Plan) -> Tool:
        """Raises `ToolRefused`."""
        read = read_tools([tool_definition(new, plan)])
        if read.unreadable:
            raise ToolRefused(str(ToolRef(server.name, new.name)), read.unreadable[0].reason)
        [tool] = tools_read(server.name, read, (), self.tokenizer.count)
        return replace(tool, effect=new.effect, accepted=tool.definition, accepted_pin=tool.pin)

    async def _let_in(self, caller: Principal, server: Server, tool: Tool) -> None:
        known = {each.ref: each for each in await self.tools.of(caller, server)}
        tools = sorted({**known, tool.ref: tool}.values(), key=lambda each: each.ref)
        await self.tools.put(caller, server.id, tools)
        await self.servers.put(caller, _with(server, tools, caller, self.clock))

    async def _ours(self, caller: Principal) -> Server:
        """Made with the first that is saved, and approved by that: there is nothing to start."""
        found = await server_of(self.servers, caller)
        if found is None:
            with suppress(ServerExists):  # somebody else was faster
                await self._add(caller)
            found = await server_of(self.servers, caller)
        assert found is not None  # noqa: S101 # it is never taken away
        return found

    async def _add(self, caller: Principal) -> None:
        others = {server.name for server in await self.servers.all(caller)}
        now, pin = self.clock.now(), launch_pin(LAUNCH)
        server = Server(
            id=ServerId.mint(now, self.entropy),
            name=slug(WORKFLOWS, others),
            origin=OURS,
            entry=WORKFLOWS,
            launch=LAUNCH,
            launch_pin=pin,
            created_at=now,
            approved_launch_pin=pin,
            approved_launch=LAUNCH,
            approved_by=caller.name,
            approved_at=now,
            identity=IDENTITY,
            era=Era.MODERN,
        )
        async with self.together(caller):
            await self.servers.add(caller, server)
            await self.audit.note(caller, about_server("server.added", server))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSaved:
    saved: SavedWorkflows
    servers: Servers
    tools: Tools
    audit: Audit
    bus: Bus
    clock: Clock

    async def __call__(self, caller: Principal, name: str) -> None:
        """What runs of it goes on. Raises `NotPermitted`, `WorkflowNotFound`."""
        permit(caller, Scope.WORKFLOWS_WRITE)
        await self.saved.get(caller, name)
        ours = await server_of(self.servers, caller)
        assert ours is not None  # noqa: S101 # something is saved
        async with ClearedServers(self.servers).changing(caller, ours.name) as server:
            await self.saved.remove(caller, name)
            left = [its for its in await self.tools.of(caller, server) if its.ref.name != name]
            await self.tools.put(caller, server.id, left)
            await self.servers.put(caller, _with(server, left, caller, self.clock))
            await self.audit.note(caller, _entry("workflow.removed", name, server))
        self.bus.wake(caller.space, CATALOGUE)


def _looking(caller: Principal) -> Principal:
    """Whoever may save one may know what is wrong with it."""
    return replace(caller, scopes=caller.scopes | {Scope.TOOLS_READ})


def _with(server: Server, tools: Sequence[Tool], caller: Principal, clock: Clock) -> Server:
    now = clock.now()
    listed = replace(server, set_pin=set_pin(tools), listed_at=now)
    return replace(accepted_server(listed), approved_by=caller.name, approved_at=now)


def _described(plan: Plan) -> str:
    tools = ", ".join(dict.fromkeys(str(step.tool) for step in plan.steps))
    return f"Calls {tools}."


def _entry(
    action: str, name: str, server: Server, saved: SavedWorkflow | None = None
) -> AuditEntry:
    facts: Mapping[str, str] = {} if saved is None else {"effect": str(saved.effect)}
    return AuditEntry(action=action, subject=f"{server.name}.{name}", facts=facts)
