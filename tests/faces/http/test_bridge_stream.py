"""News of conversations over HTTP: as a stream, and by waiting."""

import asyncio

import pytest

from portico.faces.http.lasting import Manners
from tests.faces.http.conftest import Site
from tests.faces.http.table import Table, laid


@pytest.fixture
async def table(site: Site) -> Table:
    return await laid(site)


async def test_a_stream_says_where_there_is_news_and_nothing_else(table: Table) -> None:
    async with table.robin.follows(table.conversation) as stream:
        await stream.takes(1)
        await table.ana.says(table.conversation, "hello")
        first, second = await stream.takes(2)

    assert first == second
    assert (second.event, second.id) == ("news", None)
    assert second.data == {"conversation": table.conversation}
    assert stream.headers["content-type"].startswith("text/event-stream")


async def test_what_is_above_the_listener_does_not_wake_them(table: Table) -> None:
    async with table.robin.follows(table.conversation) as stream:
        await stream.takes(1)
        await table.ana.says(table.conversation, "deep", label="confidential")
        async with table.scout.follows(table.conversation) as cleared:
            await cleared.takes(1)
            await table.ana.says(table.conversation, "deeper", label="confidential")
            await cleared.takes(2)
        await table.ana.says(table.conversation, "shallow")
        await stream.takes(2)

    assert len(stream.events) == 2


async def test_whoever_hears_of_something_secret_has_read_as_much(table: Table) -> None:
    async with table.scout.follows(table.conversation) as stream:
        await stream.takes(1)
        await table.ana.says(table.conversation, "deep", label="confidential")
        await stream.takes(2)

    assert (await table.scout.got("GET", "/whoami"))["mark"] == "confidential"


async def test_who_may_not_follow_is_told_before_anything_is_sent(table: Table) -> None:
    query = f"conversation={table.conversation}&conversation=cnv_{'0' * 26}"

    refused = await table.robin.refused("GET", "/bridge/events", query=query)
    none = await table.robin.refused("GET", "/bridge/events")

    assert refused == (404, "conversation_not_found")
    assert none == (422, "invalid_request")


async def test_another_clearance_is_told_as_a_reset_and_ends_the_stream(site: Site) -> None:
    table = await laid(site, manners=Manners(heartbeat=0.05, patience=1.0))
    async with table.scout.follows(table.conversation) as stream:
        await stream.takes(1)
        await table.ana.got("PATCH", f"/principals/{table.scout.id}", {"clearance": "team"})
        await stream.until(lambda: stream.complete)

    assert stream.names[0] == "news"
    assert stream.names[-2:] == ["reset", "end"]
    assert stream.events[-2].data == {"conversation": table.conversation}


async def test_a_cursor_of_another_clearance_begins_anew(table: Table) -> None:
    await table.ana.says(table.conversation, "one")
    page = await table.scout.reads(table.conversation)
    await table.ana.got("PATCH", f"/principals/{table.scout.id}", {"clearance": "team"})

    again = await table.scout.reads(table.conversation, f"cursor={page['cursor']}")

    assert again["reset"]
    assert [each["body"] for each in again["data"]] == ["one"]


async def test_a_reader_may_wait_for_what_comes(table: Table) -> None:
    end = await table.robin.got("GET", f"/conversations/{table.conversation}/cursor")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(
            table.robin.reads(table.conversation, f"cursor={end['cursor']}&wait=30")
        )
        await asyncio.sleep(0)
        await table.ana.says(table.conversation, "there you are")

    assert [each["body"] for each in waiting.result()["data"]] == ["there you are"]


async def test_nobody_waits_longer_than_half_a_minute(table: Table) -> None:
    path = f"/conversations/{table.conversation}/messages"

    assert await table.robin.refused("GET", path, query="wait=31") == (422, "invalid_request")
