"""Saved workflows: save, list, nested use."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

from portico.engine.core.errors import StepFailed
from portico.engine.ports import Bus
from portico.gateway.catalog import CATALOGUE, Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.calls import ToolResult, about_server
from portico.gateway.core.catalog_snapshot import Definition, Tool, ToolRef, ToolStatus, slug
from portico.gateway.core.discovery import read_tools, tools_read
from portico.gateway.core.errors import ServerExists, ToolRefused
from portico.gateway.core.pins import launch_pin, set_pin
from portico.gateway.core.reserved_metadata import MOST_DEEP
from portico.gateway.core.server_approval import accepted_server
from portico.gateway.core.servers import (
    OURS,
    WORKFLOWS,
    Identity,
    Inside,
    ProtocolRevision,
    Server,
    ServerId,
)
from portico.gateway.ports import Servers, Tools
from portico.gateway.servers import ClearedServers
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.core.rules import on_lists
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.budget import Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Action
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import may_read
from portico.kernel.principal import Principal
from portico.workflows.core.plan import Expressions, Plan
from portico.workflows.core.plan_documents import inputs_for, read_plan
from portico.workflows.core.saved import (
    LONGEST_DESCRIPTION,
    Admission,
    InnerStepFailed,
    SavedWorkflow,
    WorkflowNestedTooDeep,
    WorkflowNotFound,
    WorkflowSecret,
    admitted,
    check_nesting,
    inner,
    tool_definition,
    tools_of,
    workflow_name,
)
from portico.workflows.execution import CarryOut
from portico.workflows.plan_checks import CheckPlan
from portico.workflows.run_context import (
    Acting,
    CallResult,
    LeftOut,
    Succeeded,
    WentWrong,
    kept_answer,
    needed,
    noted_of,
)
from portico.workflows.step_calls import CallSpec, OneCall, gave

# A saved workflow that is called by a run: carried out inside it, and not as a run of its own.
#
# A run that waited for another would hold a place that the other needs. So the call, which passes
# the gate as any other, gives the plan; its steps are steps of the run that called, with the name
# of the step that called before theirs.


def end_of(step: str) -> str:
    """The durable step that says how the workflow called by this one ended."""
    return f"{step}/~output"


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerWorkflows:
    """Wraps what makes one call."""

    one_call: OneCall
    expressions: Expressions

    async def __call__(self, acting: Acting, wish: CallSpec) -> CallResult:
        came = await self.one_call(acting, wish)
        if not isinstance(came, Succeeded) or not came.admitted:
            return came
        with acting.durable.busy():
            found = admitted(await needed(lambda: acting.document(came)))
        if found is None:
            return came
        try:
            inside = self._inside(acting, wish, found)
        except PorticoError as error:
            return await self._noted(acting, wish, _raising(error))
        return await self._carried_out(acting, wish, inside)

    def _inside(self, acting: Acting, wish: CallSpec, found: Admission) -> CarryOut:
        """Raises `InvalidPlan`, and what its inputs are refused by."""
        read = read_plan(found.plan, self.expressions)
        return CarryOut(
            acting=acting,
            plan=read,
            inputs=inputs_for(read, found.inputs),
            expressions=self.expressions,
            step_call=self,
            prefix=f"{wish.step}/",
        )

    async def _carried_out(self, acting: Acting, wish: CallSpec, inside: CarryOut) -> CallResult:
        if wish.step.count("/") < MOST_DEEP:
            await inside()
        if inside.progress.stopped_by is None and (by := acting.stopped()) is not None:
            return LeftOut(f"the plan was stopped by {by!r}, which failed", stopped=True)
        return await self._ended(acting, wish, inside)

    async def _ended(self, acting: Acting, wish: CallSpec, inside: CarryOut) -> CallResult:
        async def action(_key: str) -> JsonValue:
            if wish.step.count("/") >= MOST_DEEP:
                raise WorkflowNestedTooDeep(wish.step.split("/"), MOST_DEEP)
            if (by := inside.progress.stopped_by) is not None:
                words = await needed(lambda: acting.message(inside.failures[by]))
                raise InnerStepFailed(inside.call(by), words)
            answer, tool = _answer(await inside.output()), str(wish.tool)
            return noted_of(await needed(lambda: kept_answer(acting, tool, answer, None)))

        return await self._noted(acting, wish, action)

    async def _noted(self, acting: Acting, wish: CallSpec, action: Action) -> CallResult:
        try:
            return gave(await acting.durable.step(end_of(wish.step), action))
        except StepFailed as failed:
            return WentWrong(failed.failure)


def _raising(error: PorticoError) -> Action:
    async def action(_key: str) -> JsonValue:
        raise error

    return action


def _answer(output: JsonValue) -> ToolResult:
    """As the tool would have given it to somebody else."""
    if isinstance(output, str):
        return ToolResult([{"type": "text", "text": output}])
    return ToolResult([], output)


class SavedWorkflows(Protocol):
    """The plans that a space has saved."""

    async def all(self, caller: Principal) -> Sequence[SavedWorkflow]:
        """By name."""
        ...

    async def get(self, caller: Principal, name: str) -> SavedWorkflow:
        """Raises `WorkflowNotFound`."""
        ...

    async def put(self, caller: Principal, saved: SavedWorkflow) -> None:
        """In the place of what was saved under its name, whose `saved_at` stays."""
        ...

    async def remove(self, caller: Principal, name: str) -> None:
        """Raises `WorkflowNotFound`."""
        ...


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
    catalogues: Catalogs
    check_plan: CheckPlan
    tokenizer: Tokenizer
    unit_of_work: UnitOfWork
    audit: Audit
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(
        self, caller: Principal, name: str, document: JsonObject, *, description: str | None = None
    ) -> Saved:
        """To save it is to approve it as a tool: so only those may who also approve others. Raises
        `NotPermitted`, `InvalidWorkflowName`, `InvalidPlan`, `WorkflowCycle`,
        `WorkflowNestedTooDeep`, `WorkflowSecret`, `ToolRefused`."""
        require_scope(caller, Scope.WORKFLOWS_WRITE)
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
            protocol_revision=ProtocolRevision.MODERN,
        )
        async with self.unit_of_work(caller):
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
        require_scope(caller, Scope.WORKFLOWS_WRITE)
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
    return AuditEntry(action=action, subject=f"{server.name}.{name}", details=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedWorkflowDetails:
    saved: SavedWorkflow
    ref: ToolRef
    """The tool that it is."""
    status: ToolStatus
    definition: Definition
    plan: JsonObject | None
    """As it was written; None for whoever may not use all that it calls: what it is given stands
    in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSaved:
    saved: SavedWorkflows
    servers: Servers
    catalogues: Catalogs

    async def __call__(self, caller: Principal) -> Sequence[SavedWorkflowDetails]:
        """By name; those that the caller could find as tools, and those that wait to be one
        again. Raises `NotPermitted`."""
        require_scope(caller, Scope.TOOLS_READ)
        return await self.offered(caller)

    async def offered(self, caller: Principal) -> Sequence[SavedWorkflowDetails]:
        """The same, for whoever calls one."""
        ours = await server_of(self.servers, caller)
        if ours is None:
            return []
        shelf = await self.catalogues.offered(caller)
        every = await self.saved.all(caller)
        looks = [_look(caller, shelf, ToolRef(ours.name, each.name), each) for each in every]
        return [look for look in looks if look is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSaved:
    list_saved: ListSaved

    async def __call__(self, caller: Principal, name: str) -> SavedWorkflowDetails:
        """Raises `NotPermitted`, `WorkflowNotFound`."""
        require_scope(caller, Scope.TOOLS_READ)
        return await self.called(caller, name)

    async def called(self, caller: Principal, name: str) -> SavedWorkflowDetails:
        """The same, for whoever calls it. Raises `WorkflowNotFound`."""
        for look in await self.list_saved.offered(caller):
            if look.saved.name == name:
                return look
        raise WorkflowNotFound(name)


def _look(
    caller: Principal, shelf: CatalogSnapshot, ref: ToolRef, saved: SavedWorkflow
) -> SavedWorkflowDetails | None:
    """None of what the caller may not know of: the tool itself, which the shelf has not if it uses
    a server that was labelled higher since."""
    live, waits = shelf.tools.get(ref), shelf.waiting.get(ref)
    usable = all(on_lists(caller, tool) for tool in tools_of(saved.plan))
    plan = saved.plan if usable else None
    if live is not None:
        return SavedWorkflowDetails(
            saved=saved, ref=ref, status=ToolStatus.LIVE, definition=live.definition, plan=plan
        )
    if waits is None:
        return None
    definition = waits[1].definition
    return SavedWorkflowDetails(
        saved=saved, ref=ref, status=waits[0], definition=definition, plan=plan
    )
