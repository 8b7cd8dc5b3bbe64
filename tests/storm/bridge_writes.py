"""How a house fills, and goes on being written in."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import AboveClearance, LeaseHeld
from portico.bridge.core.leases import LeaseSpec
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.messages import MessageId, NewMessage, ReplyRequest
from portico.bridge.core.presence import PresenceStatus
from portico.bridge.core.work_items import NewWorkItem, WorkEnded
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.storm.bridge_world import COMMON, World
from tests.storm.deck import name_of
from tests.storm.leak_oracle import EVERY_LABEL, Needs, covers
from tests.storm.walled_house import WalledHouse


async def add_project(world: World, label: str) -> None:
    made = await world.house.talk.create_project(
        world.author(), world.text(label), world.text(label), Label.parse(label)
    )
    world.book.there_is(made.id, label)
    world.projects.append(made)


async def add_talk(world: World) -> bool:
    project = world.random.choice(world.projects)
    label = world.above(str(project.label))
    closed = world.random.random() < 0.3
    some = world.random.sample(world.readers, 3)
    inside = [who for who in some if covers(world.cleared(who), label)] if closed else some
    who = world.author()
    title = world.text(label)
    made = await world.house.talk.create_conversation(
        who,
        project.id,
        title,
        label=Label.parse(label),
        closed=closed,
        participants=[each.id for each in inside],
    )
    here = str(made.id) if closed else None
    world.book.needs[title.split()[1]] = Needs(label, here)
    world.book.there_is(made.id, label, here)
    world.book.members[str(made.id)] |= {str(who.id), *(str(each.id) for each in inside)}
    world.talks.append(made)
    return True


async def say(world: World) -> bool:
    talk = world.random.choice(world.talks)
    label = world.above(str(talk.label))
    to = tuple(each.id for each in world.random.sample(world.readers, 2))
    directed = to if world.random.random() < 0.3 else ()
    wanted = ReplyRequest(until=world.house.doors.clock.now() + timedelta(milliseconds=50))
    by = world.maker(talk)
    sent = await world.house.talk.send_message(
        world.house.afresh(by),
        NewMessage(
            conversation=talk.id,
            body=world.text(label, world.inside(talk)),
            label=Label.parse(label),
            reply_to=_answered(world, talk, label) if world.random.random() < 0.3 else None,
            mentions=to if world.random.random() < 0.3 else (),
            addressed=directed,
            acknowledge=wanted if directed else None,
        ),
    )
    world.note(sent.message, by, talk)
    return True


def _answered(world: World, talk: Conversation, label: str) -> MessageId | None:
    its = world.some(world.said_in[str(talk.id)], lambda each: covers(label, each.label))
    return its.message.id if its else None


async def reader_says(world: World) -> bool:
    """In their own task, and so as secret as it comes; or with another key, having read nothing."""
    who = world.random.choice([each for each in world.readers if each.may("bridge:write")])
    talk = world.some(world.talks, lambda each: _may_see(world, who, each))
    if talk is None:
        return False
    word = world.book.canary(EVERY_LABEL[-1])
    wish = NewMessage(conversation=talk.id, body=f"{world.random.choice(COMMON)} {word}")
    try:
        at = world.random.choice([who, world.house.afresh(who)])
        sent = await world.house.talk.send_message(at, wish)
    except AboveClearance:  # they were cleared for more when they read what their task knows
        return False
    world.book.needs[word] = Needs(str(sent.message.label), world.inside(talk))
    world.note(sent.message, who, talk)
    if (
        not talk.closed and sent.message.label == talk.label
    ):  # who says more is not seen to be there
        world.book.members[str(talk.id)].add(str(who.id))
    return True


def _may_see(world: World, who: Principal, talk: Conversation) -> bool:
    return world.book.may_know(str(talk.id), str(who.id), world.cleared(who))


async def edit(world: World) -> bool:
    """At times by somebody who has read more since: then it is as secret as that."""
    its = world.one_of_authors()
    if its is None:
        return False
    who = world.house.afresh(its.by)
    label = world.above(its.label) if world.random.random() < 0.4 else its.label
    await world.house.doors.contexts.raise_taint(
        replace(who, place=None), Label.parse(label), untrusted=False
    )
    body = world.text(label, world.inside(its.talk))
    its.message = await world.house.talk.edit_message(who, its.message.id, body)
    its.label = label
    return True


async def delete(world: World) -> bool:
    its = world.one_of_authors()
    if its is None:
        return False
    await world.house.talk.delete_message(world.house.afresh(its.by), its.message.id)
    its.deleted = True
    return True


async def member(world: World) -> bool:
    """Somebody is let in, or goes."""
    talk, who = world.random.choice(world.talks), world.random.choice(world.readers)
    by = world.house.afresh(world.maker(talk))
    members = world.book.members[str(talk.id)]
    if str(who.id) in members:
        await world.house.talk.leave(by, talk.id, who.id)
        members.discard(str(who.id))
    elif covers(world.cleared(who), str(talk.label)):
        await world.house.talk.join(by, talk.id, who.id)
        members.add(str(who.id))
        world.read_up[str(who.id), str(talk.id)] = len(world.said_in[str(talk.id)])
    else:
        return False
    return True


async def rename(world: World) -> bool:
    talk = world.random.choice(world.talks)
    by = world.house.afresh(world.maker(talk))
    title = world.text(str(talk.label), world.inside(talk))
    await world.house.talk.change_conversation(by, talk.id, title=title)
    project = world.random.choice(world.projects)
    its = str(project.label)
    await world.house.talk.change_project(
        world.author(), project.id, name=world.text(its), description=world.text(its)
    )
    return True


async def acknowledge(world: World) -> bool:
    its = world.one_of_authors()
    if its is None:
        return False
    await world.house.talk.acknowledge(world.house.afresh(its.by), its.message.id)
    return True


async def lower(world: World) -> bool:
    """What it says is then for those too who may read so much."""
    its = world.one_of_authors()
    if its is None or its.lowered or its.label == str(its.talk.label):
        return False
    its.lowered = True
    asker = await world.house.now(its.by)
    # Its task has read nothing of this; the copy is not of its task anyway.
    to = str(its.talk.label)
    word = its.message.body.split()[1]
    world.book.needs[word] = Needs(to, world.book.needs[word].inside)
    await world.house.lowered(asker, its.message.id, Label.parse(to))
    by = world.house.afresh(its.by)
    [last] = (await world.house.talk.look_back(by, its.talk.id, limit=1)).messages
    records = await world.house.use_cases.letting_out.list_declassifications(
        world.house.afresh(its.by), its.message.id
    )
    if last.id in [record.copy for record in records]:
        world.note(last, its.by, its.talk)
        return True
    return False


async def remember(world: World) -> bool:
    project = world.random.choice(world.projects)
    label = world.above(str(project.label))
    again = world.some(world.keys, lambda its: its[0].id == project.id)
    fresh = again is None or world.random.random() < 0.5
    key = world.text(label).replace(" ", "/") if fresh else again[1]
    if not covers(label, world.book.needs[key.rpartition("/")[2]].label):
        return False
    value = {"note": world.text(label), "more": [world.book.canary(label)]}
    wish = ToRemember(project=project.id, key=key, value=value, label=Label.parse(label))
    await world.house.things.remember(world.author(), wish)
    if fresh:
        world.keys.append((project, key))
    return True


async def forget(world: World) -> bool:
    if world.keys:
        project, key = world.random.choice(world.keys)
        with suppress(PorticoError):  # forgotten already
            await world.house.things.forget(world.author(), project.id, key)
            return True
    return False


async def attach(world: World) -> bool:
    project = world.random.choice(world.projects)
    label = world.above(str(project.label))
    content = world.text(label).encode()
    name = f"{world.book.canary(label)}.txt"
    who, secret = world.author(), Label.parse(label)
    made = await world.house.things.attach(who, project.id, name, "text/plain", content, secret)
    world.files.append(made.digest)
    talk = world.some(world.talks, lambda each: covers(label, str(each.label)))
    if talk is not None:
        by = world.maker(talk)
        sent = await world.house.talk.send_message(
            world.house.afresh(by),
            NewMessage(
                conversation=talk.id,
                body=world.text(label, world.inside(talk)),
                label=secret,
                attachments=(made.digest,),
            ),
        )
        world.note(sent.message, by, talk)
    return True


async def add_work(world: World) -> bool:
    project = world.random.choice(world.projects)
    label = world.above(str(project.label))
    before = world.some(
        world.works, lambda its: its.project == project.id and covers(label, str(its.label))
    )
    made = await world.house.things.add_work(
        world.author(),
        NewWorkItem(
            project=project.id,
            title=world.text(label),
            body=world.text(label),
            label=Label.parse(label),
            depends=() if before is None else (before.id,),
        ),
    )
    world.book.there_is(made.id, label)
    world.works.append(made)
    return True


async def claim(world: World) -> bool:
    if world.works:
        work, who = world.random.choice(world.works), world.random.choice(world.authors)
        with suppress(PorticoError):  # claimed already, or not yet to be begun
            its = await world.house.things.claim_work(world.house.afresh(who), work.id)
            ended = WorkEnded(work=its.id, token=its.token, outcome=world.text(str(its.label)))
            await world.house.things.end_work(world.house.afresh(who), ended)
            return True
    return False


async def lease(world: World) -> bool:
    project = world.random.choice(world.projects)
    label = str(project.label)
    wish = LeaseSpec(
        project=project.id,
        resource=world.text(label).replace(" ", "/"),
        purpose=world.text(label),
        wait=True,
    )
    held = await world.house.things.take_lease(world.author(), wish)
    world.book.there_is(held.id, label)
    world.leases.append(held)
    with suppress(LeaseHeld):
        waits = replace(wish, purpose=world.text(label))
        await world.house.things.take_lease(world.author(), waits)
    return True


async def presence(world: World) -> bool:
    project = world.random.choice(world.projects)
    note = world.text(str(project.label))
    await world.house.things.say_presence(world.author(), project.id, PresenceStatus.BUSY, note)
    return True


Write = Callable[[World], Awaitable[bool]]
"""Whether something was written."""
WRITES: Mapping[Write, int] = {
    say: 8,
    remember: 3,
    edit: 2,
    attach: 2,
    add_work: 2,
    lease: 2,
    member: 2,
    add_talk: 1,
    delete: 1,
    forget: 1,
    claim: 1,
    presence: 1,
    rename: 1,
    acknowledge: 1,
    lower: 1,
    reader_says: 1,
}
"""How often each comes up among the others."""
KINDS = frozenset(name_of(write) for write in WRITES)
_CHANCES = [write for write, often in WRITES.items() for _ in range(often)]


async def write(world: World) -> None:
    """Something, somewhere."""
    await _written(world, world.random.choice(_CHANCES))


async def _written(world: World, write: Write) -> None:
    if await write(world):
        world.wrote[name_of(write)] += 1


async def a_world(house: WalledHouse, seed: int) -> World:
    world = World(house, Random(seed))
    await world.people_enter()
    for label in EVERY_LABEL:
        await add_project(world, label)
    for _ in range(24):
        await _written(world, add_talk)
    for kind in (say, remember, attach, add_work, lease):
        for _ in range(5):
            await _written(world, kind)
    for _ in range(250):
        await write(world)
    await house.embed()
    return world
