"""What every memory of a project keeps to: each label has its own, and nothing is written over; and
every store of attachments: a content is there once for each label."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from portico.bridge.core.attachments import Attachment, Digest
from portico.bridge.core.errors import (
    AttachmentNotFound,
    MemoryChanged,
    MemoryNotFound,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.memory import MemoryEntry, ToRemember
from portico.bridge.core.projects import Project
from portico.kernel.json import JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING
from tests.contracts.bridge_people import FINANCE, LAW, SECRET, TEAM, a_project, cleared_root
from tests.contracts.doors import REFUSED, Doors

KEY = "build/target"
VALUE: JsonValue = {"host": "dbä", "ports": [1, 2.5, None, True], "deep": {"text": 'a "b" \\ \n c'}}
CONTENT = bytes(range(256)) * 40


async def put(
    doors: Doors,
    caller: Principal,
    project: Project,
    key: str = KEY,
    value: JsonValue = "linux",
    *,
    label: Label = TEAM,
    version: int | None = None,
    expires_at: datetime | None = None,
    at: datetime = BEGINNING,
) -> MemoryEntry:
    wanted = ToRemember(
        project=project.id, key=key, value=value, version=version, expires_at=expires_at
    )
    return await doors.memory.put(caller, wanted, label, at)


async def test_what_is_remembered_is_read_as_it_was_written(
    doors: Doors, admin: Principal, project: Project
) -> None:
    wanted = ToRemember(project=project.id, key=KEY, value=VALUE)

    written = await doors.memory.put(admin, wanted, TEAM, BEGINNING, untrusted=True)

    assert await doors.memory.get(admin, project.id, KEY) == written
    assert (written.value, written.version, written.label) == (VALUE, 1, TEAM)
    assert (written.by, written.at, written.untrusted) == (admin.id, BEGINNING, True)
    await put(doors, admin, project, value=None)
    there = await doors.memory.get(admin, project.id, KEY)
    assert (there.value, there.forgotten) == (None, False)


async def test_the_most_secret_that_one_may_read_is_given(
    doors: Doors, admin: Principal, project: Project
) -> None:
    for label in (FINANCE, TEAM, SECRET, LAW):
        await put(doors, admin, project, value=str(label), label=label)

    below = replace(SECRET, level=FINANCE.level)
    for clearance, label in ((SECRET, SECRET), (below, LAW), (FINANCE, FINANCE), (TEAM, TEAM)):
        caller = replace(admin, clearance=clearance)
        assert (await doors.memory.get(caller, project.id, KEY)).label == label


async def test_a_key_above_ones_clearance_is_not_there(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    await put(doors, admin, project, "merger", label=FINANCE)

    for key in ("merger", "nothing"):
        with pytest.raises(MemoryNotFound):
            await doors.memory.get(low, project.id, key)
        with pytest.raises(MemoryNotFound):
            await doors.memory.forget(low, project.id, key, TEAM, BEGINNING)
        assert await doors.memory.versions(low, project.id, key, 10) == []
    assert await doors.memory.page(low, project.id, prefix="", after=None, limit=9) == []
    assert await doors.memory.find(low, project.id, "merger", 9) == []
    assert (await put(doors, low, project, "merger", version=0)).version == 1


async def test_versions_are_counted_within_a_label(
    doors: Doors, admin: Principal, project: Project
) -> None:
    first = await put(doors, admin, project, value=1, version=0)
    await put(doors, admin, project, value=10, label=FINANCE, version=0)
    second = await put(doors, admin, project, value=2, version=1)
    third = await put(doors, admin, project, value=3)

    assert [first.version, second.version, third.version] == [1, 2, 3]
    for wrong in (0, 2, 4):
        with pytest.raises(MemoryChanged) as refused:
            await put(doors, admin, project, value=4, version=wrong)
        assert refused.value.there == 3
    history = await doors.memory.versions(admin, project.id, KEY, 10)
    assert [(its.label, its.version, its.value) for its in history] == [
        (FINANCE, 1, 10),
        (TEAM, 3, 3),
        (TEAM, 2, 2),
        (TEAM, 1, 1),
    ]
    assert await doors.memory.versions(admin, project.id, KEY, 2) == history[:2]


async def test_what_is_forgotten_is_a_version_of_its_own(
    doors: Doors, admin: Principal, project: Project
) -> None:
    await put(doors, admin, project, value="low")
    await put(doors, admin, project, value="high", label=FINANCE)

    await doors.memory.forget(admin, project.id, KEY, FINANCE, BEGINNING)

    assert (await doors.memory.get(admin, project.id, KEY)).value == "low"
    gone = (await doors.memory.versions(admin, project.id, KEY, 9))[0]
    assert (gone.forgotten, gone.version, gone.value, gone.label) == (True, 2, None, FINANCE)
    with pytest.raises(MemoryNotFound):
        await doors.memory.forget(admin, project.id, KEY, FINANCE, BEGINNING)
    with pytest.raises(MemoryChanged):
        await put(doors, admin, project, label=FINANCE, version=2)
    assert (await put(doors, admin, project, label=FINANCE, version=0)).version == 3


async def test_what_has_expired_is_not_there(
    doors: Doors, admin: Principal, project: Project
) -> None:
    until = BEGINNING + timedelta(hours=1)
    await put(doors, admin, project, value="low")
    await put(doors, admin, project, value="word", label=FINANCE, expires_at=until)
    assert (await doors.memory.get(admin, project.id, KEY)).expires_at == until

    doors.clock.turn(timedelta(hours=2))

    assert (await doors.memory.get(admin, project.id, KEY)).value == "low"
    [only] = await doors.memory.page(admin, project.id, prefix="", after=None, limit=9)
    assert only.value == "low"
    assert await doors.memory.find(admin, project.id, "word", 9) == []
    later = until + timedelta(hours=2)
    with pytest.raises(MemoryNotFound):
        await doors.memory.forget(admin, project.id, KEY, FINANCE, later)
    again = await put(doors, admin, project, label=FINANCE, version=0, at=later)
    assert again.version == 2


async def test_keys_are_listed_one_by_one(doors: Doors, admin: Principal, project: Project) -> None:
    for key in ("b/2", "a", "b/1", "Z", "b_", "b/%"):
        await put(doors, admin, project, key)
        await put(doors, admin, project, key, value="high", label=FINANCE)
    await put(doors, admin, await a_project(doors, admin, "gemini"), "b/3")

    async def keys(prefix: str = "", after: str | None = None, limit: int = 9) -> list[str]:
        found = await doors.memory.page(admin, project.id, prefix=prefix, after=after, limit=limit)
        assert {its.value for its in found} <= {"high"}
        return [its.key for its in found]

    assert await keys() == ["Z", "a", "b/%", "b/1", "b/2", "b_"]
    assert await keys("b/") == ["b/%", "b/1", "b/2"]
    assert await keys("b/", after="b/1") == ["b/2"]
    assert await keys(limit=2) == ["Z", "a"]
    assert await keys("c") == []


async def test_it_is_found_by_the_words_of_its_key_and_its_value(
    doors: Doors, admin: Principal, project: Project
) -> None:
    later = BEGINNING + timedelta(minutes=1)
    one = await put(doors, admin, project, "deploy/target.linux", {"City": "Zürich's\nlake"})
    two = await put(doors, admin, project, "note", "the target is moving", label=FINANCE, at=later)
    await put(doors, admin, project, "old", "target")
    await put(doors, admin, project, "old", "something else")
    await put(doors, admin, await a_project(doors, admin, "gemini"), "note", "target")

    async def found(words: str, limit: int = 9, who: Principal = admin) -> list[MemoryEntry]:
        return list(await doors.memory.find(who, project.id, words, limit))

    assert await found("target") == [two, one]
    assert await found("TARGET", limit=1) == [two]
    for words in ("zürich lake", "city target", "deploy/target"):
        assert await found(words) == [one]
    for words in ("target' | 'x", "zürich moving", " "):
        assert await found(words) == []
    assert await found("target", who=replace(admin, clearance=TEAM)) == [one]


async def test_of_many_who_write_upon_the_same_version_one_does_and_else_all(
    doors: Doors, admin: Principal, project: Project
) -> None:
    await put(doors, admin, project, value=0)

    async def attempt(number: int) -> MemoryEntry | MemoryChanged:
        try:
            return await put(doors, admin, project, value=number, version=1)
        except MemoryChanged as refused:
            return refused

    got = await asyncio.gather(*(attempt(number) for number in range(1, 21)))

    [written] = [each for each in got if isinstance(each, MemoryEntry)]
    assert {each.there for each in got if isinstance(each, MemoryChanged)} == {2}
    assert await doors.memory.get(admin, project.id, KEY) == written
    all_ = await asyncio.gather(*(put(doors, admin, project, value=n) for n in range(12)))
    assert sorted(its.version for its in all_) == [*range(3, 15)]


async def test_nothing_is_written_below_what_was_read_nor_above_ones_clearance(
    doors: Doors, admin: Principal, project: Project
) -> None:
    below = replace(admin, clearance=FINANCE)
    await put(doors, admin, project)
    await doors.contexts.raise_taint(admin, FINANCE, untrusted=False)

    for refused in (
        put(doors, admin, project),
        doors.memory.forget(admin, project.id, KEY, TEAM, BEGINNING),
        doors.attachments.put(admin, an_attachment(admin), CONTENT),
    ):
        with pytest.raises(WriteDown) as error:
            await refused
        assert (error.value.wanted, error.value.mark) == (TEAM, FINANCE)
    with pytest.raises(REFUSED):
        await put(doors, below, project, label=SECRET)
    with pytest.raises(REFUSED):
        await doors.attachments.put(below, an_attachment(admin, label=SECRET), CONTENT)

    assert (await put(doors, admin, project, label=FINANCE)).version == 1


async def test_what_is_kept_is_of_its_space_and_project_and_goes_with_them(
    doors: Doors, admin: Principal, project: Project
) -> None:
    other, hidden = await cleared_root(doors, "acme"), await a_project(doors, admin, "h", LAW)
    await put(doors, admin, project)
    await doors.attachments.put(admin, an_attachment(admin), CONTENT)

    with pytest.raises(MemoryNotFound):
        await doors.memory.get(other, project.id, KEY)
    for caller, where in ((other, project), (replace(admin, clearance=FINANCE), hidden)):
        with pytest.raises(ProjectNotFound):
            await put(doors, caller, where, label=FINANCE)

    await doors.spaces.delete(admin)
    with pytest.raises(MemoryNotFound):
        await doors.memory.get(admin, project.id, KEY)
    with pytest.raises(AttachmentNotFound):
        await doors.attachments.get(admin, Digest.of(CONTENT))
    with pytest.raises(REFUSED):
        await doors.attachments.put(admin, an_attachment(admin), CONTENT)


def an_attachment(
    by: Principal, content: bytes = CONTENT, *, name: str = "a.bin", label: Label = TEAM
) -> Attachment:
    return Attachment(
        digest=Digest.of(content),
        label=label,
        name=name,
        media_type="application/octet-stream",
        size=len(content),
        untrusted=True,
        by=by.id,
        at=BEGINNING,
    )


async def test_an_attachment_is_there_byte_by_byte_as_it_was_added_first(
    doors: Doors, admin: Principal
) -> None:
    for content in (CONTENT, b""):
        added = an_attachment(admin, content)

        await doors.attachments.put(admin, added, content)
        await doors.attachments.put(admin, an_attachment(admin, content, name="b.bin"), content)

        assert await doors.attachments.get(admin, added.digest) == (added, content)
        assert await doors.attachments.about(admin, added.digest) == added


async def test_of_the_same_content_the_least_secret_is_given_and_nothing_from_above(
    doors: Doors, admin: Principal
) -> None:
    other, digest = await cleared_root(doors, "acme"), Digest.of(CONTENT)
    for label in (SECRET, LAW, FINANCE):
        added = an_attachment(admin, label=label, name=str(label))
        await doors.attachments.put(admin, added, CONTENT)

    async def got(clearance: Label) -> str:
        caller = replace(admin, clearance=clearance)
        return (await doors.attachments.about(caller, digest)).name

    assert await got(SECRET) == str(FINANCE)
    assert await got(LAW) == str(LAW)
    for caller in (replace(admin, clearance=TEAM), other):
        with pytest.raises(AttachmentNotFound):
            await doors.attachments.get(caller, digest)
        with pytest.raises(AttachmentNotFound):
            await doors.attachments.about(caller, digest)
    await doors.attachments.put(admin, an_attachment(admin, name="low"), CONTENT)
    assert await got(SECRET) == "low"
