"""What is told by the refusal of a write."""

from portico.bridge.core.memory import ToRemember
from portico.bridge.core.message import NewMessage
from portico.bridge.core.task import NewWork, WorkEnded
from portico.kernel.label import Label
from tests.storm.bridge_lattice import EVERY_LABEL, covers
from tests.storm.bridge_visit import Visit


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
            work = NewWork(project=visit.project().id, title="x", label=nowhere)
            return await house.things.add_work(who, work)
        case 2:
            lease = visit.one_of(visit.world.leases, lambda its: its.id)
            visit.asked += [lease.project, lease.resource]
            await house.things.release_lease(who, lease.id, lease.token + 1_000)
            return None
        case _:
            its = visit.one_of(visit.world.works, lambda its: its.id)
            return await house.things.end_work(who, WorkEnded(work=its.id, token=10_000))
