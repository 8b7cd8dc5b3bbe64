"""Values in client configurations: secrets, variables, credentials."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from portico.gateway.core.catalog_snapshot import slug
from portico.gateway.core.config_documents import (
    ConfigLocation,
    Entry,
    LeftOut,
    ServerSpec,
    Transport,
    Unknown,
    Unreadable,
    as_text,
    built_in_at,
    parsed,
    pieces,
    pointer_to,
    variable_for,
)
from portico.gateway.core.launch import referred
from portico.gateway.core.pins import decides_the_code
from portico.gateway.core.servers import (
    Foreign,
    FromEnvironment,
    FromFile,
    Http,
    Plain,
    Stdio,
    Template,
    Value,
)
from portico.kernel.json import JsonObject, JsonValue, NotCanonical, canonical
from portico.kernel.redaction import BLACK, Redaction, blacked_out

# Which texts of a description are secrets, so that they stay where they are.
#
# A false alarm costs little: the text is read from its file when it is needed. What has no form and
# no name that gives it away cannot be known here, which is why the values of an environment and of
# headers are never taken over at all.

_LETTERS_AND_DIGITS: Final = re.compile(r"[A-Za-z0-9]{12,}")
_SWITCH: Final = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_SWITCHES: Final = 3
_SCHEME_ALONE: Final = re.compile(r"(?i)(authorization\s*[:=]\s*)(?:bearer|basic|token)\s*\Z")
_SCHEME_AT_MOST: Final = re.compile(r"(?i)\A\s*(?:bearer|basic|token)\b")
_BY_NAME: Final = Redaction()


def looks_secret(text: str, before: str = "") -> bool:
    """`before` is the argument that stands before it: `--token`."""
    value_of_a_flag = before.startswith("-") and not text.startswith("-")
    if blacked_out(text) != text or (value_of_a_flag and _names_a_secret(before, text)):
        return True
    if "://" in text:
        return shown_url(text) != text
    return "/" not in text and _random(text)


def hides_a_secret(text: str) -> bool:
    """Of a text whose variables have been taken out of it."""
    return looks_secret(_SCHEME_ALONE.sub(r"\1", text))


def harmless(text: str) -> bool:
    """Of a text whose variables have been taken out of it: surely no secret is left."""
    rest = _SCHEME_AT_MOST.sub("", text)
    return not any(map(str.isalnum, rest)) or ("/" in rest and not looks_secret(rest))


def shown_url(url: str) -> str:
    """What can be told of an address: always the host that it leads to, whatever stands before or
    behind it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return BLACK
    path = "/".join(BLACK if _random(each) else each for each in blacked_out(parts.path).split("/"))
    given = parse_qsl(parts.query, keep_blank_values=True)
    told = [(name, BLACK if _secret_parameter(name, value) else value) for name, value in given]
    query = blacked_out(parts.query) if told == given else urlencode(told, safe="*${}:/")
    return urlunsplit(
        (parts.scheme, _place(parts.netloc), path, query, blacked_out(parts.fragment))
    )


def _place(netloc: str) -> str:
    """The host and its port, and of whoever comes there only the name."""
    who, at, host = netloc.rpartition("@")
    name, secret, _ = who.partition(":")
    return f"{name}:{BLACK}@{host}" if secret else f"{blacked_out(name)}{at}{host}"


def _secret_parameter(name: str, value: str) -> bool:
    return _names_a_secret(name, value) or _random(value)


def _names_a_secret(name: str, value: str) -> bool:
    bare = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).strip("-")
    return bool(value) and _BY_NAME.clean_json({bare: value}) != {bare: value}


def _random(text: str) -> bool:
    """Letters and digits in such disorder that nobody has named anything so."""
    return any(
        len(_SWITCH.findall(word)) >= _SWITCHES for word in _LETTERS_AND_DIGITS.findall(text)
    )


_WHOLE_FILE: Final = re.compile(r"\$\{file:(/[^{}]+)\}")

Parts = list[str | FromEnvironment]


@dataclass(slots=True)
class Values:
    """Every method raises `LeftOut`."""

    entry: Entry
    place: ConfigLocation
    _asked: dict[str, str] = field(default_factory=dict)
    _unseen: dict[str, None] = field(default_factory=dict)

    def argument(self, text: str, before: str, number: int) -> Value:
        if self.entry.refers and (found := referred(text)) is not None:
            return found
        parts = self.parts(text)
        written = _without_variables(parts)
        if looks_secret(text, before) if written == text else hides_a_secret(written):
            return self.reference(text, "args", number)
        match parts:
            case [FromEnvironment() as only]:
                return only
            case _ if all(isinstance(each, str) for each in parts):
                return Plain(written)
            case _:
                return Template(tuple(parts))

    def given(self, kind: str, name: str, text: str) -> Value:
        """What stands in an environment or in headers."""
        if self.entry.refers and (found := referred(text)) is not None:
            return found
        if self.entry.spelling and (file := _WHOLE_FILE.fullmatch(text)):
            return FromFile(file[1], "")
        parts = self.parts(text)
        if len(parts) == 1 and isinstance(parts[0], FromEnvironment) and not parts[0].default:
            return parts[0]
        if kind == "env" and decides_the_code(name) and not looks_secret(text, f"--{name}"):
            return Plain(text) if parts == [text] else Template(tuple(parts))
        named = [each.variable for each in parts if isinstance(each, FromEnvironment)]
        if named and harmless(_without_variables(parts)):
            return Template(tuple(parts))
        self._unseen.update(dict.fromkeys(named))
        return self.reference(text, kind, name)

    def reference(self, text: str, *names: str | int) -> FromFile:
        pointer = self.entry.pointer + pointer_to(*names)
        plain = self.parts(text) in ([text], [])
        return FromFile(self.place.path, pointer, None if plain else self.entry.spelling)

    def known_now(self, kind: str, text: str) -> str:
        """A program or a folder is a text when it is approved: its variables are filled in."""
        found = ""
        for each in self.parts(text):
            value = each if isinstance(each, str) else self._set(each)
            if value is None:
                raise LeftOut(f"its {kind} names a variable that is not set")
            found += value
        if not found.strip():
            raise LeftOut(f"its {kind} is empty")
        return found

    def parts(self, text: str) -> Parts:
        parts: Parts = []
        around = built_in_at(self.place.path, self.place.home)
        for each in pieces(text, self.entry.spelling, around):
            if isinstance(each, Unknown):
                raise LeftOut(f"it names {each.text}, which only its client knows")
            parts.append(each)
        self._remember_questions(text)
        return parts

    def notes(self) -> Iterator[str]:
        """What its client would ask for, and what it is given without being seen in its launch."""
        for question, variable in self._asked.items():
            yield f"asks for {question!r}: set {variable} in the environment of Portico"
        if self._unseen:
            yield f"is given the variables {', '.join(self._unseen)}"

    def _set(self, variable: FromEnvironment) -> str | None:
        return self.place.environment.get(variable.variable) or variable.default

    def _remember_questions(self, text: str) -> None:
        if self.entry.spelling == "env":
            for asked in text.split("${input:")[1:]:
                question = asked.partition("}")[0]
                self._asked[question] = variable_for(question)


def _without_variables(parts: Sequence[str | FromEnvironment]) -> str:
    return "".join(each if isinstance(each, str) else (each.default or "") for each in parts)


# One server's description, from the form that most clients share to a wish.
#
# Every value of an environment and of headers stays a reference, to a variable or into the file; of
# the rest only what looks like a secret does.

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
    spec: ServerSpec
    notes: Sequence[str]
    """What is to be known about it."""


def understood(entry: Entry, place: ConfigLocation) -> Understood:
    """Raises `LeftOut`."""
    values = Values(entry, place)
    reading = _Reading(entry, place, values)
    wish = ServerSpec(
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
    def __init__(self, entry: Entry, place: ConfigLocation, values: Values) -> None:
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


# Which of what a server was given must not come back in what it says.
#
# What was kept as a secret is one. The rest of an environment is not all secret: a server that was
# told its region, its folder or its address says them in every answer, and would be of no use
# without them. So a value is a credential if its name says so, or if nobody would write it for its
# meaning.

_NAMED: Final = re.compile(
    r"(?i)(?<![a-z])(?:auth|authorization|bearer|cookies?|credentials?|dsn|pat|pass|pepper|pwd|salt|sid)"
    r"(?![a-z])|key|passw|passphrase|secret|token"
)
_ORDINARY: Final = re.compile(r"[\w\s/\\:.,@=+~-]*")
_BETWEEN: Final = re.compile(r"[\W_]+")
_CREDENTIALS_SWITCH: Final = re.compile(
    r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])|(?<=[a-z])(?=[A-Z])"
)
_LONGEST: Final = 24
_DIGITS: Final = 8


def credentials_in(name: str, value: str) -> Iterator[str]:
    """The value, or those parts of it; `name` is whatever it goes by."""
    address = _address(value)
    inside = _document(value)
    if address is not None:
        yield from _of_address(value, address)
    elif inside is not None:
        yield from _of_document(name, value, inside)
    elif _NAMED.search(name) or not _ordinary(value):
        yield from told(value)


def told(value: str) -> Iterator[str]:
    """A credential as a server might repeat it: without `Bearer`, without `token=`."""
    yield value
    words = value.split()
    if len(words) in {2, 3}:
        yield words[-1]
    if "=" in value:
        yield value.partition("=")[2]


def _of_address(value: str, address: SplitResult) -> Iterator[str]:
    found = [given for name, given in parse_qsl(address.query) if _tells(name, given)]
    found += [part for part in address.path.split("/") if looks_secret(part)]
    if address.password:
        found.append(address.password)
    yield from found
    if found:
        yield value


def _of_document(name: str, value: str, inside: JsonValue) -> Iterator[str]:
    found = [one for each, text in _texts(name, inside) for one in credentials_in(each, text)]
    yield from found
    if found:
        yield value


def _texts(name: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield name, value
        case Mapping():
            for each, item in value.items():
                yield from _texts(f"{name} {each}", item)
        case Sequence():
            for item in value:
                yield from _texts(name, item)
        case _:
            return


def _tells(name: str, value: str) -> bool:
    return bool(_NAMED.search(name)) or not _ordinary(value)


def _ordinary(value: str) -> bool:
    """A path, a place, a name, a number, a few words: pieces with some order in them."""
    if not _ORDINARY.fullmatch(value):
        return False
    return all(map(_orderly, filter(None, _BETWEEN.split(value))))


def _orderly(piece: str) -> bool:
    if piece.isdigit():
        return len(piece) <= _DIGITS
    return len(piece) <= _LONGEST and len(_CREDENTIALS_SWITCH.findall(piece)) <= (
        3 if piece.isalpha() else 1
    )


def _address(value: str) -> SplitResult | None:
    try:
        return urlsplit(value) if re.match(r"[a-z][a-z0-9+.-]*://", value, re.IGNORECASE) else None
    except ValueError:
        return None


def _document(value: str) -> JsonValue:
    """None for what is no JSON of several parts."""
    if value[:1] not in {"{", "["}:
        return None
    try:
        found: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found
