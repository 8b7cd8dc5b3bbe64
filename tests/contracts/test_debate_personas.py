"""What every book of personas keeps to: all of a space read them, and nothing secret is in them."""

import pytest

from portico.bridge.core.errors import WriteDown
from portico.debate.core.debaters import Persona
from portico.debate.core.errors import PersonaNotFound
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING
from tests.contracts.bridge_people import TEAM, cleared_root, joined
from tests.contracts.doors import Doors


def a_persona(name: str, instructions: str = "Doubt it.") -> Persona:
    return Persona(name=name, instructions=instructions, specialist=True, changed_at=BEGINNING)


async def test_personas_are_given_by_name_as_they_were_put_last(doors: Doors) -> None:
    admin = await cleared_root(doors)
    low = await joined(doors, admin, "low", PUBLIC)

    for persona in (a_persona("zoe"), a_persona("Adam"), a_persona("zoe", "Believe it.")):
        await doors.personas.put(admin, persona)

    assert await doors.personas.all(low) == [a_persona("Adam"), a_persona("zoe", "Believe it.")]


async def test_a_persona_that_is_removed_is_gone(doors: Doors, admin: Principal) -> None:
    await doors.personas.put(admin, a_persona("zoe"))

    await doors.personas.remove(admin, "zoe")

    assert await doors.personas.all(admin) == []
    with pytest.raises(PersonaNotFound):
        await doors.personas.remove(admin, "zoe")


async def test_a_task_that_has_read_something_changes_no_persona(doors: Doors) -> None:
    admin = await cleared_root(doors)
    await doors.personas.put(admin, a_persona("zoe"))
    await doors.contexts.raise_taint(admin, TEAM, untrusted=False)

    with pytest.raises(WriteDown):
        await doors.personas.put(admin, a_persona("zoe", "It is in the safe."))
    with pytest.raises(WriteDown):
        await doors.personas.put(admin, a_persona("new"))
    with pytest.raises(WriteDown):
        await doors.personas.remove(admin, "zoe")

    assert await doors.personas.all(admin) == [a_persona("zoe")]


async def test_no_space_sees_the_personas_of_another(doors: Doors) -> None:
    admin, stranger = await cleared_root(doors), await cleared_root(doors, "elsewhere")
    await doors.personas.put(admin, a_persona("zoe"))

    assert await doors.personas.all(stranger) == []
    with pytest.raises(PersonaNotFound):
        await doors.personas.remove(stranger, "zoe")
