"""A principal as the store knows it: who there is, with what roles and what clearance."""

from dataclasses import dataclass, field
from datetime import datetime

from portico.guard.core.roles import MOST_OF_AGENTS, Role, Scope, scopes_of
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    id: PrincipalId
    space: SpaceId
    kind: PrincipalKind
    name: str
    roles: frozenset[Role]
    grants: frozenset[Scope] = field(default_factory=frozenset)
    clearance: Label
    tools: tuple[str, ...] | None = None
    """The only tools that it may use, with wildcards; None is all of them."""
    created_at: datetime
    disabled_at: datetime | None = None

    @property
    def scopes(self) -> frozenset[Scope]:
        brought = scopes_of(self.roles, self.grants)
        return brought & MOST_OF_AGENTS if self.kind is PrincipalKind.AGENT else brought

    def known_to(self, caller: Principal) -> bool:
        """People are known to everybody; an agent to those who are cleared for all that it may
        read, and to itself."""
        secret = self.kind is PrincipalKind.AGENT and self.id != caller.id
        return not secret or caller.clearance.covers(self.clearance)
