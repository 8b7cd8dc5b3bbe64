"""Hearing at once that something was said."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from portico.bridge.activity import Listener
from portico.bridge.core.activity import Activity
from portico.bridge.core.conversations import Conversation, ConversationId, Participant
from portico.bridge.core.errors import ConversationNotFound, InvalidBridgeInput
from portico.bridge.core.messages import MessageId
from portico.bridge.ports import MessageRange
from portico.engine.core.errors import StoreUnavailable
from portico.guard.core.errors import NotPermitted
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_conversations import MemoryConversations, MemoryMessages
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom
from tests.turns import settled

pytestmark = pytest.mark.usefixtures("nothing_blocks")
PATIENCE = 30.0


class CountedMessages(MemoryMessages):
    """Counts how often it is looked into, and can be away or broken."""

    looks = 0
    away = False
    broken = False

    async def end(self, caller: Principal, conversation: ConversationId) -> int:
        self._check()
        return await super().end(caller, conversation)

    async def after(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        after: int,
        limit: int,
        max_label: Label | None = None,
        thread: MessageId | None = None,
    ) -> MessageRange:
        self.looks += 1
        self._check()
        return await super().after(
            caller, conversation, after=after, limit=limit, max_label=max_label, thread=thread
        )

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("gone")
        if self.broken:
            raise ZeroDivisionError


class Ear:
    """One who follows, and keeps what they hear."""

    def __init__(self) -> None:
        self.heard: list[Activity] = []
        self.over = asyncio.Event()
        self._more = asyncio.Event()

    async def listen(
        self,
        room: TalkRoom,
        who: Principal,
        where: Sequence[Conversation],
        upto: Label | None = None,
    ) -> None:
        talks = [talk.id for talk in where]
        async with aclosing(room.follow(who, talks, upto=upto)) as following:
            async for news in following:
                self.heard.append(news)
                self._more.set()
        self.over.set()

    async def hears(self, many: int) -> list[Activity]:
        """So many more than those of the beginning."""
        async with asyncio.timeout(PATIENCE):
            while len(self.heard) < many:
                await self._more.wait()
                self._more.clear()
        return self.heard


@asynccontextmanager
async def following(
    room: TalkRoom, who: Principal, *where: Conversation, upto: Label | None = None
) -> AsyncIterator[Ear]:
    """Having heard the first one of each."""
    ear = Ear()
    task = asyncio.create_task(ear.listen(room, who, where, upto))
    try:
        await ear.hears(len(where))
        ear.heard.clear()
        yield ear
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_first_of_each_so_that_whoever_reads_then_misses_nothing(room: TalkRoom) -> None:
    ana = room.enters("ana")
    one, two = await room.a_talk(ana, TEAM), await room.a_talk(ana, SECRET)

    async with aclosing(room.follow(ana, [one.id, two.id])) as news:
        assert await anext(news) == Activity(one.id, TEAM)
        assert await room.mark(ana) == TEAM
        assert await anext(news) == Activity(two.id, SECRET)
        assert await room.mark(ana) == SECRET

    assert room.bulletin.size == 0


async def test_what_is_said_is_heard_of_without_what_it_is(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(bob, TEAM)

    async with following(room, ana, talk) as ear:
        await room.says(bob, talk, "a")
        assert await ear.hears(1) == [Activity(talk.id, TEAM)]


async def test_many_at_once_are_one_news_as_secret_as_all_of_them(room: TalkRoom) -> None:
    ana, boss = room.enters("ana"), room.enters("boss", kind=PrincipalKind.PERSON)
    talk = await room.a_talk(boss, TEAM)

    async with following(room, ana, talk) as ear:
        for label in (TEAM, SECRET, TEAM):
            await room.says(boss, talk, "x", label)
        assert await ear.hears(1) == [Activity(talk.id, SECRET)]
        await settled()

    assert len(ear.heard) == 1
    assert await room.mark(ana) == SECRET


async def test_of_what_is_hidden_nothing_is_heard(room: TalkRoom) -> None:
    ana, low, boss = room.enters("ana"), room.enters("low", TEAM), room.enters("boss")
    talk = await room.a_talk(boss, TEAM)

    async with (
        following(room, low, talk) as lower,
        following(room, ana, talk, upto=TEAM) as modest,
        following(room, room.enters("high"), talk) as higher,
    ):
        await room.says(boss, talk, "x", SECRET)
        await higher.hears(1)
        await settled()

        assert (lower.heard, modest.heard) == ([], [])
    assert await room.mark(ana) == TEAM


async def test_a_lost_wake_up_is_made_up_for(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(bob, TEAM)

    async with following(room, ana, talk) as ear:
        room.bus.deaf = True
        await room.says(bob, talk, "x")
        assert await ear.hears(1) == [Activity(talk.id, TEAM)]


async def test_a_thousand_listeners_are_told_by_one_look() -> None:
    room = TalkRoom(CountedMessages)
    assert isinstance(room.messages, CountedMessages)
    boss = room.enters("boss")
    talk = await room.a_talk(boss, TEAM)
    ears = [Ear() for _ in range(1_000)]

    async with asyncio.TaskGroup() as tasks:
        following = [
            tasks.create_task(ear.listen(room, room.enters(f"a{number}", TEAM), [talk]))
            for number, ear in enumerate(ears)
        ]
        for ear in ears:
            await ear.hears(1)
        before, sizes = room.messages.looks, room.bulletin.size
        await room.says(boss, talk, "x")
        for ear in ears:
            await ear.hears(2)
        looks = room.messages.looks - before
        for task in following:
            task.cancel()

    assert sizes == 1
    assert looks <= 3
    assert room.bulletin.size == 0


async def test_who_may_see_less_by_now_is_told_so_and_hears_only_that(room: TalkRoom) -> None:
    ana, boss = room.enters("ana"), room.enters("boss")
    one, two = await room.a_talk(boss, TEAM), await room.a_talk(boss, TEAM)

    async with following(room, ana, one, two) as ear:
        room.cleared_for(ana, TEAM)
        await room.says(boss, one, "x", SECRET)
        heard = await ear.hears(2)
        await ear.over.wait()

    assert heard == [Activity(one.id, PUBLIC, reset=True), Activity(two.id, PUBLIC, reset=True)]

    talk = await room.a_talk(boss, TEAM)

    async with following(room, ana, talk) as ear:
        room.cleared_for(ana, TEAM)
        assert await ear.hears(1) == [Activity(talk.id, PUBLIC, reset=True)]


async def test_what_is_hidden_by_now_does_not_hasten_that() -> None:
    room = TalkRoom(look=PATIENCE)
    ana, bob, boss = room.enters("ana"), room.enters("bob"), room.enters("boss")
    talk = await room.a_talk(boss, TEAM)
    closed = await room.a_talk(boss, TEAM, closed=True, with_=[ana])

    async with (
        following(room, ana, talk, closed) as ear,
        following(room, bob, talk) as other,
    ):
        room.cleared_for(ana, TEAM)
        await room.leave(ana, closed.id)
        await room.says(boss, talk, "x", SECRET)
        await room.says(boss, closed, "y")
        assert await other.hears(1) == [Activity(talk.id, SECRET)]
        await settled()
        assert ear.heard == []


async def test_whose_key_has_ended_hears_nothing_more(room: TalkRoom) -> None:
    ana, boss = room.enters("ana"), room.enters("boss")
    talk = await room.a_talk(boss, TEAM)

    async with following(room, ana, talk) as ear, following(room, boss, talk) as other:
        room.revoke(ana, BEGINNING)
        await room.says(boss, talk, "x")
        await ear.over.wait()
        assert await other.hears(1) == [Activity(talk.id, TEAM)]

    assert ear.heard == [Activity(talk.id, PUBLIC, reset=True)]


async def test_a_closed_one_is_followed_by_those_alone_who_take_part(room: TalkRoom) -> None:
    ana, bob, eve = room.enters("ana"), room.enters("bob"), room.enters("eve")
    talk = await room.a_talk(ana, closed=True, with_=[bob])

    with pytest.raises(ConversationNotFound):
        await anext(room.follow(eve, [talk.id]))
    async with following(room, bob, talk) as left, following(room, ana, talk) as stays:
        await room.says(ana, talk, "x")
        assert len(await left.hears(1)) == 1
        assert len(await stays.hears(1)) == 1
        await room.leave(bob, talk.id)
        await room.says(ana, talk, "y")
        assert len(await stays.hears(2)) == 2
        await left.over.wait()

    assert left.heard[1:] == [Activity(talk.id, PUBLIC, reset=True)]


async def test_of_those_who_listen_to_a_closed_one_each_is_looked_at(room: TalkRoom) -> None:
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(ana, closed=True, with_=[bob])

    async with following(room, ana, talk) as stays, following(room, bob, talk) as left:
        await room.leave(bob, talk.id)
        await room.says(ana, talk, "x")
        assert await stays.hears(1) == [Activity(talk.id, PUBLIC)]
        await left.over.wait()

    assert left.heard == [Activity(talk.id, PUBLIC, reset=True)]


async def test_after_the_last_word_of_a_conversation_there_is_none() -> None:
    talk = ConversationId.mint(BEGINNING, SeededEntropy("talk"))
    listener = Listener(a_person(), [talk], None)

    listener.lose(talk)
    listener.notify(talk, TEAM)

    assert await listener.receive() == [Activity(talk, PUBLIC, reset=True)]


async def test_a_closed_one_is_watched_on_when_its_first_listener_has_left(room: TalkRoom) -> None:
    ana, bob, boss = room.enters("ana"), room.enters("bob"), room.enters("boss")
    talk = await room.a_talk(boss, closed=True, with_=[ana, bob])

    async with following(room, ana, talk) as first, following(room, bob, talk) as second:
        await room.leave(ana, talk.id)
        await room.leave(bob, talk.id)
        await room.says(boss, talk, "x")
        await first.over.wait()
        await second.over.wait()

    assert [ear.heard for ear in (first, second)] == [[Activity(talk.id, PUBLIC, reset=True)]] * 2


async def test_while_the_store_is_away_nothing_is_lost() -> None:
    room = TalkRoom(CountedMessages)
    assert isinstance(room.messages, CountedMessages)
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(bob, TEAM)

    async with following(room, ana, talk) as ear:
        room.messages.away = True
        await room.says(bob, talk, "x")
        await settled()
        room.messages.away = False
        assert await ear.hears(1) == [Activity(talk.id, TEAM)]


class MembersAway(MemoryConversations):
    """Its first question for those who take part is not answered."""

    asked = 0

    async def participants(
        self, caller: Principal, conversation: ConversationId
    ) -> Sequence[Participant]:
        self.asked += 1
        if self.asked == 1:
            raise StoreUnavailable("gone")
        return await super().participants(caller, conversation)


async def test_what_was_found_is_told_once_it_is_known_to_whom() -> None:
    room = TalkRoom(conversations=MembersAway)
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(bob, TEAM, closed=True, with_=[ana])

    async with following(room, ana, talk) as ear:
        await room.says(bob, talk, "x")
        assert await ear.hears(1) == [Activity(talk.id, TEAM)]


async def test_what_breaks_says_so_to_those_who_listen() -> None:
    room = TalkRoom(CountedMessages)
    assert isinstance(room.messages, CountedMessages)
    ana, bob = room.enters("ana"), room.enters("bob")
    talk = await room.a_talk(bob, TEAM)

    async with following(room, ana, talk) as ear:
        room.messages.broken = True
        await room.says(bob, talk, "x")
        await ear.over.wait()
        room.messages.broken = False
        async with following(room, ana, talk) as again:
            await room.says(bob, talk, "y")
            assert await again.hears(1) == [Activity(talk.id, TEAM)]

    assert ear.heard == [Activity(talk.id, PUBLIC, reset=True)]


async def test_nobody_follows_what_is_not_there_for_them() -> None:
    room = TalkRoom(CountedMessages)
    assert isinstance(room.messages, CountedMessages)
    low, boss = room.enters("low", TEAM), room.enters("boss")
    talk = await room.a_talk(boss, SECRET)

    with pytest.raises(ConversationNotFound):
        await anext(room.follow(low, [talk.id]))
    with pytest.raises(ConversationNotFound):
        await anext(room.follow(boss, [talk.id], upto=TEAM))
    with pytest.raises(InvalidBridgeInput):
        await anext(room.follow(boss, []))
    with pytest.raises(NotPermitted):
        await anext(room.follow(room.enters("none", roles=[]), [talk.id]))
    assert room.bulletin.size == 0


async def test_a_deleted_space_ends_what_is_followed_in_it(
    room: TalkRoom,
    ana: Principal,
    talk: Conversation,
) -> None:
    async with following(room, ana, talk) as ear:
        room.world.forget(ana.space)
        await ear.over.wait()

    assert ear.heard == [Activity(talk.id, PUBLIC, reset=True)]
