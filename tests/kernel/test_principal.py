"""Who asks, what has happened, what it does, and how it is said: plain values."""

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

import portico
from portico.kernel.durable import Event
from portico.kernel.effect import Effect, worst
from portico.kernel.errors import Kind, PorticoError, many
from portico.kernel.ids import ContextId, EventId, PrincipalId, SpaceId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.memory_store import BEGINNING, SeededEntropy

SPACE = SpaceId.mint(BEGINNING, SeededEntropy())
ANA = Principal(
    id=PrincipalId.mint(BEGINNING, SeededEntropy()),
    space=SPACE,
    kind=PrincipalKind.PERSON,
    name="ana",
    scopes=frozenset({"keys:own"}),
)


def test_a_principal_may_what_its_scopes_say_and_whoever_is_given_nothing_has_nothing() -> None:
    assert ANA.may("keys:own")
    assert not ANA.may("keys:write")

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

    assert (event.by, event.label, event.details) == (None, PUBLIC, {})


def test_effects_have_an_order_and_the_worst_of_several_is_theirs() -> None:
    assert [effect.value for effect in sorted(Effect, key=lambda effect: effect.rank)] == [
        "pure",
        "local_read",
        "external_read",
        "local_write",
        "external_write",
        "irreversible",
        "unknown",
    ]
    assert Effect.UNKNOWN.destroys
    assert Effect.IRREVERSIBLE.destroys
    assert not Effect.EXTERNAL_WRITE.destroys
    assert worst([Effect.LOCAL_READ, Effect.IRREVERSIBLE, Effect.PURE]) is Effect.IRREVERSIBLE
    assert worst([Effect.UNKNOWN, Effect.IRREVERSIBLE]) is Effect.UNKNOWN
    assert worst([]) is Effect.PURE


@pytest.mark.parametrize("effect", Effect)
def test_an_effect_reads_only_or_writes_or_destroys(effect: Effect) -> None:
    writes = effect in {Effect.LOCAL_WRITE, Effect.EXTERNAL_WRITE}

    assert [effect.is_read_only, writes, effect.destroys].count(True) == 1


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools"), (1200, "1,200 tools")]
)
def test_what_is_counted_has_its_ending(count: int, told: str) -> None:
    assert many(count, "tool") == told


def every_error() -> list[type[PorticoError]]:
    for module in pkgutil.walk_packages(portico.__path__, "portico."):
        if module.name != "portico.__main__":
            importlib.import_module(module.name)
    ours = [error for error in _below(PorticoError) if error.__module__.startswith("portico.")]
    return sorted(set(ours), key=lambda error: error.__name__)


def _below(error: type[PorticoError]) -> Iterator[type[PorticoError]]:
    for child in error.__subclasses__():
        yield child
        yield from _below(child)


@pytest.mark.requirement("kernel:errors:kind-and-code")
def test_every_error_has_a_kind_a_title_and_a_code_of_its_own() -> None:
    errors = every_error()

    assert len(errors) > 20
    for error in errors:
        assert isinstance(error.kind, Kind), error
        assert error.title.strip(), error
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", error.code), error
        assert error.__name__[-5:] != "Error", error
    assert [code for code, count in Counter(e.code for e in errors).items() if count > 1] == []


def test_the_mend_of_one_occurrence_stands_over_that_of_its_kind() -> None:
    class Leaking(PorticoError):
        kind = Kind.UNAVAILABLE
        code = "leaking"
        title = "The roof leaks"
        fix = "Call a roofer."

    usual, special = Leaking("It drips."), Leaking("It pours.", fix="Leave the house.")

    assert (str(usual), usual.fix) == ("It drips.", "Call a roofer.")
    assert (str(special), special.fix) == ("It pours.", "Leave the house.")
    assert usual.field_errors == ()
