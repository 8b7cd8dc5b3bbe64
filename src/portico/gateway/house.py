"""The house itself, where nobody else is the one who acts: it looks at servers and at files."""

from typing import Final
from uuid import UUID

from portico.guard.core.roles import Scope
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.principal import Principal, PrincipalKind

_SCOPES: Final = frozenset({Scope.SERVERS_READ, Scope.SERVERS_WRITE})
"""It never approves anything."""


def house(space: SpaceId) -> Principal:
    return Principal(
        id=PrincipalId(UUID(int=0)),
        space=space,
        kind=PrincipalKind.WORKER,
        name="portico",
        scopes=_SCOPES,
    )
