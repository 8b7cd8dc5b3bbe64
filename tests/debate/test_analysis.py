"""A task is cut into questions, each debated for itself, and brought together."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from portico.debate.core.conduct import verdict_words
from portico.debate.core.debaters import DebaterKind, DebaterReply, DebaterRequest
from portico.debate.core.debates import DebateStatus, NoteKind, OutcomeSpec, ReplaySpec, Why
from portico.debate.core.errors import DebaterUnavailable, InvalidDebate
from portico.debate.core.events import PartStarted
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.engine.core.runs import RunStatus
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.debate_fakes import ScriptedDebater, a_reply, a_vote
from tests.debate.room import ANA, Room, decision_of, put

PARTS: list[dict[str, Any]] = [
    {"question": "Is the roof sound?", "kind": "yes_no", "role": "security"},
    {"question": "Which colour?", "kind": "choice", "choices": ["yes", "blue"]},
    {"question": "What else", "kind": "open", "role": "nobody"},
]


def a_room(*names: str, parts: list[Any] | None = None) -> Room:
    planned = PARTS if parts is None else parts
    return Room(
        *[ScriptedDebater(name=name, parts=planned) for name in names or ("a:1", "b:1", "c:1")]
    )


@pytest.fixture
def room() -> Room:
    """Three voices, which plan three parts."""
    return a_room()


async def test_each_part_is_a_debate_of_its_own_and_the_text_is_out_of_all(room: Room) -> None:
    whole = await room.held("Look into the house.", analyze=True)

    its = whole.debate
    parts = await room.look.parts(ANA, its.id)
    assert its.status is DebateStatus.DECIDED
    assert its.decision is not None
    assert its.decision.answer == "All in one."
    assert [part.question.text for part in parts] == [each["question"] for each in PARTS]
    assert [part.question.kind for part in parts] == [
        QuestionKind.YES_NO,
        QuestionKind.CHOICE,
        QuestionKind.OPEN,
    ]
    assert [part.rules.preset for part in parts] == [Preset.VOTE, Preset.VOTE, Preset.DEBATE]
    assert parts[0].debaters[0].personas == ("security",)
    assert all(part.status is DebateStatus.DECIDED for part in parts)
    assert its.id not in {each.id for each in await room.look.page(ANA)} - {its.id}
    assert len(await room.look.page(ANA)) == 1
    began = [told.question for told in room.told(its.id) if isinstance(told, PartStarted)]
    assert began == [each["question"] for each in PARTS]


async def test_an_analysis_and_its_parts_stay_within_its_budget(room: Room) -> None:
    full = await room.held("Look into the house.", analyze=True)
    tight = Cap(tokens=max(full.debate.spent.tokens // 2, 3_600))

    whole = await room.held("Look into the house again.", analyze=True, cap=tight)

    assert tight.tokens is not None
    assert whole.debate.spent.tokens <= tight.tokens
    assert (await room.purse.committed(ANA, whole.debate.id)).tokens <= tight.tokens
    parts = await room.look.parts(ANA, whole.debate.id)
    assert 1 <= len(parts) < 3
    left_out = [note for note in whole.notes if note.name.startswith("skipped:part:")]
    assert len(left_out) == 3 - len(parts)
    assert sum(part.cap.tokens or 0 for part in parts) <= tight.tokens


async def test_where_nobody_makes_a_plan_the_task_is_one_question() -> None:
    room = a_room(parts=["", 7])

    whole = await room.held("Look into it", analyze=True)

    [part] = await room.look.parts(ANA, whole.debate.id)
    assert part.question.text == "Look into it"
    assert whole.debate.status is DebateStatus.DECIDED


async def test_where_nobody_writes_the_text_what_came_out_is_listed(room: Room) -> None:
    for voice in room.voices.debaters.values():
        voice.text = ""

    whole = await room.held("Look into the house.", analyze=True)

    answer = decision_of(whole).answer or ""
    assert answer.startswith("1. Is the roof sound?\n   Decided: yes")


async def test_a_part_that_is_not_decided_is_said_to_be_open() -> None:
    room = a_room("a:1", "b:1", parts=[PARTS[0], {"question": "Is it dry?", "kind": "yes_no"}])
    room.voices.debaters["b:1"].answer = "no"

    whole = await room.held("Look into the house.", analyze=True, preset=Preset.QUORUM)

    assert decision_of(whole).answer is None
    assert "Not decided:\n- Is the roof sound?" in (decision_of(whole).synthesis or "")
    assert decision_of(whole).dissent == ()
    assert "none of its parts" in verdict_words(whole.debate.decision, whole.debate.status)
    assert decision_of(whole).why is Why.NO_ANSWERS
    assert whole.debate.status is DebateStatus.NO_DECISION


async def test_a_text_names_what_was_not_decided() -> None:
    split = {"question": "Is it dry?", "kind": "yes_no"}
    room = a_room("a:1", "b:1", parts=[PARTS[0], split])

    async def contrary(ask: DebaterRequest) -> DebaterReply:
        return a_reply(a_vote("no" if "Is it dry?" in ask.prompt else "yes"))

    room.voices.debaters["b:1"].says = contrary

    whole = await room.held("Look into the house.", analyze=True)

    assert decision_of(whole).answer == "All in one.\n\nNot decided:\n- Is it dry?"


async def test_an_analysis_that_is_stopped_ends_with_all_its_parts(room: Room) -> None:
    debate = await room.begin("Look into the house.", analyze=True)
    await room.stop(ANA, debate.id)

    ended = await room.leg(debate)

    assert ended.status is RunStatus.DONE
    whole = await room.whole(debate.id)
    assert whole.debate.status is DebateStatus.STOPPED
    assert room.voices.asks == []


async def test_stopping_a_part_stops_the_analysis(room: Room) -> None:
    whole = await room.held("Look into the house.", analyze=True)
    [part, *_] = await room.look.parts(ANA, whole.debate.id)

    with pytest.raises(InvalidDebate, match="is a part of"):
        await room.remove(ANA, part.id)
    await room.remove(ANA, whole.debate.id)
    assert room.logs.files == {}


async def test_where_every_voice_is_gone_an_analysis_still_ends(room: Room) -> None:
    for voice in room.voices.debaters.values():
        voice.says = DebaterUnavailable(voice.name, "gone.")

    whole = await room.held("Look into the house.", analyze=True)

    assert whole.debate.status is DebateStatus.NO_DECISION
    assert NoteKind.FAILED in {note.kind for note in whole.notes}


async def test_an_analysis_is_marked_and_replayed_by_its_parts(room: Room) -> None:
    whole = await room.held("Look into the house.", analyze=True)

    with pytest.raises(InvalidDebate, match="no one answer"):
        await room.mark(ANA, whole.debate.id, OutcomeSpec(right=True))
    with pytest.raises(InvalidDebate, match="not decided by votes"):
        await room.replay(ANA, whole.debate.id, ReplaySpec())
    [part, *_] = await room.look.parts(ANA, whole.debate.id)
    assert (await room.replay(ANA, part.id, ReplaySpec())).now == part.decision


async def test_a_part_that_breaks_is_one_part_less(room: Room) -> None:
    debate = await room.begin("Look into the house.", analyze=True)
    real = room.blackboard.end

    async def broken(caller: Any, which: Any, *args: Any, **named: Any) -> Any:
        its = await room.whole(which)
        if its.debate.question.text == "Which colour?" and its.debate.decision is None and args[1]:
            raise DebaterUnavailable("x", "broken")
        return await real(caller, which, *args, **named)

    put(room.blackboard, "end", broken)
    await room.leg(debate)

    parts = await room.look.parts(ANA, debate.id)
    assert [part.status for part in parts] == [
        DebateStatus.DECIDED,
        DebateStatus.FAILED,
        DebateStatus.DECIDED,
    ]
    assert (await room.whole(debate.id)).debate.status is DebateStatus.DECIDED


@pytest.mark.parametrize("fault", ["a door", "a fault of ours"])
async def test_an_analysis_that_cannot_go_on_fails(room: Room, fault: str) -> None:
    debate = await room.begin("Look into the house.", analyze=True)

    async def refuses(*_: object) -> object:
        raise DebaterUnavailable("x", "x")

    if fault == "a door":
        put(room.blackboard, "note", refuses)
    else:
        put(room.outcomes, "known", None)
    run = await room.leg(debate)

    assert run.status is RunStatus.FAILED
    assert (await room.whole(debate.id)).debate.status is DebateStatus.FAILED


async def test_what_an_agent_reads_in_one_part_is_told_to_nobody_who_is_not_cleared() -> None:
    secret, low = Label(Level.CONFIDENTIAL), Label(Level.TEAM)

    async def reads(ask: DebaterRequest) -> DebaterReply:
        await room.tasks.read(replace(ANA, context=debate.context), secret, untrusted=True)
        await asyncio.sleep(0)
        return a_reply(a_vote("yes"), label=secret, untrusted=True)

    room = Room(
        ScriptedDebater(name="agent:x", says=reads, changes={"kind": DebaterKind.AGENT}),
        ScriptedDebater(name="b:1", parts=PARTS[:2], changes={"clearance": low}),
    )
    debate = await room.begin("Look into the house.", analyze=True, debaters=("agent:x", "b:1"))

    ended = await room.leg(debate)

    assert ended.status is RunStatus.DONE
    whole = await room.whole(debate.id)
    assert whole.debate.status.over
    assert whole.debate.label == secret
    parts = await room.look.parts(ANA, debate.id)
    assert all(part.status.over for part in parts)
    told = [ask for ask in room.voices.asks if ask.debater.name != "agent:x"]
    assert all(ask.label == PUBLIC for ask in told)
    assert not [ask for ask in told if ask.key.endswith(":synthesis")]
