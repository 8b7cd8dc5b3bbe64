"""The story of a debate, told with voices that say what they are told to, or nothing."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from portico.debate.core import canonical_answers as canonical_of
from portico.debate.core.debaters import DebaterKind, DebaterReply, DebaterRequest
from portico.debate.core.debates import (
    DebateId,
    DebateSpec,
    DebateStatus,
    Note,
    NoteKind,
    Verdict,
    Why,
)
from portico.debate.core.errors import DebaterInterrupted, DebaterNotCleared, DebaterUnavailable
from portico.debate.core.events import (
    DebateEnded,
    DebateProgress,
    DebaterAnswered,
    DebaterAsked,
    DebaterFailed,
    RoundStarted,
    Skipped,
)
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind
from portico.engine.core.runs import RunStatus
from portico.kernel.budget import Cost, Tokens
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.debate_fakes import ScriptedDebater, a_reply, a_vote
from portico.testing.memory_store import RowRefused
from tests.debate.room import ANA, Room, decision_of, put, some
from tests.debate.virtual_time import LoopClock, in_no_time


def split() -> list[ScriptedDebater]:
    return [ScriptedDebater(name="a:1"), ScriptedDebater(name="b:1", answer="no")]


def names(room: Room) -> list[str]:
    return [key for _, key in room.voices.asked]


async def test_a_pair_that_agrees_is_enough_and_a_split_one_is_widened() -> None:
    room = Room(*some("a:1", "a:2", "b:1", "c:1"))

    whole = await room.held("Is it so?", thoroughness=0.0)

    assert whole.debate.status is DebateStatus.DECIDED
    assert decision_of(whole).answer == "yes"
    assert names(room) == ["said:1:a:1", "said:1:b:1"]
    assert decision_of(whole).saved_tokens > 0

    room = Room(*split(), *some("c:1", "d:1"))

    whole = await room.held("Is it so?")

    assert names(room)[:3] == ["said:1:a:1", "said:1:b:1", "said:1:c:1"]
    assert decision_of(whole).answer == "yes"
    [dissent] = decision_of(whole).dissent
    assert (dissent.shown, dissent.debaters) == ("no", ("b:1",))


async def test_a_voice_that_is_away_is_left_out_and_another_takes_its_place() -> None:
    away = ScriptedDebater(name="a:1", says=DebaterUnavailable("a:1", "nobody answers."))
    room = Room(away, *some("b:1", "c:1"))

    whole = await room.held("Is it so?")

    [failed] = [note for note in whole.notes if note.kind is NoteKind.FAILED]
    assert (failed.name, failed.body["code"], failed.cost) == (
        "said:1:a:1",
        "voice_away",
        Cost(),
    )
    assert whole.debate.status is DebateStatus.DECIDED
    assert any(isinstance(told, DebaterFailed) for told in room.told(whole.debate.id))


@pytest.mark.parametrize(
    ("says", "why", "shown", "asked"),
    [
        (("yes", "I cannot say at all."), Why.ALONE, ["yes"], 2),
        (
            (DebaterUnavailable("a:1", "gone."), DebaterUnavailable("b:1", "gone.")),
            Why.NO_ANSWERS,
            [],
            2,
        ),
    ],
)
async def test_where_one_answers_or_nobody_there_is_no_decision(
    says: tuple[str | Exception, ...], why: Why, shown: list[str], asked: int
) -> None:
    voices = [
        ScriptedDebater(name=n, says=each) for n, each in zip(("a:1", "b:1"), says, strict=True)
    ]

    decision = decision_of(await Room(*voices).held("Is it so?"))

    assert (decision.verdict, decision.why, decision.asked) == (Verdict.NO_DECISION, why, asked)
    assert [option.shown for option in decision.options] == shown


async def test_an_answer_that_is_none_of_the_choices_is_told_as_such_and_paid_for() -> None:
    room = Room(ScriptedDebater(name="a:1", answer="elephant"), *some("b:1", "c:1", answer="B"))

    whole = await room.held("Which?", choices=("red", "blue"))

    [failed] = [note for note in whole.notes if note.kind is NoteKind.FAILED]
    assert failed.body["why"] == "answered 'elephant', which is none of the choices."
    assert failed.cost.tokens > 0
    assert decision_of(whole).answer == "blue"
    standings = [told for told in room.told(whole.debate.id) if isinstance(told, DebateProgress)]
    assert standings[-1].spent_tokens == whole.debate.spent.tokens


async def test_a_split_debate_has_one_critique_round_and_both_are_pooled() -> None:
    voices = [
        ScriptedDebater(name="a:1", answer="yes", again="no"),
        ScriptedDebater(name="b:1", answer="no"),
    ]
    room = Room(*voices)

    whole = await room.held("Is it so?", preset=Preset.DEBATE, thoroughness=0.5)

    assert names(room) == ["said:1:a:1", "said:1:b:1", "said:2:a:1", "said:2:b:1"]
    assert decision_of(whole).answer == "no"
    rounds = [told for told in room.told(whole.debate.id) if isinstance(told, RoundStarted)]
    assert [told.round for told in rounds] == [1, 2]


async def test_a_voice_that_names_no_error_keeps_its_first_answer() -> None:
    async def turns(ask: DebaterRequest) -> DebaterReply:
        return a_reply(a_vote("no" if "said:2" in ask.key else "yes"))

    room = Room(ScriptedDebater(name="a:1", says=turns), ScriptedDebater(name="b:1", answer="no"))

    whole = await room.held("Is it so?", preset=Preset.DEBATE, thoroughness=0.5)

    said = {note.name: note.body for note in whole.notes if note.kind is NoteKind.SAID}
    assert (said["said:2:a:1"]["answer"], said["said:2:a:1"]["shown"]) == ("no", "yes")
    assert decision_of(whole).why is Why.TIE


async def test_the_critique_round_is_given_up_first_where_the_budget_is_short() -> None:
    room = Room(*split())
    needed = (await room.estimate(ANA, _wish(preset=Preset.DEBATE))).most_tokens

    whole = await room.held(
        "Is it so?", preset=Preset.DEBATE, thoroughness=0.5, cap=Cap(tokens=needed // 2)
    )

    skipped = [note.body for note in whole.notes if note.kind is NoteKind.SKIPPED]
    assert [(each["what"], each["why"]) for each in skipped] == [("critique", "budget")]
    assert any(isinstance(told, Skipped) for told in room.told(whole.debate.id))


def _wish(**wish: Any) -> DebateSpec:
    return DebateSpec(question="Is it so?", thoroughness=0.5, **wish)


async def test_where_nothing_else_fits_a_voice_is_asked_with_less_of_the_material() -> None:
    room = Room(*split(), *some("c:1"))
    material = "word " * 2_000
    pair = 2 * (await room.estimate(ANA, _wish(material=material))).debaters[0].tokens
    spent = 2 * (2_000 + 150)

    whole = await room.held(
        "Is it so?", material=material, cap=Cap(tokens=pair + 100), thoroughness=0.5
    )

    third = [ask for ask in room.voices.asks if ask.debater.name == "c:1"]
    assert pair > spent
    assert len(third) == 1
    assert "more characters are left out" in third[0].prompt
    assert whole.debate.spent.tokens <= pair + 100


async def test_it_decides_with_the_votes_in_hand_when_the_budget_is_spent() -> None:
    room = Room(*split(), *some("c:1"))
    row = (await room.estimate(ANA, _wish())).debaters[0]

    async def long(_ask: DebaterRequest) -> DebaterReply:
        return a_reply(a_vote("yes"), prompt=10**6, output=10**6)

    for voice in room.voices.debaters.values():
        voice.says = long
    room.voices.debaters["b:1"].says = DebaterInterrupted(
        "b:1", "it broke.", Cost(tokens=Tokens(10**9))
    )

    whole = await room.held("Is it so?", cap=Cap(tokens=2 * row.tokens + 10))

    assert decision_of(whole).why is Why.BUDGET
    assert whole.debate.spent.tokens <= 2 * row.tokens + 10


async def test_a_server_is_not_believed_beyond_what_was_reserved() -> None:
    async def lies(_ask: DebaterRequest) -> DebaterReply:
        return a_reply(a_vote("yes"), prompt=10**9, output=10**9, cost=Cost(tokens=Tokens(10**9)))

    room = Room(ScriptedDebater(name="a:1", says=lies), *some("b:1"))

    whole = await room.held("Is it so?")

    reserved = {told.voice: told.reserved_tokens for told in _asked(room, whole.debate.id)}
    said = {note.voice: note for note in whole.notes if note.kind is NoteKind.SAID}
    assert said["a:1"].cost.tokens == reserved["a:1"]
    assert said["a:1"].overrun == 0


async def test_the_overrun_of_a_voice_without_a_maximum_is_shown() -> None:
    async def much(_ask: DebaterRequest) -> DebaterReply:
        return a_reply(a_vote("yes"), prompt=50, output=5_000)

    wild = ScriptedDebater(
        name="p:1", says=much, changes={"bounded": False, "kind": DebaterKind.PROGRAM}
    )
    room = Room(wild, *some("b:1"))

    whole = await room.held("Is it so?", debaters=("p:1", "b:1"), unbounded=True)

    [note] = [note for note in whole.notes if note.overrun]
    assert note.voice == "p:1"
    assert note.cost.tokens > 5_000
    assert "more than reserved" in room.logs.files[whole.debate.id]


async def test_open_answers_are_compared_in_both_orders_and_brought_together() -> None:
    voices = [ScriptedDebater(name=f"{family}:1", answer=f"Text {family}") for family in "abc"]

    async def prefers_b(ask: DebaterRequest) -> DebaterReply:
        if "judged" not in ask.key:
            return a_reply(await _words(ask))
        first = ask.prompt.index("Answer A:")
        better = "A" if "Text b" in ask.prompt[first : ask.prompt.index("Answer B:")] else "B"
        return a_reply(f'{{"why": "it says more", "better": "{better}"}}')

    async def _words(ask: DebaterRequest) -> str:
        if "synthesis" in ask.key:
            return '{"text": "All together."}'
        return a_vote(f"Text {ask.debater.name[0]}")

    for voice in voices:
        voice.says = prefers_b
    room = Room(*voices)

    whole = await room.held("What should we do", thoroughness=0.5)

    decision = whole.debate.decision
    assert decision is not None
    assert decision.given_out is not None
    assert decision.given_out.shown == "Text b"
    assert decision.synthesis is not None
    assert decision.answer == decision.synthesis
    assert decision.synthesis.startswith("All together.")
    assert "- Text a" in decision.synthesis
    judged = [key for key in names(room) if key.startswith("judged")]
    assert {"judged:a:1:b:1", "judged:b:1:a:1"} <= set(judged)
    of_pair = [ask for ask in room.voices.asks if ask.key.endswith("judged:a:1:b:1")]
    assert [ask.debater.name for ask in of_pair] == ["c:1"]


async def test_answers_that_are_spelt_almost_alike_are_counted_as_one() -> None:
    room = Room(
        ScriptedDebater(name="a:1", answer="the municipal library"),
        ScriptedDebater(name="b:1", answer="the municipal librarys"),
        ScriptedDebater(name="c:1", answer="a school"),
    )

    whole = await room.held("Where was it?", kind=QuestionKind.TEXT)

    assert decision_of(whole).options[0].debaters == ("a:1", "b:1")


async def test_a_judge_is_asked_whether_answers_mean_the_same_only_where_it_matters() -> None:
    room = Room(
        ScriptedDebater(name="a:1", answer="NYC"),
        ScriptedDebater(name="b:1", answer="New York City"),
    )
    room.meaning.on = False

    whole = await room.held("Where was it?", kind=QuestionKind.TEXT)

    assert sum(key.startswith("same:") for key in names(room)) == 1
    assert decision_of(whole).options[0].debaters == ("a:1", "b:1")
    assert whole.debate.status is DebateStatus.DECIDED


async def test_a_specialists_veto_with_evidence_is_left_to_a_person() -> None:
    async def vetoes(_ask: DebaterRequest) -> DebaterReply:
        return a_reply(a_vote("yes", veto="it leaks keys", evidence=["line 4 prints one"]))

    guard = ScriptedDebater(name="a:1", says=vetoes)
    room = Room(guard, *some("b:1", "c:1"))

    whole = await room.held(
        "Is it safe?", preset=Preset.QUORUM, roles=("a:1=security",), thoroughness=0.5
    )

    assert whole.debate.status is DebateStatus.ESCALATED
    assert decision_of(whole).veto == "it leaks keys"


def test_a_voice_that_stalls_is_left_out_before_the_deadline() -> None:
    async def story() -> None:
        async def stalls(_ask: DebaterRequest) -> DebaterReply:
            await asyncio.sleep(10**6)
            raise AssertionError

        room = Room(
            ScriptedDebater(name="a:1", says=stalls), *some("b:1", "c:1"), clock=LoopClock()
        )
        whole = await room.held("Is it so?", deadline=timedelta(seconds=100))

        [failed] = [note for note in whole.notes if note.kind is NoteKind.FAILED]
        assert failed.body["code"] == "voice_late"
        assert failed.cost.tokens > 0  # nobody knows what it cost: all that was reserved
        assert whole.debate.ended_at is not None
        assert whole.debate.ended_at - whole.debate.started_at < timedelta(seconds=60)
        assert whole.debate.status is DebateStatus.DECIDED

    in_no_time(story())


def test_at_the_deadline_it_is_decided_with_the_votes_in_hand() -> None:
    async def story() -> None:
        async def late(ask: DebaterRequest) -> DebaterReply:
            await asyncio.sleep(10**6)
            raise AssertionError(ask.key)

        voices = [ScriptedDebater(name=f"{family}:1", says=late) for family in "abcdefgh"]
        room = Room(*voices, clock=LoopClock())
        whole = await room.held(
            "Is it so?", deadline=timedelta(seconds=60), debaters=tuple(room.voices.debaters)
        )

        assert decision_of(whole).why is Why.DEADLINE
        assert NoteKind.OVERDUE in {note.kind for note in whole.notes}
        assert whole.debate.ended_at == whole.debate.deadline

    in_no_time(story())


async def test_what_an_agent_has_read_raises_the_debate_and_leaves_out_who_is_not_cleared() -> None:
    secret = Label(Level.CONFIDENTIAL)

    async def reads(_ask: DebaterRequest) -> DebaterReply:
        return a_reply(a_vote("yes"), label=secret, untrusted=True)

    agent = ScriptedDebater(name="agent:x", says=reads, changes={"kind": DebaterKind.AGENT})
    team = {"clearance": Label(Level.TEAM)}
    room = Room(
        agent,
        ScriptedDebater(name="b:1", answer="no"),
        ScriptedDebater(name="c:1", changes=team),
    )

    whole = await room.held("Is it so?", debaters=("agent:x", "b:1", "c:1"))

    assert whole.debate.label == secret
    assert "said:1:c:1" not in names(room)
    assert room.talk.labels[whole.debate.id] == secret
    assert not [piece for piece in room.talk.spoken if piece.voice == "agent:x"]


async def test_what_was_said_is_in_its_notes_and_nowhere_in_the_journal() -> None:
    room = Room(*some("a:1", "b:1", answer="the-secret-word"))

    debate = await room.begin("What is the secret-question", kind=QuestionKind.TEXT)
    run = await room.leg(debate)

    journal = f"{run.input} {run.result} {await room.steps(debate)}"
    assert "secret" not in journal
    assert run.result == {"debate": str(debate.id)}
    assert {step.output for step in await room.steps(debate)} == {None}


async def test_a_debate_that_cannot_go_on_fails_without_a_word_of_it_in_the_run(room: Room) -> None:
    debate = await room.begin("Is it so?")

    async def refuses(*_: object) -> object:
        raise DebaterUnavailable("secret", "secret")

    put(room.blackboard, "note", refuses)
    run = await room.leg(debate)

    assert run.status is RunStatus.FAILED
    assert run.failure is not None
    assert "secret" not in run.failure.message
    assert (await room.whole(debate.id)).debate.status is DebateStatus.FAILED
    [ended] = [told for told in room.told(debate.id) if isinstance(told, DebateEnded)]
    assert ended.status == "failed"


async def test_each_answer_is_told_with_how_it_stands_then(room: Room) -> None:
    whole = await room.held("Is it so?")

    told = room.told(whole.debate.id)
    answered = [place for place, each in enumerate(told) if isinstance(each, DebaterAnswered)]
    assert all(isinstance(told[place + 1], DebateProgress) for place in answered)
    last = told[answered[-1] + 1]
    assert isinstance(last, DebateProgress)
    assert last.options[0][0] == "yes"
    assert isinstance(told[-1], DebateEnded)
    assert {piece.voice for piece in room.talk.spoken} == {"a:1", "b:1"}


async def test_a_persona_shapes_the_prompt_and_not_the_weight(room: Room) -> None:
    whole = await room.held("Is it so?", roles=("critic", "architect+security"))

    systems = {ask.debater.name: ask.system for ask in room.voices.asks}
    assert "what is wrong" in systems["a:1"]
    assert "several views" in systems["b:1"]
    weights = dict(decision_of(whole).weights)
    assert weights["a:1"] == weights["b:1"]

    debate = await room.begin("Is it so?", by=replace(ANA, key="k1"))

    assert debate.context is not None
    assert (room.world.contexts[ANA.space, debate.context]).principal == ANA.id


@pytest.mark.parametrize("fault", [RuntimeError("x"), RowRefused("x")])
async def test_a_broken_adapter_is_one_voice_less(fault: Exception) -> None:
    whole = await Room(ScriptedDebater(name="a:1", says=fault), *some("b:1", "c:1")).held(
        "Is it so?"
    )

    assert whole.debate.status is DebateStatus.DECIDED
    [failed] = [note for note in whole.notes if note.kind is NoteKind.FAILED]
    assert failed.body["code"] == "voice_broke"


def _asked(room: Room, debate: DebateId) -> list[DebaterAsked]:
    return [told for told in room.told(debate) if isinstance(told, DebaterAsked)]


async def test_an_agent_that_reads_while_another_answers_does_not_break_the_debate() -> None:
    secret = Label(Level.CONFIDENTIAL)
    reading = asyncio.Event()

    async def reads(_ask: DebaterRequest) -> DebaterReply:
        await room.tasks.read(replace(ANA, context=debate.context), secret, untrusted=True)
        reading.set()
        await asyncio.sleep(0.01)
        return a_reply(a_vote("yes"), label=secret, untrusted=True)

    async def meanwhile(_ask: DebaterRequest) -> DebaterReply:
        await reading.wait()
        return a_reply(a_vote("yes"))

    room = Room(
        ScriptedDebater(name="agent:x", says=reads, changes={"kind": DebaterKind.AGENT}),
        ScriptedDebater(name="b:1", says=meanwhile),
    )
    debate = await room.begin(debaters=("agent:x", "b:1"))
    run = await room.leg(debate)

    whole = await room.whole(debate.id)
    assert run.status is RunStatus.DONE
    assert (whole.debate.status, whole.debate.label) == (DebateStatus.DECIDED, secret)


async def test_one_that_is_so_dear_that_nobody_else_could_be_asked_is_left_out() -> None:
    dear = ScriptedDebater(
        name="agent:x", changes={"max_output_tokens": 9_000, "kind": DebaterKind.AGENT}
    )
    room = Room(dear, *some("b:1", "c:1"))
    for name in ("b:1", "c:1"):
        room.voices.debaters[name].debater = replace(
            room.voices.debaters[name].debater, max_output_tokens=1_000
        )

    whole = await room.held(debaters=("agent:x", "b:1", "c:1"), cap=Cap(tokens=10_000))

    assert names(room) == ["said:1:b:1", "said:1:c:1"]
    assert whole.debate.status is DebateStatus.DECIDED


async def test_an_answer_that_breaks_whoever_reads_it_is_no_answer() -> None:
    room = Room(*some("a:1", "b:1", "c:1"))
    real = canonical_of.canonical

    def breaks(question: Question, answer: str) -> object:
        if answer == "boom":
            raise OverflowError
        return real(question, answer)

    room.voices.debaters["a:1"].answer = "boom"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("portico.debate.core.prompts.canonical", breaks)
        whole = await room.held()

    [failed] = [note for note in whole.notes if note.kind is NoteKind.FAILED]
    assert failed.body["code"] == "unreadable"
    assert whole.debate.status is DebateStatus.DECIDED


SPENT = Cost(tokens=Tokens(30), calls=1)


async def failed(voice: ScriptedDebater, **wish: object) -> Note:
    room = Room(voice, *some("b:1", "c:1"))
    whole = await room.held("Is it so?", debaters=(voice.name, "b:1", "c:1"), **wish)
    [note] = [note for note in whole.notes if note.kind is NoteKind.FAILED]
    return note


@pytest.mark.parametrize(
    "problem",
    [DebaterInterrupted("a:1", "it broke.", SPENT), DebaterNotCleared("a:1", PUBLIC, SPENT)],
)
async def test_what_is_known_to_be_spent_is_charged(problem: Exception) -> None:
    note = await failed(ScriptedDebater(name="a:1", says=problem))

    assert note.cost.tokens == SPENT.tokens


async def test_what_is_spent_is_charged_and_where_nobody_knows_all_that_was_reserved() -> None:
    known = await failed(
        ScriptedDebater(name="a:1", says=DebaterInterrupted("a:1", "it broke.", SPENT))
    )
    unknown = await failed(ScriptedDebater(name="a:1", says=DebaterInterrupted("a:1", "it broke.")))

    assert unknown.cost.tokens > known.cost.tokens
    assert unknown.overrun == 0

    much = Cost(tokens=Tokens(300_000), calls=1)
    program = ScriptedDebater(
        name="p:1",
        says=DebaterInterrupted("p:1", "it broke.", much),
        changes={"bounded": False, "kind": DebaterKind.PROGRAM},
    )

    note = await failed(program, unbounded=True)

    assert note.cost.tokens == 300_000
    assert 0 < note.overrun < 300_000
