"""Decide by the rules in force, and explain a decision."""

from dataclasses import dataclass
from typing import Final

from portico.guard.core.access_request import AccessRequest, Allowed, Decision, TaintContext
from portico.guard.core.authentication import as_principal, principal_of
from portico.guard.core.errors import PrincipalNotFound
from portico.guard.core.keys import KeyHolder
from portico.guard.core.policy import Explanation, decide, explain, worst_task
from portico.guard.core.principals import Scope
from portico.guard.core.rules import in_any_task
from portico.guard.ports import Aims, Contexts, Keys, Principals, Rules
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    rules: Rules
    contexts: Contexts
    clock: Clock

    async def __call__(self, act: AccessRequest) -> Decision:
        """Raises `ContextNotFound`.

        What would be allowed to the worst task that the caller's key can have, is allowed: then
        there is no need to look at which it is. A task that the caller names is always looked at:
        it may be somebody else's, or have read through another key what this one cannot.
        """
        caller, now = act.caller, self.clock.now()
        rules = await self.rules.all(caller)
        if caller.context is None and caller.reach is not None:
            worst = decide(act, worst_task(caller.reach), in_any_task(rules), now)
            if isinstance(worst, Allowed):
                return worst
        return decide(act, await self.contexts.get(caller), rules, now)

    async def in_task(self, act: AccessRequest, task: TaintContext) -> Decision:
        """As it would be decided if the caller's task had taken this in already."""
        return decide(act, task, await self.rules.all(act.caller), self.clock.now())


# Tell somebody what would be decided, why, and what would change it; nothing is done.

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
        require_scope(caller, Scope.POLICY_READ)
        whom = await self._principal(caller, who)
        act = AccessRequest(caller=whom, target=await self.aims.of(caller, tool))
        rules = await self.rules.all(caller)
        return explain(act, await self.contexts.get(whom), rules, self.clock.now())

    async def _principal(self, caller: Principal, who: str) -> Principal:
        if who in (caller.name, str(caller.id), f"key:{caller.key}"):
            return caller
        require_scope(caller, Scope.PRINCIPALS_READ)
        if who.startswith("key:"):
            require_scope(caller, Scope.KEYS_READ)
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
