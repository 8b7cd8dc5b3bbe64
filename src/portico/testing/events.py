"""The event log and the bus in memory."""

from collections.abc import Sequence
from dataclasses import replace

from portico.adapters.inline import InlineBus
from portico.engine.core.errors import TopicNotFound, TopicRefused
from portico.engine.core.event_log import Entry, NewEntry, Page
from portico.engine.ports import Bus
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import EventId, SpaceId
from portico.kernel.label import join
from portico.kernel.principal import Principal
from portico.testing.kernel import SeededEntropy, TickingClock
from portico.testing.world import MemoryWorld, RowRefused, Stream, all_or_nothing


class MemoryBus(InlineBus):
    """The bus of one process, which is what a test is."""


class MemoryEventLog:
    def __init__(
        self,
        world: MemoryWorld,
        bus: Bus | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self._world = world
        self._bus = bus or MemoryBus()
        self._clock = clock or TickingClock()
        self._entropy = entropy or SeededEntropy("events")

    async def append(self, caller: Principal, entries: Sequence[NewEntry]) -> Sequence[int]:
        with all_or_nothing():
            numbers = [self._append(caller, entry) for entry in entries]
        for entry in entries:
            self._bus.wake(caller.space, entry.topic)
        return numbers

    async def read(self, caller: Principal, topic: str, *, after: int, limit: int) -> Page:
        stream = self._world.streams.get((caller.space, topic))
        if stream is None or not caller.clearance.covers(stream.label):
            raise TopicNotFound(topic)
        start = 0 if after > stream.last else after
        kept = range(max(start + 1, stream.first), stream.last + 1)
        entries = (self._world.events[caller.space, topic, number] for number in kept)
        found = [entry for entry in entries if caller.clearance.covers(entry.label)][:limit]
        full = len(found) == limit > 0
        return Page(
            entries=found,
            position=found[-1].number if full else stream.last,
            first=stream.first,
            more=full,
        )

    def trim(self, space: SpaceId, topic: str, first: int) -> None:
        """Forget what came before `first`, as retention does."""
        stream = self._world.streams[space, topic]
        self._world.streams[space, topic] = replace(stream, first=first)
        self._world.events.drop(lambda place, _: place[:2] == (space, topic) and place[2] < first)

    def _append(self, caller: Principal, new: NewEntry) -> int:
        place = (caller.space, new.topic)
        if caller.space not in self._world.spaces:
            raise RowRefused(f"There is no space {caller.space}.")
        stream = self._world.streams.get(place) or Stream(new.topic_label, 1, 0)
        label = join([stream.label, new.label])
        if not caller.clearance.covers(label):
            raise TopicRefused
        number = stream.last + 1
        self._world.streams[place] = replace(stream, last=number)
        self._world.events[*place, number] = Entry(
            topic=new.topic,
            number=number,
            id=EventId.mint(self._clock.now(), self._entropy),
            type=new.type,
            at=self._clock.now(),
            by=caller.id,
            label=label,
            facts=new.facts,
        )
        return number
