"""The story of looking a house over."""

import pytest

from portico.engine.core.health import Finding, State
from portico.engine.diagnose import Diagnose
from portico.testing.engine import ScriptedCheck

GOOD = Finding(check="platform", state=State.GOOD, detail="fine")
OPEN = Finding(check="files", state=State.BROKEN, detail="open", fix="portico doctor --fix")
CLOSED = Finding(check="files", state=State.MENDED, detail="closed")


@pytest.mark.parametrize(("mend", "found"), [(False, [GOOD, OPEN]), (True, [GOOD, CLOSED])])
async def test_every_check_is_asked_in_order_and_mends_only_when_told_to(
    mend: bool, found: list[Finding]
) -> None:
    diagnose = Diagnose(checks=[ScriptedCheck(GOOD), ScriptedCheck(OPEN, mended=CLOSED)])

    assert [finding async for finding in diagnose(mend=mend)] == found


async def test_a_house_without_checks_has_no_findings() -> None:
    assert [finding async for finding in Diagnose(checks=[])(mend=True)] == []


async def test_what_can_be_wrong_in_several_places_has_a_finding_for_each() -> None:
    class Twice:
        async def __call__(self, *, mend: bool) -> list[Finding]:
            return [GOOD, OPEN]

    assert [finding async for finding in Diagnose(checks=[Twice()])(mend=False)] == [GOOD, OPEN]
