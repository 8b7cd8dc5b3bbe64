"""A program that has servers of its own: where it keeps its file, and how to read it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.client_files.document import (
    Lines,
    Unreadable,
    parsed,
    pointer_to,
    value_at,
)
from portico.gateway.core.client_files.entry import Entry, LeftOut, Place
from portico.gateway.core.client_files.understanding import understood
from portico.gateway.core.client_files.wish import Described, Problem, Wish
from portico.gateway.core.server import Foreign, Http, Plain, Stdio
from portico.kernel.json import JsonObject, JsonValue

_OURS: Final = "portico"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    name: str
    """In small letters, as it tells servers of the same name apart."""
    title: str
    """As people call it."""
    key: str
    """What its file has at the top, and others do not."""
    user: tuple[str, ...] = ()
    """Where it keeps what is for all of a user's work: with `~`, and `${X:-default}`."""
    project: tuple[str, ...] = ()
    """Where it keeps what is for one project, below that."""
    entries: Callable[[JsonObject], Iterable[Entry]]
    """Raises `LeftOut` if the whole of it is not as it should be."""


@dataclass(frozen=True, slots=True)
class Listed:
    name: str
    pointer: str
    fields: JsonValue

    def get(self, name: str) -> JsonValue:
        return self.fields.get(name) if isinstance(self.fields, Mapping) else None


def listed(document: JsonObject, *names: str) -> Iterator[Listed]:
    """What stands below `names`, each under its own. Raises `LeftOut`."""
    pointer = pointer_to(*names)
    found = value_at(document, pointer)
    if found is None:
        return
    if not isinstance(found, Mapping):
        raise LeftOut(f"{'.'.join(names)} is not an object")
    for name, fields in found.items():
        yield Listed(name, pointer + pointer_to(name), fields)


def described(client: Client, place: Place, text: str) -> Described:
    """Whatever the text is, this answers: what cannot be understood is told as a problem."""
    wishes: list[Wish] = []
    problems: list[Problem] = []
    lines: Lines | None = None
    try:
        for entry in client.entries(parsed(place.path, text)):
            wish, told = _taken(entry, place)
            wishes += wish
            if told:
                lines = lines or Lines(place.path, text)
                problems += (replace(each, line=lines.of(entry.pointer)) for each in told)
    except Unreadable as error:
        problems.append(Problem(reason=str(error), line=error.line))
    except LeftOut as reason:
        problems.append(Problem(reason=str(reason)))
    return Described(
        origin=place.path,
        client=client.title,
        for_a_project=place.project is not None,
        wishes=wishes,
        problems=problems,
    )


def commands_of_ours(client: Client, place: Place, text: str) -> Sequence[str]:
    """By which this program starts Portico, as it is written there; what cannot be understood is
    told where servers are read."""
    found: list[str] = []
    with suppress(Unreadable, LeftOut):
        for entry in client.entries(parsed(place.path, text)):
            with suppress(LeftOut):
                launch = understood(entry, place).wish.launch
                if isinstance(launch, Stdio) and is_this(launch, place.own_url):
                    found.append(launch.command)
    return found


def leads_here(client: Client, place: Place, text: str) -> bool:
    """Whether its client comes to us by something that the file says."""
    try:
        return any(_is_ours(entry, place) for entry in client.entries(parsed(place.path, text)))
    except (Unreadable, LeftOut):
        return False


def _is_ours(entry: Entry, place: Place) -> bool:
    try:
        return is_this(understood(entry, place).wish.launch, place.own_url)
    except LeftOut:
        return False


def _taken(entry: Entry, place: Place) -> tuple[Sequence[Wish], Sequence[Problem]]:
    try:
        found = understood(entry, place)
    except LeftOut as reason:
        return [], [Problem(reason=str(reason), server=entry.name)]
    if is_this(found.wish.launch, place.own_url):
        return [], []
    notes = [Problem(reason=note, server=entry.name, left_out=False) for note in found.notes]
    return [found.wish], notes


def is_this(launch: Foreign, own_url: str) -> bool:
    """Whether it is Portico itself, which `portico connect` puts into the files of clients: it
    does not stand behind its own door."""
    if isinstance(launch, Http):
        return launch.url.replace("//localhost", "//127.0.0.1").startswith(f"{own_url}/mcp")
    given = [each.value for each in launch.arguments if isinstance(each, Plain)]
    words = [launch.command.rpartition("/")[2], *given]
    return _OURS in words and "stdio" in words


def names_in(value: JsonValue) -> Sequence[str]:
    """The texts of a list, whatever else it holds."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def seconds(value: JsonValue, unit: float = 1.0) -> float | None:
    """A span of so many units; None if it is none that one could wait for."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value * unit if 0 < value * unit <= 3600 else None
