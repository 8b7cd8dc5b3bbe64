"""How a client's file stands to Portico: whether its entry is there, and what else is."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import unified_diff
from enum import StrEnum
from typing import Final

from portico.gateway.core.client_files.client import Client, described, is_this
from portico.gateway.core.client_files.document import parsed
from portico.gateway.core.client_files.entry import Entry, LeftOut, Place
from portico.gateway.core.client_files.telling_apart import essence
from portico.gateway.core.client_files.understanding import understood
from portico.gateway.core.client_files.wish import Described
from portico.gateway.core.connecting.edit import entry_in
from portico.gateway.core.connecting.home import NAME, Home
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.redaction import blacked_out

_AROUND: Final = 1
"""Lines shown around a change: few, since somebody's secrets may stand there."""


class Standing(StrEnum):
    NONE = "not connected"
    SAME = "connected"
    OTHERWISE = "connected otherwise"
    """By Portico's own entry, and not the one that would be written now."""
    FOREIGN = "another entry"
    """Of Portico's name, and not Portico."""


def standing(home: Home, client: Client, place: Place, text: str, wanted: JsonObject) -> Standing:
    """`wanted` is what would be written. Raises `ClientFileMalformed`."""
    found = entry_in(place.path, text, home.names)
    if found is None:
        return Standing.NONE
    if _but_for_its_key(home, found) == _but_for_its_key(home, wanted):
        return Standing.SAME
    ours = any(_is_portico(each, place) for each in _own(client, place, text))
    return Standing.OTHERWISE if ours else Standing.FOREIGN


def switched_off(client: Client, place: Place, text: str) -> bool:
    """Whether the file says elsewhere that the entry does not count."""
    return any(not each.enabled for each in _own(client, place, text))


def also_listed(
    client: Client, place: Place, text: str, in_use: Collection[Described]
) -> Sequence[str]:
    """The servers of the file, as it calls them, that stand behind Portico too."""
    behind = {essence(wish.launch) for each in in_use for wish in each.wishes}
    here = described(client, place, text).wishes
    return [each.called for each in here if each.enabled and essence(each.launch) in behind]


def shown_diff(file: str, before: str, after: str) -> str:
    """Without secrets, and in lines for people."""
    lines = unified_diff(
        before.splitlines(), after.splitlines(), file, file, lineterm="", n=_AROUND
    )
    return blacked_out("\n".join(lines))


def _but_for_its_key(home: Home, entry: JsonValue) -> JsonValue:
    """Each key is another one: an entry with one is like any other with one."""
    if not isinstance(entry, Mapping) or home.url not in entry:
        return entry
    return {name: each for name, each in entry.items() if name != home.headers}


def _own(client: Client, place: Place, text: str) -> Iterator[Entry]:
    try:
        for each in client.entries(parsed(place.path, text)):
            if each.name == NAME and each.folder is None:
                yield each
    except LeftOut:
        return


def _is_portico(entry: Entry, place: Place) -> bool:
    try:
        return is_this(understood(entry, place).wish.launch, place.own_url)
    except LeftOut:
        return False
