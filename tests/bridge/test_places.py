"""Where somebody is on the bridge."""

from dataclasses import replace

import pytest

from portico.bridge.core.conversation import ConversationId
from portico.bridge.places import at_place, looking
from portico.guard.core.context import context_of
from portico.kernel.ids import ContextId
from portico.kernel.label import Label, Level
from portico.kernel.principal import PrincipalKind
from portico.testing.guard import a_person
from portico.testing.kernel import BEGINNING, SeededEntropy

ONE, TWO = (ConversationId.mint(BEGINNING, SeededEntropy(number)) for number in (1, 2))
ANA = replace(a_person("ana"), key="k")


def test_what_a_person_has_open_is_a_task_of_its_own() -> None:
    tasks = {context_of(at_place(ANA, where)) for where in (ONE, TWO, None)}

    assert len({*tasks, context_of(ANA)}) == 4
    assert context_of(at_place(ANA, ONE)) == context_of(at_place(replace(ANA, key="l"), ONE))


def test_whoever_says_which_task_they_are_at_stays_there() -> None:
    opened = replace(ANA, context=ContextId.mint(BEGINNING, SeededEntropy("task")))

    assert at_place(opened, ONE) == opened


@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.WORKER])
def test_a_program_is_at_the_same_task_wherever_it_is(kind: PrincipalKind) -> None:
    program = replace(ANA, kind=kind)

    assert at_place(program, ONE) == program


def test_a_person_whose_key_a_model_has_is_at_the_task_of_that_key_wherever_they_are() -> None:
    window = replace(ANA, window=True)

    assert at_place(window, ONE) == window
    assert context_of(at_place(window, ONE)) == context_of(ANA)


def test_one_looks_as_high_as_one_wants_and_no_higher_than_one_may() -> None:
    legal = Label(Level.RESTRICTED, frozenset({"legal"}))

    assert looking(ANA, None) == ANA
    assert looking(ANA, Label(Level.PUBLIC)).clearance == Label(Level.PUBLIC)
    assert looking(ANA, legal).clearance == ANA.clearance
