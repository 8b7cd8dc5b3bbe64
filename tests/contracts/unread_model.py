"""What is unread, counted one by one: who has read which message, and nothing else is known."""

from dataclasses import dataclass, field, replace

from portico.bridge.core.conversations import Conversation
from portico.bridge.core.messages import Message
from portico.kernel.label import PUBLIC, Label, join, meet
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import FINANCE, LAW, SECRET, TEAM
from tests.contracts.bridge_talk import at, edited, say, to
from tests.contracts.doors import Doors

LABELS = [TEAM, FINANCE, LAW, SECRET]
CLEARANCES = [PUBLIC, TEAM, FINANCE, LAW, SECRET]


@dataclass(frozen=True, slots=True)
class Step:
    verb: int
    who: int
    which: int
    label: int


@dataclass(slots=True)
class Reader:
    """`read` are the places that they have read; None, if they take no part."""

    principal: Principal
    read: dict[int, set[int] | None] = field(default_factory=dict)
    muted: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Known:
    message: Message
    place: int
    talk: int
    gone: bool = False


class UnreadModel:
    """Does the same to the doors and by itself, and compares."""

    def __init__(
        self, doors: Doors, root: Principal, readers: list[Principal], talks: list[Conversation]
    ) -> None:
        self._doors = doors
        self._root = root
        self._talks = talks
        self._readers = [
            Reader(root, {number: set() for number in range(len(talks))}),
            *(Reader(reader, dict.fromkeys(range(len(talks)))) for reader in readers),
        ]
        self._said: list[Known] = []
        self.verbs = [
            self._send,
            self._send,
            self._send,
            self._read_to,
            self._read_some,
            self._read_one,
            self._delete,
            self._raise,
            self._clear,
            self._join,
            self._leave,
            self._mute,
        ]

    async def take(self, step: Step) -> None:
        reader = self._readers[step.who % len(self._readers)]
        await self.verbs[step.verb % len(self.verbs)](step, reader)
        other = self._readers[step.which % len(self._readers)]
        await self._check(other, FINANCE if step.label % 3 == 0 else None)

    async def check(self) -> None:
        for reader in self._readers:
            for upto in (None, FINANCE):
                await self._check(reader, upto)

    async def _check(self, reader: Reader, upto: Label | None) -> None:
        found = await self._doors.read_state.unread(reader.principal, max_label=upto)
        told = {each.conversation: (each.count, each.mentions, each.label) for each in found}
        assert told == self._counted(reader, upto), reader.principal.name

    def _counted(self, reader: Reader, upto: Label | None) -> dict[object, object]:
        counted: dict[object, object] = {}
        for number, talk in enumerate(self._talks):
            read = reader.read[number]
            if read is None or number in reader.muted or not self._sees(reader, talk.label):
                continue
            new = [
                known.message
                for known in self._said
                if known.talk == number
                and not known.gone
                and known.place not in read
                and self._sees(reader, known.message.label, upto)
            ]
            if new:
                named = sum(reader.principal.id in message.mentions for message in new)
                counted[talk.id] = (len(new), named, join([message.label for message in new]))
        return counted

    def _sees(self, reader: Reader, label: Label, upto: Label | None = None) -> bool:
        clearance = reader.principal.clearance
        return (clearance if upto is None else meet(clearance, upto)).covers(label)

    def _everything(self, talk: int) -> set[int]:
        return {known.place for known in self._said if known.talk == talk}

    async def _send(self, step: Step, reader: Reader) -> None:
        number = step.which % len(self._talks)
        talk = self._talks[number]
        label = join([talk.label, LABELS[step.label % len(LABELS)]])
        if not self._sees(reader, label):
            return
        named = self._readers[step.which % len(self._readers)].principal.id
        body = f"number {len(self._said)}"
        message = to(talk, body, mentions=(named,) if step.label % 2 else ())
        placed = await say(self._doors, reader.principal, talk, label=label, message=message)
        read = reader.read[number]
        if read is None and label == talk.label:  # so they take part
            reader.read[number] = read = self._everything(number)
        if read is not None:
            read.add(placed.position)
        self._said.append(Known(placed.message, placed.position, number))

    async def _read_to(self, step: Step, reader: Reader, upto: Label | None = None) -> None:
        number = step.which % len(self._talks)
        every = sorted(self._everything(number))
        place = every[step.label % len(every)] if every else 0
        await self._doors.read_state.read_to(
            reader.principal, self._talks[number].id, place, max_label=upto
        )
        read = reader.read[number]
        if read is not None and self._sees(reader, self._talks[number].label):
            read.update(
                known.place
                for known in self._said
                if known.talk == number
                and known.place <= place
                and (upto is None or self._sees(reader, known.message.label, upto))
            )

    async def _read_some(self, step: Step, reader: Reader) -> None:
        await self._read_to(step, reader, LABELS[step.label % len(LABELS)])

    async def _read_one(self, step: Step, reader: Reader) -> None:
        if not self._said:
            return
        known = self._said[step.which % len(self._said)]
        await self._doors.read_state.read_one(reader.principal, known.message.id)
        read = reader.read[known.talk]
        if read is not None and self._sees(reader, known.message.label):
            read.add(known.place)

    async def _delete(self, step: Step, reader: Reader) -> None:
        known = self._mine(step, reader)
        if known is not None:
            await self._doors.messages.delete(reader.principal, known.message.id, at(5))
            known.gone = True

    async def _raise(self, step: Step, reader: Reader) -> None:
        known = self._mine(step, reader)
        if known is None or known.gone:
            return
        label = join([known.message.label, LABELS[step.label % len(LABELS)]])
        if self._sees(reader, label):
            changed = edited(known.message, "changed", label)
            await self._doors.messages.edit(reader.principal, changed, at(6))
            known.message = changed

    def _mine(self, step: Step, reader: Reader) -> Known | None:
        mine = [
            known
            for known in self._said
            if known.message.sender == reader.principal.id
            and self._sees(reader, known.message.label)
        ]
        return mine[step.which % len(mine)] if mine else None

    async def _clear(self, step: Step, reader: Reader) -> None:
        if reader is not self._readers[0]:
            clearance = CLEARANCES[step.label % len(CLEARANCES)]
            reader.principal = replace(reader.principal, clearance=clearance)

    async def _join(self, step: Step, reader: Reader) -> None:
        number = step.which % len(self._talks)
        await self._doors.conversations.join(
            self._root, self._talks[number].id, reader.principal.id
        )
        if reader.read[number] is None:
            reader.read[number] = self._everything(number)
            reader.muted.discard(number)

    async def _leave(self, step: Step, reader: Reader) -> None:
        number = step.which % len(self._talks)
        if reader.read[number] is not None and reader is not self._readers[0] and step.label % 2:
            await self._doors.conversations.leave(
                self._root, self._talks[number].id, reader.principal.id
            )
            reader.read[number] = None
            reader.muted.discard(number)

    async def _mute(self, step: Step, reader: Reader) -> None:
        number = step.which % len(self._talks)
        talk = self._talks[number]
        if reader.read[number] is None or not self._sees(reader, talk.label):
            return
        muted = bool(step.label % 3 == 0)
        await self._doors.conversations.mute(reader.principal, talk.id, muted=muted)
        if muted:
            reader.muted.add(number)
        else:
            reader.muted.discard(number)
