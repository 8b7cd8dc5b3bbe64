"""That a run made a call is as secret as the run is, whatever the tool's server is."""

from portico.kernel.label import Label, Level
from tests.gateway.open_room import DELETE, READ, WRITE
from tests.gateway.workflows.plan_room import ANA, PlanRoom, plan, step

SECRET = Label(Level.TEAM)


async def labels(room: PlanRoom) -> dict[str, Label]:
    calls = await room.approvals.history.page(ANA, ref=None, before=None, limit=10)
    return {str(call.ref): call.label for call in calls}


async def test_calls_of_a_secret_run_are_as_secret() -> None:
    room = PlanRoom()
    its = plan(step("a"), step("b", WRITE, arguments={"path": "/x"}), step("gone", DELETE))

    run = await room.start(its, label=SECRET)
    await room.over(run)

    assert await labels(room) == {str(each.ref): SECRET for each in (READ, WRITE, DELETE)}


async def test_those_of_others_are_as_secret_as_their_servers() -> None:
    room = PlanRoom()

    await room.ran(plan(step("a")))

    assert await labels(room) == {str(READ.ref): Label(Level.PUBLIC)}
