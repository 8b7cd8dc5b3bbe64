"""Everything that is wrong with an agent, each with its field."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from portico.agents.core.agent import AgentSpec, Limits
from portico.agents.core.templates import TEMPLATES, Template
from portico.agents.core.validation import Known, flaws, warnings
from portico.kernel.errors import Flaw
from portico.kernel.label import PUBLIC, Label, Level

TEAM = Label(Level.TEAM)
KNOWN = Known(
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


def wrong(spec: AgentSpec, known: Known = KNOWN) -> list[str]:
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
        ({"most_output": 0}, ["most_output"]),
        ({"most_output": 1_000_001}, ["most_output"]),
        ({"most_output": 300_000}, ["most_output"]),
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
    [written] = flaws(replace(few, most_output=3_000), KNOWN)

    assert usual == Flaw(
        "most_output",
        "must not be more than limits.tokens, 2,000: it is 4,096 where nothing else is said",
    )
    assert written == Flaw("most_output", "must not be more than limits.tokens, 2,000: it is 3,000")


def test_tools_that_cannot_be_used_now_are_warned_of() -> None:
    spec = replace(GOOD, tools=("files.*", "mail.send", "mail.a", "mail.b", "mail.c"))

    assert warnings(GOOD, KNOWN.tools) == []
    assert warnings(replace(GOOD, tools=()), []) == []
    [some] = warnings(replace(spec, tools=spec.tools[:2]), KNOWN.tools)
    [many] = warnings(spec, KNOWN.tools)
    assert (some.field, many.field) == ("tools", "tools")
    assert "could use by mail.send:" in some.message
    assert "could use by mail.send, mail.a, mail.b …:" in many.message


def test_what_was_read_in_the_task_is_not_written_down_lower() -> None:
    known = replace(KNOWN, clearance=Label(Level.RESTRICTED), task=Label(Level.CONFIDENTIAL))

    assert wrong(GOOD, known) == ["label"]
    assert wrong(replace(GOOD, label=Label(Level.CONFIDENTIAL)), known) == []


def test_nobody_gives_tools_that_they_do_not_have() -> None:
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
