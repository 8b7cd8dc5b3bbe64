"""What is seen now beside what was accepted: neither takes the other's place."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from portico.gateway.core.listing import as_listed, merged, merged_of_one, tools_read
from portico.gateway.core.pin import definition_pin, set_pin
from portico.gateway.core.reading import read_tools
from portico.gateway.core.tool import Tool
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.tokens import Tokens
from portico.testing.gateway import a_tool

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
