"""Whose work is not what others' was is not called ahead for, until it is."""

from dataclasses import replace

from portico.kernel.ids import PrincipalId
from portico.learning.core.prefetch.trust import ENOUGH, LATEST, Trust
from portico.learning.core.prefetch.trust_in_all import TrustInAll
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.gateway.open_room import ANA, VIEWER


def said(trust: Trust, *, right: bool, times: int = 1) -> bool:
    for _ in range(times):
        trust.foretold("task", [b"next"])
        trust.saw("task", b"next" if right else b"other", reads=right)
    return trust.good


def test_nobody_is_trusted_before_enough_has_come_true() -> None:
    trust = Trust()

    assert not said(trust, right=True, times=ENOUGH - 1)
    assert said(trust, right=True)


def test_whoever_does_something_else_is_not_called_ahead_for_until_that_has_passed() -> None:
    trust = Trust()

    assert said(trust, right=True, times=LATEST)
    assert said(trust, right=False, times=13)
    assert not said(trust, right=False)
    assert said(trust, right=True, times=7)


def test_it_may_come_a_few_calls_later_and_not_after_a_change() -> None:
    trust = Trust()
    for _ in range(ENOUGH):
        trust.foretold("task", [b"next", b"next"])
        for _ in range(3):
            trust.saw("task", b"other", reads=True)
        trust.saw("task", b"next", reads=True)
    assert trust.good

    for _ in range(LATEST):
        trust.foretold("task", [b"next"])
        for _ in range(4):
            trust.saw("task", b"other", reads=True)
        trust.saw("task", b"next", reads=True)
    assert not trust.good


def test_what_is_foretold_twice_counts_once_and_tasks_are_told_apart() -> None:
    trust = Trust()
    for _ in range(ENOUGH):
        trust.foretold("one", [b"next"])
        trust.foretold("one", [b"next"])
        trust.saw("two", b"next", reads=True)
    assert not trust.good

    trust.saw("one", b"next", reads=True)
    said(trust, right=True, times=ENOUGH - 1)

    assert trust.good


def test_what_has_not_come_when_a_task_ends_was_wrong() -> None:
    trust = Trust()
    for _ in range(LATEST):
        trust.foretold("task", [b"next"])
        trust.ended("task")

    assert not said(trust, right=True, times=6)
    assert said(trust, right=True)


def test_only_so_many_tasks_are_followed() -> None:
    trust = Trust()
    said(trust, right=True, times=LATEST)

    for number in range(64 + 14):
        trust.foretold(number, [b"next"])

    assert not trust.good
    assert len(trust._open) == 64


def came_true(trust: TrustInAll, *, times: int = ENOUGH) -> None:
    for _ in range(times):
        trust.foretold(ANA, [b"next"])
        trust.saw(ANA, b"next", reads=True)


def test_whoever_is_trusted_is_so_in_another_task_too_and_nobody_else_is() -> None:
    trust = TrustInAll()
    came_true(trust, times=ENOUGH - 1)
    assert not trust.foretold(ANA, [b"next"])

    trust.saw(ANA, b"next", reads=True)

    assert trust.foretold(replace(ANA, key="another"), [])
    assert not trust.foretold(VIEWER, [])


def test_what_had_not_come_when_its_task_ended_was_wrong() -> None:
    trust = TrustInAll()
    came_true(trust)
    for _ in range(LATEST):
        trust.foretold(ANA, [b"never"])
        trust.ended(ANA)

    assert not trust.foretold(ANA, [])


def test_only_the_latest_are_remembered() -> None:
    trust, dice = TrustInAll(), SeededEntropy("many")
    came_true(trust)

    def others(many: int) -> None:
        for _ in range(many):
            trust.foretold(replace(ANA, id=PrincipalId.mint(BEGINNING, dice)), [])

    others(999)
    assert trust.foretold(ANA, [])
    others(1_000)
    assert not trust.foretold(ANA, [])
