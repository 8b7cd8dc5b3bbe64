"""Zed: `context_servers` in its settings, which have comments; some come from extensions."""

from collections.abc import Iterator, Mapping
from typing import Final

from portico.gateway.core.client_files.client import Client, Listed, listed
from portico.gateway.core.client_files.document import pointer_to
from portico.gateway.core.client_files.entry import Entry
from portico.kernel.json import JsonObject

_FROM_AN_EXTENSION: Final = "an extension of Zed starts it, and only Zed knows how"


def _entries(document: JsonObject) -> Iterator[Entry]:
    return (_entry(each) for each in listed(document, "context_servers"))


def _entry(found: Listed) -> Entry:
    command = found.get("command")
    fields, pointer, off = found.fields, found.pointer, found.get("enabled") is False
    if isinstance(command, Mapping):  # as it was written until 2025
        fields, pointer = (
            {**command, "command": command.get("path")},
            pointer + pointer_to("command"),
        )
    extension = command is None and found.get("url") is None and found.get("source") != "custom"
    return Entry(
        name=found.name,
        pointer=pointer,
        fields=fields,
        enabled=not off,
        otherwise="zed",
        refused=_FROM_AN_EXTENSION if extension and isinstance(fields, Mapping) else "",
    )


ZED: Final = Client(
    name="zed",
    title="Zed",
    key="context_servers",
    user=("${XDG_CONFIG_HOME:-~/.config}/zed/settings.json", "~/.config/zed/settings.json"),
    project=(".zed/settings.json",),
    entries=_entries,
)
