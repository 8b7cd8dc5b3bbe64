"""Who there is in a space, as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from portico.guard.core.principals import Identity, Role, Scope
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind

ROLES: Final[Mapping[str, str]] = {
    Role.VIEWER: "looks, and calls what only reads",
    Role.MEMBER: "works: calls tools, runs agents, talks",
    Role.OPERATOR: "looks after servers, runs and keys, and answers requests",
    Role.ADMIN: "everything, with people, policy and secrets",
}
KINDS: Final[Mapping[PrincipalKind, str]] = {
    PrincipalKind.PERSON: "person",
    PrincipalKind.AGENT: "agent",
    PrincipalKind.WORKER: "worker",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonLine:
    id: str
    name: str
    kind: str
    roles: tuple[str, ...]
    role: str
    """The first, for the form."""
    clearance: Label
    level: str
    compartments: str
    tools: tuple[str, ...] | None
    since: datetime
    disabled_at: datetime | None
    here: bool
    may_change: bool
    may_invite: bool


def person_line(identity: Identity, caller: Principal) -> PersonLine:
    roles = tuple(str(role) for role in Role if role in identity.roles)
    here = identity.id == caller.id
    may = caller.may(Scope.PRINCIPALS_WRITE) and not here
    person = identity.kind is PrincipalKind.PERSON
    return PersonLine(
        id=str(identity.id),
        name=identity.name,
        kind=KINDS[identity.kind],
        roles=roles,
        role=roles[-1] if roles else str(Role.MEMBER),
        clearance=identity.clearance,
        level=str(identity.clearance.level),
        compartments=", ".join(sorted(identity.clearance.compartments)),
        tools=identity.tools,
        since=identity.created_at,
        disabled_at=identity.disabled_at,
        here=here,
        may_change=may,
        may_invite=may and person and identity.disabled_at is None,
    )
