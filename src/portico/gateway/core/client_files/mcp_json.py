"""`.mcp.json`, which Claude Code and others read in a project, and any file of the same form."""

from collections.abc import Iterator
from typing import Final

from portico.gateway.core.client_files.claude_code import HELPED
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
            otherwise="project",
            notes=[HELPED] if each.get("headersHelper") else [],
        )


MCP_JSON: Final = Client(
    name="mcp-json",
    title=".mcp.json",
    key="mcpServers",
    user=("~/.copilot/mcp-config.json",),
    project=(".mcp.json",),
    entries=_entries,
)
