"""Look again, before a prefetch is used, whether everything is still so."""

from dataclasses import dataclass

from portico.gateway.calls import act_on
from portico.gateway.catalog import Catalogs
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.kernel.errors import PorticoError
from portico.learning.core.prefetch import WasteReason
from portico.learning.core.prefetch_cache import BufferedCall
from portico.learning.core.prefetch_gates import switched_on
from portico.learning.prefetch_ports import Elsewhere, SwitchesAtHand

# Whether what was decided about a call ahead of time is still so: looked at before it is asked,
# when it is answered, and before it is served.


@dataclass(frozen=True, slots=True, kw_only=True)
class StillSo:
    catalogues: Catalogs
    switches: SwitchesAtHand
    elsewhere: Elsewhere

    async def on(self, held: BufferedCall) -> bool:
        """By all the switches."""
        switches = await self.switches.current(held.access_request.caller)
        return switched_on(switches, held.server, held.access_request)

    async def aim(self, act: AccessRequest) -> ActionTarget | None:
        """What it is aimed at by now, if at anything."""
        shelf = await self.catalogues.current(act.caller)
        try:
            return act_on(act.caller, shelf, ToolRef.parse(act.target.tool), act.arguments).target
        except PorticoError:
            return None

    async def untrue(self, act: AccessRequest, held: BufferedCall) -> WasteReason | None:
        """Why it is no answer to this, if it is none. Whoever cannot be asked has not said yes."""
        if held.answer is None or held.begun_at is None or act.target != held.access_request.target:
            return WasteReason.CHANGED
        try:
            if not await self.on(held):
                return WasteReason.SWITCHED
            changed = await self.elsewhere.changed_since(act, held.begun_at)
        except PorticoError:
            return WasteReason.CHANGED
        return WasteReason.CHANGED if changed else None
