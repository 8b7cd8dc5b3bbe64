"""Who says what they want is shown a plan, and what it reads first is under way if it is sure."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.guard.core.errors import NotPermitted
from portico.guard.core.principals import Scope
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, Level
from portico.learning.core.intents import HIGHEST, LOWEST, START
from portico.learning.core.observed_calls import Origin, Source
from portico.learning.core.past_plans import PastPlanId, StoredPlan
from portico.learning.core.suggestions import InvalidIntent, Mode
from portico.learning.suggestions import OfferedTools
from portico.testing.gateway import an_approved_server
from portico.testing.guard import MemoryTaskContexts
from portico.workflows.core.plan_learning import PlanEnd
from tests.learning.suggest.suggest_room import (
    ANOTHER,
    INTENT,
    READ,
    WRITE,
    NoEmbedder,
    SuggestRoom,
)
from tests.workflows.plan_room import ANA, plan

SECRET = Label(Level.CONFIDENTIAL)


@pytest.mark.requirement("seed001:12")
async def test_what_nothing_fits_has_to_be_said_explicitly(room: SuggestRoom) -> None:
    for id_ in [*room.world.servers]:
        room.world.tools[id_] = []

    made = await room.suggested("book a table for two")

    assert (made.mode, made.id, made.plan) == (Mode.EXPLICIT_REQUIRED, None, None)
    assert room.world.suggestions == {}


async def test_what_is_not_found_and_nobody_did_before_is_not_guessed(room: SuggestRoom) -> None:
    nonsense = await room.suggested("xyzzy")
    await room.learnt(1, intent="xyzzy /notes/a.md")
    known = await room.suggested("xyzzy /notes/b.md")

    assert (nonsense.mode, nonsense.plan) == (Mode.EXPLICIT_REQUIRED, None)
    assert "Say more exactly" in nonsense.suggested.rationale
    assert nonsense.as_json()["steps"] == []
    assert known.plan is not None


@pytest.mark.requirement("seed001:12")
async def test_what_went_well_before_is_suggested_with_the_values_of_now(room: SuggestRoom) -> None:
    await room.learnt()

    made = await room.suggested(ANOTHER)

    assert made.mode is Mode.SUGGESTION
    assert made.plan == {
        "steps": [
            {"id": "read", "tool": "files.read", "arguments": {"path": "/notes/b.md"}},
            {
                "id": "write",
                "tool": "files.write",
                "arguments": {"path": {"$from": "read.json.path"}},
                "after": ["read"],
            },
        ]
    }
    assert made.threshold == START
    assert [*made.staged] == ["write"]
    assert room.said == [ANOTHER]
    assert room.wanted == []
    assert made.expires_at is not None


@pytest.mark.requirement("seed001:12")
async def test_what_was_accepted_often_is_read_ahead_and_nothing_written(room: SuggestRoom) -> None:
    await room.learnt()
    await room.accepted(25)
    made_before = dict(room.made)
    room.wanted.clear()

    made = await room.suggested()

    assert made.mode is Mode.RAN_AHEAD
    assert LOWEST <= made.threshold < START
    assert made.suggested.confidence >= made.threshold
    assert [*made.ahead] == ["read"]
    assert [str(wanted.ref) for wanted in room.wanted] == ["files.read"]
    assert room.wanted[0].arguments == {"path": "/notes/b.md"}
    assert room.wanted[0].sources == {"path": {Source(Origin.WORDS)}}
    assert dict(room.made) == made_before


@pytest.mark.requirement("seed001:11")
async def test_where_nothing_can_be_read_ahead_it_is_a_suggestion(room: SuggestRoom) -> None:
    await room.learnt()
    await room.accepted(25)
    room.takes = False

    made = await room.suggested()

    assert (made.mode, [*made.ahead]) == (Mode.SUGGESTION, [])
    assert made.id is not None


async def test_for_whoever_may_only_look_nothing_is_read_ahead(room: SuggestRoom) -> None:
    await room.learnt()
    await room.accepted(25)
    room.wanted.clear()
    looking = replace(await room.bot(), scopes=frozenset({Scope.TOOLS_READ}))

    made = await room.suggested(by=looking)

    assert made.mode is Mode.SUGGESTION
    assert room.wanted == []


async def test_whoever_may_not_look_for_tools_is_suggested_none(room: SuggestRoom) -> None:
    blind = replace(await room.bot(), scopes=frozenset({Scope.TOOLS_CALL}))

    with pytest.raises(NotPermitted):
        await room.suggested(by=blind)


@pytest.mark.parametrize("intent", ["", " \n ", "x" * 2_001])
async def test_nothing_and_too_much_are_no_intent(intent: str) -> None:
    with pytest.raises(InvalidIntent):
        await SuggestRoom().suggested(intent)


async def test_who_leaves_a_suggestion_raises_how_sure_the_next_must_be(room: SuggestRoom) -> None:
    await room.learnt()
    await room.accepted(30)
    accepted = (await room.suggested()).threshold

    for _ in range(6):
        room.clock.turn(timedelta(minutes=61))
        left = await room.suggested()

    assert accepted < left.threshold <= HIGHEST


async def test_what_was_learnt_above_somebody_is_neither_shown_nor_used(room: SuggestRoom) -> None:
    await room.learnt()
    for place, past in [*room.world.past_plans.items()]:
        room.world.past_plans[place] = replace(past, label=SECRET)

    below = await room.suggested(by=replace(await room.bot(), clearance=PUBLIC))

    assert below.suggested.past == []


async def test_who_is_shown_what_secret_work_has_taught_has_taken_it_in(room: SuggestRoom) -> None:
    await room.learnt()
    for place, past in [*room.world.past_plans.items()]:
        room.world.past_plans[place] = replace(past, label=SECRET)
    cleared = replace(await room.bot(), clearance=SECRET)

    made = await room.suggested(by=cleared)

    assert made.suggested.past != []
    assert (await MemoryTaskContexts(room.world).get(cleared)).label == SECRET
    [kept] = room.world.suggestions.values()
    assert kept.label == SECRET


async def test_a_secret_plan_for_something_else_makes_no_task_secret(room: SuggestRoom) -> None:
    await room.learnt(intent="water the flowers in the garden of my aunt")
    for place, past in [*room.world.past_plans.items()]:
        room.world.past_plans[place] = replace(past, label=SECRET)
    cleared = replace(await room.bot(), clearance=SECRET)

    await room.suggested("list the invoices of march", by=cleared)

    assert (await MemoryTaskContexts(room.world).get(cleared)).label == PUBLIC


async def test_others_are_suggested_what_went_well_and_not_by_whom(room: SuggestRoom) -> None:
    await room.learnt(intent="fire anna: copy the note /notes/a.md")

    made = await room.suggested("copy the note /notes/b.md", by=ANA)

    assert made.plan is not None
    assert len(made.suggested.past) == 1
    assert "anna" not in str(made.as_json())


async def test_what_is_missing_is_an_input_of_the_plan(room: SuggestRoom) -> None:
    usual: JsonObject = {"id": "one", "tool": "files.read", "arguments": {"path": "/usual.md"}}
    await room.learnt(plan={"steps": [usual]}, intent="read the usual note")
    room.made.clear()

    made = await room.suggested("read the usual note")

    assert made.plan is not None
    assert made.plan["required"] == ["read_path"]
    assert [*made.needs] == ["read_path"]
    started = await room.begun(suggestion=made.id, inputs={"read_path": "/else"})
    assert (await room.show(started.run.id)).status == "done"
    assert room.made["read /else"] == 1


async def test_without_vectors_ones_own_words_are_compared(room: SuggestRoom) -> None:
    await room.learnt()
    gather = replace(room.suggest_workflow.gather, embedder=NoEmbedder())
    room.suggest_workflow = replace(room.suggest_workflow, gather=gather)

    made = await room.suggested(ANOTHER)

    assert [step.tool for step in made.suggested.steps] == ["files.read", "files.write"]
    assert made.suggested.past != []


MANY = ["".join(letters) for letters in product("abcdefghijklmnop", repeat=3)]


@pytest.mark.parametrize(
    "steps",
    [
        [{"id": f"s{number}", "tool": "files.read", "arguments": {}} for number in range(13)],
        [{"id": "s", "tool": "files.read", "arguments": dict.fromkeys(MANY)}],
    ],
)
async def test_a_plan_that_is_longer_than_any_that_is_suggested_is_not_kept(
    room: SuggestRoom, steps: list[JsonObject]
) -> None:
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
    await room.lessons.flush()

    assert room.world.past_plans == {}


async def test_one_author_does_not_outvote_everybody(room: SuggestRoom) -> None:
    await room.learnt(1)
    [(place, plan)] = room.world.past_plans.items()
    for number in range(30):
        theirs = replace(plan, id=PastPlanId.of(*_who(plan), "x" * number), principal=ANA.id)
        room.world.past_plans[place[0], theirs.id] = theirs

    made = await room.suggested(by=await room.bot())

    assert len(made.suggested.past) == 1 + 8


def _who(plan: StoredPlan) -> tuple[SpaceId, PrincipalId, Label]:
    return ANA.space, plan.principal, plan.label


async def test_nobody_has_so_many_kept_that_others_lack_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.learning.suggestions._KEPT", 2)
    room = SuggestRoom()
    await room.learnt()

    made = [await room.suggested() for _ in range(3)]
    room.clock.turn(timedelta(minutes=61))
    later = await room.suggested()

    assert [each.id is None for each in (*made, later)] == [False, False, True, False]
    assert made[2].plan == made[1].plan


def test_each_has_its_parameters_and_its_effect_and_what_is_not_there_is_not() -> None:
    tools = OfferedTools(
        CatalogSnapshot.of([an_approved_server("files")], {"files": [READ, WRITE]})
    )

    read = tools["files.read"]

    assert (read.effect, [each.name for each in read.required]) == (Effect.LOCAL_READ, ["path"])
    assert tools["files.read"] is read
    assert list(tools) == ["files.read", "files.write"]
    assert len(tools) == 2
    assert "files.gone" not in tools
    assert "no tool" not in tools
