"""Plans carried out in memory, from start to end."""

from portico.gateway.core.plan.report import StepStanding, WorkflowStatus
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.gateway.workflows.plan_room import PlanRoom, plan, step


async def test_a_step_is_given_what_an_earlier_one_gave() -> None:
    room = PlanRoom()
    chain = plan(
        step("read"),
        step("write", WRITE, arguments={"path": {"$from": "read.json.path"}}),
        output={"$from": "write.json.path"},
    )

    report = await room.ran(chain)

    assert (report.status, report.output) == (WorkflowStatus.DONE, "/read")
    assert room.made == {"read /read": 1, "write /read": 1}
    assert [each.state for each in report.steps] == [StepStanding.DONE] * 2


async def test_a_plan_that_only_reads_runs_in_this_process_alone() -> None:
    room = PlanRoom()

    report = await room.quick(plan(step("a"), step("b", READ, after=["a"])))

    assert report.status is WorkflowStatus.DONE
    assert room.made == {"read /a": 1, "read /b": 1}
    assert not room.world.results


async def test_what_needs_approval_waits_for_it_and_goes_on() -> None:
    room = PlanRoom()
    run = await room.start(plan(step("gone", DELETE), step("read", after=["gone"])))
    await room.leg(run)
    waiting = await room.show(run)

    await room.answer(waiting, "gone")
    await room.errand(waiting, "gone")
    await room.leg(run)

    assert waiting.status is WorkflowStatus.WAITING
    assert [each.state for each in waiting.steps] == [StepStanding.WAITING, StepStanding.PENDING]
    report = await room.show(run)
    assert report.status is WorkflowStatus.DONE
    assert room.made == {"delete /gone": 1, "read /read": 1}
