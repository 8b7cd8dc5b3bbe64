"""Word of what is new on the bridge: by subscription, in the way of either era."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from portico.interfaces.mcp.bridge.server import MOST_OF_ONE
from tests.interfaces.http.table import Seat
from tests.interfaces.mcp.gateway import until
from tests.interfaces.mcp.rooms import BridgeSite, Caller
from tests.interfaces.mcp.wire import BOTH, GREETING

NOWHERE = f"cnv_{'0' * 26}"


def uri(conversation: str) -> str:
    return f"portico://conversations/{conversation}"


@dataclass
class Ears:
    """What one client hears, however it is told."""

    heard: list[str] = field(default_factory=list)
    honoured: list[str] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)

    @property
    def caller(self) -> Caller:
        return Caller(self.clients[0])

    async def hear(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.heard.append(message.params.uri)


async def subscribe(client: Client, address: str) -> None:
    """As the older era does; the client's own method warns that the later one does otherwise."""
    params = types.SubscribeRequestParams(uri=address)
    await client.session.send_request(types.SubscribeRequest(params=params), types.EmptyResult)


async def unsubscribe(client: Client, address: str) -> None:
    params = types.UnsubscribeRequestParams(uri=address)
    await client.session.send_request(types.UnsubscribeRequest(params=params), types.EmptyResult)


@asynccontextmanager
async def subscribed(
    site: BridgeSite, era: str, seat: Seat, *conversations: str
) -> AsyncIterator[Ears]:
    ears, wanted = Ears(), [uri(each) for each in conversations]
    if era == "legacy":
        async with site.client(seat, era, message_handler=ears.hear) as client:
            ears.clients.append(client)
            for each in wanted:
                await subscribe(client, each)
            yield ears
        return
    async with (
        site.client(seat, era) as client,
        client.listen(resource_subscriptions=wanted) as subscription,
        asyncio.TaskGroup() as group,
    ):
        ears.clients.append(client)
        ears.honoured += subscription.honored.resource_subscriptions or []

        async def follow() -> None:
            async for event in subscription:
                assert isinstance(event, ResourceUpdated)
                ears.heard.append(event.uri)

        task = group.create_task(follow())
        yield ears
        task.cancel()


async def test_whoever_has_subscribed_is_told_where_something_was_said(
    bridge: BridgeSite, era: str
) -> None:
    here = bridge.table.conversation
    async with subscribed(bridge, era, bridge.table.robin, here) as ears:
        assert ears.heard == []

        await bridge.table.ana.says(here, "hello")
        await until(lambda: ears.heard)
        page = await ears.caller.got("read", conversations=[here])

    assert set(ears.heard) == {uri(here)}
    assert [each["body"] for each in page["messages"]] == ["hello"]


async def test_what_is_hidden_wakes_nobody(bridge: BridgeSite, era: str) -> None:
    here = bridge.table.conversation
    other = await bridge.table.ana.got(
        "POST", "/conversations", {"project": bridge.table.project, "title": "Other"}
    )
    async with (
        subscribed(bridge, era, bridge.table.robin, here, other["id"]) as low,
        subscribed(bridge, era, bridge.table.scout, here) as high,
    ):
        await bridge.table.ana.says(here, "deep", label="confidential")
        await until(lambda: high.heard)
        me = await high.caller.got("whoami")
        await bridge.table.ana.says(other["id"], "shallow")
        await until(lambda: low.heard)

    assert me["read"] == "confidential"
    assert set(low.heard) == {uri(other["id"])}


async def test_what_is_not_there_cannot_be_followed_nor_what_is_hidden(
    bridge: BridgeSite, era: str
) -> None:
    table = bridge.table
    hidden = await table.ana.got(
        "POST",
        "/conversations",
        {"project": table.project, "title": "Deep", "label": "restricted"},
    )
    wrong = [uri(NOWHERE), uri(hidden["id"]), f"portico://projects/{table.project}", "file:///x"]
    async with bridge.client(table.robin, era) as client:
        if era == "legacy":
            refused = []
            for each in wrong:
                with pytest.raises(MCPError) as told:
                    await subscribe(client, each)
                refused.append(told.value.data["code"])
            assert refused == [
                "conversation_not_found",
                "conversation_not_found",
                "not_followed",
                "no_such_resource",
            ]
        else:
            asked = [*wrong, uri(table.conversation)]
            async with client.listen(resource_subscriptions=asked) as subscription:
                honoured = subscription.honored.resource_subscriptions
            assert honoured == [uri(table.conversation)]


async def test_whoever_has_gone_is_followed_no_more(bridge: BridgeSite, era: str) -> None:
    following = bridge.face._subscribed.following
    async with subscribed(bridge, era, bridge.table.robin, bridge.table.conversation):
        assert len(following) == 1

    await until(lambda: not len(following))


async def test_a_subscription_can_be_given_up(bridge: BridgeSite) -> None:
    here = bridge.table.conversation
    following = bridge.face._subscribed.following
    async with subscribed(bridge, "legacy", bridge.table.robin, here) as ears:
        [client] = ears.clients
        await subscribe(client, uri(here))
        assert len(following) == 1
        await unsubscribe(client, uri(here))
        await unsubscribe(client, uri(here))

        assert len(following) == 0


async def test_one_session_follows_no_more_than_it_may(bridge: BridgeSite) -> None:
    wanted = [bridge.table.conversation]
    for number in range(MOST_OF_ONE):
        made = await bridge.table.ana.got(
            "POST", "/conversations", {"project": bridge.table.project, "title": f"c{number}"}
        )
        wanted.append(made["id"])
    async with bridge.client(bridge.table.robin, "legacy") as client:
        for each in wanted[:-1]:
            await subscribe(client, uri(each))
        with pytest.raises(MCPError) as refused:
            await subscribe(client, uri(wanted[-1]))

    assert refused.value.data["code"] == "too_many_listening"


async def test_what_is_missed_without_a_stream_is_told_when_there_is_one(
    bridge: BridgeSite,
) -> None:
    here = bridge.table.conversation
    async with bridge.http(bridge.table.robin) as http:
        hello = await _posted(http, "initialize", GREETING["params"])
        session = {
            **BOTH,
            "Mcp-Session-Id": hello.headers["mcp-session-id"],
            "MCP-Protocol-Version": "2025-11-25",
        }
        await _posted(http, "resources/subscribe", {"uri": uri(here)}, session)
        [line] = bridge.face._subscribed._lines.values()
        await bridge.table.ana.says(here, "hello")
        await until(lambda: line.missed)

        async with http.stream("GET", "/mcp/bridge", headers=session) as stream:
            told = await anext(
                text async for text in stream.aiter_lines() if text.startswith("data: {")
            )

    assert "notifications/resources/updated" in told
    assert uri(here) in told
    assert (await bridge.table.robin.got("GET", "/whoami"))["mark"] == "team"


async def test_whose_clearance_was_lowered_hears_of_what_they_may_still_see(
    bridge: BridgeSite, era: str
) -> None:
    table, here = bridge.table, bridge.table.conversation
    bridge.face._subscribed.following.later = 1.1
    async with subscribed(bridge, era, table.scout, here) as ears:
        await table.ana.got("PATCH", f"/principals/{table.scout.id}", {"clearance": "team"})
        await table.ana.says(here, "deep", label="confidential")
        await table.ana.says(here, "shallow")
        await until(lambda: ears.heard)
        before = len(ears.heard)
        await until(lambda: len(ears.heard) > before)
        page = await ears.caller.got("read", conversations=[here])

    assert [each["body"] for each in page["messages"]] == ["shallow"]


async def _posted(http: Any, method: str, params: Any, headers: Any = BOTH) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await http.post("/mcp/bridge", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer
