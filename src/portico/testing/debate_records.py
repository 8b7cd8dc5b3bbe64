"""How debates turned out, and personas that people made, in memory."""

from collections.abc import Collection, Sequence
from datetime import datetime

from portico.debate.core.debaters import Persona
from portico.debate.core.debates import DebateId, Known, Outcome
from portico.debate.core.errors import PersonaNotFound
from portico.debate.core.vote_weights import known_of
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.bridge_walls import check_label
from portico.testing.debate_walls import check_mark, found, readable, whole_of
from portico.testing.world import MemoryWorld


class MemoryOutcomes:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def mark(self, caller: Principal, outcome: Outcome) -> None:
        its = found(self._world, caller, outcome.debate)
        check_label(self._world, caller, its.label)
        number = len(await self.of(caller, outcome.debate))
        self._world.debate_outcomes[caller.space, outcome.debate, number] = outcome

    async def of(self, caller: Principal, debate: DebateId) -> Sequence[Outcome]:
        its = self._world.debates.get((caller.space, debate))
        if its is None or not readable(caller, its):
            return []
        marked = [
            outcome
            for (space, id_, _), outcome in self._world.debate_outcomes.items()
            if (space, id_) == (caller.space, debate)
        ]
        return marked[::-1]

    async def known(
        self, caller: Principal, voices: Collection[str], *, limit: int, before: datetime
    ) -> Sequence[Known]:
        every = [
            known_of(whole_of(self._world, caller, its), marked[0])
            for (space, id_), its in self._world.debates.items()
            if space == caller.space
            and (marked := [each for each in await self.of(caller, id_) if each.at <= before])
        ]
        taking_part = [
            each for each in every if {ballot.voice for ballot in each.ballots} & {*voices}
        ]
        return sorted(taking_part, key=lambda each: each.at)[-limit:]


class MemoryPersonas:
    def __init__(self, world: MemoryWorld) -> None:
        self._world = world

    async def all(self, caller: Principal) -> Sequence[Persona]:
        mine = {
            name: each
            for (space, name), each in self._world.debate_personas.items()
            if space == caller.space
        }
        return [mine[name] for name in sorted(mine)]

    async def put(self, caller: Principal, persona: Persona) -> None:
        check_label(self._world, caller, PUBLIC)
        self._world.debate_personas[caller.space, persona.name] = persona

    async def remove(self, caller: Principal, name: str) -> None:
        if (caller.space, name) not in self._world.debate_personas:
            raise PersonaNotFound(name, [each.name for each in await self.all(caller)])
        check_mark(self._world, caller, PUBLIC)
        del self._world.debate_personas[caller.space, name]
