"""What weights are learnt from: what is known of each answer, and no more."""

from dataclasses import replace

import pytest

from portico.debate.core.conclusion import conclusion
from portico.debate.core.debate import WholeDebate
from portico.debate.core.decision import Why
from portico.debate.core.outcome import Outcome, Source
from portico.debate.core.question import Question, QuestionKind
from portico.debate.core.records import known_of
from portico.testing.kernel import BEGINNING
from tests.debate.core.tables import TEXT, YES_NO, a_debate, a_table, said

COLOURS = Question(text="Which?", kind=QuestionKind.CHOICE, choices=("red", "blue", "green"))


def decided(question: Question, *answers: str) -> WholeDebate:
    notes = tuple(
        said(name, answer) for name, answer in zip(("a:1", "b:1", "c:1"), answers, strict=False)
    )
    debate = a_debate(question)
    decision = conclusion(a_table(debate, *notes), Why.ALL_ASKED)
    return WholeDebate(replace(debate, decision=decision), notes)


def an_outcome(whole: WholeDebate, *, right: str | None = None, so: bool = False) -> Outcome:
    return Outcome(
        debate=whole.debate.id,
        right=right,
        decided_right=so,
        source=Source.PERSON,
        by=whole.debate.started_by,
        at=BEGINNING,
    )


def test_a_decision_that_was_right_says_which_answer_is() -> None:
    whole = decided(TEXT, "Ada", "Ada", "Eve")

    known = known_of(whole, an_outcome(whole, so=True))

    assert known.right == "Ada"
    assert [ballot.key for ballot in known.ballots] == ["Ada", "Ada", "Eve"]


def test_of_two_answers_the_other_one_is_right_where_one_was_wrong() -> None:
    whole = decided(YES_NO, "c:yes", "c:yes", "c:no")

    known = known_of(whole, an_outcome(whole))

    assert known.right == "c:no"
    assert len(known.ballots) == 3


@pytest.mark.parametrize("question", [COLOURS, TEXT])
def test_of_more_answers_only_those_that_were_wrong_are_known(question: Question) -> None:
    whole = decided(question, "c:0", "c:0", "c:1")

    known = known_of(whole, an_outcome(whole))

    assert known.right is None
    assert {ballot.key for ballot in known.ballots} == {"c:0"}


def test_where_nothing_was_decided_nothing_is_known_unless_the_answer_is_said() -> None:
    whole = decided(YES_NO, "c:yes", "c:no")
    without = replace(whole, debate=replace(whole.debate, decision=None))

    assert known_of(whole, an_outcome(whole)).ballots == ()
    assert known_of(without, an_outcome(without)).right is None
    named = known_of(whole, an_outcome(whole, right="c:no"))
    assert (named.right, len(named.ballots)) == ("c:no", 2)
