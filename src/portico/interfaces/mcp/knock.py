"""Who came, and to which of the doors: the gateway's own, or one server's behind it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from portico.guard.authentication import Entry
from portico.interfaces.mcp.errors import NoSuchDoor
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal

PATH: Final = "/mcp"
_ONE_SERVER: Final = f"{PATH}/servers/"
_KNOCK: Final = "portico.knock"


@dataclass(frozen=True, slots=True)
class Knock:
    entry: Entry
    server: str | None
    """The one server whose own tools are wanted; None for the gateway."""
    again: Callable[[], Awaitable[Entry]]
    """Who the same key makes of its bearer by now. Raises `NotAuthenticated`."""

    @property
    def caller(self) -> Principal:
        return self.entry.principal

    @property
    def owner(self) -> tuple[str, str | None, ContextId | None]:
        """What lasts longer than a request belongs to this: another key of the same principal
        may see less, another door shows something else, and another task has read less."""
        return self.entry.key_id, self.server, self.caller.context


def door_of(path: str) -> str | None:
    """The name of the server, None for the gateway. Raises `NoSuchDoor` for neither."""
    if path == PATH:
        return None
    name = path.removeprefix(_ONE_SERVER)
    if name == path or not name or "/" in name:
        raise NoSuchDoor
    return name


def put_knock(scope: Scope, knock: Knock) -> None:
    scope[_KNOCK] = knock


def knock_of(scope: Scope) -> Knock:
    found: Knock = scope[_KNOCK]
    return found
