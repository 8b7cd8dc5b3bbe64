"""Where somebody is logged in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from portico.guard.core.keys import StoredKey
from portico.kernel.ids import PrincipalId
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLine:
    id: str
    browser: str
    who: str
    opened_with: str | None
    """The id of the key."""
    opened_at: datetime
    used_at: datetime | None
    ends_at: datetime | None
    here: bool
    """The one that whoever looks is in."""


@dataclass(frozen=True, slots=True)
class Sessions:
    own: Sequence[SessionLine]
    others: Sequence[SessionLine]

    @property
    def elsewhere(self) -> Sequence[SessionLine]:
        """Whoever looks, in other browsers."""
        return [each for each in self.own if not each.here]


def sessions(
    found: Sequence[StoredKey],
    caller: Principal,
    here: str,
    names: Mapping[PrincipalId, str],
) -> Sessions:
    own = [_line(each, here, names) for each in found if each.principal == caller.id]
    others = [_line(each, here, names) for each in found if each.principal != caller.id]
    return Sessions(sorted(own, key=lambda each: not each.here), others)


def _line(key: StoredKey, here: str, names: Mapping[PrincipalId, str]) -> SessionLine:
    return SessionLine(
        id=key.id,
        browser=key.name,
        who=names.get(key.principal, "somebody"),
        opened_with=None if key.opened_with is None else key.opened_with.key,
        opened_at=key.created_at,
        used_at=key.last_used_at,
        ends_at=key.expires_at,
        here=key.id == here,
    )
