"""Live parts of pages: streams of events of runs, approvals and messages."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import Any, Final, Self

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from portico.agents.core.conversations import Spoken
from portico.agents.core.errors import AgentRunNotFound
from portico.agents.core.events import (
    AgentEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallAwaitingApproval,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from portico.bridge.core.conversations import ConversationId
from portico.debate.core.debates import DebateId
from portico.engine.core.errors import InvalidCursor, StoreUnavailable, TopicNotFound
from portico.engine.core.event_log import Entry, EphemeralEvent, Positions
from portico.engine.event_log import Subscription
from portico.guard.core.principals import Scope
from portico.interfaces.console.page import PageContext, page_context, part, waiting
from portico.interfaces.http.agent_runs import NAMES, happening_json
from portico.interfaces.http.streaming import (
    HEARTBEAT,
    Connection,
    Lasting,
    event_json,
    one_line,
    retry_after,
)
from portico.kernel.errors import PorticoError
from portico.kernel.ids import RunId
from portico.kernel.principal import Principal

# Topics `talk:run_…` of `/live`: the events of runs of agents. A page says behind an `@` how many
# turns it has drawn, and gets only the others; after a broken connection it gets them again, and
# each piece of text says where it belongs, so that nothing is doubled or missing.

PREFIX: Final = "talk:"
_MOST: Final = 256
"""That is told and not yet sent: whoever reads slowly is told slowly."""
_AT_ONCE: Final = 64
_DRAWN: Final = frozenset({"arguments", "answer"})
"""Parts that the page asks for, drawn, and need not be told as well."""


def chat_place(name: object) -> str:
    """Where a person is at in one chat: each is a task of its own."""
    return f"chat {name}"


@dataclass(frozen=True, slots=True)
class RunEventTopic:
    run: RunId
    known: int = 0
    """Turns that the page has."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `InvalidId`."""
        run, _, known = text.removeprefix(PREFIX).partition("@")
        number = int(known) if known.isascii() and known.isdigit() and len(known) < 7 else 0
        return cls(RunId.parse(run), number)

    def __str__(self) -> str:
        return f"{PREFIX}{self.run}@{self.known}"

    @property
    def name(self) -> str:
        """As pages are told it."""
        return f"{PREFIX}{self.run}"

    def lacks(self, happening: AgentEvent) -> bool:
        """A turn is drawn as soon as it is written down, and its calls are made after that."""
        match happening:
            case TurnStarted() | TurnFinished() | TextDelta() | ReasoningDelta():
                return happening.turn > self.known
            case ToolCallStarted() | ToolCallAwaitingApproval() | ToolCallFinished():
                return happening.turn >= self.known
            case _:
                return True


class RunEventRenderer:
    """One run, in the words of pages. Each letter is told once a connection."""

    def __init__(self, topic: RunEventTopic) -> None:
        self._topic = topic
        self._text = Spoken()
        self._thought = Spoken()

    def words(self, happening: AgentEvent) -> bytes:
        """Empty where there is nothing new in it."""
        if not self._topic.lacks(happening):
            return b""
        facts = happening_json(happening)
        if isinstance(happening, TextDelta | ReasoningDelta):
            fresh = self._fresh(happening)
            if not fresh:
                return b""
            offset = happening.offset + len(happening.text) - len(fresh)
            facts |= {"offset": offset, "text": fresh}
        if isinstance(happening, ToolCallFinished):
            del facts["text"]
        shown = {name: value for name, value in facts.items() if name not in _DRAWN}
        return told({"topic": self._topic.name, "type": NAMES[type(happening)], "facts": shown})

    def _fresh(self, piece: TextDelta | ReasoningDelta) -> str:
        if isinstance(piece, TextDelta):
            self._text = self._text.after(piece)
            return self._text.fresh
        self._thought = self._thought.after(piece)
        return self._thought.fresh


class Talks:
    """All that a page follows, in line until it is sent."""

    def __init__(self, desk: PageContext, topics: Sequence[RunEventTopic]) -> None:
        self._desk = desk
        self._topics = topics
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(_MOST)
        self.broken = False
        """Something cannot be told for now; who comes again is told it."""

    def followed(self, stir: Callable[[], None]) -> Iterator[Coroutine[None, None, None]]:
        for topic in self._topics:
            yield self._follow(topic, stir)

    def take(self) -> bytes:
        """What is next in line; empty when there is nothing for now."""
        found: list[bytes] = []
        while len(found) < _AT_ONCE and not self._waiting.empty():
            found.append(self._waiting.get_nowait())
        return b"".join(found)

    async def _follow(self, topic: RunEventTopic, stir: Callable[[], None]) -> None:
        caller = self._desk.at(chat_place(topic.run))
        try:
            async for words in self._words(caller, topic):
                await self._waiting.put(words)
                stir()
        except AgentRunNotFound:
            return  # as one in which nothing happens
        except PorticoError:
            self.broken = True
            stir()

    async def _words(self, caller: Principal, topic: RunEventTopic) -> AsyncIterator[bytes]:
        telling, follow = RunEventRenderer(topic), self._desk.services.agent_runs.follow_run
        async with aclosing(follow(caller, topic.run)) as happenings:
            async for each in happenings:
                if words := telling.words(each.event):
                    yield words


def told(facts: dict[str, Any]) -> bytes:
    """An event without a name: one listener in the page hears all of them."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    return f"data: {one_line(text)}\n\n".encode(errors="backslashreplace")


# `/live` is one stream for a page, resumed where it broke off. A page names its topics: those of
# the event log (`runs`, the id of a run …), conversations and debates by id. It hears that
# something happened and requests the part that it draws, so that nothing is sent that the caller
# may not read. Only the text of a run of an agent is sent as it comes (`talk:run_…`).

_MOST_TOPICS: Final = 50
_numbers: Final = itertools.count()


class PageEventText:
    """The engine's `Wording` for pages: every event has the same name, so that one listener in the
    page hears all of them."""

    def told(self, happened: Entry | EphemeralEvent) -> bytes:
        return told(event_json(happened))

    def marked(self, cursor: str, told: bytes) -> bytes:
        return f"id: {cursor}\n".encode() + told

    def trimmed(self, topic: str) -> bytes:
        return told({"topic": topic, "type": "reset", "facts": {}})


async def follow(request: Request) -> Response:
    desk = page_context(request)
    topics = [each for each in request.query_params.get("topics", "").split(",") if each][
        :_MOST_TOPICS
    ]
    after = request.headers.get("last-event-id") or None
    conversations = [ConversationId.parse(each) for each in topics if each.startswith("cnv_")]
    debates = [DebateId.parse(each) for each in topics if each.startswith("dbt_")]
    talks = [RunEventTopic.parse(each) for each in topics if each.startswith(PREFIX)]
    logged = [each for each in topics if not each.startswith(("cnv_", "dbt_", PREFIX))]
    positions = await _positions(desk, logged, after)
    return PageStream(desk, positions, conversations, debates, Talks(desk, talks))


async def _positions(desk: PageContext, topics: Sequence[str], after: str | None) -> Positions:
    """Where this page stood; or, for one that was just drawn, where everything ends now."""
    caller, watch = desk.caller, desk.services.use.watch_topics
    if not topics or not caller.may(Scope.EVENTS_READ):
        return {}
    if after is not None:
        try:
            return watch(caller, topics, after)
        except InvalidCursor:
            pass  # of other topics, or from before our seal was changed: as if it were new
    return {topic: await _end(desk, topic) for topic in watch(caller, topics, None)}


async def _end(desk: PageContext, topic: str) -> int:
    try:
        return (await desk.services.log.read(desk.caller, topic, after=0, limit=0)).position
    except TopicNotFound:
        return 0


class PageStream(Lasting):
    def __init__(
        self,
        desk: PageContext,
        positions: Positions,
        conversations: Sequence[ConversationId],
        debates: Sequence[DebateId],
        talks: Talks,
    ) -> None:
        super().__init__(desk.services.manners)
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
                self._desk.services.tails.follow(caller, self._positions)
            )
            connection.follows(subscription)
            group = await open_ones.enter_async_context(asyncio.TaskGroup())
            tasks = [group.create_task(each) for each in self._rooms(subscription)]
            tasks += map(group.create_task, self._talks.followed(subscription.wake))
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
        house, caller = self._desk.services, self._desk.caller
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
                subscription.wake()
        except PorticoError:
            return


async def _always(topic: str, followed: AsyncIterator[object]) -> AsyncIterator[str]:
    async for _ in followed:
        yield topic


async def show_waiting(request: Request) -> Response:
    """The number in the menu: the only part that every page has."""
    return part(request, "_waiting.html", {"waiting": await waiting(page_context(request))})


routes: Final = [
    Route("/live", follow, methods=["GET"]),
    Route("/waiting", show_waiting, methods=["GET"]),
]
