"""Claude Desktop: `mcpServers`, and no variables at all."""

from collections.abc import Iterator
from typing import Final

from portico.gateway.core.client_files.client import Client, listed
from portico.gateway.core.client_files.entry import Entry
from portico.kernel.json import JsonObject


def _entries(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield Entry(
            name=each.name, pointer=each.pointer, fields=each.fields, otherwise="claude-desktop"
        )


CLAUDE_DESKTOP: Final = Client(
    name="claude-desktop",
    title="Claude Desktop",
    key="mcpServers",
    user=(
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        "${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json",
    ),
    entries=_entries,
)
