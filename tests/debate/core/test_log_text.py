"""The log of a debate says all that was said and done, and what it cost."""

from dataclasses import replace
from decimal import Decimal

from portico.debate.core.conclusion import conclusion
from portico.debate.core.debate import DebateStatus, WholeDebate
from portico.debate.core.decision import Why
from portico.debate.core.log_text import costs_of, log_text
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.question import Question, QuestionKind
from portico.debate.core.rules import Cap
from portico.kernel.budget import Cost
from portico.kernel.tokens import Tokens
from portico.testing.debate_voices import a_voice
from portico.testing.kernel import BEGINNING
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


def test_one_that_nobody_was_asked_in_has_no_costs() -> None:
    text = log_text(WholeDebate(a_debate(private=False), ()))

    assert "Cost:" not in text
    assert "shared with its project" in text
    assert "Nothing is decided yet." in text


def test_an_analysis_shows_what_its_parts_cost_together() -> None:
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
