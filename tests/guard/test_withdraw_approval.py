"""A request that is taken back: by whoever asked, or by a rule that allows the same by now."""

from dataclasses import replace

import pytest

from portico.guard.core.approval import Approval, Outcome, Status
from portico.guard.core.errors import ApprovalNotFound, ApprovalOver, RuleAsksOn
from portico.guard.core.rules import Rule, Ruling
from portico.guard.withdraw_approval import WithdrawApproval
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal
from portico.testing.approvals import MemoryApprovals
from portico.testing.world import together
from tests.guard.approvals import HOUR, an_act
from tests.guard.test_answer_approval import ALWAYS, ANA, BOT, ONCE, Desk


def withdraw_at(desk: Desk, approvals: MemoryApprovals | None = None) -> WithdrawApproval:
    return WithdrawApproval(
        approvals=approvals or desk.approvals,
        errands=desk.errands,
        news=desk.news,
        audit=desk.audit,
        together=together,
        clock=desk.clock,
    )


class AnsweredMeanwhile(MemoryApprovals):
    """Somebody says yes between the look and the change."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.world)
        self._desk = desk

    async def withdraw(
        self, caller: Principal, approval: ApprovalId, now: object
    ) -> bool:  # it is too late
        await self._desk.answer(ANA, approval, ONCE)
        return False


async def test_whoever_asked_takes_it_back() -> None:
    desk = Desk()
    asked = await desk.asked()

    closed = await withdraw_at(desk)(BOT, asked.id)

    assert closed.status is Status.WITHDRAWN
    assert (await desk.show(BOT, asked.id)).status is Status.WITHDRAWN
    assert desk.errands.woken == [asked.id]
    assert desk.news.told[-1] == ("withdrawn", asked.id)
    assert desk.audit.actions[-1] == "approval.withdrawn"
    assert await desk.approvals.sealed(BOT, asked.id) == b""
    assert (await desk.asked()).id != asked.id


async def test_nobody_else_does() -> None:
    desk = Desk()
    asked = await desk.asked()

    with pytest.raises(ApprovalNotFound):
        await withdraw_at(desk)(ANA, asked.id)


async def test_what_is_answered_is_not_taken_back() -> None:
    desk = Desk()
    asked = await desk.asked()

    with pytest.raises(ApprovalOver, match="approved by ana"):
        await withdraw_at(desk, AnsweredMeanwhile(desk))(BOT, asked.id)
    with pytest.raises(ApprovalOver, match="approved by ana"):
        await withdraw_at(desk)(BOT, asked.id)


async def test_an_act_that_is_allowed_closes_what_waits_for_the_same() -> None:
    desk = Desk()
    asked, other = await desk.asked(), await desk.asked(act=an_act(BOT, path="/b"))

    assert await withdraw_at(desk).settled(an_act(BOT)) is None

    assert (await desk.show(BOT, asked.id)).status is Status.WITHDRAWN
    assert (await desk.show(BOT, other.id)).status is Status.WAITING


async def test_a_yes_that_comes_meanwhile_is_the_one_that_counts() -> None:
    desk = Desk()
    asked = await desk.asked()

    found = await withdraw_at(desk, AnsweredMeanwhile(desk)).settled(an_act(BOT))

    assert found is not None
    assert (found.id, found.status) == (asked.id, Status.APPROVED)


async def made(desk: Desk) -> Approval:
    asked = await desk.asked()
    await desk.answer(ANA, asked.id, ONCE)
    await desk.approvals.claim(BOT, asked.id, desk.clock.now())
    ended = replace(asked, outcome=Outcome.DONE, ended_at=desk.clock.now())
    await desk.approvals.end(BOT, ended)
    return asked


async def test_what_was_made_is_collected_for_a_day() -> None:
    desk = Desk()
    asked = await made(desk)

    found = await withdraw_at(desk).settled(an_act(BOT))
    desk.clock.turn(25 * HOUR)

    assert found is not None
    assert found.id == asked.id
    assert await withdraw_at(desk).settled(an_act(BOT)) is None


async def test_what_a_rule_asks_is_not_answered_for_longer() -> None:
    desk = Desk()
    asked = await desk.asked()
    await desk.rules.add(ANA, Rule(name="ask-bot", ruling=Ruling.ASK, tools=("files.*",)))

    with pytest.raises(RuleAsksOn, match="ask-bot"):
        await desk.answer(ANA, asked.id, ALWAYS)

    assert (await desk.answer(ANA, asked.id, ONCE)).status is Status.APPROVED
