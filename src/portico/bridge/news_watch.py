"""One conversation, watched with one clearance for all who have it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.errors import ConversationNotFound
from portico.bridge.core.news import topic_of
from portico.bridge.news_listener import Listener
from portico.bridge.ports import Conversations, Messages
from portico.engine.core.errors import StoreUnavailable
from portico.engine.ports import Bus
from portico.guard.authentication import AsTheyAre
from portico.kernel.ids import SpaceId
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal, PrincipalKind

_log: Final = logging.getLogger("portico.bridge")
_PAGE: Final = 100
_STORE_PAUSE: Final = 1.0

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds; asked for each time, since they depend on what else there is to do."""

    after: Callable[[int], float]
    """Having told so many, how long to gather news until the next time."""
    look: Callable[[], float]
    """How long without a wake-up until one looks by oneself: it may have been lost."""


@dataclass(frozen=True, slots=True)
class Watched:
    space: SpaceId
    conversation: ConversationId
    visible: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Eyes:
    """What a watch looks with."""

    conversations: Conversations
    messages: Messages
    as_they_are: AsTheyAre


class Watch:
    def __init__(self, watched: Watched, eyes: Eyes) -> None:
        self.watched = watched
        self.listeners: dict[Listener, None] = {}
        self.begun = asyncio.Event()
        """It is known where the conversation ends, or that there is none."""
        self.over = False
        self._eyes = eyes
        self._position = 0
        self._closed = True
        """For those alone who take part in it; as long as nobody knows, as if it were."""
        self._untold: Label | None = None

    async def run(self, bus: Bus, pace: Pace) -> None:
        """Until cancelled, or until there is nobody left who may hear of it. Who may not is told so
        at a time that has nothing to do with what is said meanwhile."""
        here, clock = self.watched, asyncio.get_running_loop()
        try:
            # The ear is there before it is asked where the conversation ends: nothing is said
            # between the two that is not heard of.
            with bus.listen(here.space, topic_of(here.conversation)) as wakeups:
                await self._begin()
                due = clock.time() + pace.look()
                while True:
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(due):
                            await wakeups.wait()
                    told = await self._look(due)
                    if clock.time() >= due:
                        await self._let_go()
                        due = clock.time() + pace.look()
                    await asyncio.sleep(pace.after(told))
        except (ConversationNotFound, StoreUnavailable):
            pass
        except Exception:  # noqa: BLE001 # its listeners must be told, whatever it was
            _log.exception("a watch of a conversation broke; its listeners have to come again")
        finally:
            self.over = True
            self.begun.set()
            for listener in self.listeners:
                listener.lose(here.conversation)

    async def _begin(self) -> None:
        here = self.watched.conversation
        found = await self._asked(lambda reader: self._eyes.conversations.get(reader, here))
        self._closed = found.closed
        self._position = await self._asked(lambda reader: self._eyes.messages.end(reader, here))
        self.begun.set()

    async def _look(self, due: float) -> int:
        """How many were told. Raises `ConversationNotFound`, when it is due."""
        try:
            await self._read_on()
            if self._untold is None:
                return 0
            lost = await self._lost()
        except StoreUnavailable:
            await asyncio.sleep(_STORE_PAUSE)
            return 0
        except ConversationNotFound:
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            raise
        still = [listener for listener in self.listeners if listener not in lost]
        for listener in still:
            listener.tell(self.watched.conversation, self._untold)
        self._untold = None
        return len(still)

    async def _read_on(self) -> None:
        here, more = self.watched.conversation, True
        while more:
            stretch = await self._asked(
                lambda reader: self._eyes.messages.after(
                    reader, here, after=self._position, limit=_PAGE
                )
            )
            if stretch.found:
                labels = [placed.message.label for placed in stretch.found]
                self._untold = join([self._untold or PUBLIC, *labels])
            self._position, more = stretch.end, stretch.more

    async def _let_go(self) -> None:
        with suppress(StoreUnavailable):
            for listener, where in (await self._lost()).items():
                self.listeners.pop(listener, None)
                listener.lose(*where)

    async def _lost(self) -> Mapping[Listener, Sequence[ConversationId]]:
        """Those who may not hear of it any more: who see more now, or less, and hear of nothing
        then, or who do not take part in this one."""
        here, every = self.watched.conversation, [*self.listeners]
        keys = {each.caller.key for each in every if each.caller.key is not None}
        now = await self._eyes.as_they_are.all_of(keys)
        lost: dict[Listener, Sequence[ConversationId]] = {}
        if self._closed:
            inside = await self._asked(
                lambda reader: self._eyes.conversations.participants(reader, here)
            )
            members = {participant.principal for participant in inside}
            lost = {each: [here] for each in every if each.caller.id not in members}
        for listener in every:
            key = listener.caller.key
            if key is not None and not listener.still(now.get(key)):
                lost[listener] = []
        return lost

    async def _asked(self, question: Callable[[Principal], Awaitable[Found]]) -> Found:
        """As one of those who listen, the first who still may. Raises `ConversationNotFound`."""
        here = self.watched
        for listener in [*self.listeners]:
            reader = Principal(
                id=listener.caller.id,
                space=here.space,
                kind=PrincipalKind.WORKER,
                name="news",
                clearance=here.visible,
            )
            with suppress(ConversationNotFound):
                return await question(reader)
            if not self._closed:
                break
        raise ConversationNotFound(str(here.conversation))
