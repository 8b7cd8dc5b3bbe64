"""What policy is asked about a call."""

from dataclasses import dataclass, replace

from portico.gateway.calls import CheckArguments
from portico.gateway.catalog import Catalogs
from portico.gateway.catalog_snapshot import CatalogSnapshot
from portico.gateway.core.calls import aim_at, aim_beside
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.gateway.core.errors import InvalidArguments
from portico.gateway.resources_and_prompts import NAMES
from portico.guard.core.access_request import AccessRequest, ActionTarget, Decision
from portico.guard.policy import Decide
from portico.guard.ports import Aims
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAims:
    catalogues: Catalogs

    async def of(self, caller: Principal, tool: str) -> ActionTarget:
        """Of one that waits for approval too. Raises `InvalidToolRef`, `ToolNotFound`."""
        shelf, ref = await self.catalogues.current(caller), ToolRef.parse(tool)
        return _waiting(shelf, ref) or _beside(shelf, ref) or _live(shelf, ref)


def _live(shelf: CatalogSnapshot, ref: ToolRef) -> ActionTarget:
    tool = shelf.find(ref)
    return aim_at(shelf.servers[ref.server], ref, tool.effect, tool.pin)


def _waiting(shelf: CatalogSnapshot, ref: ToolRef) -> ActionTarget | None:
    if ref not in shelf.waiting:
        return None
    _, tool = shelf.waiting[ref]
    aim = aim_at(shelf.servers[ref.server], ref, Effect.UNKNOWN, tool.pin)
    return replace(aim, live=False)


def _beside(shelf: CatalogSnapshot, ref: ToolRef) -> ActionTarget | None:
    server = shelf.servers.get(ref.server)
    if server is None or ref.name not in NAMES.values():
        return None
    return aim_beside(server, ref.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    target: ActionTarget
    decision: Decision
    field_errors: tuple[str, ...] = ()
    """Of the arguments, where they do not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighCall:
    aims: Aims
    check: CheckArguments
    decide: Decide

    async def __call__(
        self, caller: Principal, tool: str, arguments: JsonObject | None = None
    ) -> Weighed:
        """As the gate would decide now, in the caller's task; it is not written down, and takes
        none of what is limited. Raises `InvalidToolRef`, `ToolNotFound`, `ContextNotFound`."""
        aim = await self.aims.of(caller, tool)
        decision = await self.decide(
            AccessRequest(caller=caller, target=aim, arguments=arguments or {})
        )
        return Weighed(
            target=aim, decision=decision, field_errors=await self._flaws(caller, aim, arguments)
        )

    async def _flaws(
        self, caller: Principal, aim: ActionTarget, arguments: JsonObject | None
    ) -> tuple[str, ...]:
        """What nobody has approved yet has no form that anybody could rely on."""
        if arguments is None or not aim.live:
            return ()
        try:
            await self.check(caller, aim.tool, arguments)
        except InvalidArguments as error:
            return tuple(
                f"{flaw.field or 'arguments'}: {flaw.message}" for flaw in error.field_errors
            )
        return ()
