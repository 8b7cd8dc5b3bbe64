"""What came of a debate, in a sentence that says what to do next."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from portico.debate.core.debate import DebateId, DebateStatus
from portico.debate.core.decision import Decision, Option, Verdict, Why
from portico.debate.core.outcome import Outcome, Source
from portico.debate.core.verdict_words import LONGEST, brief, percent, verdict_words
from portico.kernel.ids import PrincipalId
from portico.testing.kernel import BEGINNING, SeededEntropy


def an_option(shown: str, probability: float) -> Option:
    return Option(key=shown, shown=shown, probability=probability, voices=("one",))


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


def test_a_decision_of_a_quorum_needs_no_reason_of_its_own() -> None:
    decision = a_decision(Verdict.DECIDED, Why.NO_QUORUM, an_option("yes", 0.9))

    assert verdict_words(decision, DebateStatus.DECIDED).endswith("since all have been asked.")


def test_a_tie_names_both_sides() -> None:
    decision = a_decision(Verdict.NO_DECISION, Why.TIE, YES, NO)

    assert verdict_words(decision, DebateStatus.NO_DECISION) == snapshot(
        "No decision: the voices are split, and yes and no stand at 50 % to 50 %. Ask more voices,"
        " or other ones."
    )


def test_one_that_is_too_unsure_says_how_sure() -> None:
    decision = a_decision(Verdict.NO_DECISION, Why.TOO_UNSURE, an_option("42", 0.31), NO)

    assert verdict_words(decision, DebateStatus.NO_DECISION) == snapshot(
        "No decision: the likeliest answer, 42, has only 31 %. Ask more voices, or other ones."
    )


def test_to_be_more_thorough_is_advised_only_where_somebody_was_not_asked() -> None:
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
