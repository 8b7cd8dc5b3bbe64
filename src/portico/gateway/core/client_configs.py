"""Configurations of each MCP client that Portico can import."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from portico.gateway.core.catalog_snapshot import slug
from portico.gateway.core.client_config_values import understood
from portico.gateway.core.config_documents import (
    ConfigLocation,
    Described,
    Entry,
    LeftOut,
    Lines,
    Problem,
    ServerSpec,
    Unreadable,
    filled,
    parsed,
    pointer_to,
    value_at,
)
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


def described(client: Client, place: ConfigLocation, text: str) -> Described:
    """Whatever the text is, this answers: what cannot be understood is told as a problem."""
    wishes: list[ServerSpec] = []
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


def commands_of_ours(client: Client, place: ConfigLocation, text: str) -> Sequence[str]:
    """By which this program starts Portico, as it is written there; what cannot be understood is
    told where servers are read."""
    found: list[str] = []
    with suppress(Unreadable, LeftOut):
        for entry in client.entries(parsed(place.path, text)):
            with suppress(LeftOut):
                launch = understood(entry, place).spec.launch
                if isinstance(launch, Stdio) and is_this(launch, place.own_url):
                    found.append(launch.command)
    return found


def leads_here(client: Client, place: ConfigLocation, text: str) -> bool:
    """Whether its client comes to us by something that the file says."""
    try:
        return any(_is_ours(entry, place) for entry in client.entries(parsed(place.path, text)))
    except (Unreadable, LeftOut):
        return False


def _is_ours(entry: Entry, place: ConfigLocation) -> bool:
    try:
        return is_this(understood(entry, place).spec.launch, place.own_url)
    except LeftOut:
        return False


def _taken(entry: Entry, place: ConfigLocation) -> tuple[Sequence[ServerSpec], Sequence[Problem]]:
    try:
        found = understood(entry, place)
    except LeftOut as reason:
        return [], [Problem(reason=str(reason), server=entry.name)]
    if is_this(found.spec.launch, place.own_url):
        return [], []
    notes = [Problem(reason=note, server=entry.name, left_out=False) for note in found.notes]
    return [found.spec], notes


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


# When is a file that somebody is writing a file that has changed?
#
# An editor may write it anew in its place, put another one there, or take it away for a moment. So
# it counts when it has looked the same twice, and its absence when it has lasted.

ConfigFiles = Mapping[str, str | None]
"""What each file looked like, by its path; None for one that is not there."""
_LASTING: Final = 3


class Noticing:
    def __init__(self, first: ConfigFiles) -> None:
        self._known = dict(first)
        self._seen: dict[str, tuple[str | None, int]] = {}

    def changed(self, look: ConfigFiles) -> frozenset[str]:
        """Which files have another content than was last told; a file that was not asked for
        before has changed if it is there."""
        found = {path for path, now in look.items() if self._settled(path, now)}
        for path in found:
            self._known[path] = look[path]
        for path in self._known.keys() - look.keys():
            del self._known[path]
            self._seen.pop(path, None)
        return frozenset(found)

    def _settled(self, path: str, now: str | None) -> bool:
        if now == self._known.get(path):
            self._seen.pop(path, None)
            return False
        before, times = self._seen.get(path, (now, 0))
        times = times + 1 if before == now else 1
        self._seen[path] = now, times
        return times >= (_LASTING if now is None else 2)


def told_apart(all_described: Sequence[Described]) -> Sequence[Described]:
    """The same, each server once and each under a name of its own; what comes first keeps its
    name."""
    taken: dict[str, tuple[object, ...]] = {}
    return [_apart(each, taken) for each in all_described]


def _apart(one: Described, taken: dict[str, tuple[object, ...]]) -> Described:
    wishes: list[ServerSpec] = []
    problems = list(one.problems)
    for wish in one.wishes:
        same = essence(wish.launch)
        if taken.get(wish.name) == same:
            reason = f"is described elsewhere too, and taken once, as {wish.name}"
            problems.append(Problem(reason=reason, server=wish.called, left_out=False))
            continue
        name = _free_name(wish, taken)
        taken[name] = same
        wishes.append(replace(wish, name=name))
    return replace(one, wishes=wishes, problems=problems)


def _free_name(wish: ServerSpec, taken: Collection[str]) -> str:
    plain = slug(wish.name, taken)
    if plain == wish.name or not wish.otherwise:
        return plain
    return slug(f"{wish.name}-{wish.otherwise}", taken)


def essence(launch: Foreign) -> tuple[object, ...]:
    """What two descriptions of the same server have in common, whichever file they are from."""
    if isinstance(launch, Http):
        return launch.url, frozenset(launch.headers)
    given = tuple(None if isinstance(each, FromFile) else each for each in launch.arguments)
    return launch.command, given, frozenset(launch.environment), launch.folder


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


def _entries_desktop(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield Entry(
            name=each.name, pointer=each.pointer, fields=each.fields, otherwise="claude-desktop"
        )


CLAUDE_DESKTOP: Final = Client(
    name="claude-desktop",
    title="Claude Desktop",
    key="mcpServers",
    user=(
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        "${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json",
    ),
    entries=_entries_desktop,
)

_IN_CLEAR: Final = "it has a bearer_token, which Codex refuses too: name a bearer_token_env_var"


def _entries_codex(document: JsonObject) -> Iterator[Entry]:
    return (_entry_codex(each) for each in listed(document, "mcp_servers"))


def _entry_codex(found: Listed) -> Entry:
    chosen = found.get("enabled_tools") is not None or found.get("disabled_tools") is not None
    return Entry(
        name=found.name,
        pointer=found.pointer,
        fields=found.fields,
        headers="http_headers",
        transport="streamable",
        timeout=seconds(found.get("tool_timeout_sec")),
        environment={name: FromEnvironment(name) for name in _passed_on(found)},
        more_headers=dict(_headers(found)),
        otherwise="codex",
        notes=["enabled_tools and disabled_tools do not count here"] if chosen else [],
        refused=_IN_CLEAR if found.get("bearer_token") is not None else "",
    )


def _passed_on(found: Listed) -> Iterator[str]:
    """The variables that it is given as they are; those of a remote machine are not ours."""
    listing = found.get("env_vars")
    yield from names_in(listing)
    for each in listing if isinstance(listing, list) else ():
        if isinstance(each, Mapping) and each.get("source") != "remote":
            yield from names_in([each.get("name")])


def _headers(found: Listed) -> Iterator[tuple[str, Value]]:
    named = found.get("env_http_headers")
    for header, variable in named.items() if isinstance(named, Mapping) else ():
        if isinstance(variable, str):
            yield header, FromEnvironment(variable)
    token = found.get("bearer_token_env_var")
    if isinstance(token, str):
        yield "Authorization", Template(("Bearer ", FromEnvironment(token)))


CODEX: Final = Client(
    name="codex",
    title="Codex",
    key="mcp_servers",
    user=("${CODEX_HOME:-~/.codex}/config.toml",),
    project=(".codex/config.toml",),
    entries=_entries_codex,
)


def _entries_cursor(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=each.fields,
            spelling="env",
            otherwise="cursor",
        )


CURSOR: Final = Client(
    name="cursor",
    title="Cursor",
    key="mcpServers",
    user=("~/.cursor/mcp.json",),
    project=(".cursor/mcp.json",),
    entries=_entries_cursor,
)

_TRUSTED: Final = "Gemini CLI trusts it unasked; here its tools are looked at like any other's"
_CHOSEN: Final = "includeTools and excludeTools do not count here"


def _entries_gemini(document: JsonObject) -> Iterator[Entry]:
    allowed = value_at(document, "/mcp/allowed")
    excluded = names_in(value_at(document, "/mcp/excluded"))
    for each in listed(document, "mcpServers"):
        asked_for = not isinstance(allowed, list) or each.name in allowed
        yield _entry_gemini(each, enabled=asked_for and each.name not in excluded)


def _entry_gemini(found: Listed, *, enabled: bool) -> Entry:
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
    entries=_entries_gemini,
)

# `.mcp.json`, which Claude Code and others read in a project, and any file of the same form.


def _entries_mcp_json(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=each.fields,
            spelling="braces",
            otherwise="project",
            notes=[HELPED] if each.get("headersHelper") else [],
        )


MCP_JSON: Final = Client(
    name="mcp-json",
    title=".mcp.json",
    key="mcpServers",
    user=("~/.copilot/mcp-config.json",),
    project=(".mcp.json",),
    entries=_entries_mcp_json,
)

# Our own file: `[servers.NAME]` of `portico.toml`, read like anybody else's.


def _entries_portico_toml(document: JsonObject) -> Iterator[Entry]:
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
    entries=_entries_portico_toml,
)

# VS Code: `servers`, and `inputs` that it asks its user for and keeps to itself.


def _entries_vscode(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "servers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=_either_way(each.fields) if isinstance(each.fields, dict) else each.fields,
            spelling="env",
            otherwise="vscode",
        )


def _either_way(fields: JsonObject) -> JsonObject:
    """Its `http` is whichever of the two the server turns out to speak."""
    return {name: each for name, each in fields.items() if (name, each) != ("type", "http")}


_CONFIG: Final = "${XDG_CONFIG_HOME:-~/.config}"
_MAC: Final = "~/Library/Application Support"

VSCODE: Final = Client(
    name="vscode",
    title="VS Code",
    key="servers",
    user=tuple(
        f"{base}/{edition}/User/mcp.json"
        for edition in ("Code", "Code - Insiders", "VSCodium")
        for base in (_CONFIG, _MAC)
    ),
    project=(".vscode/mcp.json",),
    entries=_entries_vscode,
)


def _entries_windsurf(document: JsonObject) -> Iterator[Entry]:
    for each in listed(document, "mcpServers"):
        yield Entry(
            name=each.name,
            pointer=each.pointer,
            fields=each.fields,
            spelling="braces",
            url="url" if each.get("serverUrl") is None else "serverUrl",
            otherwise="windsurf",
        )


WINDSURF: Final = Client(
    name="windsurf",
    title="Windsurf",
    key="mcpServers",
    user=("~/.codeium/windsurf/mcp_config.json",),
    entries=_entries_windsurf,
)

_FROM_AN_EXTENSION: Final = "an extension of Zed starts it, and only Zed knows how"


def _entries_zed(document: JsonObject) -> Iterator[Entry]:
    return (_entry_zed(each) for each in listed(document, "context_servers"))


def _entry_zed(found: Listed) -> Entry:
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
    entries=_entries_zed,
)

# Every client whose file we can read. Another one is a file like these, and a line here.

CLIENTS: Final = (
    CLAUDE_DESKTOP,
    CLAUDE_CODE,
    CURSOR,
    VSCODE,
    WINDSURF,
    ZED,
    CODEX,
    GEMINI,
    MCP_JSON,
)


def user_files(environment: Mapping[str, str], home: str) -> Mapping[str, Client]:
    """Where each client keeps what is for all of a user's work, on any system."""
    return {expanded(each, environment, home): client for client in CLIENTS for each in client.user}


def project_files(folder: str) -> Mapping[str, Client]:
    return {f"{folder}/{each}": client for client in CLIENTS for each in client.project}


def client_of(path: str, text: str, known: Mapping[str, Client]) -> Client:
    """Whose file this is: by where it is, or else by what stands at its top."""
    if path in known:
        return known[path]
    for client in CLIENTS:
        if any(path.endswith(f"/{each}") for each in client.project):
            return client
    try:
        top = parsed(path, text)
    except Unreadable:
        return MCP_JSON
    return next((each for each in (CODEX, ZED, VSCODE) if each.key in top), MCP_JSON)


def expanded(path: str, environment: Mapping[str, str], home: str) -> str:
    """One of the places of a client, on this machine."""
    found = filled(path, "braces", path="", environment=environment)
    return found.replace("~", home, 1) if found.startswith("~") else found
