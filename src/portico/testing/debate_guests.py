"""Seats for guests, in memory."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from portico.debate.core.debaters import VoiceAsk, VoiceReply
from portico.debate.core.debates import DebateId, Seat
from portico.debate.core.errors import DebateOver, NothingAsked, NotSeated
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label
from portico.testing.debate_walls import at_table, check_mark, found, readable, seated
from portico.testing.world import KnownQuestion, MemoryWorld


class MemorySeats:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def ask(self, caller: Principal, debate: DebateId, ask: VoiceAsk) -> None:
        found(self._world, caller, debate)
        check_label(self._world, caller, ask.label)
        for (space, id_, guest), voice in list(self._world.debate_seats.items()):
            if (space, id_, voice.name) == (caller.space, debate, ask.voice.name):
                asked = KnownQuestion(guest, ask)
                self._world.debate_questions.setdefault((space, debate, ask.key), asked)

    async def secrecy(self, guest: Principal, debate: DebateId) -> Label:
        return at_table(self._world, guest, debate).label

    async def seat(self, guest: Principal, debate: DebateId) -> Seat:
        its = at_table(self._world, guest, debate)
        voice = self._world.debate_seats.get((guest.space, debate, guest.id))
        if voice is None:
            raise NotSeated(str(debate))
        asked = [each for each in self._questions(guest, debate) if each.guest == guest.id]
        now = next((each.ask for each in asked if each.reply is None), None)
        now = None if its.status.over else now
        every = self._questions(guest, debate)
        return Seat(
            voice=voice.name,
            question=its.question.text,
            asked=None if now is None else "\n\n".join(filter(None, [now.system, now.prompt])),
            key=None if now is None else now.key,
            schema=None if now is None else now.schema,
            until=its.deadline,
            label=its.label,
            run=its.run,
            turn=len(seated(self._world, guest, debate))
            + sum(each.reply is not None for each in every),
            over=its.status.over,
        )

    async def answer(self, guest: Principal, debate: DebateId, key: str, reply: VoiceReply) -> None:
        its = at_table(self._world, guest, debate)
        if (guest.space, debate, guest.id) not in self._world.debate_seats:
            raise NotSeated(str(debate))
        if its.status.over:
            raise DebateOver(str(debate))
        known = self._world.debate_questions.get((guest.space, debate, key))
        if known is None or known.guest != guest.id:
            raise NothingAsked(str(debate))
        if known.reply is None:
            check_mark(self._world, guest, its.label)
            place = (guest.space, debate, key)
            self._world.debate_questions[place] = replace(known, reply=reply)

    async def answered(
        self, caller: Principal, debate: DebateId, keys: Collection[str]
    ) -> Sequence[tuple[str, VoiceReply]]:
        its = self._world.debates.get((caller.space, debate))
        sees_all = its is not None and readable(caller, its)
        return [
            (each.ask.key, each.reply)
            for each in self._questions(caller, debate)
            if each.ask.key in keys
            and each.reply is not None
            and (sees_all or each.guest == caller.id)
        ]

    def _questions(self, caller: Principal, debate: DebateId) -> Sequence[KnownQuestion]:
        return [
            known
            for (space, id_, _), known in self._world.debate_questions.items()
            if (space, id_) == (caller.space, debate)
        ]
