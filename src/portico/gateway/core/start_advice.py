"""What to do about a server that did not start, from what it wrote before it ended."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from portico.gateway.core.launch_text import shown
from portico.gateway.core.node_words import node_advice
from portico.gateway.core.older_library import installing_older, needs_older, repinned
from portico.gateway.core.server import Launch, Stdio

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
