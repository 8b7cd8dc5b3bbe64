"""`whoami`, `inbox`, `send`, `search`, `change`: what is said, and what waits for one."""

from dataclasses import dataclass

from portico.bridge.core.errors import BadBridgeInput
from portico.bridge.core.messages import MessageId, NewMessage, Sent, Wanted
from portico.bridge.taint import looking
from portico.interfaces.mcp.bridge.facts import (
    inbox_facts,
    message_facts,
    messages_facts,
    self_facts,
)
from portico.interfaces.mcp.bridge.given import Given
from portico.interfaces.mcp.bridge.told import RAISED
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.bridge.words import (
    inbox_words,
    message_words,
    messages_words,
    self_words,
)
from portico.interfaces.mcp.told import Told, lines
from portico.kernel.errors import Flaw
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Talk:
    use: BridgeUses

    async def whoami(self, caller: Principal, _given: Given) -> Told:
        facts = self_facts(await self.use.bridge.talk.who_am_i(caller))
        return Told(self_words(facts), facts)

    async def inbox(self, caller: Principal, given: Given) -> Told:
        inbox = await self.use.bridge.talk.show_inbox(caller, upto=given.upto)
        facts = inbox_facts(inbox, caller.id)
        return Told(inbox_words(facts), facts)

    async def send(self, caller: Principal, given: Given) -> Told:
        talk = self.use.bridge.talk
        answers = given.message("reply_to")
        message = await self._message(caller, given, answers)
        if given.switch("ack"):
            if answers is None:
                raise BadBridgeInput([Flaw("reply_to", "is needed: what you acknowledge")])
            await talk.acknowledge(caller, answers)
            if not message.body and not message.attachments:
                return Told(f"{answers} is acknowledged.", {"acknowledged": str(answers)})
        return _sent(await talk.send_message(caller, message))

    async def _message(
        self, caller: Principal, given: Given, answers: MessageId | None
    ) -> NewMessage:
        within = given.seconds("ack_within")
        until = None if within is None else self.use.clock.now() + within
        return NewMessage(
            conversation=given.conversation(),
            body=given.text("body") or "",
            label=given.label(),
            reply_to=answers,
            mentions=await self.use.bridge.talk.name_people(caller, given.texts("mentions")),
            addressed=await self.use.bridge.talk.name_people(caller, given.texts("to")),
            attachments=given.digests(),
            acknowledge=None if until is None else Wanted(until=until),
            key=given.text("key"),
        )

    async def search(self, caller: Principal, given: Given) -> Told:
        talk = self.use.bridge.talk
        project = None
        if (which := given.text("project")) is not None:
            project = (await talk.show_project(looking(caller, given.upto), which)).id
        hits = await talk.search_messages(
            caller,
            given.needed("query"),
            project=project,
            conversation=given.conversation() if "conversation" in given else None,
            by_meaning=given.switch("by_meaning") or False,
            limit=given.number("limit") or 20,
            upto=given.upto,
        )
        facts = messages_facts([hit.message for hit in hits], caller.id)
        text = messages_words(facts, where=True) or "Nothing was found."
        return Told(text, {"messages": facts})

    async def change(self, caller: Principal, given: Given) -> Told:
        talk = self.use.bridge.talk
        message = MessageId.parse(given.needed("message"))
        wanted = [field for field in ("body", "delete", "lower_to") if given.value(field)]
        if len(wanted) != 1:
            raise BadBridgeInput([Flaw("body", "or delete or lower_to is needed, and one alone")])
        if (lower_to := given.label("lower_to")) is not None:
            return await self._lowered(caller, message, lower_to)
        if given.switch("delete"):
            await talk.delete_message(caller, message)
            return Told(f"{message} is deleted.", {"deleted": str(message)})
        changed = await talk.edit_message(caller, message, given.needed("body"))
        facts = message_facts(changed, caller.id)
        return Told(message_words(facts), facts)

    async def _lowered(self, caller: Principal, message: MessageId, to: Label) -> Told:
        """Nothing has happened yet."""
        letting_out = self.use.bridge.letting_out
        asked = await letting_out.propose_declassification(caller, message, to)
        return Told(
            f"A person has been asked whether {message} may be read as {to} ({asked.approval}); "
            "if they say yes, a copy of it is sent without what was found in it that must not be.",
            {
                "approval": str(asked.approval),
                "from": str(asked.before),
                "to": str(asked.after),
                "text": asked.redacted.text,
            },
        )


def _sent(sent: Sent) -> Told:
    message = sent.message
    how = "was sent before, with the same key" if sent.replayed else "is sent"
    absent = [str(who) for who in sent.absent]
    away = f"Not told, since they take no part: {', '.join(absent)}." if absent else ""
    return Told(
        lines(f"{message.id} {how} as {message.label}.", RAISED if sent.raised else "", away),
        {
            "id": str(message.id),
            "label": str(message.label),
            "raised": sent.raised,
            "replayed": sent.replayed,
            "absent": absent,
        },
    )
