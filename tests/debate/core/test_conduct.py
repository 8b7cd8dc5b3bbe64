"""What comes next in a debate, out of its notes; and what would have come next."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from portico.debate.core.conduct import (
    BUDGET,
    AskBetter,
    AskDebaters,
    AskGuests,
    AskSame,
    AskSynthesis,
    AwaitGuests,
    Compare,
    Conclude,
    Skip,
    best_judge,
    conclusion,
    guests_until,
    judged_name,
    judgements,
    near_name,
    next_move,
    same_name,
    saved_tokens,
    status_of,
)
from portico.debate.core.debaters import BUILT_IN, DebaterKind, Tariff
from portico.debate.core.debates import (
    DebaterAnswer,
    DebateStatus,
    Note,
    NoteKind,
    RemainingBudget,
    Verdict,
    WholeDebate,
    Why,
)
from portico.debate.core.panel import panel_of
from portico.debate.core.questions import Preset
from portico.debate.core.replay import Rehearsal
from portico.debate.core.vote_weights import plain_text
from portico.kernel.label import Label, Level
from portico.testing.debate_fakes import a_voice
from portico.testing.memory_store import BEGINNING
from tests.debate.core.tables import (
    GUEST,
    OPEN,
    TEXT,
    THREE,
    YES_NO,
    a_debate,
    a_table,
    note,
    said,
    words,
)

DEBATED = a_debate(preset=Preset.DEBATE)


def asked(move: object) -> tuple[list[str], int]:
    assert isinstance(move, AskDebaters), move
    return [voice.name for voice in move.debaters], move.round


def test_it_begins_with_a_blind_pair_of_two_families() -> None:
    voices = (a_voice("a:1"), a_voice("a:2"), a_voice("b:1"))

    assert asked(next_move(a_table(a_debate(voices=voices)))) == (["a:1", "b:1"], 1)


def test_where_no_two_can_be_paid_for_together_one_is_asked_only_beside_guests() -> None:
    one = a_table().cost(THREE[0], a_table().prompt_inputs.first(THREE[0]))
    left = RemainingBudget(tokens=one.tokens + 10)

    assert next_move(a_table(left=left)) == Conclude(Why.BUDGET)
    assert next_move(a_table(a_debate(OPEN), left=left)) == Conclude(Why.BUDGET)
    assert asked(next_move(a_table(a_debate(guests=1), left=left))) == (["a:1"], 1)


def test_where_money_or_clearance_is_short_only_who_can_be_asked_is_asked() -> None:
    dear = a_voice("d:1", tariff=Tariff(input=Decimal(10**6), output=Decimal(10**6)))
    debate = a_debate(voices=(dear, *THREE))

    assert asked(next_move(a_table(debate, left=RemainingBudget(money=Decimal(1)))))[0] == [
        "a:1",
        "b:1",
    ]

    low = a_voice("d:1", clearance=Label(Level.PUBLIC))
    debate = a_debate(voices=(low, *THREE), label=Label(Level.TEAM))

    assert asked(next_move(a_table(debate)))[0] == ["a:1", "b:1"]


def test_what_was_ended_or_had_its_turns_is_concluded() -> None:
    stopped = note(NoteKind.STOPPED, "stopped")
    overdue = note(NoteKind.OVERDUE, "overdue")

    assert next_move(a_table(None, stopped)) == Conclude(Why.STOPPED)
    assert next_move(a_table(None, overdue)) == Conclude(Why.DEADLINE)

    voices = tuple(a_voice(f"{family}:1") for family in "abcdef")
    debate = a_debate(voices=voices, thoroughness=0.0)
    answers = [said(v.name, f"c:{place}") for place, v in enumerate(voices[:3])]

    assert next_move(a_table(debate, *answers)) == Conclude(Why.ALL_ASKED)

    skipped = note(NoteKind.SKIPPED, "skipped:said:1:c:1", body={"why": BUDGET})
    table = a_table(None, said("a:1", "yes"), said("b:1", "no"), skipped)

    assert next_move(table) == Conclude(Why.BUDGET)


def test_where_nobody_else_can_be_paid_for_it_decides_with_the_votes_in_hand() -> None:
    table = a_table(None, said("a:1", "yes"), said("b:1", "no"), left=RemainingBudget(tokens=10))

    assert next_move(table) == Conclude(Why.BUDGET)
    decision = conclusion(table, Why.BUDGET)
    assert decision.verdict is Verdict.NO_DECISION
    assert saved_tokens(table) == decision.saved_tokens > 0


def test_a_split_debate_is_criticised_once() -> None:
    table = a_table(DEBATED, *(said(v.name, f"c:{v.name}") for v in THREE))

    assert asked(next_move(table)) == (["a:1", "b:1", "c:1"], 2)
    one = replace(table, notes=(*table.notes, said("a:1", "c:b:1", 2, changed_because="a slip")))
    assert asked(next_move(one)) == (["b:1", "c:1"], 2)
    failed = [note(NoteKind.FAILED, f"said:2:{name}", round=2) for name in ("b:1", "c:1")]
    assert isinstance(next_move(replace(one, notes=(*one.notes, *failed))), Conclude)


def test_what_is_alike_is_not_criticised() -> None:
    table = a_table(DEBATED, *(said(v.name, "c:yes") for v in THREE))

    assert isinstance(next_move(table), Conclude)


def test_a_critique_that_cannot_be_paid_for_whole_is_skipped() -> None:
    notes = [said(v.name, f"c:{v.name}") for v in THREE]
    table = a_table(DEBATED, *notes, left=RemainingBudget(tokens=300))

    move = next_move(table)

    assert isinstance(move, Skip)
    assert (move.what, move.why) == ("critique", BUDGET)
    done = note(NoteKind.SKIPPED, "skipped:critique", body={"why": BUDGET})
    assert isinstance(next_move(replace(table, notes=(*notes, done))), Conclude)


def test_a_guest_is_asked_at_once_and_waited_for_before_more_is_spent() -> None:
    debate = a_debate(voices=(*THREE, GUEST), guests=2)
    table = a_table(debate)

    assert next_move(table) == AskGuests(debaters=(GUEST,), round=1)
    table = replace(table, posted=frozenset({"said:1:guest:ben"}))
    assert asked(next_move(table))[0] == ["a:1", "b:1"]
    table = replace(table, notes=(said("a:1", "yes"), said("b:1", "no")))
    assert next_move(table) == AwaitGuests(round=1, free=1, until=guests_until(debate, 1))
    late = replace(table, now=BEGINNING + timedelta(minutes=4))
    assert next_move(late) == Skip(what="guests:1", why="late")
    over = note(NoteKind.SKIPPED, "skipped:guests:1", body={"why": "late"})
    assert asked(next_move(replace(late, notes=(*late.notes, over))))[0] == ["c:1"]


def test_guests_who_answered_are_asked_again_in_the_critique_round() -> None:
    debate = a_debate(voices=(*THREE, GUEST), guests=1, preset=Preset.DEBATE)
    notes = [said(v.name, f"c:{v.name}") for v in (*THREE, GUEST)]
    table = a_table(debate, *notes)

    assert next_move(table) == AskGuests(debaters=(GUEST,), round=2)
    posted = replace(table, posted=frozenset({"said:2:guest:ben"}))
    assert asked(next_move(posted)) == (["a:1", "b:1", "c:1"], 2)
    again = [said(v.name, f"c:{v.name}", 2) for v in THREE]
    move = next_move(replace(posted, notes=(*notes, *again)))
    assert isinstance(move, AwaitGuests)
    assert (move.round, move.free) == (2, 0)


def test_free_answers_are_compared_before_anybody_else_is_asked() -> None:
    table = a_table(a_debate(TEXT), said("a:1", "NYC"), said("b:1", "New York"))

    move = next_move(table)

    assert isinstance(move, Compare)
    assert [(one.key, other.key) for one, other in move.pairs] == [("NYC", "New York")]


def near(one: str, other: str, *, same: bool | None) -> Note:
    debate = a_debate(TEXT)
    pair = [_said_as(each) for each in (one, other)]
    body = {"one": one, "other": other, "same": same}
    return note(NoteKind.SAME, near_name(debate, pair[0], pair[1]), body=body)


def _said_as(key: str) -> DebaterAnswer:
    return DebaterAnswer(voice="x", round=1, answer=key, key=key, shown=key)


def test_a_judge_is_asked_last_and_only_where_it_matters() -> None:
    two = a_debate(TEXT, THREE[:2])
    unsure = near("NYC", "New York", same=None)
    answers = (said("a:1", "NYC"), said("b:1", "New York"))

    move = next_move(a_table(two, *answers, unsure))
    assert isinstance(move, AskSame)
    assert (move.one.key, move.other.key) == ("NYC", "New York")
    apart = near("NYC", "New York", same=False)
    assert isinstance(next_move(a_table(two, *answers, apart)), Conclude)
    poor = a_table(two, *answers, unsure, left=RemainingBudget(tokens=1))
    assert isinstance(next_move(poor), Conclude)


def test_no_judge_is_asked_where_it_would_change_nothing_nor_more_than_three_times() -> None:
    voices = tuple(a_voice(f"{family}:1") for family in "abcd")
    debate = a_debate(TEXT, voices, thoroughness=1.0)
    answers = [said(v.name, "NYC") for v in voices[:3]] + [said("d:1", "New York")]

    move = next_move(a_table(debate, *answers, near("NYC", "New York", same=None)))

    assert isinstance(move, Conclude)

    two = a_debate(TEXT, THREE[:2])
    judged = [note(NoteKind.FAILED, f"same:{number}") for number in range(3)]
    answers = [said("a:1", "NYC"), said("b:1", "New York")]

    move = next_move(a_table(two, *answers, near("NYC", "New York", same=None), *judged))

    assert isinstance(move, Conclude)
    asked_once = note(NoteKind.FAILED, same_name(two, _said_as("NYC"), _said_as("New York")))
    table = a_table(two, *answers, near("NYC", "New York", same=None), asked_once)
    assert isinstance(next_move(table), Conclude)


def test_open_answers_are_two_to_four_by_thoroughness() -> None:
    voices = tuple(a_voice(f"{family}:1") for family in "abcdef")
    for how, many in ((0.0, 2), (0.5, 3), (1.0, 4)):
        debate = a_debate(OPEN, voices, thoroughness=how)
        answers = [said(v.name, v.name) for v in voices[:many]]
        assert isinstance(next_move(a_table(debate, *answers)), AskBetter), how
        assert isinstance(next_move(a_table(debate, *answers[:-1])), AskDebaters), how


def test_open_answers_are_judged_in_both_orders_by_who_did_not_write_them() -> None:
    debate = a_debate(OPEN, thoroughness=0.0)
    table = a_table(debate, said("a:1", "one"), said("b:1", "two"))

    first = next_move(table)
    assert isinstance(first, AskBetter)
    assert first.judge.name == "c:1"
    body = {"one": first.one.voice, "other": first.other.voice, "better": "a:1"}
    judged = note(NoteKind.JUDGED, judged_name(first.one.voice, first.other.voice), body=body)
    second = next_move(replace(table, notes=(*table.notes, judged)))
    assert isinstance(second, AskBetter)
    assert (second.one, second.other) == (first.other, first.one)
    assert judgements(replace(table, notes=(*table.notes, judged))) == []


def test_a_text_is_written_out_of_open_answers_by_whoever_is_there() -> None:
    debate = a_debate(OPEN, thoroughness=0.0)
    table = a_table(debate, said("a:1", "one"), said("b:1", "two"), *better("a:1", "b:1"))

    move = next_move(table)
    assert isinstance(move, AskSynthesis)
    assert [each.voice for each in move.said] == ["a:1", "b:1"]
    poor = replace(table, left=RemainingBudget(tokens=1))
    assert next_move(poor) == Skip(what="synthesis", why=BUDGET)
    unjudged = replace(poor, notes=table.notes[:2])
    assert next_move(unjudged) == Skip(what="judging", why=BUDGET)


def test_a_text_is_written_out_of_answers_none_of_which_is_better() -> None:
    done = note(NoteKind.SKIPPED, "skipped:judging", body={"why": BUDGET})
    debate = a_debate(OPEN, THREE[:2], thoroughness=0.0)
    table = a_table(debate, said("a:1", "one"), said("b:1", "two"), done)

    assert isinstance(next_move(table), AskSynthesis)
    assert conclusion(table, Why.ALL_ASKED).why is Why.TIE


def test_equal_texts_are_matched_without_a_judge() -> None:
    debate = a_debate(OPEN, preset=Preset.DEBATE)
    texts = ("Keep it in one piece.", "**keep it  in one piece**", "Keep it in one piece!")
    notes = [said(voice.name, text) for voice, text in zip(THREE, texts, strict=True)]
    table = a_table(debate, *notes)

    assert {each.key for each in table.said(1)} == {texts[0]}
    assert next_move(table) == Conclude(Why.ALL_ASKED)
    decision = conclusion(table, Why.ALL_ASKED)
    assert (decision.verdict, decision.answer) == (Verdict.DECIDED, texts[0])
    assert decision.dissent == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It is «so».", "it is so", True),
        ("x = 1", "x != 1", False),
        ("at -5 °C", "at 5 °C", False),
        ("1.5 times", "15 times", False),
        ("2 * 3", "2 3", False),
    ],
)
def test_texts_are_equal_up_to_case_space_and_punctuation(one: str, other: str, same: bool) -> None:
    assert (plain_text(one) == plain_text(other)) is same


def test_where_one_voice_alone_is_left_it_is_not_asked_and_that_is_why() -> None:
    failed = [note(NoteKind.FAILED, f"said:1:{name}", voice=name) for name in ("a:1", "b:1")]
    for question in (YES_NO, OPEN, replace(YES_NO, material="word " * 900)):
        table = a_table(a_debate(question), *failed)
        assert next_move(table) == Conclude(Why.ALONE)
        assert conclusion(table, Why.ALONE).why is Why.ALONE
    answered = a_table(None, failed[0], said("b:1", "yes"))
    assert asked(next_move(answered)) == (["c:1"], 1)


def test_one_answer_alone_says_that_it_is_alone() -> None:
    failed = [note(NoteKind.FAILED, f"said:1:{name}", voice=name) for name in ("b:1", "c:1")]

    decision = conclusion(a_table(None, said("a:1", "yes"), *failed), Why.ALL_ASKED)

    assert (decision.verdict, decision.why, decision.answer) == (
        Verdict.NO_DECISION,
        Why.ALONE,
        None,
    )


def test_the_beginning_of_the_material_is_for_two_that_can_be_paid_for() -> None:
    debate = a_debate(replace(YES_NO, material="word " * 2_000), THREE[:2])
    short = a_table(debate).prompt_inputs.first(THREE[0], short=True)
    one = a_table(debate).cost(THREE[0], short).tokens

    assert next_move(a_table(debate, left=RemainingBudget(tokens=one))) == Conclude(Why.BUDGET)
    both = next_move(a_table(debate, left=RemainingBudget(tokens=2 * one)))
    assert isinstance(both, AskDebaters)
    assert both.short


def better(one: str, other: str) -> list[Note]:
    """The first of them, in both orders."""
    return [
        note(
            NoteKind.JUDGED,
            judged_name(*pair),
            body={"one": pair[0], "other": pair[1], "better": one},
        )
        for pair in ((one, other), (other, one))
    ]


def test_where_only_guests_are_there_nobody_writes_a_text() -> None:
    other = replace(GUEST, name="guest:eve")
    debate = a_debate(OPEN, (GUEST, other), guests=2, thoroughness=0.0)
    judged = better("guest:ben", "guest:eve")
    table = a_table(debate, said("guest:ben", "one"), said("guest:eve", "two"), *judged)

    assert next_move(table) == Skip(what="synthesis", why="nobody is here to write it")


def test_an_open_question_that_cannot_be_paid_for_ends_for_want_of_budget() -> None:
    debate = a_debate(OPEN)

    assert next_move(a_table(debate, left=RemainingBudget(tokens=1))) == Conclude(Why.BUDGET)
    material = a_debate(replace(OPEN, material="word " * 900))
    short = next_move(
        a_table(material, said("a:1", "x"), said("b:1", "y"), left=RemainingBudget(tokens=1_400))
    )
    assert isinstance(short, AskDebaters)
    assert short.short


def test_a_judge_is_a_model_that_is_held_to_a_maximum_if_there_is_one() -> None:
    agent = a_voice("agent:x", kind=DebaterKind.AGENT)
    wild = a_voice("p:1", bounded=False)
    table = a_table(a_debate(voices=(agent, wild, *THREE)))
    sheet = table.prompt_inputs.same("x", "y")

    judge = best_judge(table, sheet, whose=("a:1",))
    assert judge is not None
    assert judge.name == "b:1"
    alone = best_judge(a_table(a_debate(voices=(wild,))), sheet)
    assert alone == wild


@pytest.mark.parametrize("why", [Why.BUDGET, Why.DEADLINE, Why.STOPPED])
def test_what_was_cut_off_before_it_was_clear_says_so(why: Why) -> None:
    alone = a_table(None, said("a:1", "yes"))
    nobody = a_table()

    assert (conclusion(alone, why).why, conclusion(nobody, why).why) == (why, why)
    assert conclusion(nobody, Why.ALL_ASKED).why is Why.NO_ANSWERS


def test_a_tie_says_so_unless_it_was_stopped() -> None:
    table = a_table(a_debate(voices=THREE[:2]), said("a:1", "yes"), said("b:1", "no"))

    assert conclusion(table, Why.ALL_ASKED).why is Why.TIE
    assert conclusion(table, Why.STOPPED).why is Why.STOPPED


def test_one_text_is_the_decision_and_a_tie_of_open_answers_is_none() -> None:
    text = note(NoteKind.SYNTHESIS, "synthesis", body={"text": "Both.", "by": "a:1"})
    table = a_table(a_debate(OPEN, THREE[:2]), said("a:1", "one"), said("b:1", "two"))

    without = conclusion(table, Why.ALL_ASKED)
    assert (without.verdict, without.why) == (Verdict.NO_DECISION, Why.TIE)
    both = conclusion(replace(table, notes=(*table.notes, text)), Why.ALL_ASKED)
    assert (both.verdict, both.answer, both.synthesis) == (Verdict.NO_DECISION, None, "Both.")
    judged = (*table.notes, *better("b:1", "a:1"), text)
    best = conclusion(replace(table, notes=judged), Why.ALL_ASKED)
    assert (best.answer, best.synthesis) == ("Both.", "Both.")
    assert [each.shown for each in best.dissent] == ["one"]


def test_what_was_stopped_is_stopped_whatever_was_decided() -> None:
    table = a_table(None, *(said(v.name, "yes") for v in THREE))
    decision = conclusion(table, Why.STOPPED)

    assert decision.verdict is Verdict.DECIDED
    assert status_of(decision, ()) is DebateStatus.DECIDED
    assert status_of(decision, [note(NoteKind.STOPPED, "stopped")]) is DebateStatus.STOPPED


def test_answers_are_in_the_order_of_the_voices_whoever_was_quicker() -> None:
    notes = [said("b:1", "x"), said("gone:1", "z"), said("a:1", "y"), said("a:1", "w", 2)]

    order = [(each.round, each.voice) for each in a_table(None, *notes).said(1, 2)]

    assert order == [(1, "a:1"), (1, "b:1"), (1, "gone:1"), (2, "a:1")]


def test_answers_that_nobody_compared_then_are_taken_as_they_are() -> None:
    debate = a_debate(TEXT, THREE[:2])
    whole = WholeDebate(debate, (said("a:1", "NYC"), said("b:1", "New York")))

    again = Rehearsal(
        whole=whole,
        rules=debate.rules,
        panel=panel_of(TEXT, debate.debaters, ()),
        personas=BUILT_IN,
        count=words,
    )()

    assert again.decision.verdict is Verdict.NO_DECISION
    assert [option.shown for option in again.decision.options] == ["NYC", "New York"]
