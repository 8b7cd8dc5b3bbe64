"""Lowering a message: looked through, asked for, approved by another person, and said again."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.declassification import Declassification, Lowered, digest_of, found
from portico.bridge.core.errors import BelowContainer, MessageNotFound, NotApproved, NotLower
from portico.bridge.core.messages import Message, MessageId, NewMessage
from portico.bridge.ports import Placed
from portico.engine.core.errors import StoreUnavailable
from portico.guard.approvals import Reply
from portico.guard.core.approvals import AnswerKind, Outcome, Status, Via
from portico.guard.core.errors import (
    ApprovalNotFound,
    ApprovalOver,
    InvalidAnswer,
    NotPermitted,
    OwnRequest,
    PersonNeeded,
    RuleAsksOn,
)
from portico.guard.core.principals import Role, Scope
from portico.kernel.durable import Action
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_conversations import MemoryMessages
from portico.testing.bridge_memory import MemoryDeclassifications
from portico.testing.memory_store import together
from portico.workflows.run_context import ThroughDurable
from tests.bridge.lowering_room import HOUR, TEXT, LoweringRoom
from tests.bridge.talk_room import SECRET, TEAM, TOP


class Often(ThroughDurable):
    """Each step is begun by five processes at once."""

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        async def five(key: str) -> JsonValue:
            gave = await asyncio.gather(*(action(key) for _ in range(5)))
            assert all(each == gave[0] for each in gave) or not name.startswith("lower")
            return gave[0]

        return await self.inner.step(name, five, tries=tries)


class SlowMessages(MemoryMessages):
    async def get(self, caller: Principal, message: MessageId) -> Placed:
        await asyncio.sleep(0)
        return await super().get(caller, message)


@pytest.fixture
def room() -> LoweringRoom:
    return LoweringRoom()


@pytest.fixture
async def secret(room: LoweringRoom) -> tuple[Conversation, Message]:
    return await room.a_secret()


@pytest.fixture
def talk(secret: tuple[Conversation, Message]) -> Conversation:
    return secret[0]


@pytest.fixture
def message(secret: tuple[Conversation, Message]) -> Message:
    """Confidential, in a conversation of the team."""
    return secret[1]


@pytest.fixture
async def approval(room: LoweringRoom, message: Message) -> ApprovalId:
    return (await room.asked(message)).approval


LEFT = "Ask [e-mail].\nThe budget is fine.\nkey [github-token]"


async def test_who_answers_sees_what_would_be_read_and_what_was_found_and_no_secret(
    room: LoweringRoom,
    message: Message,
) -> None:
    proposal = await room.asked(message)

    asked = await room.seen(proposal.approval)
    assert asked.question == (
        "May bot (agent) use bridge.declassify, which cannot be undone? "
        "What is confidential could then be read as team."
    )
    shown = {name: asked.arguments[name] for name in ("from", "to", "found", "text", "changes")}
    assert shown == snapshot(
        {
            "from": "confidential",
            "to": "team",
            "found": {"e-mail": 1, "github-token": 1},
            "text": """\
Ask [e-mail].
The budget is fine.
key [github-token]\
""",
            "changes": [
                "line 1:",
                "-Ask ana@example.com.",
                "+Ask [e-mail].",
                " The budget is fine.",
                "line 3:",
                "-key ********",
                "+key [github-token]",
            ],
        }
    )
    assert (proposal.before, proposal.after) == (SECRET, TEAM)
    assert proposal.redacted.text == LEFT
    assert [*asked.answers] == [AnswerKind.ONCE, AnswerKind.REJECT]


async def test_a_yes_posts_a_copy_at_the_end_that_the_others_can_read(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    later = await room.says(room.low, talk, "Hello?")

    await room.lowered(message)

    last = (await room.read_by(room.low, talk))[-1]
    assert (last.body, last.label, last.sender) == (LEFT, TEAM, room.bot.id)
    assert [each.id for each in await room.read_by(room.low, talk)] == [later.id, last.id]
    whole = await room.read_by(room.ana, talk)
    assert [each.body for each in whole] == [TEXT, "Hello?", LEFT]
    assert str(message.id) not in str(whole[-1])


async def test_of_what_was_lowered_there_is_a_signed_record_and_an_entry_in_the_audit(
    room: LoweringRoom,
    talk: Conversation,
    message: Message,
) -> None:
    proposal = await room.lowered(message)

    [record] = await room.list(room.ana, message.id)
    copy = (await room.read_by(room.low, talk))[-1]
    assert (record.source, record.copy, record.approval) == (
        message.id,
        copy.id,
        proposal.approval,
    )
    assert (record.before, record.after) == (SECRET, TEAM)
    assert (record.asked_by, record.approved_by) == (room.bot.id, room.ana.id)
    assert record.rules == ("e-mail", "github-token")
    assert record.digest == digest_of(LEFT)
    assert record.sound
    assert room.audit.actions[-2:] == ["bridge.declassified", "approval.used"]
    assert room.audit.acts[-2]["subject"] == str(message.id)
    assert TEXT not in str(room.audit.acts)


async def test_a_record_that_was_changed_is_not_sound(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    await room.lowered(message)
    copy = (await room.read_by(room.low, talk))[-1]

    assert await room.list(room.low, copy.id) == []
    assert len(await room.list(room.ana, copy.id)) == 1
    assert await room.mark(room.ana, talk.id) == SECRET
    with pytest.raises(MessageNotFound):
        await room.list(room.low, message.id)

    [(place, record)] = room.world.declassifications.items()
    room.world.declassifications[place] = replace(record, approved_by=room.ben.id)

    [told] = await room.list(room.ana, message.id)

    assert not told.sound


async def test_a_request_is_as_secret_as_what_its_asker_has_read(
    room: LoweringRoom, talk: Conversation, message: Message
) -> None:
    proposal = await room.asked(message)
    assert await room.mark(room.bot) == SECRET
    assert (await room.seen(proposal.approval)).label == SECRET

    other = await room.says(room.bot, talk, TEXT, SECRET)
    await room.marks.read(room.bot, [TOP])
    again = await room.lowered(other)
    assert (await room.seen(again.approval)).label == TOP
    assert (await room.read_by(room.low, talk))[-1].body == LEFT


async def test_only_a_cleared_person_with_the_scope_says_yes(
    room: LoweringRoom, message: Message
) -> None:
    room = LoweringRoom()
    _, message = await room.a_secret()
    proposal = await room.asked(message)
    boss = room.enters("boss", TEAM, kind=PrincipalKind.PERSON, roles=[Role.ADMIN])

    with pytest.raises(ApprovalNotFound):
        await room.answer(proposal.approval, by=boss)
    with pytest.raises(MessageNotFound):
        await room.propose(room.low, message.id, PUBLIC)

    without = replace(room.ben, scopes=room.ben.scopes - {Scope.BRIDGE_DECLASSIFY})
    robot = replace(room.enters("robot"), scopes=room.ben.scopes)

    with pytest.raises(NotPermitted, match="bridge:declassify"):
        await room.answer(proposal.approval, by=without)
    with pytest.raises(PersonNeeded):
        await room.answer(proposal.approval, by=robot)


async def test_nobody_says_yes_to_their_own_request(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    proposal = await room.propose(room.ana, message.id, TEAM)

    with pytest.raises(OwnRequest):
        await room.answer(proposal.approval, by=room.ana)
    await room.answer(proposal.approval, by=room.ben)
    await room.leg(proposal.approval)
    assert (await room.read_by(room.low, talk))[-1].sender == room.ana.id


async def test_a_yes_is_once_and_to_these_words(room: LoweringRoom, approval: ApprovalId) -> None:
    otherwise = Reply(kind=AnswerKind.ONCE, via=Via.REST, arguments={"text": "Something else."})

    with pytest.raises(InvalidAnswer):
        await room.answer_approval(room.ana, approval, otherwise)
    for lasting in (AnswerKind.RUN, AnswerKind.ALWAYS):
        with pytest.raises(RuleAsksOn):
            await room.answer(approval, lasting)


async def test_after_a_no_nothing_is_lowered(
    room: LoweringRoom,
    talk: Conversation,
    message: Message,
    approval: ApprovalId,
) -> None:
    await room.answer(approval, AnswerKind.REJECT)
    run = await room.leg(approval)

    assert run.status.over
    assert await room.read_by(room.low, talk) == []
    assert await room.list(room.ana, message.id) == []


async def test_without_an_answer_it_expires(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.leg(approval)
    room.clock.turn(2 * HOUR)
    room.runs.due(room.clock.now())

    await room.leg(approval)

    assert (await room.seen(approval)).status is Status.EXPIRED
    assert await room.read_by(room.low, talk) == []
    with pytest.raises(ApprovalOver):
        await room.answer(approval)


async def test_a_yes_that_nobody_carried_out_in_time_does_nothing(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)
    seen = await room.seen(approval)
    room.clock.turn(2 * HOUR)

    await room.leg(approval)

    assert seen.status is Status.APPROVED
    assert (await room.seen(approval)).status is Status.EXPIRED
    assert await room.read_by(room.low, talk) == []


async def test_however_many_hear_of_the_answer_it_is_done_once(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)
    slow = replace(room.carry_out, messages=SlowMessages(room.world))

    run = await room.leg(approval, lambda durable, given: slow(Often(durable), given))

    assert run.result == {"status": "approved", "outcome": "done"}
    assert len(await room.read_by(room.low, talk)) == 1
    assert len(await room.list(room.ana, message.id)) == 1
    assert room.audit.actions.count("bridge.declassified") == 1


async def test_however_many_find_that_it_cannot_be_done_it_ends_once(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)
    await room.messages.edit(room.bot, replace(message, body="Another."), room.clock.now())
    slow = replace(room.carry_out, messages=SlowMessages(room.world))

    run = await room.leg(approval, lambda durable, given: slow(Often(durable), given))

    assert run.result == {"status": "approved", "outcome": "failed"}
    assert room.audit.actions.count("approval.used") == 1
    assert await room.read_by(room.low, talk) == []


async def test_a_yes_whose_time_ends_just_then_does_nothing(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)

    class Late(Often):
        async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
            if name == "lower":
                room.clock.turn(2 * HOUR)
            return await self.inner.step(name, action, tries=tries)

    run = await room.leg(approval, lambda durable, given: room.carry_out(Late(durable), given))

    assert run.result == {"status": "expired"}
    assert await room.read_by(room.low, talk) == []


async def test_asked_for_again_it_is_the_same_request_and_no_second_copy(
    room: LoweringRoom,
    talk: Conversation,
    message: Message,
) -> None:
    first, second = await room.asked(message), await room.lowered(message)
    third = await room.asked(message)

    assert first.approval == second.approval == third.approval
    assert len(await room.read_by(room.low, talk)) == 1


@pytest.mark.parametrize("what", ["edited", "raised", "deleted"])
async def test_what_was_changed_after_somebody_was_asked_is_not_lowered(
    what: str,
    room: LoweringRoom,
    talk: Conversation,
    message: Message,
    approval: ApprovalId,
) -> None:
    await room.answer(approval)
    now = room.clock.now()
    if what == "deleted":
        await room.messages.delete(room.bot, message.id, now)
    else:
        other = "Another text." if what == "edited" else message.body
        label = SECRET if what == "edited" else TOP
        await room.messages.edit(room.bot, replace(message, body=other, label=label), now)

    await room.leg(approval)

    ended = await room.seen(approval)
    assert ended.outcome is Outcome.FAILED
    assert "not as it was" in str(ended.error)
    assert await room.read_by(room.low, talk) == []


async def test_what_was_given_up_can_be_asked_for_anew(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)
    archived = replace(talk, archived_at=room.clock.now())
    await room.conversations.put(room.ana, archived)
    await room.leg(approval)
    await room.conversations.put(room.ana, talk)

    again = await room.lowered(message)

    assert (await room.seen(approval)).outcome is Outcome.FAILED
    assert again.approval != approval
    assert (await room.read_by(room.low, talk))[-1].body == LEFT


async def test_whoever_may_not_write_any_more_has_nothing_lowered(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)
    place = (room.bot.space, room.bot.id)
    identity = room.world.identities[place]
    room.world.identities[place] = replace(identity, roles=frozenset({Role.VIEWER}))

    await room.leg(approval)

    assert (await room.seen(approval)).outcome is Outcome.FAILED
    assert await room.read_by(room.low, talk) == []


async def test_while_the_database_is_away_it_is_tried_again(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)

    class Away(MemoryDeclassifications):
        times = 2

        async def add(self, caller: Principal, record: Declassification, copy: Lowered) -> None:
            if Away.times:
                Away.times -= 1
                raise StoreUnavailable("away")
            await super().add(caller, record, copy)

    away = replace(room.carry_out, declassifications=Away(room.world))
    await room.leg(approval, away)

    assert (await room.seen(approval)).outcome is Outcome.DONE
    assert len(await room.read_by(room.low, talk)) == 1


async def test_when_the_answer_of_the_database_is_lost_it_is_not_done_twice(
    room: LoweringRoom,
    talk: Conversation,
    approval: ApprovalId,
) -> None:
    await room.answer(approval)
    lost = [StoreUnavailable("lost")]

    @asynccontextmanager
    async def losing(caller: Principal, /) -> AsyncIterator[None]:
        async with together(caller):
            yield
        if lost:
            raise lost.pop()

    run = await room.leg(approval, replace(room.carry_out, unit_of_work=losing))

    assert run.result == {"status": "approved", "outcome": "done"}
    assert len(await room.read_by(room.low, talk)) == 1


async def test_names_attachments_and_the_thread_stay_behind(room: LoweringRoom) -> None:
    talk = await room.a_talk(room.bot, TEAM)
    root = await room.says(room.bot, talk, "root")
    sent = await room.send_message(
        room.bot,
        NewMessage(
            conversation=talk.id,
            body="Nothing found.",
            label=SECRET,
            reply_to=root.id,
            mentions=(room.ana.id,),
            addressed=(room.ben.id,),
        ),
    )

    await room.lowered(sent.message)

    copy = (await room.read_by(room.low, talk))[-1]
    assert (copy.reply_to, copy.thread, copy.mentions, copy.addressed, copy.attachments) == (
        None,
        None,
        (),
        (),
        (),
    )
    assert copy.body == "Nothing found."


async def test_what_is_not_less_secret_is_no_lowering(room: LoweringRoom, message: Message) -> None:
    for to in (SECRET, TOP, Label.parse("team+legal")):
        with pytest.raises(NotLower):
            await room.asked(message, to)
    with pytest.raises(BelowContainer):
        await room.asked(message, PUBLIC)


async def test_to_ask_takes_the_right_to_write_and_a_message_that_is_there() -> None:
    room = LoweringRoom()
    _, message = await room.a_secret()
    reader = room.enters("reader", roles=[Role.VIEWER])

    with pytest.raises(NotPermitted):
        await room.propose(reader, message.id, TEAM)
    with pytest.raises(NotPermitted):
        await room.list(replace(room.ana, scopes=frozenset()), message.id)
    await room.delete_message(room.bot, message.id)
    with pytest.raises(MessageNotFound):
        await room.asked(message)


async def test_a_very_long_list_of_changes_is_cut_and_the_text_is_not(room: LoweringRoom) -> None:
    _, message = await room.a_secret(body="a@b.co\n" * 300)

    proposal = await room.asked(message)

    shown = (await room.seen(proposal.approval)).arguments
    changes = shown["changes"]
    assert isinstance(changes, Sequence)
    assert len(changes) == 401
    assert changes[-1] == "and 501 lines more"
    assert shown["text"] == "[e-mail]\n" * 300


async def test_the_run_of_another_request_lowers_nothing(room: LoweringRoom) -> None:
    talk, message = await room.a_secret()
    approval = (await room.asked(message)).approval
    await room.answer(approval)
    kept = room.world.approvals[room.bot.space, approval]
    call = replace(kept.approval, replaces=approval)
    room.world.approvals[room.bot.space, approval] = replace(kept, approval=call)

    await room.leg(approval)

    assert (await room.seen(approval)).outcome is None
    assert await room.read_by(room.low, talk) == []


@pytest.mark.parametrize("flaw", ["unclaimed", "other words", "no message", "higher"])
async def test_the_store_looks_by_itself_whether_there_is_a_yes_to_exactly_this(
    flaw: str,
    room: LoweringRoom,
    talk: Conversation,
    message: Message,
    approval: ApprovalId,
) -> None:
    await room.answer(approval)
    record, copy = await made(room, talk, message)
    if flaw != "unclaimed":
        await room.approvals.claim(room.bot, approval, room.clock.now())
    record = replace(record, approval=approval)
    if flaw == "other words":
        copy = replace(copy, text=TEXT)
    if flaw == "no message":
        record = replace(record, source=MessageId.of_digest(b"nothing"))
    if flaw == "higher":
        record = replace(record, after=TOP)

    with pytest.raises(NotApproved):
        await room.declassifications.add(room.bot, record, copy)
    assert await room.read_by(room.low, talk) == []


async def made(
    room: LoweringRoom, talk: Conversation, message: Message
) -> tuple[Declassification, Lowered]:
    """What the run would write down."""
    assert found(message.body)
    other = LoweringRoom()
    _, same = await other.a_secret()
    await other.lowered(same)
    [record] = await other.list(other.ana, same.id)
    return replace(record, source=message.id), Lowered(conversation=talk.id, text=LEFT)
