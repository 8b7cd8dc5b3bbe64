"""A principal as the store knows it: who there is, with what roles and what clearance."""

from dataclasses import dataclass, field
from datetime import datetime

from portico.guard.core.roles import Role, Scope, scopes_of
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import PrincipalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    id: PrincipalId
    space: SpaceId
    kind: PrincipalKind
    name: str
    roles: frozenset[Role]
    grants: frozenset[Scope] = field(default_factory=frozenset)
    clearance: Label
    created_at: datetime
    disabled_at: datetime | None = None

    @property
    def scopes(self) -> frozenset[Scope]:
        return scopes_of(self.roles, self.grants)
