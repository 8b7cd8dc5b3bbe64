"""Killed anywhere, a plan comes to the same end, and no change is made twice."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from portico.engine.core.event_log import NewEntry
from portico.engine.core.runs import ClaimedActivation, Failure, RunStatus, Step
from portico.gateway.calls import CallTool
from portico.gateway.core.calls import Call, CallClaim, ResultId, StoredResult, ToolResult
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.testing.gateway import MemoryCallHistory, MemoryResults, text
from portico.workflows.core.plan import Plan
from portico.workflows.core.plan_report import StepStatus, WorkflowStatus
from portico.workflows.run_context import SealedOutputs
from tests.engine.journals import Through
from tests.gateway.open_room import DELETE, WRITE
from tests.workflows.plan_room import ANA, Died, PlanRoom, plan, step, step_of


def whole() -> Plan:
    """Reads, a list, a write an item, a stand-in, and two that somebody must approve."""
    return plan(
        step("first"),
        step(
            "each",
            WRITE,
            for_each={"in": {"$from": "first.json.list"}},
            arguments={"path": {"$text": "/each-${item}"}},
        ),
        step(
            "broken",
            arguments={"path": {"$from": "first.json.nothing"}},
            on_error={"fallback": "instead"},
        ),
        step("instead", WRITE),
        step("gone", DELETE, after=["first"]),
        step("last", WRITE, arguments={"path": {"$text": "/after-${gone.json.did}"}}),
        step("end", DELETE, after=["last", "each", "broken"]),
        output={
            "first": {"$from": "first.json.path"},
            "many": {"$from": "each.items | length(@)"},
            "did": {"$from": "gone.json.did"},
        },
    )


WRITES = {
    "write /each-a": 1,
    "write /each-b": 1,
    "write /instead": 1,
    "delete /gone": 1,
    "write /after-delete": 1,
    "delete /end": 1,
}
OUTPUT = {"first": "/first", "many": 2, "did": "delete"}


class Fuse:
    """Goes off once, before or after what it is put around has happened for the nth time."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.left, self.after, self.gone = at, after, False
        self.count = 0

    def before(self) -> None:
        self.count += 1
        if self.count - 1 == self.left and not self.after and not self.gone:
            self.gone = True
            raise Died

    def behind(self) -> None:
        if self.count - 1 == self.left and self.after and not self.gone:
            self.gone = True
            raise Died


class DyingJournal(Through):
    def __init__(self, room: PlanRoom, fuse: Fuse) -> None:
        super().__init__(room)
        self._fuse = fuse

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        self._fuse.before()
        done = await super().finish(taken, step, told)
        self._fuse.behind()
        return done

    async def settle(
        self,
        taken: ClaimedActivation,
        status: RunStatus,
        result: JsonValue,
        failure: Failure | None,
    ) -> bool:
        self._fuse.before()
        done = await super().settle(taken, status, result, failure)
        self._fuse.behind()
        return done


async def undisturbed() -> tuple[int, Any]:
    room, fuse = PlanRoom(), Fuse(-1, after=False)
    run = await room.start(whole())
    await room.leg(run, DyingJournal(room, fuse))
    report = await room.over(run)
    assert report.status is WorkflowStatus.DONE, report
    assert room.writes == WRITES
    assert report.output == OUTPUT
    return fuse.count, report


async def test_undisturbed_it_does_everything_once() -> None:
    many, report = await undisturbed()

    assert many > 8
    states = {each.id: each.state for each in report.steps}
    assert states.pop("broken") is StepStatus.FAILED
    assert set(states.values()) == {StepStatus.DONE}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("moments", [range(8), range(8, 16)])
async def test_killed_before_or_after_any_note_nothing_is_done_twice(
    moments: range, *, after: bool
) -> None:
    for at in moments:
        room, fuse = PlanRoom(), Fuse(at, after=after)
        run = await room.start(whole())

        await room.killed(run, DyingJournal(room, fuse))
        report = await room.over(run)

        assert room.writes == WRITES, at
        assert report.output == OUTPUT, at


class DyingHistory:
    """Around the record of calls: dies around the intent."""

    def __init__(self, inner: MemoryCallHistory, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    def __getattr__(self, name: str) -> Any:  # whatever it has
        return getattr(self._inner, name)

    async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
        self._fuse.before()
        await self._inner.begin_once(caller, call, claim)
        self._fuse.behind()


class DyingResults:
    """Around what is kept: dies between the effect and what came of it."""

    def __init__(self, inner: MemoryResults, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    def __getattr__(self, name: str) -> Any:  # whatever it has
        return getattr(self._inner, name)

    async def keep(
        self, caller: Principal, result: ResultId, kept: StoredResult, until: datetime
    ) -> None:
        self._fuse.before()
        await self._inner.keep(caller, result, kept, until)
        self._fuse.behind()


def dying(room: PlanRoom, where: str, fuse: Fuse) -> None:
    """Only the calls of the run, not those of whoever makes what was approved."""
    call_tool: CallTool = room.http.call_tool
    calls = room.doors.step_call(call_tool, room.gateway.catalogues)
    if where == "intent":
        history: Any = DyingHistory(MemoryCallHistory(room.world, room.clock), fuse)
        call_tool = replace(call_tool, record=replace(call_tool.record, history=history))
    if where == "effect":
        call_tool = replace(call_tool, upstreams=_DyingUpstreams(room.upstreams, fuse))
    step_call = replace(calls, make=replace(calls.make, call_tool=call_tool))
    side = room.doors.engines.durable
    if where == "answer":
        results: Any = DyingResults(MemoryResults(room.world), fuse)
        side = replace(
            side,
            outputs=lambda: SealedOutputs(results, room.clock, room.entropy, timedelta(days=1)),
        )
    doors = replace(room.doors, engines=replace(room.doors.engines, durable=side))
    room.kinds[1] = doors.kind(step_call, side, room.ends.append)


class _DyingUpstreams:
    def __init__(self, inner: Any, fuse: Fuse) -> None:  # whatever it has
        self._inner, self._fuse = inner, fuse

    def __getattr__(self, name: str) -> Any:  # whatever it has
        return getattr(self._inner, name)

    async def call(self, *given: Any, **more: Any) -> ToolResult:  # handed on
        self._fuse.before()
        answer: ToolResult = await self._inner.call(*given, **more)
        self._fuse.behind()
        return answer


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("where", ["intent", "effect", "answer"])
async def test_killed_between_intent_effect_and_answer_nothing_is_done_twice(
    where: str, *, after: bool
) -> None:
    for at in range(8):
        room, fuse = PlanRoom(), Fuse(at, after=after)
        dying(room, where, fuse)
        run = await room.start(whole())

        await room.killed(run)
        report = await room.over(run)

        assert room.writes == WRITES, at
        assert report.output == OUTPUT, at


class _Noting(Through):
    """Says when the step is noted that stops everything."""

    def __init__(self, room: PlanRoom, noted: asyncio.Event) -> None:
        super().__init__(room)
        self._noted = noted

    async def finish(self, taken: ClaimedActivation, step: Step, told: NewEntry) -> bool:
        done = await super().finish(taken, step, told)
        if step.name == "bad":
            self._noted.set()
        return done


class _DyingLater:
    """What fails does so once something was changed, and whoever did that dies once it is noted."""

    def __init__(self, inner: Any, noted: asyncio.Event) -> None:  # any
        self._inner, self._noted, self._changed = inner, noted, asyncio.Event()

    def __getattr__(self, name: str) -> Any:  # whatever it has
        return getattr(self._inner, name)

    async def call(
        self, target: Any, tool: str, given: Any, **more: Any
    ) -> ToolResult:  # handed on
        answer: ToolResult = await self._inner.call(target, tool, given, **more)
        if tool == "write":
            self._changed.set()
            await self._noted.wait()
            raise Died
        if given["path"] == "/bad":
            await self._changed.wait()
            return text("no", failed=True)
        return answer


async def test_what_was_under_way_when_all_was_stopped_is_said_to_be_unknown() -> None:
    room, noted = PlanRoom(), asyncio.Event()
    run = await room.start(
        plan(step("bad"), step("a"), step("b", after=["a"]), step("write", WRITE, after=["b"]))
    )
    calls = room.doors.step_call(room.http.call_tool, room.gateway.catalogues)
    dies: Any = _DyingLater(room.upstreams, noted)
    call_tool = replace(room.http.call_tool, upstreams=dies)
    dying_calls = replace(calls, make=replace(calls.make, call_tool=call_tool))
    whole_one = room.kinds[1]
    room.kinds[1] = room.doors.kind(dying_calls, room.doors.engines.durable, room.ends.append)
    await room.killed(run, _Noting(room, noted))
    room.kinds[1] = whole_one

    await room.leg(run)

    report = await room.show(run)
    assert room.writes == {"write /write": 1}
    assert report.status is WorkflowStatus.FAILED
    assert step_of(report, "write").state is StepStatus.UNCERTAIN
    await room.resumed(run)
    again = await room.show(run)
    assert step_of(again, "write").state is StepStatus.UNCERTAIN
    assert not again.over
    assert room.writes == {"write /write": 1}


async def test_a_write_under_way_when_it_was_cancelled_is_uncertain(room: PlanRoom) -> None:
    run = await room.start(plan(step("write", WRITE), step("read", after=["write"])))
    dying(room, "effect", Fuse(0, after=True))
    await room.killed(run)

    await room.use.cancel_workflow(await room.bot(), run)

    report = await room.show(run)
    assert report.status is WorkflowStatus.CANCELLED
    assert [each.state for each in report.steps] == [StepStatus.UNCERTAIN, StepStatus.SKIPPED]


_WHOLE = Rule(name="whole", ruling=Ruling.ALLOW, tools=("workflows.*",), source=RuleSource.FILE)
INNER: JsonObject = {
    "inputs": {"to": {"type": "string"}},
    "required": ["to"],
    "steps": [
        step("read"),
        step("write", WRITE, arguments={"path": {"$from": "inputs.to"}}, after=["read"]),
        step("gone", DELETE, arguments={"path": {"$text": "/of${inputs.to}"}}, after=["write"]),
    ],
    "output": {"$from": "gone.json.path"},
}
MIDDLE: JsonObject = {
    "steps": [
        {"id": "inner", "tool": "workflows.inner", "arguments": {"to": "/a"}},
        step("after", WRITE, arguments={"path": {"$text": "/after${inner.text}"}}),
    ],
    "output": {"$from": "inner.text"},
}
INNER_WRITES = {
    "write /a": 1,
    "delete /of/a": 1,
    "write /after/of/a": 1,
    "write /b": 1,
    "delete /of/b": 1,
}


def nesting() -> Plan:
    return plan(
        {"id": "deep", "tool": "workflows.middle"},
        {
            "id": "each",
            "tool": "workflows.inner",
            "for_each": {"in": ["/b"]},
            "arguments": {"to": {"$from": "item"}},
        },
        output={"deep": {"$from": "deep.text"}, "each": {"$from": "each.items[].text"}},
    )


async def killed_at(number: int, *, after: bool) -> tuple[Fuse, object]:
    room, fuse = PlanRoom(rules=[_WHOLE]), Fuse(number, after=after)
    for name, document in (("inner", INNER), ("middle", MIDDLE)):
        await room.http.saved.save_workflow(ANA, name, document)
    run = await room.start(nesting())
    await room.killed(run, DyingJournal(room, fuse))
    report = await room.over(run)
    assert report.status is WorkflowStatus.DONE, report
    assert room.writes == INNER_WRITES
    return fuse, report.output


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_killed_at_any_of_its_steps_it_gives_the_same_and_writes_once(*, after: bool) -> None:
    undisturbed, output = await killed_at(-1, after=after)

    assert output == {"deep": "/of/a", "each": ["/of/b"]}
    assert undisturbed.count > 5
    for number in range(undisturbed.count):
        fuse, found = await killed_at(number, after=after)
        assert fuse.gone
        assert found == output
