"""The stories of a space: founded, renamed, taken out, ended."""

from dataclasses import replace

import pytest

from portico.guard.core.errors import (
    NotAuthenticated,
    NotConfirmed,
    NotPermitted,
    Overreach,
    SpaceNotFound,
)
from portico.guard.core.keys import ApiKey
from portico.guard.core.principals import Role, Scope
from portico.guard.core.spaces import Space
from portico.guard.keys import KeySpec
from portico.guard.spaces import SpaceSpec
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from tests.guard.room import Room


@pytest.fixture
async def home(room: Room) -> tuple[Principal, ApiKey]:
    """An installation, and who was there first."""
    made = await room.install_home(SpaceSpec(name="home", admin="root"))
    return await room.enters(made.key.key), made.key.key


@pytest.fixture
def root(home: tuple[Principal, ApiKey]) -> Principal:
    return home[0]


@pytest.fixture
async def founded(room: Room, root: Principal) -> tuple[Principal, Space]:
    """A second space, and its admin."""
    space, invitation = await room.found_space(root, SpaceSpec(name="acme", admin="bob"))
    guest = await room.enters(invitation.key)
    issued = await room.accept_invitation(guest, invitation.key.id)
    return await room.enters(issued.key), space


@pytest.mark.requirement("guard:spaces:found")
async def test_an_installation_begins_with_an_admin_who_may_found_spaces_and_see_its_figures(
    room: Room, root: Principal
) -> None:
    assert root.roles == {Role.ADMIN}
    assert root.may(Scope.SPACES_CREATE)
    assert root.may(Scope.METRICS_READ)
    assert root.clearance == Label(Level.RESTRICTED)
    assert (await room.show_space(root)).name == "home"


@pytest.mark.requirement("guard:spaces:found")
async def test_a_founded_space_is_its_admins_and_not_its_founders(
    room: Room, root: Principal, founded: tuple[Principal, Space]
) -> None:
    bob, acme = founded

    assert bob.roles == {Role.ADMIN}
    assert not bob.may(Scope.METRICS_READ)
    assert await room.show_space(bob, acme.id) == acme
    for ask in (
        room.show_space(root, acme.id),
        room.rename_space(root, acme.id, "mine"),
        room.export_space(root, acme.id),
        room.delete_space(root, acme.id, confirm="acme"),
        room.delete_space(replace(bob, space=root.space), acme.id, confirm="acme"),
    ):
        with pytest.raises(SpaceNotFound, match=str(acme.id)) as caught:
            await ask
        assert caught.value.space == str(acme.id)
    with pytest.raises(NotPermitted, match="spaces:create"):
        await room.found_space(bob, SpaceSpec(name="more", admin="eve"))
    assert await room.show_space(bob) == acme


@pytest.mark.requirement("telemetry:metrics:behind-a-key")
async def test_only_the_first_admin_makes_a_key_that_reads_the_figures_of_all_spaces(
    room: Room, root: Principal, founded: tuple[Principal, Space]
) -> None:
    wish = KeySpec(name="scraper", scopes=frozenset({Scope.METRICS_READ}))

    scraper = await room.enters((await room.issue_key(root, wish)).key)

    assert scraper.scopes == {Scope.METRICS_READ}
    with pytest.raises(Overreach, match="metrics:read"):
        await room.issue_key(founded[0], wish)


async def test_an_admin_renames_their_own_space(room: Room, root: Principal) -> None:
    renamed = await room.rename_space(root, root.space, "house")

    assert renamed == await room.show_space(root)
    assert renamed.name == "house"


async def test_a_member_only_looks(room: Room, ana: Principal) -> None:
    assert (await room.show_space(ana)).name == "home"
    for ask in (
        room.rename_space(ana, ana.space, "mine"),
        room.export_space(ana, ana.space),
        room.delete_space(ana, ana.space, confirm="home"),
    ):
        with pytest.raises(NotPermitted):
            await ask


@pytest.mark.requirement("guard:spaces:export")
@pytest.mark.usefixtures("founded")
async def test_an_export_holds_everything_of_the_space_and_nothing_that_proves_a_key(
    room: Room, home: tuple[Principal, ApiKey]
) -> None:
    root, key = home

    rows = [row async for row in await room.export_space(root, root.space)]

    tables = [*dict.fromkeys(row.table for row in rows)]
    assert tables == ["api_key", "audit_entry", "audit_head", "principal", "space"]
    assert {row.values["space_id"] for row in rows} == {str(root.space.value)}
    digest = room.world.keys[key.id].digest
    for row in rows:
        assert "digest" not in row.values
        assert key.secret not in repr(row)
        assert digest.hex() not in repr(row)


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_space_is_deleted_only_by_saying_its_name(room: Room, root: Principal) -> None:
    for confirm in ("", "Home", "acme", str(root.space)):
        with pytest.raises(NotConfirmed, match="'home'") as caught:
            await room.delete_space(root, root.space, confirm=confirm)
        assert caught.value.name == "home"

    assert (await room.show_space(root)).name == "home"
    assert room.leavings.cleared == []


@pytest.mark.requirement("guard:spaces:delete")
async def test_a_deleted_space_is_gone_with_its_people_and_keys_and_the_others_stay(
    room: Room, home: tuple[Principal, ApiKey], founded: tuple[Principal, Space]
) -> None:
    (root, key), (bob, acme) = home, founded
    bobs = await room.issue_key(bob, KeySpec(name="bob's"))

    await room.delete_space(bob, acme.id, confirm="acme")

    with pytest.raises(SpaceNotFound):
        await room.show_space(bob)
    with pytest.raises(NotAuthenticated):
        await room.enters(bobs.key)
    assert await room.enters(key) == root
    assert room.leavings.cleared == [acme.id]
