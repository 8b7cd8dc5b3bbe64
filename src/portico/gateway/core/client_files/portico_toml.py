"""Our own file: `[servers.NAME]` of `portico.toml`, read like anybody else's."""

from collections.abc import Iterator
from typing import Final

from portico.gateway.core.client_files.client import Client, listed, seconds
from portico.gateway.core.client_files.entry import Entry
from portico.kernel.json import JsonObject


def _entries(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "servers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=each.fields,
            spelling="braces",
            refers=True,
            timeout=seconds(each.get("timeout")),
            otherwise="portico",
        )


PORTICO_TOML: Final = Client(
    name="portico",
    title="portico.toml",
    key="servers",
    entries=_entries,
)
