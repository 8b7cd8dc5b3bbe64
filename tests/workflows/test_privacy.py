"""What others learn of somebody's run: how it stands, and no word of what it was given or gave."""

import json
from dataclasses import replace
from typing import NoReturn
from uuid import UUID

import pytest

from portico.engine.core.errors import RunNotFound
from portico.gateway.approved_calls import APPROVED_CALL
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.errors import UpstreamRefused
from portico.guard.core.approvals import AnswerKind
from portico.kernel.ids import ApprovalId, ContextId, RunId
from portico.kernel.json import JsonObject
from portico.workflows.core.plan_report import Mode, WorkflowReport
from portico.workflows.core.texts import words
from portico.workflows.run_queries import QueryOwnRuns
from tests.gateway.open_room import DELETE, READ
from tests.workflows.plan_room import ANA, BEN, PlanRoom, plan, step, step_of

_CANARY = "SECRET-CANARY"


def _refuse(arguments: JsonObject) -> NoReturn:
    raise UpstreamRefused("files", -32000, f"no such customer: {arguments['path']} {_CANARY}")


def _room() -> PlanRoom:
    room = PlanRoom()
    room.upstreams.replies[READ.ref] = _refuse
    return room


async def _seen_by_others(room: PlanRoom, run: RunId) -> str:
    """All of it: the report, the run, its journal and its events."""
    report = await room.show(run, BEN)
    found = await room.runs.get(BEN, run)
    journal = await room.runs.steps(BEN, run)
    events = await room.told(run)
    return json.dumps([report.as_json(), str(found), str(journal), str(events)])


def _why(report: WorkflowReport, name: str) -> str | None:
    found = report.step(name)
    assert found is not None
    return found.why


async def test_a_servers_words_are_told_to_nobody_but_the_caller() -> None:
    room = _room()
    run = await room.run(plan(step("first", arguments={"path": "/SECRET-ARG"})))

    seen = await _seen_by_others(room, run)
    mine = await room.show(run)
    theirs = await room.show(run, BEN)

    assert "upstream_refused" in seen
    assert "SECRET" not in seen
    assert _why(theirs, "first") == "The server refuses what it was asked for"
    assert theirs.error is not None
    assert theirs.error.message.endswith("failed: The server refuses what it was asked for")
    assert _CANARY in str(_why(mine, "first"))
    assert mine.error is not None
    assert mine.error.message.startswith("The step 'first' failed: The server 'files' refuses")


async def test_so_is_why_somebody_said_no(room: PlanRoom) -> None:
    run = await room.run(plan(step("gone", DELETE)))
    await room.answer(await room.show(run), "gone", AnswerKind.REJECT, reason=_CANARY)
    await room.leg(run)

    assert "SECRET" not in await _seen_by_others(room, run)
    assert _CANARY in str(_why(await room.show(run), "gone"))


async def test_so_is_what_a_step_or_the_output_could_not_be_given(room: PlanRoom) -> None:
    """The plan is its caller's alone, and with it the expressions that failed."""
    nothing: JsonObject = {"$from": "first.json.nothing.secretly"}
    given = await room.run(plan(step("first"), step("second", arguments={"path": nothing})))
    gives = await room.run(plan(step("first"), output=nothing))

    for run in (given, gives):
        assert "secretly" not in await _seen_by_others(room, run)
    assert "secretly" in str(_why(await room.show(given), "second"))


async def test_so_is_what_failed_in_this_process_alone() -> None:
    room = _room()
    report = await room.quick(plan(step("first", arguments={"path": "/SECRET-ARG"})))
    side = room.doors.engines.inline
    run = RunId.parse(report.run)

    assert report.mode is Mode.INLINE
    assert _CANARY in str(_why(report, "first"))
    assert "SECRET" not in str(await side.book.steps(ANA, run))
    assert "SECRET" not in str(await side.book.get(ANA, run))


async def test_whoever_reads_the_words_takes_them_into_their_task() -> None:
    """As they would what a step gave."""
    room = _room()
    run = await room.run(plan(step("first")))
    elsewhere = replace(await room.bot(), key=None)
    before = await room.approvals.contexts.get(elsewhere)

    await room.show(run, by=elsewhere)

    after = await room.approvals.contexts.get(elsewhere)
    assert (before.untrusted, after.untrusted) == (False, True)


async def test_what_a_tool_itself_says_of_its_failure_is_told_at_once(room: PlanRoom) -> None:
    """So that no model has to ask for it in another turn."""
    said = ToolResult([{"type": "text", "text": f"no such file {_CANARY}"}], failed=True)
    room.upstreams.replies[READ.ref] = said
    run = await room.run(plan(step("first")))

    mine = await room.show(run)

    assert _why(mine, "first") == f"files.read says that it failed: no such file {_CANARY}"
    assert _CANARY in words(mine)
    assert _CANARY not in await _seen_by_others(room, run)


def own(room: PlanRoom) -> QueryOwnRuns:
    return QueryOwnRuns(engines=room.doors.engines, show=room.doors.show())


async def test_a_plan_is_told_step_by_step_without_a_value(room: PlanRoom) -> None:
    report = await room.ran(plan(step("look"), step("drop", DELETE, after=["look"])))

    run = await own(room).one(await room.bot(), RunId.parse(report.run))

    assert (run.kind, run.status, run.finished_at) == ("workflow", "waiting", None)
    assert [(each.name, each.tool, each.state) for each in run.steps] == [
        ("look", "files.read", "done"),
        ("drop", "files.delete", "waiting"),
    ]
    assert run.steps[1].approval is not None
    assert run.steps[0].seconds is not None


async def test_another_kind_of_run_is_told_by_its_journal(room: PlanRoom) -> None:
    report = await room.ran(plan(step("drop", DELETE)))
    approval = await room.approvals.approvals.get(
        ANA, ApprovalId.parse(str(step_of(report, "drop").approval))
    )

    run = await own(room).one(await room.bot(), approval.run)

    assert run.kind == APPROVED_CALL
    assert run.name is None


async def test_that_of_another_does_not_exist(room: PlanRoom) -> None:
    report = await room.ran(plan(step("look")))

    with pytest.raises(RunNotFound):
        await own(room).one(BEN, RunId.parse(report.run))
    assert await own(room).latest(BEN, limit=5) == []


async def test_the_latest_come_first_and_without_their_steps(room: PlanRoom) -> None:
    first = await room.ran(plan(step("look")))
    second = await room.ran(plan(step("look")))

    found = await own(room).latest(await room.bot(), limit=5)

    assert [str(run.id) for run in found] == [second.run, first.run]
    assert all(run.steps == () for run in found)


async def test_what_went_wrong_is_told_by_its_code(room: PlanRoom) -> None:
    room.upstreams.replies[READ.ref] = ToolResult([{"type": "text", "text": "no"}], failed=True)
    report = await room.ran(plan(step("look")))

    trouble = step_of(report, "look").error
    assert trouble is not None

    run = await own(room).one(await room.bot(), RunId.parse(report.run))

    assert run.status == "failed"
    assert run.steps[0].error == trouble.code


async def test_who_acts_for_several_is_told_of_what_it_began_in_this_task(room: PlanRoom) -> None:
    bot = await room.bot()
    here, elsewhere = (ContextId(UUID(int=number)) for number in (1, 2))
    found = await room.runs.get(ANA, await room.start(plan(step("look"))))
    run = RunId(UUID(int=3))
    mine = {**found.input, "asker": {"key": None, "context": str(here)}}
    await room.runs.add(bot, replace(found, id=run, input=mine), "mine")

    acting = replace(bot, key=None, context=here)
    other = replace(bot, key=None, context=elsewhere)

    assert [each.id for each in await own(room).latest(acting, limit=5)] == [run]
    assert (await own(room).one(acting, run)).id == run
    assert await own(room).latest(other, limit=5) == []
    with pytest.raises(RunNotFound):
        await own(room).one(other, run)
