"""What is known of a tool before a program calls it: no decision, the guard takes that later."""

from dataclasses import dataclass

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.tool import ToolRef
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Ahead:
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAhead:
    catalogues: Catalogues

    async def __call__(self, caller: Principal, ref: ToolRef) -> Ahead | None:
        """None of what is not there, for this caller: whoever calls it is told so."""
        shelf = await self.catalogues.current(caller)
        try:
            return Ahead(shelf.find(ref).effect)
        except PorticoError:
            return None
