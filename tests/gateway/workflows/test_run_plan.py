"""Plans carried out in memory, from start to end, and how secret their calls are."""

from portico.gateway.core.plan.report import StepStanding, WorkflowStatus
from portico.kernel.label import Label, Level
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.gateway.workflows.plan_room import ANA, PlanRoom, plan, step


async def test_a_step_is_given_what_an_earlier_one_gave(room: PlanRoom) -> None:
    chain = plan(
        step("read"),
        step("write", WRITE, arguments={"path": {"$from": "read.json.path"}}),
        output={"$from": "write.json.path"},
    )

    report = await room.ran(chain)

    assert (report.status, report.output) == (WorkflowStatus.DONE, "/read")
    assert room.made == {"read /read": 1, "write /read": 1}
    assert [each.state for each in report.steps] == [StepStanding.DONE] * 2


async def test_a_plan_that_only_reads_runs_in_this_process_alone(room: PlanRoom) -> None:
    report = await room.quick(plan(step("a"), step("b", READ, after=["a"])))

    assert report.status is WorkflowStatus.DONE
    assert room.made == {"read /a": 1, "read /b": 1}
    assert not room.world.results


SECRET = Label(Level.TEAM)


async def labels(room: PlanRoom) -> dict[str, Label]:
    calls = await room.approvals.history.page(ANA, ref=None, before=None, limit=10)
    return {str(call.ref): call.label for call in calls}


async def test_calls_of_a_secret_run_are_as_secret(room: PlanRoom) -> None:
    its = plan(step("a"), step("b", WRITE, arguments={"path": "/x"}), step("gone", DELETE))

    run = await room.start(its, label=SECRET)
    await room.over(run)

    assert await labels(room) == {str(each.ref): SECRET for each in (READ, WRITE, DELETE)}


async def test_those_of_others_are_as_secret_as_their_servers(room: PlanRoom) -> None:
    await room.ran(plan(step("a")))

    assert await labels(room) == {str(READ.ref): Label(Level.PUBLIC)}
