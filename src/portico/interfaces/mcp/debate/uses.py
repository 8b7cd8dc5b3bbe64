"""What the door of debates over MCP can call, as the composition root hands it over."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from portico.guard.authentication import Entry
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal

if TYPE_CHECKING:  # what voices are asked with loads late
    from portico.interfaces.http.debate_use_cases import DebateUseCases


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateUses:
    authenticate: Callable[[str], Awaitable[Entry]]
    enter_context: Callable[[Principal, ContextId], Awaitable[Principal]]
    debates: "DebateUseCases"
    version: str
