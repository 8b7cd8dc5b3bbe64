"""Reading and finding what was said: all of it, once, in order, and nothing that is hidden."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import ConversationNotFound, InvalidBridgeInput, MessageNotFound
from portico.bridge.core.messages import MessageId, NewMessage, Page
from portico.bridge.search import EmbedMessages, ToEmbed
from portico.engine.core.errors import InvalidCursor, StoreUnavailable
from portico.guard.core.errors import KeyEnded, NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.ids import SpaceId
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom
from tests.turns import settled

LONG = timedelta(seconds=30)


def bodies(page: Page) -> list[str]:
    return [message.body for message in page.messages]


async def a_mixed_talk(room: TalkRoom, *said: str) -> Conversation:
    """Where what begins with an exclamation mark is secret."""
    boss = room.enters("boss", kind=PrincipalKind.PERSON)
    talk = await room.a_talk(boss, TEAM)
    for body in said:
        await room.says(boss, talk, body, SECRET if body.startswith("!") else TEAM)
    return talk


async def test_page_by_page_each_comes_once_and_in_order(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a", "!b", "c", "d", "!e")
    low = room.enters("low", TEAM)

    first = await room.read_messages(low, [talk.id], limit=2)
    second = await room.read_messages(low, [talk.id], cursor=first.cursor, limit=2)

    assert (bodies(first), first.more) == (["a", "c"], True)
    assert (bodies(second), second.more) == (["d"], False)


async def test_where_one_stands_does_not_tell_of_what_is_hidden(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a")
    low = room.enters("low", TEAM)
    first = await room.read_messages(low, [talk.id])
    tail = await room.tail_cursor(low, [talk.id])
    back = await room.look_back(low, talk.id)

    await room.says(room.enters("boss"), talk, "!b", SECRET)

    again = await room.read_messages(low, [talk.id], cursor=first.cursor)
    assert (again.messages, again.cursor) == ([], first.cursor)
    assert await room.tail_cursor(low, [talk.id]) == tail
    assert await room.look_back(low, talk.id) == back


async def test_whoever_reads_has_read_before_they_are_told(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a", "!b")
    ana = room.enters("ana")

    low = await room.read_messages(ana, [talk.id], upto=TEAM)
    assert (bodies(low), await room.mark(ana)) == (["a"], TEAM)
    high = await room.read_messages(ana, [talk.id])
    assert (bodies(high), await room.mark(ana)) == (["a", "!b"], SECRET)


async def test_that_nothing_was_said_is_as_secret_as_where(room: TalkRoom, ana: Principal) -> None:
    talk = await room.a_talk(room.enters("boss"), SECRET)

    await room.read_messages(ana, [talk.id])

    assert await room.mark(ana) == SECRET
    with pytest.raises(ConversationNotFound):
        await room.read_messages(ana, [talk.id], upto=TEAM)


async def test_a_cursor_is_of_one_reader_and_one_clearance(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a", "!b")
    ana, bob = room.enters("ana"), room.enters("bob")
    page = await room.read_messages(ana, [talk.id])

    with pytest.raises(InvalidCursor):
        await room.read_messages(bob, [talk.id], cursor=page.cursor)
    with pytest.raises(InvalidCursor):
        await room.read_messages(ana, [talk.id], cursor="nonsense ä")
    with pytest.raises(InvalidCursor):
        await room.look_back(ana, talk.id, before=page.cursor)
    lower = await room.read_messages(room.cleared_for(ana, TEAM), [talk.id], cursor=page.cursor)
    assert (bodies(lower), lower.reset) == (["a"], True)
    there_again = await room.read_messages(ana, [talk.id], cursor=page.cursor)
    assert (bodies(there_again), there_again.reset) == ([], False)


async def test_a_cursor_of_a_lower_look_misses_nothing_of_a_higher_one(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "!a", "b")
    ana = room.enters("ana")
    low = await room.read_messages(ana, [talk.id], upto=TEAM)

    high = await room.read_messages(ana, [talk.id], cursor=low.cursor)

    assert (bodies(high), high.reset) == (["!a", "b"], True)


async def test_several_conversations_are_read_as_one(room: TalkRoom, ana: Principal) -> None:
    one, two = await room.a_talk(ana), await room.a_talk(ana)
    for number, talk in enumerate([one, two, two, one]):
        await room.says(ana, talk, str(number))

    first = await room.read_messages(ana, [two.id, one.id], limit=3)
    second = await room.read_messages(ana, [one.id, two.id], cursor=first.cursor)

    assert (bodies(first), first.more) == (["0", "1", "2"], True)
    assert (bodies(second), second.more) == (["3"], False)


async def test_each_conversation_is_a_persons_task_of_its_own(room: TalkRoom) -> None:
    ana = room.enters("ana", kind=PrincipalKind.PERSON)
    low, high = await a_mixed_talk(room, "a"), await a_mixed_talk(room, "!b")

    await room.read_messages(ana, [low.id, high.id])

    assert await room.mark(ana, low.id) == TEAM
    assert await room.mark(ana, high.id) == SECRET
    assert await room.mark(ana) == PUBLIC


async def test_from_now_on_is_after_all_that_one_may_see(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a", "!b")
    ana = room.enters("ana")
    tail = await room.tail_cursor(ana, [talk.id])
    assert await room.mark(ana) == SECRET

    await room.says(room.enters("bob"), talk, "c")

    assert bodies(await room.read_messages(ana, [talk.id], cursor=tail)) == ["c"]


async def test_one_looks_back_from_the_end(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a", "!b", "c", "d")
    low = room.enters("low", TEAM)

    last = await room.look_back(low, talk.id, limit=2)
    first = await room.look_back(low, talk.id, before=last.cursor, limit=2)
    none = await room.look_back(low, talk.id, before=first.cursor, limit=2)

    assert (bodies(last), last.more) == (["c", "d"], True)
    assert (bodies(first), first.more) == (["a"], False)
    assert (bodies(none), none.more) == ([], False)
    moved = await room.look_back(
        room.cleared_for(low, SECRET), talk.id, before=last.cursor, limit=2
    )
    assert (bodies(moved), moved.reset) == (["c", "d"], True)


async def test_a_thread_is_read_whole_by_each_of_its_messages(
    room: TalkRoom,
    ana: Principal,
    low: Principal,
    talk: Conversation,
) -> None:
    root = await room.says(ana, talk, "a")
    await room.says(ana, talk, "aside")
    answers = []
    for body, label in (("b", TEAM), ("!c", SECRET)):
        wanted = NewMessage(conversation=talk.id, body=body, reply_to=root.id, label=label)
        answers.append((await room.send_message(ana, wanted)).message)

    seen = [its.body for its in await room.read_thread(low, answers[0].id)]

    assert seen == ["a", "b"]
    assert [its.body for its in await room.read_thread(ana, root.id)] == ["a", "b", "!c"]
    with pytest.raises(MessageNotFound):
        await room.read_thread(low, answers[1].id)


async def test_a_long_thread_is_read_page_by_page(room: TalkRoom, ana: Principal) -> None:
    talk, other = await room.a_talk(ana), await room.a_talk(ana)
    root = await room.says(ana, talk, "0")
    elsewhere = await room.says(ana, other, "elsewhere")
    for number in range(1, 6):
        wanted = NewMessage(conversation=talk.id, body=str(number), reply_to=root.id)
        await room.send_message(ana, wanted)

    first = await room.read_thread(ana, root.id, limit=3)
    then = await room.read_thread(ana, root.id, after=first[-1].id, limit=3)

    assert [its.body for its in first] == ["0", "1", "2"]
    assert [its.body for its in then] == ["3", "4", "5"]
    assert await room.read_thread(ana, root.id, after=then[-1].id) == []
    with pytest.raises(MessageNotFound):
        await room.read_thread(ana, root.id, after=elsewhere.id)


async def test_a_thread_whose_beginning_was_raised_is_read_without_it(
    room: TalkRoom,
    ana: Principal,
    low: Principal,
    talk: Conversation,
) -> None:
    root = await room.says(ana, talk, "a")
    answer = await room.send_message(
        low, NewMessage(conversation=talk.id, body="b", reply_to=root.id)
    )
    await room.marks.read(ana, [SECRET])
    await room.edit_message(ana, root.id, "!a")

    assert [its.body for its in await room.read_thread(low, answer.message.id)] == ["b"]


async def test_what_is_hidden_and_what_is_not_there_are_refused_alike(
    room: TalkRoom,
    ana: Principal,
    low: Principal,
    talk: Conversation,
) -> None:
    hidden = await room.says(ana, talk, "!a", SECRET)

    with pytest.raises(MessageNotFound):
        await room.show_message(low, hidden.id)
    assert (await room.show_message(ana, hidden.id)).body == "!a"
    with pytest.raises(NotPermitted):
        await room.show_message(room.enters("none", roles=[]), hidden.id)
    with pytest.raises(InvalidBridgeInput):
        await room.read_messages(ana, [], limit=0)


async def test_whoever_waits_is_answered_when_something_is_said(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a")
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    here = await room.tail_cursor(ana, [talk.id])

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(room.read_messages(ana, [talk.id], cursor=here, wait=LONG))
        await settled()
        await room.says(bob, talk, "b")
        await settled()
        assert waiting.done()

    assert bodies(waiting.result()) == ["b"]
    assert room.bulletin.size == 0


async def test_who_waits_in_vain_is_told_that_there_is_nothing(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a")
    low = room.enters("low", TEAM)
    here = await room.tail_cursor(low, [talk.id])
    await room.says(room.enters("boss"), talk, "!b", SECRET)

    page = await room.read_messages(low, [talk.id], cursor=here, wait=timedelta(milliseconds=10))

    assert (bodies(page), page.cursor) == ([], here)


async def test_whoever_may_see_less_when_it_comes_begins_anew(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a", "!b")
    ana = room.enters("ana")
    here = await room.tail_cursor(ana, [talk.id])

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(room.read_messages(ana, [talk.id], cursor=here, wait=LONG))
        await settled()
        room.cleared_for(ana, TEAM)
        await room.says(room.enters("bob"), talk, "!c", SECRET)

    assert (bodies(waiting.result()), waiting.result().reset) == (["a"], True)


async def test_whose_key_ends_while_they_wait_is_told_nothing(
    room: TalkRoom, ana: Principal
) -> None:
    talk = await a_mixed_talk(room, "a")
    here = await room.tail_cursor(ana, [talk.id])
    waiting = asyncio.create_task(room.read_messages(ana, [talk.id], cursor=here, wait=LONG))
    await settled()
    room.revoke(ana, BEGINNING)

    await room.says(room.enters("bob"), talk, "c")

    with pytest.raises(KeyEnded):
        await waiting


async def test_a_look_is_as_high_as_one_may(room: TalkRoom) -> None:
    talk = await a_mixed_talk(room, "a", "!b")
    low = room.enters("low", TEAM)

    page = await room.read_messages(low, [talk.id], upto=Label.parse("restricted"))

    assert bodies(page) == ["a"]
    assert await room.mark(low) == TEAM

    room = TalkRoom()
    talk = await a_mixed_talk(room, "a")
    viewer = room.enters("viewer", roles=[Role.VIEWER])

    assert bodies(await room.read_messages(viewer, [talk.id])) == ["a"]


async def test_it_is_found_by_its_words_by_who_may_read_it(
    room: TalkRoom,
    ana: Principal,
    low: Principal,
    talk: Conversation,
) -> None:
    first = await room.says(ana, talk, "Lunch at noon?", TEAM)
    second = await room.says(ana, talk, "The merger, at NOON", SECRET)

    assert [hit.message.id for hit in await room.search(ana, "noon")] == [second.id, first.id]
    assert [hit.message.id for hit in await room.search(low, "noon at")] == [first.id]
    assert await room.search(low, "merger") == []


async def test_whoever_finds_it_has_read_it(
    room: TalkRoom,
    ana: Principal,
    bob: Principal,
    talk: Conversation,
) -> None:
    await room.says(ana, talk, "noon", TEAM)
    await room.says(ana, talk, "noon", SECRET)

    assert len(await room.search(bob, "noon", upto=TEAM)) == 1
    assert await room.mark(bob) == TEAM
    assert len(await room.search(bob, "noon", by_meaning=True)) == 2
    assert await room.mark(bob) == SECRET


async def test_it_is_found_where_it_is_looked_for(room: TalkRoom) -> None:
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


async def test_something_has_to_be_looked_for(room: TalkRoom, ana: Principal) -> None:
    with pytest.raises(InvalidBridgeInput) as refused:
        await room.search(ana, "", limit=0)

    assert [flaw.field for flaw in refused.value.field_errors] == ["query", "limit"]


async def test_who_one_is_includes_what_one_has_read(room: TalkRoom, ana: Principal) -> None:
    await room.marks.read(ana, [SECRET], untrusted=True)

    me = await room.who_am_i(ana)

    assert (me.principal, me.name, me.kind) == (ana.id, "ana", PrincipalKind.AGENT)
    assert (me.mark, me.untrusted, me.clearance) == (SECRET, True, ana.clearance)
    assert "bridge:read" in me.scopes


ENTROPY = SeededEntropy("embedding")
HOME = SpaceId.mint(BEGINNING, ENTROPY)
ALL = Label(Level.RESTRICTED, frozenset({"finance"}))


@dataclass
class ScriptedVectors:
    texts: list[str]
    put_by: list[Principal] = field(default_factory=list)
    arranged: int = 0
    failures: list[Exception] = field(default_factory=list)
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    async def waiting(self) -> Sequence[SpaceId]:
        if self.failures:
            raise self.failures.pop(0)
        self.looked.set()
        return [HOME] if self.texts else []

    async def clearance(self, worker: Principal) -> Label:
        assert worker.space == HOME
        return ALL

    async def missing(self, worker: Principal, limit: int) -> Sequence[ToEmbed]:
        return [
            ToEmbed(message=MessageId.mint(BEGINNING, ENTROPY), text=text, at=BEGINNING)
            for text in self.texts[:limit]
        ]

    async def put(
        self, worker: Principal, vectors: Sequence[tuple[ToEmbed, Sequence[float]]]
    ) -> int:
        assert [vector for _, vector in vectors] == [(len(its.text),) for its, _ in vectors]
        self.put_by.append(worker)
        del self.texts[: len(vectors)]
        return len(vectors)

    async def arrange(self) -> int:
        self.arranged += 1
        return 0


async def lengths(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    return [(len(text),) for text in texts]


async def test_all_that_has_no_vector_is_given_one_by_somebody_who_may_see_it() -> None:
    vectors = ScriptedVectors(["x" * number for number in range(150)])
    embed = EmbedMessages(vectors=vectors, meaning=lengths)

    assert await embed() == 150
    assert await embed() == 0
    assert vectors.texts == []
    assert vectors.arranged == 1
    assert {(who.kind, who.clearance) for who in vectors.put_by} == {(PrincipalKind.WORKER, ALL)}


async def test_it_goes_on_whatever_happens(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[Exception] = [StoreUnavailable("away"), RuntimeError("odd")]
    vectors = ScriptedVectors(["hello"], failures=failures)
    embed = EmbedMessages(vectors=vectors, meaning=lengths)

    going_on = asyncio.ensure_future(embed.every(timedelta(0)))
    async with asyncio.timeout(30):
        await vectors.looked.wait()
    going_on.cancel()
    await asyncio.wait([going_on])

    told = [record.message for record in caplog.records]
    assert told == [
        "messages are not found by meaning for now: away",
        "what messages mean could not be kept; trying again later",
    ]
