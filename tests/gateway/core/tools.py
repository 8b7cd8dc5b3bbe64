"""Tools made up for a test."""

from typing import Any

from portico.gateway.core.catalog_snapshot import Definition
from portico.gateway.core.discovery import Unreadable, read_tool


def a_tool(name: str = "tool", description: str = "", **more: Any) -> Definition:
    """`parameters` become the properties of its input schema."""
    schema = {"type": "object", "properties": more.pop("parameters", {})}
    read = read_tool({"name": name, "description": description, "inputSchema": schema, **more})
    assert not isinstance(read, Unreadable), read
    return read
