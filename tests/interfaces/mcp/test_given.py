"""What models send to the tools of the bridge and of debates: taken where it can be meant, refused
where not."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as given_
from hypothesis import strategies as st

from portico.bridge.core.errors import BadBridgeInput
from portico.debate.core.debates import DebateWish, Source
from portico.debate.core.questions import Cap, Preset, QuestionKind
from portico.interfaces.mcp.bridge import definitions as bridge_tools
from portico.interfaces.mcp.bridge.definitions import Given as BridgeGiven
from portico.interfaces.mcp.debate import definitions as debate_tools
from portico.interfaces.mcp.debate.definitions import LONGEST_WAIT, BadDebateInput, Given
from portico.kernel.label import BadLabel, Label

USUAL = Cap(tokens=100_000, money=Decimal(1))


def sent(tool: str, /, **fields: Any) -> BridgeGiven:
    """To the bridge."""
    return BridgeGiven.read(bridge_tools.BY_NAME[tool], fields)


def read(tool: str, /, **fields: Any) -> Given:
    """Of a debate."""
    return Given.read(debate_tools.BY_NAME[tool], fields)


def flaws(tool: str, /, **fields: Any) -> dict[str, str]:
    reading = sent if tool in bridge_tools.BY_NAME else read
    with pytest.raises((BadBridgeInput, BadDebateInput)) as refused:
        reading(tool, **fields)
    return {flaw.field: flaw.message for flaw in refused.value.flaws}


def test_what_can_be_meant_is_taken() -> None:
    page = sent("read", conversations="cnv_1", limit=5.0, upto=None)
    said = sent("send", conversation="cnv_1", to=["ana", "bob", "ana"])
    kept = sent("memory_set", project="p", key="k", value=[1, {"a": None}])

    assert (page.texts("conversations"), page.number("limit")) == (["cnv_1"], 5)
    assert ("upto" in page, page.upto) == (False, None)
    assert said.texts("to") == ["ana", "bob"]
    assert kept.value("value") == [1, {"a": None}]


def test_every_flaw_is_told_at_once() -> None:
    told = flaws("send", body=5, labels="x", ack="yes", to={"a": 1}, ack_within=1.5)

    assert told == {
        "conversation": "is needed",
        "body": "must be a text",
        "labels": "is not known; send takes conversation, body, mentions, to, ack_within, "
        "reply_to, ack, attachments, label, key",
        "ack": "must be true or false",
        "to": "must be a list of texts",
        "ack_within": "must be a whole number",
    }


@pytest.mark.parametrize(
    ("tool", "fields", "told"),
    [
        ("read", {"limit": True}, {"limit": "must be a whole number"}),
        ("whoami", {"who": "me"}, {"who": "is not known; whoami takes -"}),
        ("project_set", {"doing": "flying"}, {"doing": "must be one of there, busy, away"}),
        ("debate", {}, {"question": "is needed"}),
    ],
)
def test_what_cannot_be_meant_is_told(
    tool: str, fields: dict[str, Any], told: dict[str, str]
) -> None:
    assert flaws(tool, **fields) == told


def test_a_time_that_nobody_lives_to_see_is_refused() -> None:
    with pytest.raises(BadBridgeInput):
        sent("lease", do="take", seconds=10**30).seconds("seconds")
    assert sent("lease", do="take", seconds=5).seconds("seconds") == timedelta(seconds=5)


@pytest.mark.parametrize("fields", [{}, {"text": "\ud800"}, {"base64": "%"}, {"base64": "a"}])
def test_a_file_that_cannot_be_read_is_refused(fields: dict[str, Any]) -> None:
    attached = sent("attach", project="p", name="n", **fields)

    with pytest.raises(BadBridgeInput):
        attached.content()


def test_all_of_a_wish_is_taken() -> None:
    wish = read(
        "debate",
        question="Which?",
        kind="choice",
        choices=["a", "b"],
        topic="birds",
        preset="quorum",
        voices="openai:gpt-5",
        roles=["critic"],
        thoroughness=1,
        budget=9000.0,
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

    assert wish == DebateWish(
        question="Which?",
        kind=QuestionKind.CHOICE,
        choices=("a", "b"),
        topic="birds",
        preset=Preset.QUORUM,
        voices=("openai:gpt-5",),
        roles=("critic",),
        thoroughness=1.0,
        cap=replace(USUAL, tokens=9000),
        deadline=timedelta(minutes=1),
        guests=2,
        project="heron",
        memory=("notes",),
        material="a diff",
        label=Label.parse("team+finance"),
        shared=True,
        unbounded=True,
        key="k",
    )


def test_what_is_left_out_is_as_the_settings_have_it() -> None:
    wish = read("debate", question="Which?", kind=None).wish("question", USUAL)

    assert (wish.kind, wish.preset, wish.thoroughness, wish.cap) == (None, None, None, None)
    assert (wish.deadline, wish.label, wish.guests, wish.shared) == (None, None, 0, False)


def test_a_task_is_analysed_in_parts() -> None:
    wish = read("analyze", task="Move house", parts=3).wish("task", USUAL, analyze=True)

    assert (wish.question, wish.analyze, wish.parts_most) == ("Move house", True, 3)


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
def test_what_cannot_be_meant_of_a_debate_is_refused_by_its_name(
    fields: dict[str, Any], field: str
) -> None:
    assert list(flaws("debate", **{"question": "Which?", **fields})) == [field]


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


@given_(
    st.dictionaries(
        st.sampled_from([*debate_tools.BY_NAME["debate"].properties, "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            st.lists,
            max_leaves=4,
        ),
    )
)
def test_whatever_is_sent_is_a_wish_or_is_refused(fields: dict[str, Any]) -> None:
    try:
        Given.read(debate_tools.BY_NAME["debate"], fields).wish("question", USUAL)
    except (BadDebateInput, BadLabel):
        return


@pytest.mark.parametrize("tools", [bridge_tools, debate_tools], ids=["bridge", "debates"])
def test_the_schema_of_each_tool_names_what_it_needs(tools: Any) -> None:
    for tool in tools.EVERY:
        assert tools.schema_of(tool.name) == tool.input_schema
        assert set(tool.required) <= set(tool.properties)
    assert tools.schema_of("nothing") is None
