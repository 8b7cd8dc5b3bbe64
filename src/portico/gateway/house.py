"""The house itself, where nobody else is the one who acts: it looks at servers and at files."""

from typing import Final
from uuid import UUID

from portico.guard.core.principals import Scope
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal, PrincipalKind

_SCOPES: Final = frozenset({Scope.SERVERS_READ, Scope.SERVERS_WRITE})
"""It never approves anything."""


_ITSELF: Final = PrincipalId(UUID(int=0))


def is_house(principal: PrincipalId) -> bool:
    return principal == _ITSELF


def house(space: SpaceId, login: PrincipalId | None = None) -> Principal:
    """With somebody's login, where a server answers nobody else."""
    return Principal(
        id=login or _ITSELF,
        space=space,
        kind=PrincipalKind.WORKER,
        name="portico",
        scopes=_SCOPES,
    )
