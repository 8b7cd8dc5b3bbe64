"""What the tools of all servers would cost a model, and what it is shown instead."""

from collections.abc import Mapping
from dataclasses import dataclass

from portico.gateway.core.surface import fixed_tools, search_description
from portico.gateway.ports import Servers, Tools
from portico.gateway.show_surface import OF_THE_SEARCH
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.json import canonical
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWeight:
    servers: int
    tools: int
    before: Tokens
    """Every tool listed by its own server."""
    after: Tokens
    """The door's own tools, for somebody who has used none yet."""
    tokenizer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighContext:
    servers: Servers
    tools: Tools
    tokenizer: Tokenizer

    async def __call__(self, caller: Principal) -> ContextWeight:
        """Of the servers that are in use. Raises `NotPermitted`."""
        permit(caller, Scope.SERVERS_READ)
        tallies = await self.tools.tally(caller)
        in_use = [each for each in await self.servers.all(caller) if each.may_start]
        counted = {each.name: tallies[each.id] for each in in_use if each.id in tallies}
        live = {each.name: tallies[each.id].agreed for each in in_use if each.approved}
        return ContextWeight(
            servers=len(counted),
            tools=sum(each.there for each in counted.values()),
            before=Tokens(sum(each.tokens for each in counted.values())),
            after=self._surface(live),
            tokenizer=self.tokenizer.name,
        )

    def _surface(self, live: Mapping[str, int]) -> Tokens:
        most_first = dict(sorted(live.items(), key=lambda each: (-each[1], each[0])))
        told = search_description(
            {name: count for name, count in most_first.items() if count},
            lambda text: self.tokenizer.count(text) <= OF_THE_SEARCH,
        )
        listed = [canonical(tool).decode() for tool in fixed_tools(told)]
        return Tokens(sum(map(self.tokenizer.count, listed)))
