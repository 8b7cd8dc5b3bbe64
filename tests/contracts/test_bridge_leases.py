"""What every store of leases keeps to: one holder at a time, first come, first served."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.errors import (
    LeaseHeld,
    LeaseLost,
    ProjectNotFound,
    TooManyLeases,
    WriteDown,
)
from portico.bridge.core.leases import MOST_OF_ONE, Lease, LeaseId, LeaseSpec
from portico.bridge.core.projects import Project
from portico.engine.core.errors import KeyReused
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root, joined
from tests.contracts.doors import Doors

HOUR = timedelta(hours=1)
OVER_AT_ONCE = timedelta(microseconds=1)
_ids = SeededEntropy("leases")


def an_id() -> LeaseId:
    return LeaseId.mint(BEGINNING, _ids)


async def take(
    doors: Doors,
    caller: Principal,
    project: Project,
    resource: str = "src/**",
    *,
    lasts: timedelta = HOUR,
    wait: bool = False,
) -> Lease:
    wish = LeaseSpec(
        project=project.id, resource=resource, lasts=lasts, purpose="to mend it", wait=wait
    )
    return await doors.leases.take(caller, an_id(), wish)


async def queue(doors: Doors, caller: Principal, project: Project) -> list[tuple[str, str]]:
    _, waiting = await doors.leases.all(caller, project.id)
    return [(each.name, each.resource) for each in waiting]


async def test_what_is_taken_is_seen_by_all_and_held_against_all(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    """But for what has no name in common with it."""
    lease = await take(doors, admin, project)

    assert await doors.leases.all(low, project.id) == ([lease], [])
    assert await doors.leases.get(low, lease.id) == lease
    assert (lease.holder, lease.holder_name, lease.purpose) == (admin.id, "root", "to mend it")
    assert lease.expires_at - lease.taken_at == HOUR
    for caller, who in ((low, "root holds"), (admin, "You hold")):
        with pytest.raises(LeaseHeld, match=who) as refused:
            await take(doors, caller, project, "src/a.py")
        assert refused.value.until == lease.expires_at
    assert await queue(doors, admin, project) == []
    await take(doors, admin, project, "docs/*")
    await take(doors, admin, await a_project(doors, admin, "gemini"))
    assert len((await doors.leases.all(admin, project.id))[0]) == 2


async def test_tokens_rise_whatever_becomes_of_leases(
    doors: Doors, admin: Principal, project: Project
) -> None:
    one = await take(doors, admin, project)
    await doors.leases.release(admin, one.id, one.token)
    two = await take(doors, admin, project, lasts=OVER_AT_ONCE)
    three = await take(doors, admin, project, "docs")
    many = await asyncio.gather(*(take(doors, admin, project, f"f{n}") for n in range(15)))

    assert 0 < one.token < two.token < three.token < min(lease.token for lease in many)
    assert len({lease.token for lease in many}) == 15


async def test_the_same_wish_again_is_the_same_lease_or_the_same_place_in_the_queue(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    id_, wish = an_id(), LeaseSpec(project=project.id, resource="src")
    one = await doors.leases.take(admin, id_, wish)
    assert await doors.leases.take(admin, id_, wish) == one
    with pytest.raises(LeaseHeld):
        await doors.leases.take(low, id_, wish)
    with pytest.raises(KeyReused):
        await doors.leases.take(admin, id_, replace(wish, resource="docs"))

    waits, wish = an_id(), replace(wish, wait=True)
    for _ in range(2):
        with pytest.raises(LeaseHeld):
            await doors.leases.take(low, waits, wish)
    with pytest.raises(KeyReused):
        await doors.leases.take(low, waits, replace(wish, resource="docs"))
    assert await queue(doors, admin, project) == [("low", "src")]


async def test_a_holder_who_wakes_too_late_is_refused(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    late = await take(doors, admin, project, lasts=OVER_AT_ONCE)

    with pytest.raises(LeaseLost):
        await doors.leases.check(admin, project.id, "src/a.py", late.token)
    now = await take(doors, low, project)

    for refused in (
        doors.leases.check(admin, project.id, "src/a.py", late.token),
        doors.leases.renew(admin, late.id, late.token, for_=HOUR),
        doors.leases.release(admin, late.id, late.token),
        doors.leases.get(admin, late.id),
    ):
        with pytest.raises(LeaseLost):
            await refused
    assert await doors.leases.check(admin, project.id, "src/a.py", now.token) == now


async def test_a_token_is_good_for_what_it_was_given_for(
    doors: Doors, admin: Principal, project: Project
) -> None:
    lease = await take(doors, admin, project, "src/*")
    token = lease.token

    assert await doors.leases.check(admin, project.id, "src/*", token) == lease
    others = [(resource, token) for resource in ("docs/a", "src/deep/a", "src/**", "**")]
    for resource, its in (*others, ("src/a", token - 1), ("src/a", token + 1)):
        with pytest.raises(LeaseLost):
            await doors.leases.check(admin, project.id, resource, its)


async def test_it_is_renewed_and_released_by_its_holder_alone(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    lease = await take(doors, admin, project)

    renewed = await doors.leases.renew(admin, lease.id, lease.token, for_=2 * HOUR)

    assert renewed.expires_at > lease.expires_at
    assert replace(renewed, expires_at=lease.expires_at) == lease
    for caller, token in ((low, lease.token), (admin, lease.token + 1)):
        with pytest.raises(LeaseLost):
            await doors.leases.renew(caller, lease.id, token, for_=HOUR)
        with pytest.raises(LeaseLost):
            await doors.leases.release(caller, lease.id, token)
    await doors.leases.release(admin, lease.id, lease.token)
    assert (await take(doors, low, project)).holder == low.id


async def test_first_come_first_served(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    ben = await joined(doors, admin, "ben")
    lease = await take(doors, admin, project, "src/a")
    for caller, resource in ((low, "src/**"), (ben, "src/a"), (low, "src/**")):
        with pytest.raises(LeaseHeld):
            await take(doors, caller, project, resource, wait=True)
    assert await queue(doors, admin, project) == [("low", "src/**"), ("ben", "src/a")]

    await doors.leases.release(admin, lease.id, lease.token)

    for caller, resource in ((ben, "src/a"), (ben, "src/b"), (admin, "src/a")):
        with pytest.raises(LeaseHeld, match="low waits for"):
            await take(doors, caller, project, resource)
    await take(doors, ben, project, "docs")
    mine = await take(doors, low, project, "src/**")
    assert await queue(doors, admin, project) == [("ben", "src/a")]
    await doors.leases.release(low, mine.id, mine.token)
    assert (await take(doors, ben, project, "src/a")).holder == ben.id
    assert await queue(doors, admin, project) == []


async def test_one_has_only_so_many(
    doors: Doors, admin: Principal, low: Principal, project: Project
) -> None:
    for number in range(MOST_OF_ONE):
        await take(doors, admin, project, f"file-{number}")

    with pytest.raises(TooManyLeases):
        await take(doors, admin, project, "one-more")

    await take(doors, low, project, "one-more")


async def test_of_many_who_want_the_same_one_has_it(
    doors: Doors, admin: Principal, project: Project
) -> None:
    people = [await joined(doors, admin, f"agent-{number}") for number in range(12)]

    async def attempt(caller: Principal, number: int) -> Lease | None:
        try:
            return await take(doors, caller, project, f"src/{'*' * (number % 3)}", wait=True)
        except LeaseHeld:
            return None

    got = await asyncio.gather(*(attempt(each, n) for n, each in enumerate(people)))

    [lease] = [each for each in got if each is not None]
    assert (await doors.leases.all(admin, project.id))[0] == [lease]
    assert len(await queue(doors, admin, project)) == 11


async def test_from_a_higher_task_nothing_is_taken_renewed_or_released(
    doors: Doors, admin: Principal, project: Project
) -> None:
    lease = await take(doors, admin, project)
    await doors.contexts.raise_taint(admin, FINANCE, untrusted=False)

    for refused in (
        take(doors, admin, project, "docs"),
        doors.leases.renew(admin, lease.id, lease.token, for_=HOUR),
        doors.leases.release(admin, lease.id, lease.token),
    ):
        with pytest.raises(WriteDown):
            await refused

    assert await doors.leases.all(admin, project.id) == ([lease], [])


async def test_in_a_project_that_one_cannot_see_there_are_no_leases(
    doors: Doors, admin: Principal
) -> None:
    leases, other = doors.leases, await cleared_root(doors, "acme")
    project = await a_project(doors, admin, label=FINANCE)
    lease = await take(doors, admin, project)

    for caller in (replace(admin, clearance=TEAM), other):
        for refused in (
            take(doors, caller, project),
            leases.all(caller, project.id),
            leases.check(caller, project.id, "src/a", lease.token),
        ):
            with pytest.raises(ProjectNotFound):
                await refused
        for lost in (
            leases.get(caller, lease.id),
            leases.renew(caller, lease.id, lease.token, for_=HOUR),
            leases.release(caller, lease.id, lease.token),
        ):
            with pytest.raises(LeaseLost):
                await lost
