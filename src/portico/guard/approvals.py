"""Approvals: ask, list, answer, wait, withdraw, resolve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from portico.guard.core.access_request import (
    AccessRequest,
    Action,
    ActionTarget,
    NeedsApproval,
    TaintContext,
)
from portico.guard.core.approvals import (
    Answered,
    AnswerKind,
    Approval,
    ApprovalRequester,
    Outcome,
    Resolution,
    Status,
    Via,
    Waiter,
    answered,
    check_answerer,
    check_lasting,
    check_pattern,
    check_waiting,
    rule_of,
)
from portico.guard.core.audit import AuditEntry, about_rule
from portico.guard.core.errors import (
    ApprovalNotFound,
    ApprovalOver,
    AskedOtherwise,
    BlackedOut,
    InvalidAnswer,
    InvalidRule,
    RuleAsksOn,
    TooManyPendingApprovals,
)
from portico.guard.core.policy import marked
from portico.guard.core.principals import Scope
from portico.guard.core.rules import Ruling, flaws_of, matching
from portico.guard.ports import Audit, Contexts, Rules, UnitOfWork, Vault
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Durable
from portico.kernel.ids import ApprovalId, ContextId, PrincipalId, RunId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from portico.kernel.redaction import BLACK

# What asking and answering need from the outside world: requests, errands, and who is believed.
#
# Everything here acts inside the caller's space: what is elsewhere does not exist.


class Approvals(Protocol):
    """The requests of a space; above the caller's clearance there are none. Each change names the
    state that it changes, so that of two who try at once one is told that it was too late."""

    async def add(self, caller: Principal, approval: Approval, sealed: bytes) -> Approval:
        """It, or the one that is open already for the same hash, asker and task; of one with a
        waiter, the one that this waiter has asked already."""
        ...

    async def asked_by(self, caller: Principal, waiter: Waiter) -> Approval | None:
        """What this run has asked under this topic, whatever became of it."""
        ...

    async def of_run(self, caller: Principal, run: RunId) -> Sequence[Approval]:
        """All that this run has asked, oldest first, whatever became of them; with those that were
        approved in their place."""
        ...

    async def waiting(self, caller: Principal, now: datetime) -> int:
        """How many of the caller's own wait, but for those above their clearance; inside
        `UnitOfWork`, nobody adds one of theirs until it ends."""
        ...

    async def get(self, caller: Principal, approval: ApprovalId) -> Approval:
        """Raises `ApprovalNotFound`."""
        ...

    async def latest(self, caller: Principal, context: ContextId, hash_: str) -> Approval | None:
        """The caller's own newest for this hash in this task, whatever became of it; none that a
        run waits for."""
        ...

    async def unfinished(self, caller: Principal, hash_: str) -> Sequence[Approval]:
        """The caller's own for this hash, in whichever task, oldest first: those that wait,
        and those that somebody said yes to, like this or with other arguments, unless the call
        is known not to have been made, or what it gave was collected; none that a run waits
        for."""
        ...

    async def withdraw(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """False if it does not wait any more."""
        ...

    async def sealed(self, caller: Principal, approval: ApprovalId) -> bytes:
        """The arguments as they were given. Raises `ApprovalNotFound`."""
        ...

    async def page(
        self,
        caller: Principal,
        *,
        of: PrincipalId | None,
        statuses: Sequence[Status],
        before: ApprovalId | None,
        now: datetime,
        limit: int,
    ) -> Sequence[Approval]:
        """Newest first; `of` and `statuses` of nothing are everybody's and all. What has expired
        by `now` counts as expired."""
        ...

    async def count_waiting(
        self, caller: Principal, *, of: PrincipalId | None, now: datetime, most: int
    ) -> Mapping[Label, int]:
        """How many of everybody's wait, or of one's, by their label; no more than `most` are
        counted."""
        ...

    async def answer(self, caller: Principal, answered: Approval, now: datetime) -> bool:
        """With its new status. False if it does not wait any more: somebody was first, or its
        time was over."""
        ...

    async def expire(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """False if its time is not over, or it was over without that."""
        ...

    async def claim(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """The single use of what was approved. False if it was used before, or its time is over:
        to one caller, ever, this says True."""
        ...

    async def end(self, caller: Principal, ended: Approval) -> bool:
        """What became of the use: its outcome, error and result. Somebody who knows corrects an
        uncertain one, until a person has said what it was."""
        ...

    async def collect(self, caller: Principal, approval: ApprovalId, now: datetime) -> bool:
        """False if what it gave was given out before."""
        ...

    async def resolve(self, caller: Principal, resolved: Approval) -> bool:
        """What a person says of an uncertain one; to be tried again, it has no outcome and no
        claim. False if it is not uncertain any more."""
        ...


class ApprovalRuns(Protocol):
    """What makes an approved call: it waits for the answer for as long as it takes, survives, and
    holds nothing meanwhile."""

    def run_of(self, caller: Principal, approval: ApprovalId) -> RunId: ...

    async def start(self, caller: Principal, approval: Approval) -> None:
        """In the caller's name, inside `UnitOfWork`."""
        ...

    async def wake(self, caller: Principal, approval: Approval) -> bool:
        """There is something to be read, inside `UnitOfWork`. False if it was cancelled."""
        ...

    async def again(self, caller: Principal, approval: Approval) -> None:
        """Inside `UnitOfWork`: one that ended without knowing what it did is taken up again."""
        ...


class Waiters(Protocol):
    async def wants(self, caller: Principal, waiter: Waiter) -> bool:
        """Whether the run that asked still goes on with what it asked for: it was not ended, and
        has not asked anew since."""
        ...


class ApprovalEvents(Protocol):
    async def publish(self, caller: Principal, what: str, approval: Approval) -> None:
        """That something became of it (`asked`, `answered`, `expired`, `withdrawn`, `used`,
        `resolved`), once it can be seen; inside `UnitOfWork`, with it or not at all."""
        ...


class TrustedClients(Protocol):
    """Whose word it is when the program with a key passes on what its user has answered."""

    async def person(self, caller: Principal, key_id: str) -> PrincipalId | None:
        """None: nobody's, as of every key until somebody says otherwise."""
        ...

    async def trust(self, caller: Principal, key_id: str, person: PrincipalId | None) -> None: ...


class ArgumentCheck(Protocol):
    async def __call__(self, caller: Principal, tool: str, arguments: JsonObject) -> None:
        """Raises what a call with these would be refused for."""
        ...


# Ask people whether something may be done, once however often it is asked for.


@dataclass(frozen=True, slots=True, kw_only=True)
class AskApproval:
    approvals: Approvals
    approval_runs: ApprovalRuns
    news: ApprovalEvents
    audit: Audit
    vault: Vault
    unit_of_work: UnitOfWork
    clock: Clock
    entropy: Entropy
    hide: Callable[[JsonValue], JsonValue]
    """Without the very secrets that the house knows of, and with all else: whoever answers must
    see what will be done, also where it merely looks like a secret."""
    expires: timedelta
    max_pending: int
    """That wait at a time, of one asker."""

    async def __call__(
        self,
        act: AccessRequest,
        context: TaintContext,
        needed: NeedsApproval,
        *,
        before: Sequence[JsonObject] = (),
        waiter: Waiter | None = None,
    ) -> Approval:
        """The request that answers for this act: an earlier one, or a new one. A waiter has one of
        its own. Raises `TooManyPendingApprovals`, `AskedOtherwise`."""
        now = self.clock.now()
        found = await self._earlier(act, context, waiter)
        if found is not None and (waiter is not None or found.answers_for(now)):
            return found
        new = replace(self._new(act, context, needed, before), waiter=waiter)
        sealed = self.vault.encrypt(canonical(act.arguments), sealed_for(new.id))
        async with self.unit_of_work(act.caller):
            waiting = await self.approvals.waiting(act.caller, now)
            added = await self.approvals.add(act.caller, new, sealed)
            if added.id == new.id:
                if waiting >= self.max_pending:
                    raise TooManyPendingApprovals(act.caller.name, self.max_pending)
                await self.approval_runs.start(act.caller, new)
                await self.audit.note(act.caller, asked_entry(new))
                await self.news.publish(act.caller, "asked", new)
        return added

    async def _earlier(
        self, act: AccessRequest, context: TaintContext, waiter: Waiter | None
    ) -> Approval | None:
        """Raises `AskedOtherwise`: a yes to one thing is none to another."""
        if waiter is None:
            return await self.approvals.latest(act.caller, context.id, act.hash)
        found = await self.approvals.asked_by(act.caller, waiter)
        if found is not None and found.hash != act.hash:
            raise AskedOtherwise(act.target.tool, str(found.id))
        return found

    def _new(
        self,
        act: AccessRequest,
        context: TaintContext,
        needed: NeedsApproval,
        before: Sequence[JsonObject],
    ) -> Approval:
        now = self.clock.now()
        caller, aim = act.caller, act.target
        approval = ApprovalId.mint(now, self.entropy)
        shown = shown_of(self.hide(act.arguments))
        return Approval(
            id=approval,
            space=caller.space,
            requester=ApprovalRequester(
                caller.id, caller.name, caller.kind, caller.key, caller.context
            ),
            context=context.id,
            action=act.action,
            tool=aim.tool,
            server=aim.server,
            effect=aim.effect,
            pin=aim.pin,
            launch=aim.launch,
            hash=act.hash,
            label=context.label,
            tainted=context.untrusted or context.label != PUBLIC,
            arguments=shown,
            marks=marked(act.arguments, shown),
            before=tuple(before),
            rule=needed.rule,
            reason=needed.reason,
            asked_at=now,
            expires_at=now + self.expires,
            run=self.approval_runs.run_of(caller, approval),
        )


def shown_of(cleaned: JsonValue) -> JsonObject:
    """Arguments are an object, and what is left of one without its secrets is too."""
    return cleaned if isinstance(cleaned, Mapping) else {}


def sealed_for(approval: ApprovalId) -> bytes:
    """What arguments are sealed together with: those of one request open in no other."""
    return f"approval {approval}".encode()


def asked_entry(approval: Approval) -> AuditEntry:
    return AuditEntry(
        action="approval.asked",
        subject=approval.tool,
        rule=approval.rule,
        reason=approval.reason,
        details={
            "approval": str(approval.id),
            "hash": approval.hash,
            "effect": str(approval.effect),
            "replaces": None if approval.replaces is None else str(approval.replaces),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What somebody says to a request."""

    kind: AnswerKind
    via: Via
    reason: str | None = None
    pattern: str | None = None
    """Of tools, with `always`; without one it is the very tool that was asked for."""
    arguments: JsonObject | None = None
    """Yes, but with these instead: whole, and not a change to what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerApproval:
    approvals: Approvals
    approval_runs: ApprovalRuns
    news: ApprovalEvents
    rules: Rules
    audit: Audit
    vault: Vault
    check: ArgumentCheck
    unit_of_work: UnitOfWork
    clock: Clock
    entropy: Entropy
    hide: Callable[[JsonValue], JsonValue]
    expires: timedelta

    async def __call__(self, caller: Principal, approval: ApprovalId, reply: Reply) -> Approval:
        """The request as it is then; of an edited one, the new one that is approved in its place.

        Raises `ApprovalNotFound`, `NotPermitted`, `PersonNeeded`, `OwnRequest`, `ApprovalOver`,
        `InvalidAnswer`, `InvalidRule`, `RuleAsksOn`, `BlackedOut`, and what a call with the new
        arguments would be refused for.
        """
        require_scope(caller, Scope.APPROVALS_ANSWER)
        found = await self.approvals.get(caller, approval)
        check_answerer(caller, found)
        check_waiting(found, self.clock.now())
        _check_reply(found, reply)
        await self._check_lasting(caller, found, reply.kind)
        if reply.pattern is not None:
            check_pattern(caller, found, reply.pattern)
        if reply.arguments is not None:
            await self.check(caller, found.tool, reply.arguments)
        async with self.unit_of_work(caller):
            answer = await self._answer(caller, found, reply)
            if reply.arguments is None or _hash(found, reply.arguments) == found.hash:
                return await self._answered(caller, found, answer)
            return await self._edited(caller, found, answer, reply.arguments)

    async def _check_lasting(self, caller: Principal, found: Approval, kind: AnswerKind) -> None:
        """Also of a rule that would ask only after what decided first: of those about roles,
        nothing is known here. Raises `RuleAsksOn`."""
        check_lasting(found, kind)
        if kind not in {AnswerKind.RUN, AnswerKind.ALWAYS}:
            return
        task = TaintContext(id=found.context, label=found.label)
        rules = await self.rules.all(caller)
        for rule in matching(rules, _act(found, {}), task, self.clock.now()):
            if rule.ruling is Ruling.ASK:
                raise RuleAsksOn(rule.name)

    async def _answer(self, caller: Principal, found: Approval, reply: Reply) -> Answered:
        answer = Answered(
            kind=reply.kind,
            by=caller.id,
            by_name=caller.name,
            via=reply.via,
            at=self.clock.now(),
            reason=None if reply.reason is None else str(self.hide(reply.reason)),
        )
        rule = rule_of(found, answer, reply.pattern)
        if rule is None:
            return answer
        if flaws := flaws_of(rule):
            raise InvalidRule(rule.name, flaws)
        await self.rules.add(caller, rule)
        await self.audit.note(caller, about_rule("policy.rule_added", rule))
        return replace(answer, rule=rule.name)

    async def _answered(self, caller: Principal, found: Approval, answer: Answered) -> Approval:
        now = answered(found, answer, self.expires)
        await self._settle(caller, now, answer)
        return now

    async def _edited(
        self, caller: Principal, found: Approval, answer: Answered, arguments: JsonObject
    ) -> Approval:
        """Another hash, and so another request. The old one's errand makes its call."""
        new = answered(self._edit(found, answer, arguments), answer, self.expires)
        sealed = self.vault.encrypt(canonical(arguments), sealed_for(new.id))
        added = await self.approvals.add(caller, new, sealed)
        if added.id != new.id:
            raise ApprovalOver(str(added.id), added.status, None)
        await self.audit.note(caller, asked_entry(new), _answered_entry(new, answer))
        old = replace(found, status=Status.REPLACED, answered=answer, replaced_by=new.id)
        await self._settle(caller, old, answer)
        await self.news.publish(caller, "answered", new)
        return new

    def _edit(self, found: Approval, answer: Answered, arguments: JsonObject) -> Approval:
        shown = shown_of(self.hide(arguments))
        return replace(
            found,
            id=ApprovalId.mint(answer.at, self.entropy),
            hash=_hash(found, arguments),
            arguments=shown,
            marks=marked(arguments, shown),
            asked_at=answer.at,
            replaces=found.id,
        )

    async def _settle(self, caller: Principal, now: Approval, answer: Answered) -> None:
        """Raises `ApprovalOver`."""
        if not await self.approvals.answer(caller, now, answer.at):
            first = await self.approvals.get(caller, now.id)
            by = None if first.answered is None else first.answered.by_name
            raise ApprovalOver(str(now.id), first.status_at(answer.at), by)
        if not await self.approval_runs.wake(caller, now) and answer.kind is not AnswerKind.REJECT:
            raise ApprovalOver(str(now.id), "cancelled", None)
        await self.audit.note(caller, _answered_entry(now, answer))
        await self.news.publish(caller, "answered", now)


def _check_reply(found: Approval, reply: Reply) -> None:
    """Raises `InvalidAnswer`, `BlackedOut`."""
    if not isinstance(reply.kind, AnswerKind):
        raise InvalidAnswer(str(reply.kind), list(AnswerKind))
    if reply.kind is AnswerKind.REJECT and reply.arguments is not None:
        raise InvalidAnswer("reject with arguments", list(AnswerKind))
    if reply.arguments is not None and found.action is Action.DECLASSIFY:
        raise InvalidAnswer("yes to another text", found.answers)
    if reply.arguments is not None and BLACK in canonical(reply.arguments).decode():
        raise BlackedOut(str(found.id))


def _hash(approval: Approval, arguments: JsonObject) -> str:
    return _act(approval, arguments).hash


def _act(approval: Approval, arguments: JsonObject) -> AccessRequest:
    asker = approval.requester
    return AccessRequest(
        caller=Principal(
            id=asker.id, space=approval.space, kind=asker.kind, name=asker.name, key=asker.key
        ),
        action=approval.action,
        target=ActionTarget(
            tool=approval.tool,
            server=approval.server,
            effect=approval.effect,
            pin=approval.pin,
            launch=approval.launch,
        ),
        arguments=arguments,
    )


def _answered_entry(approval: Approval, answer: Answered) -> AuditEntry:
    return AuditEntry(
        action="approval.answered",
        subject=approval.tool,
        rule=answer.rule,
        reason=answer.reason,
        details={
            "approval": str(approval.id),
            "hash": approval.hash,
            "answer": str(answer.kind),
            "status": str(approval.status),
            "asker": str(approval.requester.id),
            "via": str(answer.via),
        },
    )


# The first half of a run that stands behind a request: it waits until there is an answer.
#
# A signal only wakes it; what was answered stands in the request.

_LATER: Final = timedelta(seconds=1)
"""It looks for the end of its request this much after it, so that it is over then."""


def topic_of(approval: ApprovalId, number: int) -> str:
    """What the run behind a request is woken by; the next number if that one was used up by
    somebody who had nothing to say."""
    return str(approval) if number == 1 else f"{approval}:{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForAnswer:
    approvals: Approvals
    news: ApprovalEvents
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Where the request stands once it does not wait any more; of one that was approved, with
        the id of what was approved, which is another if somebody has changed its arguments."""
        asked = ApprovalId.parse(str(given["approval"]))
        seen: JsonValue = {"status": Status.WAITING, "left": given["left"]}
        number = 0
        while isinstance(seen, Mapping) and seen["status"] == Status.WAITING:
            number += 1
            patience = timedelta(seconds=float(str(seen["left"]))) + _LATER
            await durable.wait_for_signal(topic_of(asked, number), patience=patience)
            seen = await durable.step(f"look-{number}", lambda _: self._look(durable, asked))
        if isinstance(seen, Mapping) and seen["status"] == Status.EXPIRED:
            return await durable.step("expire", lambda _: self.expire(durable, asked))
        return seen

    async def _look(self, durable: Durable, which: ApprovalId) -> JsonValue:
        now = self.clock.now()
        asked = await self.approvals.get(durable.caller, which)
        status = asked.status_at(now)
        if status is Status.REPLACED and asked.replaced_by is not None:
            return await self._look(durable, asked.replaced_by)
        left = (asked.expires_at - now).total_seconds()
        return {"status": status, "left": max(left, 0.0), "approval": str(asked.id)}

    async def expire(self, durable: Durable, which: ApprovalId) -> JsonValue:
        """Its time is over, and that is written down."""
        caller = durable.caller
        approval = await self.approvals.get(caller, which)
        async with self.unit_of_work(caller):
            if await self.approvals.expire(caller, approval.id, self.clock.now()):
                await self.audit.note(caller, about_end("approval.expired", approval))
                await self.news.publish(caller, "expired", approval)
        return {"status": Status.EXPIRED}


def about_end(action: str, approval: Approval) -> AuditEntry:
    return AuditEntry(
        action=action,
        subject=approval.tool,
        details={
            "approval": str(approval.id),
            "hash": approval.hash,
            "outcome": None if approval.outcome is None else str(approval.outcome),
        },
    )


# Take back a request: whoever asked wants it no more, or does it without anybody's yes.


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawApproval:
    approvals: Approvals
    approval_runs: ApprovalRuns
    news: ApprovalEvents
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock

    async def __call__(self, caller: Principal, approval: ApprovalId) -> Approval:
        """One's own needs no scope. Raises `ApprovalNotFound`, `ApprovalOver`."""
        found = await self.approvals.get(caller, approval)
        if found.requester.id != caller.id:
            raise ApprovalNotFound(str(approval))
        check_waiting(found, self.clock.now())
        if not await self.closed(caller, found, "whoever asked has taken it back"):
            check_waiting(await self.approvals.get(caller, approval), self.clock.now())
        return replace(found, status=Status.WITHDRAWN)

    async def settled(self, act: AccessRequest) -> Approval | None:
        """Of an act that is allowed by now, before it is done: whatever waits for the same is
        closed, so that no yes that comes later does it again. The one that somebody has said yes
        to already, if there is one: that one does it, or has done it."""
        for each in await self.approvals.unfinished(act.caller, act.hash):
            found = each
            if found.status is Status.WAITING:
                if await self.closed(act.caller, found, "it is allowed without it by now"):
                    continue
                found = await self.approvals.get(act.caller, each.id)
            if found.does_it(self.clock.now()):
                return found
        return None

    async def settled_of(self, caller: Principal, waiter: Waiter) -> Approval | None:
        """As `settled`, of what a run has asked for itself."""
        found = await self.approvals.asked_by(caller, waiter)
        if found is None or found.over_at(self.clock.now()):
            return None
        if found.status is Status.WAITING and await self.closed(
            caller, found, "it is allowed without it by now"
        ):
            return None
        return await self.approvals.get(caller, found.id)

    async def closed(self, caller: Principal, approval: Approval, why: str) -> bool:
        """False if it was answered meanwhile, or is over."""
        async with self.unit_of_work(caller):
            if not await self.approvals.withdraw(caller, approval.id, self.clock.now()):
                return False
            now = replace(approval, status=Status.WITHDRAWN)
            await self.approval_runs.wake(caller, now)
            await self.audit.note(caller, _entry(now, why))
            await self.news.publish(caller, "withdrawn", now)
        return True


def _entry(approval: Approval, why: str) -> AuditEntry:
    return AuditEntry(
        action="approval.withdrawn",
        subject=approval.tool,
        reason=why,
        details={"approval": str(approval.id), "hash": approval.hash},
    )


_OUTCOMES: Final = {
    Resolution.DONE: Outcome.DONE,
    Resolution.RETRY: None,
    Resolution.SKIP: Outcome.SKIPPED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveApproval:
    approvals: Approvals
    approval_runs: ApprovalRuns
    news: ApprovalEvents
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock

    async def __call__(
        self, caller: Principal, approval: ApprovalId, resolution: Resolution
    ) -> Approval:
        """To be tried again is a second use, which only a person can give. Raises
        `ApprovalNotFound`, `NotPermitted`, `PersonNeeded`, `OwnRequest`, `ApprovalOver` if it is
        not uncertain, `InvalidAnswer`."""
        if not isinstance(resolution, Resolution):
            raise InvalidAnswer(str(resolution), list(Resolution))
        require_scope(caller, Scope.APPROVALS_ANSWER)
        found = await self.approvals.get(caller, approval)
        check_answerer(caller, found)
        now = self.clock.now()
        again = resolution is Resolution.RETRY
        resolved = replace(
            found,
            outcome=_OUTCOMES[resolution],
            claimed_at=None if again else found.claimed_at,
            ended_at=None if again else now,
            expires_at=now + (found.expires_at - found.asked_at) if again else found.expires_at,
            resolved_by=caller.name,
        )
        async with self.unit_of_work(caller):
            if not await self.approvals.resolve(caller, resolved):
                raise ApprovalOver(str(approval), found.outcome or found.status, None)
            if again:
                await self.approval_runs.again(caller, resolved)
            await self.audit.note(caller, _resolution_entry(resolved, resolution))
            await self.news.publish(caller, "resolved", resolved)
        return resolved


def _resolution_entry(approval: Approval, resolution: Resolution) -> AuditEntry:
    return AuditEntry(
        action="approval.resolved",
        subject=approval.tool,
        details={
            "approval": str(approval.id),
            "hash": approval.hash,
            "resolution": str(resolution),
        },
    )


# See what waits for an answer, and what became of the rest.
#
# What is asked for is an agent's words, and as secret as its task: whichever task it is looked at
# in has read it then.


@dataclass(frozen=True, slots=True, kw_only=True)
class ListApprovals:
    approvals: Approvals
    contexts: Contexts
    clock: Clock

    async def __call__(
        self,
        caller: Principal,
        *,
        statuses: Sequence[Status] = (),
        before: ApprovalId | None = None,
        limit: int,
    ) -> Sequence[Approval]:
        """Newest first: everybody's, or for whoever may not answer them, their own. Raises
        `NotPermitted`."""
        require_scope(caller, Scope.APPROVALS_READ)
        of = None if caller.may(Scope.APPROVALS_ANSWER) else caller.id
        now = self.clock.now()
        found = await self.approvals.page(
            caller, of=of, statuses=statuses, before=before, now=now, limit=limit
        )
        if found:
            read = join(each.label for each in found)
            await self.contexts.raise_taint(caller, read, untrusted=True)
        return [each.as_of(now) for each in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountApprovals:
    """How many wait, without what they ask for."""

    approvals: Approvals
    contexts: Contexts
    clock: Clock

    async def __call__(self, caller: Principal, *, most: int) -> int:
        """As many as `ListApprovals` would show, `most` at most. A number tells of them too:
        whichever task it is looked at in has read what they say of themselves. Raises
        `NotPermitted`."""
        require_scope(caller, Scope.APPROVALS_READ)
        of = None if caller.may(Scope.APPROVALS_ANSWER) else caller.id
        found = await self.approvals.count_waiting(caller, of=of, now=self.clock.now(), most=most)
        if found:
            await self.contexts.raise_taint(caller, join(found), untrusted=True)
        return sum(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowApproval:
    approvals: Approvals
    contexts: Contexts
    clock: Clock

    async def __call__(self, caller: Principal, approval: ApprovalId) -> Approval:
        """One's own needs no scope: whoever may only call may know how theirs went. Raises
        `ApprovalNotFound`."""
        found = await self.approvals.get(caller, approval)
        if found.requester.id != caller.id and not caller.may(Scope.APPROVALS_ANSWER):
            raise ApprovalNotFound(str(approval))
        await self.contexts.raise_taint(caller, found.label, untrusted=True)
        return found.as_of(self.clock.now())
