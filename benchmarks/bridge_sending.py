"""Sending in `just bench bridge`: eight at once, beside the same rows put into the same table by
nothing but an INSERT; and how soon somebody elsewhere hears of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from statistics import median
from typing import Any, Final, LiteralString

import httpx2

from benchmarks.bridge_cast import LABELS, Cast, Talk
from benchmarks.bridge_corpus import Corpus
from portico.adapters.postgres.bridge.messages import PostgresMessages
from portico.adapters.postgres.bridge.visibility import digest_of
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.messages import MessageId, NewMessage
from portico.bridge.messages import SendMessage
from portico.bridge.ports import Stamp
from portico.kernel.principal import Principal

WRITERS: Final = 8
_FAR: Final = 1_000_000_000
"""Where bare rows are put: after all that will ever be said."""
_APART: Final = 0.05
"""Seconds between two sends that are waited for: nobody is busy with the last."""
_PATIENCE: Final = 10.0
_BARE: Final[LiteralString] = """
    INSERT INTO portico.message (
        space_id, conversation_id, seq, message_id, level, compartments, label, closed, sender,
        sender_name, body, key, digest, sent_at)
    VALUES (%(space)s, %(conversation)s, %(seq)s, %(message)s, %(level)s, %(compartments)s::text[],
            %(label)s, %(closed)s, %(sender)s, %(name)s, %(body)s, %(key)s, %(digest)s, %(at)s)
    RETURNING seq
"""

Figures = dict[str, Any]
Wish = tuple[Principal, Talk, str]
Way = Callable[[Principal, Talk, str], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    transactions: Transactions
    bare: Transactions
    """Of the administrator, for whom there are no walls."""
    send_message: SendMessage
    corpus: Corpus

    async def ratio(self, rounds: int, each: int) -> Figures:
        """Ways take turns, each first as often as the others."""
        numbers, rates = count(), dict[str, list[float]]()
        ways: dict[str, Way] = {
            "send": self._send,
            "store": self._stored,
            "bare": self._bare(count(_FAR)),
        }
        names = [*ways]
        for number in range(rounds + 1):
            turn = names[number % len(names) :] + names[: number % len(names)]
            for name in turn:
                rate = await self._rate(ways[name], each if number else 5, numbers)
                if number:
                    rates.setdefault(name, []).append(rate)
        sends, store, bare = (median(rates[name]) for name in ("send", "store", "bare"))
        pairs = zip(rates["send"], rates["bare"], strict=True)
        stored = zip(rates["store"], rates["bare"], strict=True)
        return {
            "send_ratio": median(one / other for one, other in pairs),
            "send_store_ratio": median(one / other for one, other in stored),
            "sends_per_s": sends,
            "store_sends_per_s": store,
            "bare_inserts_per_s": bare,
        }

    async def _rate(self, way: Way, each: int, numbers: "count[int]") -> float:
        said = [self._said(writer, each, numbers) for writer in range(WRITERS)]
        began = time.perf_counter()

        async def write(wishes: Sequence[Wish]) -> None:
            for who, talk, body in wishes:
                await way(who, talk, body)

        async with asyncio.TaskGroup() as writers:
            for wishes in said:
                writers.create_task(write(wishes))
        return WRITERS * each / (time.perf_counter() - began)

    def _said(self, number: int, each: int, numbers: "count[int]") -> Sequence[Wish]:
        """What one of them will say, and where: thought up before anything is timed."""
        cast, speech = self.corpus.cast, self.corpus.speech
        chance = Random(number)  # noqa: S311 # the same ones on every run
        who = writer(cast, number)
        place = cast.everybody.index(who)
        talks = [where for where, talk in enumerate(cast.talks) if place in talk.members]
        caller = replace(who, key=f"bench {who.name}")
        wishes = []
        for where in chance.choices(talks, k=each):
            body = f"{speech.text(speech.numbers(where))} {next(numbers)}"
            wishes.append((caller, cast.talks[where], body))
        return wishes

    async def _send(self, who: Principal, talk: Talk, body: str) -> None:
        await self.send_message(who, _wish(talk, body))

    async def _stored(self, who: Principal, talk: Talk, body: str) -> None:
        """By the store alone: what the use case asks before it is left away."""
        now = SystemClock().now()
        stamp = Stamp(id=MessageId.mint(now, system_entropy), at=now)
        await PostgresMessages(self.transactions).send(who, _wish(talk, body), stamp)

    def _bare(self, places: "count[int]") -> Way:
        async def put(who: Principal, talk: Talk, body: str) -> None:
            wish, now = _wish(talk, body), SystemClock().now()
            label = LABELS[talk.label]
            values = {
                "space": who.space.value,
                "conversation": talk.id,
                "seq": next(places),
                "message": MessageId.mint(now, system_entropy).value,
                "level": int(label.level),
                "compartments": sorted(label.compartments),
                "label": talk.label + 1,
                "closed": talk.closed,
                "sender": who.id.value,
                "name": who.name,
                "body": body,
                "key": f"bare {wish.key}",
                "digest": digest_of(wish),
                "at": now,
            }
            await self.bare.at_once(_BARE, values)

        return put

    async def push(self, url: str, key: str, many: int) -> Figures:
        """From when a send has returned here until a follower of a server has heard of it."""
        talk = next(each for each in self.corpus.cast.talks if each.label == 0 and not each.closed)
        who = replace(self.corpus.cast.everybody[talk.members[0]], key="push")
        heard: asyncio.Queue[float] = asyncio.Queue()
        spans, lost = [], 0
        async with following(url, key, ConversationId(talk.id), heard):
            await heard.get()  # the first is told in any case
            for number in range(many):
                await asyncio.sleep(_APART)
                while not heard.empty():
                    heard.get_nowait()
                await self.send_message(who, _wish(talk, f"push {number} {time.time_ns()}"))
                sent = time.perf_counter()
                try:
                    async with asyncio.timeout(_PATIENCE):
                        spans.append((await heard.get() - sent) * 1_000)
                except TimeoutError:
                    lost += 1
        spans.sort()
        return {
            "push_p50_ms": median(spans),
            "push_p95_ms": spans[int(len(spans) * 0.95)],
            "pushes": many,
            "pushes_lost": lost,
        }


def writer(cast: Cast, number: int) -> Principal:
    """The one who takes part in most, of the agents; then the next."""
    often = [sum(place in talk.members for talk in cast.talks) for place in range(cast.agents)]
    order = sorted(range(cast.agents), key=lambda place: -often[place])
    return cast.everybody[order[number % len(order)]]


def _wish(talk: Talk, body: str) -> NewMessage:
    return NewMessage(conversation=ConversationId(talk.id), body=body, key=f"bench {body[-60:]}")


@asynccontextmanager
async def following(
    url: str, key: str, conversation: ConversationId, heard: "asyncio.Queue[float]"
) -> AsyncIterator[None]:
    """A follower over the wire: when each of its wake-ups came."""
    headers = {"Authorization": f"Bearer {key}"}
    asked = {"conversation": str(conversation)}
    async with (
        httpx2.AsyncClient(
            base_url=f"{url}/api/v1", headers=headers, timeout=60, trust_env=False
        ) as client,
        client.stream("GET", "/bridge/events", params=asked) as told,
        asyncio.TaskGroup() as group,
    ):
        told.raise_for_status()

        async def listen() -> None:
            async for line in told.aiter_lines():
                if line.startswith("event: news"):
                    heard.put_nowait(time.perf_counter())

        listening = group.create_task(listen())
        try:
            yield
        finally:
            listening.cancel()
