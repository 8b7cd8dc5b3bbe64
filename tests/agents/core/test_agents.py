"""Agents as data: as text and back, which of them are wanted, what changed, what is wrong."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.agents.core.agent_checks import ValidationContext, flaws, warnings
from portico.agents.core.agents import (
    TEMPLATES,
    AgentFilter,
    AgentSpec,
    Change,
    Limits,
    Template,
    ToolMode,
    about_agent,
    about_change,
    changes,
    limits_from,
    limits_json,
    read_spec,
    spec_from,
    spec_json,
    takes,
)
from portico.agents.core.errors import InvalidAgent, InvalidAgentFile
from portico.kernel.errors import FieldError, Kind
from portico.kernel.json import JsonValue, kept
from portico.kernel.label import PUBLIC, Label, Level
from portico.testing.agent_data import an_agent
from portico.testing.guard import a_person

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
    max_output_tokens=st.integers(),
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


def test_what_is_left_away_is_as_usual_and_limits_are_read_by_themselves() -> None:
    assert spec_from({"name": "a", "model": "b:c"}) == AgentSpec(name="a", model="b:c")

    limits = Limits(turns=3, money=Decimal("0.5"))

    assert limits_from(limits_json(limits)) == limits
    with pytest.raises(InvalidAgent) as refused:
        limits_from({"turns": "3"})
    assert [flaw.field for flaw in refused.value.field_errors] == ["limits.turns"]


def test_everything_that_cannot_be_read_is_told_at_once() -> None:
    with pytest.raises(InvalidAgent) as refused:
        spec_from({"name": 3, "colour": "red", "limits": {"turns": True, "speed": 1}})

    told = {flaw.field: flaw.message for flaw in refused.value.field_errors}
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
    attribute = "max_output_tokens" if field == "most_output" else field

    assert [flaw.field for flaw in flaws] == [field]
    assert getattr(spec, attribute) == getattr(AgentSpec(name="", model="b:c"), attribute)


@pytest.mark.parametrize("value", [True, None, "much", "NaN", "Infinity", float("inf"), "1,5"])
def test_what_is_no_amount_is_refused(value: JsonValue) -> None:
    _, flaws = read_spec({"name": "a", "model": "b:c", "limits": {"money": value}})

    assert [flaw.field for flaw in flaws] == ["limits.money"]


@pytest.mark.parametrize("value", ["0.50", 0.5, "5e-1"])
def test_an_amount_may_be_a_text_or_a_number(value: JsonValue) -> None:
    assert limits_from({"money": value}).money == Decimal("0.5")


SPEC = AgentSpec(
    name="Clerk",
    description="Answers Letters.",
    model="a:b",
    fallbacks=("c:d",),
    tools=("files.*",),
    tags=("post",),
)


@pytest.mark.parametrize(
    ("which", "taken"),
    [
        (AgentFilter(), True),
        (AgentFilter(text="clERK"), True),
        (AgentFilter(text="letters"), True),
        (AgentFilter(text="bills"), False),
        (AgentFilter(tag="post"), True),
        (AgentFilter(tag="pos"), False),
        (AgentFilter(model="a:b"), True),
        (AgentFilter(model="c:d"), True),
        (AgentFilter(model="a"), False),
        (AgentFilter(tool="files.read"), True),
        (AgentFilter(tool="mail.send"), False),
        (AgentFilter(text="clerk", tag="post", model="a:b", tool="mail.send"), False),
    ],
)
def test_an_agent_is_taken_if_all_is_so(which: AgentFilter, taken: bool) -> None:
    assert takes(which, SPEC) is taken


CLERK = AgentSpec(name="clerk", model="a:b", instructions="One.\nTwo.\nThree.", tools=("a.b",))


def test_between_versions_each_field_that_changed_is_told_with_what_it_was() -> None:
    assert changes(CLERK, CLERK) == []

    after = replace(CLERK, tools=(), temperature=0.5, limits=Limits(turns=3))

    assert changes(CLERK, after) == [
        Change("tools", ["a.b"], []),
        Change("limits.turns", 10, 3),
        Change("temperature", None, 0.5),
    ]
    assert changes(after, CLERK)[1] == Change("temperature", 0.5, None)

    (change,) = changes(CLERK, replace(CLERK, instructions="One.\nTwo and a half.\nThree."))

    assert change.lines == (
        "@@ -1,3 +1,3 @@",
        " One.",
        "-Two.",
        "+Two and a half.",
        " Three.",
    )


def test_the_audit_is_told_what_an_agent_may_and_not_what_it_is_told() -> None:
    before = an_agent(a_person())
    after = replace(
        before, version=2, spec=replace(before.spec, instructions="Never tell.", tools=("*",))
    )

    added, changed = about_agent("agent.added", before), about_change(before, after)

    assert (added.action, added.subject, added.details["tools"]) == (
        "agent.added",
        "clerk",
        ["files.*"],
    )
    assert changed.action == "agent.changed"
    assert changed.details["changed"] == ["tools", "instructions"]
    assert changed.details["tools"] == ["*"]
    assert "Never tell" not in str(changed)


TEAM = Label(Level.TEAM)
KNOWN = ValidationContext(
    amiss={"gone:model": "is not there"},
    tools=["files.read", "files.write"],
    servers=["files", "mail"],
    clearance=TEAM,
    task=PUBLIC,
)
GOOD = AgentSpec(
    name="clerk",
    description="Answers letters.",
    instructions="Answer politely.",
    model="local:small",
    fallbacks=("other:model",),
    tools=("files.*",),
    tags=("post",),
    temperature=0.5,
    exposed=True,
)


def wrong(spec: AgentSpec, known: ValidationContext = KNOWN) -> list[str]:
    return [flaw.field for flaw in flaws(spec, known)]


def test_one_that_is_as_it_must_be_has_no_flaws() -> None:
    assert flaws(GOOD, KNOWN) == []
    assert flaws(AgentSpec(name="a", model="b:c"), KNOWN) == []


@pytest.mark.parametrize("name", ["", "1st", "a clerk", "x" * 49, "a.b", "ä", "clerk\n"])
def test_a_name_is_one_for_a_tool_and_for_a_model_too(name: str) -> None:
    assert wrong(replace(GOOD, name=name)) == ["name"]


@pytest.mark.parametrize("name", ["runs", "templates", "check", "import", "agt_" + "0" * 26])
def test_names_of_our_own_are_not_given(name: str) -> None:
    assert wrong(replace(GOOD, name=name)) == ["name"]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"description": "x" * 2_001}, ["description"]),
        ({"description": " "}, ["description"]),
        ({"description": "", "exposed": False}, []),
        ({"instructions": "x" * 100_001}, ["instructions"]),
        ({"model": "small"}, ["model"]),
        ({"model": "gone:model"}, ["model"]),
        ({"fallbacks": ("x", "gone:model", "a:b")}, ["fallbacks.0", "fallbacks.1"]),
        ({"fallbacks": ("local:small", "a:b", "a:b")}, ["fallbacks.0", "fallbacks.2"]),
        ({"fallbacks": tuple(f"a:{n}" for n in range(6))}, ["fallbacks"]),
        ({"tools": ("x",) * 201}, ["tools"]),
        ({"tools": ("a b", "", "x,y", "x" * 201)}, ["tools.0", "tools.1", "tools.2", "tools.3"]),
        ({"tools": ("files.read", "files.read")}, ["tools.1"]),
        ({"tools": ("files.remove",)}, ["tools.0"]),
        ({"tools": ("nobody.*",)}, ["tools.0"]),
        ({"tools": ("mail.send", "m*.send", "*", "f*.read")}, []),
        ({"tools": ("x*.send",)}, ["tools.0"]),
        ({"max_output_tokens": 0}, ["most_output"]),
        ({"max_output_tokens": 1_000_001}, ["most_output"]),
        ({"max_output_tokens": 300_000}, ["most_output"]),
        ({"temperature": -0.1}, ["temperature"]),
        ({"temperature": 2.1}, ["temperature"]),
        ({"temperature": None}, []),
        ({"label": Label(Level.CONFIDENTIAL)}, ["label"]),
        ({"label": Label(Level.TEAM, frozenset({"hr"}))}, ["label"]),
        ({"tags": ("Post", "", "ok", "ok")}, ["tags.0", "tags.1", "tags.3"]),
        ({"tags": tuple(f"t{n}" for n in range(21))}, ["tags"]),
    ],
)
def test_each_field_is_held_to_what_it_must_be(changes: dict[str, Any], fields: list[str]) -> None:
    assert wrong(replace(GOOD, **changes)) == fields


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (Limits(turns=0), "turns"),
        (Limits(turns=201), "turns"),
        (Limits(tokens=499), "tokens"),
        (Limits(tokens=100_000_001), "tokens"),
        (Limits(money=Decimal("-0.01")), "money"),
        (Limits(money=Decimal("10000.01")), "money"),
        (Limits(seconds=0.5), "seconds"),
        (Limits(seconds=86_401), "seconds"),
        (Limits(calls=-1), "calls"),
        (Limits(calls=10_001), "calls"),
    ],
)
def test_limits_are_held_to_ranges(limits: Limits, field: str) -> None:
    assert f"limits.{field}" in wrong(replace(GOOD, limits=limits))


def test_nothing_to_spend_is_a_limit_too() -> None:
    assert wrong(replace(GOOD, limits=Limits(money=Decimal(0), calls=0))) == []


def test_an_answer_longer_than_all_that_may_be_spent_is_told_with_both_numbers() -> None:
    few = replace(GOOD, limits=Limits(tokens=2_000))

    [usual] = flaws(few, KNOWN)
    [written] = flaws(replace(few, max_output_tokens=3_000), KNOWN)

    assert usual == FieldError(
        "most_output",
        "must not be more than limits.tokens, 2,000: it is 4,096 where nothing else is said",
    )
    assert written == FieldError(
        "most_output", "must not be more than limits.tokens, 2,000: it is 3,000"
    )


def test_tools_that_cannot_be_used_now_are_warned_of() -> None:
    spec = replace(GOOD, tools=("files.*", "mail.send", "mail.a", "mail.b", "mail.c"))

    assert warnings(GOOD, KNOWN.tools) == []
    assert warnings(replace(GOOD, tools=()), []) == []
    [some] = warnings(replace(spec, tools=spec.tools[:2]), KNOWN.tools)
    [many] = warnings(spec, KNOWN.tools)
    assert (some.field, many.field) == ("tools", "tools")
    assert "could use by mail.send:" in some.message
    assert "could use by mail.send, mail.a, mail.b …:" in many.message


def test_nobody_gives_tools_that_they_lack_or_a_label_below_what_was_read() -> None:
    known = replace(KNOWN, clearance=Label(Level.RESTRICTED), task=Label(Level.CONFIDENTIAL))

    assert wrong(GOOD, known) == ["label"]
    assert wrong(replace(GOOD, label=Label(Level.CONFIDENTIAL)), known) == []

    known = replace(KNOWN, lists=[("files.*",), ("files.read",)])

    assert wrong(GOOD, known) == ["tools.0"]
    assert wrong(replace(GOOD, tools=("files.read",)), known) == []


def test_all_of_it_is_told_at_once() -> None:
    spec = replace(GOOD, name="", model="x", tags=("X",), limits=Limits(turns=0, calls=-1))

    assert wrong(spec) == ["name", "model", "limits.turns", "limits.calls", "tags.0"]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_starting_point_lacks_only_its_model(template: Template) -> None:
    known = replace(KNOWN, servers=["builtin"], tools=[])

    assert wrong(replace(template.spec, model="local:small"), known) == []
    assert wrong(template.spec, known) == ["model"]
    assert "*" not in "".join(template.spec.tools)


def test_a_file_that_cannot_be_read_says_why_and_where_a_right_one_comes_from() -> None:
    error = InvalidAgentFile("line 3 has no value.")

    assert str(error) == "This cannot be read as an agent: line 3 has no value."
    assert "portico agents export" in str(error.fix)
    assert error.kind is Kind.INVALID
