"""Leases: who holds what is known to all in the project, and told by nobody who has read more."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.bridge.core.errors import (
    BadBridgeInput,
    LeaseHeld,
    LeaseLost,
    ProjectNotFound,
    WriteDown,
)
from portico.bridge.core.lease import LONGEST, USUAL, WAITS_FOR, Lease, LeaseWish
from portico.engine.core.errors import KeyReused
from portico.kernel.principal import Principal, PrincipalKind
from tests.bridge.talk_room import SECRET, TEAM
from tests.bridge.things_room import Scene, a_scene

HOUR = timedelta(hours=1)


async def take(
    scene: Scene, who: Principal, resource: str = "src/**", *, wait: bool = False
) -> Lease:
    wish = LeaseWish(project=scene.project.id, resource=resource, wait=wait)
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


async def test_the_same_key_is_the_same_lease_and_not_for_something_else_but_for_another_project(
    scene: Scene,
) -> None:
    other = await scene.room.a_project(scene.low, TEAM, "gemini")
    wish = LeaseWish(project=scene.project.id, resource="src", key="one")

    lease = await scene.room.take_lease(scene.low, wish)

    assert await scene.room.take_lease(scene.low, wish) == lease
    with pytest.raises(KeyReused, match="'one'"):
        await scene.room.take_lease(scene.low, replace(wish, resource="docs"))
    there = await scene.room.take_lease(scene.low, replace(wish, project=other.id))
    assert there.id != lease.id


async def test_every_flaw_is_told(scene: Scene) -> None:
    good = LeaseWish(project=scene.project.id, resource="src")
    for field, wish in [
        *[("resource", replace(good, resource=name)) for name in ("", "a" * 301, "a\nb")],
        ("purpose", replace(good, purpose="p" * 301)),
        *[("lasts", replace(good, lasts=lasts)) for lasts in (timedelta(0), LONGEST + HOUR)],
    ]:
        with pytest.raises(BadBridgeInput) as refused:
            await scene.room.take_lease(scene.low, wish)
        assert [flaw.field for flaw in refused.value.flaws] == [field]

    lease = await take(scene, scene.low)
    with pytest.raises(BadBridgeInput):
        await scene.room.renew_lease(scene.low, lease.id, lease.token, for_=LONGEST * 2)
    with pytest.raises(BadBridgeInput):
        await scene.room.check_lease(scene.low, scene.project.id, "", lease.token)
