"""Ask that a message be read by people who are cleared for less, and see what was lowered so far.

Nothing is lowered here: a person has to say yes first, who is another one, may read the message,
and sees every word that would be let out.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from portico.bridge.core.declassification import (
    DECLASSIFY,
    Declassification,
    Proposal,
    Redacted,
    check_lower,
    pin_of,
    signed_content,
)
from portico.bridge.core.errors import MessageNotFound
from portico.bridge.core.labelling import label_of
from portico.bridge.core.message import Message, MessageId
from portico.bridge.core.redacting import redacted
from portico.bridge.lowering_ports import Declassifications, Scanner, Signing
from portico.bridge.marks import Marks
from portico.bridge.open_conversation import OpenMessage
from portico.bridge.ports import Conversations
from portico.guard.approvals import AskApproval
from portico.guard.core.access_request import Act, Action, Aim, NeedsApproval
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal

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
    marks: Marks
    scan: Scanner
    ask: AskApproval

    async def __call__(self, caller: Principal, message: MessageId, to: Label) -> Proposal:
        """The same again is the same request. Raises `NotPermitted`, `MessageNotFound`, `NotLower`,
        `BelowContainer`, `AboveClearance`, `TooManyAsked`."""
        permit(caller, Scope.BRIDGE_WRITE)
        caller, found = await self.open_message(caller, message)
        inside = await self.conversations.get(caller, found.conversation)
        if found.deleted_at is not None:
            raise MessageNotFound(str(message))
        check_lower(found.label, to, inside.label)
        mark = await self.marks.at(caller)
        # The request is as secret as all that its task has read: also by somebody who was cleared
        # for more then.
        label_of(None, inside=found.label, mark=mark.label, clearance=caller.clearance)
        without = await without_findings(self.scan, found.body)
        asked = await self.ask(
            Act(
                caller=caller,
                action=Action.DECLASSIFY,
                aim=Aim(
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
    marks: Marks
    signing: Signing

    async def __call__(self, caller: Principal, message: MessageId) -> Sequence[Declassification]:
        """Of this message, or that it is a copy by; oldest first. Raises `NotPermitted`,
        `MessageNotFound`."""
        permit(caller, Scope.BRIDGE_READ)
        caller, _ = await self.open_message(caller, message)
        found = await self.declassifications.of(caller, message)
        await self.marks.read(caller, [record.before for record in found])
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
