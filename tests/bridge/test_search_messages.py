"""Finding what was said, and who one is."""

import pytest

from portico.bridge.core.errors import BadBridgeInput
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom


async def test_it_is_found_by_its_words_by_who_may_read_it() -> None:
    room = TalkRoom()
    ana, low = room.enters("ana"), room.enters("low", TEAM)
    talk = await room.a_talk(ana, TEAM)
    first = await room.says(ana, talk, "Lunch at noon?", TEAM)
    second = await room.says(ana, talk, "The merger, at NOON", SECRET)

    assert [hit.message.id for hit in await room.search(ana, "noon")] == [second.id, first.id]
    assert [hit.message.id for hit in await room.search(low, "noon at")] == [first.id]
    assert await room.search(low, "merger") == []


async def test_whoever_finds_it_has_read_it() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, TEAM)
    await room.says(ana, talk, "noon", TEAM)
    await room.says(ana, talk, "noon", SECRET)

    assert len(await room.search(bob, "noon", upto=TEAM)) == 1
    assert await room.mark(bob) == TEAM
    assert len(await room.search(bob, "noon", by_meaning=True)) == 2
    assert await room.mark(bob) == SECRET


async def test_it_is_found_where_it_is_looked_for() -> None:
    room = TalkRoom()
    ana = room.enters("ana", kind=PrincipalKind.PERSON)
    one, two = await room.a_talk(ana, TEAM), await room.a_talk(ana, TEAM)
    said = await room.says(ana, one, "a cab")
    await room.says(ana, two, "a cab")

    by_words = await room.search(ana, "cab", conversation=one.id)
    by_project = await room.search(ana, "cab", project=one.project)
    by_meaning = await room.search(ana, "bac", conversation=one.id, by_meaning=True)

    for hits in (by_words, by_project, by_meaning):
        assert [hit.message.id for hit in hits] == [said.id]
    assert await room.mark(ana) == PUBLIC
    assert await room.mark(ana, one.id) == TEAM


async def test_something_has_to_be_looked_for() -> None:
    room = TalkRoom()

    with pytest.raises(BadBridgeInput) as refused:
        await room.search(room.enters("ana"), "", limit=0)

    assert [flaw.field for flaw in refused.value.flaws] == ["query", "limit"]


async def test_who_one_is_includes_what_one_has_read() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    await room.marks.read(ana, [SECRET], untrusted=True)

    me = await room.who_am_i(ana)

    assert (me.principal, me.name, me.kind) == (ana.id, "ana", PrincipalKind.AGENT)
    assert (me.mark, me.untrusted, me.clearance) == (SECRET, True, ana.clearance)
    assert "bridge:read" in me.scopes
