"""What every store of projects keeps to: what is above a reader is not there, nor in any order."""

from dataclasses import replace

import pytest

from portico.bridge.core.errors import ProjectNameTaken, ProjectNotFound, WriteDown
from portico.bridge.core.project import Project, ProjectId
from portico.kernel.label import PUBLIC
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import (
    FINANCE,
    LAW,
    SECRET,
    TEAM,
    a_project,
    cleared_root,
    joined,
)
from tests.contracts.bridge_talk import a_conversation, at, say
from tests.contracts.doors import REFUSED, Doors


async def test_a_project_is_found_by_its_id_and_by_its_name(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root, "apollo ä")

    assert await doors.projects.get(root, str(project.id)) == project
    assert await doors.projects.get(root, "apollo ä") == project


async def test_what_is_above_is_not_there(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root, label=FINANCE)

    for which in (str(project.id), "apollo", "nothing", str(ProjectId(root.id.value))):
        with pytest.raises(ProjectNotFound):
            await doors.projects.get(low, which)
    with pytest.raises(ProjectNotFound):
        await doors.projects.put(low, project)
    assert await doors.projects.page(low, archived=False, after=None, limit=9) == []


async def test_nor_is_what_is_in_another_space(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    project = await a_project(doors, root)

    with pytest.raises(ProjectNotFound):
        await doors.projects.get(other, str(project.id))
    assert await doors.projects.page(other, archived=False, after=None, limit=9) == []


async def test_a_name_is_one_project_within_a_label_and_the_most_secret_is_meant(
    doors: Doors,
) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    public, team, finance = [
        await a_project(doors, root, label=label) for label in (PUBLIC, TEAM, FINANCE)
    ]

    with pytest.raises(ProjectNameTaken):
        await doors.projects.add(
            low, replace(team, id=ProjectId.mint(BEGINNING, SeededEntropy("another")))
        )
    assert await doors.projects.get(root, "apollo") == finance
    assert await doors.projects.get(low, "apollo") == team
    assert await doors.projects.get(replace(low, clearance=PUBLIC), "apollo") == public


async def test_its_name_its_text_and_whether_it_is_archived_can_be_changed(doors: Doors) -> None:
    root = await cleared_root(doors)
    project, other = await a_project(doors, root), await a_project(doors, root, "zeus")
    changed = replace(project, name="gemini", description="Two.", archived_at=at(3))

    await doors.projects.put(root, changed)

    assert await doors.projects.get(root, "gemini") == changed
    assert await doors.projects.page(root, archived=True, after=None, limit=9) == [changed]
    assert await doors.projects.page(root, archived=False, after=None, limit=9) == [other]
    with pytest.raises(ProjectNameTaken):
        await doors.projects.put(root, replace(changed, name="zeus"))


async def test_no_project_is_above_its_maker_or_below_what_they_have_read(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", FINANCE)

    with pytest.raises(REFUSED):
        await a_project(doors, low, label=SECRET)
    await doors.contexts.rise(low, FINANCE, untrusted=False)
    with pytest.raises(WriteDown) as refused:
        await a_project(doors, low, label=TEAM)

    assert (refused.value.wanted, refused.value.mark) == (TEAM, FINANCE)
    await a_project(doors, low, label=FINANCE)


async def test_the_latest_news_that_the_reader_may_see_come_first(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    names = ("one", "two", "three")
    one, two, three = [await a_project(doors, root, name) for name in names]
    talks = {p.name: await a_conversation(doors, root, p) for p in (one, two, three)}
    await say(doors, root, talks["two"], "low news", minute=10)
    await say(doors, root, talks["one"], "high news", label=FINANCE, minute=20)
    shut = await a_conversation(doors, root, three, "shut", closed=True)
    await say(doors, root, shut, "among us", minute=30)

    for reader, order in ((root, ["three", "one", "two"]), (low, ["two"])):
        listed = await doors.projects.page(reader, archived=False, after=None, limit=9)
        assert [project.name for project in listed][: len(order)] == order
        assert listed[0].active_at == (at(30) if reader is root else at(10))
        assert {project.active_at for project in listed[len(order) :]} <= {BEGINNING}


async def test_pages_follow_one_another_and_nothing_follows_what_is_not_there(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    for number in range(5):
        await a_project(doors, root, f"p{number}")
    hidden = await a_project(doors, root, "hidden", LAW)

    every = await doors.projects.page(low, archived=False, after=None, limit=9)
    paged: list[Project] = []
    after: str | None = None
    while page := await doors.projects.page(low, archived=False, after=after, limit=2):
        paged += page
        after = str(page[-1].id)

    assert len(every) == 5
    assert paged == every
    for unknown in (str(hidden.id), "nothing", ""):
        assert await doors.projects.page(low, archived=False, after=unknown, limit=9) == []
