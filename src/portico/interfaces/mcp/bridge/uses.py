"""What the bridge's door over MCP can call, as the composition root hands it over."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from portico.guard.authentication import Entry
from portico.kernel.clock import Clock
from portico.kernel.ids import ContextId
from portico.kernel.principal import Principal

if TYPE_CHECKING:  # what searches by meaning loads late
    from portico.interfaces.http.bridge_use_cases import BridgeUseCases


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeUses:
    authenticate: Callable[[str], Awaitable[Entry]]
    enter_context: Callable[[Principal, ContextId], Awaitable[Principal]]
    bridge: "BridgeUseCases"
    clock: Clock
    version: str
