"""Projects: what is above somebody is not there."""

import pytest

from portico.bridge.core.errors import (
    AboveClearance,
    BadBridgeInput,
    ProjectNameTaken,
    ProjectNotFound,
    WriteDown,
)
from portico.guard.core.errors import NotPermitted
from portico.guard.core.roles import Role
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom


async def test_a_project_is_as_secret_as_what_its_maker_has_read() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    await room.marks.read(ana, [SECRET])

    made = await room.create_project(ana, "plans")

    assert made.label == SECRET
    assert await room.show_project(ana, "plans") == made
    with pytest.raises(WriteDown):
        await room.create_project(ana, "other", label=TEAM)


async def test_a_person_begins_a_project_with_nothing_in_mind() -> None:
    room = TalkRoom()
    ana = room.enters("ana", kind=PrincipalKind.PERSON)
    await room.create_project(ana, "plans", label=SECRET)
    await room.list_projects(ana)

    assert (await room.create_project(ana, "picnic")).label == PUBLIC


async def test_nobody_makes_what_is_above_them() -> None:
    room = TalkRoom()
    ana = room.enters("ana", TEAM)

    with pytest.raises(AboveClearance):
        await room.create_project(ana, "plans", label=SECRET)


async def test_a_hidden_name_can_be_used_again_and_the_most_secret_is_found_by_it() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    high = await room.create_project(ana, "plans", label=SECRET)

    low = await room.create_project(bob, "plans")

    assert await room.show_project(bob, "plans") == low
    assert await room.show_project(ana, "plans") == high
    with pytest.raises(ProjectNameTaken):
        await room.create_project(bob, "plans")


async def test_what_is_hidden_and_what_is_not_there_are_refused_alike() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    hidden = await room.create_project(ana, "plans", label=SECRET)

    with pytest.raises(ProjectNotFound) as one:
        await room.show_project(bob, "plans")
    with pytest.raises(ProjectNotFound) as other:
        await room.show_project(bob, "nothing")
    with pytest.raises(ProjectNotFound):
        await room.change_project(bob, hidden.id, name="mine")

    assert str(one.value).replace("plans", "nothing") == str(other.value)
    assert await room.list_projects(bob) == []


async def test_whoever_reads_a_name_has_read_it() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    await room.create_project(ana, "plans", label=SECRET)
    await room.create_project(ana, "picnic", label=TEAM)

    assert len(await room.list_projects(bob, upto=TEAM)) == 1
    assert await room.mark(bob) == TEAM
    assert len(await room.list_projects(bob)) == 2
    assert await room.mark(bob) == SECRET


async def test_whoever_is_told_that_a_name_is_taken_has_read_it() -> None:
    room = TalkRoom()
    ana, scout = room.enters("ana"), room.enters("scout", kind=PrincipalKind.AGENT)
    await room.create_project(ana, "plans", label=SECRET)

    with pytest.raises(ProjectNameTaken):
        await room.create_project(scout, "plans", label=SECRET)

    assert await room.mark(scout) == SECRET


async def test_every_flaw_is_told_at_once() -> None:
    room = TalkRoom()
    ana = room.enters("ana")

    with pytest.raises(BadBridgeInput) as refused:
        await room.create_project(ana, "two\nlines", "x" * 10_001)

    assert [flaw.field for flaw in refused.value.flaws] == ["name", "description"]
    with pytest.raises(BadBridgeInput):
        await room.list_projects(ana, limit=0)


async def test_what_a_project_is_called_is_not_told_from_above() -> None:
    room = TalkRoom()
    ana = room.enters("ana")
    project = await room.create_project(ana, "picnic", "by the lake", TEAM)
    changed = await room.change_project(ana, project.id, name="picnic!")
    await room.marks.read(ana, [SECRET])

    with pytest.raises(WriteDown):
        await room.change_project(ana, project.id, description="the merger")

    assert (changed.name, changed.description) == ("picnic!", "by the lake")


async def test_only_who_keeps_order_puts_away_what_others_made() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob")
    root = room.enters("root", kind=PrincipalKind.PERSON, roles=[Role.OPERATOR])
    project = await room.create_project(ana, "picnic")

    with pytest.raises(NotPermitted):
        await room.change_project(bob, project.id, archived=True)
    away = await room.change_project(root, project.id, archived=True)
    again = await room.change_project(root, project.id, archived=True)

    assert away.archived_at is not None
    assert again.archived_at == away.archived_at
    assert await room.list_projects(ana) == []
    assert [its.id for its in await room.list_projects(ana, archived=True)] == [project.id]
    back = await room.change_project(ana, project.id, archived=False)
    assert back.archived_at is None
    assert room.audit.actions == ["project.archived", "project.restored"]


async def test_who_may_only_look_makes_nothing() -> None:
    room = TalkRoom()
    eve = room.enters("eve", roles=[Role.VIEWER])

    with pytest.raises(NotPermitted):
        await room.create_project(eve, "plans")


async def test_the_one_with_the_latest_news_comes_first_by_what_one_may_see() -> None:
    room = TalkRoom()
    ana, bob = room.enters("ana"), room.enters("bob", TEAM)
    first = await room.a_talk(ana, TEAM)
    second = await room.a_talk(ana, TEAM)
    await room.says(ana, first, "hidden", SECRET)

    assert [its.id for its in await room.list_projects(bob)] == [second.project, first.project]
    assert [its.id for its in await room.list_projects(ana)] == [first.project, second.project]
    page = await room.list_projects(bob, after=str(second.project), limit=1)
    assert [its.id for its in page] == [first.project]
    assert await room.list_projects(bob, after="unknown") == []
