"""Leases: who holds what is known to all in the project; never two who hold the same."""

from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from portico.bridge.core.errors import (
    InvalidBridgeInput,
    LeaseHeld,
    LeaseLost,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.leases import LONGEST, USUAL, WAITS_FOR, Lease, LeaseId, LeaseSpec
from portico.bridge.core.projects import Project, ProjectId
from portico.engine.core.errors import KeyReused
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_memory import MemoryLeases
from portico.testing.guard import a_person
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock
from tests.bridge.core.names import stands_for
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.things_room import Scene, a_scene

HOUR = timedelta(hours=1)


async def take(
    scene: Scene, who: Principal, resource: str = "src/**", *, wait: bool = False
) -> Lease:
    wish = LeaseSpec(project=scene.project.id, resource=resource, wait=wait)
    return await scene.room.take_lease(who, wish)


async def test_one_holds_it_and_the_other_is_told_who(scene: Scene) -> None:
    lease = await take(scene, scene.low)

    with pytest.raises(LeaseHeld, match="low holds"):
        await take(scene, scene.high, "src/a.py")
    with pytest.raises(
        LeaseHeld, match=r"You hold 'src/\*\*' until [0-9-]{10} [0-9:]{8} UTC"
    ) as own:
        await take(scene, scene.low, "src/a.py")
    assert own.value.title == "You have it already"
    assert lease.expires_at - lease.taken_at == USUAL
    assert await scene.room.list_leases(scene.high, scene.project.id) == ([lease], [])
    assert await scene.room.mark(scene.high) == TEAM


async def test_a_paused_holder_that_wakes_after_expiry_is_refused_by_its_token() -> None:
    scene = await a_scene()
    paused = await take(scene, scene.low)

    scene.room.clock.turn(USUAL)

    with pytest.raises(LeaseLost):
        await scene.room.check_lease(scene.low, scene.project.id, "src/a.py", paused.token)
    now = await take(scene, scene.high)
    with pytest.raises(LeaseLost):
        await scene.room.check_lease(scene.low, scene.project.id, "src/a.py", paused.token)
    with pytest.raises(LeaseLost):
        await scene.room.renew_lease(scene.low, paused.id, paused.token, for_=HOUR)
    with pytest.raises(LeaseLost):
        await scene.room.release_lease(scene.low, paused.id, paused.token)
    assert now.token > paused.token
    checked = await scene.room.check_lease(scene.low, scene.project.id, "src/a.py", now.token)
    assert checked == now


async def test_it_is_renewed_and_released(scene: Scene) -> None:
    lease = await take(scene, scene.low)

    renewed = await scene.room.renew_lease(scene.low, lease.id, lease.token, for_=HOUR)
    await scene.room.release_lease(scene.low, lease.id, lease.token)

    assert renewed.expires_at > lease.expires_at
    assert await scene.room.list_leases(scene.low, scene.project.id) == ([], [])


async def test_who_waits_comes_next_as_long_as_they_wait(scene: Scene) -> None:
    lease = await take(scene, scene.low)
    with pytest.raises(LeaseHeld):
        await take(scene, scene.high, wait=True)
    await scene.room.release_lease(scene.low, lease.id, lease.token)

    _, [waiting] = await scene.room.list_leases(scene.low, scene.project.id)
    with pytest.raises(LeaseHeld, match="high waits for"):
        await take(scene, scene.fresh)
    scene.room.clock.turn(WAITS_FOR)

    assert (waiting.principal, waiting.resource) == (scene.high.id, "src/**")
    assert (await take(scene, scene.fresh)).holder == scene.fresh.id


async def test_who_has_read_more_takes_nothing_and_keeps_nothing(scene: Scene) -> None:
    lease = await take(scene, scene.high)
    await scene.room.marks.read(scene.high, [SECRET])

    with pytest.raises(WriteDown):
        await take(scene, scene.high, "docs")
    with pytest.raises(WriteDown):
        await scene.room.renew_lease(scene.high, lease.id, lease.token, for_=HOUR)
    with pytest.raises(WriteDown):
        await scene.room.release_lease(scene.high, lease.id, lease.token)
    assert (await scene.room.list_leases(scene.high, scene.project.id))[0] == [lease]


async def test_of_a_secret_project_no_lease_is_seen() -> None:
    scene = await a_scene(SECRET)
    lease = await take(scene, scene.high)

    with pytest.raises(ProjectNotFound):
        await take(scene, scene.low)
    with pytest.raises(ProjectNotFound):
        await scene.room.list_leases(scene.low, scene.project.id)
    with pytest.raises(ProjectNotFound):
        await scene.room.check_lease(scene.low, scene.project.id, "src/a", lease.token)
    with pytest.raises(LeaseLost):
        await scene.room.renew_lease(scene.low, lease.id, lease.token, for_=HOUR)
    await scene.room.check_lease(scene.fresh, scene.project.id, "src/a", lease.token)
    assert await scene.room.mark(scene.fresh) == SECRET


async def test_a_person_holds_it_in_front_of_the_project(scene: Scene) -> None:
    person = scene.room.enters("pat", kind=PrincipalKind.PERSON)
    await scene.room.marks.read(person, [SECRET])

    lease = await take(scene, person)
    await scene.room.renew_lease(person, lease.id, lease.token, for_=HOUR)
    await scene.room.release_lease(person, lease.id, lease.token)

    assert await scene.room.mark(person, scene.project.id) == TEAM


async def test_the_same_key_is_the_same_lease(scene: Scene) -> None:
    other = await scene.room.a_project(scene.low, TEAM, "gemini")
    wish = LeaseSpec(project=scene.project.id, resource="src", key="one")

    lease = await scene.room.take_lease(scene.low, wish)

    assert await scene.room.take_lease(scene.low, wish) == lease
    with pytest.raises(KeyReused, match="'one'"):
        await scene.room.take_lease(scene.low, replace(wish, resource="docs"))
    there = await scene.room.take_lease(scene.low, replace(wish, project=other.id))
    assert there.id != lease.id


async def test_every_flaw_is_told(scene: Scene) -> None:
    good = LeaseSpec(project=scene.project.id, resource="src")
    for named, wish in [
        *[("resource", replace(good, resource=name)) for name in ("", "a" * 301, "a\nb")],
        ("purpose", replace(good, purpose="p" * 301)),
        *[("lasts", replace(good, lasts=lasts)) for lasts in (timedelta(0), LONGEST + HOUR)],
    ]:
        with pytest.raises(InvalidBridgeInput) as refused:
            await scene.room.take_lease(scene.low, wish)
        assert [flaw.field for flaw in refused.value.field_errors] == [named]

    lease = await take(scene, scene.low)
    with pytest.raises(InvalidBridgeInput):
        await scene.room.renew_lease(scene.low, lease.id, lease.token, for_=LONGEST * 2)
    with pytest.raises(InvalidBridgeInput):
        await scene.room.check_lease(scene.low, scene.project.id, "", lease.token)


T = TypeVar("T")

RESOURCES = ["a", "b", "*", "a*", "*b", "a/b", "a/*", "a/**", "*/b", "**", "b/*"]
PEOPLE = {name: a_person(name) for name in ("ann", "ben", "cem")}
ANN = PEOPLE["ann"]
NAMED = st.sampled_from([*PEOPLE])
NUMBERS = st.integers(0, 99)
TIMES = st.sampled_from([1, 30, 90, 200]).map(lambda seconds: timedelta(seconds=seconds))


@cache
def common(one: str, other: str) -> bool:
    return bool(stands_for(one) & stands_for(other))


@dataclass
class Wish:
    who: Principal
    resource: str
    until: datetime


@dataclass
class Given:
    lease: Lease
    until: datetime
    released: bool = False


@dataclass
class Journal:
    """What a guard of the resources would have written down, one by one."""

    given: list[Given] = field(default_factory=list)
    queue: list[Wish] = field(default_factory=list)

    def live(self, now: datetime) -> list[Given]:
        return [each for each in self.given if not each.released and now < each.until]

    def waiting(self, now: datetime) -> list[Wish]:
        return [each for each in self.queue if now < each.until]

    def free(self, who: Principal, resource: str, now: datetime) -> bool:
        held = any(common(resource, each.lease.resource) for each in self.live(now))
        for wish in self.waiting(now):
            if (wish.who, wish.resource) == (who, resource):
                break
            if wish.who != who and common(resource, wish.resource):
                return False
        return not held

    def waits(self, who: Principal, resource: str, now: datetime) -> None:
        for wish in self.waiting(now):
            if (wish.who, wish.resource) == (who, resource):
                wish.until = now + WAITS_FOR
                return
        self.queue.append(Wish(who, resource, now + WAITS_FOR))

    def served(self, who: Principal, resource: str) -> None:
        self.queue = [wish for wish in self.queue if (wish.who, wish.resource) != (who, resource)]


def done(doing: Coroutine[Any, Any, T]) -> T:
    """In memory nobody waits for anything, so no loop is needed."""
    try:
        doing.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("it waited")


class LeaseMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = BEGINNING
        self.clock = TickingClock(step=timedelta(0))
        self.ids = SeededEntropy("leases")
        self.journal = Journal()
        world = InMemoryStore()
        self.leases = MemoryLeases(world, self.clock)
        self.project = Project(
            id=ProjectId.mint(BEGINNING, self.ids),
            name="p",
            label=PUBLIC,
            made_by=ANN.id,
            made_at=BEGINNING,
            active_at=BEGINNING,
        )
        world.projects[ANN.space, self.project.id] = self.project

    @rule(by=TIMES)
    def time_goes_on(self, by: timedelta) -> None:
        self.clock.turn(by)
        self.now += by

    @rule(
        name=NAMED,
        resource=st.sampled_from(RESOURCES),
        lasts=TIMES,
        wait=st.booleans(),
    )
    def take(self, name: str, resource: str, lasts: timedelta, wait: bool) -> None:
        wish = LeaseSpec(project=self.project.id, resource=resource, lasts=lasts, wait=wait)
        who = PEOPLE[name]
        free = self.journal.free(who, resource, self.now)
        try:
            lease = done(self.leases.take(who, LeaseId.mint(self.now, self.ids), wish))
        except LeaseHeld:
            assert not free
            if wait:
                self.journal.waits(who, resource, self.now)
            return
        assert free
        assert all(lease.token > before.lease.token for before in self.journal.given)
        self.journal.served(who, resource)
        self.journal.given.append(Given(lease, self.now + lasts))

    @precondition(lambda self: self.journal.given)
    @rule(number=NUMBERS, name=NAMED, lasts=TIMES)
    def renew(self, number: int, name: str, lasts: timedelta) -> None:
        one = self.journal.given[number % len(self.journal.given)]
        may = one in self.journal.live(self.now) and one.lease.holder == PEOPLE[name].id
        try:
            done(self.leases.renew(PEOPLE[name], one.lease.id, one.lease.token, for_=lasts))
        except LeaseLost:
            assert not may
            return
        assert may
        one.until = self.now + lasts

    @precondition(lambda self: self.journal.given)
    @rule(number=NUMBERS, name=NAMED)
    def release(self, number: int, name: str) -> None:
        one = self.journal.given[number % len(self.journal.given)]
        may = one in self.journal.live(self.now) and one.lease.holder == PEOPLE[name].id
        try:
            done(self.leases.release(PEOPLE[name], one.lease.id, one.lease.token))
        except LeaseLost:
            assert not may
            return
        assert may
        one.released = True

    @precondition(lambda self: self.journal.given)
    @rule(number=NUMBERS, name=st.sampled_from(["a", "b", "a/b", "b/a", "ab"]))
    def guard(self, number: int, name: str) -> None:
        one = self.journal.given[number % len(self.journal.given)]
        good = one in self.journal.live(self.now) and name in stands_for(one.lease.resource)
        try:
            done(self.leases.check(ANN, self.project.id, name, one.lease.token))
        except LeaseLost:
            assert not good
            return
        assert good

    @invariant()
    def nothing_is_held_twice(self) -> None:
        held, queue = done(self.leases.all(ANN, self.project.id))
        for place, one in enumerate(held):
            assert not any(common(one.resource, other.resource) for other in held[:place])
        live = [replace(each.lease, expires_at=each.until) for each in self.journal.live(self.now)]
        assert held == live
        assert [(each.principal, each.resource) for each in queue] == [
            (each.who.id, each.resource) for each in self.journal.waiting(self.now)
        ]


LeaseMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestLeases = LeaseMachine.TestCase
