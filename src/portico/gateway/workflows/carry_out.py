"""A plan being carried out: each step begins as soon as what it waits for is over.

Which that is says `Progress`, by how steps ended; what they gave is only looked at for the steps
that refer to it. Whatever is decided here follows from what durable steps gave, so that a run that
is taken up anew comes to the same.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Failure
from portico.gateway.core.plan.expressions import Expressions
from portico.gateway.core.plan.graph import Graph, graph_of
from portico.gateway.core.plan.inner_names import inner_name
from portico.gateway.core.plan.plan import OnError, Plan, Step
from portico.gateway.core.plan.progress import End, Fell, LeftOut, Moves, Progress, StepState
from portico.gateway.core.plan.progress import Gave as Done
from portico.gateway.core.plan.references import references
from portico.gateway.core.plan.resolving import last_of, output
from portico.gateway.workflows import came as calls
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.given_to import GivenTo, Held, gently
from portico.gateway.workflows.make_call import Arguments, CallWish
from portico.gateway.workflows.one_call import OneCall
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue


@dataclass(slots=True, kw_only=True)
class CarryOut:
    """Once. `prefix` is what the names of its durable steps begin with."""

    acting: Acting
    plan: Plan
    inputs: JsonObject
    expressions: Expressions
    step_call: OneCall
    prefix: str = ""
    graph: Graph = field(init=False)
    progress: Progress = field(init=False)
    failures: dict[str, Failure] = field(default_factory=dict, init=False)
    _steps: Mapping[str, Step] = field(init=False)
    _held: dict[str, Held] = field(default_factory=dict, init=False)
    _ends: asyncio.Queue[tuple[str, End | calls.Broken]] = field(
        default_factory=asyncio.Queue, init=False
    )
    _under_way: int = field(default=0, init=False)
    _short: bool = field(default=False, init=False)
    """Whether an item failed, or something was left out by somebody's word."""
    _broken: tuple[str, PorticoError] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.graph = graph_of(self.plan, self.expressions)
        self.progress = Progress(self.plan, self.graph)
        self._steps = {step.id: step for step in self.plan.steps}
        outer = self.acting.stopped
        self.acting = replace(self.acting, stopped=lambda: self.stopped_by or outer())

    async def __call__(self) -> None:
        """Raises `Broken` for what cannot go on now, once all that is under way has ended."""
        async with asyncio.TaskGroup() as group:
            self._follow(group, self.progress.begin())
            while self._under_way:
                name, end = await self._ends.get()
                self._under_way -= 1
                self._follow(group, self._moved(name, end))
        if self._broken is not None:
            raise calls.Broken(self._broken[1])

    @property
    def stopped_by(self) -> str | None:
        """The step because of which nothing more begins."""
        return self.progress.stopped_by or (None if self._broken is None else self._broken[0])

    def call(self, step: str) -> str:
        """What its call is called in the journal."""
        return self.prefix + (inner_name(step) if self.prefix else step)

    async def output(self) -> JsonValue:
        """Raises `MissingValue`, what else resolving raises, and `Broken`."""
        named: Sequence[str] = self.graph.last
        if self.plan.has_output:
            named = [each.step for _, each in references(self.plan.output)]
        given = self._given_to(self.plan.steps[0], named)
        known = await given.known()
        if not self.plan.has_output:
            return last_of(self.graph, known)
        return await gently(output(self.plan, known, self.expressions, given.effort))

    @property
    def failed(self) -> bool:
        """Whether something went wrong that it coped with, or did not."""
        states = self.progress.states
        return self._short or any(
            states[name] is StepState.FAILED and self.progress.source(name) is None
            for name in states
        )

    def _moved(self, name: str, end: End | calls.Broken) -> Moves:
        if isinstance(end, calls.Broken):
            self._broken = self._broken or (name, end.error)
            return self.progress.halt(f"{name!r} cannot be done now")
        return self.progress.ended(name, end)

    def _follow(self, group: asyncio.TaskGroup, moves: Moves) -> None:
        for name in moves.begin:
            self._under_way += 1
            group.create_task(self._one(self._steps[name]))
        if self.stopped_by is None:
            for name, why in moves.skipped.items():
                group.create_task(self._tell_skipped(name, why))

    async def _tell_skipped(self, name: str, why: str) -> None:
        call, durable = self.call(name), self.acting.durable
        facts: JsonObject = {"step": call, "state": "skipped", "why": why}
        await durable.tell(f"{call}:skipped", "workflow.step_skipped", facts)

    async def _one(self, step: Step) -> None:
        """Nothing is read or decided here but in durable steps."""
        end: End | calls.Broken
        try:
            end = await self._ended(step)
        except StepFailed as failed:
            await self._tell_failed(step, failed.failure.code)
            end = self._fell(step, failed.failure)
        except calls.Broken as broken:
            end = broken
        except PorticoError as error:
            end = calls.Broken(error)
        self._ends.put_nowait((step.id, end))

    async def _ended(self, step: Step) -> End:
        """Raises `StepFailed` for one that could not be begun, and `Broken`."""
        needs = [need.needs for need in self.graph.needs[step.id] if need.given]
        given = self._given_to(step, needs)
        if step.when is not None and not await self._wanted(step, given):
            return LeftOut()
        if step.for_each is not None:
            return await self._for_each(step, given)
        self.acting.amount.add(1)
        came = await self.step_call(
            self.acting, self._wish(step, self.call(step.id), given.arguments)
        )
        match came:
            case calls.Gave():
                self._held[step.id] = came
                return Done()
            case calls.WentWrong(failure):
                return self._fell(step, failure)
            case calls.LeftOut(why):
                self._short = True
                return LeftOut(why)

    async def _wanted(self, step: Step, given: GivenTo) -> bool:
        async def action(_key: str) -> JsonValue:
            return await given.wanted()

        return bool(await self.acting.durable.step(f"{self.call(step.id)}~when", action))

    async def _for_each(self, step: Step, given: GivenTo) -> End:
        async def action(_key: str) -> JsonValue:
            return len(await given.items())

        name, durable = self.call(step.id), self.acting.durable
        many = await durable.step(f"{name}~items", action)
        self.acting.amount.add(many if isinstance(many, int) else 0)
        facts: JsonObject = {"step": name, "items": many}
        await durable.tell(f"{name}:items", "workflow.step_started", facts)
        came = await self._items(step, given, many if isinstance(many, int) else 0)
        wrong = [each for each in came if isinstance(each, calls.WentWrong)]
        if wrong and step.on_error is not OnError.SKIP:
            await self._tell_failed(step, wrong[0].failure.code)
            return self._fell(step, wrong[0].failure)
        left_out = [each for each in came if isinstance(each, calls.LeftOut)]
        self._short = self._short or bool(wrong) or bool(left_out)
        for each in left_out:
            if each.stopped or step.on_error is not OnError.SKIP:
                return LeftOut(each.why)
        self._held[step.id] = [each if isinstance(each, calls.Gave) else None for each in came]
        facts = {**facts, "failed": len(wrong)}
        await durable.tell(f"{name}:done", "workflow.step_done", facts)
        return Done()

    async def _items(self, step: Step, given: GivenTo, many: int) -> Sequence[calls.Came]:
        """With one that failed, no other begins, unless it may be left out. Raises `Broken`."""
        failed: list[str] = []
        broken: list[calls.Broken] = []
        outer = self.acting.stopped
        acting = replace(self.acting, stopped=lambda: failed[0] if failed else outer())
        gate = asyncio.Semaphore(step.for_each.at_once if step.for_each is not None else 1)

        async def one(index: int) -> calls.Came:
            name = f"{self.call(step.id)}[{index}]"

            async def arguments() -> JsonObject:
                return await given.arguments_for(index)

            async with gate:
                try:
                    came = await self.step_call(acting, self._wish(step, name, arguments))
                except (calls.Broken, PorticoError) as error:
                    its = error if isinstance(error, calls.Broken) else calls.Broken(error)
                    broken.append(its)
                    failed.append(name)
                    return calls.LeftOut(str(error))
            if isinstance(came, calls.WentWrong) and step.on_error is not OnError.SKIP:
                failed.append(name)
            return came

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(index)) for index in range(many)]
        if broken:
            raise broken[0]
        return [task.result() for task in tasks]

    def _wish(self, step: Step, name: str, arguments: Arguments) -> CallWish:
        return CallWish(
            step=name,
            tool=step.tool,
            arguments=arguments,
            timeout=step.timeout,
            tries=step.tries,
        )

    def _fell(self, step: Step, failure: Failure) -> Fell:
        self.failures[step.id] = failure
        return Fell(failure.code or failure.type, failure.message)

    async def _tell_failed(self, step: Step, code: str | None) -> None:
        name = self.call(step.id)
        facts: JsonObject = {"step": name, "code": code}
        await self.acting.durable.tell(f"{name}:failed", "workflow.step_failed", facts)

    def _given_to(self, step: Step, names: Sequence[str]) -> GivenTo:
        sources = {
            name: self._held[source]
            for name in dict.fromkeys(names)
            if name in self._steps and (source := self.progress.source(name)) is not None
        }
        return GivenTo(
            acting=self.acting,
            step=step,
            inputs=self.inputs,
            sources=sources,
            expressions=self.expressions,
        )
