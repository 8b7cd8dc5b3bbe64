"""Declassify: propose, approve, carry out."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from portico.bridge.conversations import OpenMessage
from portico.bridge.core.activity import topic_of
from portico.bridge.core.declassification import (
    DECLASSIFY,
    Declassification,
    DeclassificationId,
    Lowered,
    Proposal,
    Redacted,
    ScanMatch,
    check_lower,
    digest_of,
    pin_of,
    redacted,
    signed_content,
)
from portico.bridge.core.errors import LoweredOtherwise, MessageNotFound
from portico.bridge.core.messages import Message, MessageId, label_of
from portico.bridge.ports import Conversations, Messages
from portico.bridge.taint import TaintRecorder
from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Bus
from portico.guard.approvals import ApprovalEvents, Approvals, AskApproval, WaitForAnswer, about_end
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.access_request import AccessRequest, Action, ActionTarget, NeedsApproval
from portico.guard.core.approvals import Approval, Outcome, Status
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, KeyRing, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock, Entropy
from portico.kernel.durable import Durable
from portico.kernel.effect import Effect
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

# What the bridge needs to let something out: to look through it, say it again, sign for it.


class Scanner(Protocol):
    def __call__(self, text: str) -> Sequence[ScanMatch]: ...


class Declassifications(Protocol):
    async def add(self, caller: Principal, record: Declassification, copy: Lowered) -> None:
        """The copy at the end of its conversation, sent by the caller, and the record of it; both
        or neither. The store looks by itself whether a person has said yes to exactly this.
        Raises `NotApproved`, `Archived`."""
        ...

    async def of(self, caller: Principal, message: MessageId) -> Sequence[Declassification]:
        """Of what was made of it, or what it was made of, for those who may know what it was made
        of; oldest first."""
        ...


class Signing(Protocol):
    def sign(self, content: bytes) -> str: ...

    def holds(self, content: bytes, signature: str) -> bool:
        """Whether it is our signature of this."""
        ...


# Ask that a message be read by people who are cleared for less, and see what was lowered so far.
#
# Nothing is lowered here: a person has to say yes first, who is another one, may read the message,
# and sees every word that would be let out.

RULE: Final = "bridge:declassification"
_MOST_LINES: Final = 400
"""Of changes that are shown; the text that is let out is always shown whole."""


async def without_findings(scan: Scanner, text: str) -> Redacted:
    """Beside whatever else is going on: a long text takes a while to be looked through."""
    return await asyncio.to_thread(lambda: redacted(text, scan(text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeDeclassification:
    conversations: Conversations
    open_message: OpenMessage
    taint: TaintRecorder
    scan: Scanner
    ask: AskApproval

    async def __call__(self, caller: Principal, message: MessageId, to: Label) -> Proposal:
        """The same again is the same request. Raises `NotPermitted`, `MessageNotFound`, `NotLower`,
        `BelowContainer`, `AboveClearance`, `TooManyPendingApprovals`."""
        require_scope(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_message(caller, message)
        inside = await self.conversations.get(caller, found.conversation)
        if found.deleted_at is not None:
            raise MessageNotFound(str(message))
        check_lower(found.label, to, inside.label)
        mark = await self.taint.at(caller)
        # The request is as secret as all that its task has read: also by somebody who was cleared
        # for more then.
        label_of(None, inside=found.label, mark=mark.label, clearance=caller.clearance)
        without = await without_findings(self.scan, found.body)
        asked = await self.ask(
            AccessRequest(
                caller=caller,
                action=Action.DECLASSIFY,
                target=ActionTarget(
                    tool=DECLASSIFY,
                    server="bridge",
                    effect=Effect.IRREVERSIBLE,
                    pin=pin_of(message, found.label, to, without.text),
                ),
                arguments=_shown(found, to, without),
            ),
            mark,
            NeedsApproval(RULE, f"What is {found.label} could then be read as {to}."),
        )
        return Proposal(
            message=message,
            before=found.label,
            after=to,
            redacted=without,
            approval=asked.id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDeclassifications:
    declassifications: Declassifications
    open_message: OpenMessage
    taint: TaintRecorder
    signing: Signing

    async def __call__(self, caller: Principal, message: MessageId) -> Sequence[Declassification]:
        """Of this message, or that it is a copy by; oldest first. Raises `NotPermitted`,
        `MessageNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        found = await self.declassifications.of(caller, message)
        await self.taint.read(caller, [record.before for record in found])
        return [replace(record, sound=self._sound(caller, record)) for record in found]

    def _sound(self, caller: Principal, record: Declassification) -> bool:
        return self.signing.holds(signed_content(caller.space, record), record.signature)


def _shown(message: Message, to: Label, without: Redacted) -> JsonObject:
    """To whoever has to say yes: everything that would be let out, and what was blacked out by
    which rule. No secret is in it."""
    lines = without.diff[:_MOST_LINES]
    more = len(without.diff) - len(lines)
    return {
        "message": str(message.id),
        "conversation": str(message.conversation),
        "from": str(message.label),
        "to": str(to),
        "found": dict(Counter(each.rule for each in without.findings)),
        "text": without.text,
        "changes": [*lines, *([f"and {more} lines more"] if more else [])],
        "attachments_left_out": len(message.attachments),
    }


# The run behind a request to lower a message: it waits for the answer, and then posts the copy.
#
# The copy, its record, the use of the yes and the entry in the audit are one transaction: however
# many processes hear of the answer, and wherever one of them dies, there is one copy or none.

DECLASSIFICATION: Final = "declassification"
"""The kind of such a run."""
_PAUSE: Final = 0.2
"""Seconds, while the database is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOutDeclassification:
    approvals: Approvals
    messages: Messages
    declassifications: Declassifications
    scan: Scanner
    signing: Signing
    key_ring: KeyRing
    news: ApprovalEvents
    audit: Audit
    unit_of_work: UnitOfWork
    bus: Bus
    clock: Clock
    entropy: Entropy

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        seen = await self._waiting(durable, given)
        match seen:
            case {"status": Status.APPROVED, "approval": str(approved)}:
                which = ApprovalId.parse(approved)
                return await durable.step("lower", lambda _: self._lower(durable, which))
            case _:
                return seen

    @property
    def _waiting(self) -> WaitForAnswer:
        return WaitForAnswer(
            approvals=self.approvals,
            news=self.news,
            audit=self.audit,
            unit_of_work=self.unit_of_work,
            clock=self.clock,
        )

    async def _lower(self, durable: Durable, which: ApprovalId) -> JsonValue:
        """However long the database is away: what is tried again is done once."""
        while True:
            try:
                return await self._lowered(durable, which)
            except StoreUnavailable:
                await asyncio.sleep(_PAUSE)

    async def _lowered(self, durable: Durable, which: ApprovalId) -> JsonValue:
        caller = durable.caller
        approval = await self.approvals.get(caller, which)
        if not _its_own(durable, approval):
            return {"status": "not its own"}
        if approval.status_at(self.clock.now()) is Status.EXPIRED:
            return await self._waiting.expire(durable, which)
        if approval.used:
            return _told(approval)
        try:
            return await self._carried_out(caller, approval)
        except StoreUnavailable:
            raise
        except PorticoError as error:
            return await self._given_up(caller, approval, error)

    async def _carried_out(self, caller: Principal, approval: Approval) -> JsonValue:
        """As whoever asked, with what they may now. Raises `KeyEnded`, `NotPermitted`,
        `MessageNotFound`, `LoweredOtherwise`, `NotApproved`, `Archived`."""
        as_they_are = RevalidatePrincipal(key_ring=self.key_ring, clock=self.clock)
        asker = await as_they_are.no_more(
            caller, key=approval.requester.key, at=approval.requester.at
        )
        require_scope(asker, Scope.BRIDGE_WRITE)
        record, copy = await self._made(asker, approval)
        ended = replace(approval, outcome=Outcome.DONE, ended_at=record.at)
        async with self.unit_of_work(asker):
            if not await self.approvals.claim(asker, approval.id, self.clock.now()):
                return _told(await self.approvals.get(asker, approval.id))
            await self.declassifications.add(asker, record, copy)
            await self.approvals.end(asker, ended)
            await self.audit.note(asker, _entry(record), about_end("approval.used", ended))
            await self.news.publish(asker, "used", ended)
        self.bus.wake(asker.space, topic_of(copy.conversation))
        return _told(ended)

    async def _made(
        self, requester: Principal, approval: Approval
    ) -> tuple[Declassification, Lowered]:
        """From the message as it is now, which has to be as it was. Raises `LoweredOtherwise`."""
        source = MessageId.parse(str(approval.arguments["message"]))
        after = Label.parse(str(approval.arguments["to"]))
        found = (await self.messages.get(requester, source)).message
        without = await without_findings(self.scan, found.body)
        same = pin_of(source, found.label, after, without.text) == approval.pin
        if not same or found.deleted_at is not None or approval.answered is None:
            raise LoweredOtherwise(str(source))
        now = self.clock.now()
        record = Declassification(
            id=DeclassificationId.mint(now, self.entropy),
            source=source,
            copy=MessageId.mint(now, self.entropy),
            before=found.label,
            after=after,
            rules=tuple(sorted({each.rule for each in without.findings})),
            asked_by=requester.id,
            approved_by=approval.answered.by,
            approval=approval.id,
            at=now,
            digest=digest_of(without.text),
        )
        signature = self.signing.sign(signed_content(requester.space, record))
        copy = Lowered(
            conversation=found.conversation, text=without.text, untrusted=found.untrusted
        )
        return replace(record, signature=signature), copy

    async def _given_up(
        self, caller: Principal, approval: Approval, error: PorticoError
    ) -> JsonValue:
        """The yes is used up, and whoever wants it still asks anew."""
        now = self.clock.now()
        ended = replace(approval, outcome=Outcome.FAILED, error=str(error), ended_at=now)
        async with self.unit_of_work(caller):
            if await self.approvals.claim(caller, approval.id, now):
                await self.approvals.end(caller, ended)
                await self.approvals.collect(caller, approval.id, now)
                await self.audit.note(caller, about_end("approval.used", ended))
                await self.news.publish(caller, "used", ended)
        return _told(await self.approvals.get(caller, approval.id))


def _its_own(durable: Durable, approval: Approval) -> bool:
    return (
        approval.run == durable.run
        and approval.requester.id == durable.caller.id
        and approval.action is Action.DECLASSIFY
        and approval.replaces is None
    )


def _told(approval: Approval) -> JsonObject:
    return {
        "status": str(approval.status),
        "outcome": None if approval.outcome is None else str(approval.outcome),
    }


def _entry(record: Declassification) -> AuditEntry:
    return AuditEntry(
        action="bridge.declassified",
        subject=str(record.source),
        details={
            "record": str(record.id),
            "copy": str(record.copy),
            "from": str(record.before),
            "to": str(record.after),
            "rules": [*record.rules],
            "approval": str(record.approval),
            "approved_by": str(record.approved_by),
            "digest": record.digest,
            "signature": record.signature,
        },
    )
