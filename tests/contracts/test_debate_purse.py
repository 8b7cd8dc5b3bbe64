"""What every purse keeps to: no cap is ever passed, and what was lost on the way stays charged."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from portico.bridge.core.errors import ProjectNotFound, WriteDown
from portico.bridge.core.projects import Project
from portico.debate.core.debates import Debate
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.questions import Cap
from portico.kernel.budget import NOTHING
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, a_project, cleared_root, joined
from tests.contracts.debate_table import a_debate, cost
from tests.contracts.doors import Doors


async def begun(
    doors: Doors,
    starter: Principal,
    name: str = "first",
    *,
    tokens: int | None = None,
    money: str | None = None,
    **rest: Any,
) -> Debate:
    cap = Cap(tokens=tokens, money=None if money is None else Decimal(money))
    debate = a_debate(starter, name, cap=cap, **rest)
    await doors.debates.add(starter, debate)
    return debate


async def in_project(
    doors: Doors, starter: Principal, project: Project, name: str, label: Label = TEAM
) -> Debate:
    return await begun(doors, starter, name, project=str(project.id), label=label)


async def test_a_reservation_holds_what_it_may_cost_until_it_is_settled(doors: Doors) -> None:
    admin = await cleared_root(doors)
    debate = await begun(doors, admin, tokens=100)

    assert await doors.purse.reserve(admin, debate.id, "a", cost(60)) == ()
    assert await doors.purse.reserve(admin, debate.id, "b", cost(41)) == ("debate.tokens",)
    assert await doors.purse.committed(admin, debate.id) == cost(60)
    await doors.purse.settle(admin, debate.id, "a", cost(10))
    assert await doors.purse.reserve(admin, debate.id, "b", cost(41)) == ()

    assert (await doors.purse.committed(admin, debate.id)).tokens == 51
    await doors.purse.settle(admin, debate.id, "b", cost(9_000, "7", calls=3))
    assert (await doors.purse.committed(admin, debate.id)).tokens == 51  # no more than reserved

    whole = await begun(doors, admin, "whole", tokens=100, money="0.5")
    both = ("debate.tokens", "debate.money")
    assert await doors.purse.reserve(admin, whole.id, "a", cost(100, "0.5")) == ()
    assert await doors.purse.reserve(admin, whole.id, "b", cost(1, "0.01")) == both
    assert await doors.purse.reserve(admin, whole.id, "c", cost(0)) == ()


async def test_the_same_name_again_is_the_same_reservation(doors: Doors, admin: Principal) -> None:
    debate = await begun(doors, admin, tokens=100)

    for _ in range(3):
        assert await doors.purse.reserve(admin, debate.id, "a", cost(60)) == ()
    await doors.purse.settle(admin, debate.id, "a", cost(20))
    await doors.purse.settle(admin, debate.id, "a", cost(55))
    assert await doors.purse.reserve(admin, debate.id, "a", cost(60)) == ()

    assert await doors.purse.committed(admin, debate.id) == cost(20)


async def test_what_is_reserved_and_not_settled_is_known_by_name(doors: Doors) -> None:
    admin = await cleared_root(doors)
    debate, other = await begun(doors, admin), await begun(doors, admin, "other")
    for name in ("said:1:b", "said:1:a", "done"):
        await doors.purse.reserve(admin, debate.id, name, cost(len(name)))
    await doors.purse.reserve(admin, other.id, "elsewhere", cost(1))
    await doors.purse.settle(admin, debate.id, "done", cost(1))

    left = await doors.purse.outstanding(admin, debate.id)

    assert left == {"said:1:a": cost(8), "said:1:b": cost(8)}


async def test_of_a_voice_without_a_maximum_all_is_written_down(doors: Doors) -> None:
    admin = await cleared_root(doors)
    debate = await begun(doors, admin, tokens=100, unbounded=True)
    await doors.purse.reserve(admin, debate.id, "a", cost(60))

    await doors.purse.settle(admin, debate.id, "a", cost(9_000))

    assert await doors.purse.committed(admin, debate.id) == cost(9_000)
    assert await doors.purse.reserve(admin, debate.id, "b", cost(1)) == ("debate.tokens",)


async def test_many_who_reserve_at_once_never_pass_a_cap(doors: Doors, admin: Principal) -> None:
    project = await a_project(doors, admin)
    await doors.purse.cap_project(admin, str(project.id), Cap(tokens=100))
    whole = await begun(doors, admin, "whole", tokens=70, analysis=True, project=str(project.id))
    parts = [
        await begun(
            doors, admin, f"part {number}", tokens=30, part_of=whole.id, project=str(project.id)
        )
        for number in range(3)
    ]
    alone = await begun(doors, admin, "alone", project=str(project.id))

    tried = [(debate, f"ask {number}") for debate in (*parts, alone) for number in range(8)]
    over = await asyncio.gather(
        *(doors.purse.reserve(admin, debate.id, name, cost(10)) for debate, name in tried)
    )

    reserved = [debate.id for (debate, _), refused in zip(tried, over, strict=True) if not refused]
    assert len(reserved) == 10
    assert sum(each != alone.id for each in reserved) <= 7
    assert all(reserved.count(part.id) <= 3 for part in parts)
    _, spent, _ = await doors.purse.project(admin, str(project.id))
    assert (spent.tokens, spent.calls) == (100, 10)


async def test_an_analysis_counts_its_parts(doors: Doors, admin: Principal) -> None:
    whole = await begun(doors, admin, "whole", tokens=100, analysis=True)
    part = await begun(doors, admin, "part", tokens=80, part_of=whole.id)
    other = await begun(doors, admin, "other", tokens=80, part_of=whole.id)

    assert await doors.purse.reserve(admin, whole.id, "plan", cost(20)) == ()
    assert await doors.purse.reserve(admin, part.id, "a", cost(50)) == ()
    assert await doors.purse.reserve(admin, part.id, "b", cost(31)) == (
        "debate.tokens",
        "analysis.tokens",
    )
    assert await doors.purse.reserve(admin, other.id, "a", cost(31)) == ("analysis.tokens",)
    assert await doors.purse.reserve(admin, whole.id, "synthesis", cost(31)) == ("analysis.tokens",)

    assert (await doors.purse.committed(admin, whole.id)).tokens == 70
    assert (await doors.purse.committed(admin, part.id)).tokens == 50


async def test_the_debates_of_a_project_share_its_cap(doors: Doors, admin: Principal) -> None:
    other = await joined(doors, admin, "other", SECRET)
    project = await a_project(doors, admin)
    mine = await in_project(doors, admin, project, "mine")
    theirs = await in_project(doors, other, project, "theirs")
    await doors.purse.reserve(admin, mine.id, "a", cost(60, "1.5"))
    await doors.purse.cap_project(admin, str(project.id), Cap(tokens=100, money=Decimal(2)))

    assert await doors.purse.reserve(other, theirs.id, "a", cost(41, "0.6")) == (
        "project.tokens",
        "project.money",
    )
    await doors.purse.settle(admin, mine.id, "a", cost(59, "1.4"))
    assert await doors.purse.reserve(other, theirs.id, "a", cost(41, "0.6")) == ()

    cap, spent, label = await doors.purse.project(admin, str(project.id))
    assert (cap, label) == (Cap(tokens=100, money=Decimal(2)), TEAM)
    assert (spent.tokens, spent.money, spent.calls) == (100, Decimal("2.0"), 2)


async def test_what_was_spent_stays_spent_when_a_debate_or_a_cap_is_removed(doors: Doors) -> None:
    admin = await cleared_root(doors)
    project = await a_project(doors, admin)
    assert await doors.purse.project(admin, str(project.id)) == (Cap(), NOTHING, TEAM)
    debate = await in_project(doors, admin, project, "a")
    await doors.purse.reserve(admin, debate.id, "a", cost(60))

    await doors.debates.remove(admin, debate.id)

    assert (await doors.purse.project(admin, str(project.id)))[1].tokens == 60
    await doors.purse.cap_project(admin, str(project.id), Cap(tokens=1))
    await doors.purse.cap_project(admin, str(project.id), Cap())
    other = await in_project(doors, admin, project, "b")
    assert await doors.purse.reserve(admin, other.id, "a", cost(10**12)) == ()
    assert (await doors.purse.project(admin, str(project.id)))[0] == Cap()


async def test_a_refusal_tells_nothing_of_debates_that_are_more_secret(doors: Doors) -> None:
    admin = await cleared_root(doors)
    team = await joined(doors, admin, "team", TEAM)
    project = await a_project(doors, admin)
    await doors.purse.cap_project(admin, str(project.id), Cap(tokens=100))
    secret = await in_project(doors, admin, project, "secret", FINANCE)
    low = await in_project(doors, team, project, "low")
    assert await doors.purse.reserve(admin, secret.id, "a", cost(90)) == ()

    assert await doors.purse.reserve(team, low.id, "a", cost(70)) == ()

    _, seen, label = await doors.purse.project(team, str(project.id))
    assert (seen.tokens, label) == (70, TEAM)
    assert await doors.purse.reserve(team, low.id, "b", cost(31)) == ("project.tokens",)
    assert await doors.purse.reserve(admin, secret.id, "b", cost(1)) == ("project.tokens",)
    _, whole, above = await doors.purse.project(admin, str(project.id))
    assert (whole.tokens, above) == (160, FINANCE)


async def test_what_is_charged_is_as_secret_as_what_its_task_has_read(doors: Doors) -> None:
    admin = await cleared_root(doors)
    project = await a_project(doors, admin)
    debate = await in_project(doors, admin, project, "a")
    await doors.contexts.raise_taint(admin, FINANCE, untrusted=False)

    assert await doors.purse.reserve(admin, debate.id, "a", cost(10)) == ()

    low = replace(admin, clearance=TEAM)
    assert (await doors.purse.project(low, str(project.id)))[1] == NOTHING
    assert (await doors.purse.project(admin, str(project.id)))[1] == cost(10)


async def test_a_cap_is_set_for_all_who_see_the_project(doors: Doors, admin: Principal) -> None:
    team = await joined(doors, admin, "team", TEAM)
    hidden = await a_project(doors, admin, "hidden", FINANCE)
    project = await a_project(doors, admin)

    for nowhere in (str(hidden.id), "nowhere"):
        with pytest.raises(ProjectNotFound):
            await doors.purse.cap_project(team, nowhere, Cap(tokens=1))
        with pytest.raises(ProjectNotFound):
            await doors.purse.project(team, nowhere)
    await doors.contexts.raise_taint(admin, FINANCE, untrusted=False)
    with pytest.raises(WriteDown):
        await doors.purse.cap_project(admin, str(project.id), Cap(tokens=1))

    assert (await doors.purse.project(team, str(project.id)))[0] == Cap()


async def test_nobody_spends_in_a_debate_that_they_may_not_read(doors: Doors) -> None:
    admin = await cleared_root(doors)
    other = await joined(doors, admin, "other", SECRET)
    debate = await begun(doors, admin)
    await doors.purse.reserve(admin, debate.id, "a", cost(10))

    with pytest.raises(DebateNotFound):
        await doors.purse.reserve(other, debate.id, "b", cost(1))
    with pytest.raises(DebateNotFound):
        await doors.purse.settle(other, debate.id, "a", cost(1))

    assert await doors.purse.committed(other, debate.id) == NOTHING
    assert await doors.purse.outstanding(other, debate.id) == {}
    assert await doors.purse.committed(admin, debate.id) == cost(10)
