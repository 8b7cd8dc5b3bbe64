"""What happens in debates, in the event log: under names that nobody watches by, and shown through
here alone."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from portico.adapters.postgres.debate_rows import talk_topic
from portico.adapters.postgres.plain_text import storable
from portico.debate.core.debates import DebateId
from portico.debate.core.errors import DebateNotFound
from portico.debate.core.events import (
    DebateEnded,
    Happening,
    Told,
    VoiceSpoke,
    happening_json,
    happening_of,
)
from portico.debate.ports import Blackboard
from portico.engine.core.errors import StoreUnavailable
from portico.engine.core.event_log import Aside, Entry, NewEntry
from portico.engine.event_log import Cursors, Subscription, Tails
from portico.engine.ports import EventLog, Seal
from portico.kernel.clock import Clock
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal

_LOOK: Final = 2.0
"""Seconds without a word after which it is looked whether the debate is still on."""
_MARK: Final = b"@"


class LabelledLines:
    """The engine's `Wording`: a line of JSON each, for ourselves, with how secret it is."""

    def told(self, happened: Entry | Aside) -> bytes:
        kept = isinstance(happened, Entry)
        line = [happened.type, happened.facts, kept, str(happened.label)]
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"

    def marked(self, cursor: str, told: bytes) -> bytes:
        return _MARK + cursor.encode() + b"\n" + told

    def trimmed(self, topic: str) -> bytes:  # noqa: ARG002 # there is but one
        return b""


WORDING: Final = LabelledLines()
"""Of its `Tails`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateTalk:
    log: EventLog
    tails: Tails
    """With `WORDING` for its wording."""
    seal: Seal
    blackboard: Blackboard
    clock: Clock

    async def tell(
        self, caller: Principal, debate: DebateId, *happenings: Happening, label: Label
    ) -> None:
        """The first that is told opens its topic, under the label that the debate has then."""
        entries = [_entry(debate, happening, label) for happening in happenings]
        await self.log.append(caller, entries)

    def speak(
        self, caller: Principal, debate: DebateId, piece: VoiceSpoke, *, label: Label
    ) -> None:
        type_, facts = happening_json(piece)
        aside = Aside(
            topic=talk_topic(debate),
            type=type_,
            at=self.clock.now(),
            by=caller.id,
            label=label,
            facts=_writable(facts),
        )
        self.tails.say(caller.space, aside)

    async def follow(
        self, caller: Principal, debate: DebateId, *, after: str | None
    ) -> AsyncGenerator[Told, None]:
        """What was told last before whoever follows was gone is where they left off: a piece that
        was only spoken has the cursor of what was told before it."""
        topic, cursor = talk_topic(debate), after or ""
        positions = {topic: 0}
        if after:
            positions = Cursors.of(self.seal, caller.space, [topic]).positions(after)
        while True:
            async with self.tails.follow(caller, positions) as subscription:
                while not subscription.broken:
                    heard = await _heard(subscription)
                    for told in _read(heard, cursor):
                        cursor = told.cursor
                        yield told
                        if isinstance(told.happening, DebateEnded):
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


def _read(heard: bytes, cursor: str) -> Iterator[Told]:
    """After what was told last, at `cursor`: what is only spoken does not move it."""
    marked = None
    for line in heard.splitlines():
        if line.startswith(_MARK):
            marked = line.removeprefix(_MARK).decode()
            continue
        type_, facts, kept, label = json.loads(line)
        happening = happening_of(type_, facts)
        if kept and marked is not None:
            cursor = marked
        if happening is not None:
            yield Told(cursor, happening, Label.parse(label))
        marked = None


def _entry(debate: DebateId, happening: Happening, label: Label) -> NewEntry:
    type_, facts = happening_json(happening)
    return NewEntry(
        topic=talk_topic(debate),
        type=type_,
        facts=_writable(facts),
        topic_label=label,
        label=label,
    )


def _writable(facts: JsonObject) -> JsonObject:
    """What voices say may hold what no database does; each letter stays one letter."""
    return {storable(name): _value(value) for name, value in facts.items()}


def _value(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return storable(value)
        case Mapping():
            return _writable(value)
        case list() | tuple():
            return [_value(each) for each in value]
        case _:
            return value
