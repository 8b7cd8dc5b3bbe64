"""What a request says inside, said in its headers too."""

import pytest
from mcp.shared.inbound import decode_header_value, encode_header_value, x_mcp_header_map

from portico.interfaces.cli.stdio_proxy import encoded, modern_headers, wanted_headers

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "limits": {
            "type": "object",
            "properties": {"most": {"type": "integer", "x-mcp-header": "Most"}},
        },
        "plain": {"type": "string"},
    },
}


@pytest.mark.parametrize(
    "value", ["plain", "two words", " edge", "größe", "", "=?base64?aGk=?=", "line\nbreak"]
)
def test_values_travel_as_the_sdk_sends_and_reads_them(value: str) -> None:
    assert decode_header_value(encoded(value)) == value
    assert encoded(value) == encode_header_value(value)


def test_the_wanted_ones_are_those_that_the_sdk_finds() -> None:
    assert wanted_headers(SCHEMA) == x_mcp_header_map(SCHEMA)


def test_a_call_names_its_tool_and_what_the_tool_wants() -> None:
    message = {
        "method": "tools/call",
        "params": {
            "_meta": META,
            "name": "map",
            "arguments": {"region": "eu", "limits": {"most": 3}, "plain": "x"},
        },
    }

    assert modern_headers(message, {"map": wanted_headers(SCHEMA)}) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "map",
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Most": "3",
    }


@pytest.mark.parametrize(
    "message",
    [
        {"method": "tools/list"},
        {"method": "tools/list", "params": {}},
        {"method": "tools/list", "params": {"_meta": {"progressToken": 1}}},
        {"method": "tools/list", "params": []},
    ],
)
def test_a_message_of_the_earlier_era_has_none(message: dict[str, object]) -> None:
    assert modern_headers(message, {}) is None
