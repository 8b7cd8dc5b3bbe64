"""Tools made up for a test."""

from typing import Any

from portico.gateway.core.reading import Unreadable, read_tool
from portico.gateway.core.tool import Definition


def a_tool(name: str = "tool", description: str = "", **more: Any) -> Definition:
    """`parameters` become the properties of its input schema."""
    schema = {"type": "object", "properties": more.pop("parameters", {})}
    read = read_tool({"name": name, "description": description, "inputSchema": schema, **more})
    assert not isinstance(read, Unreadable), read
    return read
