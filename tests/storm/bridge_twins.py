"""Two houses whose low reader lives the same life, and which differ in what is above them."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from portico.bridge.core.activity import Activity
from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import LeaseHeld
from portico.bridge.core.leases import LeaseSpec
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.messages import Message, NewMessage, ReplyRequest, Sent
from portico.bridge.core.presence import PresenceStatus
from portico.bridge.core.projects import Project
from portico.bridge.core.work_items import NewWorkItem, WorkItem
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from tests.storm.twins import Hidden, Step, Twin
from tests.storm.walled_house import WalledHouse

TEAM, SECRET = Label.parse("team"), Label.parse("restricted+law")
WORDS = ("plans", "budget", "nest", "river", "engine")


@dataclass(kw_only=True)
class BridgeTwin(Twin):
    house: WalledHouse
    news: list[Activity] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    talks: list[Conversation] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    works: list[WorkItem] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    files: list[Digest] = field(default_factory=list)
    cursors: dict[str, str] = field(default_factory=dict)
    hidden: list[Message] = field(default_factory=list)
    hidden_projects: list[Project] = field(default_factory=list)

    async def move_in(self) -> None:
        house = self.house
        self.reader = await house.enters("reader", "team")
        self.author = await house.enters("writer", "team", kind=PrincipalKind.PERSON)
        self.above = await house.enters("secret", "restricted+finance+law")
        for name in ("apollo", "hermes"):
            made = await house.talk.create_project(self.writer(), name, f"About {name}.", TEAM)
            self.projects.append(made)
        for number, project in enumerate([*self.projects, *self.projects]):
            talk = await house.talk.create_conversation(
                self.writer(), project.id, f"Talk {number}", participants=[self.reader.id]
            )
            self.talks.append(talk)

    def writer(self) -> Principal:
        return self.house.afresh(self.author)

    async def listen(self) -> None:
        talks = [talk.id for talk in self.talks]
        async for news in self.house.talk.follow_conversations(self.reader, talks):
            self.news.append(news)

    async def heard(self, sending: Awaitable[Sent]) -> Message:
        """What is said where the reader listens wakes them, once; nothing else is said before."""
        while len(self.news) < len(self.talks):  # noqa: ASYNC110 # they have not begun to listen
            await asyncio.sleep(0.005)
        before = len(self.news)
        sent = await sending
        async with asyncio.timeout(60):
            while not sent.replayed and len(self.news) == before:  # noqa: ASYNC110 # elsewhere
                await asyncio.sleep(0.005)
        return sent.message

    async def say(self, talk: Conversation, **more: Any) -> Message:
        body = f"{self.low_life.choice(WORDS)} {self.low_life.choice(WORDS)}"
        wish = NewMessage(conversation=talk.id, body=body, label=TEAM, **more)
        said = await self.heard(self.house.talk.send_message(self.writer(), wish))
        self.said.append(said)
        return said

    def secret(self) -> Principal:
        return self.house.afresh(self.above)


async def woken(twin: BridgeTwin) -> object:
    await twin.say(twin.low_life.choice(twin.talks))
    return len(twin.news)


async def page_on(twin: BridgeTwin) -> object:
    talks = [talk.id for talk in twin.low_life.sample(twin.talks, 2)]
    name = " ".join(sorted(map(str, talks)))
    page = await twin.house.talk.read_messages(
        twin.reader, talks, cursor=twin.cursors.get(name), limit=twin.low_life.choice([2, 50])
    )
    twin.cursors[name] = page.cursor
    return page


async def back(twin: BridgeTwin) -> object:
    talk = twin.low_life.choice(twin.talks).id
    last = await twin.house.talk.look_back(twin.reader, talk, limit=2)
    before = await twin.house.talk.look_back(twin.reader, talk, before=last.cursor, limit=2)
    return [last, before]


async def tail(twin: BridgeTwin) -> object:
    return {"cursor": await twin.house.talk.tail_cursor(twin.reader, [twin.talks[0].id])}


async def inbox(twin: BridgeTwin) -> object:
    return await twin.house.talk.show_inbox(twin.reader)


async def lists(twin: BridgeTwin) -> object:
    talk, limit = twin.house.talk, twin.low_life.choice([1, 50])
    conversations = await talk.list_conversations(twin.reader, limit=limit)
    return [
        await talk.list_projects(twin.reader, limit=limit),
        conversations,
        await talk.list_conversations(twin.reader, after=str(conversations[-1].id), limit=3),
        await talk.show_project(twin.reader, "apollo"),
    ]


async def found(twin: BridgeTwin) -> object:
    word = twin.low_life.choice(WORDS)
    return await twin.house.talk.search_messages(twin.reader, word, limit=5)


async def meant(twin: BridgeTwin) -> object:
    await twin.house.embed()
    word = twin.low_life.choice(WORDS)
    return await twin.house.talk.search_messages(twin.reader, word, by_meaning=True, limit=5)


async def remembers(twin: BridgeTwin) -> object:
    key, project = twin.low_life.choice(WORDS), twin.projects[0].id
    version = twin.low_life.choice([None, 0, 1])
    twin.keys.append(key)
    wish = ToRemember(project=project, key=key, value={"is": key}, version=version)
    return await twin.house.things.remember(twin.reader, wish)


async def recalls(twin: BridgeTwin) -> object:
    project = twin.projects[0].id
    things, key = twin.house.things, twin.low_life.choice(WORDS)
    return [
        await things.list_memory(twin.reader, project),
        await things.search_memory(twin.reader, project, key),
        await things.recall(twin.reader, project, key),
        await things.memory_history(twin.reader, project, key),
    ]


async def takes_lease(twin: BridgeTwin) -> object:
    wish = LeaseSpec(
        project=twin.projects[1].id, resource=f"src/{twin.low_life.choice(WORDS)}", wait=True
    )
    with suppress(LeaseHeld):
        held = await twin.house.things.take_lease(twin.reader, wish)
        return [held, await twin.house.things.list_leases(twin.reader, twin.projects[1].id)]
    return await twin.house.things.list_leases(twin.reader, twin.projects[1].id)


async def works(twin: BridgeTwin) -> object:
    project, title = twin.projects[0].id, twin.low_life.choice(WORDS)
    depends = tuple(work.id for work in twin.works[-1:])
    made = await twin.house.things.add_work(
        twin.reader, NewWorkItem(project=project, title=title, depends=depends, key=None)
    )
    twin.works.append(made)
    return [made, await twin.house.things.list_work(twin.reader, project)]


async def names_project(twin: BridgeTwin) -> object:
    """By names that are taken above."""
    name = f"{twin.low_life.choice(WORDS)} house"
    return await twin.house.talk.create_project(twin.reader, name, "", TEAM)


async def attaches(twin: BridgeTwin) -> object:
    word = twin.low_life.choice(WORDS)
    made = await twin.house.things.attach(
        twin.reader, twin.projects[0].id, f"{word}.txt", "text/plain", word.encode()
    )
    twin.files.append(made.digest)
    return [made, await twin.house.things.fetch_attachment(twin.reader, made.digest)]


async def sends_once(twin: BridgeTwin) -> object:
    talk, key = twin.talks[0], twin.low_life.choice(WORDS)
    wish = NewMessage(conversation=talk.id, body=f"Once: {key}", key=key)
    return await twin.heard(twin.house.talk.send_message(twin.reader, wish))


async def thread(twin: BridgeTwin) -> object:
    if not twin.said:
        return None
    root = twin.low_life.choice(twin.said)
    talk = next(each for each in twin.talks if each.id == root.conversation)
    await twin.say(talk, reply_to=root.id)
    return await twin.house.talk.read_thread(twin.reader, root.id)


async def acknowledges(twin: BridgeTwin) -> object:
    until = twin.house.doors.clock.now() + timedelta(milliseconds=1)
    said = await twin.say(
        twin.talks[1],
        addressed=(twin.reader.id,),
        mentions=(twin.reader.id,),
        acknowledge=ReplyRequest(until=until),
    )
    if twin.low_life.random() < 0.5:
        await twin.house.talk.acknowledge(twin.reader, said.id)
    return await twin.house.talk.list_acknowledged(twin.reader, said.id)


async def presence(twin: BridgeTwin) -> object:
    await twin.house.things.say_presence(twin.reader, twin.projects[0].id, PresenceStatus.THERE)
    return await twin.house.things.list_presence(twin.reader, twin.projects[0].id)


async def takes_out(twin: BridgeTwin) -> object:
    lines = await twin.house.use_cases.letting_out.export_project(
        twin.reader, twin.low_life.choice(twin.projects).id
    )
    return [line async for line in lines]


async def participants(twin: BridgeTwin) -> object:
    talk = twin.low_life.choice(twin.talks).id
    return await twin.house.talk.list_participants(twin.reader, talk)


async def marks_read(twin: BridgeTwin) -> object:
    talk = twin.low_life.choice(twin.talks).id
    page = await twin.house.talk.read_messages(twin.reader, [talk], limit=200)
    await twin.house.talk.mark_read(twin.reader, [talk], page.cursor)
    return [page, await twin.house.talk.show_inbox(twin.reader)]


async def wrong(twin: BridgeTwin) -> object:
    return await twin.house.things.recall(twin.reader, twin.projects[1].id, "no such key")


async def whoami(twin: BridgeTwin) -> object:
    return await twin.house.talk.who_am_i(twin.reader)


async def hidden_message(twin: BridgeTwin, random: Random) -> None:
    sent = await twin.house.talk.send_message(
        twin.secret(),
        NewMessage(
            conversation=random.choice(twin.talks).id,
            body=" ".join(random.choices(WORDS, k=random.randint(1, 9))),
            label=SECRET,
            mentions=(twin.reader.id,),
            addressed=(twin.reader.id,),
            acknowledge=ReplyRequest(
                until=twin.house.doors.clock.now() + timedelta(milliseconds=1)
            ),
        ),
    )
    twin.hidden.append(sent.message)


async def hidden_change(twin: BridgeTwin, random: Random) -> None:
    if twin.hidden:
        its = random.choice(twin.hidden).id
        if random.random() < 0.5:
            await twin.house.talk.edit_message(twin.secret(), its, "Otherwise.")
        else:
            await twin.house.talk.delete_message(twin.secret(), its)


async def hidden_project(twin: BridgeTwin, random: Random) -> None:
    name = random.choice(["apollo", "hermes", *(f"{word} house" for word in WORDS)])
    made = await twin.house.talk.create_project(twin.secret(), name, "Not for you.", SECRET)
    twin.hidden_projects.append(made)


async def hidden_talk(twin: BridgeTwin, random: Random) -> None:
    project = random.choice([*twin.projects, *twin.hidden_projects])
    talk = await twin.house.talk.create_conversation(
        twin.secret(), project.id, "Talk 0", label=SECRET, participants=[twin.reader.id]
    )
    await twin.house.talk.send_message(
        twin.secret(), NewMessage(conversation=talk.id, body="nest river")
    )


async def closed_talk(twin: BridgeTwin, random: Random) -> None:
    """No more secret than what the reader may read, and yet not for them."""
    who = twin.writer()
    talk = await twin.house.talk.create_conversation(
        who, random.choice(twin.projects).id, "Talk 1", closed=True
    )
    wish = NewMessage(conversation=talk.id, body="river plans", mentions=(twin.reader.id,))
    await twin.house.talk.send_message(who, wish)


async def hidden_things(twin: BridgeTwin, random: Random) -> None:
    things, word = twin.house.things, random.choice(WORDS)
    project = random.choice([*twin.projects, *twin.hidden_projects])
    await things.remember(
        twin.secret(),
        ToRemember(project=project.id, key=word, value="Not for you.", label=SECRET),
    )
    await things.attach(twin.secret(), project.id, "other.txt", "text/plain", word.encode(), SECRET)
    await things.add_work(
        twin.secret(), NewWorkItem(project=project.id, title=word, label=SECRET, key=word)
    )
    if twin.hidden_projects:
        above = twin.hidden_projects[-1].id
        await things.say_presence(twin.secret(), above, PresenceStatus.BUSY, "Not for you.")
        await things.take_lease(twin.secret(), LeaseSpec(project=above, resource=f"src/{word}"))


LOW_STEPS: Sequence[Step] = (
    *[woken] * 3,
    *[marks_read] * 3,
    *[page_on] * 2,
    *[inbox] * 2,
    *[lists] * 2,
    back,
    tail,
    found,
    meant,
    remembers,
    recalls,
    takes_lease,
    works,
    names_project,
    attaches,
    sends_once,
    thread,
    acknowledges,
    presence,
    takes_out,
    participants,
    whoami,
    wrong,
)
HIDDEN_STEPS: Sequence[Hidden] = (
    *[hidden_message] * 3,
    hidden_project,
    hidden_talk,
    hidden_things,
    hidden_change,
    closed_talk,
)


async def lived(
    house: WalledHouse, steps: int, low_life: Random, above: Random | None
) -> BridgeTwin:
    twin = BridgeTwin(house=house, low_life=low_life, hidden_life=above)
    await twin.move_in()
    async with twin.listening():
        await twin.live(steps, LOW_STEPS, HIDDEN_STEPS, 4)
        await twin.say(twin.talks[0])
        twin.transcript.note("news", twin.news)
    return twin
