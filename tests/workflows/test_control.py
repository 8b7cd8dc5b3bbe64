"""Stepping in: what was done is not done again, what was asked is asked for no more, and nobody
gets further by it than they would themselves."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from portico.engine.core.errors import LedElsewhere, TopicRefused
from portico.engine.core.runs import Run
from portico.engine.runs import CancelRun, ForkRun, ResumeRun
from portico.gateway.core.calls import Call, CallClaim, ToolResult
from portico.gateway.core.errors import UpstreamTimedOut
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Approval, Outcome, Resolution, Status, Via
from portico.guard.core.authentication import principal_of
from portico.guard.core.errors import Refused
from portico.guard.core.keys import ApiKey
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryKeyRing, MemoryKeys
from portico.workflows.core.errors import Unsettled
from portico.workflows.core.plan import InvalidPlan
from portico.workflows.core.plan_report import StepStatus, WorkflowStatus
from portico.workflows.execution import WORKFLOW
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.workflows.plan_room import ANA, BEN, DiesBefore, PlanRoom, plan, states, step, step_of

DONE, FAILED, WAITING = StepStatus.DONE, StepStatus.FAILED, StepStatus.WAITING


def failing(room: PlanRoom, path: str) -> set[str]:
    """Reads of these say that they failed; whoever clears it has mended them."""
    bad = {path}
    fine: Any = room.upstreams.replies[READ.ref]

    def answer(arguments: JsonObject) -> ToolResult:
        given: ToolResult = fine(arguments)
        return replace(given, failed=arguments["path"] in bad)

    room.upstreams.replies[READ.ref] = answer
    return bad


def requests(room: PlanRoom) -> list[Approval]:
    return [kept.approval for kept in room.world.approvals.values()]


async def approve(room: PlanRoom, approval: Approval) -> None:
    reply = Reply(kind=AnswerKind.ONCE, via=Via.CLI)
    await room.http.approvals.answer_approval(ANA, approval.id, reply)


async def other_key(room: PlanRoom, **more: Any) -> Principal:
    """Of the same agent."""
    await room.bot()
    key = ApiKey.mint(room.entropy)
    stored = replace(room.key, id=key.id, name="other", **more)
    await MemoryKeys(room.world).add(ANA, stored, key.digest(b"pepper"))
    holder = await MemoryKeyRing(room.world).find(stored.id)
    assert holder is not None
    return principal_of(holder)


async def test_the_engine_alone_steps_into_no_plan(room: PlanRoom) -> None:
    run = await room.run(plan(step("gone", DELETE)))
    led = [WORKFLOW]
    cancel = CancelRun(book=room.runs, runs=room.runs, queue=room.line, bus=room.bus, led=led)
    resume = ResumeRun(book=room.runs, runs=room.runs, queue=room.line, led=led)
    fork = ForkRun(
        book=room.runs,
        runs=room.runs,
        queue=room.line,
        clock=room.clock,
        entropy=room.entropy,
        led=led,
    )
    bot = replace(await room.bot(), scopes=ANA.scopes)

    for stepping_in in (cancel(bot, run), resume(bot, run), fork(bot, run, step="gone")):
        with pytest.raises(LedElsewhere, match="workflow"):
            await stepping_in

    assert (await room.show(run)).status is WorkflowStatus.WAITING


async def test_what_a_cancelled_run_asked_for_is_not_made_whoever_ended_it(room: PlanRoom) -> None:
    run = await room.run(plan(step("gone", DELETE)))
    report = await room.show(run)
    cancel = CancelRun(book=room.runs, runs=room.runs, queue=room.line, bus=room.bus)
    await cancel(ANA, run)

    await room.approved(report, "gone")

    asked = await room.asked(report, "gone")
    assert (asked.outcome, room.writes) == (Outcome.FAILED, {})
    assert "is over" in str(asked.error)
    await room.use.resume_workflow(await room.bot(), run)
    assert (await room.over(run)).status is WorkflowStatus.DONE
    assert room.writes == {"delete /gone": 1}


async def test_what_was_asked_and_not_noted_is_taken_back_too(room: PlanRoom) -> None:
    run = await room.start(plan(step("gone", DELETE)))
    await room.killed(run, DiesBefore(room, "gone"))

    await room.use.cancel_workflow(await room.bot(), run)

    assert [each.status for each in requests(room)] == [Status.WITHDRAWN]


async def test_what_was_made_while_nobody_noted_it_is_not_asked_for_anew(room: PlanRoom) -> None:
    run = await room.start(plan(step("gone", DELETE), step("read")))
    await room.killed(run, DiesBefore(room, "gone"))
    [asked] = requests(room)
    await approve(room, asked)
    await room.leg(asked.run)
    bot = await room.bot()
    await room.use.cancel_workflow(bot, run)

    with pytest.raises(Unsettled, match="gone"):
        await room.use.resume_workflow(bot, run)
    with pytest.raises(Unsettled, match="gone"):
        await room.use.fork_workflow(bot, run, step="read")

    assert room.writes == {"delete /gone": 1}


async def test_what_a_run_asked_and_lost_before_it_was_resumed_is_not_made(room: PlanRoom) -> None:
    """Whoever carried it out asked after it was cancelled, and nobody noted it."""
    run = await room.start(plan(step("gone", DELETE)))
    await room.killed(run, DiesBefore(room, "gone"))
    [late] = requests(room)
    bot = await room.bot()
    await room.runs.cancel(bot, run)
    await room.runs.resume(bot, run)
    await room.leg(run)

    await approve(room, late)
    await room.leg(late.run)

    assert room.writes == {}
    assert (await room.over(run)).status is WorkflowStatus.DONE
    assert room.writes == {"delete /gone": 1}


@pytest.mark.parametrize("made", [True, False])
async def test_what_was_approved_before_it_was_cancelled_is_not_asked_for_anew(
    room: PlanRoom, made: bool
) -> None:
    run = await room.run(plan(step("gone", DELETE), step("read", after=["gone"])))
    report = await room.show(run)
    await room.answer(report, "gone")
    if made:
        await room.errand(report, "gone")
    bot = await room.bot()
    await room.use.cancel_workflow(bot, run)

    await room.use.resume_workflow(bot, run)
    ended = await room.over(run)

    assert (ended.status, room.writes) == (WorkflowStatus.DONE, {"delete /gone": 1})
    assert len(requests(room)) == 1


async def test_a_fork_keeps_what_was_done_without_a_step_that_failed(room: PlanRoom) -> None:
    failing(room, "/maybe")
    given = {"path": {"$from": "maybe.json.path", "default": "/pay"}}
    run = await room.run(
        plan(step("maybe", on_error="skip"), step("pay", WRITE, arguments=given), step("note"))
    )

    edited = {"note": {"path": "/else"}}
    fork = await room.use.fork_workflow(await room.bot(), run, arguments=edited)
    await room.leg(fork.run.id)

    assert room.writes == {"write /pay": 1}
    assert room.made["read /else"] == 1


async def test_a_fork_tries_what_stopped_the_plan_again(room: PlanRoom) -> None:
    bad = failing(room, "/stop")
    run = await room.run(
        plan(step("pay", WRITE), step("stop", after=["pay"]), step("end", after=["stop"]))
    )
    bad.clear()

    fork = await room.use.fork_workflow(await room.bot(), run, step="end")
    await room.leg(fork.run.id)

    assert states(await room.show(fork.run.id)) == {"pay": DONE, "stop": DONE, "end": DONE}
    assert room.writes == {"write /pay": 1}


async def test_a_fork_of_one_that_waits_asks_for_itself(room: PlanRoom) -> None:
    run = await room.run(plan(step("gone", DELETE), step("note")))
    bot = await room.bot()

    fork = (await room.use.fork_workflow(bot, run, step="note")).run.id
    await room.leg(fork)
    first, second = await room.show(run), await room.show(fork)
    await room.use.cancel_workflow(bot, fork)

    assert step_of(first, "gone").approval != step_of(second, "gone").approval
    assert states(await room.show(run))["gone"] is WAITING
    await room.approved(first, "gone")
    assert (await room.over(run)).status is WorkflowStatus.DONE


async def test_a_fork_with_arguments_that_do_not_fit_is_not_begun(room: PlanRoom) -> None:
    run = await room.run(plan(step("read")))

    with pytest.raises(InvalidPlan) as bad:
        await room.use.fork_workflow(await room.bot(), run, arguments={"read": {"path": 5}})

    assert [fault.place for fault in bad.value.diagnostics] == ["/steps/0/arguments/path"]
    assert len(await room.runs.page(ANA, statuses=(), kind=None, before=None, limit=9)) == 1


async def test_a_fork_of_what_nobody_knows_waits_until_somebody_does(room: PlanRoom) -> None:
    room.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files.write", 5.0)
    run = await room.run(plan(step("pay", WRITE), step("note")))
    bot = await room.bot()

    with pytest.raises(Unsettled, match="pay"):
        await room.use.fork_workflow(bot, run, step="note")
    await room.resolved(run, "pay", Resolution.DONE)
    fork = (await room.use.fork_workflow(bot, run, step="note")).run.id
    await room.leg(fork)

    assert states(await room.show(fork)) == {"pay": DONE, "note": DONE}


async def test_a_fork_of_one_killed_in_a_write_does_not_make_it_again(room: PlanRoom) -> None:
    run = await room.start(plan(step("note"), step("pay", WRITE, after=["note"])))
    await room.killed(run, DiesBefore(room, "pay"))
    bot = await room.bot()
    await room.use.cancel_workflow(bot, run)

    with pytest.raises(Unsettled, match="pay"):
        await room.use.fork_workflow(bot, run)
    await room.use.fork_workflow(bot, run, step="note")  # whoever names it wants it anew


async def test_a_fork_is_as_secret_as_what_its_task_has_read(room: PlanRoom) -> None:
    run = await room.run(plan(step("a")))
    bot = await room.bot()
    await room.approvals.contexts.raise_taint(bot, Label(Level.CONFIDENTIAL), untrusted=False)

    with pytest.raises(TopicRefused):
        await room.use.fork_workflow(bot, run, arguments={"a": {"path": "/x"}})


async def test_a_fork_is_checked_as_a_plan_that_is_started(room: PlanRoom) -> None:
    run = await room.run(plan(step("a"), step("b", WRITE)))
    for server in [*room.world.servers]:
        del room.world.servers[server]

    with pytest.raises(InvalidPlan):
        await room.use.fork_workflow(await room.bot(), run, step="a")


async def test_who_resumes_a_run_lends_it_their_own_key_and_no_other(room: PlanRoom) -> None:
    bad = failing(room, "/stop")
    run = await room.run(plan(step("stop"), step("pay", WRITE, after=["stop"])))
    bad.clear()
    small = await other_key(room, tools=("files.read",))

    await room.use.resume_workflow(small, run)
    ended = await room.leg(run)

    assert room.writes == {}
    report = await room.show(run)
    assert states(report) == {"stop": DONE, "pay": FAILED}
    assert asker(ended) == small.key


async def test_a_key_gets_nothing_of_what_a_tool_gave_that_it_may_not_use(room: PlanRoom) -> None:
    run = await room.run(plan(step("a"), step("pay", WRITE), output={"$from": "a.json.path"}))
    small = await other_key(room, tools=("files.read",))

    seen, mine = await room.show(run, small, outputs=True), await room.show(run, outputs=True)

    assert [each.output for each in seen.steps] == [None, None]
    assert (seen.output, mine.output) == (None, "/a")
    assert states(seen) == states(mine)
    with pytest.raises(Refused, match=r"files\.write"):
        await room.use.fork_workflow(small, run, step="a")


async def test_who_speaks_for_others_resumes_a_run_as_who_started_it(room: PlanRoom) -> None:
    bad = failing(room, "/stop")
    run = await room.run(plan(step("stop")))
    bad.clear()

    await room.use.resume_workflow(ANA, run)
    ended = await room.leg(run)

    assert (await room.show(run)).status is WorkflowStatus.DONE
    assert asker(ended) == room.key.id


@pytest.mark.parametrize("how", ["resume", "fork"])
async def test_a_task_that_goes_on_with_anothers_has_read_it(room: PlanRoom, how: str) -> None:
    failing(room, "/stop")
    run = await room.run(plan(step("a"), step("stop", after=["a"])))
    bot, other = await room.bot(), await other_key(room)
    contexts = room.approvals.contexts
    await contexts.raise_taint(bot, Label(Level.PUBLIC), untrusted=True)

    if how == "resume":
        await room.use.resume_workflow(other, run)
    else:
        await room.use.fork_workflow(other, run, step="stop")

    assert (await contexts.get(other)).untrusted


async def test_an_inner_call_is_resolved_by_who_may_use_its_own_tool(room: PlanRoom) -> None:
    await room.save(inner={"steps": [step("pay", WRITE)]})
    room.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files.write", 5.0)
    run = await room.run(plan({"id": "outer", "tool": "workflows.inner"}))
    narrow = replace(BEN, tools=(("workflows.*",),))

    for name in ("outer", "outer/pay"):
        with pytest.raises(Refused, match=r"files\.write"):
            await room.use.resolve_step(narrow, run, name, Resolution.RETRY)

    await room.resolved(run, "outer", Resolution.DONE)
    assert (await room.over(run)).status is WorkflowStatus.DONE


async def test_somebody_who_still_carries_out_an_earlier_leg_makes_no_call(room: PlanRoom) -> None:
    """Its process was paused before the call was begun, and nobody could tell it."""
    run = await room.start(plan(step("pay", WRITE)))
    bot = await room.bot()
    paused, go_on = asyncio.Event(), asyncio.Event()
    history = room.approvals.history

    class Paused:
        """Of the first leg."""

        def __getattr__(self, name: str) -> Any:
            return getattr(history, name)

        async def begin_once(self, caller: Principal, call: Call, claim: CallClaim) -> None:
            if claim.leg == 1:
                paused.set()
                await go_on.wait()
            await history.begin_once(caller, call, claim)

    object.__setattr__(room.http.call_tool.record, "history", Paused())
    first = asyncio.create_task(room.leg(run))
    await paused.wait()
    await room.runs.cancel(bot, run)
    await room.use.resume_workflow(bot, run)
    await room.leg(run)
    go_on.set()
    await asyncio.wait([first])

    assert room.writes == {"write /pay": 1}
    assert (await room.show(run)).status is WorkflowStatus.DONE


def asker(run: Run) -> object:
    given = run.input["asker"]
    assert isinstance(given, dict)
    return given["key"]
