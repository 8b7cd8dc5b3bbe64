"""Every way in which something can come out of the bridge."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.messages import MessageId, NewMessage
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.work_items import NewWorkItem, WorkEnded
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.storm.bridge_world import COMMON, Said, World
from tests.storm.bridge_writes import KINDS, a_world, write
from tests.storm.leak_oracle import EVERY_LABEL, Leak, covers, met
from tests.storm.reading import Reading
from tests.storm.walled_house import walled_house


@dataclass(slots=True)
class Visit:
    world: World
    who: Principal
    random: Random
    asked: list[object] = field(default_factory=list)
    upto: Label | None = None
    wrong: list[Leak] = field(default_factory=list)
    calls: int = 1
    """How many answers were had by it, if it was answered."""

    @property
    def cleared(self) -> str:
        whole = str(self.who.clearance)
        return whole if self.upto is None else met(whole, str(self.upto))

    def asks(self, thing: Any) -> Any:
        self.asked.append(thing)
        return thing

    def some_upto(self) -> Label | None:
        if self.random.random() < 0.3:
            self.upto = Label.parse(self.random.choice(EVERY_LABEL))
        return self.upto

    def may_know(self, id_: object) -> bool:
        return self.world.book.may_know(str(id_), str(self.who.id), str(self.who.clearance))

    def one_of(self, things: Sequence[Any], id_of: Callable[[Any], object]) -> Any:
        """Of all there is; more often of what they may see."""
        its = self.random.choice(things)
        for _ in range(12 if self.random.random() < 0.75 else 0):
            if self.may_know(id_of(its)):
                break
            its = self.random.choice(things)
        self.asked.append(id_of(its))
        return its

    def project(self) -> Project:
        its: Project = self.one_of(self.world.projects, lambda each: each.id)
        return its

    def talk(self) -> Conversation:
        its: Conversation = self.one_of(self.world.talks, lambda each: each.id)
        return its

    def some_said(self) -> Said:
        its: Said = self.one_of(self.world.said, lambda each: each.message.id)
        return its

    def message(self) -> MessageId:
        return self.some_said().message.id

    def key(self) -> tuple[ProjectId, str]:
        project, key = self.one_of(self.world.keys, lambda its: its[1].rpartition("/")[2])
        self.asked += [project.id, key]
        return project.id, key

    def talks(self) -> Sequence[ConversationId]:
        """Some that they may see, and at times one that they may not."""
        every, many = self.world.talks, self.random.randint(1, 4)
        tried = self.random.sample(every, min(len(every), 12))
        some = [each.id for each in tried if self.may_know(each.id)][:many]
        if not some or self.random.random() < 0.1:
            some.append(self.random.choice(every).id)
        chosen: Sequence[ConversationId] = self.asks(list(dict.fromkeys(some)))
        return chosen

    def counts(
        self,
        way: str,
        count: int,
        mentions: int,
        talks: Iterable[str],
        *,
        read_up: Mapping[tuple[str, str], int],
    ) -> None:
        """No more is unread than they could have found themselves."""
        me = str(self.who.id)
        unread = sum(
            covers(self.cleared, its.label) and its.by.id != self.who.id and not its.deleted
            for talk in talks
            for its in self.world.said_in[talk][read_up.get((me, talk), 0) :]
        )
        if count > unread or mentions > count:
            why = f"{count} and {mentions} are told, {unread} can be seen"
            self.wrong.append(Leak(way, me, "a count", why))


async def list_projects(visit: Visit) -> object:
    house, random = visit.world.house, visit.random
    after = str(visit.project().id) if random.random() < 0.3 else None
    return await house.talk.list_projects(
        visit.who,
        after=after,
        limit=random.choice([1, 5, 50]),
        archived=random.random() < 0.1,
        upto=visit.some_upto(),
    )


async def show_project(visit: Visit) -> object:
    project = visit.project()
    which = visit.asks(visit.random.choice([project.name, str(project.id)]))
    return await visit.world.house.talk.show_project(visit.who, which)


async def list_conversations(visit: Visit) -> object:
    random = visit.random
    return await visit.world.house.talk.list_conversations(
        visit.who,
        project=visit.project().id if random.random() < 0.5 else None,
        after=str(visit.talk().id) if random.random() < 0.3 else None,
        limit=random.choice([1, 5, 50]),
        upto=visit.some_upto(),
    )


async def show_conversation(visit: Visit) -> object:
    return await visit.world.house.talk.show_conversation(visit.who, visit.talk().id)


async def list_participants(visit: Visit) -> object:
    return await visit.world.house.talk.list_participants(visit.who, visit.talk().id)


async def read_messages(visit: Visit) -> object:
    house, random, who = visit.world.house, visit.random, visit.who
    talks = visit.talks()
    upto = visit.some_upto()
    pages = []
    cursor = None
    for _ in range(random.randint(1, 3)):
        page = await house.talk.read_messages(
            who, talks, cursor=cursor, limit=random.choice([1, 7, 50]), upto=upto
        )
        pages.append(page)
        cursor = page.cursor
    visit.calls = len(pages)
    return pages


async def read_to_the_end(visit: Visit) -> object:
    """And says so: from there on what is unread is counted."""
    world, [talk, *_] = visit.world, visit.talks()
    page = await world.house.talk.read_messages(visit.who, [talk], limit=200)
    if not page.more:
        await world.house.talk.mark_read(visit.who, [talk], page.cursor)
        world.read_up[str(visit.who.id), str(talk)] = len(world.said_in[str(talk)])
    return page


async def look_back(visit: Visit) -> object:
    house, random, talk = visit.world.house, visit.random, visit.talk().id
    upto = visit.some_upto()
    last = await house.talk.look_back(visit.who, talk, limit=random.choice([1, 9]), upto=upto)
    if not last.more:
        return last
    visit.calls = 2
    earlier = await house.talk.look_back(visit.who, talk, before=last.cursor, limit=3, upto=upto)
    return [last, earlier]


async def tail_cursor(visit: Visit) -> object:
    return await visit.world.house.talk.tail_cursor(
        visit.who, visit.talks(), upto=visit.some_upto()
    )


async def show_message(visit: Visit) -> object:
    return await visit.world.house.talk.show_message(visit.who, visit.message())


async def read_thread(visit: Visit) -> object:
    return await visit.world.house.talk.read_thread(visit.who, visit.message())


async def show_versions(visit: Visit) -> object:
    return await visit.world.house.talk.show_versions(visit.who, visit.message())


async def list_acknowledged(visit: Visit) -> object:
    return await visit.world.house.talk.list_acknowledged(visit.who, visit.message())


async def list_declassifications(visit: Visit) -> object:
    return await visit.world.house.use_cases.letting_out.list_declassifications(
        visit.who, visit.message()
    )


async def propose_declassification(visit: Visit) -> object:
    """Mostly of something that can be lowered, and at times with another key: what they have read
    when they were cleared for more is above them in their own task."""
    its = visit.some_said()
    for _ in range(30):
        if its.label != str(its.talk.label) and visit.may_know(its.message.id):
            break
        its = visit.some_said()
    visit.asked = [its.message.id]
    other = Label.parse(visit.random.choice(EVERY_LABEL))
    to = its.talk.label if visit.random.random() < 0.7 else other
    house = visit.world.house
    who = visit.random.choice([visit.who, house.afresh(visit.who)])
    return await house.use_cases.letting_out.propose_declassification(who, its.message.id, to)


async def mark_one(visit: Visit) -> object:
    await visit.world.house.talk.mark_one(visit.who, visit.message())
    return None


async def inbox(visit: Visit) -> object:
    read_up = {**visit.world.read_up}  # others may read on as the same reader while this is asked
    shown = await visit.world.house.talk.show_inbox(visit.who, upto=visit.some_upto())
    for item in shown.unread:
        visit.counts(
            "inbox", item.count, item.mentions, [str(item.conversation.id)], read_up=read_up
        )
    return shown


async def unread_total(visit: Visit) -> object:
    world, me = visit.world, str(visit.who.id)
    read_up = {**world.read_up}
    told = await world.house.talk.count_unread(visit.who, upto=visit.some_upto())
    inside = [talk for talk, members in world.book.members.items() if me in members]
    visit.counts("unread_total", told.count, told.mentions, inside, read_up=read_up)
    return told


async def search_words(visit: Visit) -> object:
    world, random = visit.world, visit.random
    canary = random.choice(world.book.canaries)
    query = visit.asks(random.choice([*COMMON, canary]))
    return await world.house.talk.search_messages(
        visit.who,
        query,
        project=visit.project().id if random.random() < 0.2 else None,
        conversation=visit.talk().id if random.random() < 0.2 else None,
        upto=visit.some_upto(),
        limit=random.choice([1, 20]),
    )


async def search_meaning(visit: Visit) -> object:
    random = visit.random
    return await visit.world.house.talk.search_messages(
        visit.who,
        random.choice(COMMON),
        project=visit.project().id if random.random() < 0.2 else None,
        conversation=visit.talk().id if random.random() < 0.2 else None,
        upto=visit.some_upto(),
        by_meaning=True,
        limit=random.choice([1, 20]),
    )


async def wait_for_more(visit: Visit) -> object:
    """From the end on, for a moment in which nothing is said."""
    talk, talks = visit.world.house.talk, visit.talks()
    cursor = await talk.tail_cursor(visit.who, talks)
    return await talk.read_messages(visit.who, talks, cursor=cursor, wait=timedelta(milliseconds=1))


async def follow(visit: Visit) -> object:
    talks, told = visit.talks(), []
    upto = visit.some_upto()
    news = visit.world.house.talk.follow_conversations(visit.who, talks, upto=upto)
    async with aclosing(news) as stream:
        async for each in stream:
            told.append(each)
            if len(told) == len(talks):
                break
    return told


async def who_am_i(visit: Visit) -> object:
    return await visit.world.house.talk.who_am_i(visit.who)


async def name_people(visit: Visit) -> object:
    return await visit.world.house.talk.name_people(
        visit.who, [visit.random.choice(["author0", "cat", "root"])]
    )


async def recall(visit: Visit) -> object:
    return await visit.world.house.things.recall(visit.who, *visit.key())


async def memory_history(visit: Visit) -> object:
    return await visit.world.house.things.memory_history(visit.who, *visit.key())


async def list_memory(visit: Visit) -> object:
    random = visit.random
    return await visit.world.house.things.list_memory(
        visit.who,
        visit.project().id,
        prefix=random.choice(["", random.choice(COMMON)]),
        after=visit.key()[1] if random.random() < 0.2 else None,
        limit=random.choice([1, 50]),
    )


async def search_memory(visit: Visit) -> object:
    project, key = visit.key()
    words = visit.asks(visit.random.choice([*COMMON, key.rpartition("/")[2]]))
    return await visit.world.house.things.search_memory(visit.who, project, words)


async def fetch_attachment(visit: Visit) -> object:
    digest = visit.random.choice([*visit.world.files, Digest("0" * 64)])
    return await visit.world.house.things.fetch_attachment(visit.who, digest)


async def list_leases(visit: Visit) -> object:
    return await visit.world.house.things.list_leases(visit.who, visit.project().id)


async def check_lease(visit: Visit) -> object:
    lease = visit.one_of(visit.world.leases, lambda its: its.id)
    visit.asked += [lease.project, lease.resource]
    return await visit.world.house.things.check_lease(
        visit.who, lease.project, lease.resource, lease.token
    )


async def show_work(visit: Visit) -> object:
    work = visit.one_of(visit.world.works, lambda its: its.id)
    return await visit.world.house.things.show_work(visit.who, work.id)


async def list_work(visit: Visit) -> object:
    random, works = visit.random, visit.world.works
    after = str(visit.asks(random.choice(works).id)) if works and random.random() < 0.2 else None
    return await visit.world.house.things.list_work(
        visit.who, visit.project().id, after=after, limit=random.choice([1, 50])
    )


async def list_presence(visit: Visit) -> object:
    return await visit.world.house.things.list_presence(visit.who, visit.project().id)


async def export(visit: Visit) -> object:
    lines = await visit.world.house.use_cases.letting_out.export_project(
        visit.who, visit.project().id
    )
    async with aclosing(lines):
        return [line async for line in lines]


def _nowhere(visit: Visit, place: Label) -> Label:
    """A label with which nothing is written there: below the place, or above the writer, who is
    not cleared for all."""
    refused = [
        label
        for label in EVERY_LABEL
        if not covers(label, str(place)) or not covers(str(visit.who.clearance), label)
    ]
    return Label.parse(visit.random.choice(refused))


async def errors_of_talk(visit: Visit) -> object:
    """By somebody who tries to write where they see nothing."""
    house, who, random = visit.world.house, visit.who, visit.random
    project, talk = visit.project(), visit.talk()
    above = Label.parse(EVERY_LABEL[-1])
    if covers(str(who.clearance), str(above)):
        return None
    match random.randrange(5):
        case 0:
            wish = NewMessage(conversation=talk.id, body="x", label=_nowhere(visit, talk.label))
            return await house.talk.send_message(who, wish)
        case 1:
            name = visit.asks(project.name)
            return await house.talk.create_project(who, name, "", above)
        case 2:
            nowhere = _nowhere(visit, project.label)
            return await house.talk.create_conversation(who, project.id, "x", label=nowhere)
        case 3:
            return await house.talk.edit_message(who, visit.message(), "")
        case _:
            await house.talk.mute(who, talk.id, muted=False)
            return None


async def errors_of_things(visit: Visit) -> object:
    house, who, random = visit.world.house, visit.who, visit.random
    nowhere = Label.parse(EVERY_LABEL[-1])
    if covers(str(who.clearance), EVERY_LABEL[-1]):
        return None
    match random.randrange(4):
        case 0:
            project, key = visit.key()
            wish = ToRemember(project=project, key=key, value=1, label=nowhere, version=99)
            return await house.things.remember(who, wish)
        case 1:
            work = NewWorkItem(project=visit.project().id, title="x", label=nowhere)
            return await house.things.add_work(who, work)
        case 2:
            lease = visit.one_of(visit.world.leases, lambda its: its.id)
            visit.asked += [lease.project, lease.resource]
            await house.things.release_lease(who, lease.id, lease.token + 1_000)
            return None
        case _:
            its = visit.one_of(visit.world.works, lambda its: its.id)
            return await house.things.end_work(who, WorkEnded(work=its.id, token=10_000))


async def _between(world: World) -> None:
    for _ in range(6):
        await write(world)
    await world.change_clearance()
    await world.house.embed()


BRIDGE = Reading(
    house=walled_house,
    furnished=a_world,
    between=_between,
    visit=Visit,
    ways=(
        list_projects,
        show_project,
        list_conversations,
        show_conversation,
        list_participants,
        read_messages,
        look_back,
        tail_cursor,
        show_message,
        read_thread,
        show_versions,
        list_acknowledged,
        list_declassifications,
        inbox,
        unread_total,
        search_words,
        search_meaning,
        who_am_i,
        name_people,
        recall,
        memory_history,
        list_memory,
        search_memory,
        fetch_attachment,
        list_leases,
        check_lease,
        show_work,
        list_work,
        list_presence,
        errors_of_talk,
        errors_of_things,
    ),
    costly=(
        read_to_the_end,
        mark_one,
        propose_declassification,
        wait_for_more,
        follow,
        export,
    ),
    telling=0.5,
    only_refused={"errors_of_talk", "errors_of_things"},
    kinds=KINDS,
    at_once=12,
    a_world=20_000,
)
