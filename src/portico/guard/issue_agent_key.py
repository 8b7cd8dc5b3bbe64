"""Make a key for a program that acts for somebody, and is not that somebody."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from portico.guard.core.errors import Overreach
from portico.guard.core.roles import FOR_AGENTS, Role, Scope
from portico.guard.issue_key import IssuedKey, IssueKey, KeyWish
from portico.guard.manage_principals import AddPrincipal, PrincipalWish
from portico.guard.ports import Together
from portico.kernel.label import Label, Level, meet
from portico.kernel.principal import Principal, PrincipalKind

TEAM: Final = Label(Level.TEAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueAgentKey:
    add_principal: AddPrincipal
    issue_key: IssueKey
    together: Together

    async def __call__(self, caller: Principal, wish: KeyWish) -> IssuedKey:
        """Whoever may add principals gets a new agent of that name, whose requests they may
        answer; for everybody else the program acts in their own name, with less than they have.

        Raises `NotPermitted`, `Overreach`, `NameTaken`.
        """
        if not caller.may(Scope.PRINCIPALS_WRITE):
            return await self.issue_key(caller, for_agents(wish, caller.scopes))
        agent = PrincipalWish(
            kind=PrincipalKind.AGENT,
            name=wish.name,
            roles=frozenset({Role.MEMBER}),
            clearance=wish.clearance or meet(TEAM, caller.clearance),
            tools=wish.tools,
        )
        async with self.together(caller):
            made = await self.add_principal(caller, agent)
            wish = replace(wish, principal=made.id)
            return await self.issue_key(caller, for_agents(wish, made.scopes))


def for_agents(wish: KeyWish, held: AbstractSet[str]) -> KeyWish:
    """Of what its holder has, at most what an agent's key may have. Raises `Overreach`."""
    if wish.scopes is None:
        return replace(wish, scopes=frozenset(FOR_AGENTS & held))
    if beyond := sorted(wish.scopes - FOR_AGENTS):
        raise Overreach(f"the scopes {', '.join(beyond)} to an agent")
    return wish
