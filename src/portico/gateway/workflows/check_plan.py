"""Hold a plan against what there is: its tools, what they take, and what would be decided."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.aim import aim_at
from portico.gateway.core.errors import SchemaRefused
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.faults import MOST_FAULTS, BadPlan, PlanFault
from portico.gateway.core.plan.graph import Graph, critical_path, graph_of
from portico.gateway.core.plan.literal_arguments import LiteralArguments
from portico.gateway.core.plan.plan import Plan, Step
from portico.gateway.core.plan.reading import read_plan
from portico.gateway.core.tool import ToolRef
from portico.gateway.ports import SchemaCheck
from portico.gateway.shelf import LiveTool, Shelf
from portico.guard.core.access_request import Act, Decision, Denied, NeedsApproval
from portico.guard.core.principals import Scope
from portico.guard.policy import Decide
from portico.guard.principals import permit
from portico.kernel.effect import Effect, worst
from portico.kernel.errors import Flaw, PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal


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
    catalogues: Catalogues
    schemas: SchemaCheck
    decide: Decide
    expressions: Expressions

    async def __call__(self, caller: Principal, document: JsonValue) -> Checked:
        """Nothing is called, and nothing that is decided here holds later. Raises `NotPermitted`
        and `BadPlan`, with all that is wrong with it."""
        if not caller.may(Scope.TOOLS_CALL):
            permit(caller, Scope.TOOLS_READ)
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
            raise BadPlan(told)
        live = {ref: tool for ref, tool in found.items() if isinstance(tool, LiveTool)}
        return _checked(plan, graph_of(plan, self.expressions), live, decisions)

    async def _decisions(
        self, caller: Principal, shelf: Shelf, found: Mapping[ToolRef, LiveTool | PorticoError]
    ) -> Mapping[ToolRef, Decision]:
        """About each tool once: no rule looks at arguments. None for whoever only looks."""
        if not caller.may(Scope.TOOLS_CALL):
            return {}
        return {
            ref: await self.decide(
                Act(
                    caller=caller, aim=aim_at(shelf.servers[ref.server], ref, tool.effect, tool.pin)
                )
            )
            for ref, tool in found.items()
            if isinstance(tool, LiveTool)
        }

    def _faults(
        self,
        step: Step,
        place: str,
        found: Mapping[ToolRef, LiveTool | PorticoError],
        decisions: Mapping[ToolRef, Decision],
    ) -> Iterator[PlanFault]:
        tool, decision = found[step.tool], decisions.get(step.tool)
        if isinstance(tool, PorticoError):
            yield PlanFault(f"{place}/tool", str(tool), tool.fix)
            return
        if isinstance(decision, Denied):
            what = f"You may not call {step.tool}: {decision.reason} ({decision.rule})."
            yield PlanFault(f"{place}/tool", what)
        literal = LiteralArguments(step, place, tool.definition.input_schema)
        yield from literal.faults(self._flaws(literal))

    def _flaws(self, literal: LiteralArguments) -> Sequence[Flaw]:
        try:
            return self.schemas.flaws(literal.schema, literal.values)
        except SchemaRefused:
            return []  # the call will say it, of all its arguments


def _found(shelf: Shelf, ref: ToolRef) -> LiveTool | PorticoError:
    try:
        return shelf.find(ref)
    except PorticoError as error:
        return error


def _checked(
    plan: Plan,
    graph: Graph,
    tools: Mapping[ToolRef, LiveTool],
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
