"""What a server in a box finds in its environment."""

from collections.abc import Mapping, Sequence
from typing import Final

from portico.sandbox.core.profile import Network, Profile

_PLACES: Final = ("HOME", "LOGNAME", "SHELL", "TMPDIR", "USER")
"""Of whoever Portico runs as: in the box these are others."""
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_RUNNERS: Final = frozenset({"npx", "npm", "pnpm", "bunx", "uv", "uvx", "pipx"})
_OFFLINE: Final[Mapping[str, str]] = {"npm_config_offline": "true", "UV_OFFLINE": "1"}
"""So that what fetches programs makes do with what it has fetched before."""


def fitted(
    environment: Mapping[str, str],
    declared: Mapping[str, str],
    *,
    program: str,
    profile: Profile,
    searched: Sequence[str],
) -> dict[str, str]:
    """`declared` is what its launch says, which is left as it is."""
    kept = {name: text for name, text in environment.items() if not _of_ours(name)}
    path = ":".join(filter(None, [environment.get("PATH", ""), *searched]))
    runs = program.rpartition("/")[2] in _RUNNERS and profile.network is Network.NONE
    return {
        **kept,
        **({"PATH": path} if path else {}),
        **(_OFFLINE if runs else {}),
        **declared,
        **_both_ways(declared),
    }


def _of_ours(name: str) -> bool:
    return name in _PLACES or name.startswith("XDG_")


def _both_ways(declared: Mapping[str, str]) -> Mapping[str, str]:
    """A proxy that a launch declares, as all programs look for it: else some of them would take
    the box's own."""
    found: dict[str, str] = {}
    for name in _PROXIES:
        text = declared.get(name.lower(), declared.get(name))
        if text is not None:
            found |= {name: text, name.lower(): text}
    return found
