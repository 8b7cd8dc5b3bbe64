"""The law of memory, whatever is done: it is as if each label had a drawer of its own."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from portico.bridge.core.errors import MemoryChanged, MemoryNotFound
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.project import Project, ProjectId
from portico.kernel.label import PUBLIC, Label
from portico.testing.bridge_memory import MemoryMemory
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from portico.testing.world import MemoryWorld
from tests.bridge.test_lease_law import done

LABELS = [PUBLIC, *map(Label.parse, ("team", "team+law", "team+finance", "restricted+law+finance"))]
ANN = a_person("ann", clearance=LABELS[-1])


@dataclass
class Drawer:
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
        self.drawers = {(key, label): Drawer() for key in "ab" for label in LABELS}
        world = MemoryWorld()
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
