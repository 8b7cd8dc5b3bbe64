"""Debates as they stand, made for a test."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from portico.debate.core.conduct import Table, said_name
from portico.debate.core.debaters import BUILT_IN, Debater, DebaterKind
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebaterAnswer,
    Note,
    NoteKind,
    RemainingBudget,
)
from portico.debate.core.panel import panel_of
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind, rules_of
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import PrincipalId, RunId
from portico.kernel.label import PUBLIC
from portico.testing.debate_fakes import a_voice
from portico.testing.memory_store import BEGINNING, SeededEntropy

YES_NO = Question(text="Is it so?", kind=QuestionKind.YES_NO)
TEXT = Question(text="Who was it?", kind=QuestionKind.TEXT)
OPEN = Question(text="What should we do", kind=QuestionKind.OPEN)
THREE = tuple(a_voice(f"{family}:1") for family in "abc")
GUEST = a_voice("guest:ben", kind=DebaterKind.GUEST, family="guest")


def words(text: str) -> int:
    return len(text.split())


def a_debate(
    question: Question = YES_NO,
    voices: tuple[Debater, ...] = THREE,
    *,
    preset: Preset = Preset.VOTE,
    thoroughness: float = 0.5,
    **changes: Any,
) -> Debate:
    debate = Debate(
        id=DebateId.mint(BEGINNING, SeededEntropy("debate")),
        question=question,
        rules=rules_of(preset, thoroughness),
        debaters=voices,
        cap=Cap(tokens=100_000),
        deadline=BEGINNING + timedelta(minutes=5),
        label=PUBLIC,
        seed=7,
        started_by=PrincipalId.mint(BEGINNING, SeededEntropy("ana")),
        run=RunId.mint(BEGINNING, SeededEntropy("run")),
        started_at=BEGINNING,
    )
    return replace(debate, **changes)


def a_table(
    debate: Debate | None = None, *notes: Note, left: RemainingBudget | None = None
) -> Table:
    its = debate or a_debate()
    return Table(
        debate=its,
        notes=notes,
        panel=panel_of(its.question, its.debaters, ()),
        personas=BUILT_IN,
        left=left or RemainingBudget(),
        count=words,
        now=BEGINNING,
    )


def said(voice: str, answer: str, round_: int = 1, **fields: Any) -> Note:
    """As it was counted, under its own text."""
    body = DebaterAnswer(
        voice=voice, round=round_, answer=answer, key=answer, shown=answer, **fields
    ).as_json()
    return note(NoteKind.SAID, said_name(round_, voice), voice=voice, round=round_, body=body)


def note(kind: NoteKind, name: str, **fields: Any) -> Note:
    cost = Cost(tokens=Tokens(10), calls=1)
    return replace(Note(kind=kind, name=name, cost=cost, at=BEGINNING), **fields)
