"""Roles, the scopes they bring, and who may hand them on."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from portico.guard.core.errors import Overreach
from portico.kernel.label import Label
from portico.kernel.principal import Principal


class Scope(StrEnum):
    """What a key may be asked to prove, one a group of routes."""

    STATUS_READ = "status:read"
    METRICS_READ = "metrics:read"
    SPACE_READ = "space:read"
    SPACE_WRITE = "space:write"
    SPACE_EXPORT = "space:export"
    SPACE_DELETE = "space:delete"
    SPACES_CREATE = "spaces:create"
    PRINCIPALS_READ = "principals:read"
    PRINCIPALS_WRITE = "principals:write"
    COMPARTMENTS_GRANT = "compartments:grant"
    KEYS_OWN = "keys:own"
    KEYS_READ = "keys:read"
    KEYS_WRITE = "keys:write"
    EVENTS_READ = "events:read"
    RUNS_READ = "runs:read"
    RUNS_WRITE = "runs:write"
    RUNS_CONTROL = "runs:control"
    SERVERS_READ = "servers:read"
    SERVERS_WRITE = "servers:write"
    SERVERS_APPROVE = "servers:approve"
    TOOLS_READ = "tools:read"
    TOOLS_CALL = "tools:call"
    CALLS_READ = "calls:read"
    INVITATION_ACCEPT = "invitation:accept"


class Role(StrEnum):
    VIEWER = "viewer"
    MEMBER = "member"
    OPERATOR = "operator"
    ADMIN = "admin"


_VIEWER: Final = frozenset(
    {
        Scope.STATUS_READ,
        Scope.SPACE_READ,
        Scope.EVENTS_READ,
        Scope.RUNS_READ,
        Scope.SERVERS_READ,
        Scope.TOOLS_READ,
    }
)
_MEMBER: Final = _VIEWER | {
    Scope.PRINCIPALS_READ,
    Scope.KEYS_OWN,
    Scope.RUNS_WRITE,
    Scope.TOOLS_CALL,
}
_OPERATOR: Final = _MEMBER | {
    Scope.RUNS_CONTROL,
    Scope.KEYS_READ,
    Scope.KEYS_WRITE,
    Scope.SERVERS_WRITE,
    Scope.SERVERS_APPROVE,
    Scope.CALLS_READ,
}
_ADMIN: Final = _OPERATOR | {
    Scope.SPACE_WRITE,
    Scope.SPACE_EXPORT,
    Scope.SPACE_DELETE,
    Scope.PRINCIPALS_WRITE,
    Scope.COMPARTMENTS_GRANT,
}

SCOPES_OF: Final[Mapping[Role, AbstractSet[Scope]]] = MappingProxyType(
    {
        Role.VIEWER: _VIEWER,
        Role.MEMBER: _MEMBER,
        Role.OPERATOR: _OPERATOR,
        Role.ADMIN: _ADMIN,
    }
)

OF_THE_INSTALLATION: Final = frozenset({Scope.SPACES_CREATE, Scope.METRICS_READ})
"""What reaches beyond one space: granted to the first admin, and brought by no role."""


def scopes_of(roles: Iterable[Role], grants: Iterable[Scope] = ()) -> frozenset[Scope]:
    return frozenset(grants).union(*(SCOPES_OF[role] for role in roles))


def check_reach(giver: Principal, scopes: AbstractSet[str], clearance: Label) -> None:
    """Nobody gives, or takes over, more than they have. Raises `Overreach`.

    Compartments are the exception: somebody has to let the first one into each, and that is an
    admin, who need not be in it.
    """
    if beyond := sorted(scopes - giver.scopes):
        raise Overreach(f"the scopes {', '.join(beyond)}")
    if clearance.level > giver.clearance.level:
        raise Overreach(f"the clearance {clearance.level}")
    unknown = sorted(clearance.compartments - giver.clearance.compartments)
    if unknown and not giver.may(Scope.COMPARTMENTS_GRANT):
        raise Overreach(f"the compartments {', '.join(unknown)}")
