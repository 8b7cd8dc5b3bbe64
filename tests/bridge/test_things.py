"""What is in a project: who is there, its files, and what holds of all things in it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.attachments import LARGEST, Digest
from portico.bridge.core.errors import (
    AboveClearance,
    Archived,
    AttachmentNotFound,
    InvalidBridgeInput,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.leases import LeaseSpec
from portico.bridge.core.presence import GOOD_FOR, PresenceStatus
from portico.bridge.core.work_items import WorkEnded
from portico.guard.core.errors import NotPermitted
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.things_room import Scene, a_scene


async def test_who_says_so_is_there_for_a_while_with_a_short_note(scene: Scene) -> None:
    await scene.room.say_presence(scene.low, scene.project.id, PresenceStatus.THERE)
    await scene.room.say_presence(
        scene.low, scene.project.id, PresenceStatus.BUSY, "with the parser"
    )
    [there] = await scene.room.list_presence(scene.high, scene.project.id)
    scene.room.clock.turn(GOOD_FOR)

    assert (there.name, there.doing, there.note) == ("low", PresenceStatus.BUSY, "with the parser")
    assert await scene.room.list_presence(scene.high, scene.project.id) == []
    assert await scene.room.mark(scene.high) == TEAM

    with pytest.raises(InvalidBridgeInput):
        await scene.room.say_presence(scene.low, scene.project.id, PresenceStatus.THERE, "n" * 201)


async def test_who_has_read_more_says_nothing(scene: Scene) -> None:
    await scene.room.marks.read(scene.high, [SECRET])

    with pytest.raises(WriteDown):
        await scene.room.say_presence(scene.high, scene.project.id, PresenceStatus.THERE)

    assert await scene.room.list_presence(scene.low, scene.project.id) == []

    scene = await a_scene(SECRET)
    await scene.room.say_presence(scene.high, scene.project.id, PresenceStatus.THERE)

    with pytest.raises(ProjectNotFound):
        await scene.room.list_presence(scene.low, scene.project.id)


async def test_in_a_project_that_is_put_away_nothing_begins_and_all_is_there(scene: Scene) -> None:
    room, who, project = scene.room, scene.low, scene.project.id
    work, lease = (
        await room.some_work(who, scene.project),
        await room.take_lease(who, LeaseSpec(project=project, resource="src")),
    )
    await room.kept(who, scene.project)
    await room.archive(scene.project)

    for ask in (
        room.say_presence(who, project, PresenceStatus.THERE),
        room.attach(who, project, "a", PLAIN, b"x"),
        room.take_lease(who, LeaseSpec(project=project, resource="docs")),
        room.renew_lease(who, lease.id, lease.token, for_=timedelta(hours=1)),
        room.some_work(who, scene.project),
        room.claim_work(who, work.id),
        room.kept(who, scene.project),
        room.forget(who, project, "k"),
    ):
        with pytest.raises(Archived):
            await ask
    assert await room.show_work(who, work.id) == work
    assert (await room.recall(who, project, "k")).value == "v"
    await room.release_lease(who, lease.id, lease.token)


async def test_without_the_scope_nothing_is_done() -> None:
    scene = await a_scene(PUBLIC)
    room, project = scene.room, scene.project.id
    work = (await room.some_work(scene.low, scene.project)).id
    wish = LeaseSpec(project=project, resource="src")
    lease = await room.take_lease(scene.low, wish)
    nobody = replace(scene.low, scopes=frozenset())

    for ask in (
        room.say_presence(nobody, project, PresenceStatus.THERE),
        room.list_presence(nobody, project),
        room.attach(nobody, project, "a", PLAIN, b"x"),
        room.fetch(nobody, Digest.of(b"x")),
        room.take_lease(nobody, replace(wish, resource="docs")),
        room.renew_lease(nobody, lease.id, lease.token, for_=timedelta(hours=1)),
        room.release_lease(nobody, lease.id, lease.token),
        room.check_lease(nobody, project, "src", lease.token),
        room.list_leases(nobody, project),
        room.some_work(nobody, scene.project),
        room.show_work(nobody, work),
        room.list_work(nobody, project),
        room.claim_work(nobody, work),
        room.hand_over_work(nobody, work, 1, None),
        room.end_work(nobody, WorkEnded(work=work, token=1)),
        room.kept(nobody, scene.project),
        room.recall(nobody, project, "k"),
        room.forget(nobody, project, "k"),
        room.list_memory(nobody, project),
        room.search_memory(nobody, project, "k"),
        room.memory_history(nobody, project, "k"),
    ):
        with pytest.raises(NotPermitted):
            await ask


PLAIN = "text/plain"


async def test_what_is_added_can_be_fetched_by_its_digest(scene: Scene) -> None:
    added = await scene.room.attach(scene.low, scene.project.id, "a.txt", PLAIN, b"hello")

    assert await scene.room.fetch(scene.high, added.digest) == (added, b"hello")
    assert added.digest == Digest.parse(
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    )
    assert (added.label, added.size, added.by) == (TEAM, 5, scene.low.id)
    assert await scene.room.mark(scene.high) == TEAM


async def test_it_is_as_secret_as_what_was_read(scene: Scene) -> None:
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


async def test_who_adds_the_same_is_not_told_that_it_was_there(scene: Scene) -> None:
    await scene.room.attach(scene.high, scene.project.id, "hers.txt", PLAIN, b"same", SECRET)

    mine = await scene.room.attach(
        scene.fresh, scene.project.id, "mine.txt", PLAIN, b"same", SECRET
    )

    assert mine.name == "mine.txt"
    assert await scene.room.mark(scene.fresh) == TEAM


async def test_the_least_secret_of_the_same_content_is_given(scene: Scene) -> None:
    await scene.room.attach(scene.high, scene.project.id, "high", PLAIN, b"same", SECRET)
    await scene.room.attach(scene.low, scene.project.id, "low", PLAIN, b"same")

    found, _ = await scene.room.fetch(scene.fresh, Digest.of(b"same"))

    assert found.name == "low"
    assert await scene.room.mark(scene.fresh) == TEAM


async def test_a_person_fetches_it_in_a_task_of_its_own(scene: Scene) -> None:
    person = scene.room.enters("pat", kind=PrincipalKind.PERSON)
    added = await scene.room.attach(scene.low, scene.project.id, "a", PLAIN, b"x")

    await scene.room.fetch(person, added.digest)

    assert await scene.room.mark(person) == TEAM
    assert await scene.room.mark(person, scene.project.id) == PUBLIC


async def test_every_flaw_is_told(scene: Scene) -> None:
    with pytest.raises(InvalidBridgeInput) as refused:
        await scene.room.attach(scene.low, scene.project.id, "", "not a type", bytes(LARGEST + 1))

    assert [flaw.field for flaw in refused.value.field_errors] == ["name", "media_type", "content"]
    full = await scene.room.attach(scene.low, scene.project.id, "full", PLAIN, bytes(LARGEST))
    assert full.size == LARGEST


@pytest.mark.parametrize("text", ["", "ab", "A" * 64, "g" * 64, "0" * 65])
def test_what_is_no_digest_is_the_digest_of_nothing(text: str) -> None:
    with pytest.raises(AttachmentNotFound):
        Digest.parse(text)
