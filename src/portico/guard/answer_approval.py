"""Say yes or no to a request: whoever is first counts, and the others are told."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.guard.approval_ports import ApprovalNews, Approvals, ArgumentCheck, Errands
from portico.guard.ask_approval import asked_entry, sealed_for, shown_of
from portico.guard.core.act import Act, Action, Aim, TaskContext
from portico.guard.core.approval import (
    Answered,
    AnswerKind,
    Approval,
    Status,
    Via,
    answered,
    check_answerer,
    check_lasting,
    check_pattern,
    check_waiting,
    rule_of,
)
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.audit_facts import about_rule
from portico.guard.core.danger import marked
from portico.guard.core.errors import ApprovalOver, BadAnswer, BadRule, BlackedOut, RuleAsksOn
from portico.guard.core.roles import Scope
from portico.guard.core.rule_flaws import flaws_of
from portico.guard.core.rules import Ruling, matching
from portico.guard.permit import permit
from portico.guard.ports import Audit, Rules, Together, Vault
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.principal import Principal
from portico.kernel.redaction import BLACK


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
    errands: Errands
    news: ApprovalNews
    rules: Rules
    audit: Audit
    vault: Vault
    check: ArgumentCheck
    together: Together
    clock: Clock
    entropy: Entropy
    hide: Callable[[JsonValue], JsonValue]
    expires: timedelta

    async def __call__(self, caller: Principal, approval: ApprovalId, reply: Reply) -> Approval:
        """The request as it is then; of an edited one, the new one that is approved in its place.

        Raises `ApprovalNotFound`, `NotPermitted`, `PersonNeeded`, `OwnRequest`, `ApprovalOver`,
        `BadAnswer`, `BadRule`, `RuleAsksOn`, `BlackedOut`, and what a call with the new arguments
        would be refused for.
        """
        permit(caller, Scope.APPROVALS_ANSWER)
        found = await self.approvals.get(caller, approval)
        check_answerer(caller, found)
        check_waiting(found, self.clock.now())
        _check_reply(found, reply)
        await self._check_lasting(caller, found, reply.kind)
        if reply.pattern is not None:
            check_pattern(caller, found, reply.pattern)
        if reply.arguments is not None:
            await self.check(caller, found.tool, reply.arguments)
        async with self.together(caller):
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
        task = TaskContext(id=found.context, label=found.label)
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
            raise BadRule(rule.name, flaws)
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
        sealed = self.vault.seal(canonical(arguments), sealed_for(new.id))
        added = await self.approvals.add(caller, new, sealed)
        if added.id != new.id:
            raise ApprovalOver(str(added.id), added.status, None)
        await self.audit.note(caller, asked_entry(new), _answered_entry(new, answer))
        old = replace(found, status=Status.REPLACED, answered=answer, replaced_by=new.id)
        await self._settle(caller, old, answer)
        await self.news.tell(caller, "answered", new)
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
        if not await self.errands.wake(caller, now) and answer.kind is not AnswerKind.REJECT:
            raise ApprovalOver(str(now.id), "cancelled", None)
        await self.audit.note(caller, _answered_entry(now, answer))
        await self.news.tell(caller, "answered", now)


def _check_reply(found: Approval, reply: Reply) -> None:
    """Raises `BadAnswer`, `BlackedOut`."""
    if not isinstance(reply.kind, AnswerKind):
        raise BadAnswer(str(reply.kind), list(AnswerKind))
    if reply.kind is AnswerKind.REJECT and reply.arguments is not None:
        raise BadAnswer("reject with arguments", list(AnswerKind))
    if reply.arguments is not None and found.action is Action.DECLASSIFY:
        raise BadAnswer("yes to another text", found.answers)
    if reply.arguments is not None and BLACK in canonical(reply.arguments).decode():
        raise BlackedOut(str(found.id))


def _hash(approval: Approval, arguments: JsonObject) -> str:
    return _act(approval, arguments).hash


def _act(approval: Approval, arguments: JsonObject) -> Act:
    asker = approval.asker
    return Act(
        caller=Principal(
            id=asker.id, space=approval.space, kind=asker.kind, name=asker.name, key=asker.key
        ),
        action=approval.action,
        aim=Aim(
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
        facts={
            "approval": str(approval.id),
            "hash": approval.hash,
            "answer": str(answer.kind),
            "status": str(approval.status),
            "asker": str(approval.asker.id),
            "via": str(answer.via),
        },
    )
