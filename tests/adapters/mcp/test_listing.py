"""All that a server offers, as it says it."""

from typing import Any

import pytest

from portico.adapters.mcp.listing import listed, wanted_headers
from portico.adapters.mcp.wire import Broken, Message


def paged(*pages: Message) -> Any:
    asked: list[Message] = []

    async def ask(_method: str, params: Message) -> Message:
        asked.append(params)
        return pages[min(len(asked), len(pages)) - 1]

    ask.asked = asked  # type: ignore[attr-defined] # for the test to look at  # ty: ignore[missing-attribute] # checked by mypy
    return ask


async def test_pages_are_followed_to_the_last() -> None:
    ask = paged({"tools": [{"name": "a"}], "nextCursor": "2"}, {"tools": [{"name": "b"}]})

    assert await listed(ask, "tools/list", "tools") == [{"name": "a"}, {"name": "b"}]
    assert ask.asked == [{}, {"cursor": "2"}]


async def test_one_bad_entry_spoils_none_of_the_others() -> None:
    odd = {"name": "gitlab", "inputSchema": {"no": "type"}, "extra": [1]}

    found = await listed(paged({"tools": ["nonsense", odd, None, 3]}), "tools/list", "tools")

    assert found == [odd]


@pytest.mark.parametrize("page", [{}, {"tools": None}, {"tools": {"a": 1}}, {"nextCursor": 7}])
async def test_a_list_that_is_none_is_empty(page: Message) -> None:
    assert await listed(paged(page), "tools/list", "tools") == []


async def test_a_server_that_leads_in_a_circle_is_followed_once_around() -> None:
    ask = paged({"tools": [{"name": "a"}], "nextCursor": "again"})

    assert len(await listed(ask, "tools/list", "tools")) == 2


async def test_a_list_without_an_end_is_given_up() -> None:
    count = iter(range(10**6))

    async def ask(_method: str, _params: Message) -> Message:
        return {"tools": [{"name": "a"}], "nextCursor": f"{next(count)}"}

    with pytest.raises(Broken, match="does not end"):
        await listed(ask, "tools/list", "tools")


def test_arguments_that_are_wanted_in_headers_are_known_by_tool() -> None:
    good = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    bad = {"properties": {"n": {"type": "number", "x-mcp-header": "N"}}}
    tools: list[Message] = [
        {"name": "good", "inputSchema": good},
        {"name": "bad", "inputSchema": bad},
        {"name": "plain", "inputSchema": {"type": "object"}},
        {"name": 7, "inputSchema": good},
        {"name": "none"},
    ]

    assert wanted_headers(tools) == {"good": {("region",): "Region"}}
