"""What to do about a server that did not start, from what it wrote before it ended."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

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
_RUNNERS: Final = ("uvx", "uv", "pipx")
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
    found = (tell(launch) for words, tell in _KNOWN if any(each in said for each in words))
    return next(filter(None, found), None) or _missing_variable(said)


def _how_to_install(launch: Stdio) -> str | None:
    return _INSTALLING.get(launch.command)


def _older_library(launch: Stdio) -> str:
    """Version 2 of the Python library took away what servers for version 1 are written with."""
    name = launch.command.rpartition("/")[2]
    with_it = "--with 'mcp<2'"
    if name in _RUNNERS:
        return f"It was written for version 1 of the mcp library. Put this before it: {with_it}"
    return "It was written for version 1 of the mcp library. Install that beside it: 'mcp<2'"


def _plain(text: str) -> Callable[[Stdio], str]:
    return lambda _launch: text


def _missing_variable(said: str) -> str | None:
    found = _WANTED.search(said)
    return None if found is None else f"Give it {found[1] or found[2]}: in the env of its entry."


_KNOWN: Final[Iterable[tuple[tuple[str, ...], Callable[[Stdio], str | None]]]] = (
    (("there is no program",), _how_to_install),
    (
        (
            "No module named 'mcp.server.fastmcp'",
            "cannot import name 'FastMCP' from 'mcp.server'",
            "'Server' object has no attribute 'list_tools'",
            "'Server' object has no attribute 'call_tool'",
            "'Server' object has no attribute 'list_resources'",
            "'Server' object has no attribute 'list_prompts'",
        ),
        _older_library,
    ),
    (
        ("Cannot connect to the Docker daemon", "docker daemon is not running"),
        _plain("Start Docker."),
    ),
    (
        ("npm error 404", "npm ERR! 404", "npm error code E404"),
        _plain("There is no such npm package: see that its name is right."),
    ),
    (
        ("No solution found when resolving", "was not found in the package registry"),
        _plain("There is no such package, or no version that fits: see that its name is right."),
    ),
    (
        ("npm error code EBADENGINE", "Unsupported engine", "ERR_UNSUPPORTED_NODE"),
        _plain("It needs another version of Node.js."),
    ),
    (
        ("EADDRINUSE", "Address already in use"),
        _plain("It wants a port that is taken: it may be running already, started by a client."),
    ),
)
