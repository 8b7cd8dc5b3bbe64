"""What would be decided about a call, for whoever may make it; nothing is called."""

from dataclasses import dataclass

from portico.gateway.check_arguments import CheckArguments
from portico.gateway.core.errors import BadArguments
from portico.guard.core.access_request import Act, Aim, Decision
from portico.guard.policy import Decide
from portico.guard.ports import Aims
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    aim: Aim
    decision: Decision
    flaws: tuple[str, ...] = ()
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
        none of what is limited. Raises `BadToolRef`, `ToolNotFound`, `ContextNotFound`."""
        aim = await self.aims.of(caller, tool)
        decision = await self.decide(Act(caller=caller, aim=aim, arguments=arguments or {}))
        return Weighed(aim=aim, decision=decision, flaws=await self._flaws(caller, aim, arguments))

    async def _flaws(
        self, caller: Principal, aim: Aim, arguments: JsonObject | None
    ) -> tuple[str, ...]:
        """What nobody has approved yet has no form that anybody could rely on."""
        if arguments is None or not aim.live:
            return ()
        try:
            await self.check(caller, aim.tool, arguments)
        except BadArguments as error:
            return tuple(f"{flaw.field or 'arguments'}: {flaw.message}" for flaw in error.flaws)
        return ()
