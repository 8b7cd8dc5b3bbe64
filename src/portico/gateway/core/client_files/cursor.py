"""Cursor: `mcpServers` with `${env:X}`, `${userHome}` and `${workspaceFolder}`."""

from collections.abc import Iterator
from typing import Final

from portico.gateway.core.client_files.client import Client, listed
from portico.gateway.core.client_files.entry import Entry
from portico.kernel.json import JsonObject


def _entries(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=each.fields,
            spelling="env",
            otherwise="cursor",
        )


CURSOR: Final = Client(
    name="cursor",
    title="Cursor",
    key="mcpServers",
    user=("~/.cursor/mcp.json",),
    project=(".cursor/mcp.json",),
    entries=_entries,
)
