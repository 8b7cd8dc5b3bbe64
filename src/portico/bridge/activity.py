"""Follow what is new in conversations."""

import asyncio
import base64
import binascii
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Final, TypeVar

from portico.bridge.core.activity import (
    Activity,
    Direction,
    Places,
    ReadPosition,
    content_of,
    good_for,
    resets,
    standing_of,
    topic_of,
)
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import ConversationNotFound, raise_if_invalid
from portico.bridge.core.messages import flaws_of_reading
from portico.bridge.ports import Conversations, Messages
from portico.bridge.taint import TaintRecorder, in_view_context, looking
from portico.engine.core.errors import InvalidCursor, StoreUnavailable
from portico.engine.ports import Bus, Seal
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.principals import Scope
from portico.guard.principals import require_scope
from portico.kernel.ids import SpaceId
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal, PrincipalKind

# Cursors as readers hold them: sealed, so that they tell nothing and cannot be made up.


@dataclass(frozen=True, slots=True)
class Cursors:
    """Each for one reader, and for as much as they could see then."""

    seal: Seal
    direction: Direction = Direction.ON

    def text(self, caller: Principal, places: Places) -> str:
        context = good_for(caller, places, self.direction)
        sealed = self.seal.encrypt(content_of(places, caller.clearance), context)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def position(
        self, caller: Principal, conversations: Collection[ConversationId], text: str | None
    ) -> ReadPosition:
        """Without a cursor, at the first. Raises `InvalidCursor`."""
        if text is None:
            return ReadPosition(dict.fromkeys(conversations, 0))
        try:
            padded = text.encode("ascii") + b"=" * (-len(text) % 4)
            sealed = base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeError) as error:
            raise InvalidCursor from error
        content = self.seal.decrypt(sealed, good_for(caller, conversations, self.direction))
        if content is None:
            raise InvalidCursor
        return standing_of(conversations, caller.clearance, content)


class Listener:
    def __init__(
        self, caller: Principal, conversations: Sequence[ConversationId], upto: Label | None
    ) -> None:
        self.caller = caller
        self.visible = looking(caller, upto).clearance
        self._upto = upto
        self._conversations = conversations
        self._news: dict[ConversationId, Activity] = {}
        self._stirred = asyncio.Event()

    def notify(self, conversation: ConversationId, label: Label) -> None:
        before = self._news.get(conversation, Activity(conversation, PUBLIC))
        if not before.reset:
            self._news[conversation] = Activity(conversation, join([before.label, label]))
        self._stirred.set()

    def lose(self, *conversations: ConversationId) -> None:
        """Nothing comes from there any more; of none that is named, from nowhere."""
        for news in resets(conversations or self._conversations):
            self._news[news.conversation] = news
        self._stirred.set()

    def still(self, now: Principal | None) -> bool:
        """Whether they see as much as when they came, being who they are now."""
        return (
            now is not None
            and now.may(Scope.BRIDGE_READ)
            and looking(now, self._upto).clearance == self.visible
        )

    async def receive(self) -> Sequence[Activity]:
        """What is new since one last asked; waits until something is."""
        await self._stirred.wait()
        self._stirred.clear()
        news, self._news = self._news, {}
        return [*news.values()]


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
    as_they_are: RevalidatePrincipal


class Watch:
    def __init__(self, watched: Watched, eyes: Eyes) -> None:
        self.watched = watched
        self.listeners: dict[Listener, None] = {}
        self.started = asyncio.Event()
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
            self.started.set()
            for listener in self.listeners:
                listener.lose(here.conversation)

    async def _begin(self) -> None:
        here = self.watched.conversation
        found = await self._asked(lambda reader: self._eyes.conversations.get(reader, here))
        self._closed = found.closed
        self._position = await self._asked(lambda reader: self._eyes.messages.end(reader, here))
        self.started.set()

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
            listener.notify(self.watched.conversation, self._untold)
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


# News of conversations, for all who listen in this process: one look a wake-up and clearance, and
# nothing that piles up.

_TELLINGS: Final = 10_000
"""A second, to all listeners together."""
_LOOKING: Final = 10
"""What a look costs, in tellings."""
_AT_ONCE: Final = 0.1
"""Seconds' worth of tellings that need not wait, after a quiet time."""
_LOOKS: Final = 50
"""A second, of all watches together."""


class Bulletin:
    """A watch a conversation and clearance: it reads behind the same wall as its listeners would,
    and lives as long as it has one."""

    def __init__(
        self,
        *,
        conversations: Conversations,
        messages: Messages,
        as_they_are: RevalidatePrincipal,
        bus: Bus,
        look: float = 5.0,
    ) -> None:
        self._eyes = Eyes(conversations=conversations, messages=messages, as_they_are=as_they_are)
        self._bus = bus
        self._watches: dict[Watched, Watch] = {}
        self._tasks: dict[Watch, asyncio.Task[None]] = {}
        self._busy_until = 0.0
        self._pace = Pace(after=self._after, look=lambda: max(look, len(self._tasks) / _LOOKS))

    @asynccontextmanager
    async def listening(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        max_label: Label | None = None,
    ) -> AsyncIterator[Listener]:
        """To what the caller may see of these. What is said after this has begun is heard of, and
        perhaps what was said just before. One that is not there for them is lost before long."""
        listener = Listener(caller, conversations, max_label)
        watches = [
            self._watch(Watched(caller.space, each, listener.visible), listener)
            for each in conversations
        ]
        try:
            for watch in watches:
                await watch.started.wait()
            yield listener
        finally:
            for watch in watches:
                watch.listeners.pop(listener, None)
            await self._end(watches)

    @property
    def size(self) -> int:
        """How many watches there are."""
        return len(self._tasks)

    def _watch(self, watched: Watched, listener: Listener) -> Watch:
        watch = self._watches.get(watched)
        if watch is None or watch.over:
            watch = self._watches[watched] = Watch(watched, self._eyes)
            self._tasks[watch] = asyncio.create_task(
                watch.run(self._bus, self._pace),
                context=Context(),  # nobody's: it may outlive whoever happened to come first
            )
        watch.listeners[listener] = None
        return watch

    async def _end(self, watches: Iterable[Watch]) -> None:
        """Those that nobody listens to any more."""
        ended = [watch for watch in watches if not watch.listeners and watch in self._tasks]
        tasks = [self._tasks.pop(watch) for watch in ended]
        for watch, task in zip(ended, tasks, strict=True):
            if self._watches.get(watch.watched) is watch:
                del self._watches[watch.watched]
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _after(self, told: int) -> float:
        now = asyncio.get_running_loop().time()
        start = max(self._busy_until, now - _AT_ONCE)
        self._busy_until = start + (told + _LOOKING) / _TELLINGS
        return max(self._busy_until - now, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowConversations:
    conversations: Conversations
    bulletin: Bulletin
    taint: TaintRecorder

    async def __call__(
        self,
        caller: Principal,
        conversations: Sequence[ConversationId],
        *,
        upto: Label | None = None,
    ) -> AsyncGenerator[Activity, None]:
        """First one of each: whoever reads upon it has missed nothing. Then one whenever something
        is said that the caller may see. Of a conversation that they may not follow any more, the
        last one says so; with the last conversation it ends. Raises `NotPermitted`,
        `InvalidBridgeInput`, `ConversationNotFound`."""
        require_scope(caller, Scope.BRIDGE_READ)
        raise_if_invalid(flaws_of_reading(conversations))
        left = set(conversations)
        async with self.bulletin.listening(caller, conversations, max_label=upto) as listener:
            for each in conversations:
                yield await self._first(looking(in_view_context(caller, each), upto), each)
            while left:
                for news in await listener.receive():
                    if news.reset:
                        left.discard(news.conversation)
                    else:
                        here = in_view_context(caller, news.conversation)
                        await self.taint.read(here, [news.label])
                    yield news

    async def _first(self, caller: Principal, conversation: ConversationId) -> Activity:
        found = await self.conversations.get(caller, conversation)
        await self.taint.read(caller, [found.label])
        return Activity(conversation, found.label)
