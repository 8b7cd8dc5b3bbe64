"""Execute a plan."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Protocol

from portico.engine.core.errors import RunNotFound, StepFailed
from portico.engine.core.runs import Failure, Run, Started
from portico.engine.core.runs import Step as Noted
from portico.engine.execution import retry_while_unavailable
from portico.engine.ports import Bus, RunQueries, RunQueue, Runs
from portico.engine.runs import RunSpec
from portico.gateway.core.calls import ResultId, claim_of
from portico.gateway.ports import CallHistory
from portico.kernel.durable import Durable
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.workflows import run_context as calls
from portico.workflows.core.plan import (
    LETTERS_READ,
    Effort,
    Expressions,
    Graph,
    OnError,
    Plan,
    Step,
    graph_of,
    references,
)
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_learning import PlanEnd, PlanObserver
from portico.workflows.core.plan_progress import (
    End,
    Fell,
    LeftOut,
    Moves,
    Progress,
    StepState,
    inner_name,
)
from portico.workflows.core.plan_progress import StepSucceeded as Done
from portico.workflows.core.plan_report import Mode, WorkflowStatus
from portico.workflows.core.plan_values import (
    KnownDocuments,
    Resolving,
    arguments,
    as_arguments,
    as_items,
    items,
    items_document,
    last_of,
    output,
    wanted,
    with_item,
)
from portico.workflows.run_context import (
    ActFor,
    Acting,
    DependencyUnavailable,
    Outputs,
    Succeeded,
    needed,
    noted_of,
)
from portico.workflows.step_calls import Arguments, CallSpec, OneCall


class Starting(Protocol):
    async def started(self, caller: Principal, wish: RunSpec) -> Started:
        """Raises what starting a run raises."""
        ...


class OpenOutputs(Protocol):
    def __call__(self) -> Outputs:
        """Where what a run gives is kept, for one who is about to keep or to read some of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSide:
    """One of them, as whoever starts and looks at runs needs it."""

    mode: Mode
    book: RunQueries
    runs: Runs
    queue: RunQueue
    bus: Bus
    start_run: Starting
    outputs: OpenOutputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    durable: EngineSide
    inline: EngineSide

    async def find(self, caller: Principal, run: RunId) -> tuple[Run, EngineSide]:
        """Raises `RunNotFound`."""
        try:
            return await self.inline.book.get(caller, run), self.inline
        except RunNotFound:
            return await self.durable.book.get(caller, run), self.durable

    def of(self, mode: Mode) -> EngineSide:
        return self.inline if mode is Mode.INLINE else self.durable


# What the steps of a plan are given, put together from what earlier ones gave.
#
# All of it happens inside durable steps: what is noted is never put together again.

StepResult = Succeeded | Sequence[Succeeded | None]
"""Where the document of a step is: one, or one an item."""


@dataclass(slots=True, kw_only=True)
class StepArguments:
    """One step."""

    acting: Acting
    step: Step
    inputs: JsonObject
    sources: Mapping[str, StepResult]
    """What is there of what it refers to, by the step that it is referred to by."""
    expressions: Expressions
    effort: Effort = field(init=False)
    _known: KnownDocuments | None = field(default=None, init=False)
    _items: Sequence[JsonValue] | None = field(default=None, init=False)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Of a thousand items, one reads for all."""

    def __post_init__(self) -> None:
        self.effort = self.acting.effort.of_step()

    async def wanted(self) -> bool:
        """Raises what `Expressions.search` raises, and `DependencyUnavailable`."""
        return wanted(self.step, await self.known(), self.expressions, self.effort)

    async def arguments(self) -> JsonObject:
        """Raises what resolving raises, and `DependencyUnavailable`."""
        known = await self.known()
        return as_arguments(
            await gently(arguments(self.step, known, self.expressions, self.effort))
        )

    async def items(self) -> Sequence[JsonValue]:
        """Raises `NotAList`, `TooManyItems`, what resolving raises, and `DependencyUnavailable`."""
        known = await self.known()
        async with self._reading:
            if self._items is None:
                found = await gently(items(self.step, known, self.expressions, self.effort))
                self._items = as_items(self.step, found)
            return self._items

    async def arguments_for(self, index: int) -> JsonObject:
        """Raises what resolving raises, and `DependencyUnavailable`."""
        its = with_item(await self.known(), (await self.items())[index], index)
        return as_arguments(await gently(arguments(self.step, its, self.expressions, self.effort)))

    async def known(self) -> KnownDocuments:
        """Raises `TooMuchEffort`, `DependencyUnavailable`."""
        async with self._reading:
            if self._known is None:
                found: dict[str, JsonValue] = {"inputs": self.inputs}
                for name, held in self.sources.items():
                    found[name] = await self._document(held)
                self._known = found
            return self._known

    async def _document(self, held: StepResult) -> JsonObject:
        if isinstance(held, Succeeded):
            return await self._read(held)
        return items_document([None if each is None else await self._read(each) for each in held])

    async def _read(self, gave: Succeeded) -> JsonObject:
        self.effort.spend(gave.size // LETTERS_READ)
        return await needed(lambda: self.acting.document(gave))


async def gently(resolving: Resolving) -> JsonValue:
    """Whoever else has something to do comes to it in between."""
    for _ in resolving:
        await asyncio.sleep(0)
    return resolving.value()


# A plan being carried out: each step begins as soon as what it waits for is over.
#
# Which that is says `Progress`, by how steps ended; what they gave is only looked at for the steps
# that refer to it. Whatever is decided here follows from what durable steps gave, so that a run
# that is taken up anew comes to the same.


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
    _held: dict[str, StepResult] = field(default_factory=dict, init=False)
    _ends: asyncio.Queue[tuple[str, End | calls.DependencyUnavailable]] = field(
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
        """Raises `DependencyUnavailable` for what cannot go on now, once all that is under way has
        ended."""
        async with asyncio.TaskGroup() as group:
            self._follow(group, self.progress.start())
            while self._under_way:
                name, end = await self._ends.get()
                self._under_way -= 1
                self._follow(group, self._moved(name, end))
        if self._broken is not None:
            raise calls.DependencyUnavailable(self._broken[1])

    @property
    def stopped_by(self) -> str | None:
        """The step because of which nothing more begins."""
        return self.progress.stopped_by or (None if self._broken is None else self._broken[0])

    def call(self, step: str) -> str:
        """What its call is called in the journal."""
        return self.prefix + (inner_name(step) if self.prefix else step)

    async def output(self) -> JsonValue:
        """Raises `MissingValue`, what else resolving raises, and `DependencyUnavailable`."""
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

    def _moved(self, name: str, end: End | calls.DependencyUnavailable) -> Moves:
        if isinstance(end, calls.DependencyUnavailable):
            self._broken = self._broken or (name, end.error)
            return self.progress.halt(f"{name!r} cannot be done now")
        return self.progress.ended(name, end)

    def _follow(self, group: asyncio.TaskGroup, moves: Moves) -> None:
        for name in moves.start:
            self._under_way += 1
            group.create_task(self._one(self._steps[name]))
        if self.stopped_by is None:
            for name, why in moves.skipped.items():
                group.create_task(self._tell_skipped(name, why))

    async def _tell_skipped(self, name: str, why: str) -> None:
        call, durable = self.call(name), self.acting.durable
        facts: JsonObject = {"step": call, "state": "skipped", "why": why}
        await durable.publish(f"{call}:skipped", "workflow.step_skipped", facts)

    async def _one(self, step: Step) -> None:
        """Nothing is read or decided here but in durable steps."""
        end: End | calls.DependencyUnavailable
        try:
            end = await self._ended(step)
        except StepFailed as failed:
            await self._tell_failed(step, failed.failure.code)
            end = self._fell(step, failed.failure)
        except calls.DependencyUnavailable as broken:
            end = broken
        except PorticoError as error:
            end = calls.DependencyUnavailable(error)
        self._ends.put_nowait((step.id, end))

    async def _ended(self, step: Step) -> End:
        """Raises `StepFailed` for one that could not be begun, and `DependencyUnavailable`."""
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
            case calls.Succeeded():
                self._held[step.id] = came
                return Done()
            case calls.WentWrong(failure):
                return self._fell(step, failure)
            case calls.LeftOut(why):
                self._short = True
                return LeftOut(why)

    async def _wanted(self, step: Step, given: StepArguments) -> bool:
        async def action(_key: str) -> JsonValue:
            return await given.wanted()

        return bool(await self.acting.durable.step(f"{self.call(step.id)}~when", action))

    async def _for_each(self, step: Step, given: StepArguments) -> End:
        async def action(_key: str) -> JsonValue:
            return len(await given.items())

        name, durable = self.call(step.id), self.acting.durable
        many = await durable.step(f"{name}~items", action)
        self.acting.amount.add(many if isinstance(many, int) else 0)
        facts: JsonObject = {"step": name, "items": many}
        await durable.publish(f"{name}:items", "workflow.step_started", facts)
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
        self._held[step.id] = [each if isinstance(each, calls.Succeeded) else None for each in came]
        facts = {**facts, "failed": len(wrong)}
        await durable.publish(f"{name}:done", "workflow.step_done", facts)
        return Done()

    async def _items(
        self, step: Step, given: StepArguments, many: int
    ) -> Sequence[calls.CallResult]:
        """With one that failed, no other begins, unless it may be left out. Raises
        `DependencyUnavailable`."""
        failed: list[str] = []
        broken: list[calls.DependencyUnavailable] = []
        outer = self.acting.stopped
        acting = replace(self.acting, stopped=lambda: failed[0] if failed else outer())
        gate = asyncio.Semaphore(step.for_each.at_once if step.for_each is not None else 1)

        async def one(index: int) -> calls.CallResult:
            name = f"{self.call(step.id)}[{index}]"

            async def arguments() -> JsonObject:
                return await given.arguments_for(index)

            async with gate:
                try:
                    came = await self.step_call(acting, self._wish(step, name, arguments))
                except (calls.DependencyUnavailable, PorticoError) as error:
                    its = (
                        error
                        if isinstance(error, calls.DependencyUnavailable)
                        else calls.DependencyUnavailable(error)
                    )
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

    def _wish(self, step: Step, name: str, arguments: Arguments) -> CallSpec:
        return CallSpec(
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
        await self.acting.durable.publish(f"{name}:failed", "workflow.step_failed", facts)

    def _given_to(self, step: Step, names: Sequence[str]) -> StepArguments:
        sources = {
            name: self._held[source]
            for name in dict.fromkeys(names)
            if name in self._steps and (source := self.progress.source(name)) is not None
        }
        return StepArguments(
            acting=self.acting,
            step=step,
            inputs=self.inputs,
            sources=sources,
            expressions=self.expressions,
        )


WORKFLOW: Final = "workflow"
_LOT: Final = 1_000
"""Calls that are asked for at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    act_for: ActFor
    step_call: OneCall
    expressions: Expressions
    history: CallHistory
    book: RunQueries
    observer: PlanObserver

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Raises `StepFailed` if a step has stopped it, so that taking the run up again tries that
        one again; `KeyEnded`, `ResultNotFound`."""
        acting = self.act_for(durable, given)
        plan, inputs, intent = await self._plan(acting, given)
        facts: JsonObject = {"steps": len(plan.steps), "name": plan.name}
        await durable.publish("~plan", "workflow.planned", facts)
        carry_out = CarryOut(
            acting=acting,
            plan=plan,
            inputs=inputs,
            expressions=self.expressions,
            step_call=self.step_call,
        )
        try:
            await carry_out()
        except DependencyUnavailable as broken:
            raise broken.error from broken
        if (by := carry_out.progress.stopped_by) is not None:
            await self._tell_begun(acting, carry_out)
            raise StepFailed(carry_out.failures[by])
        result = await self._result(acting, carry_out)
        if result.get("status") == WorkflowStatus.DONE:
            await self._observed(acting, carry_out, intent)
        return result

    async def _observed(self, acting: Acting, carried: CarryOut, intent: str | None) -> None:
        """Not in the name of somebody who may do nothing any more."""
        states = carried.progress.states
        with suppress(PorticoError):
            end = PlanEnd(
                caller=await acting.requester(),
                label=acting.label,
                plan=carried.plan,
                inputs=carried.inputs,
                done={name for name, state in states.items() if state is StepState.DONE},
                intent=intent,
            )
            self.observer(end)

    async def _plan(self, acting: Acting, given: JsonObject) -> tuple[Plan, JsonObject, str | None]:
        asker, result = (
            await retry_while_unavailable(acting.requester),
            ResultId.parse(str(given["plan"])),
        )
        kept = await retry_while_unavailable(lambda: acting.outputs.get(asker, result))
        content = kept if isinstance(kept, Mapping) else {}
        inputs, intent = content.get("inputs"), content.get("intent")
        plan = read_plan(content.get("plan"), self.expressions)
        told = intent if isinstance(intent, str) else None
        return plan, inputs if isinstance(inputs, Mapping) else {}, told

    async def _result(self, acting: Acting, carried: CarryOut) -> JsonObject:
        async def keep(_key: str) -> JsonValue:
            output = await carried.output()
            asker = await retry_while_unavailable(acting.requester)
            return noted_of(
                await retry_while_unavailable(lambda: acting.outputs.keep(asker, output))
            )

        status = WorkflowStatus.PARTIAL if carried.failed else WorkflowStatus.DONE
        try:
            output = await acting.durable.step("~output", keep)
        except DependencyUnavailable as broken:
            raise broken.error from broken
        except StepFailed as failed:
            error = failed.failure.as_json()
            return {"status": WorkflowStatus.PARTIAL, "output": None, "error": error}
        return {"status": status, "output": output}

    async def _tell_begun(self, acting: Acting, carried: CarryOut) -> None:
        """A step may have been under way when somebody died, and be left out now because another
        one has stopped everything: then nobody knows whether it was made, and that is said."""
        if not acting.waits:
            return
        durable = acting.durable
        noted = {step.name: step for step in await self.book.steps(durable.caller, durable.run)}
        left_out = _left_out(carried, noted)
        while names := [*islice(left_out, _LOT)]:
            claims = {claim_of(durable.run, name, durable.leg): name for name in names}
            begun = await self.history.find_started(await acting.requester(), [*claims])
            for name in (name for claim, name in claims.items() if claim.id in begun):
                facts: JsonObject = {"step": name, "why": "begun_before"}
                told = f"{name}:unknown:{durable.leg}"
                await durable.publish(told, "workflow.step_uncertain", facts)


def _left_out(carried: CarryOut, noted: Mapping[str, Noted]) -> Iterator[str]:
    """The calls that may have been begun of those steps which are left out: of one that is done
    once an item, nothing was begun before it was noted how many there are."""
    for step in carried.plan.steps:
        if carried.progress.states[step.id] is not StepState.SKIPPED:
            continue
        if step.for_each is None:
            names: Iterable[str] = [step.id]
        else:
            counted = noted.get(f"{step.id}~items")
            many = None if counted is None else counted.output
            names = (f"{step.id}[{n}]" for n in range(many if isinstance(many, int) else 0))
        yield from (name for name in names if name not in noted)
