"""The stories of a space: founded, renamed, taken out, ended."""

from dataclasses import replace

import pytest

from portico.guard.core.api_key import ApiKey
from portico.guard.core.errors import (
    NotAuthenticated,
    NotConfirmed,
    NotPermitted,
    Overreach,
    SpaceNotFound,
)
from portico.guard.core.roles import Role, Scope
from portico.guard.core.space import Space
from portico.guard.issue_key import KeyWish
from portico.guard.manage_spaces import SpaceWish
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from tests.guard.room import Room


async def installed(room: Room) -> tuple[Principal, ApiKey]:
    made = await room.install_home(SpaceWish(name="home", admin="root"))
    return await room.enters(made.key.key), made.key.key


async def founded(room: Room, founder: Principal) -> tuple[Principal, Space]:
    space, invitation = await room.found_space(founder, SpaceWish(name="acme", admin="bob"))
    guest = await room.enters(invitation.key)
    issued = await room.accept_invitation(guest, invitation.key.id)
    return await room.enters(issued.key), space


@pytest.mark.requirement("guard:spaces:found")
async def test_an_installation_begins_with_an_admin_who_may_found_spaces_and_see_its_figures() -> (
    None
):
    room = Room()

    root, _ = await installed(room)

    assert root.roles == {Role.ADMIN}
    assert root.may(Scope.SPACES_CREATE)
    assert root.may(Scope.METRICS_READ)
    assert root.clearance == Label(Level.RESTRICTED)
    assert (await room.show_space(root)).name == "home"


@pytest.mark.requirement("guard:spaces:found")
async def test_a_founded_space_is_its_admins_and_not_its_founders() -> None:
    room = Room()
    root, _ = await installed(room)

    bob, acme = await founded(room, root)

    assert bob.roles == {Role.ADMIN}
    assert not bob.may(Scope.SPACES_CREATE)
    assert not bob.may(Scope.METRICS_READ)
    assert await room.show_space(bob, acme.id) == acme
    with pytest.raises(SpaceNotFound, match=str(acme.id)) as caught:
        await room.show_space(root, acme.id)
    assert caught.value.space == str(acme.id)


async def test_an_admin_of_a_founded_space_founds_no_more() -> None:
    room = Room()
    root, _ = await installed(room)
    bob, _ = await founded(room, root)

    with pytest.raises(NotPermitted, match="spaces:create"):
        await room.found_space(bob, SpaceWish(name="more", admin="eve"))


@pytest.mark.requirement("telemetry:metrics:behind-a-key")
async def test_only_the_first_admin_makes_a_key_that_reads_the_figures_of_all_spaces() -> None:
    room = Room()
    root, _ = await installed(room)
    bob, _ = await founded(room, root)
    wish = KeyWish(name="scraper", scopes=frozenset({Scope.METRICS_READ}))

    scraper = await room.enters((await room.issue_key(root, wish)).key)

    assert scraper.scopes == {Scope.METRICS_READ}
    with pytest.raises(Overreach, match="metrics:read"):
        await room.issue_key(bob, wish)


async def test_an_admin_renames_their_own_space_and_no_other() -> None:
    room = Room()
    root, _ = await installed(room)
    _, acme = await founded(room, root)

    renamed = await room.rename_space(root, root.space, "house")

    assert renamed == await room.show_space(root)
    assert renamed.name == "house"
    with pytest.raises(SpaceNotFound):
        await room.rename_space(root, acme.id, "mine")


async def test_a_member_only_looks() -> None:
    room = Room()
    ana = room.person("ana")

    assert (await room.show_space(ana)).name == "home"
    for ask in (
        room.rename_space(ana, ana.space, "mine"),
        room.export_space(ana, ana.space),
        room.delete_space(ana, ana.space, confirm="home"),
    ):
        with pytest.raises(NotPermitted):
            await ask


@pytest.mark.requirement("guard:spaces:export")
async def test_an_export_holds_everything_of_the_space_and_nothing_that_proves_a_key() -> None:
    room = Room()
    root, key = await installed(room)
    await founded(room, root)

    rows = [row async for row in await room.export_space(root, root.space)]

    tables = [*dict.fromkeys(row.table for row in rows)]
    assert tables == ["api_key", "audit_entry", "audit_head", "principal", "space"]
    assert {row.values["space_id"] for row in rows} == {str(root.space.value)}
    digest = room.world.keys[key.id].digest
    for row in rows:
        assert "digest" not in row.values
        assert key.secret not in repr(row)
        assert digest.hex() not in repr(row)


async def test_only_ones_own_space_is_exported() -> None:
    room = Room()
    root, _ = await installed(room)
    _, acme = await founded(room, root)

    with pytest.raises(SpaceNotFound):
        await room.export_space(root, acme.id)


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_is_deleted_only_by_saying_its_name() -> None:
    room = Room()
    root, _ = await installed(room)

    for confirm in ("", "Home", "acme", str(root.space)):
        with pytest.raises(NotConfirmed, match="'home'") as caught:
            await room.delete_space(root, root.space, confirm=confirm)
        assert caught.value.name == "home"

    assert (await room.show_space(root)).name == "home"
    assert room.leavings.cleared == []


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_deleted_space_is_gone_with_its_people_and_keys_and_the_others_stay() -> None:
    room = Room()
    root, key = await installed(room)
    bob, acme = await founded(room, root)
    bobs = await room.issue_key(bob, KeyWish(name="bob's"))

    await room.delete_space(bob, acme.id, confirm="acme")

    with pytest.raises(SpaceNotFound):
        await room.show_space(bob)
    with pytest.raises(NotAuthenticated):
        await room.enters(bobs.key)
    assert await room.enters(key) == root
    assert room.leavings.cleared == [acme.id]


async def test_another_space_is_not_deleted() -> None:
    room = Room()
    root, _ = await installed(room)
    bob, acme = await founded(room, root)

    with pytest.raises(SpaceNotFound):
        await room.delete_space(root, acme.id, confirm="acme")
    with pytest.raises(SpaceNotFound):
        await room.delete_space(replace(bob, space=root.space), acme.id, confirm="acme")

    assert await room.show_space(bob) == acme
