"""Who is to hear that something was said: they are told where, and nothing besides.

What it was they read by themselves, with their own eyes. Nothing that they may not see wakes them.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from portico.bridge.core.activity import News
from portico.bridge.core.conversations import ConversationId
from portico.interfaces.mcp.bridge.addresses import address_of, uri_of
from portico.interfaces.mcp.bridge.errors import NotFollowed
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.errors import TooManyListening
from portico.interfaces.mcp.knock import Knock
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.principal import Principal

_MOST: Final = 10_000
MOST_OF_ONE: Final = 64
"""Conversations that one stream or session follows."""
_LATER: Final = 2.0
"""Seconds until somebody is followed anew whose clearance has changed: for a second the key is
still known as it was."""

Tell = Callable[[str], Awaitable[None]]
Start = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


def followed(uri: str) -> ConversationId:
    """Raises `NotFollowed`, and what an address raises that is none."""
    address = address_of(uri)
    if not isinstance(address, ConversationId):
        raise NotFollowed(uri)
    return address


@dataclass(slots=True, eq=False)
class Followed:
    """One conversation, by one who listens; nothing is told until it has begun."""

    knock: Knock
    conversation: ConversationId
    news: AsyncGenerator[News, None]
    task: "asyncio.Task[None] | None" = None


@dataclass(slots=True, kw_only=True)
class Following:
    use: BridgeUses
    start: Start
    later: float = _LATER
    _open: set[Followed] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self._open)

    async def open(self, knock: Knock, uri: str) -> Followed:
        """From now on nothing is missed by who then reads. Raises `TooManyListening`,
        `NotFollowed`, `ConversationNotFound`, `NotPermitted`."""
        conversation = followed(uri)
        if len(self._open) >= _MOST:
            raise TooManyListening
        news = await self._news(knock.caller, conversation)
        made = Followed(knock, conversation, news)
        self._open.add(made)
        return made

    def begin(self, followed: Followed, tell: Tell) -> None:
        followed.task = self.start(self._telling(followed, tell))

    async def end(self, several: Sequence[Followed]) -> None:
        for each in several:
            self._open.discard(each)
            if each.task is None:
                await each.news.aclose()
            else:
                each.task.cancel()

    async def _news(
        self, caller: Principal, conversation: ConversationId
    ) -> AsyncGenerator[News, None]:
        """The first says nothing but that it has begun, as does the answer to who subscribes."""
        news = self.use.bridge.talk.follow_conversations(caller, [conversation])
        try:
            await anext(news)
        except BaseException:
            await news.aclose()
            raise
        return news

    async def _telling(self, followed: Followed, tell: Tell) -> None:
        uri = uri_of(followed.conversation)
        try:
            while True:
                async with aclosing(followed.news):
                    async for _ in followed.news:
                        await tell(uri)
                if not await self._followed_anew(followed):
                    return
                await tell(uri)
        finally:
            self._open.discard(followed)

    async def _followed_anew(self, followed: Followed) -> bool:
        """As who they are by now; not, if they may not any more."""
        while True:
            await asyncio.sleep(self.later)
            try:
                caller = (await followed.knock.again()).principal
                followed.news = await self._news(caller, followed.conversation)
            except PorticoError as error:
                if error.kind is not Kind.UNAVAILABLE:
                    return False
            else:
                return True
