"""Gemini CLI: `mcpServers` in its settings; `httpUrl` and `url`, `$X`, spans in milliseconds."""

from collections.abc import Iterator
from typing import Final

from portico.gateway.core.client_files.client import Client, Listed, listed, names_in, seconds
from portico.gateway.core.client_files.document import value_at
from portico.gateway.core.client_files.entry import Entry
from portico.kernel.json import JsonObject

_TRUSTED: Final = "Gemini CLI trusts it unasked; here its tools are looked at like any other's"
_CHOSEN: Final = "includeTools and excludeTools do not count here"


def _entries(document: JsonObject) -> Iterator[Entry]:
    allowed = value_at(document, "/mcp/allowed")
    excluded = names_in(value_at(document, "/mcp/excluded"))
    for each in listed(document, "mcpServers"):
        asked_for = not isinstance(allowed, list) or each.name in allowed
        yield _entry(each, enabled=asked_for and each.name not in excluded)


def _entry(found: Listed, *, enabled: bool) -> Entry:
    streamable = found.get("httpUrl") is not None
    chosen = found.get("includeTools") is not None or found.get("excludeTools") is not None
    return Entry(
        name=found.name,
        pointer=found.pointer,
        fields=found.fields,
        spelling="shell",
        # By its `url` alone older versions mean SSE, newer ones whatever the server speaks.
        url="httpUrl" if streamable else "url",
        transport="streamable" if streamable else None,
        timeout=seconds(found.get("timeout"), 0.001),
        enabled=enabled,
        otherwise="gemini",
        notes=[*([_TRUSTED] if found.get("trust") is True else []), *([_CHOSEN] if chosen else [])],
    )


GEMINI: Final = Client(
    name="gemini",
    title="Gemini CLI",
    key="mcpServers",
    user=("~/.gemini/settings.json",),
    project=(".gemini/settings.json",),
    entries=_entries,
)
