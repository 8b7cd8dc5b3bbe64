"""However much one of them does, there is room for the others."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from portico.gateway.core.suggest.kept_plan import KeptPlan, PastPlanId
from portico.gateway.core.suggest.plan_end import PlanEnd
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from tests.gateway.suggest.suggest_room import INTENT, SuggestRoom
from tests.gateway.workflows.plan_room import ANA, plan

MANY = ["".join(letters) for letters in product("abcdefghijklmnop", repeat=3)]


@pytest.mark.parametrize(
    "steps",
    [
        [{"id": f"s{number}", "tool": "files.read", "arguments": {}} for number in range(13)],
        [{"id": "s", "tool": "files.read", "arguments": dict.fromkeys(MANY)}],
    ],
)
async def test_a_plan_that_is_longer_than_any_that_is_suggested_is_not_kept(
    steps: list[JsonObject],
) -> None:
    room = SuggestRoom()
    bot = await room.bot()

    end = PlanEnd(
        caller=bot,
        label=PUBLIC,
        plan=plan(*steps),
        inputs={},
        done={str(step["id"]) for step in steps},
        intent=INTENT,
    )
    room.lessons.note(end)
    await room.lessons.write_down()

    assert room.world.past_plans == {}


async def test_one_author_does_not_outvote_everybody(room: SuggestRoom) -> None:
    await room.learnt(1)
    [(place, plan)] = room.world.past_plans.items()
    for number in range(30):
        theirs = replace(plan, id=PastPlanId.of(*_who(plan), "x" * number), principal=ANA.id)
        room.world.past_plans[place[0], theirs.id] = theirs

    made = await room.suggested(by=await room.bot())

    assert len(made.suggested.past) == 1 + 8


def _who(plan: KeptPlan) -> tuple[SpaceId, PrincipalId, Label]:
    return ANA.space, plan.principal, plan.label


async def test_nobody_has_so_many_kept_that_there_is_no_room_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.gateway.suggest.suggest_workflow._KEPT", 2)
    room = SuggestRoom()
    await room.learnt()

    made = [await room.suggested() for _ in range(3)]
    room.clock.turn(timedelta(minutes=61))
    later = await room.suggested()

    assert [each.id is None for each in (*made, later)] == [False, False, True, False]
    assert made[2].plan == made[1].plan
