"""What the gateway may rely on of `Suggestions`, `PastPlanStore` and `SavedWorkflows`."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.guard.core.authentication import as_principal
from portico.kernel.effect import Effect
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal
from portico.learning.core.intents import Outcome
from portico.learning.core.past_plans import PastPlanId
from portico.learning.core.suggestions import Mode, NothingSuggested, SuggestionNotFound
from portico.learning.suggestions import PastPlanStore, Suggestions
from portico.testing.gateway import a_saved_workflow
from portico.testing.guard import an_identity
from portico.testing.learning import a_past_plan, a_suggestion
from portico.testing.memory_store import BEGINNING, SeededEntropy
from portico.workflows.core.plan_learning import SuggestionId
from portico.workflows.core.saved import WorkflowNotFound
from portico.workflows.saved import SavedWorkflows
from tests.contracts.doors import REFUSED, Doors

HOUR = timedelta(hours=1)
LATER = BEGINNING + HOUR
TEAM = Label(Level.TEAM, frozenset({"hr"}))
RUN, OTHER_RUN = (RunId.mint(BEGINNING, SeededEntropy(name)) for name in ("run", "other run"))


@pytest.fixture
def suggestions(doors: Doors) -> Suggestions:
    return doors.suggestions


@pytest.fixture
def plans(doors: Doors) -> PastPlanStore:
    return doors.past_plans


@pytest.fixture
def saved(doors: Doors) -> SavedWorkflows:
    return doors.saved


@pytest.fixture
async def bob(doors: Doors, root: Principal) -> Principal:
    return as_principal(await doors.joined(root, "bob"))


async def test_suggestions_come_back_as_they_were_made_the_latest_first(
    suggestions: Suggestions, root: Principal
) -> None:
    past = [a_past_plan(root, intent).id for intent in ("one", "two")]
    made = [a_suggestion(root, str(hour), at=BEGINNING + hour * HOUR) for hour in range(3)]
    made[1] = replace(a_suggestion(root, past=past, at=LATER), mode=Mode.RAN_AHEAD)
    for each in made:
        await suggestions.keep(root, each)
        assert await suggestions.get(root, each.id) == each

    assert await suggestions.latest(root, 2) == [made[2], made[1]]


async def test_the_latest_word_counts_and_the_first_run(
    suggestions: Suggestions, root: Principal
) -> None:
    made = a_suggestion(root)
    await suggestions.keep(root, made)

    first = await suggestions.settle(root, made.id, Outcome.ACCEPTED, BEGINNING, RUN)
    then = await suggestions.settle(root, made.id, Outcome.REJECTED, BEGINNING, OTHER_RUN)

    assert first == replace(made, outcome=Outcome.ACCEPTED, run=RUN, settled_at=BEGINNING)
    now = replace(made, outcome=Outcome.REJECTED, run=RUN, settled_at=BEGINNING)
    assert then == await suggestions.get(root, made.id) == now
    assert await suggestions.of_run(root, RUN) == now


async def test_of_each_plan_the_latest_word_is_known(
    suggestions: Suggestions, root: Principal, bob: Principal
) -> None:
    one, two = (a_past_plan(root, intent).id for intent in ("one", "two"))
    early, late = a_suggestion(root, "early", past=[one, two]), a_suggestion(root, "l", past=[one])
    for each in (late, early, a_suggestion(root, "open", past=[one])):
        await suggestions.keep(root, each)
    await suggestions.settle(root, early.id, Outcome.REJECTED, BEGINNING)
    await suggestions.settle(root, late.id, Outcome.ACCEPTED, LATER)

    said = await suggestions.words_on(root, [one, two])

    assert said == {one: Outcome.ACCEPTED, two: Outcome.REJECTED}
    assert await suggestions.words_on(root, []) == {}
    assert await suggestions.words_on(bob, [one, two]) == {}


@pytest.mark.requirement("guard:spaces:walls")
async def test_a_suggestion_is_there_for_whoever_it_was_made_for_alone(
    doors: Doors, root: Principal, bob: Principal
) -> None:
    suggestions, acme = doors.suggestions, await doors.founded("acme")
    made, high = a_suggestion(root), a_suggestion(root, "high", label=TEAM)
    nobodys = SuggestionId.mint(BEGINNING, SeededEntropy("nobody's"))
    below = replace(root, clearance=Label(Level.TEAM))
    await suggestions.keep(root, made)
    await suggestions.keep(replace(root, clearance=TEAM), high)
    settled = await suggestions.settle(root, made.id, Outcome.ACCEPTED, BEGINNING, RUN)

    for who, which in ((bob, made.id), (acme, made.id), (root, nobodys), (below, high.id)):
        with pytest.raises(SuggestionNotFound):
            await suggestions.get(who, which)
        with pytest.raises(SuggestionNotFound):
            await suggestions.settle(who, which, Outcome.REJECTED, BEGINNING)
    for who, run in ((bob, RUN), (acme, RUN), (root, OTHER_RUN)):
        with pytest.raises(NothingSuggested):
            await suggestions.of_run(who, run)
    assert await suggestions.latest(bob, 10) == await suggestions.latest(acme, 10) == []
    assert await suggestions.get(root, made.id) == settled
    with pytest.raises(REFUSED):
        await suggestions.keep(below, a_suggestion(root, "another", label=TEAM))


def test_what_nobody_took_up_in_its_hour_is_unclaimed() -> None:
    made = a_suggestion(as_principal(an_identity("ana")))

    assert made.outcome_at(BEGINNING) is None
    assert made.outcome_at(LATER) is Outcome.UNCLAIMED
    assert replace(made, outcome=Outcome.REJECTED).outcome_at(LATER) is Outcome.REJECTED


async def test_the_same_plan_again_is_one_that_was_run_more_often(
    plans: PastPlanStore, root: Principal
) -> None:
    plan = a_past_plan(root, "tidy \ufffd the notes")
    await plans.learn(root, plan)
    assert await plans.latest(root, 10, 10) == [plan]

    await plans.learn(root, replace(plan, last_at=LATER, accepted=1))

    [found] = await plans.latest(root, 10, 10)
    assert (found.runs, found.accepted, found.last_at) == (2, 1, LATER)


async def test_the_lately_used_come_first_and_nobody_else_takes_all_the_room(
    plans: PastPlanStore, root: Principal, bob: Principal
) -> None:
    """Its words are told to the author of a plan alone."""
    for hour, intent in enumerate(("one", "two", "three")):
        at = BEGINNING + hour * HOUR
        await plans.learn(root, a_past_plan(root, intent, at=at))
        await plans.learn(bob, a_past_plan(bob, intent, at=at + 10 * HOUR))

    found = await plans.latest(root, 5, 2)

    assert [plan.principal for plan in found] == [bob.id] * 2 + [root.id] * 3
    assert [plan.intent for plan in found] == ["", "", "three", "two", "one"]
    assert [plan.last_at.hour for plan in found] == [12, 11, 2, 1, 0]
    assert len(await plans.latest(root, 2, 10)) == 2
    hidden = replace(a_past_plan(bob, "three", at=BEGINNING + 12 * HOUR), intent="")
    assert found[0] == hidden


@pytest.mark.requirement("guard:spaces:walls")
async def test_what_is_above_somebody_or_elsewhere_is_not_there_for_them_nor_judged_by_them(
    doors: Doors, root: Principal
) -> None:
    plans, acme = doors.past_plans, await doors.founded("acme")
    cleared, below = (replace(root, clearance=label) for label in (TEAM, Label(Level.TEAM)))
    plan = a_past_plan(root, label=TEAM)
    await plans.learn(cleared, plan)

    for who in (below, acme):
        assert await plans.latest(who, 10, 10) == []
        await plans.judge(who, [plan.id], Outcome.REJECTED, before=None)
    assert [found.rejected for found in await plans.latest(cleared, 10, 10)] == [0]
    with pytest.raises(REFUSED):
        await plans.learn(below, a_past_plan(root, "again", label=TEAM))


async def test_what_is_said_of_a_plan_is_counted_and_may_be_taken_back(
    plans: PastPlanStore, root: Principal
) -> None:
    plan, other = a_past_plan(root), a_past_plan(root, "another")
    for each in (plan, other):
        await plans.learn(root, each)

    await plans.judge(root, [plan.id], Outcome.ACCEPTED, before=None)
    await plans.judge(root, [plan.id], Outcome.REJECTED, before=Outcome.ACCEPTED)
    await plans.judge(root, [plan.id], Outcome.MODIFIED, before=Outcome.ACCEPTED)

    counts = {
        found.id: (found.accepted, found.rejected, found.modified)
        for found in await plans.latest(root, 10, 10)
    }
    assert counts == {plan.id: (0, 1, 1), other.id: (0, 0, 0)}


def test_the_same_words_of_another_are_another_plan() -> None:
    one, other = as_principal(an_identity("one")), as_principal(an_identity("other"))
    ids = {
        PastPlanId.of(who.space, who.id, label, "tidy")
        for who in (one, other)
        for label in (Label(Level.PUBLIC), TEAM)
    }
    assert len(ids) == 4


async def test_a_saved_workflow_comes_back_as_it_was_written_last(
    saved: SavedWorkflows, root: Principal
) -> None:
    """With the day on which it was first saved; they are listed by name."""
    arguments: JsonObject = {"z": 1.0, "a": "\0 \ud800"}
    first = a_saved_workflow("tidy", {"steps": [], "odd": arguments})
    day = BEGINNING + timedelta(days=1)
    anew = replace(
        a_saved_workflow(description="Otherwise.", effect=Effect.IRREVERSIBLE),
        saved_at=day,
        changed_at=day,
    )

    await saved.put(root, first)
    found = await saved.get(root, "tidy")
    assert found == first
    assert isinstance(found.plan["odd"], Mapping)
    assert [*found.plan["odd"]] == ["z", "a"]

    await saved.put(root, anew)
    assert await saved.all(root) == [replace(anew, saved_at=BEGINNING)]
    for name in ("b", "B"):
        await saved.put(root, a_saved_workflow(name))
    assert [each.name for each in await saved.all(root)] == ["B", "b", "tidy"]

    await saved.remove(root, "tidy")
    assert [each.name for each in await saved.all(root)] == ["B", "b"]
    with pytest.raises(WorkflowNotFound):
        await saved.remove(root, "tidy")
    with pytest.raises(WorkflowNotFound):
        await saved.get(root, "no\0such")


@pytest.mark.requirement("guard:spaces:walls")
async def test_another_space_neither_sees_nor_removes_a_workflow(
    doors: Doors, root: Principal
) -> None:
    saved, acme = doors.saved, await doors.founded("acme")
    await saved.put(root, a_saved_workflow())
    await saved.put(acme, a_saved_workflow("other"))

    with pytest.raises(WorkflowNotFound):
        await saved.remove(acme, "tidy")

    assert [each.name for each in await saved.all(acme)] == ["other"]
    assert [each.name for each in await saved.all(root)] == ["tidy"]


@pytest.mark.requirement("guard:spaces:export")
async def test_they_are_taken_along_in_ones_own_words_and_go_with_their_space(
    doors: Doors, root: Principal, bob: Principal
) -> None:
    made, workflow, mine = a_suggestion(root), a_saved_workflow(), a_past_plan(root, "mine")
    await doors.suggestions.keep(root, made)
    await doors.saved.put(root, workflow)
    await doors.past_plans.learn(root, mine)
    await doors.past_plans.learn(bob, a_past_plan(bob, "theirs"))

    rows = [row async for row in doors.spaces.export(root)]
    await doors.spaces.delete(root)

    columns = {
        "suggestion": ["suggestion_id"],
        "saved_workflow": ["name", "plan"],
        "past_plan": ["intent", "steps"],
    }
    found = {row.table: [row.values[c] for c in columns.get(row.table, ())] for row in rows}
    assert [row.table for row in rows].count("past_plan") == 1
    assert {table: found[table] for table in columns} == {
        "suggestion": [str(made.id.value)],
        "saved_workflow": ["tidy", workflow.plan],
        "past_plan": ["mine", mine.steps],
    }
    assert await doors.suggestions.latest(root, 10) == []
    assert await doors.saved.all(root) == []
    assert await doors.past_plans.latest(root, 10, 10) == []
    for refused in (
        doors.suggestions.keep(root, made),
        doors.saved.put(root, workflow),
        doors.past_plans.learn(root, mine),
    ):
        with pytest.raises(REFUSED):
            await refused
