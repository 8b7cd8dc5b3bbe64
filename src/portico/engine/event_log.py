"""The event log: publish, read, subscribe."""

import asyncio
import base64
import binascii
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Final, Protocol

from portico.engine.core.errors import InvalidCursor, RunNotFound, StoreUnavailable, TopicNotFound
from portico.engine.core.event_log import (
    EncodedEvent,
    Entry,
    EphemeralEvent,
    EventBatch,
    NewEntry,
    Page,
    Positions,
    Ring,
    bound_to,
    packed,
    unpacked,
)
from portico.engine.ports import Bus, EventLog, Seal, Wording
from portico.engine.runs import LAST_WORDS, has_read
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId, SpaceId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal, PrincipalKind

# Cursors as readers hold them: sealed, so that they tell nothing and cannot be made up.


@dataclass(frozen=True, slots=True)
class Cursors:
    """Of the readers of these topics in this space."""

    seal: Seal
    topics: Collection[str]
    context: bytes

    @classmethod
    def of(cls, seal: Seal, space: SpaceId, topics: Collection[str]) -> "Cursors":
        return cls(seal, topics, bound_to(space, topics))

    def text(self, positions: Positions) -> str:
        sealed = self.seal.encrypt(packed(positions), self.context)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def positions(self, text: str) -> dict[str, int]:
        """Raises `InvalidCursor`."""
        try:
            padded = text.encode("ascii") + b"=" * (-len(text) % 4)
            sealed = base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeError) as error:
            raise InvalidCursor from error
        content = self.seal.decrypt(sealed, self.context)
        if content is None:
            raise InvalidCursor
        return unpacked(self.topics, content)


# A topic as those of one clearance see it grow: read once, however many follow it.

_log: Final = logging.getLogger("portico.events")
_PAGE: Final = 200
_STORE_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds; asked for each time, since they depend on what else there is to do."""

    after: Callable[[int], float]
    """Having told so many, how long to gather news until the next time."""
    look: Callable[[], float]
    """How long without a wake-up until one looks by oneself: it may have been lost."""


class Stirred(Protocol):
    """Whoever wants to know that there is news."""

    def wake(self) -> None: ...


class _Recreated(Exception):
    """The topic was removed and is there again: its numbers have begun anew."""


class Tail:
    def __init__(
        self, reader: Principal, topic: str, log: EventLog, wording: Wording, cursors: Cursors
    ) -> None:
        self.reader = reader
        self.topic = topic
        self.ring: Ring | None = None
        """None until it is known where the topic ends."""
        self.first = 1
        self.broken = False
        self.followers: set[Stirred] = set()
        self._log = log
        self._wording = wording
        self._cursors = cursors
        self._stirring: asyncio.TimerHandle | None = None

    async def run(self, bus: Bus, pace: Pace) -> None:
        """Until cancelled."""
        try:
            with bus.listen(self.reader.space, self.topic) as wakeups:
                while True:
                    told = len(self.followers) if await self._read_on() else 0
                    await asyncio.sleep(pace.after(told))
                    with suppress(TimeoutError):
                        async with asyncio.timeout(pace.look()):
                            await wakeups.wait()
        except _Recreated:
            pass
        except Exception:  # noqa: BLE001 # its followers must be told, whatever it was
            _log.exception("a tail of events broke; its followers have to come again")
        finally:
            self.broken = True
            if self._stirring is not None:
                self._stirring.cancel()
            self._stir()

    def say(self, aside: EphemeralEvent, pace: Pace) -> None:
        if self.ring is None:
            return
        told = self._wording.told(aside)
        self.ring.add(EncodedEvent(self.ring.position, None, told))
        if self._stirring is None:
            pause = pace.after(len(self.followers))
            self._stirring = asyncio.get_running_loop().call_later(pause, self._stir)

    async def page(self, after: int) -> tuple[Page, EventBatch]:
        """From the log, for a follower that is not within the ring. Raises `TopicNotFound`."""
        page = await self._log.read(self.reader, self.topic, after=after, limit=_PAGE)
        pieces = [self._piece(entry) for entry in page.entries]
        return page, EventBatch(pieces, b"".join(piece.marked for piece in pieces), 0)

    async def _read_on(self) -> bool:
        """Whether there was news."""
        try:
            if self.ring is None:
                self.ring = Ring(await self._end())
                self._stir()
            before = self.ring.end
            while await self._read_page(self.ring):
                pass
        except StoreUnavailable:
            await asyncio.sleep(_STORE_PAUSE)
            return False
        return self.ring.end > before

    async def _end(self) -> int:
        try:
            page = await self._log.read(self.reader, self.topic, after=0, limit=0)
        except TopicNotFound:
            return 0
        self.first = page.first
        return page.position

    async def _read_page(self, ring: Ring) -> bool:
        try:
            page = await self._log.read(self.reader, self.topic, after=ring.position, limit=_PAGE)
        except TopicNotFound:
            return False
        if page.position < ring.position:
            raise _Recreated
        self.first = page.first
        for entry in page.entries:
            ring.add(self._piece(entry))
        ring.pass_over(page.position)
        if page.entries:
            self._stir()
        return page.more

    def _piece(self, entry: Entry) -> EncodedEvent:
        told = self._wording.told(entry)
        cursor = self._cursors.text({self.topic: entry.number})
        marked = self._wording.marked(cursor, told)
        return EncodedEvent(entry.number, entry.type, marked, len(marked) - len(told))

    def _stir(self) -> None:
        self._stirring = None
        for follower in self.followers:
            follower.wake()


_NOTHING: Final = EventBatch((), b"", 0)


class Follower:
    """Where a subscription stands in one tail."""

    def __init__(self, tail: Tail, position: int, subscription: "Subscription") -> None:
        self.tail = tail
        self.behind = False
        """There is more to take at once."""
        self.trimmed = False
        """Between what it took last and what it took before, something may be missing."""
        self._subscription = subscription
        self._covered = position
        """Past hidden entries too, so that nothing which is told may depend on it."""
        self._place: int | None = None
        self._told_of: int | None = None

    def wake(self) -> None:
        self._subscription.wake(self)

    async def take(self) -> EventBatch:
        """Raises `StoreUnavailable`."""
        ring = self.tail.ring
        self.behind = self.trimmed = False
        if ring is None:
            return _NOTHING
        if self._place is None or not ring.holds(self._place):
            self._place = ring.offset_at(self._covered)
            self._check(self.tail.first)
        if self._place is None:
            return await self._from_log()
        stretch = ring.since(self._place)
        self._place = stretch.end
        self.behind = stretch.end < ring.end
        if stretch.pieces:
            self._covered = stretch.pieces[-1].position
        return stretch

    async def _from_log(self) -> EventBatch:
        """Behind what the ring holds; or before its end, of which the tail will hear yet."""
        try:
            page, stretch = await self.tail.page(self._covered)
        except TopicNotFound:
            return _NOTHING
        self._check(page.first)
        if page.position < self._covered:  # it was removed, and has begun anew
            self.trimmed = True
            self._subscription.positions[self.tail.topic] = 0
        self.behind = page.position != self._covered
        self._covered = page.position
        return stretch

    def _check(self, first: int) -> None:
        """Whether the entry that was shown last is gone; told of each once."""
        shown = self._subscription.positions[self.tail.topic]
        if 0 < shown < first and self._told_of != shown:
            self.trimmed, self._told_of = True, shown


class Subscription:
    def __init__(self, positions: Positions, cursors: Cursors, wording: Wording) -> None:
        self.positions = dict(positions)
        """The last entry that was handed out of each topic."""
        self.last: str | None = None
        """The type of the last entry that was handed out."""
        self._cursors = cursors
        self._wording = wording
        self._tails: list[Tail] = []
        self._restless: dict[Follower, None] = {}
        self._stirred = asyncio.Event()

    def follow(self, tails: Iterable[Tail]) -> list[Follower]:
        self._tails = list(tails)
        followers = [Follower(tail, self.positions[tail.topic], self) for tail in self._tails]
        for follower in followers:
            follower.tail.followers.add(follower)
            self._restless[follower] = None
        return followers

    @property
    def broken(self) -> bool:
        """Nothing comes any more; who comes again goes on."""
        return any(tail.broken for tail in self._tails)

    def wake(self, follower: Follower | None = None) -> None:
        """Whoever waits in `stirred` looks again: at what this follower has, or around."""
        if follower is not None:
            self._restless[follower] = None
        self._stirred.set()

    async def stirred(self) -> None:
        await self._stirred.wait()
        self._stirred.clear()

    async def more(self) -> bytes:
        """What is to be sent next; empty when there is nothing for now.

        Raises `StoreUnavailable`.
        """
        while self._restless:
            follower = next(iter(self._restless))
            del self._restless[follower]
            stretch = await follower.take()
            if follower.behind:
                self._restless[follower] = None
            told = self._told(follower, stretch)
            if told:
                return told
        return b""

    def _told(self, follower: Follower, stretch: EventBatch) -> bytes:
        topic = follower.tail.topic
        told = [self._wording.trimmed(topic)] if follower.trimmed else []
        if len(self._tails) == 1:
            told.append(stretch.marked)
        for piece in stretch.pieces:
            if piece.type is not None:
                self.positions[topic], self.last = piece.position, piece.type
            if len(self._tails) > 1:
                mark = piece.type is not None
                told.append(self._marked(piece.told) if mark else piece.told)
        return b"".join(told)

    def _marked(self, told: bytes) -> bytes:
        return self._wording.marked(self._cursors.text(self.positions), told)


_TELLINGS: Final = 10_000
"""A second, to all followers together; a telling holds all that is new for one of them."""
_READING: Final = 10
"""What a look into the log costs, in tellings."""
_AT_ONCE: Final = 0.1
"""Seconds' worth of tellings that need not wait, after a quiet time."""
_LOOKS: Final = 50
"""A second, of all tails together."""


class Tails:
    """A tail a topic and clearance: it reads behind the same wall as its followers would, and
    lives as long as it has one."""

    def __init__(
        self, *, log: EventLog, bus: Bus, seal: Seal, wording: Wording, look: float = 5.0
    ) -> None:
        self._log = log
        self._bus = bus
        self._seal = seal
        self._wording = wording
        self._tails: dict[tuple[SpaceId, str], dict[Label, Tail]] = {}
        self._tasks: dict[Tail, asyncio.Task[None]] = {}
        self._subscriptions: set[Subscription] = set()
        self._busy_until = 0.0
        self._pace = Pace(after=self._after, look=lambda: max(look, len(self._tasks) / _LOOKS))

    @asynccontextmanager
    async def follow(self, caller: Principal, positions: Positions) -> AsyncIterator[Subscription]:
        """What the caller may see of these topics after these positions, as it comes. A topic
        that is not there, or not for the caller, is one in which nothing has happened yet."""
        cursors = Cursors.of(self._seal, caller.space, positions)
        subscription = Subscription(positions, cursors, self._wording)
        self._subscriptions.add(subscription)
        followers = subscription.follow([self._tail(caller, topic) for topic in positions])
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            for follower in followers:
                follower.tail.followers.discard(follower)
            await self._end({follower.tail for follower in followers})

    def say(self, space: SpaceId, aside: EphemeralEvent) -> None:
        """To those who follow the topic here and now, and may hear it."""
        for clearance, tail in self._tails.get((space, aside.topic), {}).items():
            if clearance.covers(aside.label):
                tail.say(aside, self._pace)

    @property
    def size(self) -> tuple[int, int]:
        """How many subscriptions, and how many tails."""
        return len(self._subscriptions), len(self._tasks)

    def _after(self, told: int) -> float:
        now = asyncio.get_running_loop().time()
        start = max(self._busy_until, now - _AT_ONCE)
        self._busy_until = start + (told + _READING) / _TELLINGS
        return max(self._busy_until - now, 0.0)

    def _tail(self, caller: Principal, topic: str) -> Tail:
        tails = self._tails.setdefault((caller.space, topic), {})
        tail = tails.get(caller.clearance)
        if tail is None or tail.broken:
            reader = Principal(
                id=caller.id,
                space=caller.space,
                kind=PrincipalKind.WORKER,
                name="tail",
                clearance=caller.clearance,
            )
            cursors = Cursors.of(self._seal, caller.space, [topic])
            tail = Tail(reader, topic, self._log, self._wording, cursors)
            tails[caller.clearance] = tail
            self._tasks[tail] = asyncio.create_task(
                tail.run(self._bus, self._pace),
                context=Context(),  # nobody's: it may outlive whoever happened to come first
            )
        return tail

    async def _end(self, tails: set[Tail]) -> None:
        """Those that nobody follows any more."""
        ended = [tail for tail in tails if not tail.followers and tail in self._tasks]
        tasks = [self._tasks.pop(tail) for tail in ended]
        for tail, task in zip(ended, tasks, strict=True):
            place = (tail.reader.space, tail.topic)
            siblings = self._tails.get(place, {})
            if siblings.get(tail.reader.clearance) is tail:
                del siblings[tail.reader.clearance]
            if not siblings:
                self._tails.pop(place, None)
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


PRIVATE: Final = "~"
"""What the name of a topic begins with that nobody watches by its name: its room shows it to whom
it is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTopics:
    seal: Seal

    def __call__(self, caller: Principal, topics: Collection[str], after: str | None) -> Positions:
        """From where to follow them. One that is private is as one in which nothing ever happens.
        Raises `NotPermitted`, `InvalidCursor`."""
        require_scope(caller, Scope.EVENTS_READ)
        public = [topic for topic in topics if not topic.startswith(PRIVATE)]
        if after is None:
            return dict.fromkeys(public, 0)
        return Cursors.of(self.seal, caller.space, public).positions(after)

    async def again(self, caller: Principal, _before: Label) -> None:
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.EVENTS_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRun:
    log: EventLog
    seal: Seal

    async def __call__(self, caller: Principal, run: RunId, after: str | None) -> Positions | None:
        """From where to follow it; None if it has ended and the reader knows.

        Raises `NotPermitted`, `InvalidCursor`, `RunNotFound`.
        """
        require_scope(caller, Scope.RUNS_READ)
        topic = str(run)
        position = 0
        if after is not None:
            position = Cursors.of(self.seal, caller.space, [topic]).positions(after)[topic]
        page = await around(self.log, caller, topic, position, limit=1)
        return None if _at_the_end(page, position) else {topic: position}

    async def again(self, run: RunId, caller: Principal, before: Label) -> None:
        """Whether whoever watches it, with the clearance that they had, may still do so.

        Raises `NotPermitted`, `RunNotFound`.
        """
        require_scope(caller, Scope.RUNS_READ)
        if caller.clearance != before:
            await around(self.log, caller, str(run), 0, limit=1)


async def around(
    log: EventLog, caller: Principal, topic: str, position: int, *, limit: int
) -> Page:
    """The entry at which the reader stands, if it is there, and those after it.

    Raises `RunNotFound`.
    """
    before = max(position - 1, 0)
    try:
        return await log.read(caller, topic, after=before, limit=limit + (position > 0))
    except TopicNotFound as error:
        raise RunNotFound(topic) from error


def _at_the_end(page: Page, position: int) -> bool:
    """Whether the entry at `position` is a run's last."""
    return bool(
        not page.more
        and page.entries
        and page.entries[-1].number == position
        and page.entries[-1].type in LAST_WORDS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """`next` is None when the run has ended and this was all of it."""

    entries: Sequence[Entry]
    next: str | None
    trimmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRunEvents:
    log: EventLog
    seal: Seal
    contexts: Contexts

    async def __call__(
        self, caller: Principal, run: RunId, after: str | None, limit: int
    ) -> EventPage:
        """Raises `NotPermitted`, `InvalidCursor`, `RunNotFound`."""
        require_scope(caller, Scope.RUNS_READ)
        topic = str(run)
        cursors = Cursors.of(self.seal, caller.space, [topic])
        position = 0 if after is None else cursors.positions(after)[topic]
        page = await around(self.log, caller, topic, position, limit=limit)

        told = [entry for entry in page.entries if entry.number != position]
        entries, rest = told[:limit], told[limit:]
        if entries:
            await has_read(self.contexts, caller, join(each.label for each in entries))
        stands = entries[-1] if entries else next(iter(page.entries), None)
        over = stands is not None and stands.type in LAST_WORDS and not (rest or page.more)
        here = entries[-1].number if entries else position
        return EventPage(
            entries=entries,
            next=None if over else cursors.text({topic: here}),
            trimmed=0 < position < page.first or page.position < position,
        )


TEXT_DELTA: Final = "text.delta"
TEXT_ADDED: Final = "text.added"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Which text it is: `part` tells it from the others of its topic, other attempts included."""

    topic: str
    part: str
    topic_label: Label = PUBLIC
    label: Label = PUBLIC


class TextStream:
    """A text so far. Offsets count its characters, as Unicode code points."""

    def __init__(self, say: Callable[[int, str], None]) -> None:
        self.over = asyncio.Event()
        self.whole = False
        """It has come to its end, and was not broken off."""
        self._say = say
        self._kept = 0
        self._unkept = ""

    def add(self, piece: str) -> None:
        if piece:
            self._say(self._kept + len(self._unkept), piece)
            self._unkept += piece

    def end(self, *, whole: bool) -> None:
        self.whole = whole
        self.over.set()

    @property
    def unkept(self) -> tuple[int, str]:
        return self._kept, self._unkept

    def keep(self, length: int) -> None:
        self._kept += length
        self._unkept = self._unkept[length:]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamText:
    log: EventLog
    say: Callable[[SpaceId, EphemeralEvent], None]
    clock: Clock
    every: float = 0.25

    @asynccontextmanager
    async def __call__(self, caller: Principal, text: Text) -> AsyncIterator[TextStream]:
        """Whoever comes later, or follows it in another process, has it from the log: what is
        told twice has the same offset. Raises `TopicRefused`, `StoreUnavailable`."""
        telling = TextStream(lambda offset, piece: self._said(caller, text, offset, piece))
        keeping = asyncio.create_task(self._keep_on(caller, text, telling))
        try:
            yield telling
        except Exception:
            telling.end(whole=False)
            with suppress(StoreUnavailable):  # what broke it off is the greater news
                await keeping
            raise
        else:
            telling.end(whole=True)
            await keeping
        finally:
            keeping.cancel()

    def _said(self, caller: Principal, text: Text, offset: int, piece: str) -> None:
        aside = EphemeralEvent(
            topic=text.topic,
            type=TEXT_DELTA,
            at=self.clock.now(),
            by=caller.id,
            label=text.label,
            details={"part": text.part, "offset": offset, "text": piece},
        )
        self.say(caller.space, aside)

    async def _keep_on(self, caller: Principal, text: Text, telling: TextStream) -> None:
        over = False
        while not over:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.every):
                    await telling.over.wait()
            over = telling.over.is_set()
            try:
                await self._keep(caller, text, telling, done=over and telling.whole)
            except StoreUnavailable:
                if over:
                    raise

    async def _keep(
        self, caller: Principal, text: Text, telling: TextStream, *, done: bool
    ) -> None:
        offset, piece = telling.unkept
        if not piece and not done:
            return
        facts: JsonObject = {"part": text.part, "offset": offset, "text": piece, "done": done}
        entry = NewEntry(
            topic=text.topic,
            type=TEXT_ADDED,
            details=facts,
            topic_label=text.topic_label,
            label=text.label,
        )
        await self.log.append(caller, [entry])
        telling.keep(len(piece))
