"""Whoever waits for news sleeps until there are some."""

import asyncio
from typing import Any

import pytest
from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.waiting import Wait

from portico.adapters.postgres.addresses import Addresses
from portico.adapters.postgres.listening import ListeningConnection

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]
A_WHILE = 0.7


def wakes() -> PQGen[int]:
    """How often it was woken for nothing, before there was something to read."""
    for_nothing = 0
    while not (yield Wait.R):
        for_nothing += 1
    return for_nothing


async def counted(address: str, kind: type[AsyncConnection[Any]]) -> int:
    async with (
        await kind.connect(address, autocommit=True) as ear,
        await AsyncConnection.connect(address, autocommit=True) as mouth,
    ):
        await ear.execute("LISTEN news")
        waiting = asyncio.ensure_future(ear.wait(wakes()))
        await asyncio.sleep(A_WHILE)
        await mouth.execute("NOTIFY news")
        return await waiting


async def test_it_is_woken_by_news_alone(embedded_database: Addresses) -> None:
    assert await counted(embedded_database.app, ListeningConnection) == 0
    assert await counted(embedded_database.app, AsyncConnection) > 1


async def test_it_is_told_what_comes_and_gives_up_in_time(embedded_database: Addresses) -> None:
    async with await ListeningConnection.connect(embedded_database.app, autocommit=True) as ear:
        await ear.execute("LISTEN news")
        await ear.execute("NOTIFY news, 'one'")
        heard = [each.payload async for each in ear.notifies(timeout=A_WHILE)]

    assert heard == ["one"]
