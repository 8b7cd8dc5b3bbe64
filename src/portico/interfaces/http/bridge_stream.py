"""That there is something new in conversations, as server-sent events: never what, nor where."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import Response

from portico.bridge.core.activity import News, resets
from portico.bridge.core.conversations import ConversationId
from portico.engine.core.errors import StoreUnavailable
from portico.interfaces.http.bridge_use_cases import Talk
from portico.interfaces.http.bridge_words import Several, Upto, conversations_of, upto_of
from portico.interfaces.http.lasting import Connection, Lasting
from portico.interfaces.http.problems import documented
from portico.interfaces.http.sse import END, HEARTBEAT, MEDIA_TYPE, retry_after
from portico.interfaces.http.talk_stream import Inbox, Listener, Listening
from portico.kernel.errors import PorticoError

_STREAM: Final[dict[str, Any]] = {MEDIA_TYPE: {"schema": {"type": "string"}}}

router = APIRouter(prefix="/bridge", tags=["bridge"])


@router.get(
    "/events",
    name="follow_conversations",
    response_class=Response,
    responses={**documented(404), 200: {"description": "A stream.", "content": _STREAM}},
)
async def follow_conversations(
    talk: Talk, listener: Listening, conversation: Several, upto: Upto = None
) -> Response:
    """`news` names a conversation in which there is something to be read with your cursor, each
    once at the beginning; `reset` one of which you may see more or less than before, or nothing:
    read it anew, and follow again."""
    followed = conversations_of(conversation)
    news = talk.follow_conversations(listener.caller, followed, upto=upto_of(upto))
    # The first of each, before anything is sent: whoever may not follow is told so by a problem.
    first = [await anext(news) for _ in followed]
    return NewsStream(listener, first, news)


class NewsStream(Lasting):
    def __init__(
        self, listener: Listener, first: Sequence[News], news: AsyncGenerator[News, None]
    ) -> None:
        super().__init__(listener.manners)
        self._listener = listener
        self._first = first
        self._news = news
        self._inbox = Inbox(news)

    async def stream(self, connection: Connection) -> None:
        connection.follows(self._inbox)
        async with aclosing(self._news), asyncio.TaskGroup() as group:
            filling = group.create_task(self._inbox.fill())
            try:
                await connection.send(retry_after(1000) + told(self._first))
                await self._tell(connection)
            finally:
                filling.cancel()

    async def _tell(self, connection: Connection) -> None:
        followed = [news.conversation for news in self._first]
        while not connection.left:
            if connection.heartbeat_due():
                if not await self._heard_still():
                    return await _break_off(connection, followed)
                await connection.send(HEARTBEAT)
            while (news := self._inbox.take()) is not None:
                await connection.send(told([news]))
            if self._inbox.error is not None:
                return await _break_off(connection, followed)
            if self._inbox.over:
                return await connection.send(END)
            await self._inbox.stirred()
        return None

    async def _heard_still(self) -> bool:
        """Whether whoever follows still is who they were, and may see the same."""
        before = self._listener.caller
        try:
            now = (await self._listener.again()).principal
        except StoreUnavailable:
            return True
        except PorticoError:
            return False
        return (now.id, now.clearance, now.scopes) == (before.id, before.clearance, before.scopes)


async def _break_off(connection: Connection, followed: Sequence[ConversationId]) -> None:
    await connection.send(told(resets(followed)) + END)


def told(news: Sequence[News]) -> bytes:
    """Without ids: where its reader stands is their cursor's to say."""
    return b"".join(_told(each) for each in news)


def _told(news: News) -> bytes:
    data = json.dumps({"conversation": str(news.conversation)})
    return f"event: {'reset' if news.reset else 'news'}\ndata: {data}\n\n".encode()
