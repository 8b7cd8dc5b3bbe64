"""What was lowered on the bridge, in memory; and a signature that anybody can make."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from portico.bridge.core.declassification import Declassification, Lowered, pin_of
from portico.bridge.core.errors import MessageNotFound, NotApproved
from portico.bridge.core.messages import Message, MessageId, NewMessage
from portico.bridge.ports import Stamp
from portico.guard.core.access_request import Action
from portico.guard.core.approvals import Approval, Status
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.bridge_messages import MemoryMessages
from portico.testing.world import MemoryWorld, all_or_nothing


class MemoryDeclassifications:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world
        self._messages = MemoryMessages(world)

    async def add(self, caller: Principal, record: Declassification, copy: Lowered) -> None:
        """In a task that nobody is at: the one way past the mark."""
        source = await self._source(caller, record)
        kept = self._world.approvals.get((caller.space, record.approval))
        if kept is None or not self._yes(caller, kept.approval, source, record, copy):
            raise NotApproved(str(record.source))
        nowhere = replace(caller, context=None, place=f"approval {record.approval}")
        said = NewMessage(conversation=source.conversation, body=copy.text)
        stamp = Stamp(
            id=record.copy,
            label=record.after,
            at=record.at,
            untrusted=source.untrusted,
        )
        with all_or_nothing():
            await self._messages.send(nowhere, said, stamp)
            self._world.declassifications.insert((caller.space, record.approval), record)

    async def of(self, caller: Principal, message: MessageId) -> Sequence[Declassification]:
        found = [
            record
            for (space, _), record in self._world.declassifications.items()
            if space == caller.space
            and message in (record.source, record.copy)
            and caller.clearance.covers(record.before)
        ]
        return sorted(found, key=lambda record: (record.at, record.id.value))

    async def _source(self, caller: Principal, record: Declassification) -> Message:
        try:
            source = (await self._messages.get(caller, record.source)).message
        except MessageNotFound as gone:
            raise NotApproved(str(record.source)) from gone
        if source.deleted_at is not None or not source.label.covers(record.after):
            raise NotApproved(str(record.source))
        return source

    def _yes(
        self,
        caller: Principal,
        approval: Approval,
        source: Message,
        record: Declassification,
        copy: Lowered,
    ) -> bool:
        answered = approval.answered
        by = None if answered is None else self._world.identities.get((caller.space, answered.by))
        return (
            by is not None
            and by.kind is PrincipalKind.PERSON
            and by.id != caller.id == approval.asker.id
            and approval.action is Action.DECLASSIFY
            and approval.status is Status.APPROVED
            and approval.used
            and approval.outcome is None
            and approval.label.covers(source.label)
            and approval.pin == pin_of(source.id, source.label, record.after, copy.text)
        )


class PlainSigning:
    def sign(self, content: bytes) -> str:
        return f"plain:{hashlib.sha256(content).hexdigest()}"

    def holds(self, content: bytes, signature: str) -> bool:
        return signature == self.sign(content)
