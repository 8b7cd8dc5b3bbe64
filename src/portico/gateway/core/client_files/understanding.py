"""One server's description, from the form that most clients share to a wish.

Every value of an environment and of headers stays a reference, to a variable or into the file;
of the rest only what looks like a secret does.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from portico.gateway.core.client_files.document import (
    Unreadable,
    as_text,
    parsed,
    pointer_to,
)
from portico.gateway.core.client_files.entry import Entry, LeftOut, Place, Transport
from portico.gateway.core.client_files.secrecy import looks_secret, shown_url
from portico.gateway.core.client_files.values import Values
from portico.gateway.core.client_files.wish import Wish
from portico.gateway.core.names import slug
from portico.gateway.core.server import (
    Foreign,
    FromFile,
    Http,
    Plain,
    Stdio,
    Value,
)
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical

_TRANSPORTS: Final[Mapping[str, Transport]] = {
    "http": "streamable",
    "streamable": "streamable",
    "streamable-http": "streamable",
    "streamablehttp": "streamable",
    "streamable_http": "streamable",
    "sse": "sse",
}
_LONGEST_NAME: Final = 200
_VARIABLE: Final = re.compile(r"[^=\s]+")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Understood:
    wish: Wish
    notes: Sequence[str]
    """What is to be known about it."""


def understood(entry: Entry, place: Place) -> Understood:
    """Raises `LeftOut`."""
    values = Values(entry, place)
    reading = _Reading(entry, place, values)
    wish = Wish(
        name=slug(entry.name),
        launch=reading.launch(),
        enabled=entry.enabled and not reading.switched_off(),
        where=entry.pointer,
        timeout=entry.timeout,
        called=entry.name,
        otherwise=entry.otherwise,
    )
    return Understood(wish, (*entry.notes, *values.notes()))


class _Reading:
    def __init__(self, entry: Entry, place: Place, values: Values) -> None:
        if entry.refused:
            raise LeftOut(entry.refused)
        if not isinstance(entry.fields, Mapping):
            raise LeftOut("its description is not an object")
        if not 0 < len(entry.name) <= _LONGEST_NAME:
            raise LeftOut("its name is empty, or too long")
        _check_letters([entry.name, entry.fields])
        self._entry = entry
        self._place = place
        self._fields: JsonObject = entry.fields
        self._values = values

    def launch(self) -> Foreign:
        address = self._fields.get(self._entry.url)
        if address is not None:
            return self._http(address)
        if "command" in self._fields:
            return self._stdio()
        raise LeftOut(f"it has neither a command nor a {self._entry.url}")

    def switched_off(self) -> bool:
        return self._fields.get("disabled") is True or self._fields.get("enabled") is False

    def _stdio(self) -> Stdio:
        words = [self._values.known_now("command", self._text("command"))]
        given = self._fields.get("args") or []
        if not isinstance(given, list):
            raise LeftOut("its args are not a list")
        if not given and "/" not in words[0].split()[0]:
            words = _split(words[0])
        return Stdio(
            command=words[0],
            arguments=(*map(Plain, words[1:]), *self._arguments(given)),
            environment={**self._from_file(), **self._table("env"), **self._entry.environment},
            folder=self._folder(),
        )

    def _http(self, address: JsonValue) -> Http:
        if not isinstance(address, str) or not address.startswith(("http://", "https://", "${")):
            raise LeftOut(f"its {self._entry.url} is not an address of the form https://…")
        parts = self._values.parts(address)
        secret = shown_url(address) != address or any(not isinstance(each, str) for each in parts)
        return Http(
            url=shown_url(address) if secret else "".join(map(str, parts)),
            headers={**self._table(self._entry.headers), **self._entry.more_headers},
            transport=self._transport(),
            secret_url=self._values.reference(address, self._entry.url) if secret else None,
        )

    def _transport(self) -> Transport | None:
        kind = self._fields.get("type") or self._fields.get("transport")
        if kind is None or self._entry.transport is not None:
            return self._entry.transport
        if str(kind).lower() not in _TRANSPORTS:
            raise LeftOut("it is spoken to in a way that Portico does not know")
        return _TRANSPORTS[str(kind).lower()]

    def _folder(self) -> str | None:
        given = self._fields.get("cwd")
        if not given:
            return self._entry.folder or self._place.project
        if not isinstance(given, str):
            raise LeftOut("its cwd is not a text")
        folder = self._values.known_now("cwd", given)
        if folder == "~" or folder.startswith("~/"):
            return self._place.home + folder[1:]
        below = self._entry.folder or self._place.project or self._place.home
        return folder if folder.startswith("/") else f"{below}/{folder.removeprefix('./')}"

    def _arguments(self, given: Sequence[JsonValue]) -> Iterator[Value]:
        before = ""
        for number, each in enumerate(given):
            text = as_text(each)
            if text is None:
                raise LeftOut("one of its args is not a text")
            yield self._values.argument(text, before, number)
            before = text

    def _table(self, kind: str) -> Mapping[str, Value]:
        given = self._fields.get(kind) or {}
        if not isinstance(given, Mapping):
            raise LeftOut(f"its {kind} is not an object")
        form = _VARIABLE if kind == "env" else _HEADER
        if not all(map(form.fullmatch, given)):
            raise LeftOut(f"a name in its {kind} cannot be one")
        return {
            name: self._value(kind, name, each) for name, each in given.items() if each is not None
        }

    def _value(self, kind: str, name: str, given: JsonValue) -> Value:
        text = as_text(given)
        if text is None:
            raise LeftOut(f"the value of {name} is not a text")
        return self._values.given(kind, name, text)

    def _from_file(self) -> Mapping[str, Value]:
        """What stands in its `envFile`, by name."""
        given = self._fields.get("envFile")
        if not isinstance(given, str):
            return {}
        path = self._values.known_now("envFile", given)
        try:
            names = parsed(path, self._place.read(path) or "")
        except Unreadable:
            names = {}
        return {name: FromFile(path, pointer_to(name)) for name in names}

    def _text(self, name: str) -> str:
        found = self._fields.get(name)
        if not isinstance(found, str) or not found.strip():
            raise LeftOut(f"its {name} is not a text")
        return found.strip()


def _check_letters(value: JsonValue) -> None:
    """Nothing that neither a database nor a command line could hold."""
    try:
        text = canonical(value)
    except (NotCanonical, RecursionError) as error:
        raise LeftOut("it holds what is no text, number or list") from error
    if b"\\u0000" in text:
        raise LeftOut("a letter in it is no letter")


def _split(command: str) -> list[str]:
    """Some clients take a whole line for the command."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise LeftOut("its command has an odd quote") from error
    if any(looks_secret(word, before) for before, word in pairwise(words)):
        raise LeftOut("a secret stands in its command; in args it could be taken from there")
    return words
