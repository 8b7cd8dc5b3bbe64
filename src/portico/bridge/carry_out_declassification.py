"""The run behind a request to lower a message: it waits for the answer, and then posts the copy.

The copy, its record, the use of the yes and the entry in the audit are one transaction: however
many processes hear of the answer, and wherever one of them dies, there is one copy or none.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from portico.bridge.core.declassification import (
    Declassification,
    DeclassificationId,
    Lowered,
    digest_of,
    pin_of,
    signed_content,
)
from portico.bridge.core.errors import LoweredOtherwise
from portico.bridge.core.message import MessageId
from portico.bridge.core.news import topic_of
from portico.bridge.declassify import without_findings
from portico.bridge.lowering_ports import Declassifications, Scanner, Signing
from portico.bridge.ports import Messages
from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Bus
from portico.guard.approvals import ApprovalNews, Approvals, WaitForAnswer, about_end
from portico.guard.authentication import AsTheyAre
from portico.guard.core.access_request import Action
from portico.guard.core.approvals import Approval, Outcome, Status
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, KeyRing, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.durable import Durable
from portico.kernel.entropy import Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

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
    news: ApprovalNews
    audit: Audit
    together: Together
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
            together=self.together,
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
        as_they_are = AsTheyAre(key_ring=self.key_ring, clock=self.clock)
        asker = await as_they_are.no_more(caller, key=approval.asker.key, at=approval.asker.at)
        permit(asker, Scope.BRIDGE_WRITE)
        record, copy = await self._made(asker, approval)
        ended = replace(approval, outcome=Outcome.DONE, ended_at=record.at)
        async with self.together(asker):
            if not await self.approvals.claim(asker, approval.id, self.clock.now()):
                return _told(await self.approvals.get(asker, approval.id))
            await self.declassifications.add(asker, record, copy)
            await self.approvals.end(asker, ended)
            await self.audit.note(asker, _entry(record), about_end("approval.used", ended))
            await self.news.tell(asker, "used", ended)
        self.bus.wake(asker.space, topic_of(copy.conversation))
        return _told(ended)

    async def _made(self, asker: Principal, approval: Approval) -> tuple[Declassification, Lowered]:
        """From the message as it is now, which has to be as it was. Raises `LoweredOtherwise`."""
        source = MessageId.parse(str(approval.arguments["message"]))
        after = Label.parse(str(approval.arguments["to"]))
        found = (await self.messages.get(asker, source)).message
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
            asked_by=asker.id,
            approved_by=approval.answered.by,
            approval=approval.id,
            at=now,
            digest=digest_of(without.text),
        )
        signature = self.signing.sign(signed_content(asker.space, record))
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
        async with self.together(caller):
            if await self.approvals.claim(caller, approval.id, now):
                await self.approvals.end(caller, ended)
                await self.approvals.collect(caller, approval.id, now)
                await self.audit.note(caller, about_end("approval.used", ended))
                await self.news.tell(caller, "used", ended)
        return _told(await self.approvals.get(caller, approval.id))


def _its_own(durable: Durable, approval: Approval) -> bool:
    return (
        approval.run == durable.run
        and approval.asker.id == durable.caller.id
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
        facts={
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
