"""Work items: state and who holds one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from portico.bridge.core.errors import WorkHeldUp, WorkOver, WorkTaken, flaws_of_line, flaws_of_text
from portico.bridge.core.projects import ProjectId
from portico.kernel.errors import FieldError
from portico.kernel.ids import Id, PrincipalId
from portico.kernel.label import Label

MOST_OF_TITLE: Final = 200
MOST_LETTERS: Final = 100_000
"""Of what is to be done, and of what came of it."""
MOST_DEPENDS: Final = 100
MOST_OF_KEY: Final = 200


class WorkItemId(Id):
    """Not of a task context, which is what somebody has read."""

    __slots__ = ()
    prefix = "wrk"


class WorkItemStatus(StrEnum):
    OPEN = "open"
    CLAIMED = "claimed"
    DONE = "done"
    DROPPED = "dropped"

    @property
    def over(self) -> bool:
        return self in (WorkItemStatus.DONE, WorkItemStatus.DROPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    id: WorkItemId
    project: ProjectId
    title: str
    body: str = ""
    label: Label
    state: WorkItemStatus = WorkItemStatus.OPEN
    depends: tuple[WorkItemId, ...] = ()
    """Those that have to be over first. What the reader may not see is not among them, and is
    waited for all the same: then it is `held_up`."""
    held_up: bool = False
    claimed_by: PrincipalId | None = None
    claimed_by_name: str | None = None
    token: int = 0
    """One more with each claim: whoever was handed over cannot end it any more."""
    outcome: str = ""
    untrusted: bool = False
    """One of those who wrote it had read strangers' words in the same task."""
    made_by: PrincipalId
    made_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorkItem:
    project: ProjectId
    title: str
    body: str = ""
    label: Label | None = None
    depends: tuple[WorkItemId, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEnded:
    work: WorkItemId
    token: int
    """That of the claim by which it was done."""
    state: WorkItemStatus = WorkItemStatus.DONE
    outcome: str = ""


def claimed(work: WorkItem, by: PrincipalId, at: datetime) -> WorkItem:
    """Also whoever has it already is told that it is taken: they may be at it twice. Of somebody
    who is gone it can be had again. Raises `WorkOver`, `WorkTaken`, `WorkHeldUp`."""
    if work.state.over:
        raise WorkOver(str(work.id))
    if work.state is WorkItemStatus.CLAIMED and work.claimed_by is not None:
        name = work.claimed_by_name or "somebody"
        raise WorkTaken(str(work.id), name, own=work.claimed_by == by)
    if work.held_up:
        raise WorkHeldUp(str(work.id))
    return replace(
        work, state=WorkItemStatus.CLAIMED, claimed_by=by, token=work.token + 1, changed_at=at
    )


def handed_over(
    work: WorkItem, by: PrincipalId, token: int, to: PrincipalId | None, at: datetime
) -> WorkItem:
    """Raises `WorkOver`, `WorkTaken`."""
    _check_theirs(work, by, token)
    if to is None:
        return replace(work, state=WorkItemStatus.OPEN, claimed_by=None, changed_at=at)
    return replace(work, claimed_by=to, token=work.token + 1, changed_at=at)


def over(
    work: WorkItem, ended: WorkEnded, by: PrincipalId, at: datetime, *, untrusted: bool
) -> WorkItem:
    """The same again changes nothing: its answer may have been lost. Raises `WorkOver`,
    `WorkTaken`."""
    before = (work.claimed_by, work.token, work.state, work.outcome)
    if before == (by, ended.token, ended.state, ended.outcome):
        return work
    _check_theirs(work, by, ended.token)
    return replace(
        work,
        state=ended.state,
        outcome=ended.outcome,
        untrusted=work.untrusted or untrusted,
        changed_at=at,
    )


def asked_alike(work: WorkItem, again: NewWorkItem) -> bool:
    """Whether the same key has brought the same: else it is another's, or a mistake."""
    return (
        again.label in (None, work.label)
        and (again.project, again.title, again.body) == (work.project, work.title, work.body)
        and set(again.depends) == set(work.depends)
    )


def _check_theirs(work: WorkItem, by: PrincipalId, token: int) -> None:
    if work.state.over:
        raise WorkOver(str(work.id))
    if (work.state, work.claimed_by, work.token) != (WorkItemStatus.CLAIMED, by, token):
        raise WorkTaken(str(work.id), work.claimed_by_name or "nobody")


def flaws_of_work(work: NewWorkItem) -> Iterator[FieldError]:
    yield from flaws_of_line("title", work.title, most=MOST_OF_TITLE)
    yield from flaws_of_text("body", work.body, most=MOST_LETTERS)
    if work.key is not None:
        yield from flaws_of_line("key", work.key, most=MOST_OF_KEY)
    if len(work.depends) > MOST_DEPENDS:
        yield FieldError("depends", f"names {len(work.depends)}; at most {MOST_DEPENDS}")


def flaws_of_end(ended: WorkEnded) -> Iterator[FieldError]:
    yield from flaws_of_text("outcome", ended.outcome, most=MOST_LETTERS)
    if not ended.state.over:
        yield FieldError("state", "is done or dropped, of work that has ended")
