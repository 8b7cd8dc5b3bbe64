"""What a model sends to our own tools, read leniently; what cannot be read is told exactly."""

from typing import Any

import pytest

from portico.gateway.core.calls import Answer, ResultId, Verb
from portico.gateway.ports import Line
from portico.kernel.json import JsonObject
from tests.interfaces.mcp.gateway import Site, said
from tests.interfaces.mcp.wire import modern

RESULT = "res_00000000000000000000000001"


async def call(site: Site, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await modern(site, "tools/call", {"name": name, "arguments": arguments})
    found: dict[str, Any] = answer.json()["result"]
    return found


def text(result: dict[str, Any]) -> str:
    found: str = result["content"][0]["text"]
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"queries": ["a", "b"], "budget": 500}, ("find", "ana", ["a", "b"], 500)),
        ({"queries": "a"}, ("find", "ana", ["a"], None)),
        ({}, ("find", "ana", [], None)),
        ({"queries": [], "budget": 500.0}, ("find", "ana", [], 500)),
    ],
)
async def test_searching(site: Site, arguments: dict[str, Any], expected: object) -> None:
    result = await call(site, "search_tools", arguments)

    assert text(result) == "found box.echo"
    assert site.gateway.asked == [expected]


async def test_describing(site: Site) -> None:
    result = await call(site, "describe_tools", {"tools": ["box.echo"]})

    assert text(result) == "box.echo takes text"
    assert site.gateway.asked == [("describe", "ana", ["box.echo"], None)]


async def test_reading_on(site: Site) -> None:
    assert str(ResultId.parse(RESULT)) == RESULT
    result = await call(site, "read_result", {"result": RESULT, "page": 2})

    assert text(result) == "page two"
    assert site.gateway.asked == [("read", "ana", RESULT, 2)]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ({"tool": "box.echo"}, {}),
        ({"tool": "box.echo", "arguments": None}, {}),
        ({"tool": "box.echo", "arguments": {"a": 1}}, {"a": 1}),
        ({"tool": "box.echo", "arguments": '{"a": 1}'}, {"a": 1}),
        ({"tool": "box.echo", "arguments": ""}, {}),
    ],
)
async def test_calling(site: Site, arguments: dict[str, Any], given: object) -> None:
    async def echo(_arguments: JsonObject, _line: Line) -> Answer:
        return said("yes")

    site.gateway.tools["echo"] = echo
    result = await call(site, "call_write", arguments)

    assert text(result) == "yes"
    assert site.gateway.asked == [("call", "ana", "box.echo", given, Verb.WRITE, False)]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("call_read", {}, "tool: must be a text"),
        ("call_read", {"tool": "box"}, "bad_tool_ref"),
        ("call_read", {"tool": "box.echo", "arguments": [1]}, "arguments: must be an object"),
        ("call_read", {"tool": "box.echo", "arguments": "{"}, "arguments: must be an object"),
        ("search_tools", {"queries": [1]}, "queries: must be a list of texts"),
        ("search_tools", {"queries": {"a": 1}}, "queries: must be a list of texts"),
        ("search_tools", {"queries": ["a"], "budget": "x"}, "budget: must be a whole number"),
        ("search_tools", {"queries": ["a"], "budget": True}, "budget: must be a whole number"),
        ("search_tools", {"query": "a"}, "query: is not something that it takes, which is queries"),
        ("call_read", {"tool": "box.echo", "args": {}}, "args: is not something that it takes"),
        ("read_result", {"result": "nope"}, "bad_id"),
        ("call_everything", {}, "tool_not_found"),
    ],
)
async def test_what_cannot_be_read_is_told(
    site: Site, name: str, arguments: dict[str, Any], told: str
) -> None:
    result = await call(site, name, arguments)

    assert result["isError"]
    assert told in text(result)
    assert site.gateway.asked == []
