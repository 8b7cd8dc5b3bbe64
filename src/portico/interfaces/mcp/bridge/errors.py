"""What only this door refuses.

PorticoError
├── NoSuchResource   no address of the bridge's
├── NotFollowed      a resource whose changes nobody is told of
├── NoSuchTool       none of the bridge's
└── TooLargeToTell   a file that no model would want to read
"""

from collections.abc import Mapping
from typing import Final

from portico.guard.core.errors import PrincipalNotFound
from portico.kernel.errors import Kind, PorticoError

_FIXES: Final[Mapping[str, str]] = {
    PrincipalNotFound.code: "`conversations` with `conversation` shows who takes part in it, and"
    " `projects` with `project` who is there.",
}
"""Where an error's own words are for a person with a command line."""


def for_a_model(error: PorticoError) -> PorticoError:
    """The same, mended with what there is at this door."""
    error.fix = _FIXES.get(error.code, error.fix)
    return error


class NoSuchResource(PorticoError):
    kind = Kind.NOT_FOUND
    code = "no_such_resource"
    title = "There is no such resource"
    fix = "List the templates of resources: they say how addresses are written here."

    def __init__(self, uri: str) -> None:
        super().__init__(f"Nothing on the bridge has the address {uri[:200]!r}.")


class NotFollowed(PorticoError):
    kind = Kind.INVALID
    code = "not_followed"
    title = "Nobody is told of its changes"
    fix = "Subscribe to a conversation, portico://conversations/ID, and read the rest again."

    def __init__(self, uri: str) -> None:
        super().__init__(f"{uri[:200]!r} cannot be subscribed to.")


class NoSuchTool(PorticoError):
    kind = Kind.NOT_FOUND
    code = "no_such_bridge_tool"
    title = "The bridge has no such tool"
    fix = "List the tools of this door; those of the gateway are at /mcp."

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no tool {name[:80]!r} here.")


class TooLargeToTell(PorticoError):
    kind = Kind.EXHAUSTED
    code = "too_large_to_tell"
    title = "Too large to be told over MCP"

    def __init__(self, digest: str, size: int) -> None:
        super().__init__(
            f"The attachment {digest} has {size:,} bytes.",
            fix=f"Fetch it over REST: GET /api/v1/attachments/{digest}.",
        )
