"""Keys as a table: whose they are, what each opens, and until when."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.guard.core.keys import StoredKey
from portico.guard.core.principals import FOR_AGENTS, Scope
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_SOON: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLine:
    id: str
    name: str
    who: str
    clearance: Label
    scopes: tuple[str, ...] | None
    """None: all that its principal may."""
    tools: tuple[str, ...] | None
    created_at: datetime
    used_at: datetime | None
    ends_at: datetime | None
    state: str
    tone: str
    may_rotate: bool
    may_revoke: bool


@dataclass(frozen=True, slots=True)
class ScopeChoice:
    name: str
    for_agents: bool


def key_line(
    key: StoredKey, caller: Principal, names: Mapping[PrincipalId, str], now: datetime
) -> KeyLine:
    state, tone = _state(key, now)
    own = key.principal == caller.id
    may = caller.may(Scope.KEYS_OWN) if own else caller.may(Scope.KEYS_WRITE)
    works = not key.ended(now)
    return KeyLine(
        id=key.id,
        name=key.name,
        who="you" if own else names.get(key.principal, str(key.principal)),
        clearance=key.clearance,
        scopes=None if key.scopes is None else tuple(sorted(key.scopes)),
        tools=key.tools,
        created_at=key.created_at,
        used_at=key.last_used_at,
        ends_at=key.expires_at,
        state=state,
        tone=tone,
        may_rotate=may and works,
        may_revoke=may and works,
    )


def _state(key: StoredKey, now: datetime) -> tuple[str, str]:
    if key.revoked_at is not None:
        return "revoked", "bad"
    if key.ended(now):
        return "ended", ""
    if key.expires_at is not None and key.expires_at - now < _SOON:
        return "ends soon", "warn"
    return ("in use", "ok") if key.last_used_at is not None else ("never used", "")


def scope_choices(caller: Principal) -> Sequence[ScopeChoice]:
    """Nobody gives more than they have."""
    return [
        ScopeChoice(str(scope), scope in FOR_AGENTS)
        for scope in Scope
        if caller.may(scope) and scope is not Scope.INVITATION_ACCEPT
    ]


def client_entry(base_url: str, key: str) -> str:
    """What a client that speaks HTTP takes into its configuration."""
    entry = {
        "type": "http",
        "url": f"{base_url}/mcp",
        "headers": {"Authorization": f"Bearer {key}"},
    }
    return json.dumps({"mcpServers": {"portico": entry}}, indent=2, ensure_ascii=False)
