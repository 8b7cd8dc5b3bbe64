"""How debates turned out, what voices learn from it, and debates decided again."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from portico.debate.core.debaters import DebaterReply, DebaterRequest
from portico.debate.core.debates import (
    KnownOutcome,
    NoteKind,
    OutcomeSpec,
    ReplaySpec,
    Source,
    Verdict,
    WholeDebate,
)
from portico.debate.core.errors import DebaterUnavailable, InvalidDebate, NothingToReplay
from portico.debate.core.questions import Preset, QuestionKind
from portico.guard.core.errors import NotPermitted
from portico.testing.debate_fakes import ScriptedDebater, a_reply, a_vote
from portico.testing.memory_store import BEGINNING
from tests.debate.room import ANA, CLEARED, VERA, Room, decision_of, later, put, some

RIGHT, WRONG = OutcomeSpec(right=True), OutcomeSpec(right=False)


def three() -> Room:
    return Room(ScriptedDebater(name="a:1", answer="red"), *some("b:1", "c:1", answer="blue"))


@pytest.fixture
def room() -> Room:
    """Three voices, which are asked for a colour and do not agree."""
    return three()


async def of_colours(room: Room) -> WholeDebate:
    return await room.held("Which?", choices=("red", "blue", "green"))


async def test_a_decision_is_marked_right_or_wrong(room: Room) -> None:
    whole = await of_colours(room)

    right = await room.mark(ANA, whole.debate.id, RIGHT)
    wrong = await room.mark(ANA, whole.debate.id, replace(WRONG, note="seen", source=Source.TEST))

    assert (right.shown, right.decided_right) == ("blue", True)
    assert (wrong.right, wrong.decided_right, wrong.source) == (None, False, Source.TEST)
    assert [each.decided_right for each in await room.look.turned_out(ANA, whole.debate.id)] == [
        False,
        True,
    ]


async def test_the_right_answer_can_be_named_in_any_of_its_forms(room: Room) -> None:
    whole = await of_colours(room)

    outcome = await room.mark(ANA, whole.debate.id, OutcomeSpec(answer="A"))

    assert (outcome.shown, outcome.decided_right) == ("red", False)


async def test_an_outcome_that_makes_no_sense_is_refused(room: Room) -> None:
    whole = await of_colours(room)

    for wish, why, fix in [
        (OutcomeSpec(answer="elephant"), "none of the answers", "Say one of: red, blue, green."),
        (OutcomeSpec(), "Nothing was said", None),
        (OutcomeSpec(answer="blue", right=False), "contradict", None),
    ]:
        with pytest.raises(InvalidDebate, match=why) as refused:
            await room.mark(ANA, whole.debate.id, wish)
        assert refused.value.fix
        assert refused.value.fix == (fix or refused.value.fix)


async def test_where_nothing_was_decided_the_right_answer_is_said() -> None:
    room = Room(ScriptedDebater(name="a:1"), ScriptedDebater(name="b:1", answer="no"))
    debate = await room.begin()
    with pytest.raises(InvalidDebate, match="not over yet"):
        await room.mark(ANA, debate.id, RIGHT)
    await room.leg(debate)

    with pytest.raises(InvalidDebate, match="Nothing was decided"):
        await room.mark(ANA, debate.id, RIGHT)
    with pytest.raises(InvalidDebate) as refused:
        await room.mark(ANA, debate.id, OutcomeSpec(answer="perhaps"))
    assert refused.value.fix == "Say yes or no."
    assert (await room.mark(ANA, debate.id, OutcomeSpec(answer="Yes!"))).shown == "yes"
    with pytest.raises(NotPermitted):
        await room.mark(VERA, debate.id, RIGHT)


async def test_the_best_open_answer_is_named_by_its_voice() -> None:
    room = Room(*[ScriptedDebater(name=f"{f}:1", answer=f"Text {f}") for f in "ab"])
    whole = await room.held("What should we do")

    outcome = await room.mark(ANA, whole.debate.id, OutcomeSpec(answer="b:1"))

    assert outcome.right == "b:1"
    with pytest.raises(InvalidDebate, match="named by who gave it"):
        await room.mark(ANA, whole.debate.id, OutcomeSpec(answer="a text"))


async def test_answers_that_were_merged_are_right_together() -> None:
    room = Room(
        ScriptedDebater(name="a:1", answer="NYC"),
        ScriptedDebater(name="b:1", answer="New York City"),
    )
    room.meaning.on = False
    whole = await room.held("Where?", kind=QuestionKind.TEXT)

    marks = [
        await room.mark(ANA, whole.debate.id, OutcomeSpec(answer=said))
        for said in ("NYC", "new york city", "Boston")
    ]

    assert [mark.decided_right for mark in marks] == [True, True, False]
    with pytest.raises(InvalidDebate):
        await room.mark(ANA, whole.debate.id, OutcomeSpec(answer=" "))


async def test_a_voice_that_was_right_before_weighs_more(room: Room) -> None:
    for _ in range(12):
        whole = await of_colours(room)
        await room.mark(ANA, whole.debate.id, OutcomeSpec(answer="red"))
        later(room, timedelta(minutes=1))

    whole = await of_colours(room)

    decision = whole.debate.decision
    assert decision is not None
    weights = dict(decision.weights)
    assert len(weights) > 1
    assert weights.pop("a:1") > max(weights.values())
    assert decision.options[0].shown == "red"


async def test_a_debate_is_decided_again_by_other_rules_at_no_cost() -> None:
    voices = [ScriptedDebater(name="a:1", again="no"), ScriptedDebater(name="b:1", answer="no")]
    room = Room(*voices)
    whole = await room.held(preset=Preset.DEBATE, thoroughness=0.5)
    paid = len(room.voices.asks)

    again = await room.replay(ANA, whole.debate.id, ReplaySpec(rounds=1))

    assert len(room.voices.asks) == paid
    assert again.was == whole.debate.decision
    assert again.now.verdict is Verdict.NO_DECISION
    assert (again.calls, again.calls_made) == (2, 4)
    assert again.tokens < again.tokens_spent


async def test_the_same_rules_come_to_the_same(room: Room) -> None:
    whole = await of_colours(room)

    again = await room.replay(ANA, whole.debate.id, ReplaySpec())

    assert again.now == again.was
    assert again.notes == ()


async def test_a_replay_says_whom_it_would_have_asked() -> None:
    room = Room(*some("a:1", "b:1", "c:1", "d:1"))
    whole = await room.held(thoroughness=0.0)

    again = await room.replay(
        ANA, whole.debate.id, ReplaySpec(thoroughness=1.0, without=("a:1",), preset=Preset.DEBATE)
    )

    assert "c:1 would have been asked, and was not." in again.notes
    assert again.now.verdict is Verdict.NO_DECISION


async def test_an_open_debate_and_one_with_guests_are_replayed_too() -> None:
    room = Room(*[ScriptedDebater(name=f"{f}:1", answer=f"Text {f}") for f in "abc"])
    whole = await room.held("What should we do", thoroughness=0.0)

    again = await room.replay(ANA, whole.debate.id, ReplaySpec(thoroughness=1.0))

    assert "c:1 would have been asked, and was not." in again.notes
    assert again.now.synthesis == decision_of(whole).synthesis


async def test_a_replay_that_makes_no_sense_is_refused(room: Room) -> None:
    whole = await of_colours(room)

    for wish, why in [
        (ReplaySpec(without=("a:2",)), "took no part"),
        (ReplaySpec(without=("a:1", "b:1", "c:1")), "nothing is left"),
        (ReplaySpec(rounds=3), "1 or 2 rounds"),
        (ReplaySpec(thoroughness=2.0), "between 0 and 1"),
    ]:
        with pytest.raises(InvalidDebate, match=why):
            await room.replay(ANA, whole.debate.id, wish)


async def test_where_nobody_answered_there_is_nothing_to_replay() -> None:
    room = Room(
        *[ScriptedDebater(name=n, says=DebaterUnavailable(n, "gone.")) for n in ("a:1", "b:1")]
    )
    debate = await room.begin()
    with pytest.raises(InvalidDebate, match="not over yet"):
        await room.replay(ANA, debate.id, ReplaySpec())
    await room.leg(debate)

    with pytest.raises(NothingToReplay):
        await room.replay(ANA, debate.id, ReplaySpec())


async def test_a_text_debate_is_replayed_with_what_judges_said() -> None:
    async def nyc(ask: DebaterRequest) -> DebaterReply:
        if "same:" in ask.key:
            return a_reply('{"same": true}')
        return a_reply(a_vote("NYC" if ask.debater.name == "a:1" else "New York City"))

    room = Room(*[ScriptedDebater(name=f"{f}:1", says=nyc) for f in "ab"])
    room.meaning.on = False
    whole = await room.held("Where?", kind=QuestionKind.TEXT)
    assert NoteKind.SAME in {note.kind for note in whole.notes}

    again = await room.replay(ANA, whole.debate.id, ReplaySpec())

    assert again.now == again.was


async def test_who_disagreed_with_a_wrong_decision_is_not_marked_down() -> None:
    two = Room(*some("a:1", "b:1"), ScriptedDebater(name="c:1", answer="no"))
    whole = await two.held("Is it so?", debaters=("a:1", "c:1", "b:1"))
    await two.mark(ANA, whole.debate.id, WRONG)
    many = three()
    colours = await of_colours(many)
    await many.mark(ANA, colours.debate.id, WRONG)

    [known] = await two.outcomes.known(ANA, ["a:1", "b:1", "c:1"], limit=9, before=BEGINNING)
    [unknown] = await many.outcomes.known(ANA, ["a:1", "b:1", "c:1"], limit=9, before=BEGINNING)

    right = {ballot.voice for ballot in known.ballots if ballot.key == known.right}
    assert right == {"c:1"}
    assert unknown.right is None
    assert {ballot.voice for ballot in unknown.ballots} == {"b:1", "c:1"}


async def test_weights_are_what_they_were_when_it_began_whatever_is_marked_anew(room: Room) -> None:
    marked = []
    for _ in range(12):
        earlier = await of_colours(room)
        await room.mark(ANA, earlier.debate.id, OutcomeSpec(answer="red"))
        marked.append(earlier.debate.id)
        later(room, timedelta(minutes=1))
    whole = await of_colours(room)
    later(room, timedelta(minutes=1))
    for each in marked:
        await room.mark(ANA, each, OutcomeSpec(answer="blue"))

    again = await room.replay(ANA, whole.debate.id, ReplaySpec())

    assert again.now == again.was


async def test_nothing_is_learnt_from_what_is_more_secret_than_it_was_at_first() -> None:
    """Also where a voice has read that meanwhile: it would be decided otherwise after a crash."""

    async def reading(ask: DebaterRequest) -> DebaterReply:
        return replace(a_reply(a_vote("red")), label=CLEARED)

    room = three()
    for _ in range(12):
        earlier = await room.held("Which?", choices=("red", "blue", "green"), label=CLEARED)
        await room.mark(ANA, earlier.debate.id, OutcomeSpec(answer="red"))
        later(room, timedelta(minutes=1))
    room.voices.debaters["a:1"].says = reading
    whole = await of_colours(room)
    assert whole.debate.label == CLEARED

    again = await room.replay(ANA, whole.debate.id, ReplaySpec())

    assert again.was is not None
    assert again.now.weights == again.was.weights
    assert len(set(dict(again.now.weights).values())) == 1


class Seen(list[KnownOutcome]):
    """What is known, and in which threads it was gone through."""

    threads: set[threading.Thread]

    def __iter__(self) -> Iterator[KnownOutcome]:
        self.threads.add(threading.current_thread())
        return super().__iter__()


async def test_what_is_learnt_holds_up_nobody_else(room: Room) -> None:
    known = Seen()
    known.threads = set()

    async def all_of_it(*_: object, **__: object) -> Seen:
        return known

    put(room.outcomes, "known", all_of_it)
    whole = await of_colours(room)
    held = set(known.threads)
    known.threads.clear()
    await room.replay(ANA, whole.debate.id, ReplaySpec())

    assert held
    assert known.threads
    assert threading.main_thread() not in held | known.threads
