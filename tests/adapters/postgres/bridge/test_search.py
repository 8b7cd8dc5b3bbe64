"""What messages mean, by vectors: kept behind everybody's back, found behind the same walls."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import LiteralString

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bridge.search import (
    MessageGraphs,
    PostgresMessageSearch,
    PostgresMessageVectors,
)
from portico.adapters.postgres.transaction import EnginePool, Transactions
from portico.bridge.core.conversations import Conversation
from portico.bridge.search import EmbedMessages
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal, PrincipalKind
from tests.contracts.bridge_people import FINANCE, SECRET, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, at, edited, say
from tests.contracts.doors import Doors

pytestmark = [pytest.mark.postgres]

MODEL = "a model"


async def meaning(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Numbers mean points on a circle; words mean nothing."""
    return [_point(text.split()[-1]) for text in texts]


def _point(word: str) -> list[float]:
    if not word.isdigit():
        return [0.0, 0.0]
    angle = int(word) / 1000
    return [math.cos(angle), math.sin(angle)]


@dataclass(frozen=True)
class Room:
    doors: Doors
    vectors: PostgresMessageVectors
    search: PostgresMessageSearch
    addresses: Addresses

    @property
    def embed(self) -> EmbedMessages:
        return EmbedMessages(vectors=self.vectors, meaning=meaning)

    async def near(
        self,
        caller: Principal,
        number: int,
        *,
        inside: Conversation | None = None,
        upto: Label | None = None,
        limit: int = 3,
    ) -> list[str]:
        hits = await self.search.by_meaning(
            caller,
            _point(str(number)),
            project=None,
            conversation=None if inside is None else inside.id,
            max_label=upto,
            limit=limit,
        )
        return [hit.message.body for hit in hits]


@pytest.fixture
async def room(
    embedded_database: Addresses, transactions: Transactions, doors: Doors
) -> AsyncIterator[Room]:
    engine = EnginePool(str(embedded_database.engine))
    async with engine.pool:
        yield Room(
            doors,
            PostgresMessageVectors(
                transactions,
                engine,
                MODEL,
                MessageGraphs(str(embedded_database.owner), many=40),
            ),
            PostgresMessageSearch(transactions, lambda: MODEL),
            embedded_database,
        )


async def test_what_was_said_is_found_by_what_it_means(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    for number in (100, 300, 500):
        await say(doors, root, talk, f"about {number}")
    await say(doors, root, talk, "no number at all")

    assert await room.near(root, 310) == []
    assert await room.embed() == 4
    assert await room.embed() == 0
    assert await room.vectors.waiting() == []
    assert await room.near(root, 310) == ["about 300", "about 500", "about 100"]
    assert await room.near(root, 310, limit=1) == ["about 300"]
    nothing = await room.search.by_meaning(
        root, [0.0, 0.0], project=None, conversation=None, max_label=None, limit=3
    )
    assert nothing == []


async def test_what_is_above_closed_or_elsewhere_is_not_found(room: Room) -> None:
    doors = room.doors
    root, other = await cleared_root(doors), await cleared_root(doors, "acme")
    low = await joined(doors, root, "low", TEAM)
    project = await a_project(doors, root)
    talk = await a_conversation(doors, root, project)
    shut = await a_conversation(doors, root, project, "shut", closed=True)
    await say(doors, root, talk, "low 100")
    await say(doors, root, talk, "high 200", label=FINANCE)
    await say(doors, root, talk, "highest 300", label=SECRET)
    await say(doors, root, shut, "among us 400")
    await room.embed()

    assert await room.near(low, 300, limit=9) == ["low 100"]
    assert await room.near(other, 300, limit=9) == []
    assert await room.near(root, 300, limit=9, inside=shut) == ["among us 400"]
    assert await room.near(low, 300, limit=9, inside=shut) == []
    assert await room.near(low, 300, limit=9, inside=talk) == ["low 100"]
    assert len(await room.near(root, 300, limit=9, inside=talk)) == 3
    assert len(await room.near(root, 300, limit=9)) == 4
    assert await room.near(root, 300, limit=9, upto=FINANCE) == [
        "high 200",
        "among us 400",
        "low 100",
    ]
    assert await room.near(root, 300, upto=PUBLIC) == []
    await doors.conversations.join(root, shut.id, low.id)
    assert await room.near(low, 300, limit=9) == ["among us 400", "low 100"]


async def test_what_is_edited_raised_or_deleted_is_found_as_it_is_now(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    said = [(await say(doors, root, talk, f"about {n}")).message for n in (100, 300, 500)]
    await room.embed()

    await doors.messages.edit(root, edited(said[0], "about 900"), at(5))
    await doors.messages.edit(root, edited(said[1], "about 300", FINANCE), at(5))
    await doors.messages.delete(root, said[2].id, at(5))

    assert await room.near(low, 300) == []
    assert await room.embed() == 2
    assert await room.near(low, 300) == ["about 900"]
    assert await room.near(root, 300) == ["about 300", "about 900"]


async def test_a_vector_of_what_was_changed_meanwhile_is_not_kept(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    said = (await say(doors, root, talk, "about 100")).message
    worker = replace(root, kind=PrincipalKind.WORKER)

    [wanted] = await room.vectors.missing(worker, 9)
    await doors.messages.edit(root, edited(said, "about 200"), at(5))

    assert await room.vectors.put(worker, [(wanted, _point("100"))]) == 0
    [wanted] = await room.vectors.missing(worker, 9)
    assert wanted.text == "about 200"


async def test_another_model_makes_all_of_them_anew(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    for number in (100, 300):
        await say(doors, root, talk, f"about {number}")
    await room.embed()
    newer = PostgresMessageVectors(room.vectors._transactions, room.vectors._engine, "newer")

    assert await newer.waiting() == [root.space]
    assert await EmbedMessages(vectors=newer, meaning=meaning)() == 2
    assert await newer.waiting() == []
    assert await room.near(root, 100) == []


async def test_a_label_with_many_has_a_graph_of_its_own_and_answers_the_same(room: Room) -> None:
    doors, chance = room.doors, Random(5)
    root = await cleared_root(doors)
    low = await joined(doors, root, "low", TEAM)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    numbers = chance.sample(range(6000), 130)
    for place, number in enumerate(numbers):
        label = TEAM if place < 70 else FINANCE if place < 125 else SECRET
        await say(doors, root, talk, f"about {number}", label=label)
    kept = 0
    while made := await room.embed():
        kept += made
    graphs = _graphs(room.addresses)

    assert (kept, len(graphs)) == (130, 2)
    for reader, visible in ((root, numbers), (low, numbers[:70])):
        for _ in range(20):
            asked = chance.randrange(6000)
            nearest = sorted(visible, key=lambda n: -math.cos((n - asked) / 1000))[:3]
            assert await room.near(reader, asked) == [f"about {number}" for number in nearest]


async def test_graphs_of_a_space_that_is_gone_go(room: Room) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    for number in range(45):
        await say(doors, root, talk, f"about {number}")
    await room.embed()
    assert len(_graphs(room.addresses)) == 1

    await doors.spaces.delete(root)
    await room.vectors.arrange()

    assert _graphs(room.addresses) == []


async def test_nobody_waits_for_a_graph_and_what_is_left_half_made_is_made_again(
    room: Room,
) -> None:
    doors = room.doors
    root = await cleared_root(doors)
    talk = await a_conversation(doors, root, await a_project(doors, root))
    said = [(await say(doors, root, talk, f"about {number}")).message for number in range(45)]
    without = PostgresMessageVectors(room.vectors._transactions, room.vectors._engine, MODEL)
    assert await EmbedMessages(vectors=without, meaning=meaning)() == 45
    assert _graphs(room.addresses) == []

    async with await psycopg.AsyncConnection.connect(str(room.addresses.owner)) as slow:
        await slow.execute("UPDATE portico.message_vector SET stale = false WHERE false")
        making = asyncio.create_task(room.vectors.arrange())
        await _held_up(slow)
        await doors.messages.edit(root, edited(said[0], "about 900"), at(5))
        assert await room.vectors.arrange() == 0
        making.cancel()
        await asyncio.wait([making])
        assert len(_graphs(room.addresses, "NOT indisvalid")) == 1

    assert await room.vectors.arrange() == 1
    assert len(_graphs(room.addresses)) == 1
    assert _graphs(room.addresses, "NOT indisvalid") == []
    assert await room.near(root, 30, limit=1) == ["about 30"]


async def _held_up(watching: psycopg.AsyncConnection) -> None:
    """Until whoever makes graphs waits for somebody who writes."""
    waits = (
        "SELECT FROM pg_locks JOIN pg_stat_get_activity(NULL) AS a USING (pid)"
        " WHERE NOT granted AND a.application_name = 'portico graphs'"
    )
    while not (await watching.execute(waits)).rowcount:  # it is the server that knows
        await watching.execute("SELECT pg_stat_clear_snapshot()")


def _graphs(addresses: Addresses, which: LiteralString = "true") -> list[str]:
    with psycopg.connect(str(addresses.owner)) as owner:
        rows = owner.execute(
            "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = oid"
            " WHERE relname LIKE 'message\\_near\\_%' AND " + which
        ).fetchall()
    return [row[0] for row in rows]
