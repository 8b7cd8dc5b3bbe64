"""What a run waits for, answered by whoever started it."""

from dataclasses import replace

import pytest

from portico.agents.answer_interrupts import AnswerInterrupts
from portico.agents.core.errors import AgentRunNotFound
from portico.gateway.core.errors import BadArguments
from portico.guard.answer_approval import Reply
from portico.guard.core.approval import AnswerKind, Status, Via
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Scope
from portico.kernel.ids import ApprovalId, RunId
from portico.testing.agents import a_call, says, wants
from tests.agents.town import ANA, BEN, Town

DELETES = wants(a_call("files__delete", path="/a"))
YES = Reply(kind=AnswerKind.ONCE, via=Via.REST)
NO = Reply(kind=AnswerKind.REJECT, via=Via.REST)


async def waiting() -> tuple[Town, AnswerInterrupts, RunId, ApprovalId]:
    town = Town(DELETES, says("Well."))
    run = (await town.ran_agent()).run.run
    answer = AnswerInterrupts(
        answer_approval=town.gateway.over_http.approvals.answer_approval, traces=town.traces
    )
    return town, answer, run, (await town.asked(run)).id


@pytest.mark.parametrize(("reply", "status"), [(YES, Status.APPROVED), (NO, Status.REJECTED)])
async def test_an_answer_is_the_starters(reply: Reply, status: Status) -> None:
    town, answer, run, approval = await waiting()

    left = await answer(ANA, run, "clerk", [(approval, reply)])
    asked = await town.asked(run)

    assert left == {}
    assert asked.status is status
    assert asked.answered is not None
    assert asked.answered.by == ANA.id


async def test_what_somebody_has_answered_before_is_answered() -> None:
    town, answer, run, approval = await waiting()
    await answer(ANA, run, str(town.agent.id), [(approval, NO)])

    assert await answer(ANA, run, "clerk", [(approval, YES)]) == {}
    assert (await town.asked(run)).status is Status.REJECTED


async def test_what_they_may_not_answer_is_left_to_others_with_why() -> None:
    town, answer, run, approval = await waiting()
    unknown = ApprovalId.of_digest(b"none")
    nobody = replace(ANA, scopes=ANA.scopes - {Scope.APPROVALS_ANSWER})

    left = await answer(nobody, run, "clerk", [(approval, YES), (unknown, YES)])

    assert set(left) == {approval, unknown}
    assert isinstance(left[approval], NotPermitted)
    assert (await town.asked(run)).status is Status.WAITING


async def test_an_answer_that_is_none_is_refused() -> None:
    town, answer, run, approval = await waiting()

    with pytest.raises(BadArguments):
        await answer(ANA, run, "clerk", [(approval, replace(YES, arguments={"path": 3}))])
    assert (await town.asked(run)).status is Status.WAITING


async def test_a_run_of_somebody_else_or_of_another_agent_is_not_there() -> None:
    town, answer, run, approval = await waiting()

    with pytest.raises(AgentRunNotFound):
        await answer(BEN, run, "clerk", [(approval, YES)])
    with pytest.raises(AgentRunNotFound):
        await answer(ANA, run, "other", [(approval, YES)])
    assert (await town.asked(run)).status is Status.WAITING
