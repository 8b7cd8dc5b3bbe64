"""What is remembered, attached, worked at and leased by those who say all that they know."""

from datetime import timedelta

from portico.bridge.core.lease import LeaseWish
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.presence import Doing
from portico.bridge.core.task import NewWork, WorkEnded
from portico.kernel.principal import Principal
from tests.storm.bridge_flows import Flows


async def remember(flows: Flows, who: Principal) -> None:
    """What an agent sums up for the next one, too."""
    project = flows.one(flows.projects)
    key, value = f"key {flows.random.randrange(6)}", flows.knows(who, project.id)
    if flows.random.random() < 0.4:
        key = flows.knows(who, project.id, 190)
    wish = ToRemember(
        project=project.id, key=key, value={"summary": value}, label=flows.some_label()
    )
    kept = await flows.house.things.remember(who, wish)
    flows.wrote(who, project.id, f"{key} {value}", kept.label)
    flows.keys.append((project, key))


async def recall(flows: Flows, who: Principal) -> None:
    things, found = flows.house.things, flows.one(flows.keys)
    if found is None:
        return
    project, key = found
    match flows.random.randrange(4):
        case 0:
            told: object = await things.recall(who, project.id, key)
        case 1:
            told = await things.list_memory(who, project.id)
        case 2:
            told = await things.search_memory(who, project.id, key)
        case _:
            told = await things.memory_history(who, project.id, key)
    flows.has_read(who, project.id, told)


async def attach(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    text = flows.knows(who, project.id)
    made = await flows.house.things.attach(
        who, project.id, text[:190], "text/plain", text.encode(), flows.some_label()
    )
    flows.wrote(who, project.id, text, made.label)
    flows.files.append(made.digest)


async def fetch(flows: Flows, who: Principal) -> None:
    if digest := flows.one(flows.files):
        told = await flows.house.things.fetch_attachment(who, digest)
        flows.has_read(who, "inbox", told)


async def add_work(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    title, body = flows.knows(who, project.id, 190), flows.knows(who, project.id)
    theirs = [each.id for each in flows.works if each.project == project.id]
    some = tuple(flows.random.sample(theirs, min(1, len(theirs))))
    depends = some if flows.random.random() < 0.3 else ()
    wish = NewWork(
        project=project.id, title=title, body=body, label=flows.some_label(), depends=depends
    )
    made = await flows.house.things.add_work(who, wish)
    flows.wrote(who, project.id, f"{title} {body}", made.label)
    flows.works.append(made)


async def look_at_work(flows: Flows, who: Principal) -> None:
    if work := flows.one(flows.works):
        flows.has_read(who, work.project, await flows.house.things.show_work(who, work.id))
        told = await flows.house.things.list_work(who, work.project)
        flows.has_read(who, work.project, told)


async def do_work(flows: Flows, who: Principal) -> None:
    if work := flows.one(flows.works):
        its = await flows.house.things.claim_work(who, work.id)
        flows.showed(who, work.project, its.label)
        flows.has_read(who, work.project, its)
        outcome = flows.knows(who, work.project)
        ended = WorkEnded(work=work.id, token=its.token, outcome=outcome)
        await flows.house.things.end_work(who, ended)
        flows.wrote(who, work.project, outcome, its.label)


async def lease(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    purpose = flows.knows(who, project.id, 290)
    wish = LeaseWish(
        project=project.id,
        resource=f"src/{flows.random.randrange(1_000_000)}",
        purpose=purpose,
        lasts=timedelta(seconds=1),
    )
    held = await flows.house.things.take_lease(who, wish)
    flows.wrote(who, project.id, purpose, project.label)
    flows.leases.append(held)
    await flows.house.things.release_lease(who, held.id, held.token)
    flows.showed(who, project.id, project.label)


async def look_at_leases(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    told = await flows.house.things.list_leases(who, project.id)
    flows.has_read(who, project.id, told)


async def presence(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    note = flows.knows(who, project.id, 190)
    await flows.house.things.say_presence(who, project.id, Doing.BUSY, note)
    flows.wrote(who, project.id, note, project.label)


async def look_who_is_there(flows: Flows, who: Principal) -> None:
    project = flows.one(flows.projects)
    told = await flows.house.things.list_presence(who, project.id)
    flows.has_read(who, project.id, told)


async def take_out(flows: Flows, who: Principal) -> None:
    """For a person it is a task of its own."""
    project = flows.one(flows.projects)
    lines = await flows.house.use_cases.letting_out.export_project(who, project.id)
    flows.has_read(who, f"the export of {project.id}", [line async for line in lines])
