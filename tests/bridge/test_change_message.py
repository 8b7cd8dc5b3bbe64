"""Saying something differently, and taking it back."""

import pytest

from portico.bridge.core.errors import BadBridgeInput, MessageNotFound, NotTheirs, WriteDown
from portico.guard.core.roles import Role
from portico.kernel.principal import PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom


async def test_what_it_said_before_is_kept() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana)
    said = await room.says(ana, talk, "at noon")

    changed = await room.edit_message(ana, said.id, "at one")

    assert changed.edited_at is not None
    assert await room.show_message(bob, said.id) == changed
    [before] = await room.show_versions(bob, said.id)
    assert (before.number, before.body, before.by) == (1, "at noon", ana.id)


async def test_whoever_has_read_more_hides_it_from_those_who_may_not() -> None:
    room = TalkRoom()
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


async def test_only_its_sender_changes_it() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana)
    said = await room.says(ana, talk, "at noon")

    with pytest.raises(NotTheirs):
        await room.edit_message(bob, said.id, "at one")
    with pytest.raises(NotTheirs):
        await room.delete_message(bob, said.id)
    with pytest.raises(BadBridgeInput):
        await room.edit_message(ana, said.id, "")


async def test_of_what_was_taken_back_it_is_left_that_it_was_there() -> None:
    room = TalkRoom()
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


async def test_nothing_is_taken_back_from_above() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    talk = await room.a_talk(ana, TEAM)
    said = await room.says(ana, talk, "at noon")
    await room.marks.read(ana, [SECRET])

    with pytest.raises(WriteDown):
        await room.delete_message(ana, said.id)


async def test_who_keeps_order_takes_back_what_others_said_and_it_is_written_down() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    root = room.enters("root", kind=PrincipalKind.PERSON, roles=[Role.OPERATOR])
    said = await room.says(ana, await room.a_talk(ana), "at noon")

    await room.delete_message(root, said.id)

    assert (await room.show_message(ana, said.id)).body == ""
    assert room.audit.actions == ["message.deleted"]


async def test_whoever_looks_at_what_it_was_has_read_it() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    said = await room.says(ana, await room.a_talk(ana, SECRET), "at noon")

    await room.show_versions(bob, said.id)

    assert await room.mark(bob) == SECRET
