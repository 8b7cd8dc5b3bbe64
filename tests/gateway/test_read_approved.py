"""The story of asking by the number of a request what came of it."""

from dataclasses import replace

import pytest

from portico.guard.core.approval import AnswerKind, Approval
from portico.guard.core.errors import (
    ApprovalNotFound,
    ApprovalPending,
    ApprovalRejected,
    NotPermitted,
    Refused,
)
from portico.kernel.ids import ContextId
from portico.testing.contexts import MemoryTaskContexts
from portico.testing.upstreams import text
from tests.gateway.asking_room import ANA, AskingRoom
from tests.gateway.open_room import DELETE

LONG = "x" * 200_000


async def done(room: AskingRoom, said: str = "deleted") -> Approval:
    room.upstreams.replies[DELETE.ref] = text(said)
    asked = await room.approved()
    await room.leg(asked)
    return asked


@pytest.fixture
def room() -> AskingRoom:
    return AskingRoom()


async def test_the_asker_gets_it_as_often_as_it_asks(room: AskingRoom) -> None:
    asked, bot = await done(room), await room.bot()

    first = await room.use.approvals.read_approved(bot, asked.id)
    again = await room.use.approvals.read_approved(bot, asked.id)

    assert first.answer.content[0]["text"] == "deleted"
    assert again.answer == first.answer


async def test_a_long_one_is_given_its_beginning_and_read_on_page_by_page(room: AskingRoom) -> None:
    asked, bot = await done(room, LONG), await room.bot()

    called = await room.use.approvals.read_approved(bot, asked.id)

    assert called.kept is not None
    assert len(str(called.answer.content)) < len(LONG)
    assert (await room.use.read_result(bot, called.kept, page=2)).page == 2


async def test_nobody_else_gets_it_and_nothing_comes_before_the_answer(room: AskingRoom) -> None:
    asked, bot = await room.asked(), await room.bot()

    with pytest.raises(ApprovalPending):
        await room.use.approvals.read_approved(bot, asked.id)
    with pytest.raises(ApprovalNotFound):
        await room.use.approvals.read_approved(ANA, asked.id)
    with pytest.raises(NotPermitted):
        await room.use.approvals.read_approved(replace(bot, scopes=frozenset()), asked.id)


async def test_a_key_for_other_tools_or_for_none_does_not_get_it(room: AskingRoom) -> None:
    asked, bot = await done(room), await room.bot()
    ended = await room.seen(asked.id)
    read_outcome, other = room.use.approvals.read_outcome, replace(bot, tools=(("mail.*",),))

    with pytest.raises(Refused, match="default:list"):
        await room.use.approvals.read_approved(other, asked.id)
    assert await read_outcome(other, ended) is None
    assert await read_outcome(replace(bot, scopes=frozenset()), ended) is None
    assert await read_outcome(replace(bot, tools=(("files.*",),)), ended) is not None


async def test_a_no_is_a_no(room: AskingRoom) -> None:
    asked = await room.asked()
    await room.answer(asked, AnswerKind.REJECT)

    with pytest.raises(ApprovalRejected):
        await room.use.approvals.read_approved(await room.bot(), asked.id)


async def test_whichever_task_it_is_read_in_has_read_it(room: AskingRoom) -> None:
    asked, bot = await done(room), await room.bot()
    contexts = MemoryTaskContexts(room.world)
    elsewhere = replace(bot, key="another key")
    before = await contexts.get(elsewhere)

    await room.use.approvals.read_approved(elsewhere, asked.id)

    assert not before.untrusted
    assert (await contexts.get(elsewhere)).untrusted
    assert isinstance(before.id, ContextId)
