"""What the gateway may rely on of `Suggestions`."""

from dataclasses import replace
from datetime import timedelta

import pytest

from portico.gateway.core.suggest.kept_suggestion import (
    NothingSuggested,
    SuggestionId,
    SuggestionNotFound,
)
from portico.gateway.core.suggest.mode import Mode
from portico.gateway.core.suggest.threshold import Outcome
from portico.guard.core.authentication import as_principal
from portico.kernel.ids import RunId
from portico.kernel.label import Label, Level
from portico.testing.kernel import BEGINNING, SeededEntropy
from portico.testing.suggestions import a_past_plan, a_suggestion
from tests.contracts.doors import REFUSED, Doors

TEAM = Label(Level.TEAM, frozenset({"hr"}))
RUN = RunId.mint(BEGINNING, SeededEntropy("run"))
OTHER_RUN = RunId.mint(BEGINNING, SeededEntropy("other run"))


async def test_a_suggestion_comes_back_as_it_was_made(doors: Doors) -> None:
    root = await doors.founded("home")
    past = [a_past_plan(root, intent).id for intent in ("one", "two")]
    made = replace(a_suggestion(root, past=past), mode=Mode.RAN_AHEAD)

    await doors.suggestions.keep(root, made)

    assert await doors.suggestions.get(root, made.id) == made


async def test_the_latest_come_first_and_no_more_than_are_wanted(doors: Doors) -> None:
    root = await doors.founded("home")
    made = [
        a_suggestion(root, str(hour), at=BEGINNING + timedelta(hours=hour)) for hour in range(3)
    ]
    for each in made:
        await doors.suggestions.keep(root, each)

    assert await doors.suggestions.latest(root, 2) == [made[2], made[1]]


async def test_the_latest_word_counts_and_the_first_run(doors: Doors) -> None:
    root = await doors.founded("home")
    made = a_suggestion(root)
    await doors.suggestions.keep(root, made)

    first = await doors.suggestions.settle(root, made.id, Outcome.ACCEPTED, BEGINNING, RUN)
    then = await doors.suggestions.settle(root, made.id, Outcome.REJECTED, BEGINNING, OTHER_RUN)

    assert first == replace(made, outcome=Outcome.ACCEPTED, run=RUN, settled_at=BEGINNING)
    now = replace(made, outcome=Outcome.REJECTED, run=RUN, settled_at=BEGINNING)
    assert then == now
    assert await doors.suggestions.get(root, made.id) == now
    assert await doors.suggestions.of_run(root, RUN) == now


async def test_of_each_plan_the_latest_word_is_known(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    one, two = (a_past_plan(root, intent).id for intent in ("one", "two"))
    early, late = a_suggestion(root, "early", past=[one, two]), a_suggestion(root, "l", past=[one])
    for each in (late, early, a_suggestion(root, "open", past=[one])):
        await doors.suggestions.keep(root, each)
    await doors.suggestions.settle(root, early.id, Outcome.REJECTED, BEGINNING)
    later = BEGINNING + timedelta(hours=1)
    await doors.suggestions.settle(root, late.id, Outcome.ACCEPTED, later)

    said = await doors.suggestions.words_on(root, [one, two])

    assert said == {one: Outcome.ACCEPTED, two: Outcome.REJECTED}
    assert await doors.suggestions.words_on(root, []) == {}
    assert await doors.suggestions.words_on(bob, [one, two]) == {}


async def test_one_that_is_not_there_is_said_to_be_so(doors: Doors) -> None:
    root = await doors.founded("home")
    nobodys = SuggestionId.mint(BEGINNING, SeededEntropy("nobody's"))

    with pytest.raises(SuggestionNotFound):
        await doors.suggestions.get(root, nobodys)
    with pytest.raises(SuggestionNotFound):
        await doors.suggestions.settle(root, nobodys, Outcome.ACCEPTED, BEGINNING)
    with pytest.raises(NothingSuggested):
        await doors.suggestions.of_run(root, RUN)


async def test_it_is_there_for_whoever_it_was_made_for_alone(doors: Doors) -> None:
    root = await doors.founded("home")
    bob = as_principal(await doors.joined(root, "bob"))
    made = a_suggestion(root)
    await doors.suggestions.keep(root, made)
    await doors.suggestions.settle(root, made.id, Outcome.ACCEPTED, BEGINNING, RUN)

    with pytest.raises(SuggestionNotFound):
        await doors.suggestions.get(bob, made.id)
    with pytest.raises(SuggestionNotFound):
        await doors.suggestions.settle(bob, made.id, Outcome.REJECTED, BEGINNING)
    with pytest.raises(NothingSuggested):
        await doors.suggestions.of_run(bob, RUN)
    assert await doors.suggestions.latest(bob, 10) == []


async def test_whoever_is_no_longer_cleared_for_it_does_not_find_it(doors: Doors) -> None:
    root = await doors.founded("home")
    made = a_suggestion(root, label=TEAM)
    await doors.suggestions.keep(replace(root, clearance=TEAM), made)

    below = replace(root, clearance=Label(Level.TEAM))
    with pytest.raises(SuggestionNotFound):
        await doors.suggestions.get(below, made.id)
    with pytest.raises(REFUSED):
        await doors.suggestions.keep(below, a_suggestion(root, "another", label=TEAM))


@pytest.mark.requirement("guard:spaces:walls")
async def test_another_space_neither_sees_nor_changes_it(doors: Doors) -> None:
    home, acme = await doors.founded("home"), await doors.founded("acme")
    made = a_suggestion(home)
    await doors.suggestions.keep(home, made)

    with pytest.raises(SuggestionNotFound):
        await doors.suggestions.settle(acme, made.id, Outcome.REJECTED, BEGINNING)

    assert await doors.suggestions.get(home, made.id) == made


@pytest.mark.requirement("guard:spaces:export")
async def test_it_goes_with_its_space_and_is_taken_along(doors: Doors) -> None:
    root = await doors.founded("home")
    made = a_suggestion(root)
    await doors.suggestions.keep(root, made)

    rows = [row async for row in doors.spaces.export(root) if row.table == "suggestion"]
    await doors.spaces.delete(root)

    assert [row.values["suggestion_id"] for row in rows] == [str(made.id.value)]
    assert await doors.suggestions.latest(root, 10) == []
    with pytest.raises(REFUSED):
        await doors.suggestions.keep(root, made)


def test_what_nobody_took_up_in_its_hour_is_unclaimed() -> None:
    from portico.testing.guard import an_identity

    made = a_suggestion(as_principal(an_identity("ana")))
    hour = timedelta(hours=1)

    assert made.outcome_at(BEGINNING) is None
    assert made.outcome_at(BEGINNING + hour) is Outcome.UNCLAIMED
    said = replace(made, outcome=Outcome.REJECTED)
    assert said.outcome_at(BEGINNING + hour) is Outcome.REJECTED
