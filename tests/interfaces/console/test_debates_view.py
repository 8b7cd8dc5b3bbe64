"""Debates' pure functions: rows, the grid of voices and rounds, meters, what one may do."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from portico.debate.core.debaters import Debater, DebaterKind
from portico.debate.core.debates import (
    Debate,
    DebateId,
    DebaterAnswer,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    Option,
    Verdict,
    WholeDebate,
    Why,
)
from portico.debate.core.questions import Cap, Preset, Question, QuestionKind, rules_of
from portico.interfaces.console.screens.debate_board import Board, board_of, debate_row, may_of
from portico.kernel.budget import Cost, Tokens
from portico.kernel.ids import PrincipalId, RunId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind

NOW = datetime(2026, 11, 14, 12, 0, tzinfo=UTC)
TEAM = Label.parse("team")
ANA = PrincipalId.of_digest(b"ana")
NAMES = ("lab:heron", "lab:egret", "lab:ibis")


def voice(name: str, **more: Any) -> Debater:
    its = Debater(name=name, kind=DebaterKind.MODEL, target=name, family="lab", clearance=TEAM)
    return replace(its, **more)


def debate(**more: Any) -> Debate:
    its = Debate(
        id=DebateId.of_digest(b"d"),
        question=Question(text="Which?", kind=QuestionKind.CHOICE, choices=("Redis", "PG")),
        rules=rules_of(Preset.DEBATE, 0.5),
        debaters=tuple(voice(name) for name in NAMES),
        cap=Cap(tokens=1000),
        deadline=NOW + timedelta(minutes=5),
        label=TEAM,
        seed=1,
        started_by=ANA,
        run=RunId.of_digest(b"r"),
        started_at=NOW,
    )
    return replace(its, **more)


def said(name: str, answer: str, round_: int = 1, **more: Any) -> Note:
    body = DebaterAnswer(voice=name, round=round_, answer=answer, key=answer, shown=answer, **more)
    return Note(
        name=f"said:{round_}:{name}",
        kind=NoteKind.SAID,
        voice=name,
        round=round_,
        body=body.as_json(),
        cost=Cost(tokens=Tokens(100), calls=1),
        at=NOW,
    )


def decided(answer: str | None = "PG", **more: Any) -> Decision:
    options = (
        Option(key="PG", shown="PG", probability=0.8, debaters=NAMES[1:], rationale="One store."),
        Option(key="Redis", shown="Redis", probability=0.2, debaters=NAMES[:1], rationale="Quick."),
    )
    its = Decision(
        verdict=Verdict.NO_DECISION if answer is None else Verdict.DECIDED,
        why=Why.TIE if answer is None else Why.LIKELY,
        answer=answer,
        probability=0.8,
        options=options,
        n_eff=1.7,
        rule="cold",
        weights=((NAMES[0], 1.0), (NAMES[1], 2.0)),
    )
    return replace(its, **more)


def board(notes: Sequence[Note] = (), parts: Sequence[Debate] = (), **more: Any) -> Board:
    return board_of(WholeDebate(debate(**more), tuple(notes)), parts, NOW + timedelta(seconds=30))


def over(decision: Decision | None, status: DebateStatus = DebateStatus.DECIDED) -> dict[str, Any]:
    return {"status": status, "decision": decision, "ended_at": NOW + timedelta(seconds=9)}


def test_a_row_tells_the_answer_or_why_there_is_none() -> None:
    yes = debate_row(debate(**over(decided())))
    none = debate_row(debate(**over(decided(None), DebateStatus.NO_DECISION)))
    runs = debate_row(debate())

    assert (yes.answer, yes.sure_words, yes.state, yes.took) == ("PG", "80 %", "decided", 9.0)
    assert (none.answer, none.sure, none.state) == (None, None, "no decision")
    assert none.told.startswith("No decision: the voices are split")
    assert (runs.state, runs.took) == ("in progress", None)


def test_rounds_stand_side_by_side_the_newest_first() -> None:
    notes = [
        said(NAMES[0], "Redis", confidence=0.6),
        said(NAMES[1], "PG"),
        said(NAMES[0], "PG", 2, changed_because="I forgot who runs it"),
    ]

    shown = board(notes)

    assert [each.number for each in shown.rounds] == [2, 1]
    assert [each.live for each in shown.rounds] == [True, False]
    [changed, *_], [first, *_] = (each.cells for each in shown.rounds)
    assert (changed.answer, changed.was, changed.because) == (
        "PG",
        "Redis",
        "I forgot who runs it",
    )
    assert (first.confidence, first.was) == (0.6, "")
    assert [cell.state for cell in shown.rounds[1].cells] == ["said", "said", "open"]


def test_who_was_not_asked_or_failed_is_said_so() -> None:
    failed = Note(name="f", kind=NoteKind.FAILED, voice=NAMES[1], body={"why": "away"}, at=NOW)
    skipped = Note(
        name="s",
        kind=NoteKind.SKIPPED,
        body={"what": f"said:1:{NAMES[2]}", "why": "budget", "saved": 10},
        at=NOW,
    )

    cells = board([said(NAMES[0], "PG"), failed, skipped], **over(decided())).rounds[0].cells

    assert [cell.state for cell in cells] == ["said", "failed", "left_out"]
    assert cells[1].why == "away"
    assert "the budget has no room for it" in cells[2].why
    assert cells[0].leads


def test_consensus_is_counted_at_first_and_weighed_in_the_end() -> None:
    notes = [said(NAMES[0], "Redis"), said(NAMES[1], "PG"), said(NAMES[2], "PG")]

    running, ended = board(notes), board(notes, **over(decided()))

    assert running.consensus.text == "67 %"
    assert "2 of 3 in round 1" in running.consensus.note
    assert ended.consensus.text == "80 %"
    assert ended.consensus.target == pytest.approx(0.89)
    assert board().consensus.value is None


def test_the_budget_is_what_was_noted_until_it_is_settled() -> None:
    running = board([said(NAMES[0], "PG")]).spending
    settled = board(
        [said(NAMES[0], "PG")],
        **over(decided()),
        spent=Cost(tokens=Tokens(250), money=Decimal("0.5"), calls=2),
    ).spending

    assert (running.tokens, running.share) == (100, 0.1)
    assert (settled.tokens, settled.money, settled.calls) == (250, Decimal("0.5"), 2)


@pytest.mark.parametrize(
    ("more", "headline", "is_decided"),
    [
        ({}, "Nothing is decided yet", False),
        (over(decided()), "PG", True),
        (over(decided(None), DebateStatus.NO_DECISION), "No decision", False),
        (over(None, DebateStatus.STOPPED), "No decision", False),
        (
            over(
                decided(None, verdict=Verdict.ESCALATED, veto="It leaks."),
                DebateStatus.ESCALATED,
            ),
            "Not decided: a specialist objects",
            False,
        ),
        (over(decided(synthesis="All of it, in a text.")), "Decided", True),
    ],
)
def test_undecided_is_an_answer_too(more: dict[str, Any], headline: str, is_decided: bool) -> None:
    shown = board(**more)

    assert (shown.headline, shown.decided) == (headline, is_decided)


def test_dissent_is_all_but_the_answer_and_without_one_all() -> None:
    yes = board(**over(decided()))
    none = board(**over(decided(None), DebateStatus.NO_DECISION))

    assert [each.answer for each in yes.dissent] == ["Redis"]
    assert [each.answer for each in none.dissent] == ["PG", "Redis"]
    assert [seat.weight for seat in yes.seats] == [0.5, 1.0, None]


def test_an_analysis_is_the_tree_of_its_parts() -> None:
    parts = [debate(**over(decided())), debate(**over(decided(None), DebateStatus.NO_DECISION))]

    shown = board(parts=parts, analysis=True, **over(decided(synthesis="Both.")))

    assert shown.headline == "1 of 2 sub-questions are decided"
    assert [row.state for row in shown.parts] == ["decided", "no decision"]
    assert (shown.rounds, shown.dissent) == ((), ())
    assert shown.synthesis == "Both."


def principal(id_: PrincipalId, *scopes: str) -> Principal:
    return Principal(
        id=id_,
        space=SpaceId.of_digest(b"s"),
        kind=PrincipalKind.PERSON,
        name="x",
        scopes=frozenset(scopes),
        clearance=TEAM,
    )


def test_only_its_starter_leads_a_debate_and_only_who_may_run_one_marks_it() -> None:
    ana = principal(ANA, "debates:read", "debates:run", "debates:join")
    bob = principal(PrincipalId.of_digest(b"bob"), "debates:read", "debates:join")
    running, ended = debate(guests=1), debate(project="prj_x", **over(decided()))
    notes = [said(NAMES[0], "PG")]

    def may(its: Debate, who: Principal) -> set[str]:
        found = may_of(its, who, board_of(WholeDebate(its, tuple(notes)), (), NOW))
        names = ("stop", "share", "promote", "mark", "replay", "join", "remove")
        return {name for name in names if getattr(found, name)}

    assert may(running, ana) == {"stop", "join"}
    assert may(running, bob) == {"join"}
    assert may(ended, ana) == {"share", "promote", "mark", "replay", "remove"}
    assert may(ended, bob) == {"replay"}


def test_what_was_said_is_cut_so_that_the_board_stays_small() -> None:
    voices = tuple(voice(f"lab:{n}") for n in range(12))
    notes = [
        said(each.name, "PG", round_, rationale="word " * 2000)
        for each in voices
        for round_ in (1, 2)
    ]

    shown = board(notes, debaters=voices)

    letters = sum(len(c.answer) + len(c.why) for each in shown.rounds for c in each.cells)
    assert letters < 30_000
    assert all(cell.cut for each in shown.rounds for cell in each.cells)
