"""Whoever started a run sees how it stands, and nobody else that it is there."""

from dataclasses import replace
from uuid import UUID

import pytest

from portico.engine.core.errors import RunNotFound
from portico.gateway.approved_call import APPROVED_CALL
from portico.gateway.core.call import Answer
from portico.gateway.workflows.look_at_own import LookAtOwn
from portico.kernel.ids import ApprovalId, ContextId, RunId
from tests.gateway.open_room import DELETE, READ
from tests.gateway.workflows.plan_room import ANA, BEN, PlanRoom, plan, step, step_of


def own(room: PlanRoom) -> LookAtOwn:
    return LookAtOwn(engines=room.doors.engines, show=room.doors.show())


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
    room.upstreams.replies[READ.ref] = Answer([{"type": "text", "text": "no"}], failed=True)
    report = await room.ran(plan(step("look")))

    trouble = step_of(report, "look").error
    assert trouble is not None

    run = await own(room).one(await room.bot(), RunId.parse(report.run))

    assert run.status == "failed"
    assert run.steps[0].error == trouble.code


async def test_an_agent_that_acts_for_several_is_told_of_what_it_began_in_this_task() -> None:
    room = PlanRoom()
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
