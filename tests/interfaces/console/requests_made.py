"""Requests of programs, as the tests of the console make them."""

from datetime import timedelta
from typing import Any

from portico.guard.core.approvals import Answered, AnswerKind, Approval, Outcome, Status, Via
from portico.kernel.ids import ApprovalId
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING
from tests.interfaces.console.conftest import Browser
from tests.interfaces.http.test_approvals import agent, asks


async def three(console: Browser) -> tuple[Principal, list[Approval]]:
    """Requests of one program, newest first."""
    _, bot = await agent(console.site)
    made = [
        await asks(console.site, bot, name, at=BEGINNING + timedelta(seconds=number))
        for number, name in enumerate(("one", "two", "three"))
    ]
    return bot, made[::-1]


async def uncertain(console: Browser, name: str = "unsure") -> Approval:
    _, bot = await agent(console.site, name)
    given = Answered(AnswerKind.ONCE, bot.id, "ana", Via.CLI, BEGINNING)
    return await asks(
        console.site,
        bot,
        name,
        status=Status.APPROVED,
        answered=given,
        claimed_at=BEGINNING,
        outcome=Outcome.UNCERTAIN,
    )


def another_id(approval: Approval) -> ApprovalId:
    text = str(approval.id)
    return ApprovalId.parse(text[:-1] + ("0" if text[-1] != "0" else "1"))


async def status(console: Browser, approval: Approval) -> Any:
    return (await console.site.ask("GET", f"/api/v1/approvals/{approval.id}")).json
