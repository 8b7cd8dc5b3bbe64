"""Check a plan, and admit it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CallableTool, CatalogSnapshot
from portico.gateway.core.calls import aim_at
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import SchemaRefused, ToolNotFound
from portico.gateway.ports import SchemaCheck
from portico.guard.core.access_request import AccessRequest, Decision, Denied, NeedsApproval
from portico.guard.core.principals import Scope
from portico.guard.policy import Decide
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.effect import Effect, worst
from portico.kernel.errors import FieldError, PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal
from portico.workflows.core.errors import NotInline
from portico.workflows.core.plan import (
    MOST_FAULTS,
    Expressions,
    Graph,
    InvalidPlan,
    Plan,
    PlanDiagnostic,
    Step,
    critical_path,
    graph_of,
)
from portico.workflows.core.plan_documents import InvalidInputs, input_schema, read_plan
from portico.workflows.core.plan_report import Mode, outline_of
from portico.workflows.core.plan_values import LiteralArguments
from portico.workflows.run_context import asker_of


@dataclass(frozen=True, slots=True)
class CheckedStep:
    id: str
    tool: str
    effect: Effect
    needs: Sequence[str]
    """What must be over before it begins."""
    approval: NeedsApproval | None = None
    """Why somebody would be asked first, as things are now."""


@dataclass(frozen=True, slots=True)
class Checked:
    plan: Plan
    effect: Effect
    """The worst of its steps."""
    order: Sequence[str]
    critical_path: Sequence[str]
    """The longest chain of steps, each taken to last as long as any other."""
    steps: Sequence[CheckedStep]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    catalogues: Catalogs
    schemas: SchemaCheck
    decide: Decide
    expressions: Expressions

    async def __call__(self, caller: Principal, document: JsonValue) -> Checked:
        """Nothing is called, and nothing that is decided here holds later. Raises `NotPermitted`
        and `InvalidPlan`, with all that is wrong with it."""
        if not caller.may(Scope.TOOLS_CALL):
            require_scope(caller, Scope.TOOLS_READ)
        plan = read_plan(document, self.expressions)
        shelf = await self.catalogues.current(caller)
        found = {step.tool: _found(shelf, step.tool) for step in plan.steps}
        decisions = await self._decisions(caller, shelf, found)
        faults = (
            fault
            for number, step in enumerate(plan.steps)
            for fault in self._faults(step, f"/steps/{number}", found, decisions)
        )
        if told := [*islice(faults, MOST_FAULTS)]:
            raise InvalidPlan(told)
        live = {ref: tool for ref, tool in found.items() if isinstance(tool, CallableTool)}
        return _checked(plan, graph_of(plan, self.expressions), live, decisions)

    async def _decisions(
        self,
        caller: Principal,
        shelf: CatalogSnapshot,
        found: Mapping[ToolRef, CallableTool | PorticoError],
    ) -> Mapping[ToolRef, Decision]:
        """About each tool once: no rule looks at arguments. None for whoever only looks."""
        if not caller.may(Scope.TOOLS_CALL):
            return {}
        return {
            ref: await self.decide(
                AccessRequest(
                    caller=caller,
                    target=aim_at(shelf.servers[ref.server], ref, tool.effect, tool.pin),
                )
            )
            for ref, tool in found.items()
            if isinstance(tool, CallableTool)
        }

    def _faults(
        self,
        step: Step,
        place: str,
        found: Mapping[ToolRef, CallableTool | PorticoError],
        decisions: Mapping[ToolRef, Decision],
    ) -> Iterator[PlanDiagnostic]:
        tool, decision = found[step.tool], decisions.get(step.tool)
        if isinstance(tool, PorticoError):
            yield PlanDiagnostic(f"{place}/tool", str(tool), tool.fix)
            return
        if isinstance(decision, Denied):
            what = f"You may not call {step.tool}: {decision.reason} ({decision.rule})."
            yield PlanDiagnostic(f"{place}/tool", what)
        literal = LiteralArguments(step, place, tool.definition.input_schema)
        yield from literal.diagnostics(self._flaws(literal))

    def _flaws(self, literal: LiteralArguments) -> Sequence[FieldError]:
        try:
            return self.schemas.field_errors(literal.schema, literal.values)
        except SchemaRefused:
            return []  # the call will say it, of all its arguments


def _found(shelf: CatalogSnapshot, ref: ToolRef) -> CallableTool | PorticoError:
    try:
        return shelf.find(ref)
    except PorticoError as error:
        return error


def _checked(
    plan: Plan,
    graph: Graph,
    tools: Mapping[ToolRef, CallableTool],
    decisions: Mapping[ToolRef, Decision],
) -> Checked:
    steps = [
        CheckedStep(
            step.id,
            str(step.tool),
            tools[step.tool].effect,
            graph.before[step.id],
            asked if isinstance(asked := decisions.get(step.tool), NeedsApproval) else None,
        )
        for step in plan.steps
    ]
    return Checked(
        plan=plan,
        effect=worst(step.effect for step in steps),
        order=graph.order,
        critical_path=critical_path(graph, lambda _: 1.0).steps,
        steps=steps,
    )


# Whether a plan may be run here and now, and how secret it is: the same however it is begun.


@dataclass(frozen=True, slots=True)
class Admitted:
    effect: Effect
    """The worst of its steps'."""
    label: Label
    arguments: JsonObject
    """What its run is started with, but for where the plan is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitPlan:
    catalogues: Catalogs
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
        Raises `InvalidPlan`, `InvalidInputs`, `NotInline`."""
        shelf = await self.catalogues.current(caller)
        effect = _worst(shelf, plan, mode)
        if flaws := self.schemas.field_errors(input_schema(plan), dict(inputs)):
            raise InvalidInputs(plan, flaws)
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
        """Of these steps, as far as they are known before it runs. Raises `InvalidPlan`."""
        shelf = await self.catalogues.current(caller)
        faults = [
            fault
            for number, step in enumerate(plan.steps)
            if step.id in steps
            for fault in self._faults(shelf, step, f"/steps/{number}")
        ]
        if faults:
            raise InvalidPlan(faults)

    def _faults(self, shelf: CatalogSnapshot, step: Step, place: str) -> Sequence[PlanDiagnostic]:
        try:
            literal = LiteralArguments(step, place, shelf.find(step.tool).definition.input_schema)
            return [*literal.diagnostics(self.schemas.field_errors(literal.schema, literal.values))]
        except (SchemaRefused, ToolNotFound):
            return []  # that is said elsewhere, of the tool


def _worst(shelf: CatalogSnapshot, plan: Plan, mode: Mode) -> Effect:
    """Raises `InvalidPlan`, `NotInline`."""
    faults: list[PlanDiagnostic] = []
    effects: list[Effect] = []
    for number, step in enumerate(plan.steps):
        try:
            effects.append(_effect(shelf, step, mode))
        except NotInline:
            raise
        except PorticoError as error:
            fix = error.fix if isinstance(error, ToolNotFound) else None
            faults.append(PlanDiagnostic(f"/steps/{number}/tool", str(error), fix))
    if faults:
        raise InvalidPlan(faults)
    return worst(effects)


def _effect(shelf: CatalogSnapshot, step: Step, mode: Mode) -> Effect:
    effect = shelf.find(step.tool).effect
    shelf.server(step.tool.server)
    if mode is Mode.INLINE and not effect.is_read_only:
        raise NotInline(step.id, str(step.tool))
    return effect
