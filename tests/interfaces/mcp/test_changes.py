"""Whoever has listed something hears that it has changed, and of nothing else."""

import asyncio
from typing import Any

from mcp.client.subscriptions import ServerEvent
from mcp.shared.subscriptions import ToolsListChanged

from portico.gateway.core.resources_and_prompts import Offers
from tests.interfaces.mcp.gateway import HOME, Site, hot_tool, until


async def test_a_session_is_told_which_list_changed(site: Site) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        heard.put_nowait(message.method)

    async with site.client("legacy", message_handler=on_message) as client:
        await client.list_tools()
        await until(lambda: site.gateway.bus.listening)
        site.gateway.bus.wake(HOME, "catalogue")  # nothing that it lists has changed
        looked = len(site.gateway.asked)
        await until(lambda: len(site.gateway.asked) > looked)
        site.gateway.hot.append(hot_tool("echo"))
        site.gateway.bus.wake(HOME, "catalogue")

        first = await asyncio.wait_for(heard.get(), 30)
        site.gateway.offers = Offers([], [], [{"name": "box__p"}])
        site.gateway.bus.wake(HOME, "catalogue")
        second = await asyncio.wait_for(heard.get(), 30)

    assert first == "notifications/tools/list_changed"
    assert second == "notifications/prompts/list_changed"


async def test_a_subscription_is_told_too(site: Site) -> None:
    async with (
        site.client() as client,
        client.listen(tools_list_changed=True) as events,
    ):
        await until(lambda: site.gateway.bus.listening)
        site.gateway.hot.append(hot_tool("echo"))
        site.gateway.bus.wake(HOME, "catalogue")

        event: ServerEvent = await asyncio.wait_for(anext(aiter(events)), 30)

    assert isinstance(event, ToolsListChanged)


async def test_who_has_gone_is_not_listened_for(site: Site) -> None:
    async with site.client("legacy") as client:
        await client.list_tools()

    await until(lambda: not site.gateway.bus.listening)
