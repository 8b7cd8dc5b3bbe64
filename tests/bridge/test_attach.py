"""Files that go with messages: the same content is there once for each label."""

from dataclasses import replace

import pytest

from portico.bridge.core.attachment import LARGEST, Digest
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    AttachmentNotFound,
    BadBridgeInput,
    WriteDown,
)
from portico.guard.core.errors import NotPermitted
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.things_room import a_scene

PLAIN = "text/plain"


async def test_what_is_added_can_be_fetched_by_its_digest() -> None:
    scene = await a_scene()

    added = await scene.room.attach(scene.low, scene.project.id, "a.txt", PLAIN, b"hello")

    assert await scene.room.fetch(scene.high, added.digest) == (added, b"hello")
    assert added.digest == Digest.parse(
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    )
    assert (added.label, added.size, added.by) == (TEAM, 5, scene.low.id)
    assert await scene.room.mark(scene.high) == TEAM


async def test_it_is_as_secret_as_what_was_read() -> None:
    scene = await a_scene()
    await scene.room.marks.read(scene.high, [SECRET], untrusted=True)

    added = await scene.room.attach(scene.high, scene.project.id, "a.txt", PLAIN, b"hello")

    assert (added.label, added.untrusted) == (SECRET, True)
    with pytest.raises(WriteDown):
        await scene.room.attach(scene.high, scene.project.id, "a.txt", PLAIN, b"x", TEAM)
    with pytest.raises(AboveClearance):
        await scene.room.attach(scene.low, scene.project.id, "a.txt", PLAIN, b"x", SECRET)
    with pytest.raises(AttachmentNotFound):
        await scene.room.fetch(scene.low, added.digest)
    await scene.room.fetch(scene.fresh, added.digest)
    context = await scene.room.context(scene.fresh)
    assert (context.label, context.untrusted) == (SECRET, True)


async def test_who_adds_the_same_is_not_told_that_it_was_there() -> None:
    scene = await a_scene()
    await scene.room.attach(scene.high, scene.project.id, "hers.txt", PLAIN, b"same", SECRET)

    mine = await scene.room.attach(
        scene.fresh, scene.project.id, "mine.txt", PLAIN, b"same", SECRET
    )

    assert mine.name == "mine.txt"
    assert await scene.room.mark(scene.fresh) == TEAM


async def test_the_least_secret_of_the_same_content_is_given() -> None:
    scene = await a_scene()
    await scene.room.attach(scene.high, scene.project.id, "high", PLAIN, b"same", SECRET)
    await scene.room.attach(scene.low, scene.project.id, "low", PLAIN, b"same")

    found, _ = await scene.room.fetch(scene.fresh, Digest.of(b"same"))

    assert found.name == "low"
    assert await scene.room.mark(scene.fresh) == TEAM


async def test_a_person_fetches_it_in_a_task_of_its_own() -> None:
    scene = await a_scene()
    person = scene.room.enters("pat", kind=PrincipalKind.PERSON)
    added = await scene.room.attach(scene.low, scene.project.id, "a", PLAIN, b"x")

    await scene.room.fetch(person, added.digest)

    assert await scene.room.mark(person) == TEAM
    assert await scene.room.mark(person, scene.project.id) == PUBLIC


async def test_every_flaw_is_told() -> None:
    scene = await a_scene()

    with pytest.raises(BadBridgeInput) as refused:
        await scene.room.attach(scene.low, scene.project.id, "", "not a type", bytes(LARGEST + 1))

    assert [flaw.field for flaw in refused.value.flaws] == ["name", "media_type", "content"]
    full = await scene.room.attach(scene.low, scene.project.id, "full", PLAIN, bytes(LARGEST))
    assert full.size == LARGEST


@pytest.mark.parametrize("text", ["", "ab", "A" * 64, "g" * 64, "0" * 65])
def test_what_is_no_digest_is_the_digest_of_nothing(text: str) -> None:
    with pytest.raises(AttachmentNotFound):
        Digest.parse(text)


async def test_in_a_project_that_is_put_away_nothing_is_added() -> None:
    scene = await a_scene()
    await scene.room.archive(scene.project)

    with pytest.raises(Archived):
        await scene.room.attach(scene.low, scene.project.id, "a", PLAIN, b"x")


async def test_without_the_scope_nothing_is_done() -> None:
    scene = await a_scene()
    nobody = replace(scene.low, scopes=frozenset())

    with pytest.raises(NotPermitted):
        await scene.room.attach(nobody, scene.project.id, "a", PLAIN, b"x")
    with pytest.raises(NotPermitted):
        await scene.room.fetch(nobody, Digest.of(b"x"))
