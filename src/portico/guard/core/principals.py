"""Principals, roles and scopes."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from portico.guard.core.errors import Overreach
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind


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
    """What only reads; with `tools:write` also what changes something."""
    TOOLS_WRITE = "tools:write"
    WORKFLOWS_WRITE = "workflows:write"
    AGENTS_READ = "agents:read"
    AGENTS_WRITE = "agents:write"
    AGENTS_RUN = "agents:run"
    TRACES_READ = "traces:read"
    """Of the runs of agents that others started; one's own need no scope."""
    MODELS_READ = "models:read"
    BRIDGE_READ = "bridge:read"
    BRIDGE_WRITE = "bridge:write"
    BRIDGE_MANAGE = "bridge:manage"
    """What others have made on the bridge: put it away, take it out."""
    BRIDGE_DECLASSIFY = "bridge:declassify"
    """To say yes to what somebody else wants made less secret; to ask takes `bridge:write`."""
    DEBATES_READ = "debates:read"
    DEBATES_RUN = "debates:run"
    """To start debates, which spends; and what is done with one's own."""
    DEBATES_JOIN = "debates:join"
    """To take a seat in the debates of others, and to answer there."""
    DEBATES_MANAGE = "debates:manage"
    """What the debates of a project may spend."""
    CALLS_READ = "calls:read"
    CONTEXTS_OPEN = "contexts:open"
    POLICY_READ = "policy:read"
    POLICY_WRITE = "policy:write"
    APPROVALS_READ = "approvals:read"
    APPROVALS_ANSWER = "approvals:answer"
    AUDIT_READ = "audit:read"
    SECRETS_READ = "secrets:read"
    SECRETS_WRITE = "secrets:write"
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
        Scope.TOOLS_CALL,
        Scope.AGENTS_READ,
        Scope.MODELS_READ,
        Scope.BRIDGE_READ,
        Scope.DEBATES_READ,
    }
)
_MEMBER: Final = _VIEWER | {
    Scope.PRINCIPALS_READ,
    Scope.KEYS_OWN,
    Scope.RUNS_WRITE,
    Scope.TOOLS_WRITE,
    Scope.AGENTS_WRITE,
    Scope.AGENTS_RUN,
    Scope.BRIDGE_WRITE,
    Scope.DEBATES_RUN,
    Scope.DEBATES_JOIN,
    Scope.CONTEXTS_OPEN,
    Scope.POLICY_READ,
    Scope.APPROVALS_READ,
}
_OPERATOR: Final = _MEMBER | {
    Scope.RUNS_CONTROL,
    Scope.KEYS_READ,
    Scope.KEYS_WRITE,
    Scope.SERVERS_WRITE,
    Scope.SERVERS_APPROVE,
    Scope.WORKFLOWS_WRITE,
    Scope.TRACES_READ,
    Scope.BRIDGE_MANAGE,
    Scope.BRIDGE_DECLASSIFY,
    Scope.DEBATES_MANAGE,
    Scope.CALLS_READ,
    Scope.APPROVALS_ANSWER,
    Scope.SECRETS_READ,
}
_ADMIN: Final = _OPERATOR | {
    Scope.SPACE_WRITE,
    Scope.SPACE_EXPORT,
    Scope.SPACE_DELETE,
    Scope.PRINCIPALS_WRITE,
    Scope.COMPARTMENTS_GRANT,
    Scope.POLICY_WRITE,
    Scope.AUDIT_READ,
    Scope.SECRETS_WRITE,
}

SCOPES_OF: Final[Mapping[Role, AbstractSet[Scope]]] = MappingProxyType(
    {
        Role.VIEWER: _VIEWER,
        Role.MEMBER: _MEMBER,
        Role.OPERATOR: _OPERATOR,
        Role.ADMIN: _ADMIN,
    }
)

NEVER_OF_PROGRAMS: Final = frozenset(
    {Scope.KEYS_OWN, Scope.CONTEXTS_OPEN, Scope.AGENTS_WRITE, Scope.BRIDGE_DECLASSIFY}
)
"""A program's task is its key, and either of the first two would let it forget what it read. The
third says what the agents of others are told to do, in their name; the fourth, what more people
may read than may read it now."""

FOR_AGENTS: Final[frozenset[Scope]] = _MEMBER - NEVER_OF_PROGRAMS
"""The most that a key of a program may bring. It answers no requests, its own least of all; and as
its task is its key, another key or another task would forget what it has read. It may start an
agent: that has no more than whoever starts it, and has read what they have."""

MOST_OF_AGENTS: Final[frozenset[Scope]] = FOR_AGENTS | {
    Scope.KEYS_READ,
    Scope.CALLS_READ,
    Scope.SECRETS_READ,
    Scope.AUDIT_READ,
    Scope.METRICS_READ,
}
"""The most that an agent has, whatever its roles: it may look at what is run here, and change none
of what holds it. Keys, principals, rules, answers, secrets and the space are for people. So is
`servers:write`, which says where things are sent, and with which secrets; `workflows:write`, which
lets a tool in for everybody; and `runs:control`, by which one speaks for whoever started a run.
Whatever is not named here, it has not."""

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
