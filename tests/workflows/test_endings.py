"""What fails, what is left out because of it, and how a plan is mended and taken up again."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.engine.core.errors import RunNotFound, StepNotFound
from portico.gateway.core.catalog_snapshot import Tool
from portico.gateway.core.errors import UpstreamDown, UpstreamTimedOut
from portico.guard.core.approvals import AnswerKind, Resolution, Status
from portico.guard.core.errors import NotPermitted, PersonNeeded
from portico.interfaces.http.approvals import approval_out
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId, RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.testing.gateway import text
from portico.testing.guard import MemoryKeys
from portico.workflows.core.errors import NotInline, NotUncertain
from portico.workflows.core.plan_report import Items, StepStatus, WorkflowReport, WorkflowStatus
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.workflows.plan_room import ANA, BEN, PlanRoom, plan, states, step, step_of

DONE, FAILED, SKIPPED = StepStatus.DONE, StepStatus.FAILED, StepStatus.SKIPPED


async def test_a_failed_step_stops_the_plan_and_only_its_caller_reads_why(room: PlanRoom) -> None:
    room.upstreams.replies[READ.ref] = text("no such file: secret.txt", failed=True)
    run = await room.start(plan(step("read"), step("write", WRITE, after=["read"])))

    ended = await room.leg(run)

    report = await room.show(run)
    assert report.status is WorkflowStatus.FAILED
    assert states(report) == {"read": FAILED, "write": SKIPPED}
    assert step_of(report, "write").why == "the plan was stopped by 'read'"
    assert report.error is not None
    assert (report.error.code, report.error.step) == ("step_failed", "read")
    assert step_of(report, "read").handle is not None
    assert "secret.txt" in str(step_of(report, "read").why)
    assert "secret.txt" not in str(ended) + str(await room.runs.steps(ANA, run))
    assert not room.writes
    [line] = await room.use.list_workflows(ANA, limit=10)
    assert (line.done, line.over, line.steps) == (0, 2, 2)


async def test_taken_up_again_it_tries_what_failed_and_keeps_what_is_done(room: PlanRoom) -> None:
    fine = room.upstreams.replies[WRITE.ref]
    room.upstreams.replies[WRITE.ref] = text("full", failed=True)
    run = await room.run(
        plan(step("read"), step("write", WRITE, after=["read"]), step("end", after=["write"]))
    )
    room.upstreams.replies[WRITE.ref] = fine

    await room.resumed(run)

    assert (await room.show(run)).status is WorkflowStatus.DONE
    assert room.made == {"read /read": 1, "write /write": 1, "read /end": 1}


async def test_a_step_that_may_fail_is_left_out_with_what_needs_it(room: PlanRoom) -> None:
    report = await room.ran(
        plan(
            step("odd", arguments={"path": {"$from": "first.json.none"}}, on_error="skip"),
            step("first"),
            step("needs", arguments={"path": {"$from": "odd.text"}}),
            step("not", when="first.json.none"),
        )
    )

    assert report.status is WorkflowStatus.PARTIAL
    assert states(report) == {"odd": FAILED, "first": DONE, "needs": SKIPPED, "not": SKIPPED}
    assert step_of(report, "not").why == "its condition is not met"
    odd = step_of(report, "odd").error
    assert (odd and odd.code) == "missing_value"
    told = await room.told(_id(report))
    skipped = {str(facts["step"]) for type_, facts in told if type_ == "workflow.step_skipped"}
    assert skipped == {"needs", "not"}


async def test_items_that_a_stopped_plan_left_are_done_when_resumed(room: PlanRoom) -> None:
    room.upstreams.replies[READ.ref] = [text("no such file", failed=True), text("fine")]
    each = {"in": [f"/{number}" for number in range(20)], "at_once": 1}
    path: JsonObject = {"path": {"$from": "item"}}
    writing = step("all", WRITE, arguments=path, for_each=each, on_error="skip")

    stopped = await room.ran(plan(writing, step("read")))

    made = sum(room.writes.values())
    assert made < 20
    assert states(stopped) == {"all": SKIPPED, "read": FAILED}
    assert step_of(stopped, "all").items == Items(20, made, 0)

    await room.resumed(_id(stopped))

    report = await room.show(_id(stopped))
    assert step_of(report, "all").items == Items(20, 20, 0)
    assert set(room.writes.values()) == {1}


async def test_a_read_is_tried_again_as_often_as_it_may(
    room: PlanRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.workflows.step_calls._FIRST_PAUSE", 0.0)
    fine: Any = room.upstreams.replies[READ.ref]
    room.upstreams.replies[READ.ref] = [text("busy", failed=True), text("busy", failed=True), fine]

    report = await room.ran(plan(step("read", tries=3)))

    assert report.status is WorkflowStatus.DONE
    assert step_of(report, "read").tries == 3
    told = [facts for type_, facts in await room.told(_id(report)) if "retried" in type_]
    assert [(it["attempt"], it["code"]) for it in told] == [(1, "tool_failed"), (2, "tool_failed")]


@pytest.mark.parametrize(
    "error",
    [UpstreamTimedOut("files.write", 5.0), UpstreamDown("files", "it broke off", reached=True)],
)
@pytest.mark.parametrize("how", list(Resolution))
async def test_a_write_of_which_nobody_knows_waits_for_a_persons_word(
    room: PlanRoom, error: PorticoError, how: Resolution
) -> None:
    fine: Any = room.upstreams.replies[WRITE.ref]
    room.upstreams.replies[WRITE.ref] = [error, fine]
    read = step("read", arguments={"path": {"$from": "write.text", "default": "/known"}})
    run = await room.run(plan(step("write", WRITE), read))
    waiting = await room.show(run)

    await room.resolved(run, "write", how)

    assert waiting.status is WorkflowStatus.WAITING
    assert waiting.for_people
    assert step_of(waiting, "write").state is StepStatus.UNCERTAIN
    written = SKIPPED if how is Resolution.SKIP else DONE
    assert states(await room.show(run)) == {"write": written, "read": DONE}
    assert room.made["write /write"] == (how is Resolution.RETRY)
    assert room.made["read /known"] == (how is not Resolution.RETRY)
    with pytest.raises(NotUncertain):
        await room.resolve(run, "write", how)


async def test_only_whoever_began_it_is_told_what_an_unknown_call_was_given(room: PlanRoom) -> None:
    room.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files.write", 5.0)
    each = {"for_each": {"in": ["/a", "/b"]}, "arguments": {"path": {"$from": "item"}}}
    run = await room.run(plan(step("write", WRITE), step("many", WRITE, **each)))
    await room.resolved(run, "write", Resolution.RETRY)

    report = await room.show(run)

    told = {call: it["arguments"] for its in report.steps for call, it in its.called_with.items()}
    assert told == {
        "write": {"path": "/write"},
        "many[0]": {"path": "/a"},
        "many[1]": {"path": "/b"},
    }
    written: Any = report.as_json()
    assert written["steps"][0]["called_with"]["write"]["tool"] == "files.write"
    assert not any(found.called_with for found in (await room.show(run, by=BEN)).steps)


async def test_a_request_names_the_step_that_asks(room: PlanRoom) -> None:
    run = await room.run(plan(step("gone", DELETE)))
    asked = ApprovalId.parse(str(step_of(await room.show(run), "gone").approval))

    shown = approval_out(await room.http.approvals.show_approval(ANA, asked))

    assert (shown.run, shown.step) == (str(run), "gone")


@pytest.mark.parametrize("tool", [WRITE, DELETE])
async def test_what_an_unheard_call_answered_is_not_made_up(room: PlanRoom, tool: Tool) -> None:
    room.upstreams.replies[tool.ref] = UpstreamTimedOut(str(tool.ref), 5.0)
    read = step("read", arguments={"path": {"$from": "first.text"}})
    run = await room.run(plan(step("first", tool), read))
    if tool is DELETE:
        await room.everything_approved()

    await room.resolved(run, "first", Resolution.DONE)

    report = await room.show(run)
    assert states(report) == {"first": DONE, "read": FAILED}
    error = step_of(report, "read").error
    assert (error and error.code) == "missing_value"
    assert not room.made


async def test_only_a_person_who_may_answer_says_what_became_of_it(room: PlanRoom) -> None:
    room.upstreams.replies[WRITE.ref] = UpstreamTimedOut("files.write", 5.0)
    run = await room.run(plan(step("write", WRITE)))
    bot = await room.bot()

    with pytest.raises(NotPermitted):
        await room.use.resolve_step(bot, run, "write", Resolution.DONE)
    with pytest.raises(PersonNeeded):
        may = replace(bot, scopes=ANA.scopes)
        await room.use.resolve_step(may, run, "write", Resolution.DONE)
    with pytest.raises(NotUncertain):
        await room.resolve(run, "other", Resolution.DONE)


@pytest.mark.parametrize("kind", [AnswerKind.REJECT, AnswerKind.ONCE])
async def test_what_is_rejected_fails_its_step_and_asked_again_when_taken_up(
    room: PlanRoom, kind: AnswerKind
) -> None:
    run = await room.run(plan(step("gone", DELETE)))
    await room.answer(await room.show(run), "gone", AnswerKind.REJECT, reason="no")
    failed = await room.leg(run)

    await room.resumed(run)
    again = await room.show(run)
    await room.answer(again, "gone", kind)
    await room.errand(again, "gone")
    await room.leg(run)

    assert (failed.failure and failed.failure.step) == "gone~approved"
    assert room.made["delete /gone"] == (kind is AnswerKind.ONCE)
    done = {AnswerKind.ONCE: WorkflowStatus.DONE, AnswerKind.REJECT: WorkflowStatus.FAILED}
    assert (await room.show(run)).status is done[kind]


async def test_cancelling_takes_back_what_was_asked(room: PlanRoom) -> None:
    run = await room.run(plan(step("gone", DELETE), step("read", after=["gone"])))
    waiting = await room.show(run)

    await room.use.cancel_workflow(await room.bot(), run)

    report = await room.show(run)
    assert (await room.asked(waiting, "gone")).status is Status.WITHDRAWN
    assert report.status is WorkflowStatus.CANCELLED
    assert step_of(report, "read").why == "the run was cancelled"


async def test_a_fork_does_anew_what_was_edited_and_what_hangs_on_it(room: PlanRoom) -> None:
    copy = step("c", WRITE, arguments={"path": {"$from": "a.json.path"}})
    run = await room.run(plan(step("a"), step("b", WRITE), copy, output={"$from": "c.json.path"}))
    bot, edited = await room.bot(), {"a": {"path": "/new"}}

    fork = (await room.use.fork_workflow(bot, run, arguments=edited)).run.id
    await room.leg(fork)

    report = await room.show(fork)
    assert (report.status, report.output) == (WorkflowStatus.DONE, "/new")
    assert report.forked_from == str(run)
    once = ("read /a", "write /b", "write /a", "read /new", "write /new")
    assert room.made == dict.fromkeys(once, 1)
    with pytest.raises(StepNotFound):
        await room.use.fork_workflow(bot, run, step="nothing")
    with pytest.raises(RunNotFound):
        await room.use.fork_workflow(BEN, run, step="a")


async def test_a_plan_that_only_reads_runs_in_this_process_alone(room: PlanRoom) -> None:
    report = await room.quick(plan(step("a"), step("b", after=["a"])))

    assert report.status is WorkflowStatus.DONE
    assert room.made == {"read /a": 1, "read /b": 1}
    assert not room.world.results
    with pytest.raises(NotInline):
        await room.quick(plan(step("write", WRITE)))


def _id(report: WorkflowReport) -> RunId:
    return RunId.parse(report.run)


async def test_others_see_how_steps_stand_and_not_a_single_value(room: PlanRoom) -> None:
    run = await room.run(plan(step("a"), output={"$from": "a.json.path"}))

    mine = await room.show(run, outputs=True)
    theirs = await room.show(run, by=ANA, outputs=True)

    assert (mine.output, theirs.output) == ("/a", None)
    assert mine.steps[0].output is not None
    assert theirs.steps[0].output is None
    assert (theirs.output_handle, theirs.steps[0].handle) == (None, None)
    assert (theirs.status, theirs.steps[0].state) == (WorkflowStatus.DONE, DONE)
    with pytest.raises(NotPermitted):
        await room.show(run, by=replace(ANA, scopes=frozenset()))


async def test_a_key_that_has_ended_calls_nothing_more(room: PlanRoom) -> None:
    run = await room.run(plan(step("gone", DELETE), step("write", WRITE, after=["gone"])))
    waiting = await room.show(run)
    bot = await room.bot()
    await MemoryKeys(room.world).revoke(ANA, room.key.id, room.clock.now())
    await room.use.cancel_workflow(bot, run)
    await room.use.resume_workflow(bot, run)

    ended = await room.leg(run)

    assert waiting.status is WorkflowStatus.WAITING
    assert (ended.failure and ended.failure.code) == "key_ended"
    assert not room.made


async def test_a_run_is_waited_for_until_it_ends_or_waits_for_people(room: PlanRoom) -> None:
    bot = await room.bot()
    quick = await room.start(plan(step("a")))
    asks = await room.start(plan(step("gone", DELETE)))

    async with room.working():
        done = await room.use.wait_for_workflow(bot, quick, patience=timedelta(seconds=5))
        waits = await room.use.wait_for_workflow(bot, asks, patience=timedelta(seconds=5))
    impatient = await room.use.wait_for_workflow(bot, asks, patience=timedelta(0))

    assert done.status is WorkflowStatus.DONE
    assert waits.status is WorkflowStatus.WAITING
    assert impatient.status is WorkflowStatus.WAITING


async def test_whoever_waits_hears_that_it_goes_on_also_while_no_step_ends(room: PlanRoom) -> None:
    run = await room.start(plan(step("a"), step("b")))
    heard: list[tuple[float, float | None]] = []

    class Hearing:
        async def progress(self, done: float, total: float | None, message: str | None) -> None:
            assert message is None
            heard.append((done, total))
            if len(heard) == 3:
                raise LookupError

    line: Any = Hearing()  # of a line it needs this alone
    wait = replace(room.use.wait_for_workflow, beat=timedelta(0))
    with pytest.raises(LookupError):
        await wait(await room.bot(), run, patience=timedelta(seconds=30), line=line)

    first, second, third = heard
    assert first == (0.0, 2.0)
    assert 0.0 < second[0] < third[0] < 1.0


async def test_workflows_are_listed_newest_first_with_how_far_they_are(room: PlanRoom) -> None:
    first = await room.start(plan(step("a"), name="mine"))
    second = await room.start(plan(step("gone", DELETE), step("b")))
    await room.leg(first)
    await room.leg(second)

    lines = await room.use.list_workflows(ANA, limit=10)

    assert [(each.run.id, each.name, each.done, each.over, each.steps) for each in lines] == [
        (second, None, 1, 1, 2),
        (first, "mine", 1, 1, 1),
    ]
    own = replace(await room.bot(), scopes=frozenset({"tools:call"}))
    assert len(await room.use.list_workflows(own, limit=10)) == 2
    other = replace(BEN, scopes=frozenset({"tools:call"}))
    assert await room.use.list_workflows(other, limit=10) == []


SECRET = Label(Level.TEAM)


@pytest.mark.parametrize("label", [SECRET, None])
async def test_calls_are_as_secret_as_their_run_or_as_their_servers(
    room: PlanRoom, label: Label | None
) -> None:
    run = await room.start(plan(step("a"), step("b", WRITE), step("gone", DELETE)), label=label)
    await room.over(run)

    calls = await room.approvals.history.page(ANA, ref=None, before=None, limit=10)
    expected = label or Label(Level.PUBLIC)
    assert {str(it.ref): it.label for it in calls} == {
        str(tool.ref): expected for tool in (READ, WRITE, DELETE)
    }
