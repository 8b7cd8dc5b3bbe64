"""What every memory of a project keeps to: each label has its own, and nothing is written over."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from portico.bridge.core.errors import (
    MemoryChanged,
    MemoryNotFound,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.memory import Remembered, ToRemember
from portico.bridge.core.project import Project
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING
from tests.contracts.bridge_people import (
    FINANCE,
    LAW,
    SECRET,
    TEAM,
    a_project,
    cleared_root,
    joined,
)
from tests.contracts.doors import REFUSED, Doors

VALUE: JsonValue = {"host": "dbä", "ports": [1, 2.5, None, True], "deep": {"text": 'a "b" \\ \n c'}}


async def put(
    doors: Doors,
    caller: Principal,
    project: Project,
    key: str = "build/target",
    value: JsonValue = "linux",
    *,
    label: Label = TEAM,
    version: int | None = None,
    expires_at: datetime | None = None,
    at: datetime = BEGINNING,
) -> Remembered:
    wanted = ToRemember(
        project=project.id, key=key, value=value, version=version, expires_at=expires_at
    )
    return await doors.memory.put(caller, wanted, label, at)


async def test_what_is_remembered_is_read_as_it_was_written(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    wanted = ToRemember(project=project.id, key="build/target", value=VALUE)

    written = await doors.memory.put(root, wanted, TEAM, BEGINNING, untrusted=True)

    assert await doors.memory.get(root, project.id, "build/target") == written
    assert (written.value, written.version, written.label) == (VALUE, 1, TEAM)
    assert (written.by, written.at, written.untrusted) == (root.id, BEGINNING, True)


async def test_the_most_secret_that_one_may_read_is_given(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    for label in (FINANCE, TEAM, SECRET, LAW):
        await put(doors, root, project, value=str(label), label=label)

    async def got(clearance: Label) -> Label:
        caller = replace(root, clearance=clearance)
        return (await doors.memory.get(caller, project.id, "build/target")).label

    assert await got(SECRET) == SECRET
    assert await got(replace(SECRET, level=FINANCE.level)) == LAW
    assert await got(FINANCE) == FINANCE
    assert await got(TEAM) == TEAM


async def test_a_key_above_ones_clearance_is_not_there(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await put(doors, root, project, "merger", label=FINANCE)
    low = replace(root, clearance=TEAM)

    for key in ("merger", "nothing"):
        with pytest.raises(MemoryNotFound):
            await doors.memory.get(low, project.id, key)
        with pytest.raises(MemoryNotFound):
            await doors.memory.forget(low, project.id, key, TEAM, BEGINNING)
        assert await doors.memory.versions(low, project.id, key, 10) == []
    assert await doors.memory.page(low, project.id, prefix="", after=None, limit=9) == []
    assert await doors.memory.find(low, project.id, "merger", 9) == []
    assert (await put(doors, low, project, "merger", version=0)).version == 1


async def test_versions_are_counted_within_a_label(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)

    first = await put(doors, root, project, value=1, version=0)
    await put(doors, root, project, value=10, label=FINANCE, version=0)
    second = await put(doors, root, project, value=2, version=1)
    third = await put(doors, root, project, value=3)

    assert [first.version, second.version, third.version] == [1, 2, 3]
    for wrong in (0, 2, 4):
        with pytest.raises(MemoryChanged) as refused:
            await put(doors, root, project, value=4, version=wrong)
        assert refused.value.there == 3
    history = await doors.memory.versions(root, project.id, "build/target", 10)
    assert [(its.label, its.version, its.value) for its in history] == [
        (FINANCE, 1, 10),
        (TEAM, 3, 3),
        (TEAM, 2, 2),
        (TEAM, 1, 1),
    ]
    assert await doors.memory.versions(root, project.id, "build/target", 2) == history[:2]


async def test_what_is_forgotten_is_a_version_of_its_own(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await put(doors, root, project, value="low")
    await put(doors, root, project, value="high", label=FINANCE)

    await doors.memory.forget(root, project.id, "build/target", FINANCE, BEGINNING)

    assert (await doors.memory.get(root, project.id, "build/target")).value == "low"
    gone = (await doors.memory.versions(root, project.id, "build/target", 9))[0]
    assert (gone.forgotten, gone.version, gone.value, gone.label) == (True, 2, None, FINANCE)
    with pytest.raises(MemoryNotFound):
        await doors.memory.forget(root, project.id, "build/target", FINANCE, BEGINNING)
    with pytest.raises(MemoryChanged):
        await put(doors, root, project, label=FINANCE, version=2)
    assert (await put(doors, root, project, label=FINANCE, version=0)).version == 3


async def test_a_null_is_remembered_too(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)

    await put(doors, root, project, value=None)

    there = await doors.memory.get(root, project.id, "build/target")
    assert (there.value, there.forgotten) == (None, False)


async def test_what_has_expired_is_not_there(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    until = BEGINNING + timedelta(hours=1)
    await put(doors, root, project, value="low")
    await put(doors, root, project, value="word", label=FINANCE, expires_at=until)
    assert (await doors.memory.get(root, project.id, "build/target")).expires_at == until

    doors.clock.turn(timedelta(hours=2))

    assert (await doors.memory.get(root, project.id, "build/target")).value == "low"
    [only] = await doors.memory.page(root, project.id, prefix="", after=None, limit=9)
    assert only.value == "low"
    assert await doors.memory.find(root, project.id, "word", 9) == []
    later = until + timedelta(hours=2)
    with pytest.raises(MemoryNotFound):
        await doors.memory.forget(root, project.id, "build/target", FINANCE, later)
    again = await put(doors, root, project, label=FINANCE, version=0, at=later)
    assert again.version == 2


async def test_keys_are_listed_one_by_one(doors: Doors) -> None:
    root = await cleared_root(doors)
    project, other = await a_project(doors, root), await a_project(doors, root, "gemini")
    for key in ("b/2", "a", "b/1", "Z", "b_", "b/%"):
        await put(doors, root, project, key)
        await put(doors, root, project, key, value="high", label=FINANCE)
    await put(doors, root, other, "b/3")

    async def keys(prefix: str = "", after: str | None = None, limit: int = 9) -> list[str]:
        found = await doors.memory.page(root, project.id, prefix=prefix, after=after, limit=limit)
        assert {its.value for its in found} <= {"high"}
        return [its.key for its in found]

    assert await keys() == ["Z", "a", "b/%", "b/1", "b/2", "b_"]
    assert await keys("b/") == ["b/%", "b/1", "b/2"]
    assert await keys("b/", after="b/1") == ["b/2"]
    assert await keys(limit=2) == ["Z", "a"]
    assert await keys("c") == []


async def test_it_is_found_by_the_words_of_its_key_and_its_value(doors: Doors) -> None:
    root = await cleared_root(doors)
    project, other = await a_project(doors, root), await a_project(doors, root, "gemini")
    later = BEGINNING + timedelta(minutes=1)
    one = await put(doors, root, project, "deploy/target.linux", {"City": "Zürich's\nlake"})
    two = await put(doors, root, project, "note", "the target is moving", label=FINANCE, at=later)
    await put(doors, root, project, "old", "target")
    await put(doors, root, project, "old", "something else")
    await put(doors, root, other, "note", "target")

    async def found(words: str, limit: int = 9) -> list[Remembered]:
        return list(await doors.memory.find(root, project.id, words, limit))

    assert await found("target") == [two, one]
    assert await found("TARGET", limit=1) == [two]
    assert await found("zürich lake") == [one]
    assert await found("city target") == [one]
    assert await found("deploy/target") == [one]
    assert await found("target' | 'x") == []
    assert await found("zürich moving") == []
    assert await found(" ") == []
    assert await doors.memory.find(replace(root, clearance=TEAM), project.id, "target", 9) == [one]


async def test_of_many_who_write_upon_the_same_version_one_does(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await put(doors, root, project, value=0)

    async def attempt(number: int) -> Remembered | MemoryChanged:
        try:
            return await put(doors, root, project, value=number, version=1)
        except MemoryChanged as refused:
            return refused

    got = await asyncio.gather(*(attempt(number) for number in range(1, 21)))

    [written] = [each for each in got if isinstance(each, Remembered)]
    assert {each.there for each in got if isinstance(each, MemoryChanged)} == {2}
    assert await doors.memory.get(root, project.id, "build/target") == written


async def test_of_many_who_write_whatever_is_there_all_do(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)

    written = await asyncio.gather(*(put(doors, root, project, value=n) for n in range(12)))

    assert sorted(its.version for its in written) == [*range(1, 13)]


async def test_nothing_is_written_below_what_was_read_nor_above_ones_clearance(
    doors: Doors,
) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await put(doors, root, project)
    await doors.contexts.rise(root, FINANCE, untrusted=False)

    with pytest.raises(WriteDown) as refused:
        await put(doors, root, project)
    with pytest.raises(WriteDown):
        await doors.memory.forget(root, project.id, "build/target", TEAM, BEGINNING)
    with pytest.raises(REFUSED):
        await put(doors, replace(root, clearance=FINANCE), project, label=SECRET)

    assert (refused.value.wanted, refused.value.mark) == (TEAM, FINANCE)
    assert (await put(doors, root, project, label=FINANCE)).version == 1


async def test_a_project_that_one_cannot_see_remembers_nothing(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "ann", clearance=FINANCE)
    hidden = await a_project(doors, root, label=LAW)

    with pytest.raises(ProjectNotFound):
        await put(doors, low, hidden, label=FINANCE)


async def test_another_space_remembers_its_own(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    project = await a_project(doors, root)
    await put(doors, root, project)

    with pytest.raises(MemoryNotFound):
        await doors.memory.get(other, project.id, "build/target")
    with pytest.raises(ProjectNotFound):
        await put(doors, other, project)


async def test_memory_goes_with_its_space(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await put(doors, root, project)

    await doors.spaces.delete(root)

    with pytest.raises(MemoryNotFound):
        await doors.memory.get(root, project.id, "build/target")
