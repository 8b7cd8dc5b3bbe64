"""The list of requests: what ends soon first, then the newest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from portico.guard.core.approvals import Approval, Status
from portico.interfaces.console.screens.approvals.arguments import first_risk
from portico.interfaces.console.screens.approvals.seen import one_line, seen
from portico.interfaces.console.screens.approvals.standing import (
    Badge,
    effect_badge,
    kind_of,
    soon,
    state_badge,
)
from portico.kernel.ids import ApprovalId
from portico.kernel.label import Label

_SHORT: Final = 90


class Show(StrEnum):
    WAITING = "waiting"
    ANSWERED = "answered"
    EXPIRED = "expired"
    ALL = "all"


STATUSES: Final[Mapping[Show, Sequence[Status]]] = {
    Show.WAITING: (Status.WAITING,),
    Show.ANSWERED: (Status.APPROVED, Status.REJECTED, Status.REPLACED),
    Show.EXPIRED: (Status.EXPIRED, Status.WITHDRAWN),
    Show.ALL: (),
}
EMPTY: Final[Mapping[Show, tuple[str, str]]] = {
    Show.WAITING: (
        "Nothing waits for you.",
        "What an agent may not do by itself comes here, and you say yes or no.",
    ),
    Show.ANSWERED: ("Nothing was answered yet.", "What people have said yes or no to stays here."),
    Show.EXPIRED: ("Nothing has expired.", "What nobody answered in time would be here."),
    Show.ALL: ("There are no requests yet.", "Agents ask when a rule or a default says so."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: str
    path: str
    tool: str
    kind: str
    asker: str
    asker_kind: str
    effect: Badge
    state: Badge
    label: Label
    asked_at: datetime
    expires_at: datetime | None
    """Of one that waits."""
    risk: str | None
    """The first of what to look at."""
    marked: bool


@dataclass(frozen=True, slots=True)
class Chip:
    name: str
    path: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    show: Show
    unsure: Sequence[Row]
    """Of which nobody knows whether they were made."""
    rows: Sequence[Row]
    chips: Sequence[Chip]
    older: str | None
    """Where the next page is."""
    part: str
    """Where this list is asked for again."""
    empty: tuple[str, str]

    @property
    def first(self) -> str | None:
        return next((row.id for row in (*self.unsure, *self.rows)), None)

    def after(self, approval: str) -> str | None:
        """What is opened once this one is answered."""
        ids = [row.id for row in (*self.unsure, *self.rows)]
        if approval not in ids:
            return self.first
        at = ids.index(approval)
        return next(iter([*ids[at + 1 :], *reversed(ids[:at])]), None)


def show_of(text: str | None) -> Show:
    return Show(text) if text in set(Show) else Show.WAITING


def ordered(found: Sequence[Approval], now: datetime) -> Sequence[Approval]:
    """As they come, newest first, but for those that end soon."""
    return sorted(found, key=lambda each: (not soon(each, now), _until(each, now)))


def _until(approval: Approval, now: datetime) -> float:
    """Of those that end soon, the first to end first; the others stay where they are."""
    return approval.expires_at.timestamp() if soon(approval, now) else 0.0


def chips(show: Show) -> Sequence[Chip]:
    names = {
        Show.WAITING: "Waiting",
        Show.ANSWERED: "Answered",
        Show.EXPIRED: "Expired",
        Show.ALL: "All",
    }
    return [Chip(name, address("/inbox", each), each is show) for each, name in names.items()]


def address(path: str, show: Show, after: str | None = None, marked: str | None = None) -> str:
    """With what is not as it is anyway."""
    told = {
        "show": None if show is Show.WAITING else str(show),
        "after": after,
        "marked": marked,
    }
    given = {name: value for name, value in told.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def row(approval: Approval, show: Show, now: datetime, marked: ApprovalId | None) -> Row:
    waits = approval.status_at(now) is Status.WAITING
    risk = first_risk(approval.arguments, approval.marks)
    return Row(
        id=str(approval.id),
        path=address(f"/inbox/{approval.id}", show),
        tool=seen(approval.tool),
        kind=kind_of(approval),
        asker=seen(approval.asker.name),
        asker_kind=str(approval.asker.kind),
        effect=effect_badge(approval.effect),
        state=state_badge(approval, now),
        label=approval.label,
        asked_at=approval.asked_at,
        expires_at=approval.expires_at if waits else None,
        risk=None if risk is None else one_line(f"{risk.name}: {risk.value}", _SHORT),
        marked=approval.id == marked,
    )
