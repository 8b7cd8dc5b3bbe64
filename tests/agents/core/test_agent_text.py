"""Agents as plain text and numbers, and back."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.agent import AgentSpec, Limits, ToolMode
from portico.agents.core.agent_text import (
    limits_from,
    limits_json,
    read_spec,
    spec_from,
    spec_json,
)
from portico.agents.core.errors import BadAgent
from portico.kernel.json import JsonValue, kept
from portico.kernel.label import Label, Level

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
LISTS = st.lists(TEXTS, max_size=4).map(tuple)
LIMITS = st.builds(
    Limits,
    turns=st.integers(),
    tokens=st.integers(),
    money=st.decimals(allow_nan=False, allow_infinity=False, places=4),
    seconds=st.floats(allow_nan=False, allow_infinity=False),
    calls=st.integers(),
)
SPECS = st.builds(
    AgentSpec,
    name=TEXTS,
    description=TEXTS,
    instructions=TEXTS,
    model=TEXTS,
    fallbacks=LISTS,
    tools=LISTS,
    tool_mode=st.sampled_from(ToolMode),
    limits=LIMITS,
    most_output=st.integers(),
    temperature=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    label=st.builds(
        Label, st.sampled_from(Level), st.frozensets(st.sampled_from(["finance", "hr-2"]))
    ),
    tags=LISTS,
    exposed=st.booleans(),
)


@given(SPECS)
def test_what_is_written_is_read_as_it_was(spec: AgentSpec) -> None:
    again = kept(spec_json(spec))

    assert isinstance(again, dict)
    assert spec_from(again) == spec


def test_what_is_left_away_is_as_usual() -> None:
    assert spec_from({"name": "a", "model": "b:c"}) == AgentSpec(name="a", model="b:c")


def test_limits_are_read_by_themselves_too() -> None:
    limits = Limits(turns=3, money=Decimal("0.5"))

    assert limits_from(limits_json(limits)) == limits
    with pytest.raises(BadAgent) as refused:
        limits_from({"turns": "3"})
    assert [flaw.field for flaw in refused.value.flaws] == ["limits.turns"]


def test_everything_that_cannot_be_read_is_told_at_once() -> None:
    with pytest.raises(BadAgent) as refused:
        spec_from({"name": 3, "colour": "red", "limits": {"turns": True, "speed": 1}})

    told = {flaw.field: flaw.message for flaw in refused.value.flaws}
    assert told == {
        "name": "must be a text",
        "model": "is missing",
        "colour": "is no field of an agent",
        "limits.turns": "must be a whole number",
        "limits.speed": "is no field of an agent",
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("description", "a\0b"),
        ("instructions", "half \ud800"),
        ("fallbacks", "a:b"),
        ("fallbacks", 3),
        ("tools", ["a", 1]),
        ("tools", ["a\0"]),
        ("tool_mode", "magic"),
        ("tool_mode", 1),
        ("most_output", 1.5),
        ("temperature", "warm"),
        ("temperature", True),
        ("temperature", float("nan")),
        ("temperature", 10**400),
        ("label", "secret"),
        ("label", 1),
        ("exposed", 1),
        ("limits", []),
    ],
)
def test_a_field_that_is_not_as_it_must_be_is_named(field: str, value: JsonValue) -> None:
    spec, flaws = read_spec({"name": "a", "model": "b:c", field: value})

    assert [flaw.field for flaw in flaws] == [field]
    assert getattr(spec, field) == getattr(AgentSpec(name="", model="b:c"), field)


@pytest.mark.parametrize("value", [True, None, "much", "NaN", "Infinity", float("inf"), "1,5"])
def test_what_is_no_amount_is_refused(value: JsonValue) -> None:
    _, flaws = read_spec({"name": "a", "model": "b:c", "limits": {"money": value}})

    assert [flaw.field for flaw in flaws] == ["limits.money"]


@pytest.mark.parametrize("value", ["0.50", 0.5, "5e-1"])
def test_an_amount_may_be_a_text_or_a_number(value: JsonValue) -> None:
    assert limits_from({"money": value}).money == Decimal("0.5")
