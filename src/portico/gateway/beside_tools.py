"""The way to what a server has beside its tools: past the guard, recorded, and taken in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from portico.gateway.catalogue import Catalogues
from portico.gateway.core.aim import aim_beside
from portico.gateway.core.call import CallOutcome
from portico.gateway.core.errors import ToolQuarantined
from portico.gateway.core.server import Server
from portico.gateway.core.tool import ToolRef
from portico.gateway.core.upstream import Target
from portico.gateway.record_call import RecordCall
from portico.guard.core.access_request import Act, Action, NeedsApproval
from portico.guard.core.errors import Refused
from portico.guard.core.principals import Scope
from portico.guard.policy_gate import Gate
from portico.guard.principals import permit
from portico.kernel.json import JsonObject, canonical
from portico.kernel.principal import Principal

NAMES = {
    Action.READ_RESOURCE: "~resource",
    Action.GET_PROMPT: "~prompt",
    Action.COMPLETE: "~completion",
}
"""What rules and lists of tools call them, behind the name of their server: with a mark that no
name of a tool can have, so that no rule about the one is about the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    action: Action
    arguments: JsonObject
    make: Callable[[Target], Awaitable[JsonObject]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideTools:
    catalogues: Catalogues
    gate: Gate
    record: RecordCall
    timeout: timedelta

    async def server(self, caller: Principal, name: str, action: Action) -> Server:
        """Raises `NotPermitted`, `ServerNotFound`, `ServerDisabled`, `ServerNotApproved`."""
        with self.gate.in_front(caller, action, str(ToolRef(name, NAMES[action]))):
            permit(caller, Scope.TOOLS_CALL)
            return (await self.catalogues.current(caller)).server(name)

    async def __call__(self, caller: Principal, server: Server, asked: Asked) -> JsonObject:
        """Nobody is asked to approve one of these: what would need it is refused. Raises
        `Refused`, `LimitReached`, and as a call does."""
        aim = aim_beside(server, NAMES[asked.action])
        act = Act(caller=caller, action=asked.action, aim=aim, arguments=asked.arguments)
        decision = await self.gate(act)
        if isinstance(decision, NeedsApproval):
            raise Refused(aim.tool, decision.rule, decision.reason, who=caller.name, key=caller.key)
        await self.gate.take_in(caller, aim)
        call = await self.record.begin(act, self.timeout)
        return await self.record.end(act, call, self._made(act, asked), _told)

    async def _made(self, act: Act, asked: Asked) -> JsonObject:
        """Of the server as it was decided about, and as it is now."""
        now = await self.server(act.caller, act.aim.server, asked.action)
        if aim_beside(now, NAMES[asked.action]) != act.aim:
            raise ToolQuarantined(act.aim.tool, now.name)
        links = act.caller.may(Scope.TOOLS_WRITE)
        return await asked.make(Target.of(act.caller.space, now, act.caller.id, links=links))


def _told(answer: JsonObject) -> tuple[CallOutcome, int]:
    return CallOutcome.DONE, len(canonical(answer))
