"""Event sinks: what happens in runs of agents, debates and approvals, written to the event log."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from portico.adapters.postgres.debate.mapping import talk_topic as debate_talk_topic
from portico.adapters.postgres.mapping import strip_nul
from portico.agents.core.events import (
    TYPES,
    AgentEvent,
    AgentStreamItem,
    ReasoningDelta,
    TextDelta,
    ToolCallFinished,
    happening_json,
    happening_of,
)
from portico.debate.core.debates import DebateId
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.events import DebateEnded, DebaterSpoke
from portico.debate.core.events import DebateEvent as EventsHappening
from portico.debate.core.events import DebateStreamItem as DebateTold
from portico.debate.core.events import happening_json as debate_event_json
from portico.debate.core.events import happening_of as debate_event_of
from portico.debate.ports import Blackboard
from portico.engine.core.errors import RunNotFound, StoreUnavailable, TopicNotFound
from portico.engine.core.event_log import Entry, EphemeralEvent, NewEntry
from portico.engine.event_log import (
    PRIVATE,
    TEXT_ADDED,
    TEXT_DELTA,
    Cursors,
    Subscription,
    Tails,
    TextStream,
)
from portico.engine.ports import Bus, EventLog, RunQueries, Seal
from portico.guard.core.approvals import Approval
from portico.kernel.clock import Clock
from portico.kernel.ids import RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

# What happens in runs of agents, in the event log: under names that nobody watches by, and shown
# through here alone.

_TOGETHER: Final = 0.02
"""Seconds."""
_LOOK: Final = 2.0
"""Seconds without a word after which it is looked whether the run is still on."""
_SLOWER: Final = 1.5
_SLOWEST: Final = 3
_PAGE: Final = 500
_MARK: Final = b"@"
_TEXT: Final = frozenset({TEXT_DELTA, TEXT_ADDED})
_THOUGHT: Final = "thought.delta"


def talk_topic(run: RunId) -> str:
    return f"{PRIVATE}talk:{run}"


class JsonLines:
    """The engine's `Wording`: a line of JSON each, for ourselves."""

    def told(self, happened: Entry | EphemeralEvent) -> bytes:
        kept = isinstance(happened, Entry)
        text = json.dumps([happened.type, happened.details, kept], separators=(",", ":"))
        return text.encode() + b"\n"

    def marked(self, cursor: str, told: bytes) -> bytes:
        return _MARK + cursor.encode() + b"\n" + told

    def trimmed(self, topic: str) -> bytes:  # noqa: ARG002 # there is but one
        return b""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEventLog:
    log: EventLog
    tails: Tails
    """With `JsonLines` for its wording."""
    encrypt: Seal
    book: RunQueries
    clock: Clock
    every: float = 0.25
    """Seconds after which what is said is kept for those who follow it elsewhere; the longer it
    goes on, the more of it together."""
    _left: dict[RunId, list[NewEntry]] = field(default_factory=dict)
    """What was said last and is kept with what is told next."""

    async def publish(
        self, caller: Principal, run: RunId, *happenings: AgentEvent, label: Label
    ) -> None:
        told = [happening_json(happening) for happening in happenings]
        entries = [_entry(run, *each, label) for each in told]
        await self.log.append(caller, [*self._left.get(run, ()), *entries])
        self._left.pop(run, None)

    @asynccontextmanager
    async def speaking(
        self, caller: Principal, run: RunId, *, turn: int, attempt: int, label: Label
    ) -> AsyncIterator["_Speaking"]:
        """What is left of it at its end is kept together with what is told next: it is told in the
        same moment. What is thought aloud is kept in one piece."""
        part = f"{turn}.{attempt}"

        def live(type_: str, facts: JsonObject) -> None:
            aside = EphemeralEvent(
                topic=talk_topic(run),
                type=type_,
                at=self.clock.now(),
                by=caller.id,
                label=label,
                details=_writable(facts),
            )
            self.tails.say(caller.space, aside)

        said = TextStream(lambda at, text: live(TEXT_DELTA, _spoken(part, at, text)))
        thought = TextStream(lambda at, text: live(_THOUGHT, _piece(turn, attempt, at, text)))
        speaking = _Speaking(_Gathering(said), _Gathering(thought))
        keeping = asyncio.create_task(self._keep_on(caller, run, part, speaking, label))
        goes_on = True
        try:
            yield speaking
        except asyncio.CancelledError:
            goes_on = False  # nothing is told here any more
            raise
        finally:
            speaking.end()
            await keeping
            rest = [_entry(run, *each, label) for each in _rest(turn, attempt, part, speaking)]
            self._left[run] = [*self._left.pop(run, ()), *rest]
            if not goes_on:
                del self._left[run]

    async def _keep_on(
        self, caller: Principal, run: RunId, part: str, speaking: "_Speaking", label: Label
    ) -> None:
        pause = self.every
        while not speaking.over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await speaking.over.wait()
                    return
            pause = min(pause * _SLOWER, self.every * _SLOWEST)
            offset, text = speaking.saying.telling.unkept
            if text:
                with suppress(StoreUnavailable):
                    entry = _entry(run, TEXT_ADDED, _spoken(part, offset, text), label)
                    await self.log.append(caller, [*self._left.get(run, ()), entry])
                    self._left.pop(run, None)
                    speaking.saying.telling.keep(len(text))

    async def ended_calls(self, caller: Principal, run: RunId) -> Collection[str]:
        topic, ended = talk_topic(run), TYPES[ToolCallFinished]
        found: set[str] = set()
        after, more = 0, True
        while more:
            try:
                page = await self.log.read(caller, topic, after=after, limit=_PAGE)
            except TopicNotFound:
                break
            found |= {str(each.details["call"]) for each in page.entries if each.type == ended}
            after, more = page.position, page.more
        return found

    async def went_on(self, caller: Principal, run: RunId, *, after: str) -> bool:
        [(topic, position)] = self._positions(caller, run, after).items()
        return bool((await self.log.read(caller, topic, after=position, limit=1)).entries)

    def _positions(self, caller: Principal, run: RunId, after: str) -> dict[str, int]:
        return Cursors.of(self.encrypt, caller.space, [talk_topic(run)]).positions(after)

    async def follow(
        self, caller: Principal, run: RunId, *, after: str | None
    ) -> AsyncGenerator[AgentStreamItem, None]:
        positions = {talk_topic(run): 0} if after is None else self._positions(caller, run, after)
        over = False
        while not over:
            async with self.tails.follow(caller, positions) as subscription:
                while not subscription.broken:
                    heard = await _heard(subscription)
                    for told in _read(heard):
                        yield told
                    if not heard and not await _stirred(subscription):
                        over = await self._over(caller, run)
                        if over:
                            break
                positions = dict(subscription.positions)

    async def _over(self, caller: Principal, run: RunId) -> bool:
        try:
            return (await self.book.get(caller, run)).status.over
        except RunNotFound:
            return True


@dataclass(slots=True)
class _Gathering:
    """The first piece at once, and of those that follow upon one another several together: nobody
    reads faster, and each telling costs the same."""

    telling: TextStream
    _pieces: list[str] = field(default_factory=list)
    _pause: asyncio.TimerHandle | None = None

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        if self._pause is None:
            self._tell()

    def end(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self.telling.add("".join(self._pieces))
        self._pieces.clear()

    def _tell(self) -> None:
        self._pause = None
        if self._pieces:
            self.telling.add("".join(self._pieces))
            self._pieces.clear()
            self._pause = asyncio.get_running_loop().call_later(_TOGETHER, self._tell)


@dataclass(slots=True)
class _Speaking:
    saying: _Gathering
    thinking: _Gathering
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        self.saying.end()
        self.thinking.end()
        self.over.set()

    def add(self, piece: str) -> None:
        self.saying.add(piece)

    def think(self, piece: str) -> None:
        self.thinking.add(piece)


async def _heard(subscription: Subscription) -> bytes:
    try:
        return await subscription.more()
    except StoreUnavailable:
        await asyncio.sleep(_LOOK)
        return b""


async def _stirred(subscription: Subscription) -> bool:
    """False if nothing was said for a while."""
    try:
        async with asyncio.timeout(_LOOK):
            await subscription.stirred()
    except TimeoutError:
        return False
    return True


def _read(heard: bytes) -> Iterator[AgentStreamItem]:
    cursor: str | None = None
    for line in heard.splitlines():
        if line.startswith(_MARK):
            cursor = line.removeprefix(_MARK).decode()
            continue
        type_, facts, kept = json.loads(line)
        happening = _happening(type_, facts)
        if happening is not None:
            yield AgentStreamItem(happening, cursor if kept else None)
        cursor = None


def _happening(type_: str, facts: JsonObject) -> AgentEvent | None:
    if type_ == _THOUGHT:
        return happening_of("thought.added", facts)
    if type_ not in _TEXT or "part" not in facts:
        return happening_of(type_, facts)
    turn, _, attempt = str(facts["part"]).partition(".")
    offset, text = int(str(facts["offset"])), str(facts["text"])
    if not text:
        return None
    return TextDelta(turn=int(turn), attempt=int(attempt), offset=offset, text=text)


def _rest(
    turn: int, attempt: int, part: str, speaking: _Speaking
) -> Iterator[tuple[str, JsonObject]]:
    _, thought = speaking.thinking.telling.unkept
    if thought:
        yield "thought.added", _piece(turn, attempt, 0, thought)
    offset, text = speaking.saying.telling.unkept
    if text:
        yield TEXT_ADDED, _spoken(part, offset, text)


def _spoken(part: str, offset: int, text: str) -> JsonObject:
    return {"part": part, "offset": offset, "text": text}


def _piece(turn: int, attempt: int, offset: int, text: str) -> JsonObject:
    piece = ReasoningDelta(turn=turn, attempt=attempt, offset=offset, text=text)
    return happening_json(piece)[1]


def _entry(run: RunId, type_: str, facts: JsonObject, label: Label) -> NewEntry:
    return NewEntry(
        topic=talk_topic(run),
        type=type_,
        details=_writable(facts),
        topic_label=label,
        label=label,
    )


def _writable(facts: JsonObject) -> JsonObject:
    """What models and tools say may hold what no database does; each letter stays one letter."""
    return {strip_nul(name): _value(value) for name, value in facts.items()}


def _value(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return strip_nul(value)
        case Mapping():
            return _writable(value)
        case list() | tuple():
            return [_value(each) for each in value]
        case _:
            return value


# What happens in debates, in the event log: under names that nobody watches by, and shown through
# here alone.


class LabelledLines:
    """The engine's `Wording`: a line of JSON each, for ourselves, with how secret it is."""

    def told(self, happened: Entry | EphemeralEvent) -> bytes:
        kept = isinstance(happened, Entry)
        line = [happened.type, happened.details, kept, str(happened.label)]
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"

    def marked(self, cursor: str, told: bytes) -> bytes:
        return _MARK + cursor.encode() + b"\n" + told

    def trimmed(self, topic: str) -> bytes:  # noqa: ARG002 # there is but one
        return b""


WORDING: Final = LabelledLines()
"""Of its `Tails`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateEventLog:
    log: EventLog
    tails: Tails
    """With `WORDING` for its wording."""
    encrypt: Seal
    blackboard: Blackboard
    clock: Clock

    async def publish(
        self, caller: Principal, debate: DebateId, *happenings: EventsHappening, label: Label
    ) -> None:
        """The first that is told opens its topic, under the label that the debate has then."""
        entries = [_debate_entry(debate, happening, label) for happening in happenings]
        await self.log.append(caller, entries)

    def speak(
        self, caller: Principal, debate: DebateId, piece: DebaterSpoke, *, label: Label
    ) -> None:
        type_, facts = debate_event_json(piece)
        aside = EphemeralEvent(
            topic=debate_talk_topic(debate),
            type=type_,
            at=self.clock.now(),
            by=caller.id,
            label=label,
            details=_debate_writable(facts),
        )
        self.tails.say(caller.space, aside)

    async def follow(
        self, caller: Principal, debate: DebateId, *, after: str | None
    ) -> AsyncGenerator[DebateTold, None]:
        """What was told last before whoever follows was gone is where they left off: a piece that
        was only spoken has the cursor of what was told before it."""
        topic, cursor = debate_talk_topic(debate), after or ""
        positions = {topic: 0}
        if after:
            positions = Cursors.of(self.encrypt, caller.space, [topic]).positions(after)
        while True:
            async with self.tails.follow(caller, positions) as subscription:
                while not subscription.broken:
                    heard = await _heard(subscription)
                    for told in _debate_read(heard, cursor):
                        cursor = told.cursor
                        yield told
                        if isinstance(told.event, DebateEnded):
                            return
                    if heard or await _stirred(subscription):
                        continue
                    if await self._over(caller, debate):
                        return
                positions = dict(subscription.positions)

    async def _over(self, caller: Principal, debate: DebateId) -> bool:
        """Also for whoever may not read it any more."""
        try:
            return (await self.blackboard.read(caller, debate)).debate.status.over
        except DebateNotFound:
            return True


def _debate_read(heard: bytes, cursor: str) -> Iterator[DebateTold]:
    """After what was told last, at `cursor`: what is only spoken does not move it."""
    marked = None
    for line in heard.splitlines():
        if line.startswith(_MARK):
            marked = line.removeprefix(_MARK).decode()
            continue
        type_, facts, kept, label = json.loads(line)
        happening = debate_event_of(type_, facts)
        if kept and marked is not None:
            cursor = marked
        if happening is not None:
            yield DebateTold(cursor, happening, Label.parse(label))
        marked = None


def _debate_entry(debate: DebateId, happening: EventsHappening, label: Label) -> NewEntry:
    type_, facts = debate_event_json(happening)
    return NewEntry(
        topic=debate_talk_topic(debate),
        type=type_,
        details=_debate_writable(facts),
        topic_label=label,
        label=label,
    )


def _debate_writable(facts: JsonObject) -> JsonObject:
    """What voices say may hold what no database does; each letter stays one letter."""
    return {strip_nul(name): _debate_value(value) for name, value in facts.items()}


def _debate_value(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return strip_nul(value)
        case Mapping():
            return _debate_writable(value)
        case list() | tuple():
            return [_debate_value(each) for each in value]
        case _:
            return value


APPROVALS: Final = "approvals"
"""The topic of every request's life in a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedApprovalEvents:
    """The guard's `ApprovalEvents`. Which request, and no more: who may see what it asks for is
    decided where it is shown."""

    log: EventLog
    bus: Bus
    """One that waits for the end of a transaction."""

    async def publish(self, caller: Principal, what: str, approval: Approval) -> None:
        told = NewEntry(
            topic=APPROVALS,
            type=f"approval.{what}",
            details={
                "approval": str(approval.id),
                "status": str(approval.status),
                "outcome": None if approval.outcome is None else str(approval.outcome),
            },
            label=approval.label,
        )
        await self.log.append(caller, [told])
        for each in (approval.id, approval.replaces):
            if each is not None:
                self.bus.wake(caller.space, str(each))
