"""VS Code: `servers`, and `inputs` that it asks its user for and keeps to itself."""

from collections.abc import Iterator
from typing import Final

from portico.gateway.core.client_files.client import Client, listed
from portico.gateway.core.client_files.entry import Entry
from portico.kernel.json import JsonObject


def _entries(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "servers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=_either_way(each.fields) if isinstance(each.fields, dict) else each.fields,
            spelling="env",
            otherwise="vscode",
        )


def _either_way(fields: JsonObject) -> JsonObject:
    """Its `http` is whichever of the two the server turns out to speak."""
    return {name: each for name, each in fields.items() if (name, each) != ("type", "http")}


_CONFIG: Final = "${XDG_CONFIG_HOME:-~/.config}"
_MAC: Final = "~/Library/Application Support"

VSCODE: Final = Client(
    name="vscode",
    title="VS Code",
    key="servers",
    user=tuple(
        f"{base}/{edition}/User/mcp.json"
        for edition in ("Code", "Code - Insiders", "VSCodium")
        for base in (_CONFIG, _MAC)
    ),
    project=(".vscode/mcp.json",),
    entries=_entries,
)
