"""Whether a plan may be run here and now, and how secret it is: the same however it is begun."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.errors import SchemaRefused, ToolNotFound
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import BadPlan, PlanFault
from portico.gateway.core.plan.graph import graph_of
from portico.gateway.core.plan.inputs import BadInputs, input_schema
from portico.gateway.core.plan.literal_arguments import LiteralArguments
from portico.gateway.core.plan.outline import outline_of
from portico.gateway.core.plan.plan import Plan, Step
from portico.gateway.core.plan.report import Mode
from portico.gateway.ports import SchemaCheck
from portico.gateway.shelf import Shelf
from portico.gateway.workflows.acting import asker_of
from portico.gateway.workflows.errors import NotInline
from portico.guard.ports import Contexts
from portico.kernel.effect import Effect, worst
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Admitted:
    effect: Effect
    """The worst of its steps'."""
    label: Label
    given: JsonObject
    """What its run is started with, but for where the plan is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitPlan:
    catalogues: Catalogues
    contexts: Contexts
    expressions: Expressions
    schemas: SchemaCheck

    async def __call__(
        self,
        caller: Principal,
        plan: Plan,
        inputs: JsonObject,
        *,
        mode: Mode,
        labels: Sequence[Label] = (),
    ) -> Admitted:
        """At least as secret as `labels`, what its task has read, and what its servers know.
        Raises `BadPlan`, `BadInputs`, `NotInline`."""
        shelf = await self.catalogues.current(caller)
        effect = _worst(shelf, plan, mode)
        if flaws := self.schemas.flaws(input_schema(plan), dict(inputs)):
            raise BadInputs(plan, flaws)
        task = await self.contexts.get(caller)
        servers = {step.tool.server for step in plan.steps}
        label = join([task.label, *(shelf.server(name).label for name in servers), *labels])
        outline = outline_of(plan, graph_of(plan, self.expressions))
        given: JsonObject = {
            "name": plan.name,
            "mode": str(mode),
            "label": str(label),
            "asker": asker_of(caller),
            "outline": [step.as_json() for step in outline],
        }
        return Admitted(effect, label, given)

    async def check_arguments(self, caller: Principal, plan: Plan, steps: Collection[str]) -> None:
        """Of these steps, as far as they are known before it runs. Raises `BadPlan`."""
        shelf = await self.catalogues.current(caller)
        faults = [
            fault
            for number, step in enumerate(plan.steps)
            if step.id in steps
            for fault in self._faults(shelf, step, f"/steps/{number}")
        ]
        if faults:
            raise BadPlan(faults)

    def _faults(self, shelf: Shelf, step: Step, place: str) -> Sequence[PlanFault]:
        try:
            literal = LiteralArguments(step, place, shelf.find(step.tool).definition.input_schema)
            return [*literal.faults(self.schemas.flaws(literal.schema, literal.values))]
        except (SchemaRefused, ToolNotFound):
            return []  # that is said elsewhere, of the tool


def _worst(shelf: Shelf, plan: Plan, mode: Mode) -> Effect:
    """Raises `BadPlan`, `NotInline`."""
    faults: list[PlanFault] = []
    effects: list[Effect] = []
    for number, step in enumerate(plan.steps):
        try:
            effects.append(_effect(shelf, step, mode))
        except NotInline:
            raise
        except PorticoError as error:
            fix = error.fix if isinstance(error, ToolNotFound) else None
            faults.append(PlanFault(f"/steps/{number}/tool", str(error), fix))
    if faults:
        raise BadPlan(faults)
    return worst(effects)


def _effect(shelf: Shelf, step: Step, mode: Mode) -> Effect:
    effect = shelf.find(step.tool).effect
    shelf.server(step.tool.server)
    if mode is Mode.INLINE and not effect.reads_only:
        raise NotInline(step.id, str(step.tool))
    return effect
