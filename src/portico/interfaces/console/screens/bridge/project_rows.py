"""What a project holds besides talk, as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from portico.bridge.core.leases import Lease, Waiting, overlap
from portico.bridge.core.memory import Remembered
from portico.bridge.core.presence import Doing, Presence
from portico.bridge.core.work_items import Work, WorkState
from portico.debate.core.questions import Cap
from portico.interfaces.console.screens.bridge.company import Company
from portico.interfaces.console.screens.bridge.lists import excerpt
from portico.interfaces.console.wording import as_json
from portico.kernel.budget import Cost
from portico.kernel.ids import PrincipalId
from portico.kernel.label import Label

_TONES: Final[Mapping[Doing, str]] = {Doing.THERE: "ok", Doing.BUSY: "warn", Doing.AWAY: ""}
_STATES: Final[Mapping[WorkState, tuple[str, str]]] = {
    WorkState.OPEN: ("open", ""),
    WorkState.CLAIMED: ("claimed", "run"),
    WorkState.DONE: ("done", "ok"),
    WorkState.DROPPED: ("dropped", "bad"),
}
_VALUE: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceRow:
    name: str
    doing: str
    tone: str
    note: str
    until: datetime
    mine: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    id: str
    resource: str
    holder: str
    purpose: str
    until: datetime
    left: float
    """Share of its time that is left."""
    token: int
    mine: bool
    waiting: tuple[str, ...]
    """Who wants it next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    key: str
    value: str
    long: bool
    label: Label
    version: int
    by: str
    at: datetime
    expires_at: datetime | None
    forgotten: bool
    untrusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRow:
    id: str
    title: str
    body: str
    label: Label
    state: str
    tone: str
    held_up: bool
    claimed_by: str | None
    token: int
    outcome: str
    changed_at: datetime
    depends: tuple[str, ...]
    """Titles of those on the same page, else ids."""
    can_claim: bool
    mine: bool
    barred: bool
    """It could be changed, by somebody who has read no more than what is as secret."""
    untrusted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    tokens: int
    tokens_cap: int | None
    money: Decimal
    money_cap: Decimal | None
    share: float | None
    """Of whichever is nearer to its end; None without a limit."""


def presence_rows(found: Sequence[Presence], me: PrincipalId) -> tuple[PresenceRow, ...]:
    return tuple(
        PresenceRow(
            name=each.name,
            doing=str(each.doing),
            tone=_TONES[each.doing],
            note=each.note,
            until=each.until,
            mine=each.principal == me,
        )
        for each in found
    )


def lease_rows(
    held: Sequence[Lease], queue: Sequence[Waiting], me: PrincipalId, now: datetime
) -> tuple[LeaseRow, ...]:
    """Each with those who wait for something of it."""
    return tuple(
        LeaseRow(
            id=str(each.id),
            resource=each.resource,
            holder=each.holder_name,
            purpose=each.purpose,
            until=each.expires_at,
            left=_left(each, now),
            token=each.token,
            mine=each.holder == me,
            waiting=tuple(one.name for one in queue if overlap(one.resource, each.resource)),
        )
        for each in held
    )


def memory_rows(
    found: Sequence[Remembered], company: Company | None, *, whole: bool = False
) -> tuple[MemoryRow, ...]:
    known = company or {}
    rows = []
    for each in found:
        value = each.value if isinstance(each.value, str) else as_json(each.value)
        rows.append(
            MemoryRow(
                key=each.key,
                value=value if whole else excerpt(value, _VALUE),
                long=not whole and len(value) > _VALUE,
                label=each.label,
                version=each.version,
                by=known[each.by].name if each.by in known else "",
                at=each.at,
                expires_at=each.expires_at,
                forgotten=each.forgotten,
                untrusted=each.untrusted,
            )
        )
    return tuple(rows)


def work_rows(
    found: Sequence[Work], me: PrincipalId, read: Label, *, writes: bool
) -> tuple[WorkRow, ...]:
    """`read`: what was read in this project by whoever looks."""
    titles = {each.id: each.title for each in found}
    rows = []
    for each in found:
        state, tone = _STATES[each.state]
        free = each.state is WorkState.OPEN or (
            each.state is WorkState.CLAIMED and each.claimed_by is None
        )
        claimed = each.state is WorkState.CLAIMED and each.claimed_by == me
        low = each.label.covers(read)
        can = writes and ((free and not each.held_up) or claimed)
        rows.append(
            WorkRow(
                id=str(each.id),
                title=each.title,
                body=excerpt(each.body, 400),
                label=each.label,
                state=state,
                tone=tone,
                held_up=each.held_up and not each.state.over,
                claimed_by=each.claimed_by_name,
                token=each.token,
                outcome=excerpt(each.outcome, 400),
                changed_at=each.changed_at,
                depends=tuple(titles.get(one, str(one)) for one in each.depends),
                can_claim=can and free and low,
                mine=can and claimed and low,
                barred=can and not low,
                untrusted=each.untrusted,
            )
        )
    return tuple(rows)


def budget_row(cap: Cap, spent: Cost) -> BudgetRow:
    shares = []
    if cap.tokens:
        shares.append(int(spent.tokens) / cap.tokens)
    if cap.money:
        shares.append(float(spent.money / cap.money))
    if 0 in (cap.tokens, cap.money):
        shares.append(1.0)
    return BudgetRow(
        tokens=int(spent.tokens),
        tokens_cap=cap.tokens,
        money=spent.money,
        money_cap=cap.money,
        share=max(shares, default=None),
    )


def _left(lease: Lease, now: datetime) -> float:
    whole = (lease.expires_at - lease.taken_at).total_seconds()
    left = (lease.expires_at - now).total_seconds()
    return min(max(left / whole, 0.0), 1.0) if whole > 0 else 0.0
