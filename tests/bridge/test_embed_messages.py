"""What messages mean is kept behind everybody's back: all of it, and without end if need be."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from portico.bridge.core.message import MessageId
from portico.bridge.embed_messages import EmbedMessages
from portico.bridge.search_ports import ToEmbed
from portico.engine.core.errors import StoreUnavailable
from portico.kernel.ids import SpaceId
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.kernel import BEGINNING, SeededEntropy

ENTROPY = SeededEntropy("embedding")
HOME = SpaceId.mint(BEGINNING, ENTROPY)
ALL = Label(Level.RESTRICTED, frozenset({"finance"}))


@dataclass
class ScriptedVectors:
    texts: list[str]
    put_by: list[Principal] = field(default_factory=list)
    arranged: int = 0
    failures: list[Exception] = field(default_factory=list)
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    async def waiting(self) -> Sequence[SpaceId]:
        if self.failures:
            raise self.failures.pop(0)
        self.looked.set()
        return [HOME] if self.texts else []

    async def clearance(self, worker: Principal) -> Label:
        assert worker.space == HOME
        return ALL

    async def missing(self, worker: Principal, limit: int) -> Sequence[ToEmbed]:
        return [
            ToEmbed(message=MessageId.mint(BEGINNING, ENTROPY), text=text, at=BEGINNING)
            for text in self.texts[:limit]
        ]

    async def put(
        self, worker: Principal, vectors: Sequence[tuple[ToEmbed, Sequence[float]]]
    ) -> int:
        assert [vector for _, vector in vectors] == [(len(its.text),) for its, _ in vectors]
        self.put_by.append(worker)
        del self.texts[: len(vectors)]
        return len(vectors)

    async def arrange(self) -> int:
        self.arranged += 1
        return 0


async def lengths(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    return [(len(text),) for text in texts]


async def test_all_that_has_no_vector_is_given_one_by_somebody_who_may_see_it() -> None:
    vectors = ScriptedVectors(["x" * number for number in range(150)])
    embed = EmbedMessages(vectors=vectors, meaning=lengths)

    assert await embed() == 150
    assert await embed() == 0
    assert vectors.texts == []
    assert vectors.arranged == 1
    assert {(who.kind, who.clearance) for who in vectors.put_by} == {(PrincipalKind.WORKER, ALL)}


async def test_it_goes_on_whatever_happens(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[Exception] = [StoreUnavailable("away"), RuntimeError("odd")]
    vectors = ScriptedVectors(["hello"], failures=failures)
    embed = EmbedMessages(vectors=vectors, meaning=lengths)

    going_on = asyncio.ensure_future(embed.every(timedelta(0)))
    async with asyncio.timeout(5):
        await vectors.looked.wait()
    going_on.cancel()
    await asyncio.wait([going_on])

    told = [record.message for record in caplog.records]
    assert told == [
        "messages are not found by meaning for now: away",
        "what messages mean could not be kept; trying again later",
    ]
