"""Where somebody is among debates: a person at what they have open, a program at its key."""

from dataclasses import replace

import pytest

from portico.debate.core.debate import DebateId
from portico.debate.places import at_budget, at_debate, at_start
from portico.guard.core.context import context_of
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.debate.room import ANA

PERSON = replace(ANA, kind=PrincipalKind.PERSON, key="k1")
ONE, OTHER = (DebateId.mint(BEGINNING, SeededEntropy(seed)) for seed in ("one", "other"))


def test_each_place_of_a_person_is_a_task_of_its_own() -> None:
    places = [
        at_debate(PERSON, ONE),
        at_debate(PERSON, OTHER),
        at_debate(PERSON, None),
        at_start(PERSON, None),
        at_start(PERSON, "prj_x"),
        at_budget(PERSON, "prj_x"),
    ]

    assert len({context_of(each) for each in places}) == len(places)
    assert context_of(at_debate(replace(PERSON, key="k2"), ONE)) == context_of(places[0])


@pytest.mark.parametrize(
    "caller",
    [
        replace(PERSON, kind=PrincipalKind.AGENT),
        replace(PERSON, window=True),
        replace(PERSON, context=ContextId.mint(BEGINNING, SeededEntropy("context"))),
    ],
    ids=["a program", "a model's window", "who says where they are"],
)
def test_others_stay_where_they_are(caller: Principal) -> None:
    assert at_debate(caller, ONE) == at_start(caller, "prj_x") == at_budget(caller, "x") == caller
