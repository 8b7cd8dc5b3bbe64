"""However people send, read, change and forget, the count of what is unread is what one would find
by looking at each message."""

import os
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, cast

import psycopg
import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.bus import PostgresBus
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.bridge.core.messages import MessageId, NewMessage
from portico.bridge.ports import Entered, Messages, Stamp
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from tests.contracts.bridge_people import (
    FINANCE,
    LAW,
    SECRET,
    TEAM,
    a_project,
    cleared_root,
    joined,
)
from tests.contracts.bridge_talk import a_conversation
from tests.contracts.doors import Doors, postgres_doors
from tests.contracts.unread_model import Reader, Step, UnreadModel

pytestmark = [pytest.mark.scenario, pytest.mark.postgres, pytest.mark.timeout(3600)]

FULL_SIZE = bool(os.environ.get("PORTICO_PROOF"))
WORLDS, STEPS = (500, 50) if FULL_SIZE else (12, 30)
NOW = SystemClock().now()
LONG_AGO = NOW - timedelta(days=400)


class Dated:
    """Every third message was sent long ago."""

    def __init__(self, inner: Messages) -> None:
        self._inner = inner
        self._sent = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def send(self, caller: Principal, message: NewMessage, stamp: Stamp) -> Entered:
        self._sent += 1
        at = NOW if self._sent % 3 else LONG_AGO
        new = replace(stamp, id=MessageId.mint(NOW, system_entropy), at=at)
        return await self._inner.send(caller, message, new)


class Forgetful(UnreadModel):
    """Besides what the contract tries: old messages are deleted, and there is a total."""

    def __init__(self, addresses: Addresses, *world: Any) -> None:
        super().__init__(*world)
        self._addresses = addresses
        self.verbs.append(self._forget)

    async def _forget(self, step: Step, reader: Reader) -> None:
        asked, most = "SELECT portico.bridge_forget('1 day', %s)", (1, 3, 500)[step.label % 3]
        with psycopg.connect(str(self._addresses.engine), autocommit=True) as engine:
            while (row := engine.execute(asked, [most]).fetchone()) and row[0]:
                pass
        self._said = [known for known in self._said if known.message.sent_at != LONG_AGO]

    async def take(self, step: Step) -> None:
        await super().take(step)
        for reader in self._readers:
            await self._check(reader, None)

    async def _check(self, reader: Reader, upto: Label | None) -> None:
        await super()._check(reader, upto)
        each = await self._doors.read_state.unread(reader.principal)
        total = await self._doors.read_state.total(reader.principal)
        assert (total.count, total.mentions, total.label) == (
            sum(unread.count for unread in each),
            sum(unread.mentions for unread in each),
            join(unread.label for unread in each),
        )


async def a_model(addresses: Addresses, doors: Doors, name: str) -> Forgetful:
    root = await cleared_root(doors, name)
    cleared = {"public": PUBLIC, "low": TEAM, "fin": FINANCE, "law": LAW, "top": SECRET}
    readers = [await joined(doors, root, who, clearance) for who, clearance in cleared.items()]
    project = await a_project(doors, root)
    talks = [
        await a_conversation(doors, root, project, "open"),
        await a_conversation(doors, root, project, "secret", label=FINANCE),
    ]
    return Forgetful(addresses, doors, root, readers, talks)


async def storm(addresses: Addresses) -> set[str]:
    """Every count is compared after each step. Which verbs there were."""
    buses = [PostgresBus(addresses.app, system_entropy) for _ in range(2)]
    verbs = set[str]()
    async with open_pool(addresses.app, 2) as pool:
        real = postgres_doors(Transactions(pool), *buses)
        for number in range(WORLDS):
            dated, random = cast("Messages", Dated(real.messages)), Random(number)
            doors = replace(real, messages=dated)
            model = await a_model(addresses, doors, f"space {number}")
            for _ in range(STEPS):
                step = Step(*(random.randrange(1_000) for _ in range(4)))
                verbs.add(model.verbs[step.verb % len(model.verbs)].__name__)
                await model.take(step)
    return verbs


@pytest.mark.requirement("bridge:unread:exact")
async def test_the_count_of_what_is_unread_is_exact(embedded_database: Addresses) -> None:
    assert len(await storm(embedded_database)) == 11


@pytest.mark.parametrize(
    ("function", "condition"),
    [
        ("bridge_unread", "AND NOT t.muted"),
        ("bridge_read_to", "AND m.label = ANY (visible)"),
        ("bridge_forget", "AND t.last_seq < m.seq"),
    ],
)
@pytest.mark.planted
async def test_without_one_condition_a_count_is_wrong(
    embedded_database: Addresses, function: str, condition: str
) -> None:
    """A red run: what each of them is for."""
    with psycopg.connect(str(embedded_database.owner), autocommit=True) as owner:
        asked = "SELECT pg_get_functiondef(%s::regproc)"
        ((text,),) = owner.execute(asked, [f"portico.{function}"])
        assert condition in text
        owner.execute(text.replace(condition, ""))

    with pytest.raises(AssertionError):
        await storm(embedded_database)
