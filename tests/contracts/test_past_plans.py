"""What the gateway may rely on of `PastPlanBook`."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.suggest.kept_plan import PastPlanId
from portico.gateway.core.suggest.threshold import Outcome
from portico.guard.core.authentication import as_principal
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING
from portico.testing.suggestions import a_past_plan
from tests.contracts.doors import REFUSED, Doors

TEAM = Label(Level.TEAM, frozenset({"hr"}))
LATER = BEGINNING + timedelta(hours=1)


async def bob(doors: Doors, root: Principal) -> Principal:
    return as_principal(await doors.joined(root, "bob"))


async def test_a_plan_comes_back_as_it_was_kept(doors: Doors) -> None:
    root = await doors.founded("home")
    plan = a_past_plan(root, "tidy \ufffd the notes")

    await doors.past_plans.learn(root, plan)

    assert await doors.past_plans.latest(root, 10, 10) == [plan]


async def test_the_same_plan_again_is_one_that_was_run_more_often(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.past_plans.learn(root, a_past_plan(root))

    await doors.past_plans.learn(root, replace(a_past_plan(root), last_at=LATER, accepted=1))

    [found] = await doors.past_plans.latest(root, 10, 10)
    assert (found.runs, found.accepted, found.last_at) == (2, 1, LATER)


async def test_the_lately_used_come_first_and_no_more_than_are_wanted(doors: Doors) -> None:
    root = await doors.founded("home")
    for hour, intent in enumerate(("one", "two", "three")):
        at = BEGINNING + timedelta(hours=hour)
        await doors.past_plans.learn(root, a_past_plan(root, intent, at=at))

    assert [plan.intent for plan in await doors.past_plans.latest(root, 2, 10)] == ["three", "two"]


async def test_nobody_else_takes_all_the_room(doors: Doors) -> None:
    root = await doors.founded("home")
    other = await bob(doors, root)
    for hour, intent in enumerate(("one", "two", "three"), 1):
        at = BEGINNING + timedelta(hours=hour)
        await doors.past_plans.learn(root, a_past_plan(root, intent, at=BEGINNING))
        await doors.past_plans.learn(other, a_past_plan(other, intent, at=at))

    found = await doors.past_plans.latest(root, 5, 2)

    assert [plan.principal for plan in found] == [other.id] * 2 + [root.id] * 3
    assert [plan.last_at.hour for plan in found[:2]] == [3, 2]


async def test_the_words_of_a_plan_are_told_to_its_author_alone(doors: Doors) -> None:
    root = await doors.founded("home")
    other = await bob(doors, root)
    await doors.past_plans.learn(root, a_past_plan(root, "fire bob"))

    [seen] = await doors.past_plans.latest(other, 10, 10)

    assert seen == replace(a_past_plan(root, "fire bob"), intent="")


async def test_what_is_above_somebody_is_not_there_for_them(doors: Doors) -> None:
    root = await doors.founded("home")
    cleared = replace(root, clearance=TEAM)
    await doors.past_plans.learn(cleared, a_past_plan(root, label=TEAM))

    below = replace(root, clearance=Label(Level.TEAM))
    assert await doors.past_plans.latest(below, 10, 10) == []
    assert len(await doors.past_plans.latest(cleared, 10, 10)) == 1
    with pytest.raises(REFUSED):
        await doors.past_plans.learn(below, a_past_plan(root, "again", label=TEAM))


async def test_what_is_said_of_it_is_counted_and_may_be_taken_back(doors: Doors) -> None:
    root = await doors.founded("home")
    plan, other = a_past_plan(root), a_past_plan(root, "another")
    for each in (plan, other):
        await doors.past_plans.learn(root, each)

    await doors.past_plans.judge(root, [plan.id], Outcome.ACCEPTED, before=None)
    await doors.past_plans.judge(root, [plan.id], Outcome.REJECTED, before=Outcome.ACCEPTED)
    await doors.past_plans.judge(root, [plan.id], Outcome.MODIFIED, before=Outcome.ACCEPTED)

    counts = {
        found.id: (found.accepted, found.rejected, found.modified)
        for found in await doors.past_plans.latest(root, 10, 10)
    }
    assert counts == {plan.id: (0, 1, 1), other.id: (0, 0, 0)}


async def test_of_a_plan_above_them_nobody_counts_anything(doors: Doors) -> None:
    root = await doors.founded("home")
    cleared = replace(root, clearance=TEAM)
    plan = a_past_plan(root, label=TEAM)
    await doors.past_plans.learn(cleared, plan)

    below = replace(root, clearance=Label(Level.TEAM))
    await doors.past_plans.judge(below, [plan.id], Outcome.REJECTED, before=None)

    assert [found.rejected for found in await doors.past_plans.latest(cleared, 10, 10)] == [0]


@pytest.mark.requirement("guard:spaces:walls")
async def test_another_space_neither_sees_nor_changes_it(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    plan = a_past_plan(home)
    await doors.past_plans.learn(home, plan)

    await doors.past_plans.judge(acme, [plan.id], Outcome.REJECTED, before=None)

    assert await doors.past_plans.latest(acme, 10, 10) == []
    assert [found.rejected for found in await doors.past_plans.latest(home, 10, 10)] == [0]


async def test_it_goes_with_its_space(doors: Doors) -> None:
    root = await doors.founded("home")
    await doors.past_plans.learn(root, a_past_plan(root))

    await doors.spaces.delete(root)

    assert await doors.past_plans.latest(root, 10, 10) == []
    with pytest.raises(REFUSED):
        await doors.past_plans.learn(root, a_past_plan(root))


@pytest.mark.requirement("guard:spaces:export")
async def test_everybody_takes_along_their_own_words_and_nobody_elses(doors: Doors) -> None:
    root = await doors.founded("home")
    other = await bob(doors, root)
    await doors.past_plans.learn(root, a_past_plan(root, "mine"))
    await doors.past_plans.learn(other, a_past_plan(other, "theirs"))

    rows = [row async for row in doors.spaces.export(root) if row.table == "past_plan"]

    assert [row.values["intent"] for row in rows] == ["mine"]
    assert rows[0].values["steps"] == a_past_plan(root).steps


def test_the_same_words_of_another_are_another_plan() -> None:
    from portico.testing.guard import an_identity

    one, other = as_principal(an_identity("one")), as_principal(an_identity("other"))
    ids = {
        PastPlanId.of(who.space, who.id, label, "tidy")
        for who in (one, other)
        for label in (Label(Level.PUBLIC), TEAM)
    }
    assert len(ids) == 4
