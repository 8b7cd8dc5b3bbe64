"""Tell somebody what would be decided, why, and what would change it; nothing is done."""

from dataclasses import dataclass
from typing import Final

from portico.guard.core.act import Act
from portico.guard.core.api_key import KeyHolder
from portico.guard.core.authentication import as_principal, principal_of
from portico.guard.core.errors import PrincipalNotFound
from portico.guard.core.explanation import Explanation, explain
from portico.guard.core.roles import Scope
from portico.guard.permit import permit
from portico.guard.ports import Aims, Contexts, Keys, Principals, Rules
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal

_PAGE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainPolicy:
    principals: Principals
    keys: Keys
    rules: Rules
    contexts: Contexts
    aims: Aims
    clock: Clock

    async def __call__(self, caller: Principal, who: str, tool: str) -> Explanation:
        """`who` is a name, an id or `key:ID`: a key has a list and a task of its own, and with
        one of these what it can do is told exactly.

        Raises `NotPermitted`, `PrincipalNotFound`, `KeyNotFound`, and what says that there is no
        such tool.
        """
        permit(caller, Scope.POLICY_READ)
        whom = await self._principal(caller, who)
        act = Act(caller=whom, aim=await self.aims.of(caller, tool))
        rules = await self.rules.all(caller)
        return explain(act, await self.contexts.get(whom), rules, self.clock.now())

    async def _principal(self, caller: Principal, who: str) -> Principal:
        if who in (caller.name, str(caller.id), f"key:{caller.key}"):
            return caller
        permit(caller, Scope.PRINCIPALS_READ)
        if who.startswith("key:"):
            permit(caller, Scope.KEYS_READ)
            key = await self.keys.get(caller, who.removeprefix("key:"))
            identity = await self.principals.get(caller, key.principal)
            return principal_of(KeyHolder(key, b"", identity))
        return await self._named(caller, who)

    async def _named(self, caller: Principal, who: str) -> Principal:
        after = None
        while found := await self.principals.page(caller, after=after, limit=_PAGE):
            for identity in found:
                if who in (identity.name, str(identity.id)) and identity.known_to(caller):
                    return as_principal(identity)
            after = found[-1].id
        raise PrincipalNotFound(who)
