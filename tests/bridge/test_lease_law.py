"""The law of leases, whatever is done: never two who hold the same, and tokens only rise."""

from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from portico.bridge.core.errors import LeaseHeld, LeaseLost
from portico.bridge.core.lease import WAITS_FOR, Lease, LeaseId, LeaseWish
from portico.bridge.core.project import Project, ProjectId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.bridge_leases import MemoryLeases
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from portico.testing.world import MemoryWorld
from tests.bridge.core.names import stands_for

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
        world = MemoryWorld()
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
        wish = LeaseWish(project=self.project.id, resource=resource, lasts=lasts, wait=wait)
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
