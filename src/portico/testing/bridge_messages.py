"""Messages in memory: places without a gap, each key once, and what is hidden is not there."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import Archived, MessageNotFound, NotTheirs, WriteDown
from portico.bridge.core.messages import (
    Acknowledged,
    Message,
    MessageId,
    MessageVersion,
    NewMessage,
    label_of,
)
from portico.bridge.ports import Entered, Placed, Stamp, Stretch
from portico.engine.core.errors import KeyReused
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label, sees, takes_part, task_of, there
from portico.testing.world import MemoryWorld, Said, TakesPart


class MemoryMessages:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def send(self, caller: Principal, message: NewMessage, stamp: Stamp) -> Entered:
        known = there(self._world, caller, message.conversation)
        task = task_of(self._world, caller)
        inside = known.conversation.label
        before = self._with_key(caller, message)
        if before is not None:
            return _entered(before, inside)
        label = label_of(
            stamp.label, inside=inside, mark=task.label, clearance=caller.clearance
        ).label
        answered = self._answered(caller, message)
        if answered is not None and not label.covers(answered.label):
            raise WriteDown(label, answered.label)
        project = self._world.projects[caller.space, known.conversation.project]
        if known.conversation.archived_at or project.archived_at:
            raise Archived(str(message.conversation))
        said = Said(
            Message(
                id=stamp.id,
                conversation=message.conversation,
                sender=caller.id,
                sender_name=caller.name,
                body=message.body,
                label=label,
                reply_to=message.reply_to,
                thread=None if answered is None else answered.thread or answered.id,
                mentions=(*message.mentions, *stamp.named),
                addressed=message.addressed,
                attachments=message.attachments,
                acknowledge=message.acknowledge,
                untrusted=stamp.untrusted or task.untrusted,
                sent_at=stamp.at,
            ),
            known.last + 1,
            message,
        )
        self._world.messages.insert((caller.space, stamp.id), said)
        self._world.message_places[caller.space, message.conversation, said.place] = stamp.id
        self._world.conversations[caller.space, message.conversation] = replace(
            known, last=said.place, newest={**known.newest, label: stamp.at}
        )
        self._read_own(caller, said)
        return _entered(said, inside)

    async def end(self, caller: Principal, conversation: ConversationId) -> int:
        return there(self._world, caller, conversation).last

    async def get(self, caller: Principal, message: MessageId) -> Placed:
        return _placed(self._there(caller, message))

    async def after(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        after: int,
        limit: int,
        upto: Label | None = None,
        thread: MessageId | None = None,
    ) -> Stretch:
        known = there(self._world, caller, conversation)
        last = known.last
        found = [
            said
            for said in self._at(caller, conversation, range(after + 1, last + 1))
            if sees(self._world, caller, said, upto) and thread in (None, said.message.thread)
        ]
        more = len(found) > limit
        shown = found[:limit]
        end = (shown[-1].place if shown else after) if more else max(after, last)
        return Stretch(
            found=[_placed(said) for said in shown],
            inside=known.conversation.label,
            end=end,
            more=more,
        )

    async def before(
        self,
        caller: Principal,
        conversation: ConversationId,
        *,
        before: int | None,
        limit: int,
        upto: Label | None = None,
    ) -> Stretch:
        known = there(self._world, caller, conversation)
        last = known.last
        places = range(1, last + 1 if before is None else min(before, last + 1))
        found = [
            said
            for said in self._at(caller, conversation, places)
            if sees(self._world, caller, said, upto)
        ]
        shown = found[max(len(found) - limit, 0) :]
        return Stretch(
            found=[_placed(said) for said in shown],
            inside=known.conversation.label,
            end=shown[0].place if shown else 0,
            more=len(found) > len(shown),
        )

    async def edit(self, caller: Principal, message: Message, at: datetime) -> None:
        was = self._there(caller, message.id)
        if was.message.sender != caller.id:
            raise NotTheirs(str(message.id))
        if was.message.deleted_at is not None:
            raise MessageNotFound(str(message.id))
        if not message.label.covers(was.message.label):
            raise WriteDown(message.label, was.message.label)
        check_label(self._world, caller, message.label)
        changed = replace(
            was.message,
            body=message.body,
            label=message.label,
            untrusted=was.message.untrusted or message.untrusted,
            edited_at=at,
        )
        self._change(caller, was, changed, at)
        if message.label != was.message.label:
            self._rise(caller, changed, at)

    async def delete(
        self, caller: Principal, message: MessageId, at: datetime, *, others: bool = False
    ) -> None:
        was = self._there(caller, message)
        if was.message.sender != caller.id and not others:
            raise NotTheirs(str(message))
        if was.message.deleted_at is not None:
            return
        check_label(self._world, caller, was.message.label)
        gone = replace(was.message, body="", attachments=(), deleted_at=at)
        self._change(caller, was, gone, at)

    async def versions(self, caller: Principal, message: MessageId) -> Sequence[MessageVersion]:
        self._there(caller, message)
        every = [
            version
            for (space, id_, _), version in self._world.message_versions.items()
            if (space, id_) == (caller.space, message) and caller.clearance.covers(version.label)
        ]
        return sorted(every, key=lambda version: version.number)

    async def acknowledge(self, caller: Principal, message: MessageId, at: datetime) -> None:
        said = self._there(caller, message)
        check_label(self._world, caller, said.message.label)
        self._world.message_acks.setdefault((caller.space, message, caller.id), at)

    async def acknowledged(self, caller: Principal, message: MessageId) -> Sequence[Acknowledged]:
        self._there(caller, message)
        every = [
            Acknowledged(by=by, at=at)
            for (space, id_, by), at in self._world.message_acks.items()
            if (space, id_) == (caller.space, message)
        ]
        return sorted(every, key=lambda its: (its.at, its.by.value))

    async def overdue(self, caller: Principal, now: datetime, limit: int) -> Sequence[Placed]:
        late = [
            said
            for (space, _), said in self._world.messages.items()
            if space == caller.space
            and _late(said.message, now)
            and sees(self._world, caller, said)
            and self._concerns(caller, said.message)
        ]
        late.sort(key=lambda said: (said.message.sent_at, said.message.id.value))
        return [_placed(said) for said in late[:limit]]

    def _answered(self, caller: Principal, message: NewMessage) -> Message | None:
        if message.reply_to is None:
            return None
        said = self._there(caller, message.reply_to)
        if said.message.conversation != message.conversation:
            raise MessageNotFound(str(message.reply_to))
        return said.message

    def _with_key(self, caller: Principal, message: NewMessage) -> Said | None:
        if message.key is None:
            return None
        before = [
            said
            for (space, _), said in self._world.messages.items()
            if (space, said.message.sender) == (caller.space, caller.id)
            and said.asked.key == message.key
            and sees(self._world, caller, said)
        ]
        alike = next((said for said in before if said.asked == message), None)
        if before and alike is None:
            raise KeyReused(message.key, before[0].message.label)
        return alike

    def _there(self, caller: Principal, message: MessageId) -> Said:
        said = self._world.messages.get((caller.space, message))
        if said is None or not sees(self._world, caller, said):
            raise MessageNotFound(str(message))
        return said

    def _at(self, caller: Principal, conversation: ConversationId, places: range) -> list[Said]:
        ids = (self._world.message_places.get((caller.space, conversation, at)) for at in places)
        return [self._world.messages[caller.space, id_] for id_ in ids if id_ is not None]

    def _read_own(self, caller: Principal, said: Said) -> None:
        place = (caller.space, said.message.conversation, caller.id)
        if not takes_part(self._world, caller, said.message.conversation):
            inside = self._world.conversations[caller.space, said.message.conversation]
            if inside.conversation.label == said.message.label:
                self._world.participants[place] = TakesPart(said.message.sent_at, said.place)
            return
        part = self._world.participants[place]
        if part.read_to == said.place - 1:
            self._world.participants[place] = replace(part, read_to=said.place)
        else:
            self._world.participants[place] = replace(part, apart=part.apart | {said.place})

    def _change(self, caller: Principal, was: Said, changed: Message, at: datetime) -> None:
        numbers = [
            number
            for space, id_, number in self._world.message_versions
            if (space, id_) == (caller.space, changed.id)
        ]
        version = MessageVersion(
            number=max(numbers, default=0) + 1,
            body=was.message.body,
            label=was.message.label,
            by=caller.id,
            at=at,
        )
        self._world.message_versions[caller.space, changed.id, version.number] = version
        self._world.messages[caller.space, changed.id] = replace(was, message=changed)

    def _rise(self, caller: Principal, changed: Message, at: datetime) -> None:
        place = (caller.space, changed.conversation)
        known = self._world.conversations[place]
        newest = max(at, known.newest.get(changed.label, at))
        self._world.conversations[place] = replace(
            known, newest={**known.newest, changed.label: newest}
        )

    def _concerns(self, caller: Principal, message: Message) -> bool:
        owing = [
            who
            for who in message.addressed
            if (caller.space, message.id, who) not in self._world.message_acks
        ]
        return caller.id in owing or (message.sender == caller.id and bool(owing))


def _entered(said: Said, inside: Label) -> Entered:
    return Entered(message=said.message, place=said.place, inside=inside)


def _placed(said: Said) -> Placed:
    return Placed(message=said.message, place=said.place)


def _late(message: Message, now: datetime) -> bool:
    wanted = message.acknowledge
    return (
        message.deleted_at is None
        and wanted is not None
        and wanted.until is not None
        and wanted.until < now
    )
