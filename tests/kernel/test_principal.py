"""Who asks, and what has happened: plain values."""

from dataclasses import replace

from portico.kernel.events import Event
from portico.kernel.ids import ContextId, EventId, PrincipalId, SpaceId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.kernel import BEGINNING, SeededEntropy

SPACE = SpaceId.mint(BEGINNING, SeededEntropy())
ANA = Principal(
    id=PrincipalId.mint(BEGINNING, SeededEntropy()),
    space=SPACE,
    kind=PrincipalKind.PERSON,
    name="ana",
    scopes=frozenset({"keys:own"}),
)


def test_a_principal_may_what_its_scopes_say_and_no_more() -> None:
    assert ANA.may("keys:own")
    assert not ANA.may("keys:write")


def test_whoever_is_given_nothing_has_nothing() -> None:
    nobody = Principal(id=ANA.id, space=SPACE, kind=PrincipalKind.AGENT, name="nobody")

    assert (nobody.roles, nobody.scopes, nobody.clearance) == (set(), set(), PUBLIC)


def test_an_agent_in_a_task_without_a_key_is_one_that_others_act_through_too() -> None:
    task = ContextId.mint(BEGINNING, SeededEntropy())
    agent = replace(ANA, kind=PrincipalKind.AGENT)

    assert replace(agent, context=task).shared
    assert not replace(agent, context=task, key="k").shared
    assert not agent.shared
    assert not replace(ANA, context=task).shared


def test_an_event_is_public_and_nobodys_unless_it_says_otherwise() -> None:
    event = Event(
        id=EventId.mint(BEGINNING, SeededEntropy()),
        space=SPACE,
        stream="house",
        type="opened",
        at=BEGINNING,
    )

    assert (event.by, event.label, event.facts) == (None, PUBLIC, {})
