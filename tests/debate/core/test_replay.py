"""What is told of a debate in words: its log, what came of it, and what was not done."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from portico.debate.core.conduct import (
    LONGEST,
    brief,
    conclusion,
    percent,
    skip_words,
    verdict_words,
)
from portico.debate.core.debates import (
    DebateId,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    Option,
    Outcome,
    Source,
    Verdict,
    WholeDebate,
    Why,
)
from portico.debate.core.questions import Cap, Question, QuestionKind
from portico.debate.core.replay import costs_of, log_text
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import PrincipalId
from portico.testing.debate_fakes import a_voice
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.debate.core.tables import OPEN, THREE, a_debate, a_table, note, said

COLOURS = Question(
    text="Which?", kind=QuestionKind.CHOICE, choices=("red", "blue"), material="line one\nline two"
)


def notes() -> tuple[Note, ...]:
    return (
        said(
            "a:1",
            "red",
            rationale="it is warm",
            evidence=("a swatch",),
            confidence=0.9,
            veto="it fades",
        ),
        replace(said("b:1", "blue", changed_because="a slip"), overrun=7),
        note(NoteKind.FAILED, "said:1:c:1", voice="c:1", body={"why": "it broke.", "text": "{"}),
        note(NoteKind.FAILED, "said:1:d:1", voice="d:1", body={"why": "it is away."}),
        note(NoteKind.SAME, "near:1", body={"one": "r", "other": "s", "same": None}),
        note(NoteKind.SAME, "same:1", voice="a:1", body={"one": "r", "other": "s", "same": True}),
        note(NoteKind.SAME, "same:2", voice="a:1", body={"one": "r", "other": "t", "same": False}),
        note(
            NoteKind.JUDGED,
            "judged:a:b",
            voice="c:1",
            body={"one": "a:1", "other": "b:1", "better": "b:1", "why": "More."},
        ),
        note(NoteKind.JUDGED, "judged:b:a", voice="c:1", body={"one": "b:1", "other": "a:1"}),
        note(NoteKind.SYNTHESIS, "synthesis", voice="a:1", body={"text": "All.", "by": "a:1"}),
        note(NoteKind.PLAN, "plan", voice="a:1", body={"parts": [{"question": "Is it?"}, 3]}),
        note(NoteKind.PLAN, "plan2", voice="a:1", body={"parts": None}),
        note(NoteKind.SKIPPED, "skipped:x", body={"what": "critique", "why": "budget", "saved": 9}),
        note(NoteKind.SKIPPED, "skipped:y", body={"what": "that", "why": "this"}),
        note(NoteKind.OVERDUE, "overdue"),
        note(NoteKind.STOPPED, "stopped"),
        note(NoteKind.DECISION, "decision", body={}),
    )


def test_all_that_happened_is_in_it() -> None:
    expert = a_voice("d:1", personas=("critic", "security"), bounded=False)
    debate = a_debate(COLOURS, (*THREE, expert), guests=2, unbounded=True)
    table = a_table(debate, said("a:1", "red"), said("b:1", "blue"), said("c:1", "red"))
    decision = replace(
        conclusion(table, Why.ALL_ASKED), saved_tokens=5, synthesis="One text.", answer="red"
    )
    spent = Cost(tokens=Tokens(1_000), money=Decimal("0.5"))
    ended = replace(
        debate,
        status=DebateStatus.DECIDED,
        decision=decision,
        ended_at=BEGINNING,
        spent=spent,
        cap=Cap(tokens=None, money=Decimal(2)),
    )

    text = log_text(WholeDebate(ended, notes()))

    for told in (
        "Question: Which?",
        "A) red",
        "    line two",
        "d:1 (model, d, as critic and security, not held to a maximum)",
        "seats for 2 guests",
        "any number of tokens, 2 dollars, unbounded voices allowed",
        "a:1, round 1, 90 % sure by its own word",
        "because: it is warm",
        "evidence: a swatch",
        "vetoes: it fades",
        "changed, because: a slip",
        "7 more than reserved",
        "c:1 gave no answer that could be used",
        "may or may not mean the same",
        "they mean the same",
        "do not mean the same",
        "a:1 or b:1: b:1 is better. More.",
        "neither is better",
        "wrote one answer out of all",
        "1. Is it?",
        "the critique round",
        "The deadline came.",
        "It was stopped.",
        "lost with a process that ended",
        "together: 1,000 tokens, 0.5 dollars",
        "Up to 5 tokens were saved",
        "One text.",
    ):
        assert told in text, told


def test_one_that_nobody_was_asked_in_has_no_costs_and_an_analysis_those_of_its_parts() -> None:
    text = log_text(WholeDebate(a_debate(private=False), ()))

    assert "Cost:" not in text
    assert "shared with its project" in text
    assert "Nothing is decided yet." in text

    spent = Cost(tokens=Tokens(500))
    debate = a_debate(OPEN, analysis=True, spent=spent)

    text = log_text(WholeDebate(debate, (said("a:1", "x"),)))

    assert "its parts: 490 tokens" in text
    assert "Held as: analysis" in text


def test_costs_are_by_voice_in_the_order_they_were_asked() -> None:
    paid = Cost(tokens=Tokens(5), money=Decimal(1), calls=1)
    listed = costs_of(
        [
            replace(said("b:1", "x"), cost=paid),
            said("a:1", "y"),
            replace(said("b:1", "x", 2), cost=paid),
            note(NoteKind.SKIPPED, "skipped:z", voice="c:1"),
        ]
    )

    assert list(listed) == ["b:1", "a:1"]
    assert listed["b:1"] == paid + paid
    money = log_text(WholeDebate(a_debate(), (replace(said("b:1", "x"), cost=paid),)))
    assert "b:1: 1 calls, 5 tokens, 1 dollars" in money


@pytest.mark.parametrize(
    ("what", "why", "saved", "told"),
    [
        (
            "critique",
            "budget",
            1_200,
            "Not done: the critique round, as the budget has no room for it "
            "(up to 1,200 tokens less).",
        ),
        ("guests:1", "late", 0, "Not done: waiting longer for guests, as there is no time for it."),
        (
            "said:1:openai:gpt-5",
            "budget",
            0,
            "Not done: asking openai:gpt-5, as the budget has no room for it.",
        ),
        (
            "one more voice",
            "certain",
            0,
            "Not done: one more voice, as nobody who is left could change the answer.",
        ),
        ("voice:a:1", "It is away. Wait.", 0, "a:1 is left out: It is away. Wait."),
        (
            "material:a:1",
            "its window has room for 9.",
            0,
            "a:1 reads only the beginning of the material: its window has room for 9.",
        ),
        ("same:0f", "late", 0, "Not done: asking a judge, as there is no time for it."),
        ("openai:gpt-5", "It is away.", 0, "Not done: openai:gpt-5, as It is away."),
    ],
)
def test_what_was_not_done_is_told_with_its_reason(
    what: str, why: str, saved: int, told: str
) -> None:
    assert skip_words(what, why, saved) == told


def an_option(shown: str, probability: float) -> Option:
    return Option(key=shown, shown=shown, probability=probability, debaters=("one",))


def a_decision(verdict: Verdict, why: Why, *options: Option, **more: Any) -> Decision:
    given_out = options[0].shown if options and verdict is Verdict.DECIDED else None
    facts: dict[str, Any] = {
        "answer": given_out,
        "probability": options[0].probability if options else 0.0,
        "n_eff": 2.0,
        "rule": "cold",
    }
    return Decision(verdict=verdict, why=why, options=options, **facts | more)


YES, NO = an_option("yes", 0.5), an_option("no", 0.5)


def test_a_decision_says_how_likely_it_is_and_why_it_ended() -> None:
    decision = a_decision(Verdict.DECIDED, Why.CERTAIN, an_option("yes", 0.934))

    assert verdict_words(decision, DebateStatus.DECIDED) == snapshot(
        "Decided: yes (93 %), since whoever was left could not have changed it."
    )

    decision = a_decision(Verdict.DECIDED, Why.NO_QUORUM, an_option("yes", 0.9))

    assert verdict_words(decision, DebateStatus.DECIDED).endswith("since all have been asked.")


def test_no_decision_says_between_what_and_how_sure() -> None:
    decision = a_decision(Verdict.NO_DECISION, Why.TIE, YES, NO)

    assert verdict_words(decision, DebateStatus.NO_DECISION) == snapshot(
        "No decision: the voices are split, and yes and no stand at 50 % to 50 %. Ask more voices,"
        " or other ones."
    )

    decision = a_decision(Verdict.NO_DECISION, Why.TOO_UNSURE, an_option("42", 0.31), NO)

    assert verdict_words(decision, DebateStatus.NO_DECISION) == snapshot(
        "No decision: the likeliest answer, 42, has only 31 %. Ask more voices, or other ones."
    )

    unasked = a_decision(Verdict.NO_DECISION, Why.TIE, YES, NO, saved_tokens=900)

    assert verdict_words(unasked, DebateStatus.NO_DECISION).endswith(
        "Ask more voices, or raise the thoroughness."
    )


def test_one_voice_alone_is_told_as_that() -> None:
    answered = a_decision(Verdict.NO_DECISION, Why.ALONE, an_option("yes", 0.7))
    left = a_decision(Verdict.NO_DECISION, Why.ALONE)

    assert verdict_words(answered, DebateStatus.NO_DECISION) == snapshot(
        "No decision: only one voice gave an answer that could be counted, yes, and one voice alone"
        " is never a decision. See in its log why the others gave none, and ask more voices."
    )
    assert verdict_words(left, DebateStatus.NO_DECISION) == snapshot(
        "No decision: of the voices only one was left to ask, and one voice alone is never a"
        " decision. See in its log why the others gave none, and ask more voices."
    )


def test_what_a_person_has_decided_since_is_told() -> None:
    decision = a_decision(Verdict.ESCALATED, Why.VETO, YES, veto="it leaks.")
    marked = Outcome(
        debate=DebateId.mint(BEGINNING, SeededEntropy("debate")),
        right="c:no",
        shown="no",
        decided_right=False,
        source=Source.PERSON,
        by=PrincipalId.mint(BEGINNING, SeededEntropy("ana")),
        at=BEGINNING,
    )

    assert verdict_words(decision, DebateStatus.ESCALATED, marked) == snapshot(
        "Decided by a person: no. A specialist had objected, with evidence: it leaks."
    )
    unsaid = replace(marked, shown=None)
    assert "it leaks. A person decides now" in verdict_words(
        decision, DebateStatus.ESCALATED, unsaid
    )


def test_where_nobody_answered_there_is_nothing_to_be_unsure_of() -> None:
    said = verdict_words(a_decision(Verdict.NO_DECISION, Why.TOO_UNSURE), DebateStatus.NO_DECISION)

    assert said == verdict_words(
        a_decision(Verdict.NO_DECISION, Why.NO_ANSWERS), DebateStatus.NO_DECISION
    )
    assert "nobody gave an answer" in said


@pytest.mark.parametrize(("veto", "told"), [("a hole", "evidence: a hole."), (None, "evidence.")])
def test_a_veto_hands_over_to_a_person(veto: str | None, told: str) -> None:
    decision = a_decision(Verdict.ESCALATED, Why.VETO, YES, veto=veto)

    said = verdict_words(decision, DebateStatus.ESCALATED)

    assert told in said
    assert said.endswith("A person decides now, by marking its outcome.")


@pytest.mark.parametrize("why", Why)
@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("options", [(), (YES,), (YES, NO)])
def test_whatever_happened_is_told_in_whole_sentences(
    verdict: Verdict, why: Why, options: tuple[Option, ...]
) -> None:
    said = verdict_words(a_decision(verdict, why, *options), DebateStatus.NO_DECISION)

    assert said.endswith(".")
    assert "None" not in said


@pytest.mark.parametrize("status", DebateStatus)
def test_without_a_decision_its_status_is_told(status: DebateStatus) -> None:
    assert verdict_words(None, status).endswith(".")


@given(st.floats(0, 1))
def test_nobody_is_told_that_something_is_certain(probability: float) -> None:
    assert 1 <= int(percent(probability).removesuffix(" %")) <= 99


@given(st.text(max_size=2_000))
def test_an_answer_in_a_sentence_is_short_and_on_one_line(text: str) -> None:
    line = brief(text)

    assert len(line) <= LONGEST
    assert "\n" not in line
