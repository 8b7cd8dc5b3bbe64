"""The pages of the settings, as far as whoever looks may open them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.guard.core.principals import Scope
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Tab:
    path: str
    name: str
    scopes: tuple[Scope, ...] = ()
    """Any of these opens it; none: it is everybody's."""


_TABS: Final = (
    Tab("/settings", "You"),
    Tab("/settings/keys", "Keys", (Scope.KEYS_OWN, Scope.KEYS_READ)),
    Tab("/settings/people", "People", (Scope.PRINCIPALS_READ,)),
    Tab("/settings/policy", "Policy", (Scope.POLICY_READ,)),
    Tab("/settings/secrets", "Secrets", (Scope.SECRETS_READ,)),
    Tab("/settings/about", "About", (Scope.STATUS_READ,)),
)


def tabs(caller: Principal) -> Sequence[Tab]:
    return [tab for tab in _TABS if not tab.scopes or any(map(caller.may, tab.scopes))]
