"""What happens in a debate comes back from JSON as it was."""

import json
from decimal import Decimal

import pytest

from portico.debate.core.decision import Decision, Option, Verdict, Why
from portico.debate.core.happening import (
    DebateEnded,
    GuestsWanted,
    Happening,
    PartBegan,
    RoundBegan,
    Skipped,
    Standing,
    VoiceAnswered,
    VoiceAsked,
    VoiceFailed,
    VoiceSpoke,
)
from portico.debate.core.happening_json import TYPES, happening_json, happening_of

DECISION = Decision(
    verdict=Verdict.DECIDED,
    why=Why.CERTAIN,
    answer="80",
    probability=0.9,
    options=(Option(key="c:1", shown="80", probability=0.9, voices=("a", "b")),),
    n_eff=1.5,
    rule="cold",
    weights=(("a", 1.25),),
    veto="no",
    synthesis="All of it.",
    asked=2,
    saved_tokens=7,
)
NOTHING_YET = Standing(
    options=(),
    spent_tokens=0,
    reserved_tokens=9,
    cap_tokens=None,
    spent_money=Decimal(0),
    cap_money=None,
)
EVERY: list[Happening] = [
    RoundBegan(round=2, voices=("a", "b#2")),
    VoiceAsked(voice="a", round=1, reserved_tokens=900, why="It is the first."),
    VoiceSpoke(voice="a", round=1, text="Hm \x00 \ud800"),
    VoiceAnswered(
        voice="a",
        round=1,
        answer="80",
        rationale="It is open.",
        confidence=0.5,
        tokens=12,
        money=Decimal("0.0025"),
        seconds=1.5,
    ),
    VoiceAnswered(
        voice="a",
        round=2,
        answer="80",
        rationale="",
        confidence=None,
        tokens=0,
        money=Decimal(0),
        seconds=0.0,
    ),
    VoiceFailed(voice="a", round=1, code="voice_away", why="Nobody is there."),
    NOTHING_YET,
    Standing(
        options=(("80", 0.75), ("22", 0.2)),
        spent_tokens=10,
        reserved_tokens=0,
        cap_tokens=100,
        spent_money=Decimal("0.1"),
        cap_money=Decimal("2.50"),
    ),
    Skipped(what="critique", why="budget", saved_tokens=300),
    GuestsWanted(seats=2),
    PartBegan(debate="dbt_x", question="Why?"),
    DebateEnded(decision=DECISION, status="decided", tokens=9, money=Decimal(1), seconds=2.0),
    DebateEnded(decision=None, status="failed", tokens=0, money=Decimal(0), seconds=0.0),
]


@pytest.mark.parametrize("happening", EVERY, ids=lambda each: type(each).__name__)
def test_it_comes_back_as_it_was(happening: Happening) -> None:
    type_, facts = happening_json(happening)

    assert happening_of(type_, json.loads(json.dumps(facts))) == happening


def test_every_happening_has_a_name_of_its_own() -> None:
    assert {type(each) for each in EVERY} == set(TYPES)
    assert len(set(TYPES.values())) == len(TYPES)


def test_what_is_of_a_later_version_is_passed_over_and_a_list_that_is_none_is_empty() -> None:
    assert happening_of("voice.sang", {}) is None

    began = happening_of("round.began", {"round": 1, "voices": "everybody"})

    assert began == RoundBegan(round=1, voices=())
