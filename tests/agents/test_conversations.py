"""To which run a question of a chat program comes, and how what it waits for is answered."""

from dataclasses import replace
from typing import Any

import pytest

from portico.agents.conversations import TakeQuestion
from portico.agents.core.conversations import Question, ResumePoint
from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.model_requests import AssistantMessage, UserMessage
from portico.agents.runs import AnswerInterrupts
from portico.gateway.core.errors import InvalidArguments
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Status, Via
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.ids import ApprovalId, RunId
from portico.testing.agents import a_call, says, wants
from tests.agents.town import ANA, BEN, Town

DELETES = wants(a_call("files__delete", path="/a"))
BEFORE = (UserMessage("Hello."), AssistantMessage("Yes?"))


def taking(town: Town) -> TakeQuestion:
    return TakeQuestion(
        start_agent_run=town.start_agent,
        steer_run=town.steer,
        answer_of=town.answer_of,
        traces=town.traces,
        clock=town.clock,
    )


def asked(message: str = "Tidy up.", **more: Any) -> Question:
    return Question(agent="clerk", message=message, key="question", **more)


async def with_agent(*said: Any) -> tuple[Town, TakeQuestion]:
    town = Town(*said)
    await town.made_agent()
    return town, taking(town)


async def waiting(town: Town) -> ResumePoint:
    """Where a talk leaves off whose run has to be approved."""
    run = (await town.ran_agent()).run.run
    return ResumePoint(run, (await town.asked(run)).id)


async def test_a_question_is_a_run_and_what_was_said_before_is_its_history() -> None:
    town, take = await with_agent()

    taken = await take(ANA, asked(history=BEFORE, max_output_tokens=7))
    trace = await town.trace(taken.run)

    assert (trace.run.history, trace.run.continues) == (BEFORE, None)
    assert [said.text for said in trace.said] == ["Tidy up."]
    assert (taken.past, taken.before) == (None, "")


async def test_while_its_run_is_on_the_same_question_is_that_run() -> None:
    _, take = await with_agent()

    first, again = await take(ANA, asked()), await take(ANA, asked())
    other = await take(ANA, asked("Something else."))

    assert first.run == again.run
    assert other.run != first.run


@pytest.mark.parametrize(("more", "same"), [({}, False), ({"again": True}, True)])
async def test_once_it_is_answered_the_same_question_is_asked_anew_unless_it_was_not_heard(
    more: dict[str, Any], same: bool
) -> None:
    town, take = await with_agent(says("Tidy."))
    first = await take(ANA, asked())
    await town.leg(first.run)

    assert ((await take(ANA, asked(**more))).run == first.run) is same


async def test_a_key_of_ones_own_is_one_run_whatever_became_of_it() -> None:
    town, take = await with_agent(says("Tidy."))
    first = await take(ANA, asked(keyed=True))
    await town.leg(first.run)

    assert (await take(ANA, asked(keyed=True))).run == first.run


async def test_whoever_asks_the_same_very_often_is_answered_all_the_same() -> None:
    town, take = await with_agent(*[says("Tidy.")] * 10)
    runs: set[RunId] = set()

    for _ in range(10):
        runs.add((taken := await take(ANA, asked())).run)
        await town.leg(taken.run)

    assert len(runs) == 10


async def test_after_a_run_that_was_told_to_its_end_comes_one_that_continues_it() -> None:
    town, take = await with_agent(says("Tidy."))
    run = (await town.ran_agent()).run.run

    taken = await take(ANA, asked("And now?", left_off=ResumePoint(run), history=BEFORE))
    trace = await town.trace(taken.run)

    assert (trace.run.continues, trace.run.history) == (run, ())


@pytest.mark.parametrize("words", ["go on", "Go on.", '"go on!"'])
async def test_whoever_only_wants_to_hear_how_it_went_hears_the_run_that_waits(words: str) -> None:
    town, take = await with_agent(DELETES, says("Gone."))
    left_off = await waiting(town)

    before = await take(ANA, asked(words, left_off=left_off))
    await town.say(await town.asked(left_off.run))
    await town.leg(left_off.run)
    after = await take(ANA, asked(words, left_off=left_off))

    assert (before.run, before.past, before.waits) == (left_off.run, left_off.approval, True)
    assert (after.run, after.past, after.waits) == (left_off.run, left_off.approval, False)
    assert [each.text for each in (await town.trace(left_off.run)).said] == ["Tidy up."]


async def test_what_else_is_said_meanwhile_is_said_to_the_run_that_waits() -> None:
    town, take = await with_agent(DELETES, says("Gone."))
    left_off = await waiting(town)

    taken = await take(ANA, asked("Leave it.", left_off=left_off))

    assert (taken.run, taken.past) == (left_off.run, left_off.approval)
    assert [each.text for each in (await town.trace(taken.run)).said] == ["Tidy up.", "Leave it."]


async def test_once_that_is_over_another_run_answers_and_what_came_of_it_is_told_before() -> None:
    town, take = await with_agent(DELETES, says("Gone."))
    left_off = await waiting(town)
    await town.say(await town.asked(left_off.run))
    await town.leg(left_off.run)

    taken = await take(ANA, asked("And now?", left_off=left_off))

    assert (taken.before, taken.past) == ("Gone.", None)
    assert (await town.trace(taken.run)).run.continues == left_off.run


async def test_a_run_of_somebody_else_or_of_another_agent_or_of_nobody_is_not_gone_on_with() -> (
    None
):
    town, take = await with_agent(DELETES)
    left_off = await waiting(town)
    unknown = ResumePoint(RunId.of_digest(b"no run"), left_off.approval)

    theirs = await take(BEN, asked("go on", left_off=left_off))
    nobodys = await take(ANA, asked("go on", left_off=unknown))
    trace = await town.trace(left_off.run)
    anothers = replace(trace.run, run=unknown.run, agent_name="other")
    await town.traces.add(ANA, anothers, replace(trace.said[0], run=unknown.run))
    others = await take(ANA, asked("go on", left_off=unknown))
    by_id = replace(asked("go on", left_off=left_off), agent=str(town.agent.id))
    ours = await take(ANA, by_id)

    assert {left_off.run, unknown.run}.isdisjoint({theirs.run, nobodys.run, others.run})
    assert ours.run == left_off.run


YES = Reply(kind=AnswerKind.ONCE, via=Via.REST)
NO = Reply(kind=AnswerKind.REJECT, via=Via.REST)


async def interrupted() -> tuple[Town, AnswerInterrupts, RunId, ApprovalId]:
    town = Town(DELETES, says("Well."))
    run = (await town.ran_agent()).run.run
    answer = AnswerInterrupts(
        answer_approval=town.gateway.over_http.approvals.answer_approval, traces=town.traces
    )
    return town, answer, run, (await town.asked(run)).id


@pytest.mark.parametrize(("reply", "status"), [(YES, Status.APPROVED), (NO, Status.REJECTED)])
async def test_an_answer_is_the_starters(reply: Reply, status: Status) -> None:
    town, answer, run, approval = await interrupted()

    left = await answer(ANA, run, "clerk", [(approval, reply)])
    asked = await town.asked(run)

    assert left == {}
    assert asked.status is status
    assert asked.answered is not None
    assert asked.answered.by == ANA.id


async def test_what_was_answered_before_or_is_no_answer_is_refused() -> None:
    town, answer, run, approval = await interrupted()

    with pytest.raises(InvalidArguments):
        await answer(ANA, run, "clerk", [(approval, replace(YES, arguments={"path": 3}))])
    assert (await town.asked(run)).status is Status.WAITING

    await answer(ANA, run, str(town.agent.id), [(approval, NO)])
    assert await answer(ANA, run, "clerk", [(approval, YES)]) == {}
    assert (await town.asked(run)).status is Status.REJECTED


async def test_what_they_may_not_answer_is_left_to_others_with_why() -> None:
    town, answer, run, approval = await interrupted()
    unknown = ApprovalId.of_digest(b"none")
    nobody = replace(ANA, scopes=ANA.scopes - {Scope.APPROVALS_ANSWER})

    left = await answer(nobody, run, "clerk", [(approval, YES), (unknown, YES)])

    assert set(left) == {approval, unknown}
    assert isinstance(left[approval], NotPermitted)
    assert (await town.asked(run)).status is Status.WAITING


async def test_a_run_of_somebody_else_or_of_another_agent_is_not_there() -> None:
    town, answer, run, approval = await interrupted()

    with pytest.raises(AgentRunNotFound):
        await answer(BEN, run, "clerk", [(approval, YES)])
    with pytest.raises(AgentRunNotFound):
        await answer(ANA, run, "other", [(approval, YES)])
    assert (await town.asked(run)).status is Status.WAITING
