"""A server's list is read tool by tool; what cannot be used spoils nothing else."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.calls import ServerListing
from portico.gateway.core.catalog_snapshot import Definition, Tool
from portico.gateway.core.discovery import (
    LONGEST_DESCRIPTION,
    MOST_OFFERS,
    MOST_TOOLS,
    Unreadable,
    as_listed,
    merged,
    merged_of_one,
    read_instructions,
    read_offers,
    read_tool,
    read_tools,
    tools_read,
)
from portico.gateway.core.pins import definition_pin, set_pin
from portico.gateway.core.servers import Identity, ProtocolRevision
from portico.kernel.budget import Tokens
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject, canonical
from portico.testing.gateway import a_tool
from tests.gateway.core.catalogues import COMMITTED, catalogues, folder

GOOD: dict[str, Any] = {"name": "read", "inputSchema": {"type": "object"}}


def seen(**offers: Any) -> ServerListing:
    return ServerListing(
        identity=Identity("s", "1"),
        protocol_revision=ProtocolRevision.LEGACY,
        instructions=None,
        tools=[],
        **offers,
    )


def read(**more: Any) -> Definition:
    definition = read_tool({**GOOD, **more})
    assert isinstance(definition, Definition)
    return definition


@pytest.mark.requirement("gateway:reading:one-by-one")
def test_all_tools_of_all_recorded_servers_can_be_read_gitlabs_malformed_ones_too() -> None:
    every = {name: read_tools(catalogue["tools"]) for name, catalogue in catalogues().items()}

    assert {name: each.unreadable for name, each in every.items() if each.unreadable} == {}
    counts = len(every), sum(len(each.definitions) for each in every.values())
    assert counts == ((39, 627) if folder() == COMMITTED else (54, 922))
    assert [each.input_schema["type"] for each in every["gitlab"].definitions] == ["object"] * 9


def test_a_definition_keeps_all_that_was_said() -> None:
    raw = {
        **GOOD,
        "title": "Read",
        "description": "Reads.",
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True, "title": "Other"},
        "_meta": {"x": 1},
    }

    assert read_tool(raw) == Definition(
        "read",
        "Read",
        "Reads.",
        {"type": "object"},
        {"type": "object"},
        {"readOnlyHint": True, "title": "Other"},
        raw,
    )


def test_what_is_missing_or_of_the_wrong_kind_is_nothing() -> None:
    bare = read(title=3, description=None, annotations=[], outputSchema="x", inputSchema=None)

    assert (bare.title, bare.description, bare.output_schema, bare.annotations) == (
        "",
        "",
        None,
        {},
    )
    assert bare.input_schema == {"type": "object"}
    assert read(annotations={"title": "Hinted"}).title == "Hinted"


def test_a_schema_without_a_type_is_taken_for_an_object_and_the_pin_for_what_was_said() -> None:
    schema = {"properties": {"a": {"type": "string"}}}

    tool = read(inputSchema=schema)

    assert tool.input_schema == {"type": "object", **schema}
    assert tool.raw["inputSchema"] == schema
    assert read(inputSchema={"type": ["object", "null"]}).input_schema["type"] == ["object", "null"]


def test_a_long_description_is_cut_and_pinned_whole() -> None:
    long = "x" * LONGEST_DESCRIPTION

    one, other = read(description=f"{long}y"), read(description=f"{long}z")

    assert one.description == other.description == long
    assert definition_pin(one.raw) != definition_pin(other.raw)


@pytest.mark.requirement("gateway:reading:one-by-one")
def test_what_cannot_be_used_says_why() -> None:
    rows: list[tuple[Any, str, str]] = [
        ("text", "(no name)", "is not an object"),
        (None, "(no name)", "is not an object"),
        ({}, "(no name)", "has no name"),
        ({"name": 3}, "(no name)", "has no name"),
        ({"name": ""}, "(no name)", "has no name"),
        ({**GOOD, "name": "re\u200bad"}, "re<U+200B>ad", "hides U+200B"),
        ({**GOOD, "name": "re\u0430d"}, "re\u0430d", "has a name that mixes letters"),
        ({**GOOD, "name": "a\nb"}, "a<U+000A>b", "has a name that has U+000A"),
        ({**GOOD, "description": "x\U000e0041"}, "read", "hides U+E0041"),
        ({**GOOD, "inputSchema": {"properties": {"a\u202e": {}}}}, "read", "hides U+202E"),
        ({**GOOD, "annotations": {"title": "\x1b[8m"}}, "read", "hides U+001B"),
        ({**GOOD, "inputSchema": {"enum": ["\u2060"]}}, "read", "hides U+2060"),
        ({**GOOD, "inputSchema": True}, "read", "has an input schema that is none"),
        ({**GOOD, "inputSchema": "x"}, "read", "has an input schema that is none"),
        ({**GOOD, "inputSchema": {"type": "string"}}, "read", "something else than an object"),
        ({**GOOD, "inputSchema": {"type": ["string"]}}, "read", "something else than an object"),
        ({**GOOD, "inputSchema": {"type": 3}}, "read", "something else than an object"),
        ({**GOOD, "inputSchema": {"$ref": "#"}}, "read", "an input schema that refers to itself"),
        ({**GOOD, "description": "x" * 256 * 1024}, "read", "is longer than 256 KiB"),
        ({**GOOD, "_meta": {"x": float("inf")}}, "read", "is not JSON"),
    ]

    for raw, name, reason in rows:
        told = read_tool(raw)

        assert isinstance(told, Unreadable), raw
        assert told.name == name
        assert reason in told.reason
        assert told.definition.name == name
        assert told.definition.description == "", raw


def test_one_bad_tool_spoils_no_other() -> None:
    result = read_tools([GOOD, {"name": "bad\u200b"}, 3, {**GOOD, "name": "write"}])

    assert [each.name for each in result.definitions] == ["read", "write"]
    assert [each.name for each in result.unreadable] == ["bad<U+200B>", "(no name)"]


def test_the_same_tool_told_twice_counts_once() -> None:
    result = read_tools([GOOD, dict(reversed(GOOD.items()))])

    assert [each.name for each in result.definitions] == ["read"]
    assert result.unreadable == []


def test_two_tools_of_one_name_are_both_refused() -> None:
    result = read_tools([GOOD, {**GOOD, "description": "Other."}])

    assert result.definitions == []
    assert result.unreadable == [Unreadable("read", "is offered twice, in two versions")]


def test_a_tool_whose_name_is_also_that_of_an_unreadable_one_is_refused() -> None:
    result = read_tools([GOOD, {**GOOD, "inputSchema": 3}])

    assert result.definitions == []
    assert [each.name for each in result.unreadable] == ["read"]


def test_a_name_in_other_letters_that_looks_like_a_plain_one_is_refused() -> None:
    lookalike = "\u0455\u0441\u043e\u0440\u0435"  # scope, in Cyrillic

    result = read_tools([{**GOOD, "name": name} for name in ("scope", lookalike, "getScope")])

    assert [each.name for each in result.definitions] == ["scope", "getScope"]
    assert result.unreadable == [Unreadable(lookalike, "looks like 'scope'")]


def test_plain_names_that_look_alike_are_let_in() -> None:
    result = read_tools([{**GOOD, "name": name} for name in ("getUser", "get_user")])

    assert len(result.definitions) == 2


def test_of_too_many_tools_the_rest_is_counted() -> None:
    result = read_tools([{**GOOD, "name": f"t{number}"} for number in range(MOST_TOOLS + 3)])

    assert len(result.definitions) == MOST_TOOLS
    assert result.left_out == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "$ref", "properties", "items", "x"]), inner)
    ),
    max_leaves=6,
)
raws = json_values | st.fixed_dictionaries(
    {"name": json_values},
    optional={
        "description": json_values,
        "inputSchema": json_values,
        "annotations": json_values,
        "outputSchema": json_values,
    },
)


@given(st.lists(raws, max_size=5))
def test_whatever_a_server_says_is_read_or_refused_and_no_name_is_there_twice(raws: Any) -> None:
    result = read_tools(raws)

    names = [each.name for each in result.definitions]
    names += [each.name for each in result.unreadable]
    assert len(names) == len(set(names))
    assert all(canonical(each.raw) for each in result.definitions)


def test_offers_are_kept_one_by_one() -> None:
    page = {"uri": "file:///a", "name": "A"}
    prompt = {"name": "ask", "description": "Asks."}

    result = read_offers(
        seen(
            resources=[page, {"name": "no uri"}, {**page, "name": "B"}, {"uri": "x\u200b"}],
            resource_templates=[{"uriTemplate": "file:///{x}", "name": "T"}, {"uriTemplate": 3}],
            prompts=[prompt, "text", {"name": "bad", "description": "\u202e"}],
        )
    )

    assert result.offers == {
        "resources": [page],
        "resource_templates": [{"uriTemplate": "file:///{x}", "name": "T"}],
        "prompts": [prompt],
    }
    assert [(each.name, each.reason.split()[0]) for each in result.unreadable] == [
        ("no uri", "has"),
        ("(no name)", "hides"),
        ("(no name)", "has"),
        ("(no name)", "has"),
        ("bad", "hides"),
    ]


def test_of_too_many_offers_the_first_are_kept() -> None:
    many = [{"uri": f"file:///{number}"} for number in range(MOST_OFFERS + 1)]

    kept = read_offers(seen(resources=many)).offers["resources"]

    assert isinstance(kept, list)
    assert len(kept) == MOST_OFFERS


def test_instructions_are_kept_unless_they_hide_something() -> None:
    assert read_instructions("Use it well.\n") == "Use it well.\n"
    assert read_instructions(" \n") is None
    assert read_instructions(None) is None
    assert read_instructions("x" * 2 * LONGEST_DESCRIPTION) == "x" * LONGEST_DESCRIPTION
    assert isinstance(read_instructions("Use\u200b it"), Unreadable)


names = st.sampled_from(["a", "b", "c", "d"])
words = st.sampled_from(["One.", "Two."])


@st.composite
def tools(draw: st.DrawFn, *, seen: bool) -> list[Tool]:
    made = []
    for name in draw(st.lists(names, unique=True)):
        tool = a_tool(f"s.{name}", draw(words))
        if not seen and draw(st.booleans()):
            accepted = a_tool(f"s.{name}", draw(words), effect=Effect.PURE)
            kept = {"effect": Effect.PURE, "accepted": accepted.definition}
            tool = replace(tool, accepted_pin=accepted.pin, **kept)  # type: ignore[arg-type] # fields
            tool = replace(tool, gone=draw(st.booleans()))
        made.append(tool)
    return made


@given(tools(seen=False), tools(seen=True))
def test_what_is_seen_never_changes_what_was_accepted(before: list[Tool], now: list[Tool]) -> None:
    after = merged(before, now)

    def accepted(of: list[Tool]) -> dict[str, tuple[str, Effect, object]]:
        return {
            tool.ref.name: (tool.accepted_pin, tool.effect, tool.accepted)
            for tool in of
            if tool.accepted_pin is not None
        }

    assert accepted(after) == accepted(before)
    assert [tool.ref for tool in after if not tool.gone] == [tool.ref for tool in now]
    assert set_pin(after) == set_pin(now)
    assert all(tool.accepted_pin is not None for tool in after if tool.gone)


@given(tools(seen=False), tools(seen=True))
def test_seeing_the_same_again_changes_nothing(before: list[Tool], now: list[Tool]) -> None:
    once = merged(before, now)

    assert merged(once, now) == once


@given(tools(seen=False), tools(seen=True))
def test_what_one_person_is_not_shown_stays_as_it_was(before: list[Tool], now: list[Tool]) -> None:
    after = {tool.ref.name: tool for tool in merged_of_one(before, now)}
    of_all = {tool.ref.name: tool for tool in merged(before, now)}
    shown = {tool.ref.name for tool in now}

    left = {it.ref.name: it for it in before if it.accepted_pin and it.ref.name not in shown}
    assert {name: it for name, it in after.items() if name not in shown} == left
    assert {name: after[name] for name in shown} == {name: of_all[name] for name in shown}


@given(tools(seen=False), tools(seen=True), tools(seen=True))
def test_what_two_people_are_shown_in_turn_settles(
    before: list[Tool], anas: list[Tool], bobs: list[Tool]
) -> None:
    """Whose listing comes last is no change of its own, once somebody has let everything in."""
    every = [replace(tool, accepted_pin=tool.pin) for tool in merged_of_one(before, anas)]
    names = {tool.ref.name: tool for tool in every}
    same = [names[tool.ref.name] for tool in bobs if tool.ref.name in names]
    fresh = [replace(tool, accepted=None, accepted_pin=None, gone=False) for tool in same]

    once = merged_of_one(every, anas)

    assert [tool.ref for tool in merged_of_one(once, fresh)] == [tool.ref for tool in once]


def test_tools_are_read_in_their_order_and_what_cannot_be_used_comes_last() -> None:
    read = read_tools([{"name": ""}, *(a_tool(f"s.{name}").definition.raw for name in "ba")])

    found = tools_read("s", read, [], lambda text: Tokens(len(text)))

    assert [tool.ref.name for tool in found[:2]] == ["b", "a"]
    assert found[2].refused
    assert [tool.refused for tool in found[:2]] == [None, None]
    assert all(tool.pin == definition_pin(tool.definition.raw) for tool in found)
    assert all(tool.tokens == len(as_listed(tool.definition)) for tool in found)


def test_what_was_counted_for_a_pin_is_not_counted_again() -> None:
    raw: JsonObject = a_tool("s.a").definition.raw
    known = replace(a_tool("s.a"), pin=definition_pin(raw), tokens=Tokens(7))

    [same] = tools_read("s", read_tools([raw]), [known], lambda _: Tokens(1))
    [other] = tools_read(
        "s", read_tools([{**raw, "description": "Else."}]), [known], lambda _: Tokens(1)
    )

    assert (same.tokens, other.tokens) == (7, 1)


def test_a_tool_is_listed_by_its_name_description_and_schema_in_short() -> None:
    tool = a_tool("s.lesen", "Liest: „é“.", title="T", annotations={"readOnlyHint": True})

    text = as_listed(tool.definition)

    assert json.loads(text) == {
        "name": "lesen",
        "description": "Liest: „é“.",
        "inputSchema": tool.definition.input_schema,
    }
    assert ": " not in text.replace("Liest: ", "")
    assert "\\u" not in text
