"""Who is who: names, kinds and clearances of those whom whoever looks may know of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label
from portico.kernel.principal import PrincipalKind

_AT_ONCE: Final = 200
_PAGES: Final = 5
"""More than a thousand in a space are not looked through for one page."""


@dataclass(frozen=True, slots=True)
class Somebody:
    id: PrincipalId
    name: str
    kind: PrincipalKind
    clearance: Label
    gone: bool = False
    """Let in no more."""


Company = Mapping[PrincipalId, Somebody]


async def company_of(desk: Desk) -> Company | None:
    """None for whoever may not know who there is. An agent above the caller's clearance is not
    among them."""
    caller = desk.caller
    if not caller.may(Scope.PRINCIPALS_READ):
        return None
    found: dict[PrincipalId, Somebody] = {}
    after: PrincipalId | None = None
    for _ in range(_PAGES):
        page = await desk.house.use.list_principals(caller, after=after, limit=_AT_ONCE)
        for each in page:
            found[each.id] = Somebody(
                each.id, each.name, each.kind, each.clearance, each.disabled_at is not None
            )
        if len(page) < _AT_ONCE:
            break
        after = page[-1].id
    return found
