"""What a tool takes, in full."""

import json

import pytest

from portico.gateway.core.errors import ToolNotFound
from tests.gateway.open_room import ANA, READ, OpenRoom


async def test_a_tool_is_described_with_its_schema_and_how_to_call_it() -> None:
    described = await OpenRoom().gateway.describe_tools(ANA, ["files.read"])

    told = json.loads(described.text)
    assert told["input_schema"] == READ.definition.input_schema
    assert told["call_with"] == "call_read"


async def test_what_cannot_be_described_is_told_beside_the_rest() -> None:
    described = await OpenRoom().gateway.describe_tools(
        ANA, ["files.read", "files.reed", "tracker.create_ticket", "odd"]
    )

    assert [tool["tool"] for tool in described.tools] == ["files.read"]
    assert set(described.refused) == {"files.reed", "tracker.create_ticket", "odd"}
    assert "CANARY" not in described.text


async def test_where_there_is_none_it_is_an_error() -> None:
    with pytest.raises(ToolNotFound):
        await OpenRoom().gateway.describe_tools(ANA, ["files.reed"])
    with pytest.raises(ToolNotFound):
        await OpenRoom().gateway.describe_tools(ANA, [])


async def test_the_first_is_told_whatever_it_costs_and_the_others_while_there_is_room() -> None:
    described = await OpenRoom().gateway.describe_tools(
        ANA, ["files.read", "files.write"], budget=10
    )

    assert '"files.read"' in described.text
    assert "No room for files.write" in described.text
