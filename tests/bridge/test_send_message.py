"""Saying something: once, and never less secret than what was read for it."""

from dataclasses import replace

import pytest

from portico.bridge.core.attachment import Attachment, Digest
from portico.bridge.core.errors import (
    AboveClearance,
    AttachmentNotFound,
    BadBridgeInput,
    BelowContainer,
    ConversationNotFound,
    MessageNotFound,
    WriteDown,
)
from portico.bridge.core.message import NewMessage
from portico.bridge.ports import Entered, Stamp
from portico.engine.core.errors import KeyReused
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_messages import MemoryMessages
from portico.testing.kernel import BEGINNING
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


async def test_what_is_said_is_as_secret_as_where_it_is_said() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana, TEAM)

    sent = await room.send_message(ana, NewMessage(conversation=talk.id, body="hello"))

    assert (sent.message.label, sent.raised, sent.replayed) == (TEAM, False, False)
    assert (sent.message.sender, sent.message.sender_name) == (ana.id, "ana")
    assert not sent.message.untrusted


async def test_whoever_has_read_more_says_more_and_is_told_so() -> None:
    room = TalkRoom()
    ana, low = room.enters("ana"), room.enters("low", TEAM)
    talk = await room.a_talk(ana, TEAM)
    secret = await room.a_talk(room.enters("boss"), SECRET)
    await room.says(room.enters("boss"), secret, "the merger")
    await room.read_messages(ana, [secret.id])

    sent = await room.send_message(ana, NewMessage(conversation=talk.id, body="of the merger"))

    assert (sent.message.label, sent.raised) == (SECRET, True)
    assert (await room.read_messages(low, [talk.id])).messages == []
    with pytest.raises(WriteDown):
        await room.says(ana, talk, "of the merger", TEAM)


async def test_a_label_is_neither_below_the_place_nor_above_the_writer() -> None:
    room = TalkRoom()
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


async def test_whoever_lost_a_clearance_says_nothing_of_what_they_read_with_it() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana, TEAM)
    await room.marks.read(ana, [SECRET])

    with pytest.raises(AboveClearance):
        await room.says(room.cleared_for(ana, TEAM), talk, "what I remember")


async def test_a_person_is_at_the_task_of_the_conversation_that_is_open() -> None:
    room = TalkRoom()
    ana = room.enters("ana", kind=PrincipalKind.PERSON)
    talk, secret = await room.a_talk(ana, TEAM), await room.a_talk(ana, SECRET)
    await room.says(room.enters("boss"), secret, "the merger")
    await room.read_messages(ana, [secret.id])

    assert (await room.says(ana, talk, "lunch?")).label == TEAM
    assert await room.mark(ana, secret.id) == SECRET
    assert await room.mark(ana, talk.id) == TEAM


async def test_strangers_words_travel_on() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana)
    await room.marks.read(ana, [], untrusted=True)
    assert (await room.says(ana, talk, "a page said")).untrusted

    await room.read_messages(bob, [talk.id])

    assert (await room.says(bob, talk, "so I heard")).untrusted
    assert not (await room.says(eve, talk, "I did not")).untrusted


async def test_the_same_key_again_is_the_same_message() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana)
    wanted = NewMessage(conversation=talk.id, body="hello", key="k")
    first = await room.send_message(ana, wanted)
    await room.marks.read(ana, [SECRET])

    again = await room.send_message(ana, wanted)

    assert (again.message, again.replayed) == (first.message, True)
    assert len((await room.read_messages(ana, [talk.id])).messages) == 1
    with pytest.raises(KeyReused):
        await room.send_message(ana, replace(wanted, body="other"))
    other = await room.send_message(room.enters("bob"), replace(wanted, body="other"))
    assert not other.replayed


async def test_whoever_is_answered_again_has_read_what_it_says_by_now() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    other = replace(ana, key="another")
    talk = await room.a_talk(ana)
    wanted = NewMessage(conversation=talk.id, body="hello", key="k")
    first = await room.send_message(ana, wanted)
    await room.marks.read(other, [SECRET])
    await room.edit_message(other, first.message.id, "the merger")

    await room.send_message(ana, wanted)

    assert await room.mark(ana) == SECRET


async def test_what_was_sent_is_told_again_although_more_was_read_since() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana, TEAM)
    wanted = NewMessage(conversation=talk.id, body="hello", label=TEAM, key="k")
    first = await room.send_message(ana, wanted)
    await room.marks.read(ana, [SECRET])

    again = await room.send_message(ana, wanted)

    assert (again.message, again.replayed) == (first.message, True)
    for other in (replace(wanted, key="l"), replace(wanted, key=None)):
        with pytest.raises(WriteDown):
            await room.send_message(ana, other)
    with pytest.raises(WriteDown):
        await room.send_message(ana, replace(wanted, key="l", label=Label.parse("team+law")))


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


async def test_an_answer_is_in_the_thread_and_no_less_secret() -> None:
    room = TalkRoom()
    ana, bob, low = room.enters("ana"), room.enters("bob"), room.enters("low", TEAM)
    talk = await room.a_talk(ana, TEAM)
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


async def test_an_answer_stays_in_its_conversation() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk, other = await room.a_talk(ana), await room.a_talk(ana)
    root = await room.says(ana, talk, "hello")

    with pytest.raises(MessageNotFound):
        await room.send_message(
            ana, NewMessage(conversation=other.id, body="yes", reply_to=root.id)
        )


async def test_what_is_attached_is_no_more_secret_than_the_message() -> None:
    room = TalkRoom()
    ana, low = room.enters("ana"), room.enters("low", TEAM)
    talk = await room.a_talk(ana, TEAM)
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


async def test_whom_the_text_names_is_mentioned() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana, with_=[bob, eve])

    sent = await room.send_message(
        ana,
        NewMessage(conversation=talk.id, body="@bob and @nobody, look!", mentions=(eve.id,)),
    )

    assert sent.message.mentions == (eve.id, bob.id)
    [item] = (await room.show_inbox(bob)).unread
    assert item.mentions == 1


async def test_nothing_is_said_where_one_cannot_be() -> None:
    room = TalkRoom()
    ana, low, eve = room.enters("ana"), room.enters("low", TEAM), room.enters("eve")
    secret, closed = await room.a_talk(ana, SECRET), await room.a_talk(ana, closed=True)

    with pytest.raises(ConversationNotFound):
        await room.says(low, secret, "hello")
    with pytest.raises(ConversationNotFound):
        await room.says(eve, closed, "hello")
    with pytest.raises(NotPermitted):
        await room.says(room.enters("v", roles=[Role.VIEWER]), secret, "hello")


async def test_what_cannot_be_said_is_refused_with_every_flaw() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana)

    with pytest.raises(BadBridgeInput) as refused:
        await room.send_message(ana, NewMessage(conversation=talk.id, body=" ", key="a\nb"))

    assert [flaw.field for flaw in refused.value.flaws] == ["body", "key"]


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


async def test_whoever_speaks_somewhere_knows_that_it_is_there() -> None:
    room = TalkRoom()
    maker, ana, bob = room.enters("maker"), room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(maker, SECRET)

    await room.says(ana, talk, "hello")
    with pytest.raises(BelowContainer):
        await room.says(bob, talk, "hello", TEAM)

    assert (await room.mark(ana), await room.mark(bob)) == (SECRET, SECRET)


async def test_whom_nobody_tells_is_said_to_the_sender() -> None:
    room = TalkRoom()
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana, TEAM, with_=[bob])

    told = NewMessage(conversation=talk.id, body="@bob and @eve", addressed=(eve.id, ana.id))

    assert (await room.send_message(ana, told)).absent == (eve.id,)
    assert (await room.send_message(ana, NewMessage(conversation=talk.id, body="a"))).absent == ()
