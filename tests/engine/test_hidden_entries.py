"""What is above a reader leaves no trace: the stream is as if it had never been told."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.engine.event_log import Cursors
from portico.kernel.label import PUBLIC
from portico.testing.memory_store import BEGINNING
from tests.engine.watching import LOW, SEAL, SECRET, Reader, Sent, a_house

TOPICS = ("t", "u")


@dataclass(frozen=True)
class Tell:
    topic: str
    hidden: bool


@dataclass(frozen=True)
class Trim:
    """Everything that was told in the topic so far is forgotten, while nobody reads."""

    topic: str


@dataclass(frozen=True)
class Look:
    """The reader takes what there is; then it leaves, to come again by its last cursor, or not."""

    leaves: bool


@dataclass(frozen=True)
class Pass:
    """Time passes."""


Act = Tell | Trim | Look | Pass

TELLS = st.builds(Tell, st.sampled_from(TOPICS), st.booleans())
ACTS = st.lists(
    TELLS | TELLS | st.builds(Trim, st.sampled_from(TOPICS)) | st.builds(Look, st.booleans()),
    max_size=25,
)


@dataclass
class Model:
    """What a reader without any clearance is to be sent; of hidden entries it never hears."""

    topics: Sequence[str]
    told: dict[str, list[int]] = field(default_factory=lambda: {t: [] for t in TOPICS})
    shown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, -1))
    trimmed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, -1))

    def due(self, *, comes_again: bool) -> list[str]:
        sent = []
        for topic in self.topics:
            if comes_again and -1 < self.shown[topic] < self.trimmed[topic]:
                sent.append("reset")
            after = max(self.shown[topic], self.trimmed[topic])
            fresh = [when for when in self.told[topic] if when > after]
            sent += [f"e{when}" for when in fresh]
            self.shown[topic] = max([self.shown[topic], *fresh])
        return sorted(sent)


class SteppedClock:
    def __init__(self) -> None:
        self.step = 0

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.step)


class Play:
    """A house, a reader who comes and goes, and what it was sent at each look."""

    def __init__(self, topics: Sequence[str]) -> None:
        self.looks: list[list[Sent]] = []
        self._clock = SteppedClock()
        self._house = a_house(self._clock)
        self._model = Model(topics)
        self._cursors = Cursors.of(SEAL, LOW.space, topics)
        self._positions = dict.fromkeys(topics, 0)
        self._reader: Reader | None = None
        self._stays = AsyncExitStack()

    async def act(self, step: int, act: Act) -> None:
        self._clock.step = step
        match act:
            case Tell(topic, hidden):
                label = SECRET if hidden else PUBLIC
                await self._house.tell(f"e{step}", topic=topic, label=label)
                if not hidden:
                    self._model.told[topic].append(step)
            case Trim(topic) if self._reader is None:
                self._model.trimmed[topic] = step
                stream = self._house.world.streams.get((LOW.space, topic))
                if stream is not None:
                    self._house.log.trim(LOW.space, topic, stream.last + 1)
            case Look(leaves):
                await self._look(leaves=leaves)
            case Trim() | Pass():
                pass

    async def _look(self, *, leaves: bool) -> None:
        comes_again = self._reader is None
        if self._reader is None:
            opening = self._house.reading(LOW, self._positions)
            self._reader = await self._stays.enter_async_context(opening)
        due = self._model.due(comes_again=comes_again)
        sent = list(await self._reader.takes(len(due)))
        assert sorted(each.type for each in sent) == due
        self.looks.append(sent)
        if marked := [each.cursor for each in sent if each.cursor]:
            self._positions = self._cursors.positions(marked[-1])
        if leaves:
            assert await self._reader.is_left_alone()
            await self._stays.aclose()
            self._reader = None


async def played(acts: Sequence[Act], topics: Sequence[str]) -> list[list[Sent]]:
    play = Play(topics)
    for step, act in enumerate([*acts, Look(leaves=True)]):
        await play.act(step, act)
    return play.looks


def as_met(looks: list[list[Sent]]) -> list[list[tuple[str, int, int]]]:
    """All that can be seen of a cursor: how long it is, and whether one has met it before."""
    met: dict[str, int] = {}
    return [
        sorted((each.type, len(each.cursor), met.setdefault(each.cursor, 0)) for each in sent)
        for sent in looks
    ]


@pytest.mark.requirement("engine:events:labels")
@settings(max_examples=60)
@given(ACTS, st.sampled_from([("t",), TOPICS]))
def test_a_stream_is_as_if_hidden_entries_had_never_been_there(
    acts: list[Act], topics: tuple[str, ...]
) -> None:
    never = [Pass() if isinstance(act, Tell) and act.hidden else act for act in acts]

    with_hidden = asyncio.run(played(acts, topics))
    as_if_never = asyncio.run(played(never, topics))

    assert as_met(with_hidden) == as_met(as_if_never)
    marked = [each.cursor for look in with_hidden for each in look if each.cursor]
    assert len(marked) == len(set(marked))
