"""Approvals: request, answer, single use, ticket."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from portico.guard.core.access_request import AccessRequest, Action
from portico.guard.core.errors import (
    ApprovalOver,
    InvalidAnswer,
    InvalidRule,
    NotPermitted,
    OwnRequest,
    PersonNeeded,
    Refused,
    RuleAsksOn,
)
from portico.guard.core.policy import ArgumentWarning
from portico.guard.core.principals import Scope
from portico.guard.core.rules import (
    OFF_LIST,
    Rule,
    RuleSource,
    Ruling,
    fits,
    on_lists,
    tainted_options,
)
from portico.kernel.effect import EFFECT_WORDS, Effect
from portico.kernel.errors import FieldError
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind

# What somebody's yes is worth: one act, the very one that they were shown.


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGrant:
    """Made only by whoever has claimed the approval's single use."""

    approval: ApprovalId
    hash: str
    by: str
    """The name of the person who said yes."""
    for_run: bool = False
    """Whether it was a run that asked, and goes on with what comes of it."""
    label: Label = PUBLIC
    """Of that run."""

    def good_for(self, act: AccessRequest) -> bool:
        return self.hash == act.hash


# A request to be allowed one thing once: what is asked, what was answered, what came of it.
#
# Bound to the hash of tool, arguments, principal and pin. It waits, is answered once, is good for
# one use, and ends: whatever its status says, after `expires_at` it allows nothing.

FOR_THE_RUN: Final = timedelta(hours=8)
"""How long an answer for this run holds at most."""
DEFAULT: Final = "default:"
"""What decides where nobody has made a rule begins like this, and no rule can."""
REMEMBERED: Final = timedelta(minutes=10)
"""How long a call that was rejected is refused without asking again."""

UNCOLLECTED: Final = timedelta(days=1)
"""How long a call that was made by somebody's yes is not made again by a rule, but collected."""


class Status(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    REPLACED = "replaced"
    """Somebody approved it with other arguments, as a request of its own."""
    WITHDRAWN = "withdrawn"
    """Whoever asked wants it no more, or has done it since by a rule that allows it."""


class AnswerKind(StrEnum):
    ONCE = "once"
    RUN = "run"
    """And whatever else this tool is asked for in the same task, for some hours."""
    ALWAYS = "always"
    """And from now on, by a rule that anybody can see and an admin can take back."""
    REJECT = "reject"


class Via(StrEnum):
    """Where an answer came from."""

    CLI = "cli"
    REST = "rest"
    ELICITATION = "elicitation"
    WEB = "web"


class Outcome(StrEnum):
    """What became of the one use."""

    DONE = "done"
    FAILED = "failed"
    """It was not made, and that is known."""
    UNCERTAIN = "uncertain"
    """It may have been made: nobody tries again by themselves."""
    SKIPPED = "skipped"
    """A person looked, and says that it was not made and shall not be."""


class Resolution(StrEnum):
    """What a person says of an uncertain one."""

    DONE = "done"
    RETRY = "retry"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class ApprovalRequester:
    id: PrincipalId
    name: str
    kind: PrincipalKind
    key: str | None = None
    """The key that it came with, as which it is looked up again when the call is made."""
    at: ContextId | None = None
    """The task that it said it was at, if it did."""


@dataclass(frozen=True, slots=True)
class Answered:
    kind: AnswerKind
    by: PrincipalId
    by_name: str
    via: Via
    at: datetime
    reason: str | None = None
    rule: str | None = None
    """The name of the rule that it made."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """The run that asked, and what it is told under when this is over. Such a request is its alone:
    the same call made by somebody else is another."""

    run: RunId
    topic: str
    label: Label
    """Of the run: whoever answers need not be cleared for it to let it go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    id: ApprovalId
    space: SpaceId
    requester: ApprovalRequester
    context: ContextId
    action: Action = Action.CALL
    tool: str
    server: str
    effect: Effect
    pin: str
    launch: str
    """How its server is started, as it was accepted."""
    hash: str
    label: Label
    """How secret the request is: what had been read in the task when it was made."""
    tainted: bool
    """The task had read a stranger's words, or something not public."""
    arguments: JsonObject
    """Without secrets, for people; what is called with is sealed and stands elsewhere."""
    marks: tuple[ArgumentWarning, ...] = ()
    """The dangerous parts of the arguments."""
    before: tuple[JsonObject, ...] = ()
    """The last few calls of the same task, newest first."""
    rule: str
    reason: str
    asked_at: datetime
    expires_at: datetime
    run: RunId
    status: Status = Status.WAITING
    answered: Answered | None = None
    replaces: ApprovalId | None = None
    replaced_by: ApprovalId | None = None
    claimed_at: datetime | None = None
    outcome: Outcome | None = None
    ended_at: datetime | None = None
    error: str | None = None
    result: str | None = None
    """Where what the call gave is kept, for the asker."""
    collected_at: datetime | None = None
    """When the asker got it by making the same call again."""
    resolved_by: str | None = None
    waiter: Waiter | None = None

    @property
    def ticket(self) -> ApprovalGrant:
        """For whoever has claimed its single use."""
        by = "" if self.answered is None else self.answered.by_name
        label = PUBLIC if self.waiter is None else self.waiter.label
        return ApprovalGrant(
            approval=self.id, hash=self.hash, by=by, for_run=self.waiter is not None, label=label
        )

    @property
    def used(self) -> bool:
        return self.claimed_at is not None

    def status_at(self, now: datetime) -> Status:
        """What it is, whether or not anybody has written down that its time is over."""
        open_still = self.status in {Status.WAITING, Status.APPROVED} and not self.used
        return Status.EXPIRED if open_still and self.expires_at <= now else self.status

    def over_at(self, now: datetime) -> bool:
        """Whether nothing more becomes of it: it was made, or will not be. What may have been made
        is not over until somebody has said what it was, nor what was replaced by another."""
        if self.outcome is not None:
            return self.outcome is not Outcome.UNCERTAIN
        return self.status_at(now) in {Status.REJECTED, Status.EXPIRED, Status.WITHDRAWN}

    def as_of(self, now: datetime) -> "Approval":
        """As it is told."""
        return replace(self, status=self.status_at(now))

    def answers_for(self, now: datetime) -> bool:
        """Whether the same call, made again, is answered by this request and asks no other."""
        status = self.status_at(now)
        if status is Status.REJECTED:
            return self.answered is not None and now - self.answered.at < REMEMBERED
        if status in {Status.WAITING, Status.EXPIRED, Status.WITHDRAWN}:
            return status is Status.WAITING
        return self.collected_at is None and self.outcome is not Outcome.SKIPPED

    def does_it(self, now: datetime) -> bool:
        """Whether somebody's yes makes the call, or has made it not long ago."""
        if self.status_at(now) not in {Status.APPROVED, Status.REPLACED}:
            return False
        return self.ended_at is None or now - self.ended_at < UNCOLLECTED

    @property
    def answers(self) -> Sequence[AnswerKind]:
        """What may be said to it: where a rule asks, another that allows would change nothing."""
        if self.rule.startswith(DEFAULT):
            return [*AnswerKind]
        return [AnswerKind.ONCE, AnswerKind.REJECT]

    @property
    def question(self) -> str:
        which = "of which" if self.effect is Effect.UNKNOWN else "which"
        reason = self.reason[:1].upper() + self.reason[1:].removesuffix(".")
        return (
            f"May {self.requester.name} ({self.requester.kind}) use {self.tool}, "
            f"{which} {EFFECT_WORDS[self.effect]}? {reason}."
        )


def answer_kind(text: str) -> AnswerKind:
    """Only the exact word: nothing is taken for a yes that does not say so. Raises
    `InvalidAnswer`."""
    if text not in set(AnswerKind):
        raise InvalidAnswer(text, list(AnswerKind))
    return AnswerKind(text)


def resolution(text: str) -> Resolution:
    """Raises `InvalidAnswer`."""
    if text not in set(Resolution):
        raise InvalidAnswer(text, list(Resolution))
    return Resolution(text)


def check_answerer(caller: Principal, approval: Approval) -> None:
    """Raises `NotPermitted`, `PersonNeeded`, `OwnRequest`, and `Refused` for a tool that is not on
    their own lists. Whoever is not cleared for the request never gets as far as this: it does not
    exist for them."""
    if not caller.may(Scope.APPROVALS_ANSWER):
        raise NotPermitted(caller.name, Scope.APPROVALS_ANSWER)
    if caller.kind is not PrincipalKind.PERSON:
        raise PersonNeeded(caller.name)
    if approval.action is Action.DECLASSIFY and not caller.may(Scope.BRIDGE_DECLASSIFY):
        raise NotPermitted(caller.name, Scope.BRIDGE_DECLASSIFY)
    if caller.id == approval.requester.id:
        options = tainted_options(approval.label) if approval.tainted else ""
        tool = None if approval.action is Action.DECLASSIFY else approval.tool
        raise OwnRequest(str(approval.id), tool, caller.name, options)
    if not on_lists(caller, approval.tool):
        raise Refused(approval.tool, "default:list", OFF_LIST, who=caller.name, key=caller.key)


def check_waiting(approval: Approval, now: datetime) -> None:
    """Raises `ApprovalOver`."""
    status = approval.status_at(now)
    if status is not Status.WAITING:
        by = None if approval.answered is None else approval.answered.by_name
        raise ApprovalOver(str(approval.id), status, by)


def answered(approval: Approval, answer: Answered, good_for: timedelta) -> Approval:
    """What an answer makes of it. A yes is good for as long again: the call is made soon after,
    or, if nobody could make it for so long, not at all."""
    if answer.kind is AnswerKind.REJECT:
        return replace(approval, status=Status.REJECTED, answered=answer)
    return replace(
        approval, status=Status.APPROVED, answered=answer, expires_at=answer.at + good_for
    )


def check_pattern(caller: Principal, approval: Approval, pattern: str) -> None:
    """Whoever may answer decides about what was asked for; more than that is policy. Raises
    `InvalidRule`, `NotPermitted`."""
    if not fits(approval.tool, [pattern]):
        raise InvalidRule(pattern, [FieldError("pattern", f"does not stand for {approval.tool}")])
    if pattern != approval.tool and not caller.may(Scope.POLICY_WRITE):
        raise NotPermitted(caller.name, Scope.POLICY_WRITE)


def check_lasting(approval: Approval, kind: AnswerKind) -> None:
    """Raises `RuleAsksOn`."""
    if kind not in approval.answers:
        raise RuleAsksOn(approval.rule)


def rule_of(approval: Approval, answer: Answered, pattern: str | None) -> Rule | None:
    """The rule that an answer makes: for the asker alone, for nothing worse than what was asked.
    Raises `InvalidRule` for an asker whom no rule can name."""
    if answer.kind not in {AnswerKind.RUN, AnswerKind.ALWAYS}:
        return None
    for_the_run = answer.kind is AnswerKind.RUN
    return Rule(
        name=f"{answer.kind}-{approval.id}",
        ruling=Ruling.ALLOW,
        tools=(approval.tool if for_the_run or pattern is None else pattern,),
        who=(_whom(approval.requester),),
        effects=frozenset({approval.effect}),
        reads=False,
        tainted=approval.tainted,
        max_label=approval.label,
        context=approval.context if for_the_run else None,
        expires_at=answer.at + FOR_THE_RUN if for_the_run else None,
        source=RuleSource.DATABASE,
        made_by=answer.by_name,
        made_at=answer.at,
        approval=approval.id,
    )


def _whom(asker: ApprovalRequester) -> str:
    """A name in a rule may hold wildcards, and one that does would let in others."""
    if not set("*?:") & set(asker.name):
        return asker.name
    if asker.key is None:
        why = "the name of whoever asks holds a wildcard; answer `once`"
        raise InvalidRule(asker.name, [FieldError("who", why)])
    return f"key:{asker.key}"
