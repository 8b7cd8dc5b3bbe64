"""Run a saved workflow in the name of whoever calls it."""

from dataclasses import dataclass, field

from portico.engine.core.runs import Started
from portico.gateway.catalogue import Catalogues
from portico.gateway.core.aim import aim_at
from portico.gateway.core.plan.report import Mode
from portico.gateway.core.saved_workflow_errors import WorkflowAsksFirst, WorkflowOutgrown
from portico.gateway.workflows.check_plan import Checked, CheckPlan
from portico.gateway.workflows.look_at_saved import SavedLook, ShowSaved
from portico.gateway.workflows.start_workflow import StartWorkflow, WorkflowWish
from portico.guard.core.access_request import Act, Action, NeedsApproval
from portico.guard.core.principals import Scope
from portico.guard.policy_gate import Gate
from portico.guard.principals import permit
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedWish:
    name: str
    inputs: JsonObject = field(default_factory=dict)
    mode: Mode = Mode.DURABLE
    key: str | None = None
    label: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSaved:
    """For the server whose tools they are: whoever comes this way has passed the gate with a call
    of the tool. `by_name` is for those who have not."""

    show_saved: ShowSaved
    check_plan: CheckPlan
    start_workflow: StartWorkflow
    catalogues: Catalogues
    gate: Gate

    async def __call__(self, caller: Principal, wish: SavedWish) -> Started:
        """Raises `WorkflowNotFound`, `WorkflowOutgrown`, and what starting a plan raises."""
        return await self._start(caller, wish, await self.show_saved.called(caller, wish.name))

    async def by_name(self, caller: Principal, wish: SavedWish) -> Started:
        """Raises `NotPermitted`, `Refused`, `WorkflowAsksFirst`, and what is raised above."""
        permit(caller, Scope.TOOLS_CALL)
        look = await self.show_saved.called(caller, wish.name)
        with self.gate.in_front(caller, Action.CALL, str(look.ref)):
            shelf = await self.catalogues.current(caller)
            tool, server = shelf.find(look.ref), shelf.server(look.ref.server)
        aim = aim_at(server, look.ref, tool.effect, tool.pin)
        decision = await self.gate(Act(caller=caller, aim=aim, arguments=wish.inputs))
        if isinstance(decision, NeedsApproval):
            raise WorkflowAsksFirst(str(look.ref), decision.reason)
        return await self._start(caller, wish, look)

    async def admit(self, caller: Principal, wish: SavedWish) -> JsonObject:
        """The plan, for a run that has called it and carries it out itself. Raises what is raised
        above."""
        look = await self.show_saved.called(caller, wish.name)
        await self._checked(caller, look)
        return look.saved.plan

    async def _checked(self, caller: Principal, look: SavedLook) -> Checked:
        """Raises `BadPlan`, `WorkflowOutgrown`."""
        checked = await self.check_plan(caller, look.saved.plan)
        if checked.effect.rank > look.saved.effect.rank:
            raise WorkflowOutgrown(look.saved.name, look.saved.effect, checked.effect)
        return checked

    async def _start(self, caller: Principal, wish: SavedWish, look: SavedLook) -> Started:
        checked = await self._checked(caller, look)
        return await self.start_workflow(
            caller,
            WorkflowWish(
                plan=checked.plan,
                inputs=wish.inputs,
                mode=wish.mode,
                key=wish.key,
                label=wish.label,
            ),
        )
