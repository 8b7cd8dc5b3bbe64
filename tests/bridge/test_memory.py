"""What a project remembers: as if each label had a drawer of its own."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from portico.bridge.core.errors import (
    AboveClearance,
    BelowContainer,
    InvalidBridgeInput,
    MemoryChanged,
    MemoryNotFound,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.projects import Project, ProjectId
from portico.kernel.json import JsonValue, NotCanonical
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import PrincipalKind
from portico.testing.bridge_memory import MemoryMemory
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.test_leases import done
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
    for named, value in [*flaws, ("value", "x" * 100_001)]:
        with pytest.raises(InvalidBridgeInput) as refused:
            await scene.room.kept(scene.low, scene.project, **(good | {named: value}))
        assert [flaw.field for flaw in refused.value.field_errors] == [named]

    for limit in (0, 201):
        with pytest.raises(InvalidBridgeInput):
            await scene.room.list_memory(scene.low, scene.project.id, limit=limit)
        with pytest.raises(InvalidBridgeInput):
            await scene.room.search_memory(scene.low, scene.project.id, "k", limit)


def nested(depth: int) -> JsonValue:
    value: JsonValue = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(51), {"a": ["\0"]}, {"\0": 1}])
async def test_what_cannot_be_kept_is_refused(value: JsonValue, scene: Scene) -> None:
    with pytest.raises(InvalidBridgeInput):
        await scene.room.kept(scene.low, scene.project, value=value)
    with pytest.raises(NotCanonical):
        await scene.room.kept(scene.low, scene.project, value=float("nan"))
    assert (await scene.room.kept(scene.low, scene.project, value=nested(50))).version == 1


async def test_what_expires_is_not_there_afterwards(scene: Scene) -> None:
    now = scene.room.clock.now()
    hour = timedelta(hours=1)
    wanted = ToRemember(project=scene.project.id, key="k", value=1, expires_at=now + hour)
    with pytest.raises(InvalidBridgeInput) as refused:
        await scene.room.remember(scene.low, replace(wanted, version=-1, expires_at=now - hour))
    await scene.room.remember(scene.low, wanted)

    scene.room.clock.turn(2 * hour)

    assert [flaw.field for flaw in refused.value.field_errors] == ["version", "expires_at"]
    with pytest.raises(MemoryNotFound):
        await scene.room.recall(scene.low, scene.project.id, "k")


LABELS = [PUBLIC, *map(Label.parse, ("team", "team+law", "team+finance", "restricted+law+finance"))]
ANN = a_person("ann", clearance=LABELS[-1])


@dataclass
class SecretStore:
    """One key under one label: all that was put there, the last of it on top."""

    versions: list[tuple[int | None, datetime | None]] = field(default_factory=list)

    def there(self, now: datetime) -> int:
        if not self.versions:
            return 0
        value, until = self.versions[-1]
        return 0 if value is None or (until and until <= now) else len(self.versions)


class MemoryMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = BEGINNING
        self.clock = TickingClock(step=timedelta(0))
        self.drawers = {(key, label): SecretStore() for key in "ab" for label in LABELS}
        world = InMemoryStore()
        self.memory = MemoryMemory(world, self.clock)
        self.project = ProjectId.mint(BEGINNING, SeededEntropy("project"))
        world.projects[ANN.space, self.project] = Project(
            id=self.project,
            name="p",
            label=PUBLIC,
            made_by=ANN.id,
            made_at=BEGINNING,
            active_at=BEGINNING,
        )

    @rule(by=st.integers(1, 60))
    def time_goes_on(self, by: int) -> None:
        self.clock.turn(timedelta(seconds=by))
        self.now += timedelta(seconds=by)

    @rule(
        key=st.sampled_from("ab"),
        label=st.sampled_from(LABELS),
        value=st.integers(0, 9),
        version=st.none() | st.integers(0, 5),
        lasts=st.none() | st.integers(1, 60),
    )
    def put(
        self, *, key: str, label: Label, value: int, version: int | None, lasts: int | None
    ) -> None:
        drawer = self.drawers[key, label]
        there = drawer.there(self.now)
        until = None if lasts is None else self.now + timedelta(seconds=lasts)
        wanted = ToRemember(
            project=self.project, key=key, value=value, version=version, expires_at=until
        )
        if version not in (None, there):
            with pytest.raises(MemoryChanged) as refused:
                done(self.memory.put(ANN, wanted, label, self.now))
            assert refused.value.there == there
            return
        written = done(self.memory.put(ANN, wanted, label, self.now))
        drawer.versions.append((value, until))
        assert written.version == len(drawer.versions)

    @rule(key=st.sampled_from("ab"), label=st.sampled_from(LABELS))
    def forget(self, key: str, label: Label) -> None:
        drawer = self.drawers[key, label]
        there = drawer.there(self.now)
        try:
            done(self.memory.forget(ANN, self.project, key, label, self.now))
        except MemoryNotFound:
            assert not there
            return
        assert there
        drawer.versions.append((None, None))

    @invariant()
    def each_is_given_the_most_secret_that_they_may_read(self) -> None:
        for number, clearance in enumerate(LABELS):
            reader = a_person("ann", clearance=clearance)
            lower = [label for label in LABELS[: number + 1] if clearance.covers(label)]
            for key in "ab":
                live = [each for each in lower if self.drawers[key, each].there(self.now)]
                try:
                    found = done(self.memory.get(reader, self.project, key))
                except MemoryNotFound:
                    assert not live
                    continue
                drawer = self.drawers[key, found.label]
                assert found.label == max(live, key=_rank)
                assert (found.version, found.value) == (
                    len(drawer.versions),
                    drawer.versions[-1][0],
                )


def _rank(label: Label) -> tuple[int, int, list[str]]:
    return label.level, len(label.compartments), sorted(label.compartments)


MemoryMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestMemory = MemoryMachine.TestCase
