"""Taking a project out: all that one may see, page by page, and their task has read it."""

from collections import Counter
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.errors import ProjectNotFound
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.projects import Project, ProjectId
from portico.bridge.core.work_items import NewWorkItem, WorkItemId
from portico.bridge.export import ExportProject
from portico.bridge.taint import taking_out
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.errors import KeyEnded, NotPermitted
from portico.guard.core.principals import Role
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_memory import MemoryMemory, MemoryWorks
from portico.testing.guard import MemoryKeyRing
from portico.testing.memory_store import BEGINNING
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom

Opened = tuple[TalkRoom, ExportProject, Principal, Project, Conversation]


async def a_house(*, at_once: int = 2) -> Opened:
    """A project with something in it of each kind, some of it secret."""
    room = TalkRoom()
    ana = room.enters("ana", roles=[Role.MEMBER])
    writer = room.enters("writer")
    memory, works = MemoryMemory(room.world, room.clock), MemoryWorks(room.world)
    export = ExportProject(
        projects=room.projects,
        conversations=room.conversations,
        messages=room.messages,
        memory=memory,
        works=works,
        taint=room.marks,
        as_they_are=RevalidatePrincipal(key_ring=MemoryKeyRing(room.world), clock=room.clock),
        audit=room.audit,
        at_once=at_once,
    )
    project = await room.a_project(writer, TEAM)
    talks = [
        await room.create_conversation(writer, project.id, f"talk {number}") for number in range(3)
    ]
    for number in range(5):
        label = SECRET if number % 2 else TEAM
        await room.says(room.enters(f"sender{number}"), talks[0], f"said {number}", label)
        fresh = room.enters(f"keeper{number}")
        wish = ToRemember(project=project.id, key=f"key/{number}", value=number)
        await memory.put(fresh, wish, label, BEGINNING, untrusted=number == 3)
        work = NewWorkItem(project=project.id, title=f"work {number}")
        await works.add(fresh, WorkItemId.of_digest(bytes([number])), work, label, BEGINNING)
    closed = replace(talks[2], archived_at=BEGINNING)
    await room.conversations.put(writer, closed)
    return room, export, ana, project, talks[0]


async def taken_out(export: ExportProject, caller: Principal, project: Project) -> list[JsonObject]:
    return [line async for line in await export(caller, project.id)]


async def test_everything_is_taken_out_once() -> None:
    _, export, ana, project, _ = await a_house()

    lines = await taken_out(export, ana, project)

    kinds = Counter(line["type"] for line in lines)
    assert kinds == {"project": 1, "conversation": 3, "message": 5, "memory": 5, "work": 5}
    assert [line["body"] for line in lines if line["type"] == "message"] == [
        f"said {number}" for number in range(5)
    ]
    assert len({str(line.get("id", line.get("key"))) for line in lines}) == len(lines)


async def test_a_line_says_all_that_there_is_to_it() -> None:
    _, export, ana, project, _ = await a_house()

    lines = await taken_out(export, ana, project)

    names = {str(line["type"]): " ".join(sorted(line)) for line in lines}
    assert names == snapshot(
        {
            "project": "archived_at description id label made_at made_by name type",
            "conversation": ("archived_at closed id label made_at made_by project title type"),
            "message": (
                "acknowledge acknowledge_by addressed attachments body conversation deleted_at "
                "edited_at id label mentions reply_to sender sender_name sent_at thread type "
                "untrusted"
            ),
            "memory": "at by expires_at key label project type untrusted value version",
            "work": (
                "body changed_at claimed_by depends held_up id label made_at made_by outcome "
                "project state title type untrusted"
            ),
        }
    )


async def test_what_is_above_the_reader_is_not_in_it() -> None:
    room, export, _, project, _ = await a_house()
    low = room.enters("low", TEAM)

    lines = await taken_out(export, low, project)

    assert {line["label"] for line in lines} == {"team"}
    kinds = Counter(line["type"] for line in lines)
    assert kinds == {"project": 1, "conversation": 3, "message": 3, "memory": 3, "work": 3}
    assert await room.mark(low) == TEAM


async def test_each_page_is_read_before_it_is_given() -> None:
    room, export, ana, project, _ = await a_house(at_once=1)
    lines = await export(ana, project.id)

    async for line in lines:
        assert (await room.mark(ana)).covers(Label.parse(str(line["label"])))
        if line["type"] == "memory" and line["untrusted"]:
            assert (await room.marks.at(ana)).untrusted

    assert await room.mark(ana) == SECRET


async def test_what_is_taken_out_is_read_there_and_written_down() -> None:
    room, export, _, project, _ = await a_house()
    eva = room.enters("eva", kind=PrincipalKind.PERSON)

    await taken_out(export, eva, project)

    assert (await room.marks.at(taking_out(eva, project.id))).label == SECRET
    assert await room.mark(eva, project.id) == PUBLIC
    assert await room.mark(eva) == PUBLIC

    room, export, ana, project, _ = await a_house()

    await taken_out(export, ana, project)

    assert room.audit.acts[-1]["action"] == "bridge.exported"
    assert room.audit.acts[-1]["subject"] == str(project.id)


async def test_what_one_may_not_see_is_not_there_before_anything_is_given() -> None:
    room, export, ana, _, _ = await a_house()
    hidden = await room.a_project(room.enters("boss"), SECRET, "hidden")
    low = room.enters("low", TEAM)

    for project in (hidden.id, ProjectId.of_digest(b"none")):
        with pytest.raises(ProjectNotFound):
            await export(low, project)
    with pytest.raises(NotPermitted):
        await export(replace(ana, scopes=frozenset()), hidden.id)


async def test_whose_clearance_is_lowered_meanwhile_gets_no_more_than_that() -> None:
    room, export, ana, project, _ = await a_house(at_once=1)
    lines = await export(ana, project.id)
    told = [await anext(lines)]

    room.cleared_for(ana, TEAM)
    told += [line async for line in lines]

    assert {line["label"] for line in told} == {"team"}


async def test_whose_key_ends_meanwhile_gets_nothing_more() -> None:
    room, export, ana, project, _ = await a_house(at_once=1)
    lines = await export(ana, project.id)
    await anext(lines)

    del room.world.keys[str(ana.key)]

    with pytest.raises(KeyEnded):
        await anext(lines)


async def test_what_moves_to_the_top_meanwhile_is_not_missed() -> None:
    room, export, ana, project, talk = await a_house(at_once=1)
    other = (await room.list_conversations(room.enters("looker"), project=project.id))[-1]
    lines = await export(ana, project.id)
    told = [await anext(lines), await anext(lines)]

    await room.says(room.enters("late"), other, "late", TEAM)
    told += [line async for line in lines]

    assert sum(line["type"] == "conversation" for line in told) == 3
    assert "late" in [line.get("body") for line in told]
    assert talk.id != other.id


async def test_a_conversation_that_is_hidden_meanwhile_is_left() -> None:
    room, export, ana, project, _ = await a_house(at_once=9)
    secret = await room.create_conversation(room.enters("w"), project.id, "secret", label=SECRET)
    await room.says(room.enters("s"), secret, "hidden", SECRET)
    lines = await export(ana, project.id)
    told = [await anext(lines)]
    while told[-1].get("title") != "secret":
        told.append(await anext(lines))

    room.cleared_for(ana, TEAM)
    told += [line async for line in lines]

    assert "hidden" not in [line.get("body") for line in told]
    assert told[-1]["type"] == "work"
