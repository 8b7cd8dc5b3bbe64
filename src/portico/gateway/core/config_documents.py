"""Configuration documents of MCP clients: entries and variables."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from portico.gateway.core.servers import Foreign, FromEnvironment, Spelling, Value
from portico.kernel.json import JsonObject, JsonValue

# The text of a configuration file as a value: JSON with comments, TOML, or lines of NAME=value.
#
# Whoever wrote the file may have left a byte order mark, comments and trailing commas in it. They
# are blanked out rather than cut out, so that a place in what is read is a place in the file.

MARK: Final = "\ufeff"
_STRING: Final = r'"(?>(?>(?:[^"\\]++|\\.){1,500})*)"?'
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
_LAST_COMMA: Final = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])")
_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*")


class Unreadable(Exception):
    """Not a document at all; `line` and `column` are where it stops being one."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason)
        self.line = line
        self.column = column


def parsed(path: str, text: str) -> JsonObject:
    """What the file at `path` says; its name decides how it is read. Raises `Unreadable`."""
    text = text.removeprefix(MARK)
    if path.endswith(".toml"):
        return _toml(text)
    name = path.rpartition("/")[2]
    if name.startswith(".env") or name.endswith(".env"):
        return dict(_assignments(text))
    return _json(text)


def text_at(path: str, text: str, pointer: str) -> str | None:
    """The value to which `pointer` points, as an environment would hold it; the whole text if it
    points to the whole. None if there is nothing. Raises `Unreadable`."""
    if not pointer:
        return text.removeprefix(MARK).strip()
    return as_text(value_at(parsed(path, text), pointer))


def value_at(document: JsonValue, pointer: str) -> JsonValue:
    """None if there is nothing."""
    for token in _tokens(pointer):
        match document:
            case Mapping():
                document = document.get(token)
            case str():
                return None
            case Sequence() if token.isascii() and token.isdecimal() and len(token) < 10:
                document = document[int(token)] if int(token) < len(document) else None
            case _:
                return None
    return document


def as_text(value: JsonValue) -> str | None:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            return None


def pointer_to(*names: str | int) -> str:
    """RFC 6901."""
    return "".join(f"/{str(name).replace('~', '~0').replace('/', '~1')}" for name in names)


class Lines:
    """Where in a document that can be read something begins."""

    def __init__(self, path: str, text: str) -> None:
        text = text.removeprefix(MARK)
        self._toml = path.endswith(".toml")
        self._text = text if self._toml else _plain_json(text)

    def of(self, pointer: str) -> int | None:
        tokens = list(_tokens(pointer))
        find = _line_in_toml if self._toml else _line_in_json
        return find(self._text, tokens)


def _tokens(pointer: str) -> Iterator[str]:
    return (each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:])


def _json(text: str) -> JsonObject:
    if not text.strip():
        return {}
    try:
        found = _loaded(text)
    except json.JSONDecodeError as error:
        reason = f"is not valid JSON: {error.msg}"
        raise Unreadable(reason, error.lineno, error.colno) from error
    except (RecursionError, ValueError) as error:
        raise Unreadable("is too deep, or has too long a number") from error
    if not isinstance(found, dict):
        raise Unreadable("is not an object", 1)
    return found


def _loaded(text: str) -> object:
    """Most files have no comments, and looking for them takes a hundred times as long."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(_without_comments(text))


def _plain_json(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return _without_comments(text)
    return text


def _without_comments(text: str) -> str:
    return without_last_commas(without_comments(text))


def without_comments(text: str) -> str:
    """Each is as many spaces, so that what is left stays in its place."""
    return _COMMENT.sub(_blank, text)


def without_last_commas(text: str) -> str:
    """Of a text without comments: those that stand before a closing bracket, blanked out."""
    return _LAST_COMMA.sub(_blank, text)


def line_comment_at(text: str, place: int) -> bool:
    """Whether `place` is in a comment that lasts until the end of its line."""
    return any(
        found.start() <= place < found.end() and found[0].startswith("//")
        for found in _COMMENT.finditer(text)
    )


def _blank(match: re.Match[str]) -> str:
    """As many spaces, and the same lines; a string is neither comment nor comma."""
    found = match[0]
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _toml(text: str) -> JsonObject:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        raise Unreadable(f"is not valid TOML: {error}", line, column) from error
    except (RecursionError, ValueError) as error:
        raise Unreadable("is too deep, or has too long a number") from error


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        found = _ASSIGNMENT.fullmatch(line)
        if found is not None:
            value = found[2]
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            yield found[1], value[1:-1] if quoted else value.partition(" #")[0].rstrip()


def _line_in_toml(text: str, tokens: Sequence[str]) -> int | None:
    """The line of its table's head: the reader of the standard library knows no places."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            try:
                head: JsonValue = tomllib.loads(line)
            except tomllib.TOMLDecodeError:
                continue
            for token in tokens:
                head = head.get(token) if isinstance(head, Mapping) else None
            if head is not None:
                return number
    return None


def _line_in_json(text: str, tokens: Sequence[str]) -> int | None:
    place = _skip(text, 0)
    for token in tokens:
        found = [at for name, at in _members(text, place) if name == token]
        if not found:
            return None
        place = found[-1]  # of several members of one name, the last one counts
    return text.count("\n", 0, place) + 1


def _members(text: str, place: int) -> Iterator[tuple[str, int]]:
    """What the object or the list at `place` holds, and where each of it begins."""
    closing = {"{": "}", "[": "]"}.get(text[place])
    if closing is None:
        return
    decoder, count = json.JSONDecoder(), 0
    place = _skip(text, place + 1)
    while text[place] != closing:
        name = str(count)
        if closing == "}":
            name, place = decoder.raw_decode(text, place)
            place = _skip(text, place)
        yield name, place
        place = _skip(text, decoder.raw_decode(text, place)[1])
        count += 1


def _skip(text: str, place: int) -> int:
    """Over what stands between two values."""
    while text[place] in " \t\r\n,:":
        place += 1
    return place


_BRACES: Final = r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_MENTION: Final[Mapping[Spelling, re.Pattern[str]]] = {
    "braces": re.compile(_BRACES),
    "env": re.compile(_BRACES),
    "shell": re.compile(rf"{_BRACES}|\$[A-Za-z_]\w*"),
}
_NAMED: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^{}$]*))?\}")
_ENV: Final = re.compile(r"\$\{env:([A-Za-z_]\w*)\}")
_INPUT: Final = re.compile(r"\$\{input:([^{}]+)\}")
_PROJECT_FOLDERS: Final = frozenset({".cursor", ".vscode", ".codex", ".gemini", ".zed"})


@dataclass(frozen=True, slots=True)
class Unknown:
    """A mention of something that only the client itself could say."""

    text: str


def pieces(
    text: str, spelling: Spelling | None, built_in: Mapping[str, str]
) -> Iterator[str | FromEnvironment | Unknown]:
    """`text` in its parts, in order; those that are known by now are texts already."""
    if spelling is None:
        yield text
        return
    place = 0
    for mention in _MENTION[spelling].finditer(text):
        if mention.start() > place:
            yield text[place : mention.start()]
        yield _meant(mention[0], spelling, built_in)
        place = mention.end()
    if place < len(text):
        yield text[place:]


def filled(text: str, spelling: Spelling, *, path: str, environment: Mapping[str, str]) -> str:
    """`text`, from the file at `path`, with its variables' values of now. Raises `KeyError` with
    the name of what is not set."""
    built_in = built_in_at(path, environment.get("HOME", ""))
    return "".join(_value(piece, environment) for piece in pieces(text, spelling, built_in))


def built_in_at(path: str, home: str) -> Mapping[str, str]:
    """What editors call some of the places around a file of theirs."""
    folder = project_of(path, home)
    around = {"userHome": home, "pathSeparator": "/", "/": "/"}
    if folder is not None:
        around["workspaceFolder"] = folder
        around["workspaceFolderBasename"] = folder.rpartition("/")[2]
    return around


def project_of(path: str, home: str) -> str | None:
    """The folder of the project that a file belongs to; None if it is for all of a user's work."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    if last in _PROJECT_FOLDERS:
        return None if above == home else above
    return folder if name == ".mcp.json" and folder != home else None


def variable_for(asked: str) -> str:
    """The variable that answers what an editor would ask its user for."""
    return re.sub(r"\W+", "_", asked).strip("_").upper()


def _meant(
    mention: str, spelling: Spelling, built_in: Mapping[str, str]
) -> str | FromEnvironment | Unknown:
    if not mention.startswith("${"):
        return FromEnvironment(mention[1:])
    if spelling != "env":
        named = _NAMED.fullmatch(mention)
        return Unknown(mention) if named is None else FromEnvironment(named[1], named[2])
    if known := built_in.get(mention[2:-1]):
        return known
    if variable := _ENV.fullmatch(mention):
        return FromEnvironment(variable[1])
    asked = _INPUT.fullmatch(mention)
    return Unknown(mention) if asked is None else FromEnvironment(variable_for(asked[1]))


def _value(piece: str | FromEnvironment | Unknown, environment: Mapping[str, str]) -> str:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Unknown):
        raise KeyError(piece.text)
    if piece.default is None:
        return environment[piece.variable]
    return environment.get(piece.variable) or piece.default


Transport = Literal["streamable", "sse"]


class LeftOut(Exception):
    """Why a server cannot be taken; said without its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigLocation:
    """Where a file is, and what is around it."""

    path: str
    home: str
    environment: Mapping[str, str] = field(default_factory=dict)
    own_url: str = "http://127.0.0.1:3100"
    """Of this Portico."""
    read: Callable[[str], str | None] = field(default=lambda _path: None)
    """What another file says; None if it is not there."""

    @property
    def project(self) -> str | None:
        return project_of(self.path, self.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A server as a file describes it, each part under the name that the file has for it."""

    name: str
    pointer: str
    fields: JsonValue
    spelling: Spelling | None = None
    refers: bool = False
    """Its values may be references such as `secret:NAME`. Not so in a file of anybody else's: a
    project could ask for what it is not meant to have."""
    url: str = "url"
    headers: str = "headers"
    transport: Transport | None = None
    """If the description itself does not say."""
    folder: str | None = None
    """Where its client would start it."""
    enabled: bool = True
    timeout: float | None = None
    environment: Mapping[str, Value] = field(default_factory=dict)
    """What it is given besides its `env`."""
    more_headers: Mapping[str, Value] = field(default_factory=dict)
    otherwise: str = ""
    notes: Sequence[str] = ()
    refused: str = ""
    """Why it cannot be taken, if that is clear already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """Somebody wants this server, and says so in a file of theirs."""

    name: str
    """As a server can be called here; no two wishes share one once they are told apart."""
    launch: Foreign
    enabled: bool = True
    where: str
    """JSON pointer to its description."""
    timeout: float | None = None
    """Seconds for one call, if the file says so."""
    called: str
    """Its name in the file."""
    otherwise: str = ""
    """What tells it apart if its name is taken: the project it is for, or the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in a file that is not as it should be, told without its values."""

    reason: str
    server: str | None = None
    """Its name in the file; None for the file as a whole."""
    line: int | None = None
    left_out: bool = True
    """False: the server is taken all the same, and this is to be known about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What one file says."""

    origin: str
    client: str
    """Whose file it is, as people call it."""
    for_a_project: bool = False
    """It lies in a folder that may have come from somebody else."""
    wishes: Sequence[ServerSpec] = field(default_factory=tuple)
    problems: Sequence[Problem] = field(default_factory=tuple)

    @property
    def readable(self) -> bool:
        """False: the file is there, and what it says is not known."""
        return not any(each.server is None and each.left_out for each in self.problems)
