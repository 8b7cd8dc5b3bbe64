"""Who will see something before it is said: by name, and never of those who are not to be known."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from portico.bridge.core.conversations import Participant
from portico.interfaces.console.screens.bridge.company import Company
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    label: Label
    names: tuple[str, ...]
    """Who take part and are cleared, besides whoever writes."""
    more: int
    """Of them, beyond those that are named."""
    not_cleared: int
    missed: tuple[str, ...]
    """To whom it is addressed, and who will not see it."""
    closed: bool
    """Only for those who take part; else for whoever is cleared."""
    known: bool
    """Whether whoever writes may know who is cleared for what."""


def audience_of(
    label: Label,
    taking_part: Sequence[Participant],
    company: Company | None,
    *,
    me: PrincipalId,
    closed: bool,
    addressed: Collection[PrincipalId] = (),
) -> Audience:
    others = [
        company[each.principal]
        for each in taking_part
        if company is not None and each.principal != me and each.principal in company
    ]
    there = [each for each in others if not each.gone]
    cleared = [each for each in there if each.clearance.covers(label)]
    out = [each for each in there if not each.clearance.covers(label)]
    return Audience(
        label=label,
        names=tuple(each.name for each in cleared[:_NAMED]),
        more=max(0, len(cleared) - _NAMED),
        not_cleared=len(out),
        missed=tuple(each.name for each in out if each.id in addressed)[:_NAMED],
        closed=closed,
        known=company is not None,
    )
