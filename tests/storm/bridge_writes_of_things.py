"""What is remembered, attached, worked at and leased, with canaries in it."""

from contextlib import suppress
from dataclasses import replace

from portico.bridge.core.errors import LeaseHeld
from portico.bridge.core.lease import LeaseWish
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.message import NewMessage
from portico.bridge.core.presence import Doing
from portico.bridge.core.task import NewWork, WorkEnded
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label
from tests.storm.bridge_lattice import covers
from tests.storm.bridge_world import World


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
        NewWork(
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
    wish = LeaseWish(
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
    await world.house.things.say_presence(world.author(), project.id, Doing.BUSY, note)
    return True
