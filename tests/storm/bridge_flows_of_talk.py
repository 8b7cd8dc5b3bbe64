"""What is written and read in conversations by those who say all that they know."""

from collections.abc import Sequence
from typing import Any

from portico.bridge.core.message import Message, NewMessage
from portico.kernel.principal import Principal
from tests.bridge.flow_oracle import WORD
from tests.storm.bridge_flows import Flows


async def begin(flows: Flows, who: Principal) -> None:
    if flows.random.random() < 0.3:
        text = flows.knows(who, "a new project", 90)
        made = await flows.house.talk.create_project(who, text, text, flows.some_label())
        flows.wrote(who, "a new project", text, made.label)
        flows.projects.append(made)
        return
    project = flows.one(flows.projects)
    title = flows.knows(who, project.id, 190)
    talk = await flows.house.talk.create_conversation(
        who,
        project.id,
        title,
        label=flows.some_label(),
        closed=flows.random.random() < 0.2,
        participants=[flows.random.choice(flows.who).id],
    )
    flows.wrote(who, project.id, title, talk.label)
    flows.talks.append(talk)


async def say(flows: Flows, who: Principal, to: Message | None = None) -> None:
    talk = to.conversation if to is not None else flows.one(flows.talks).id
    body = flows.knows(who, talk)
    files = (flows.one(flows.files),) if flows.files and flows.random.random() < 0.1 else ()
    sent = await flows.house.talk.send_message(
        who,
        NewMessage(
            conversation=talk,
            body=body,
            label=flows.some_label(),
            reply_to=None if to is None else to.id,
            attachments=files,
        ),
    )
    flows.wrote(who, talk, body, sent.message.label)
    flows.said.append(sent.message)


async def answer(flows: Flows, who: Principal) -> None:
    if its := flows.one(flows.said):
        await say(flows, who, its)


async def edit(flows: Flows, who: Principal) -> None:
    own = [its for its in flows.said if its.sender == who.id]
    if its := flows.one(own):
        body = flows.knows(who, its.conversation)
        now = await flows.house.talk.edit_message(who, its.id, body)
        flows.wrote(who, its.conversation, body, now.label)
        flows.said[flows.said.index(its)] = now


async def delete(flows: Flows, who: Principal) -> None:
    if (its := flows.one(flows.said)) and flows.random.random() < 0.3:
        await flows.house.talk.delete_message(who, its.id)
        flows.showed(who, its.conversation, its.label)


async def read(flows: Flows, who: Principal) -> None:
    talk = flows.one(flows.talks).id
    upto = flows.some_label() if flows.random.random() < 0.4 else None
    page = await flows.house.talk.read_messages(who, [talk], upto=upto)
    flows.has_read(who, talk, page.messages)


async def back(flows: Flows, who: Principal) -> None:
    talk = flows.one(flows.talks).id
    page = await flows.house.talk.look_back(who, talk, limit=flows.random.randint(1, 9))
    flows.has_read(who, talk, page.messages)
    if its := flows.one([each for each in flows.said if each.conversation == talk]):
        versions = await flows.house.talk.show_versions(who, its.id)
        flows.has_read(who, talk, versions)


async def lists(flows: Flows, who: Principal) -> None:
    upto = flows.some_label()
    projects = await flows.house.talk.list_projects(who, upto=upto)
    flows.has_read(who, "inbox", projects)
    talks = await flows.house.talk.list_conversations(who, upto=upto)
    flows.has_read(who, "inbox", talks)


async def inbox(flows: Flows, who: Principal) -> None:
    shown = await flows.house.talk.show_inbox(who, upto=flows.some_label())
    flows.has_read(who, "inbox", shown)


async def find(flows: Flows, who: Principal) -> None:
    word = f"w{flows.random.randint(1, len(flows.oracle.born) + 1)}"
    hits = await flows.house.talk.search_messages(who, word, upto=flows.some_label())
    flows.has_read(who, "inbox", hits)


async def acknowledge(flows: Flows, who: Principal) -> None:
    if its := flows.one(flows.said):
        await flows.house.talk.acknowledge(who, its.id)
        flows.showed(who, its.conversation, its.label)


async def join(flows: Flows, who: Principal) -> None:
    talk = flows.one(flows.talks)
    await flows.house.talk.join(who, talk.id)
    flows.showed(who, talk.id, talk.label)


async def rename(flows: Flows, who: Principal) -> None:
    if flows.random.random() < 0.5:
        talk = flows.one(flows.talks)
        title = flows.knows(who, talk.id, 190)
        now = await flows.house.talk.change_conversation(who, talk.id, title=title)
        flows.wrote(who, talk.id, title, now.label)
    else:
        project = flows.one(flows.projects)
        text = flows.knows(who, project.id, 190)
        its = await flows.house.talk.change_project(who, project.id, description=text)
        flows.wrote(who, project.id, text, its.label)


async def lower(flows: Flows, who: Principal) -> None:
    """The one way down: there is a signed record of each."""
    its = flows.one(flows.said)
    if its is None or who.context is not None:
        return
    talk = next(each for each in flows.talks if each.id == its.conversation)
    if its.label == talk.label:
        return
    was = len(await _records(flows, its))
    await flows.house.lowered(who, its.id, talk.label)
    [last] = (
        await flows.house.talk.look_back(_all_seeing(flows), its.conversation, limit=1)
    ).messages
    records = await _records(flows, its)
    if last.id not in [record.copy for record in records]:
        return
    assert len(records) == was + 1
    assert all(record.sound for record in records)
    flows.lowered += 1
    for word in WORD.findall(last.body):
        flows.oracle.let_out[word].add(str(talk.label))
    flows.has_read(who, its.conversation, [last])
    flows.said.append(last)


def _all_seeing(flows: Flows) -> Principal:
    return flows.house.afresh(flows.house.root)


async def _records(flows: Flows, its: Message) -> Sequence[Any]:
    return await flows.house.use_cases.letting_out.list_declassifications(
        _all_seeing(flows), its.id
    )
