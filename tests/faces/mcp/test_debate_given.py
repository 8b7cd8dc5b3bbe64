"""What models send to the tools of debates: taken where it can be meant, refused where not."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as given_
from hypothesis import strategies as st

from portico.debate.core.outcome import Source
from portico.debate.core.question import QuestionKind
from portico.debate.core.rules import Cap, Preset
from portico.faces.mcp.debate.errors import BadDebateInput
from portico.faces.mcp.debate.given import LONGEST_WAIT, Given
from portico.faces.mcp.debate.tools import BY_NAME, EVERY, schema_of
from portico.kernel.label import BadLabel, Label

USUAL = Cap(tokens=100_000, money=Decimal(1))


def read(tool: str, **fields: Any) -> Given:
    return Given.read(BY_NAME[tool], fields)


def flaws(tool: str, **fields: Any) -> dict[str, str]:
    with pytest.raises(BadDebateInput) as refused:
        read(tool, **fields)
    return {flaw.field: flaw.message for flaw in refused.value.flaws}


def test_all_of_a_wish_is_taken() -> None:
    wish = read(
        "debate",
        question="Which?",
        kind="choice",
        choices=["a", "b"],
        topic="birds",
        preset="quorum",
        voices=["openai:gpt-5"],
        roles=["critic"],
        thoroughness=1,
        budget=9000,
        deadline=60,
        guests=2,
        project="heron",
        memory=["notes"],
        material="a diff",
        label="team+finance",
        shared=True,
        unbounded=True,
        key="k",
    ).wish("question", USUAL)

    assert (wish.question, wish.kind, wish.choices) == ("Which?", QuestionKind.CHOICE, ("a", "b"))
    assert (wish.topic, wish.preset, wish.voices) == ("birds", Preset.QUORUM, ("openai:gpt-5",))
    assert (wish.roles, wish.thoroughness) == (("critic",), 1.0)
    assert (wish.cap, wish.deadline) == (replace(USUAL, tokens=9000), timedelta(minutes=1))
    assert (wish.guests, wish.project, wish.memory) == (2, "heron", ("notes",))
    assert (wish.material, wish.label) == ("a diff", Label.parse("team+finance"))
    assert (wish.shared, wish.unbounded, wish.key, wish.analyze) == (True, True, "k", False)


def test_what_is_left_out_is_as_the_settings_have_it() -> None:
    wish = read("debate", question="Which?", kind=None).wish("question", USUAL)

    assert (wish.kind, wish.preset, wish.thoroughness, wish.cap) == (None, None, None, None)
    assert (wish.deadline, wish.label, wish.guests, wish.shared) == (None, None, 0, False)


def test_a_task_is_analysed_in_parts() -> None:
    wish = read("analyze", task="Move house", parts=3).wish("task", USUAL, analyze=True)

    assert (wish.question, wish.analyze, wish.parts_most) == ("Move house", True, 3)


def test_one_text_is_a_list_of_one_and_a_round_number_is_whole() -> None:
    wish = read("debate", question="Which?", voices="openai:gpt-5", budget=9000.0).wish(
        "question", USUAL
    )

    assert (wish.voices, wish.cap) == (("openai:gpt-5",), replace(USUAL, tokens=9000))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"question": 1}, "question"),
        ({"choices": [1]}, "choices"),
        ({"preset": "loudest"}, "preset"),
        ({"kind": "riddle"}, "kind"),
        ({"thoroughness": "high"}, "thoroughness"),
        ({"thoroughness": True}, "thoroughness"),
        ({"thoroughness": float("inf")}, "thoroughness"),
        ({"thoroughness": float("nan")}, "thoroughness"),
        ({"budget": 10**400}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"shared": "yes"}, "shared"),
        ({"material": "a\0b"}, "material"),
        ({"choices": ["a", "\ud800"]}, "choices"),
        ({"max_tokens": 5}, "max_tokens"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(fields: dict[str, Any], field: str) -> None:
    assert list(flaws("debate", **{"question": "Which?", **fields})) == [field]


def test_a_debate_without_a_question_is_none() -> None:
    assert flaws("debate") == {"question": "is needed"}


@pytest.mark.parametrize("seconds", [-1, 10**8])
def test_no_deadline_lasts_longer_than_a_year_or_is_over_already(seconds: int) -> None:
    with pytest.raises(BadDebateInput):
        read("debate", question="Which?", deadline=seconds).wish("question", USUAL)


def test_nobody_waits_longer_than_clients_do() -> None:
    usual = timedelta(seconds=7)

    assert read("debate_status").patience(usual) == usual
    assert read("debate_status", wait=0).patience(usual) == timedelta(0)
    assert read("debate_status", wait=3).patience(usual) == timedelta(seconds=3)
    assert read("debate_status", wait=3000).patience(usual) == LONGEST_WAIT


def test_an_outcome_by_a_model_is_a_later_correction_unless_it_says_otherwise() -> None:
    its = "dbt_" + "0" * 26

    assert read("outcome", debate=its, right=False).outcome.source is Source.CORRECTION
    assert read("outcome", debate=its, answer="a", source="test").outcome.source is Source.TEST


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given_(
    st.dictionaries(
        st.sampled_from([*BY_NAME["debate"].properties, "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            st.lists,
            max_leaves=4,
        ),
    )
)
def test_whatever_is_sent_is_a_wish_or_is_refused(fields: dict[str, Any]) -> None:
    try:
        Given.read(BY_NAME["debate"], fields).wish("question", USUAL)
    except (BadDebateInput, BadLabel):
        return


def test_every_tool_has_a_schema_and_nothing_else_has() -> None:
    assert all(schema_of(tool.name) == tool.input_schema for tool in EVERY)
    assert schema_of("nothing") is None
