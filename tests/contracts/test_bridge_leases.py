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
from portico.bridge.core.lease import MOST_OF_ONE, Lease, LeaseId, LeaseWish
from portico.bridge.core.project import Project
from portico.engine.core.errors import KeyReused
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
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
    wish = LeaseWish(
        project=project.id, resource=resource, lasts=lasts, purpose="to mend it", wait=wait
    )
    return await doors.leases.take(caller, an_id(), wish)


async def queue(doors: Doors, caller: Principal, project: Project) -> list[tuple[str, str]]:
    _, waiting = await doors.leases.all(caller, project.id)
    return [(each.name, each.resource) for each in waiting]


async def test_what_is_taken_is_seen_by_all_and_held_against_all(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)

    lease = await take(doors, root, project)

    assert await doors.leases.all(ann, project.id) == ([lease], [])
    assert await doors.leases.get(ann, lease.id) == lease
    assert (lease.holder, lease.holder_name, lease.purpose) == (root.id, "root", "to mend it")
    assert lease.expires_at - lease.taken_at == HOUR
    for caller, who in ((ann, "root holds"), (root, "You hold")):
        with pytest.raises(LeaseHeld, match=who) as refused:
            await take(doors, caller, project, "src/a.py")
        assert refused.value.until == lease.expires_at
    assert await queue(doors, root, project) == []


async def test_what_has_no_name_in_common_is_free(doors: Doors) -> None:
    root = await cleared_root(doors)
    project, other = await a_project(doors, root), await a_project(doors, root, "gemini")
    await take(doors, root, project)

    await take(doors, root, project, "docs/*")
    await take(doors, root, other)

    assert len((await doors.leases.all(root, project.id))[0]) == 2


async def test_tokens_rise_whatever_becomes_of_leases(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)

    one = await take(doors, root, project)
    await doors.leases.release(root, one.id, one.token)
    two = await take(doors, root, project, lasts=OVER_AT_ONCE)
    three = await take(doors, root, project, "docs")

    assert 0 < one.token < two.token < three.token


async def test_the_same_wish_again_is_the_same_lease(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    id_, wish = an_id(), LeaseWish(project=project.id, resource="src")

    one = await doors.leases.take(root, id_, wish)

    assert await doors.leases.take(root, id_, wish) == one
    with pytest.raises(LeaseHeld):
        await doors.leases.take(ann, id_, wish)
    with pytest.raises(KeyReused):
        await doors.leases.take(root, id_, replace(wish, resource="docs"))


async def test_the_same_wish_for_something_else_is_refused_of_whoever_waits(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    await take(doors, root, project, "src")
    id_, wish = an_id(), LeaseWish(project=project.id, resource="src", wait=True)

    for _ in range(2):
        with pytest.raises(LeaseHeld):
            await doors.leases.take(ann, id_, wish)
    with pytest.raises(KeyReused):
        await doors.leases.take(ann, id_, replace(wish, resource="docs"))

    assert await queue(doors, root, project) == [("ann", "src")]


async def test_a_holder_who_wakes_too_late_is_refused(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    late = await take(doors, root, project, lasts=OVER_AT_ONCE)

    with pytest.raises(LeaseLost):
        await doors.leases.check(root, project.id, "src/a.py", late.token)
    now = await take(doors, ann, project)

    with pytest.raises(LeaseLost):
        await doors.leases.check(root, project.id, "src/a.py", late.token)
    with pytest.raises(LeaseLost):
        await doors.leases.renew(root, late.id, late.token, for_=HOUR)
    with pytest.raises(LeaseLost):
        await doors.leases.release(root, late.id, late.token)
    with pytest.raises(LeaseLost):
        await doors.leases.get(root, late.id)
    assert await doors.leases.check(root, project.id, "src/a.py", now.token) == now


async def test_a_token_is_good_for_what_it_was_given_for(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    lease = await take(doors, root, project, "src/*")

    assert await doors.leases.check(root, project.id, "src/*", lease.token) == lease
    for resource in ("docs/a", "src/deep/a", "src/**", "**"):
        with pytest.raises(LeaseLost):
            await doors.leases.check(root, project.id, resource, lease.token)
    for token in (lease.token - 1, lease.token + 1):
        with pytest.raises(LeaseLost):
            await doors.leases.check(root, project.id, "src/a", token)


async def test_it_is_renewed_and_released_by_its_holder_alone(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    lease = await take(doors, root, project)

    renewed = await doors.leases.renew(root, lease.id, lease.token, for_=2 * HOUR)

    assert renewed.expires_at > lease.expires_at
    assert replace(renewed, expires_at=lease.expires_at) == lease
    for caller, token in ((ann, lease.token), (root, lease.token + 1)):
        with pytest.raises(LeaseLost):
            await doors.leases.renew(caller, lease.id, token, for_=HOUR)
        with pytest.raises(LeaseLost):
            await doors.leases.release(caller, lease.id, token)
    await doors.leases.release(root, lease.id, lease.token)
    assert (await take(doors, ann, project)).holder == ann.id


async def test_first_come_first_served(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, ben = await joined(doors, root, "ann"), await joined(doors, root, "ben")
    project = await a_project(doors, root)
    lease = await take(doors, root, project, "src/a")
    for caller, resource in ((ann, "src/**"), (ben, "src/a"), (ann, "src/**")):
        with pytest.raises(LeaseHeld):
            await take(doors, caller, project, resource, wait=True)
    assert await queue(doors, root, project) == [("ann", "src/**"), ("ben", "src/a")]

    await doors.leases.release(root, lease.id, lease.token)

    for resource in ("src/a", "src/b"):
        with pytest.raises(LeaseHeld, match="ann waits for"):
            await take(doors, ben, project, resource)
    with pytest.raises(LeaseHeld, match="ann waits for"):
        await take(doors, root, project, "src/a")
    await take(doors, ben, project, "docs")
    mine = await take(doors, ann, project, "src/**")
    assert await queue(doors, root, project) == [("ben", "src/a")]
    await doors.leases.release(ann, mine.id, mine.token)
    assert (await take(doors, ben, project, "src/a")).holder == ben.id
    assert await queue(doors, root, project) == []


async def test_one_has_only_so_many(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, project = await joined(doors, root, "ann"), await a_project(doors, root)
    for number in range(MOST_OF_ONE):
        await take(doors, root, project, f"file-{number}")

    with pytest.raises(TooManyLeases):
        await take(doors, root, project, "one-more")

    await take(doors, ann, project, "one-more")


async def test_of_many_who_want_the_same_one_has_it(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    people = [await joined(doors, root, f"agent-{number}") for number in range(12)]

    async def attempt(caller: Principal, number: int) -> Lease | None:
        try:
            return await take(doors, caller, project, f"src/{'*' * (number % 3)}", wait=True)
        except LeaseHeld:
            return None

    got = await asyncio.gather(*(attempt(each, n) for n, each in enumerate(people)))

    [lease] = [each for each in got if each is not None]
    assert (await doors.leases.all(root, project.id))[0] == [lease]
    assert len(await queue(doors, root, project)) == 11


async def test_tokens_of_many_at_once_are_all_different(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)

    got = await asyncio.gather(*(take(doors, root, project, f"f{n}") for n in range(15)))

    assert len({lease.token for lease in got}) == 15


async def test_from_a_higher_task_nothing_is_taken_renewed_or_released(doors: Doors) -> None:
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    lease = await take(doors, root, project)
    await doors.contexts.rise(root, FINANCE, untrusted=False)

    with pytest.raises(WriteDown):
        await take(doors, root, project, "docs")
    with pytest.raises(WriteDown):
        await doors.leases.renew(root, lease.id, lease.token, for_=HOUR)
    with pytest.raises(WriteDown):
        await doors.leases.release(root, lease.id, lease.token)

    assert await doors.leases.all(root, project.id) == ([lease], [])


async def test_in_a_project_that_one_cannot_see_there_are_no_leases(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    project = await a_project(doors, root, label=FINANCE)
    lease = await take(doors, root, project)

    for caller in (replace(root, clearance=TEAM), other):
        with pytest.raises(ProjectNotFound):
            await take(doors, caller, project)
        with pytest.raises(ProjectNotFound):
            await doors.leases.all(caller, project.id)
        with pytest.raises(ProjectNotFound):
            await doors.leases.check(caller, project.id, "src/a", lease.token)
        with pytest.raises(LeaseLost):
            await doors.leases.get(caller, lease.id)
        with pytest.raises(LeaseLost):
            await doors.leases.renew(caller, lease.id, lease.token, for_=HOUR)
        with pytest.raises(LeaseLost):
            await doors.leases.release(caller, lease.id, lease.token)
