"""Where something is on the server: the one place in which what was typed becomes a path."""

from typing import Final
from urllib.parse import quote

from portico.interfaces.cli.errors import BadUsage

_ELSEWHERE: Final = frozenset({".", ".."})


def path_to(*parts: str) -> str:
    """`/servers/docs/logs`; each part is one step, whatever letters it has.

    Raises `BadUsage` for what would lead elsewhere.
    """
    return "".join(f"/{_step(part)}" for part in parts)


def _step(part: str) -> str:
    if not part:
        raise BadUsage("A name is empty.", fix="Say which one is meant.")
    if part in _ELSEWHERE or "/" in part:
        raise BadUsage(f"{part!r} is nobody's name.", fix="Names have no /, and are not . or ..")
    return quote(part, safe="")
