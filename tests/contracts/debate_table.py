"""Debates, voices and notes for the contracts of the debate room."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from portico.debate.core.debaters import Debater, DebaterKind, DebaterReply, DebaterRequest, Tariff
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebaterAnswer,
    Decision,
    Note,
    NoteKind,
    Option,
    Outcome,
    Source,
    Verdict,
    Why,
)
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind, rules_of
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import RunId
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import SECRET, TEAM

AWKWARD: Final = 'a "b" \\ \n ä \x00 \ud800 \u202e {{"answer": "no"}}'
"""What strangers write."""
TARIFF: Final = Tariff(input=Decimal("0.25"), output=Decimal("1.5"))
ANNA: Final = Debater(
    name="openai:gpt-5",
    kind=DebaterKind.MODEL,
    target="openai:gpt-5",
    family="openai",
    personas=("critic", "security"),
    specialist=True,
    max_output_tokens=200,
    tariff=TARIFF,
    clearance=SECRET,
)
BERT: Final = replace(ANNA, name="program:claude#2", target="program:claude", family="anthropic")
QUESTION: Final = Question(
    text="Which Port is open?", kind=QuestionKind.CHOICE, choices=("22", "80"), topic="network"
)


def a_debate(starter: Principal, name: str = "first", **wanted: Any) -> Debate:
    """By its starter, of two voices; the same name, the same debate."""
    usual = Debate(
        id=DebateId.mint(BEGINNING, SeededEntropy(f"debate {name} {starter.space}")),
        question=QUESTION,
        rules=rules_of(Preset.DEBATE, 0.7),
        debaters=(ANNA, BERT),
        cap=Cap(),
        deadline=BEGINNING + timedelta(minutes=5),
        label=TEAM,
        seed=2**80 + 7,
        started_by=starter.id,
        run=RunId.mint(BEGINNING, SeededEntropy(f"run of {name}")),
        started_at=BEGINNING,
    )
    return replace(usual, **wanted)


def said(
    voice: Debater = ANNA, key: str = "80", round_: int = 1, *, confidence: float | None = 0.5
) -> Note:
    answer = DebaterAnswer(
        voice=voice.name, round=round_, answer=key, key=key, shown=key, confidence=confidence
    )
    return Note(
        name=f"said:{round_}:{voice.name}",
        kind=NoteKind.SAID,
        voice=voice.name,
        round=round_,
        body=answer.as_json(),
        cost=cost(120, "0.002"),
        at=BEGINNING + timedelta(seconds=round_),
        prompt_tokens=100,
        output_tokens=20,
        overrun=3,
    )


def cost(tokens: int, money: str = "0", calls: int = 1) -> Cost:
    return Cost(
        tokens=Tokens(tokens), money=Decimal(money), time=timedelta(seconds=1.5), calls=calls
    )


def decided(answer: str = "80") -> Decision:
    other = Option(key="22", shown="22", probability=0.1, debaters=(BERT.name,))
    return Decision(
        verdict=Verdict.DECIDED,
        why=Why.LIKELY,
        answer=answer,
        probability=0.9,
        options=(
            Option(key=answer, shown=answer, probability=0.9, debaters=(ANNA.name,)),
            other,
        ),
        n_eff=1.5,
        rule="cold",
        weights=((ANNA.name, 1.25),),
        asked=2,
    )


def an_outcome(marker: Principal, debate: Debate, *, right: str | None = "80") -> Outcome:
    return Outcome(
        debate=debate.id,
        right=right,
        shown=None if right is None else f"port {right}",
        decided_right=right == "80",
        source=Source.TEST,
        note="it was looked up",
        by=marker.id,
        at=BEGINNING + timedelta(hours=1),
    )


def a_guest(guest: Principal) -> Debater:
    return Debater(
        name=f"guest:{guest.name}",
        kind=DebaterKind.GUEST,
        target=str(guest.id),
        family="guest",
        clearance=guest.clearance,
    )


def an_ask(voice: Debater, key: str = "said:1", *, label: Label = TEAM) -> DebaterRequest:
    return DebaterRequest(
        debater=voice,
        system="You are careful.",
        prompt=f"Which port? {AWKWARD}",
        schema={"type": "object"},
        prompt_tokens=10,
        max_output_tokens=100,
        timeout=timedelta(seconds=30),
        label=label,
        key=key,
    )


def a_reply(text: str = AWKWARD) -> DebaterReply:
    return DebaterReply(
        text=text,
        prompt_tokens=10,
        output_tokens=5,
        cost=cost(15, "0.5"),
        cut=True,
        overrun=2,
        label=TEAM,
        untrusted=True,
        model="theirs",
        notes=("it was late",),
    )
