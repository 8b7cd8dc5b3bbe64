"""Plans in memory: an agent starts them, people answer, and whoever carries them out may die."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from portico.adapters.cross_domain.approval_runs import EngineApprovalEvents, RunsThatWait
from portico.adapters.jmespath.expressions import JmespathExpressions
from portico.app.gateway_wiring import assemble_gateway
from portico.app.workflows import InlineEngine
from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import Activation, ClaimedActivation, Run, RunStatus, Step, StepState
from portico.engine.ports import Journal
from portico.gateway.core.calls import ToolResult, claim_of
from portico.gateway.core.catalog_snapshot import Tool
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Approval, Resolution, Via
from portico.guard.core.errors import ApprovalOver
from portico.guard.core.rules import Rule
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.learning.core.prefetch_gates import PrefetchLimits
from portico.testing.gateway_fakes import memory_workflows
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_documents import read_plan
from portico.workflows.core.plan_learning import PlanEnd
from portico.workflows.core.plan_report import Mode, StepReport, StepStatus, WorkflowReport
from portico.workflows.runs import LatestAnswer, WorkflowSpec
from tests.engine.journals import Through
from tests.gateway import asking_room
from tests.gateway.asking_room import GuardedRoom
from tests.gateway.open_room import DELETE, READ, WRITE

ANA, BEN = asking_room.ANA, asking_room.BEN
EXPRESSIONS = JmespathExpressions()


class Died(BaseException):
    """As if the process had been killed here."""


def plan(*steps: JsonObject, **more: JsonValue) -> Plan:
    return read_plan({"steps": [*steps], **more}, EXPRESSIONS)


def step(name: str, tool: Tool = READ, **more: Any) -> JsonObject:
    return {"id": name, "tool": str(tool.ref), "arguments": {"path": f"/{name}"}, **more}


def step_of(report: WorkflowReport, name: str) -> StepReport:
    found = report.step(name)
    assert found is not None, name
    return found


def states(report: WorkflowReport) -> dict[str, StepStatus]:
    return {each.id: each.state for each in report.steps}


class DiesBefore(Through):
    """A journal whose process is killed before it has noted how this step ended."""

    def __init__(self, room: GuardedRoom, step: str) -> None:
        super().__init__(room)
        self._step = step

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        if step.name == self._step:
            raise Died
        return await super().finish(taken, step, told)


class PlanRoom(GuardedRoom):
    def __init__(self, *, rules: Sequence[Rule] = (), ahead: PrefetchLimits | None = None) -> None:
        super().__init__(rules=rules, ahead=ahead)
        self.made: Counter[str] = Counter()
        for tool in (READ, WRITE, DELETE):
            self.upstreams.replies[tool.ref] = self._answer(tool)
        news = EngineApprovalEvents(
            news=self.news, runs=self.runs, queue=self.line, bus=self.bus, clock=self.clock
        )
        self.approvals = replace(self.base.approvals, news=news, waiters=RunsThatWait(self.runs))
        engine = InlineEngine(self.runs, self.line, self.bus)
        self.doors = memory_workflows(self.approvals, engine, self.base.schemas)
        self.approvals = replace(self.approvals, latest=LatestAnswer(show=self.doors.show()))
        made = replace(
            self.base,
            approvals=self.approvals,
            ask_first=self.approvals.ask_first(),
            workflows=self.doors,
        )
        self.gateway = assemble_gateway(made)
        self.http = self.gateway.over_http
        self.use = self.http.workflows
        self.ends: list[PlanEnd] = []
        self.kinds = [
            self.approvals.kind(self.http.call_tool),
            self.doors.kind(self.gateway.step_call, self.doors.engines.durable, self.ends.append),
        ]

    def _answer(self, tool: Tool) -> Any:
        def answer(arguments: JsonObject) -> ToolResult:
            path = str(arguments["path"])
            self.made[f"{tool.ref.name} {path}"] += 1
            told: JsonObject = {"path": path, "list": ["a", "b"], "did": tool.ref.name}
            return ToolResult([{"type": "text", "text": json.dumps(told)}])

        return answer

    @property
    def writes(self) -> Mapping[str, int]:
        return {name: many for name, many in self.made.items() if not name.startswith("read ")}

    async def save(self, **documents: JsonObject) -> None:
        for name, document in documents.items():
            await self.http.saved.save_workflow(ANA, name, document)

    async def start(self, what: Plan, **more: Any) -> RunId:
        wish = WorkflowSpec(plan=what, **more)
        return (await self.use.start_workflow(await self.bot(), wish)).run.id

    async def run(self, what: Plan, **more: Any) -> RunId:
        """Started, and as far as it can go."""
        run = await self.start(what, **more)
        await self.leg(run)
        return run

    async def resumed(self, run: RunId) -> None:
        await self.use.resume_workflow(await self.bot(), run)
        await self.leg(run)

    async def leg(self, run: RunId, journal: Journal | None = None) -> Run:
        """It goes as far as it can, here and now."""
        found = await self.runs.get(ANA, run)
        await self.run_leg(self.kinds, journal)(Activation(run, found.leg))
        return await self.runs.get(ANA, run)

    async def killed(self, run: RunId, journal: Journal | None = None) -> None:
        with suppress(BaseExceptionGroup, Died):
            await self.leg(run, journal)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        async with self.line.working(self.run_leg(self.kinds), self.runs.due):
            yield

    async def quick(self, what: Plan, **more: Any) -> WorkflowReport:
        """On the engine of this process, to its end."""
        run = await self.start(what, mode=Mode.INLINE, **more)
        side = self.doors.engines.inline
        kind = self.doors.kind(self.gateway.step_call, side, self.ends.append)
        found = await side.book.get(await self.bot(), run)
        await self.doors.inline_leg([kind])(Activation(run, found.leg))
        return await self.show(run)

    async def show(self, run: RunId, by: Principal | None = None, **more: Any) -> WorkflowReport:
        return await self.use.show_workflow(by or await self.bot(), run, **more)

    async def ran(self, what: Plan, **more: Any) -> WorkflowReport:
        """To its end, or to where it waits."""
        return await self.show(await self.run(what, **more))

    async def answer(
        self, report: WorkflowReport, name: str, kind: AnswerKind = AnswerKind.ONCE, **more: Any
    ) -> Approval:
        approval = ApprovalId.parse(str(step_of(report, name).approval))
        reply = Reply(kind=kind, via=Via.CLI, **more)
        return await self.http.approvals.answer_approval(ANA, approval, reply)

    async def errand(self, report: WorkflowReport, name: str) -> None:
        """The run behind its request goes on."""
        await self.leg((await self.asked(report, name)).run)

    async def asked(self, report: WorkflowReport, name: str) -> Approval:
        """For this step, as it stands by now."""
        approval = ApprovalId.parse(str(step_of(report, name).approval))
        return await self.approvals.approvals.get(ANA, approval)

    async def approved(self, report: WorkflowReport, name: str) -> None:
        """Somebody says yes, and what was asked for is made."""
        await self.answer(report, name)
        await self.errand(report, name)

    async def resolve(self, run: RunId, name: str, how: Resolution) -> Run:
        return await self.use.resolve_step(ANA, run, name, how)

    async def resolved(self, run: RunId, name: str, how: Resolution) -> None:
        await self.resolve(run, name, how)
        await self.leg(run)

    async def over(self, run: RunId) -> WorkflowReport:
        """Whatever it takes: people approve what is asked, and look whether that was done of which
        nobody knows."""
        for _ in range(100):
            report = await self.show(run)
            if report.over:
                return report
            for found in report.steps:
                if found.state is StepStatus.UNCERTAIN:
                    await self._say(run)
                elif found.state is StepStatus.WAITING:
                    await self._yes(report, found.id)
            await self._everybody()
        raise AssertionError(report)

    async def _say(self, run: RunId) -> None:
        """Of each call: its arguments are in the record."""
        for each in await self.runs.steps(ANA, run):
            if each.state is StepState.OPEN and each.name.startswith("signal:~uncertain:"):
                call, _, number = each.name.removeprefix("signal:~uncertain:").rpartition(":")
                attempt = call if number == "1" else f"{call}~{number}"
                how = Resolution.DONE if self._done(run, attempt) else Resolution.RETRY
                await self.use.resolve_step(ANA, run, call, how)

    def _done(self, run: RunId, attempt: str) -> bool:
        """Whether the server has seen it; a saved workflow does nothing by being called."""
        claim = claim_of(run, attempt, 20)
        calls = [self.world.calls.get((ANA.space, each)) for each in (claim.id, *claim.earlier)]
        call = next(each for each in calls if each is not None).call
        arguments = call.arguments
        assert isinstance(arguments, Mapping)
        return self.made[f"{call.ref.name} {arguments.get('path')}"] > 0

    async def _yes(self, report: WorkflowReport, name: str) -> None:
        with suppress(Exception):
            await self.answer(report, name)

    async def _everybody(self) -> None:
        """Each run that can go on does."""
        for found in await self.runs.page(ANA, statuses=(), kind=None, before=None, limit=1000):
            if found.status in {RunStatus.QUEUED, RunStatus.RUNNING}:
                await self.killed(found.id)

    async def told(self, run: RunId) -> Sequence[tuple[str, JsonObject]]:
        page = await self.log.read(ANA, str(run), after=0, limit=1000)
        return [(entry.type, entry.details) for entry in page.entries]

    async def forever(self) -> None:
        await asyncio.Event().wait()

    async def everything_approved(self) -> None:
        """People say yes to whatever is asked, until nothing is."""
        for _ in range(20):
            for kept in [*self.world.approvals.values()]:
                with suppress(ApprovalOver):
                    reply = Reply(kind=AnswerKind.ONCE, via=Via.CLI)
                    await self.http.approvals.answer_approval(ANA, kept.approval.id, reply)
            await self._everybody()
