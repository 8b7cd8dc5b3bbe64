"""What everybody who knows people by name keeps to."""

from dataclasses import replace

from portico.kernel.label import PUBLIC
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import an_identity
from tests.contracts.bridge_people import FINANCE, TEAM, cleared_root
from tests.contracts.doors import Doors


async def test_those_who_are_there_are_found_by_their_names(doors: Doors) -> None:
    root = await cleared_root(doors)
    ann, bob = await doors.joined(root, "ann"), await doors.joined(root, "bob")

    found = await doors.people.named(root, ["ann", "bob", "nobody", "Ann", "", "a\0nn"])

    assert found == {"ann": ann.id, "bob": bob.id}
    assert await doors.people.named(root, []) == {}


async def test_those_of_another_space_are_nobody(doors: Doors) -> None:
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    await doors.joined(root, "ann")

    assert await doors.people.named(other, ["ann"]) == {}


async def test_an_agent_that_may_read_more_is_known_to_itself_alone(doors: Doors) -> None:
    root = await cleared_root(doors)
    space = await doors.spaces.get(root)
    spy = replace(an_identity("spy", space=space), kind=PrincipalKind.AGENT, clearance=FINANCE)
    await doors.principals.add(root, spy)
    low = replace(root, clearance=TEAM)

    assert await doors.people.named(root, ["spy"]) == {"spy": spy.id}
    assert await doors.people.named(low, ["spy", "root"]) == {"root": root.id}
    assert await doors.people.named(replace(low, id=spy.id, clearance=PUBLIC), ["spy"]) == {
        "spy": spy.id
    }
