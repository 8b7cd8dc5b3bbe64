"""What the low reader does and is told: the same in both houses."""

from contextlib import suppress
from datetime import timedelta

from portico.bridge.core.errors import LeaseHeld
from portico.bridge.core.lease import LeaseWish
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.message import NewMessage, Wanted
from portico.bridge.core.presence import Doing
from portico.bridge.core.task import NewWork
from tests.storm.bridge_twin import TEAM, WORDS, Twin


async def woken(twin: Twin) -> object:
    await twin.say(twin.low_life.choice(twin.talks))
    return len(twin.news)


async def page_on(twin: Twin) -> object:
    talks = [talk.id for talk in twin.low_life.sample(twin.talks, 2)]
    name = " ".join(sorted(map(str, talks)))
    page = await twin.house.talk.read_messages(
        twin.reader, talks, cursor=twin.cursors.get(name), limit=twin.low_life.choice([2, 50])
    )
    twin.cursors[name] = page.cursor
    return page


async def back(twin: Twin) -> object:
    talk = twin.low_life.choice(twin.talks).id
    last = await twin.house.talk.look_back(twin.reader, talk, limit=2)
    before = await twin.house.talk.look_back(twin.reader, talk, before=last.cursor, limit=2)
    return [last, before]


async def tail(twin: Twin) -> object:
    return {"cursor": await twin.house.talk.tail_cursor(twin.reader, [twin.talks[0].id])}


async def inbox(twin: Twin) -> object:
    return await twin.house.talk.show_inbox(twin.reader)


async def lists(twin: Twin) -> object:
    talk, limit = twin.house.talk, twin.low_life.choice([1, 50])
    conversations = await talk.list_conversations(twin.reader, limit=limit)
    return [
        await talk.list_projects(twin.reader, limit=limit),
        conversations,
        await talk.list_conversations(twin.reader, after=str(conversations[-1].id), limit=3),
        await talk.show_project(twin.reader, "apollo"),
    ]


async def found(twin: Twin) -> object:
    word = twin.low_life.choice(WORDS)
    return await twin.house.talk.search_messages(twin.reader, word, limit=5)


async def meant(twin: Twin) -> object:
    await twin.house.embed()
    word = twin.low_life.choice(WORDS)
    return await twin.house.talk.search_messages(twin.reader, word, by_meaning=True, limit=5)


async def remembers(twin: Twin) -> object:
    key, project = twin.low_life.choice(WORDS), twin.projects[0].id
    version = twin.low_life.choice([None, 0, 1])
    twin.keys.append(key)
    wish = ToRemember(project=project, key=key, value={"is": key}, version=version)
    return await twin.house.things.remember(twin.reader, wish)


async def recalls(twin: Twin) -> object:
    project = twin.projects[0].id
    things, key = twin.house.things, twin.low_life.choice(WORDS)
    return [
        await things.list_memory(twin.reader, project),
        await things.search_memory(twin.reader, project, key),
        await things.recall(twin.reader, project, key),
        await things.memory_history(twin.reader, project, key),
    ]


async def takes_lease(twin: Twin) -> object:
    wish = LeaseWish(
        project=twin.projects[1].id, resource=f"src/{twin.low_life.choice(WORDS)}", wait=True
    )
    with suppress(LeaseHeld):
        held = await twin.house.things.take_lease(twin.reader, wish)
        return [held, await twin.house.things.list_leases(twin.reader, twin.projects[1].id)]
    return await twin.house.things.list_leases(twin.reader, twin.projects[1].id)


async def works(twin: Twin) -> object:
    project, title = twin.projects[0].id, twin.low_life.choice(WORDS)
    depends = tuple(work.id for work in twin.works[-1:])
    made = await twin.house.things.add_work(
        twin.reader, NewWork(project=project, title=title, depends=depends, key=None)
    )
    twin.works.append(made)
    return [made, await twin.house.things.list_work(twin.reader, project)]


async def names_project(twin: Twin) -> object:
    """By names that are taken above."""
    name = f"{twin.low_life.choice(WORDS)} house"
    return await twin.house.talk.create_project(twin.reader, name, "", TEAM)


async def attaches(twin: Twin) -> object:
    word = twin.low_life.choice(WORDS)
    made = await twin.house.things.attach(
        twin.reader, twin.projects[0].id, f"{word}.txt", "text/plain", word.encode()
    )
    twin.files.append(made.digest)
    return [made, await twin.house.things.fetch_attachment(twin.reader, made.digest)]


async def sends_once(twin: Twin) -> object:
    talk, key = twin.talks[0], twin.low_life.choice(WORDS)
    wish = NewMessage(conversation=talk.id, body=f"Once: {key}", key=key)
    return await twin.heard(twin.house.talk.send_message(twin.reader, wish))


async def thread(twin: Twin) -> object:
    if not twin.said:
        return None
    root = twin.low_life.choice(twin.said)
    talk = next(each for each in twin.talks if each.id == root.conversation)
    await twin.say(talk, reply_to=root.id)
    return await twin.house.talk.read_thread(twin.reader, root.id)


async def acknowledges(twin: Twin) -> object:
    until = twin.house.doors.clock.now() + timedelta(milliseconds=1)
    said = await twin.say(
        twin.talks[1],
        addressed=(twin.reader.id,),
        mentions=(twin.reader.id,),
        acknowledge=Wanted(until=until),
    )
    if twin.low_life.random() < 0.5:
        await twin.house.talk.acknowledge(twin.reader, said.id)
    return await twin.house.talk.list_acknowledged(twin.reader, said.id)


async def presence(twin: Twin) -> object:
    await twin.house.things.say_presence(twin.reader, twin.projects[0].id, Doing.THERE)
    return await twin.house.things.list_presence(twin.reader, twin.projects[0].id)


async def takes_out(twin: Twin) -> object:
    lines = await twin.house.use_cases.letting_out.export_project(
        twin.reader, twin.low_life.choice(twin.projects).id
    )
    return [line async for line in lines]


async def participants(twin: Twin) -> object:
    talk = twin.low_life.choice(twin.talks).id
    return await twin.house.talk.list_participants(twin.reader, talk)


async def marks_read(twin: Twin) -> object:
    talk = twin.low_life.choice(twin.talks).id
    page = await twin.house.talk.read_messages(twin.reader, [talk], limit=200)
    await twin.house.talk.mark_read(twin.reader, [talk], page.cursor)
    return [page, await twin.house.talk.show_inbox(twin.reader)]


async def wrong(twin: Twin) -> object:
    return await twin.house.things.recall(twin.reader, twin.projects[1].id, "no such key")


async def whoami(twin: Twin) -> object:
    return await twin.house.talk.who_am_i(twin.reader)
