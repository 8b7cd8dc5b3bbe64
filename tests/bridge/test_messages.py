"""Saying something once and no less secret than what was read; changing, acknowledging it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import (
    AboveClearance,
    AttachmentNotFound,
    BelowContainer,
    ConversationNotFound,
    InvalidBridgeInput,
    MessageNotFound,
    NotTheirs,
    WriteDown,
)
from portico.bridge.core.messages import NewMessage, ReplyRequest
from portico.bridge.ports import Entered, Stamp
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_conversations import MemoryMessages
from portico.testing.memory_store import BEGINNING
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom


async def an_attachment(room: TalkRoom, by: Principal, content: bytes, label: Label) -> Digest:
    its = Attachment(
        digest=Digest.of(content),
        label=label,
        name="a.txt",
        media_type="text/plain",
        size=len(content),
        by=by.id,
        at=BEGINNING,
    )
    await room.attachments.put(by, its, content)
    return its.digest


async def test_what_is_said_is_as_secret_as_where_it_is_said(
    room: TalkRoom,
    ana: Principal,
    talk: Conversation,
) -> None:
    sent = await room.send_message(ana, NewMessage(conversation=talk.id, body="hello"))

    assert (sent.message.label, sent.raised, sent.replayed) == (TEAM, False, False)
    assert (sent.message.sender, sent.message.sender_name) == (ana.id, "ana")
    assert not sent.message.untrusted


async def test_whoever_has_read_more_says_more_and_is_told_so(
    room: TalkRoom,
    ana: Principal,
    low: Principal,
    talk: Conversation,
) -> None:
    secret = await room.a_talk(room.enters("boss"), SECRET)
    await room.says(room.enters("boss"), secret, "the merger")
    await room.read_messages(ana, [secret.id])

    sent = await room.send_message(ana, NewMessage(conversation=talk.id, body="of the merger"))

    assert (sent.message.label, sent.raised) == (SECRET, True)
    assert (await room.read_messages(low, [talk.id])).messages == []
    with pytest.raises(WriteDown):
        await room.says(ana, talk, "of the merger", TEAM)


async def test_a_label_is_neither_below_the_place_nor_above_the_writer(room: TalkRoom) -> None:
    ana = room.enters("ana", SECRET)
    talk = await room.a_talk(ana, TEAM)

    with pytest.raises(BelowContainer):
        await room.says(ana, talk, "hello", PUBLIC)
    with pytest.raises(AboveClearance):
        await room.says(ana, talk, "hello", Label.parse("restricted"))
    sent = await room.send_message(
        ana, NewMessage(conversation=talk.id, body="hello", label=SECRET)
    )
    assert (sent.message.label, sent.raised) == (SECRET, False)


async def test_whoever_lost_a_clearance_says_nothing_of_what_they_read_with_it(
    room: TalkRoom,
    ana: Principal,
    talk: Conversation,
) -> None:
    await room.marks.read(ana, [SECRET])

    with pytest.raises(AboveClearance):
        await room.says(room.cleared_for(ana, TEAM), talk, "what I remember")


async def test_a_person_is_at_the_task_of_the_conversation_that_is_open(room: TalkRoom) -> None:
    ana = room.enters("ana", kind=PrincipalKind.PERSON)
    talk, secret = await room.a_talk(ana, TEAM), await room.a_talk(ana, SECRET)
    await room.says(room.enters("boss"), secret, "the merger")
    await room.read_messages(ana, [secret.id])

    assert (await room.says(ana, talk, "lunch?")).label == TEAM
    assert await room.mark(ana, secret.id) == SECRET
    assert await room.mark(ana, talk.id) == TEAM


async def test_strangers_words_travel_on(room: TalkRoom) -> None:
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana)
    await room.marks.read(ana, [], untrusted=True)
    assert (await room.says(ana, talk, "a page said")).untrusted

    await room.read_messages(bob, [talk.id])

    assert (await room.says(bob, talk, "so I heard")).untrusted
    assert not (await room.says(eve, talk, "I did not")).untrusted


async def test_the_same_key_again_is_the_same_message(
    room: TalkRoom,
    ana: Principal,
    talk: Conversation,
) -> None:
    wanted = NewMessage(conversation=talk.id, body="hello", key="k")
    low = replace(wanted, label=TEAM, key="low")
    first, labeled = await room.send_message(ana, wanted), await room.send_message(ana, low)
    await room.marks.read(ana, [SECRET])

    for sent, message in ((wanted, first), (low, labeled)):
        again = await room.send_message(ana, sent)
        assert (again.message, again.replayed) == (message.message, True)

    assert len((await room.read_messages(ana, [talk.id])).messages) == 2
    with pytest.raises(KeyReused):
        await room.send_message(ana, replace(wanted, body="other"))
    for other in (
        replace(low, key="l"),
        replace(low, key=None),
        replace(low, key="l", label=Label.parse("team+law")),
    ):
        with pytest.raises(WriteDown):
            await room.send_message(ana, other)
    anothers = await room.send_message(room.enters("bob"), replace(wanted, body="other"))
    assert not anothers.replayed


async def test_whoever_is_answered_again_has_read_what_it_says_by_now(room: TalkRoom) -> None:
    ana = room.enters("ana")
    other = replace(ana, key="another")
    talk = await room.a_talk(ana)
    wanted = NewMessage(conversation=talk.id, body="hello", key="k")
    first = await room.send_message(ana, wanted)
    await room.marks.read(other, [SECRET])
    await room.edit_message(other, first.message.id, "the merger")

    await room.send_message(ana, wanted)

    assert await room.mark(ana) == SECRET


async def test_who_comes_to_bear_a_name_afterwards_makes_it_no_other_message() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana)
    wanted = NewMessage(conversation=talk.id, body="@bob, look!", key="k")
    first = await room.send_message(ana, wanted)
    room.enters("bob")

    assert (await room.send_message(ana, wanted)).message == first.message


async def test_a_key_that_is_taken_is_known_by_those_alone_who_know_what_it_brought() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    high, low = replace(ana, key="high"), replace(ana, key="low", clearance=TEAM)
    talk = await room.a_talk(ana, TEAM)
    secret = NewMessage(conversation=talk.id, body="the merger", label=SECRET, key="k")
    await room.send_message(high, secret)

    with pytest.raises(KeyReused):
        await room.send_message(ana, replace(secret, body="lunch", label=TEAM))
    sent = await room.send_message(low, replace(secret, body="lunch", label=TEAM))

    assert await room.mark(ana) == SECRET
    assert not sent.replayed
    assert (await room.mark(low)) == TEAM


async def test_an_answer_is_in_the_thread_and_no_less_secret(
    room: TalkRoom,
    ana: Principal,
    bob: Principal,
    low: Principal,
    talk: Conversation,
) -> None:
    root = await room.says(ana, talk, "the merger", SECRET)

    answer = await room.send_message(
        bob, NewMessage(conversation=talk.id, body="yes", reply_to=root.id)
    )
    second = await room.send_message(
        ana, NewMessage(conversation=talk.id, body="so", reply_to=answer.message.id, label=SECRET)
    )

    assert (answer.message.label, answer.raised) == (SECRET, True)
    assert (answer.message.reply_to, answer.message.thread) == (root.id, root.id)
    assert (second.message.reply_to, second.message.thread) == (answer.message.id, root.id)
    with pytest.raises(WriteDown):
        await room.send_message(
            room.enters("eve"),
            NewMessage(conversation=talk.id, body="no", reply_to=root.id, label=TEAM),
        )
    with pytest.raises(MessageNotFound):
        await room.send_message(
            low, NewMessage(conversation=talk.id, body="what?", reply_to=root.id)
        )


async def test_an_answer_stays_in_its_conversation(
    room: TalkRoom, ana: Principal, talk: Conversation
) -> None:
    other = await room.a_talk(ana, TEAM)
    root = await room.says(ana, talk, "hello")

    with pytest.raises(MessageNotFound):
        await room.send_message(
            ana, NewMessage(conversation=other.id, body="yes", reply_to=root.id)
        )


async def test_what_is_attached_is_no_more_secret_than_the_message(
    room: TalkRoom,
    ana: Principal,
    low: Principal,
    talk: Conversation,
) -> None:
    digest = await an_attachment(room, ana, b"figures", SECRET)
    wanted = NewMessage(conversation=talk.id, body="", attachments=(digest,))

    sent = await room.send_message(ana, wanted)

    assert (sent.message.label, sent.raised) == (SECRET, True)
    assert sent.message.attachments == (digest,)
    assert await room.mark(ana) == SECRET
    with pytest.raises(WriteDown):
        await room.send_message(ana, replace(wanted, label=TEAM))
    with pytest.raises(AttachmentNotFound):
        await room.send_message(low, wanted)


async def test_whom_the_text_names_is_mentioned(
    room: TalkRoom,
    ana: Principal,
    bob: Principal,
    eve: Principal,
) -> None:
    talk = await room.a_talk(ana, with_=[bob, eve])

    sent = await room.send_message(
        ana,
        NewMessage(conversation=talk.id, body="@bob and @nobody, look!", mentions=(eve.id,)),
    )

    assert sent.message.mentions == (eve.id, bob.id)
    [item] = (await room.show_inbox(bob)).unread
    assert item.mentions == 1

    talk = await room.a_talk(ana, TEAM, with_=[bob])

    told = NewMessage(conversation=talk.id, body="@bob and @eve", addressed=(eve.id, ana.id))

    assert (await room.send_message(ana, told)).absent == (eve.id,)
    assert (await room.send_message(ana, NewMessage(conversation=talk.id, body="a"))).absent == ()


async def test_what_cannot_be_said_or_not_there_is_refused(room: TalkRoom) -> None:
    ana, low, eve = room.enters("ana"), room.enters("low", TEAM), room.enters("eve")
    secret, closed = await room.a_talk(ana, SECRET), await room.a_talk(ana, closed=True)

    with pytest.raises(ConversationNotFound):
        await room.says(low, secret, "hello")
    with pytest.raises(ConversationNotFound):
        await room.says(eve, closed, "hello")
    with pytest.raises(NotPermitted):
        await room.says(room.enters("v", roles=[Role.VIEWER]), secret, "hello")

    ana = room.enters("ana")
    talk = await room.a_talk(ana)

    with pytest.raises(InvalidBridgeInput) as refused:
        await room.send_message(ana, NewMessage(conversation=talk.id, body=" ", key="a\nb"))

    assert [flaw.field for flaw in refused.value.field_errors] == ["body", "key"]


class ReadingMeanwhile(MemoryMessages):
    """Another request of the same task reads something just before this one writes."""

    meanwhile: TalkRoom | None = None

    async def send(self, caller: Principal, message: NewMessage, stamp: Stamp) -> Entered:
        if self.meanwhile is not None:
            room, self.meanwhile = self.meanwhile, None
            await room.marks.read(caller, [SECRET])
        return await super().send(caller, message, stamp)


async def test_what_is_read_while_one_speaks_counts_as_well() -> None:
    room = TalkRoom(ReadingMeanwhile)
    assert isinstance(room.messages, ReadingMeanwhile)
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, TEAM)

    room.messages.meanwhile = room
    assert (await room.says(ana, talk, "hello")).label == SECRET
    room.messages.meanwhile = room
    with pytest.raises(WriteDown):
        await room.says(bob, talk, "hello", TEAM)


async def test_whoever_speaks_somewhere_knows_that_it_is_there(room: TalkRoom) -> None:
    maker, ana, bob = room.enters("maker"), room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(maker, SECRET)

    await room.says(ana, talk, "hello")
    with pytest.raises(BelowContainer):
        await room.says(bob, talk, "hello", TEAM)

    assert (await room.mark(ana), await room.mark(bob)) == (SECRET, SECRET)


async def test_what_was_said_before_is_kept(
    room: TalkRoom,
    ana: Principal,
    bob: Principal,
    talk: Conversation,
) -> None:
    said = await room.says(ana, talk, "at noon")

    changed = await room.edit_message(ana, said.id, "at one")

    assert changed.edited_at is not None
    assert await room.show_message(bob, said.id) == changed
    [before] = await room.show_versions(bob, said.id)
    assert (before.number, before.body, before.by) == (1, "at noon", ana.id)

    said = await room.says(ana, await room.a_talk(ana, SECRET), "at noon")

    await room.show_versions(bob, said.id)

    assert await room.mark(bob) == SECRET


async def test_whoever_has_read_more_hides_it_from_those_who_may_not(room: TalkRoom) -> None:
    ana, low = room.enters("ana"), room.enters("low", TEAM)
    talk = await room.a_talk(ana, TEAM, with_=[low])
    said = await room.says(ana, talk, "at noon")
    await room.marks.read(ana, [SECRET], untrusted=True)

    changed = await room.edit_message(ana, said.id, "when the merger is signed")

    assert (changed.label, changed.untrusted) == (SECRET, True)
    assert (await room.show_message(ana, said.id)).untrusted
    with pytest.raises(MessageNotFound):
        await room.show_message(low, said.id)
    with pytest.raises(MessageNotFound):
        await room.show_versions(low, said.id)
    assert await room.unread(low) == 0


async def test_only_its_sender_changes_it(
    room: TalkRoom, ana: Principal, bob: Principal, talk: Conversation
) -> None:
    said = await room.says(ana, talk, "at noon")

    with pytest.raises(NotTheirs):
        await room.edit_message(bob, said.id, "at one")
    with pytest.raises(NotTheirs):
        await room.delete_message(bob, said.id)
    with pytest.raises(InvalidBridgeInput):
        await room.edit_message(ana, said.id, "")
    await room.marks.read(ana, [SECRET])
    with pytest.raises(WriteDown):
        await room.delete_message(ana, said.id)


async def test_of_what_was_taken_back_it_is_left_that_it_was_there(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, with_=[bob])
    said = await room.says(ana, talk, "at noon")

    await room.delete_message(ana, said.id)
    await room.delete_message(ana, said.id)

    [left] = (await room.read_messages(bob, [talk.id])).messages
    assert (left.id, left.body) == (said.id, "")
    assert left.deleted_at is not None
    assert await room.unread(bob) == 0
    assert len(await room.show_versions(ana, said.id)) == 1
    with pytest.raises(MessageNotFound):
        await room.edit_message(ana, said.id, "at one")
    assert room.audit.actions == []


async def test_who_keeps_order_takes_back_what_others_said_and_it_is_written_down() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    root = room.enters("root", kind=PrincipalKind.PERSON, roles=[Role.OPERATOR])
    said = await room.says(ana, await room.a_talk(ana), "at noon")

    await room.delete_message(root, said.id)

    assert (await room.show_message(ana, said.id)).body == ""
    assert room.audit.actions == ["message.deleted"]


SOON = BEGINNING + timedelta(days=1, hours=1)


async def test_who_has_acknowledged_is_there_for_all_who_may_read_it(room: TalkRoom) -> None:
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    said = await room.says(ana, await room.a_talk(ana), "the door is locked")

    await room.acknowledge(bob, said.id)
    [first] = await room.list_acknowledged(eve, said.id)
    await room.acknowledge(bob, said.id)

    assert first.by == bob.id
    assert await room.list_acknowledged(ana, said.id) == [first]


async def test_a_secret_one_can_be_acknowledged_in_an_open_project(
    room: TalkRoom, ana: Principal, bob: Principal, low: Principal, talk: Conversation
) -> None:
    said = await room.says(ana, talk, "the merger", SECRET)
    lunch = await room.says(low, talk, "lunch")

    await room.acknowledge(bob, said.id)

    assert len(await room.list_acknowledged(ana, said.id)) == 1
    with pytest.raises(WriteDown):
        await room.acknowledge(bob, lunch.id)
    with pytest.raises(MessageNotFound):
        await room.acknowledge(low, said.id)
    with pytest.raises(MessageNotFound):
        await room.list_acknowledged(low, said.id)


async def test_what_is_overdue_waits_with_both_until_all_have_acknowledged(room: TalkRoom) -> None:
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana, with_=[bob, eve])
    sent = await room.send_message(
        ana,
        NewMessage(
            conversation=talk.id,
            body="lock the door",
            addressed=(bob.id, eve.id),
            acknowledge=ReplyRequest(until=SOON),
        ),
    )

    async def overdue() -> list[int]:
        return [len((await room.show_inbox(who)).overdue) for who in (ana, bob, eve)]

    assert await overdue() == [0, 0, 0]
    room.clock.turn(timedelta(hours=2))
    assert await overdue() == [1, 1, 1]
    await room.acknowledge(bob, sent.message.id)
    assert await overdue() == [1, 0, 1]
    await room.acknowledge(eve, sent.message.id)
    assert await overdue() == [0, 0, 0]


async def test_what_one_may_not_read_any_more_is_not_overdue(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, TEAM, with_=[bob])
    await room.send_message(
        ana,
        NewMessage(
            conversation=talk.id,
            body="the merger",
            label=SECRET,
            addressed=(bob.id,),
            acknowledge=ReplyRequest(until=SOON),
        ),
    )
    room.clock.turn(timedelta(hours=2))

    assert (await room.show_inbox(bob, upto=TEAM)).overdue == []
    assert await room.mark(bob) == PUBLIC
    assert (await room.show_inbox(room.cleared_for(bob, TEAM))).overdue == []
