"""The workflows that a space has saved, as far as whoever looks may know of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.saved_workflow import SavedWorkflow, tools_of
from portico.gateway.core.saved_workflow_errors import WorkflowNotFound
from portico.gateway.core.tool import Definition, Standing, ToolRef
from portico.gateway.ports import Servers
from portico.gateway.shelf import Shelf
from portico.gateway.workflows.save_workflow import server_of
from portico.gateway.workflows.saved_ports import SavedWorkflows
from portico.guard.core.principals import Scope
from portico.guard.core.rules import on_lists
from portico.guard.principals import permit
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLook:
    saved: SavedWorkflow
    ref: ToolRef
    """The tool that it is."""
    standing: Standing
    definition: Definition
    plan: JsonObject | None
    """As it was written; None for whoever may not use all that it calls: what it is given stands
    in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSaved:
    saved: SavedWorkflows
    servers: Servers
    catalogues: Catalogues

    async def __call__(self, caller: Principal) -> Sequence[SavedLook]:
        """By name; those that the caller could find as tools, and those that wait to be one
        again. Raises `NotPermitted`."""
        permit(caller, Scope.TOOLS_READ)
        return await self.offered(caller)

    async def offered(self, caller: Principal) -> Sequence[SavedLook]:
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

    async def __call__(self, caller: Principal, name: str) -> SavedLook:
        """Raises `NotPermitted`, `WorkflowNotFound`."""
        permit(caller, Scope.TOOLS_READ)
        return await self.called(caller, name)

    async def called(self, caller: Principal, name: str) -> SavedLook:
        """The same, for whoever calls it. Raises `WorkflowNotFound`."""
        for look in await self.list_saved.offered(caller):
            if look.saved.name == name:
                return look
        raise WorkflowNotFound(name)


def _look(caller: Principal, shelf: Shelf, ref: ToolRef, saved: SavedWorkflow) -> SavedLook | None:
    """None of what the caller may not know of: the tool itself, which the shelf has not if it uses
    a server that was labelled higher since."""
    live, waits = shelf.tools.get(ref), shelf.waiting.get(ref)
    usable = all(on_lists(caller, tool) for tool in tools_of(saved.plan))
    plan = saved.plan if usable else None
    if live is not None:
        return SavedLook(
            saved=saved, ref=ref, standing=Standing.LIVE, definition=live.definition, plan=plan
        )
    if waits is None:
        return None
    definition = waits[1].definition
    return SavedLook(saved=saved, ref=ref, standing=waits[0], definition=definition, plan=plan)
