"""What happens above the low reader, or where they take no part."""

from datetime import timedelta
from random import Random

from portico.bridge.core.lease import LeaseWish
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.message import NewMessage, Wanted
from portico.bridge.core.presence import Doing
from portico.bridge.core.task import NewWork
from tests.storm.bridge_twin import SECRET, WORDS, Twin


async def hidden_message(twin: Twin, random: Random) -> None:
    sent = await twin.house.talk.send_message(
        twin.secret(),
        NewMessage(
            conversation=random.choice(twin.talks).id,
            body=" ".join(random.choices(WORDS, k=random.randint(1, 9))),
            label=SECRET,
            mentions=(twin.reader.id,),
            addressed=(twin.reader.id,),
            acknowledge=Wanted(until=twin.house.doors.clock.now() + timedelta(milliseconds=1)),
        ),
    )
    twin.hidden.append(sent.message)


async def hidden_change(twin: Twin, random: Random) -> None:
    if twin.hidden:
        its = random.choice(twin.hidden).id
        if random.random() < 0.5:
            await twin.house.talk.edit_message(twin.secret(), its, "Otherwise.")
        else:
            await twin.house.talk.delete_message(twin.secret(), its)


async def hidden_project(twin: Twin, random: Random) -> None:
    name = random.choice(["apollo", "hermes", *(f"{word} house" for word in WORDS)])
    made = await twin.house.talk.create_project(twin.secret(), name, "Not for you.", SECRET)
    twin.hidden_projects.append(made)


async def hidden_talk(twin: Twin, random: Random) -> None:
    project = random.choice([*twin.projects, *twin.hidden_projects])
    talk = await twin.house.talk.create_conversation(
        twin.secret(), project.id, "Talk 0", label=SECRET, participants=[twin.reader.id]
    )
    await twin.house.talk.send_message(
        twin.secret(), NewMessage(conversation=talk.id, body="nest river")
    )


async def closed_talk(twin: Twin, random: Random) -> None:
    """No more secret than what the reader may read, and yet not for them."""
    who = twin.writer()
    talk = await twin.house.talk.create_conversation(
        who, random.choice(twin.projects).id, "Talk 1", closed=True
    )
    wish = NewMessage(conversation=talk.id, body="river plans", mentions=(twin.reader.id,))
    await twin.house.talk.send_message(who, wish)


async def hidden_things(twin: Twin, random: Random) -> None:
    things, word = twin.house.things, random.choice(WORDS)
    project = random.choice([*twin.projects, *twin.hidden_projects])
    await things.remember(
        twin.secret(),
        ToRemember(project=project.id, key=word, value="Not for you.", label=SECRET),
    )
    await things.attach(twin.secret(), project.id, "other.txt", "text/plain", word.encode(), SECRET)
    await things.add_work(
        twin.secret(), NewWork(project=project.id, title=word, label=SECRET, key=word)
    )
    if twin.hidden_projects:
        above = twin.hidden_projects[-1].id
        await things.say_presence(twin.secret(), above, Doing.BUSY, "Not for you.")
        await things.take_lease(twin.secret(), LeaseWish(project=above, resource=f"src/{word}"))
