"""Windsurf: `mcpServers`, where a remote one has a `serverUrl`."""

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
            spelling="braces",
            url="url" if each.get("serverUrl") is None else "serverUrl",
            otherwise="windsurf",
        )


WINDSURF: Final = Client(
    name="windsurf",
    title="Windsurf",
    key="mcpServers",
    user=("~/.codeium/windsurf/mcp_config.json",),
    entries=_entries,
)
