"""Say something differently, or take it back; and what it was before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from portico.bridge.core.audit_facts import about_deletion
from portico.bridge.core.labelling import check_shared, label_of
from portico.bridge.core.message import Message, MessageId, MessageVersion
from portico.bridge.core.saying import flaws_of_body
from portico.bridge.core.spelling import check_flaws
from portico.bridge.marks import Marks
from portico.bridge.open_conversation import OpenMessage
from portico.bridge.ports import Messages
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.clock import Clock
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class EditMessage:
    messages: Messages
    open_message: OpenMessage
    marks: Marks
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId, body: str) -> Message:
        """As secret as it was, and as what was read in this task: it is then hidden from those who
        may read less. Raises `NotPermitted`, `BadBridgeInput`, `MessageNotFound`, `NotTheirs`,
        `AboveClearance`, `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, was = await self.open_message(caller, message)
        check_flaws(flaws_of_body(body, empty=bool(was.attachments)))
        mark = await self.marks.at(caller)
        labelled = label_of(None, inside=was.label, mark=mark.label, clearance=caller.clearance)
        now = self.clock.now()
        changed = replace(
            was,
            body=body,
            label=labelled.label,
            untrusted=was.untrusted or mark.untrusted,
            edited_at=now,
        )
        await self.messages.edit(caller, changed, now)
        return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMessage:
    messages: Messages
    open_message: OpenMessage
    marks: Marks
    together: Together
    audit: Audit
    clock: Clock

    async def __call__(self, caller: Principal, message: MessageId) -> None:
        """That it was there remains. Raises `NotPermitted`, `MessageNotFound`, `NotTheirs`,
        `WriteDown`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, was = await self.open_message(caller, message)
        check_shared(was.label, (await self.marks.at(caller)).label)
        others = caller.may(Scope.BRIDGE_MANAGE)
        async with self.together(caller):
            await self.messages.delete(caller, message, self.clock.now(), others=others)
            if was.sender != caller.id:
                await self.audit.note(caller, about_deletion(was))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowVersions:
    messages: Messages
    open_message: OpenMessage
    marks: Marks

    async def __call__(self, caller: Principal, message: MessageId) -> Sequence[MessageVersion]:
        """What it said before, oldest first. Raises `NotPermitted`, `MessageNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        versions = await self.messages.versions(caller, message)
        await self.marks.read(caller, [version.label for version in versions])
        return versions
