"""Every way in which something comes out of projects, conversations and messages."""

from contextlib import aclosing
from datetime import timedelta

from portico.kernel.label import Label
from tests.storm.bridge_lattice import EVERY_LABEL
from tests.storm.bridge_visit import Visit
from tests.storm.bridge_world import COMMON


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
