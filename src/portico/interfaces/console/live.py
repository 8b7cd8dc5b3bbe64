"""`/live`: one stream for all that a page shows, resumed where it broke off.

A page names the topics that it draws: those of the event log (`runs`, the id of a run …), and
conversations and debates by their ids. It is told that something happened and asks for the part
that it draws; so nothing is told here that could not be read, and a page that missed something
is mended by asking anew. What is said in a run of an agent is told word by word (`talk:run_…`).
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.bridge.core.conversations import ConversationId
from portico.debate.core.debates import DebateId
from portico.engine.core.errors import BadCursor, StoreUnavailable, TopicNotFound
from portico.engine.core.event_log import Aside, Entry, Positions
from portico.engine.event_log import Subscription
from portico.guard.core.principals import Scope
from portico.interfaces.console.desk import Desk, desk_of
from portico.interfaces.console.page import part, waiting
from portico.interfaces.console.talk import PREFIX, Talks, TalkTopic, told
from portico.interfaces.http.lasting import Connection, Lasting
from portico.interfaces.http.sse import HEARTBEAT, event_json, retry_after
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal

_MOST: Final = 50
_numbers: Final = itertools.count()


class PageWords:
    """The engine's `Wording` for pages: every event has the same name, so that one listener in the
    page hears all of them."""

    def told(self, happened: Entry | Aside) -> bytes:
        return told(event_json(happened))

    def marked(self, cursor: str, told: bytes) -> bytes:
        return f"id: {cursor}\n".encode() + told

    def trimmed(self, topic: str) -> bytes:
        return told({"topic": topic, "type": "reset", "facts": {}})


async def follow(request: Request) -> Response:
    desk = desk_of(request)
    topics = [each for each in request.query_params.get("topics", "").split(",") if each][:_MOST]
    after = request.headers.get("last-event-id") or None
    conversations = [ConversationId.parse(each) for each in topics if each.startswith("cnv_")]
    debates = [DebateId.parse(each) for each in topics if each.startswith("dbt_")]
    talks = [TalkTopic.parse(each) for each in topics if each.startswith(PREFIX)]
    logged = [each for each in topics if not each.startswith(("cnv_", "dbt_", PREFIX))]
    positions = await _positions(desk, logged, after)
    return PageStream(desk, positions, conversations, debates, Talks(desk, talks))


async def _positions(desk: Desk, topics: Sequence[str], after: str | None) -> Positions:
    """Where this page stood; or, for one that was just drawn, where everything ends now."""
    caller, watch = desk.caller, desk.house.use.watch_topics
    if not topics or not caller.may(Scope.EVENTS_READ):
        return {}
    if after is not None:
        try:
            return watch(caller, topics, after)
        except BadCursor:
            pass  # of other topics, or from before our seal was changed: as if it were new
    return {topic: await _end(desk, topic) for topic in watch(caller, topics, None)}


async def _end(desk: Desk, topic: str) -> int:
    try:
        return (await desk.house.log.read(desk.caller, topic, after=0, limit=0)).position
    except TopicNotFound:
        return 0


class PageStream(Lasting):
    def __init__(
        self,
        desk: Desk,
        positions: Positions,
        conversations: Sequence[ConversationId],
        debates: Sequence[DebateId],
        talks: Talks,
    ) -> None:
        super().__init__(desk.house.manners)
        self._desk = desk
        self._positions = positions
        self._conversations = conversations
        self._debates = debates
        self._talks = talks
        self._news: dict[str, None] = {}
        """Topics of the rooms in which there is something new, each once."""

    async def stream(self, connection: Connection) -> None:
        await connection.send(retry_after(1000 + next(_numbers) * 37 % 2000) + HEARTBEAT)
        caller = self._desk.caller
        async with AsyncExitStack() as open_ones:
            subscription = await open_ones.enter_async_context(
                self._desk.house.tails.follow(caller, self._positions)
            )
            connection.follows(subscription)
            group = await open_ones.enter_async_context(asyncio.TaskGroup())
            tasks = [group.create_task(each) for each in self._rooms(subscription)]
            tasks += map(group.create_task, self._talks.followed(subscription.stir))
            try:
                await self._tell(connection, caller, subscription)
            finally:
                for task in tasks:
                    task.cancel()

    async def _tell(
        self, connection: Connection, caller: Principal, subscription: Subscription
    ) -> None:
        """Until one side leaves, or whoever looks is not who they were: then the page comes again,
        and stands where its new clearance lets it."""
        while not (connection.left or subscription.broken or self._talks.broken):
            if connection.heartbeat_due():
                if not await self._still(caller):
                    return
                await connection.send(HEARTBEAT)
            said = await self._tell_rooms(connection)
            try:
                happened = await subscription.more()
            except StoreUnavailable:
                return
            if happened:
                await connection.send(happened)
            elif not (self._news or said):
                await subscription.stirred()

    async def _tell_rooms(self, connection: Connection) -> bool:
        """Whether there was anything to say."""
        news = [told({"topic": topic, "type": "news", "facts": {}}) for topic in self._news]
        self._news.clear()
        said = b"".join([*news, self._talks.take()])
        if said:
            await connection.send(said)
        return bool(said)

    async def _still(self, caller: Principal) -> bool:
        try:
            now = (await self._desk.again()).principal
        except StoreUnavailable:
            return True
        except PorticoError:
            return False
        return (now.clearance, now.scopes) == (caller.clearance, caller.scopes)

    def _rooms(self, subscription: Subscription) -> Iterator[Coroutine[None, None, None]]:
        house, caller = self._desk.house, self._desk.caller
        if self._conversations:
            news = house.bridge.talk.follow_conversations(caller, self._conversations)
            yield self._follow((str(each.conversation) async for each in news), subscription)
        for each in self._debates:
            followed = house.debates.follow_debate(caller, each)
            yield self._follow(_always(str(each), followed), subscription)

    async def _follow(self, topics: AsyncIterator[str], subscription: Subscription) -> None:
        """What may not be followed is as one in which nothing happens."""
        try:
            async for topic in topics:
                self._news[topic] = None
                subscription.stir()
        except PorticoError:
            return


async def _always(topic: str, followed: AsyncIterator[object]) -> AsyncIterator[str]:
    async for _ in followed:
        yield topic


async def show_waiting(request: Request) -> Response:
    """The number in the menu: the only part that every page has."""
    return part(request, "_waiting.html", {"waiting": await waiting(desk_of(request))})


routes: Final = [
    Route("/live", follow, methods=["GET"]),
    Route("/waiting", show_waiting, methods=["GET"]),
]
