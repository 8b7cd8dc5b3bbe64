"""Portico's own entry in a client's configuration."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from enum import StrEnum
from typing import Final, Literal

from portico.gateway.core import config_edits
from portico.gateway.core.client_config_values import understood
from portico.gateway.core.client_configs import (
    CLAUDE_CODE,
    CLAUDE_DESKTOP,
    CODEX,
    CURSOR,
    GEMINI,
    MCP_JSON,
    VSCODE,
    WINDSURF,
    ZED,
    Client,
    described,
    essence,
    expanded,
    is_this,
)
from portico.gateway.core.config_documents import (
    MARK,
    ConfigLocation,
    Described,
    Entry,
    LeftOut,
    Lines,
    Unreadable,
    parsed,
    pointer_to,
)
from portico.gateway.core.config_edits import Edited, Trace
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.redaction import blacked_out


class UnknownClient(PorticoError):
    kind = Kind.NOT_FOUND
    code = "unknown_client"
    title = "No such client is known"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        fix = f"One of: {', '.join(known)}. For any other, write the entry yourself: see the docs."
        super().__init__(f"No client is called {name[:40]!r}.", fix=fix)


class ClientCannot(PorticoError):
    kind = Kind.INVALID
    code = "client_cannot"
    title = "Not with this client"


class ClientAbsent(PorticoError):
    kind = Kind.NOT_FOUND
    code = "client_absent"
    title = "This client does not seem to be here"

    def __init__(self, title: str, file: str) -> None:
        super().__init__(
            f"Neither the program nor the folder of {title} is on this machine; its file would "
            f"be {file}.",
            fix="Start it once and try again, or have the file made all the same: --yes",
        )


class EntryDiffers(PorticoError):
    kind = Kind.CONFLICT
    code = "client_entry_differs"
    title = "There is another entry of that name"

    def __init__(self, file: str) -> None:
        super().__init__(
            f"{file} has an entry named portico that is another one; it is left as it is.",
            fix="To go on all the same: --yes. A copy of the file is kept.",
        )


class ClientFileUnreadable(PorticoError):
    kind = Kind.INVALID
    code = "client_file_unreadable"
    title = "The client's file cannot be read"
    fix = "Nothing was written. See the entry, and put it there yourself: portico connect … --print"

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file} {reason}.")


class ClientFileMalformed(PorticoError):
    kind = Kind.INVALID
    code = "client_file_malformed"
    title = "The client's file has a mistake in it"
    fix = "Mend it there, and try again. Nothing was written."

    def __init__(
        self, file: str, reason: str, line: int | None = None, column: int | None = None
    ) -> None:
        place = "" if line is None else f", line {line}"
        place += "" if column is None else f", column {column}"
        super().__init__(f"{file}{place}: {reason}.")
        self.line = line
        self.column = column


class ClientFileMoved(PorticoError):
    kind = Kind.CONFLICT
    code = "client_file_moved"
    title = "The client's file changed in the meantime"
    fix = "Close the client, or wait until it has written its file, and try again."

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} is not as it was read; nothing was written.")


class EditUnsafe(PorticoError):
    kind = Kind.INVALID
    code = "client_edit_unsafe"
    title = "More than our own entry would have changed"
    fix = "Change it by hand; portico connect … --print shows the entry. Nothing was written."

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} is written in a way that our entry cannot be told apart in.")


_NOTHING: Final = Trace()


def entry_in(file: str, text: str, names: Sequence[str]) -> JsonValue:
    """What stands there under `names`; None if nothing does. Raises `ClientFileMalformed`, also
    if what leads to it holds no entries."""
    return _found(file, text, names)[1]


def _found(file: str, text: str, names: Sequence[str]) -> tuple[bool, JsonValue]:
    """Whether it is there at all, be it null, and what it is."""
    found: JsonValue = _document(file, text)
    for number, name in enumerate(names):
        if not isinstance(found, Mapping):
            line = Lines(file, text).of(pointer_to(*names[:number]))
            reason = f"{'.'.join(names[:number])} is not an object of servers"
            raise ClientFileMalformed(file, reason, line)
        if name not in found:
            return False, None
        found = found[name]
    return True, found


def with_entry(file: str, text: str, names: Sequence[str], value: JsonObject) -> Edited:
    """With `value` under `names`, instead of what is there. Raises `ClientFileMalformed`,
    `EditUnsafe`."""
    there, _ = _found(file, text, names)
    mark, body = _without_mark(text)
    if file.endswith(".toml"):
        rest = config_edits.take_out_toml(body, names, _NOTHING) if there else body
        edited = config_edits.put_in_toml(rest, names, value)
    elif there:
        edited = Edited(config_edits.change(body, names, value), _NOTHING)
    else:
        edited = config_edits.put_in_json(body, names, value)
    after = mark + edited.text
    _check(file, text, after, names, value)
    return Edited(after, edited.trace)


def without_entry(file: str, text: str, names: Sequence[str], trace: Trace = _NOTHING) -> str:
    """Raises `ClientFileMalformed`, `EditUnsafe`."""
    if not _found(file, text, names)[0]:
        return text
    mark, body = _without_mark(text)
    take_out = config_edits.take_out_toml if file.endswith(".toml") else config_edits.take_out_json
    after = mark + take_out(body, names, trace)
    _check(file, text, after, names, None)
    return after


def _check(
    file: str, before: str, after: str, names: Sequence[str], value: JsonObject | None
) -> None:
    """That all the rest means what it did: whatever our editing has overlooked, nobody is to lose
    a server by it."""
    try:
        found = parsed(file, after)
    except Unreadable as error:
        raise EditUnsafe(file) from error
    # When it is taken out, one of the same name that stands before it may come to light.
    as_wanted = value is None or entry_in(file, after, names) == value
    # By their texts: what is no number is not even equal to itself.
    if not as_wanted or repr(_rest(found, names)) != repr(_rest(parsed(file, before), names)):
        raise EditUnsafe(file)


def _rest(document: JsonObject, names: Sequence[str]) -> JsonObject:
    """Without the entry, and without what would be empty then."""
    first, below = names[0], names[1:]
    rest = {name: each for name, each in document.items() if name != first}
    inner = document.get(first)
    if below and isinstance(inner, Mapping) and (left := _rest(inner, below)):
        return {**rest, first: left}
    return rest


def _document(file: str, text: str) -> JsonObject:
    try:
        return parsed(file, text)
    except Unreadable as error:
        raise ClientFileMalformed(file, str(error), error.line, error.column) from error


def _without_mark(text: str) -> tuple[str, str]:
    return (MARK, text[1:]) if text.startswith(MARK) else ("", text)


NAME: Final = "portico"
Scope = Literal["user", "project"]
_OF_A_MAC: Final = "/Library/Application Support/"
_TO_START: Final = 60
"""Seconds that a client may wait: the first start brings up a database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A client that Portico can be connected to."""

    client: Client
    listed: str
    """What its list of servers is called."""
    programs: Sequence[str]
    """What is on the `PATH` if it is there."""
    project: Client | None = None
    """Whose form its file in a project has; None if it has none."""
    url: str | None = "url"
    """What it calls an address; None if its file knows none."""
    headers: str = "headers"
    stdio: JsonObject = field(default_factory=dict)
    """What else an entry has that is started."""
    http: JsonObject = field(default_factory=dict)
    """What else an entry has that is reached."""

    @property
    def name(self) -> str:
        return self.client.name

    @property
    def title(self) -> str:
        return self.client.title

    @property
    def names(self) -> tuple[str, str]:
        return self.listed, NAME

    def started(self, program: Sequence[str], environment: Mapping[str, str]) -> JsonObject:
        """The entry by which it starts `portico stdio`."""
        kind = {name: each for name, each in self.stdio.items() if name == "type"}
        more = {name: each for name, each in self.stdio.items() if name != "type"}
        given: JsonObject = {"env": dict(environment)} if environment else {}
        arguments = [*program[1:], "stdio", "--start"]
        return {**kind, "command": program[0], "args": arguments, **given, **more}

    def reached(self, server: str, key: str) -> JsonObject:
        """The entry by which it comes over HTTP. Raises `ClientCannot`."""
        if self.url is None:
            raise ClientCannot(
                f"The file of {self.title} knows no addresses.", fix="Leave --http away."
            )
        given = {self.headers: {"Authorization": f"Bearer {key}"}}
        return {**self.http, self.url: f"{server}/mcp", **given}

    def files(self, environment: Mapping[str, str], home: str, *, mac: bool) -> Sequence[str]:
        """Where it may keep what is for all of a user's work on such a machine, likeliest first."""
        of_a_mac = [each for each in self.client.user if _OF_A_MAC in each]
        others = [each for each in self.client.user if _OF_A_MAC not in each]
        places = of_a_mac if mac and of_a_mac else others
        return list(dict.fromkeys(expanded(each, environment, home) for each in places))

    def project_file(self, folder: str) -> str:
        """Raises `ClientCannot`."""
        if self.project is None:
            raise ClientCannot(
                f"{self.title} keeps no servers in a project.", fix="Leave --scope project away."
            )
        return f"{folder}/{self.project.project[0]}"


_LISTED: Final = "mcpServers"
_TYPED: Final[JsonObject] = {"type": "stdio"}
_OVER_HTTP: Final[JsonObject] = {"type": "http"}

HOMES: Final[Sequence[Home]] = (
    Home(
        client=CLAUDE_CODE,
        listed=_LISTED,
        programs=("claude",),
        project=MCP_JSON,
        stdio=_TYPED,
        http=_OVER_HTTP,
    ),
    Home(client=CLAUDE_DESKTOP, listed=_LISTED, programs=("claude-desktop",), url=None),
    Home(client=CURSOR, listed=_LISTED, programs=("cursor",), project=CURSOR),
    Home(
        client=VSCODE,
        listed="servers",
        programs=("code", "code-insiders", "codium"),
        project=VSCODE,
        stdio=_TYPED,
        http=_OVER_HTTP,
    ),
    Home(client=WINDSURF, listed=_LISTED, programs=("windsurf",), url="serverUrl"),
    Home(client=ZED, listed="context_servers", programs=("zed", "zeditor"), project=ZED),
    Home(
        client=CODEX,
        listed="mcp_servers",
        programs=("codex",),
        project=CODEX,
        headers="http_headers",
        stdio={"startup_timeout_sec": _TO_START},
    ),
    Home(client=GEMINI, listed=_LISTED, programs=("gemini",), project=GEMINI, url="httpUrl"),
)


def home_of(name: str) -> Home:
    """Raises `UnknownClient`."""
    for each in HOMES:
        if each.name == name:
            return each
    raise UnknownClient(name, _names())


def _names() -> Iterator[str]:
    return (each.name for each in HOMES)


_AROUND: Final = 1
"""Lines shown around a change: few, since somebody's secrets may stand there."""


class EntryStatus(StrEnum):
    NONE = "not connected"
    SAME = "connected"
    OTHERWISE = "connected otherwise"
    """By Portico's own entry, and not the one that would be written now."""
    FOREIGN = "another entry"
    """Of Portico's name, and not Portico."""


def standing(
    home: Home, client: Client, place: ConfigLocation, text: str, wanted: JsonObject
) -> EntryStatus:
    """`wanted` is what would be written. Raises `ClientFileMalformed`."""
    found = entry_in(place.path, text, home.names)
    if found is None:
        return EntryStatus.NONE
    if _but_for_its_key(home, found) == _but_for_its_key(home, wanted):
        return EntryStatus.SAME
    ours = any(_is_portico(each, place) for each in _own(client, place, text))
    return EntryStatus.OTHERWISE if ours else EntryStatus.FOREIGN


def switched_off(client: Client, place: ConfigLocation, text: str) -> bool:
    """Whether the file says elsewhere that the entry does not count."""
    return any(not each.enabled for each in _own(client, place, text))


def also_listed(
    client: Client, place: ConfigLocation, text: str, in_use: Collection[Described]
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


def _own(client: Client, place: ConfigLocation, text: str) -> Iterator[Entry]:
    try:
        for each in client.entries(parsed(place.path, text)):
            if each.name == NAME and each.folder is None:
                yield each
    except LeftOut:
        return


def _is_portico(entry: Entry, place: ConfigLocation) -> bool:
    try:
        return is_this(understood(entry, place).spec.launch, place.own_url)
    except LeftOut:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedClient:
    """A client, as it is on this machine."""

    home: Home
    file: str
    present: bool
    """Something of it is here."""
    status: EntryStatus | None
    """None if its file cannot be understood."""
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    home: Home
    scope: Scope
    file: str
    present: bool
    entry: JsonObject
    status: EntryStatus
    before: str | None
    """None if there is no such file."""
    after: str
    trace: Trace
    alone: str
    """The entry as it would stand in a file with nothing else in it."""
    diff: str
    also_listed: Sequence[str] = ()
    """Servers that the client would list twice: by itself, and behind Portico."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    copy: str | None
    """Where the file is kept as it was; None if there was none."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    home: Home
    file: str
    before: str
    after: str | None
    """None if the file goes too: `connect` has made it, and nothing else is in it."""
    as_before: bool
    """To the byte as it was before `connect`."""
    foreign: bool
    """The entry is not Portico's any more: somebody has changed it."""
    diff: str
    key: str | None = None
    """The id of the key that was made for it."""
    copy: str | None = None
    """Where the file is kept as it was before `connect`."""
