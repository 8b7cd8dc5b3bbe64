"""All that a server offers and says of itself, in one go; and the wait for it to change."""

import asyncio
from typing import Final

from portico.adapters.mcp.conversation import Conversation
from portico.adapters.mcp.listing import listed
from portico.adapters.mcp.wire import Broken, Crowded, Message, Refusal
from portico.gateway.core.calls import Seen
from portico.gateway.core.servers import Era

_METHOD_NOT_FOUND: Final = -32601
_LISTEN: Final = "subscriptions/listen"
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 300.0
_KINDS: Final = ("tools", "resources", "prompts")


async def look(conversation: Conversation) -> Seen:
    """Raises `Broken`, `Crowded`."""
    greeting = conversation.greeting
    offers = greeting.offers
    try:
        tools = await conversation.tools()
    except Refusal as refusal:
        if refusal.code != _METHOD_NOT_FOUND:
            raise Broken(f"asked for its tools, it said: {refusal.message[:300]}") from refusal
        tools = []
    seen = Seen(
        identity=greeting.identity,
        era=greeting.era,
        instructions=greeting.instructions,
        tools=tools,
        resources=await _offered(conversation, "resources/list", "resources", offers),
        resource_templates=await _offered(
            conversation, "resources/templates/list", "resourceTemplates", offers
        ),
        prompts=await _offered(conversation, "prompts/list", "prompts", offers),
    )
    conversation.listed = True
    return seen


async def _offered(
    conversation: Conversation, method: str, field: str, offers: Message
) -> list[Message]:
    """Nothing if it does not say that it has any; what it then refuses to list is not there."""
    if method.partition("/")[0] not in offers:
        return []
    try:
        return await listed(conversation.plain, method, field)
    except Refusal:
        return []


async def hear_of_changes(conversation: Conversation) -> None:
    """A modern server tells of changes only to whoever has asked for it, until it is over. One of
    the older era tells everybody by itself."""
    wanted = _tellable(conversation.greeting.offers)
    pause = _FIRST_PAUSE
    if conversation.greeting.era is not Era.MODERN or not wanted:
        return
    while conversation.way.over is None:
        try:
            await conversation.plain(_LISTEN, {"notifications": wanted})
            pause = _FIRST_PAUSE
        except Refusal:
            return
        except (Broken, Crowded):
            pause = min(2 * pause, _LONGEST_PAUSE)
        await asyncio.sleep(pause)


def _tellable(offers: Message) -> Message:
    return {
        f"{kind}ListChanged": True
        for kind in _KINDS
        if isinstance(offers.get(kind), dict) and offers[kind].get("listChanged") is True
    }
