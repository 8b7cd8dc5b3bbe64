"""Where somebody is on the bridge, and whom they mean who name people."""

from dataclasses import replace

import pytest

from portico.bridge.core.conversations import ConversationId
from portico.bridge.messages import NamePeople
from portico.bridge.taint import in_view_context, looking
from portico.guard.core.authentication import as_principal
from portico.guard.core.contexts import context_of
from portico.guard.core.errors import NotPermitted, PrincipalNotFound
from portico.guard.core.principals import Role
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.bridge_conversations import MemoryPeople
from portico.testing.guard import a_person, a_space, an_identity
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy

ONE, TWO = (ConversationId.mint(BEGINNING, SeededEntropy(number)) for number in (1, 2))
ANA = replace(a_person("ana"), key="k")


def test_a_person_is_at_what_they_have_open_unless_they_say_where_they_are() -> None:
    tasks = {context_of(in_view_context(ANA, where)) for where in (ONE, TWO, None)}

    assert len({*tasks, context_of(ANA)}) == 4
    assert context_of(in_view_context(ANA, ONE)) == context_of(
        in_view_context(replace(ANA, key="l"), ONE)
    )

    opened = replace(ANA, context=ContextId.mint(BEGINNING, SeededEntropy("task")))

    assert in_view_context(opened, ONE) == opened

    window = replace(ANA, window=True)

    assert in_view_context(window, ONE) == window
    assert context_of(in_view_context(window, ONE)) == context_of(ANA)


@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.WORKER])
def test_a_program_is_at_the_same_task_wherever_it_is(kind: PrincipalKind) -> None:
    program = replace(ANA, kind=kind)

    assert in_view_context(program, ONE) == program


def test_one_looks_as_high_as_one_wants_and_no_higher_than_one_may() -> None:
    legal = Label(Level.RESTRICTED, frozenset({"legal"}))

    assert looking(ANA, None) == ANA
    assert looking(ANA, Label(Level.PUBLIC)).clearance == Label(Level.PUBLIC)
    assert looking(ANA, legal).clearance == ANA.clearance


SPACE = a_space()
ANA_THERE = an_identity("ana", space=SPACE)
BOB_THERE = an_identity("bob", space=SPACE)


def people() -> NamePeople:
    world = InMemoryStore()
    for identity in (ANA_THERE, BOB_THERE):
        world.identities[SPACE.id, identity.id] = identity
    return NamePeople(people=MemoryPeople(world))


async def test_names_are_those_of_people_for_whoever_may_write() -> None:
    assert await people()(as_principal(ANA_THERE), ["bob", "@ana", "bob"]) == (
        BOB_THERE.id,
        ANA_THERE.id,
    )
    assert await people()(as_principal(ANA_THERE), []) == ()

    with pytest.raises(PrincipalNotFound, match="eve"):
        await people()(as_principal(ANA_THERE), ["ana", "@eve"])

    viewer = an_identity("vic", roles=[Role.VIEWER], space=SPACE)

    with pytest.raises(NotPermitted):
        await people()(as_principal(viewer), ["ana"])
