"""Those who listen over a wire: what wakes them is looked at as it comes."""

import asyncio
import json
from collections.abc import Sequence

from mcp.shared.subscriptions import ResourceUpdated

from tests.storm.bridge_wires import Reader, Wires

SSE, MCP = "events", "subscriptions/listen"
_CONVERSATION = "portico://conversations/"


async def begin_to_listen(wires: Wires, reader: Reader) -> "list[asyncio.Task[None]]":
    """To all that the reader may follow, over both."""
    seen = [talk for talk, *_ in wires.talks if wires.may_know(reader, talk)][:16]
    reader.may_hear.clear()
    reader.may_hear.update((stream, talk) for stream in (SSE, MCP) for talk in seen)
    if not seen:
        return []
    ready = [asyncio.Event(), asyncio.Event()]
    listening = [
        asyncio.create_task(_by_events(wires, reader, seen, ready[0])),
        asyncio.create_task(_by_subscription(wires, reader, seen, ready[1])),
    ]
    async with asyncio.timeout(60):
        for each in ready:
            await each.wait()
    return listening


async def _by_events(
    wires: Wires, reader: Reader, seen: Sequence[str], ready: asyncio.Event
) -> None:
    asked, event = {"conversation": [*seen]}, ""
    async with reader.http.stream("GET", "/bridge/events", params=asked) as told:
        async for line in told.aiter_lines():
            ready.set()
            wires.leaks += wires.book.leaks(
                line, way=SSE, who=reader.id, cleared=reader.clearance, asked=json.dumps(asked)
            )
            field, _, value = line.partition(": ")
            event = value if field == "event" else event
            if field == "data" and event == "news":
                wires.woken(reader, SSE, json.loads(value)["conversation"])


async def _by_subscription(
    wires: Wires, reader: Reader, seen: Sequence[str], ready: asyncio.Event
) -> None:
    wanted = [f"{_CONVERSATION}{talk}" for talk in seen]
    async with reader.mcp.listen(resource_subscriptions=wanted) as subscription:
        ready.set()
        async for event in subscription:
            assert isinstance(event, ResourceUpdated)
            wires.woken(reader, MCP, event.uri.removeprefix(_CONVERSATION))


async def ended(tasks: "Sequence[asyncio.Task[None]]") -> None:
    """Raises what went wrong in any."""
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome
