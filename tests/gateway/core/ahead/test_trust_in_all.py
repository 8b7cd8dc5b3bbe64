"""Each principal is trusted or not by what came true for it, in all of its tasks."""

from dataclasses import replace

from portico.gateway.core.ahead.trust import ENOUGH, LATEST
from portico.gateway.core.ahead.trust_in_all import TrustInAll
from portico.kernel.ids import PrincipalId
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.gateway.open_room import ANA, VIEWER


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
