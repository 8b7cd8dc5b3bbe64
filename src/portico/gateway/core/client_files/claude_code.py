"""Claude Code: servers for everything a user does, and servers for single projects of theirs."""

from collections.abc import Iterator
from typing import Final

from portico.gateway.core.client_files.client import Client, Listed, listed, names_in
from portico.gateway.core.client_files.entry import Entry
from portico.kernel.json import JsonObject

HELPED: Final = "headersHelper is not run: its headers are not sent"


def _entries(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield _entry(each, otherwise="claude-code")
    for project in listed(document, "projects"):
        off = names_in(project.get("disabledMcpServers"))
        for each in listed(document, "projects", project.name, "mcpServers"):
            yield _entry(
                each,
                otherwise=project.name.rpartition("/")[2],
                folder=project.name,
                enabled=each.name not in off,
            )


def _entry(
    found: Listed, *, otherwise: str, folder: str | None = None, enabled: bool = True
) -> Entry:
    return Entry(
        name=found.name,
        pointer=found.pointer,
        fields=found.fields,
        spelling="braces",
        folder=folder,
        enabled=enabled,
        otherwise=otherwise,
        notes=[HELPED] if found.get("headersHelper") else [],
    )


CLAUDE_CODE: Final = Client(
    name="claude-code",
    title="Claude Code",
    key="projects",
    user=("${CLAUDE_CONFIG_DIR:-~}/.claude.json",),
    entries=_entries,
)
