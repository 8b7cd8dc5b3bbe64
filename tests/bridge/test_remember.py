"""What a project remembers: whoever reads it has read it, and writes nothing less secret."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.bridge.core.errors import (
    AboveClearance,
    BadBridgeInput,
    BelowContainer,
    MemoryChanged,
    MemoryNotFound,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.memory import ToRemember
from portico.kernel.json import JsonValue, NotCanonical
from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.things_room import Scene, a_scene


async def test_what_is_written_is_as_secret_as_what_was_read(scene: Scene) -> None:
    room, project = scene.room, scene.project
    await room.kept(scene.fresh, project, "secret", label=SECRET)

    before = await room.kept(scene.high, project, "plan")
    await room.recall(scene.high, project.id, "secret")
    after = await room.kept(scene.high, project, "plan")

    assert (before.label, after.label) == (TEAM, SECRET)
    assert (before.version, after.version) == (1, 1)
    assert (await room.recall(scene.low, project.id, "plan")) == before
    with pytest.raises(WriteDown):
        await room.kept(scene.high, project, "plan", label=TEAM)


async def test_a_label_is_neither_below_its_project_nor_above_its_writer(scene: Scene) -> None:
    with pytest.raises(BelowContainer):
        await scene.room.kept(scene.low, scene.project, label=PUBLIC)
    with pytest.raises(AboveClearance):
        await scene.room.kept(scene.low, scene.project, label=SECRET)

    secret = await a_scene(SECRET)
    await secret.room.kept(secret.high, secret.project)
    with pytest.raises(BelowContainer):
        await secret.room.kept(secret.high, secret.project, label=TEAM)
    with pytest.raises(ProjectNotFound):
        await secret.room.kept(secret.low, secret.project)


async def test_whoever_writes_above_knows_by_the_version_what_is_there(scene: Scene) -> None:
    await scene.room.kept(scene.high, scene.project, label=SECRET)
    wanted = ToRemember(project=scene.project.id, key="k", value="new", label=SECRET, version=0)

    with pytest.raises(MemoryChanged):
        await scene.room.remember(scene.fresh, wanted)

    assert await scene.room.mark(scene.fresh) == SECRET


async def test_every_way_of_reading_raises_the_mark_by_what_is_read(scene: Scene) -> None:
    room, project = scene.room, scene.project
    await room.kept(scene.low, project, "a/low", "word")
    await room.kept(scene.fresh, project, "b/high", "word", SECRET)

    ann, ben, cem, dan, eve = (room.enters(name) for name in ("ann", "ben", "cem", "dan", "eve"))
    await room.list_memory(ann, project.id, prefix="a/")
    await room.list_memory(ben, project.id)
    await room.search_memory(cem, project.id, "word")
    await room.memory_history(dan, project.id, "b/high")
    await room.forget(eve, project.id, "b/high")

    assert await room.mark(ann) == TEAM
    for who in (ben, cem, dan, eve):
        assert await room.mark(who) == SECRET


async def test_strangers_words_stay_strangers_words(scene: Scene) -> None:
    await scene.room.marks.read(scene.low, [], untrusted=True)

    written = await scene.room.kept(scene.low, scene.project)
    await scene.room.recall(scene.high, scene.project.id, "k")

    assert written.untrusted
    assert (await scene.room.context(scene.high)).untrusted
    assert not (await scene.room.context(scene.fresh)).untrusted
    assert (await scene.room.kept(scene.high, scene.project)).untrusted


async def test_what_is_forgotten_is_what_one_would_be_given(scene: Scene) -> None:
    room, project = scene.room, scene.project
    await room.kept(scene.low, project, value="low")
    await room.kept(scene.fresh, project, value="high", label=SECRET)

    await room.forget(scene.high, project.id, "k")

    assert (await room.recall(scene.fresh, project.id, "k")).value == "low"
    with pytest.raises(WriteDown):
        await room.forget(scene.high, project.id, "k")
    await room.forget(scene.low, project.id, "k", TEAM)
    with pytest.raises(MemoryNotFound):
        await room.recall(scene.low, project.id, "k")
    history = await room.memory_history(scene.low, project.id, "k")
    assert [(its.version, its.forgotten) for its in history] == [(2, True), (1, False)]


async def test_what_is_not_there_and_what_is_hidden_are_the_same(scene: Scene) -> None:
    room, project = scene.room, scene.project
    await room.kept(scene.high, project, "hidden", label=SECRET)

    for key in ("hidden", "absent"):
        with pytest.raises(MemoryNotFound) as recalled:
            await room.recall(scene.low, project.id, key)
        with pytest.raises(MemoryNotFound) as looked_up:
            await room.memory_history(scene.low, project.id, key)
        with pytest.raises(MemoryNotFound):
            await room.forget(scene.low, project.id, key)
        assert str(recalled.value) == str(looked_up.value)
        assert str(recalled.value).replace(key, "x").count("x") == 1
    assert await room.list_memory(scene.low, project.id) == []
    assert await room.search_memory(scene.low, project.id, "hidden") == []


async def test_a_person_in_front_of_one_project_has_not_read_the_other(scene: Scene) -> None:
    person = scene.room.enters("pat", kind=PrincipalKind.PERSON)
    other = await scene.room.a_project(scene.fresh, name="other")
    await scene.room.kept(scene.fresh, scene.project, label=SECRET)

    await scene.room.recall(person, scene.project.id, "k")

    assert (await scene.room.kept(person, scene.project, "mine")).label == SECRET
    assert (await scene.room.kept(person, other)).label == PUBLIC


async def test_every_flaw_is_told(scene: Scene) -> None:
    good: dict[str, Any] = {"key": "k", "value": "v"}
    flaws = [("key", ""), ("key", " k"), ("key", "k" * 201), ("key", "a\nb")]
    for field, value in [*flaws, ("value", "x" * 100_001)]:
        with pytest.raises(BadBridgeInput) as refused:
            await scene.room.kept(scene.low, scene.project, **(good | {field: value}))
        assert [flaw.field for flaw in refused.value.flaws] == [field]

    for limit in (0, 201):
        with pytest.raises(BadBridgeInput):
            await scene.room.list_memory(scene.low, scene.project.id, limit=limit)
        with pytest.raises(BadBridgeInput):
            await scene.room.search_memory(scene.low, scene.project.id, "k", limit)


def nested(depth: int) -> JsonValue:
    value: JsonValue = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(51), {"a": ["\0"]}, {"\0": 1}])
async def test_what_cannot_be_kept_is_refused(value: JsonValue, scene: Scene) -> None:
    with pytest.raises(BadBridgeInput):
        await scene.room.kept(scene.low, scene.project, value=value)
    with pytest.raises(NotCanonical):
        await scene.room.kept(scene.low, scene.project, value=float("nan"))
    assert (await scene.room.kept(scene.low, scene.project, value=nested(50))).version == 1


async def test_what_expires_is_not_there_afterwards_and_nothing_is_over_already(
    scene: Scene,
) -> None:
    now = scene.room.clock.now()
    hour = timedelta(hours=1)
    wanted = ToRemember(project=scene.project.id, key="k", value=1, expires_at=now + hour)
    with pytest.raises(BadBridgeInput) as refused:
        await scene.room.remember(scene.low, replace(wanted, version=-1, expires_at=now - hour))
    await scene.room.remember(scene.low, wanted)

    scene.room.clock.turn(2 * hour)

    assert [flaw.field for flaw in refused.value.flaws] == ["version", "expires_at"]
    with pytest.raises(MemoryNotFound):
        await scene.room.recall(scene.low, scene.project.id, "k")
