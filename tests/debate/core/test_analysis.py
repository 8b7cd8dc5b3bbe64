"""Plans of analyses, whatever was written as one; and what their parts come to."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.debate.core.analysis import (
    across_sheet,
    analysis_decision,
    listed,
    part_of,
    part_rules,
    plan_of,
    plan_sheet,
    reading_across,
    reading_plan,
    sub_questions,
)
from portico.debate.core.debaters import BUILT_IN
from portico.debate.core.debates import DebateStatus, Decision, NoteKind, Option, Verdict, Why
from portico.debate.core.prompts import PromptInputs, Unusable
from portico.debate.core.questions import Cap, Preset, QuestionKind, rules_of
from portico.testing.memory_store import BEGINNING
from tests.debate.core.tables import OPEN, THREE, a_debate, note

ANALYSIS = a_debate(OPEN, analysis=True)
DESK = PromptInputs(
    question=replace(OPEN, material="a file"), rules=ANALYSIS.rules, personas=BUILT_IN, seed=1
)


def test_a_plan_is_asked_for_with_the_kinds_and_views_there_are() -> None:
    sheet = plan_sheet(DESK, THREE[0], 4)

    assert "at most 4 questions" in sheet.prompt
    assert "architect, critic, pragmatist, security" in sheet.prompt
    assert "a file" in sheet.prompt
    json.dumps(sheet.schema)
    assert "Material" not in plan_sheet(replace(DESK, question=OPEN), THREE[0], 4).prompt


@pytest.mark.parametrize(
    ("part", "kind", "choices"),
    [
        ({"question": "Is it?", "kind": "yes_no"}, QuestionKind.YES_NO, ()),
        (
            {"question": "Which?", "kind": "choice", "choices": ["a", "b", "A"]},
            "choice",
            ("A", "b"),
        ),
        ({"question": "Which", "kind": "choice", "choices": ["a"]}, QuestionKind.OPEN, ()),
        ({"question": "How many?", "kind": "sum"}, QuestionKind.NUMBER, ()),
        ({"question": "Who?", "kind": "text", "choices": ["a", "b"]}, QuestionKind.TEXT, ()),
        ("Is it so?", QuestionKind.YES_NO, ()),
    ],
)
def test_a_part_is_what_it_says_where_that_makes_sense(
    part: object, kind: str, choices: tuple[str, ...]
) -> None:
    [sub] = sub_questions([part])

    assert (sub.kind, sub.choices) == (kind, choices)


def test_a_question_is_asked_once_and_no_more_than_allowed() -> None:
    parts = ["Is it so?", "is it so", "And this?", "And that?"]

    read = reading_plan("a:1", 2)(json.dumps({"parts": parts}))

    assert isinstance(read, dict)
    found = plan_of(ANALYSIS, note(NoteKind.PLAN, "plan", body=read))
    assert [each.question for each in found] == ["Is it so?", "And this?"]
    assert isinstance(reading_plan("a:1", 2)("no plan"), Unusable)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["question", "kind", "choices", "role"]), inner)
        ),
        max_leaves=9,
    )
)
def test_whatever_is_written_is_a_plan_or_none(value: object) -> None:
    for sub in sub_questions(value):
        assert sub.question.strip()
        json.dumps(sub.as_json()).encode()
        assert sub.kind is not QuestionKind.CHOICE or len(sub.choices) > 1


def test_a_part_is_named_after_what_it_asks_and_ends_before_the_whole() -> None:
    subs = sub_questions([{"question": "Is it?", "kind": "yes_no", "role": "critic"}, "What else"])
    now = BEGINNING + timedelta(minutes=1)
    one, other = (
        part_of(ANALYSIS, sub, BUILT_IN, place=place, cap=Cap(tokens=9), now=now)
        for place, sub in enumerate(subs)
    )

    again = part_of(ANALYSIS, subs[0], BUILT_IN, place=0, cap=Cap(tokens=9), now=now)
    assert again == one
    assert one.id != other.id
    assert (one.part_of, one.analysis, one.cap) == (ANALYSIS.id, False, Cap(tokens=9))
    assert one.deadline < ANALYSIS.deadline
    assert one.debaters[0].personas == ("critic",)
    assert other.debaters == (*THREE[1:], THREE[0])


def test_parts_are_voted_on_debated_or_decided_by_quorum() -> None:
    usual, strict = rules_of(Preset.DEBATE, 0.3), rules_of(Preset.QUORUM, 0.3)

    assert part_rules(usual, QuestionKind.NUMBER).preset is Preset.VOTE
    assert part_rules(usual, QuestionKind.OPEN).preset is Preset.DEBATE
    assert part_rules(strict, QuestionKind.NUMBER).preset is Preset.QUORUM


def decided(answer: str | None, probability: float = 0.8) -> Decision:
    options = (
        Option(key="yes", shown="yes", probability=probability, debaters=("a:1",)),
        Option(key="no", shown="no", probability=0.1, debaters=("b:1",)),
    )
    return Decision(
        verdict=Verdict.DECIDED if answer else Verdict.NO_DECISION,
        why=Why.CERTAIN if answer else Why.TIE,
        answer=answer,
        probability=probability,
        options=options,
        n_eff=1.5,
        rule="cold",
        asked=2,
    )


YES = a_debate(decision=decided("yes"), status=DebateStatus.DECIDED)
TIED = a_debate(decision=decided(None), status=DebateStatus.NO_DECISION)
BROKEN = a_debate(status=DebateStatus.FAILED)


def test_whoever_writes_the_text_sees_answers_and_dissent() -> None:
    prompt = across_sheet(DESK, THREE[0], [YES, TIED, BROKEN]).prompt

    assert "Decided: yes" in prompt
    assert "Somebody disagrees: <<" in prompt
    assert "It failed before anything was decided" in prompt


def test_a_text_says_what_was_not_decided() -> None:
    read = reading_across("a:1", [YES, TIED])

    assert read('{"text": "All."}') == {"text": "All.\n\nNot decided:\n- Is it so?", "by": "a:1"}
    assert reading_across("a:1", [YES])("All.") == {"text": "All.", "by": "a:1"}
    assert isinstance(read('{"text": 1}'), Unusable)
    assert str(listed([YES, TIED])["text"]).startswith("1. Is it so?\n   Decided: yes")


def test_an_analysis_is_as_likely_as_its_parts_are() -> None:
    body = {"text": "All."}

    both = analysis_decision([YES, TIED], body, Why.ALL_ASKED)
    none = analysis_decision([TIED, BROKEN], body, Why.ALL_ASKED)
    late = analysis_decision([], {}, Why.DEADLINE)

    assert (both.verdict, both.answer, both.probability) == (Verdict.DECIDED, "All.", 0.4)
    assert (none.verdict, none.why, none.answer) == (Verdict.NO_DECISION, Why.NO_ANSWERS, None)
    assert (late.why, late.probability, late.options) == (Why.DEADLINE, 0.0, ())
    assert Decision.from_json(both.as_json()) == both
