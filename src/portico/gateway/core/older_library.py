"""A server that was written for version 1 of the mcp library, started with it."""

import re
import shlex
from dataclasses import replace
from typing import Final

from portico.gateway.core.server import Plain, Stdio, Value

OLDER: Final = "mcp<2"
_SIGNS: Final = re.compile(
    r"No module named 'mcp\.server\.fastmcp"
    r"|cannot import name '\w+' from 'mcp[.']"
    r"|'Server' object has no attribute '(?:list|call|read|get|set|subscribe|unsubscribe)_\w+'"
)
"""What version 2 does not have any more, in the words of Python."""
_WITH: Final = (Plain("--with"), Plain(OLDER))
_RUN: Final = Plain("run")


def needs_older(said: str) -> bool:
    return _SIGNS.search(said) is not None


def repinned(launch: Stdio) -> Stdio | None:
    """The same launch with the older library; None where its launcher cannot be told so."""
    match launch.command.rpartition("/")[2]:
        case "uvx":
            return replace(launch, arguments=(*_WITH, *launch.arguments))
        case "uv" if _RUN in launch.arguments:
            return replace(launch, arguments=_after_run(launch.arguments))
        case "pipx" if launch.arguments[:1] == (_RUN,):
            return replace(launch, command="uvx", arguments=(*_WITH, *launch.arguments[1:]))
        case _:
            return None


def installing_older(launch: Stdio) -> str:
    """The command that installs it where such a server finds it."""
    python = "python" in launch.command.rpartition("/")[2]
    pip = f"{shlex.quote(launch.command)} -m pip" if python else "pip"
    return f"{pip} install '{OLDER}'"


def _after_run(arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    place = arguments.index(_RUN) + 1
    return (*arguments[:place], *_WITH, *arguments[place:])
