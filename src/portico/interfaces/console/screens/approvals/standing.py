"""How a request stands, in the words and the tones of badges."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from portico.guard.core.access_request import Action
from portico.guard.core.approvals import AnswerKind, Approval, Outcome, Status
from portico.kernel.effect import Effect

SOON: Final = timedelta(minutes=10)
"""What ends within this comes first."""


@dataclass(frozen=True, slots=True)
class Badge:
    text: str
    tone: str = ""


_EFFECTS: Final = {
    Effect.PURE: Badge("changes nothing", "ok"),
    Effect.LOCAL_READ: Badge("reads", "ok"),
    Effect.EXTERNAL_READ: Badge("reads elsewhere", "run"),
    Effect.LOCAL_WRITE: Badge("writes", "warn"),
    Effect.EXTERNAL_WRITE: Badge("writes elsewhere", "warn"),
    Effect.IRREVERSIBLE: Badge("cannot be undone", "bad"),
    Effect.UNKNOWN: Badge("effect not known", "bad"),
}
_OUTCOMES: Final = {
    Outcome.DONE: Badge("done", "ok"),
    Outcome.FAILED: Badge("not made", "bad"),
    Outcome.UNCERTAIN: Badge("outcome not known", "bad"),
    Outcome.SKIPPED: Badge("not to be made"),
}
_STATUSES: Final = {
    Status.WAITING: Badge("needs approval", "warn"),
    Status.APPROVED: Badge("approved", "run"),
    Status.REJECTED: Badge("rejected", "bad"),
    Status.EXPIRED: Badge("expired"),
    Status.REPLACED: Badge("approved otherwise", "ok"),
    Status.WITHDRAWN: Badge("taken back"),
}
ANSWERED: Final = {
    AnswerKind.ONCE: "Approved once",
    AnswerKind.RUN: "Approved for this run",
    AnswerKind.ALWAYS: "Approved from now on",
    AnswerKind.REJECT: "Rejected",
}
_ACTIONS: Final = {
    Action.CALL: "Tool call",
    Action.READ_RESOURCE: "Read a resource",
    Action.GET_PROMPT: "Get a prompt",
    Action.COMPLETE: "Complete a word",
    Action.DECLASSIFY: "Less secret message",
}


def effect_badge(effect: Effect) -> Badge:
    return _EFFECTS[effect]


def state_badge(approval: Approval, now: datetime) -> Badge:
    status = approval.status_at(now)
    if approval.outcome is Outcome.DONE and approval.error:
        return Badge("done, with an error", "warn")
    if approval.outcome is not None:
        return _OUTCOMES[approval.outcome]
    if status is Status.WAITING and soon(approval, now):
        return Badge("expires soon", "bad")
    return _STATUSES[status]


def soon(approval: Approval, now: datetime) -> bool:
    return approval.status_at(now) is Status.WAITING and approval.expires_at - now < SOON


def uncertain(approval: Approval) -> bool:
    return approval.status is Status.APPROVED and approval.outcome is Outcome.UNCERTAIN


def kind_of(approval: Approval) -> str:
    if approval.action is Action.DECLASSIFY and "debate" in approval.arguments:
        return "Less secret debate"
    if approval.action is Action.CALL and approval.waiter is not None:
        return "Step of a run"
    return _ACTIONS[approval.action]
