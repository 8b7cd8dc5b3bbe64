"""Debaters that say what they were told to say, and other ports of debates in memory."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher

from portico.bridge.core.errors import MemoryNotFound, ProjectNotFound
from portico.debate.core.debaters import (
    Debater,
    DebaterKind,
    DebaterReply,
    DebaterRequest,
    DebaterStatus,
)
from portico.debate.core.debates import DebateId, WholeDebate
from portico.debate.core.errors import DebaterNotCleared, DebaterNotFound, DebaterUnavailable
from portico.debate.core.events import DebateEvent, DebaterSpoke, DebateStreamItem
from portico.debate.core.replay import log_text
from portico.guard.core.access_request import TaintContext
from portico.guard.core.contexts import OpenedContext
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import ApprovalId, ContextId, SpaceId
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, Level, join
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryTaskContexts
from portico.testing.memory_store import BEGINNING, InMemoryStore, SeededEntropy, TickingClock

# ruff: noqa: ARG002 # a double need not look at all that it is given


Saying = Callable[[DebaterRequest], Awaitable[DebaterReply]]
HIGHEST = Label(Level.RESTRICTED)


def a_voice(name: str = "alpha:one", **changes: object) -> Debater:
    voice = Debater(
        name=name,
        kind=DebaterKind.MODEL,
        target=name,
        family=name.partition(":")[0],
        max_output_tokens=200,
        clearance=HIGHEST,
    )
    return replace(voice, **changes)  # type: ignore[arg-type] # each by its field's name


def a_vote(answer: JsonValue, **fields: JsonValue) -> str:
    """As a voice writes it."""
    return json.dumps({"rationale": "it follows.", "answer": answer, **fields})


def a_reply(text: str, *, prompt: int = 50, output: int = 20, **changes: object) -> DebaterReply:
    reply = DebaterReply(text=text, prompt_tokens=prompt, output_tokens=output)
    return replace(reply, **changes)  # type: ignore[arg-type] # each by its field's name


@dataclass(kw_only=True)
class ScriptedDebater:
    """Says the same whatever it is asked; with `says`, what that gives; with an error, that."""

    name: str
    answer: JsonValue = "yes"
    again: JsonValue = None
    """In the critique round, with an error that it names; None: the same as before."""
    better: str = "A"
    same: bool = True
    text: str = "All in one."
    parts: Sequence[JsonValue] = ()
    """Of a plan."""
    says: Saying | Exception | str | None = None
    debater: Debater = field(init=False)
    changes: Mapping[str, object] = field(default_factory=dict)
    available: bool = True

    def __post_init__(self) -> None:
        self.debater = a_voice(self.name, **self.changes)

    async def reply(self, ask: DebaterRequest) -> DebaterReply:
        if isinstance(self.says, Exception):
            raise self.says
        if isinstance(self.says, str):
            return a_reply(self.says)
        if self.says is not None:
            return await self.says(ask)
        return a_reply(self._words(ask))

    def _words(self, ask: DebaterRequest) -> str:
        fields = (ask.schema or {}).get("properties", {})
        assert isinstance(fields, dict)
        if "same" in fields:
            return json.dumps({"same": self.same})
        if "better" in fields:
            return json.dumps({"why": "it says more.", "better": self.better})
        if "text" in fields:
            return json.dumps({"text": self.text})
        if "parts" in fields:
            return json.dumps({"parts": list(self.parts)})
        if "changed_because" in fields and self.again is not None:
            return a_vote(self.again, changed_because="the earlier one left out a case.")
        return a_vote(self.answer)


class ScriptedDebaters:
    def __init__(self, *voices: ScriptedDebater) -> None:
        self.debaters = {each.name: each for each in voices}
        self.asks: list[DebaterRequest] = []
        """All that was asked, in order."""

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[DebaterStatus]:
        return [
            DebaterStatus(
                debater=each.debater,
                available=each.available,
                why=None if each.available else "It is switched off. Switch it on.",
            )
            for each in self.debaters.values()
        ]

    async def named(self, caller: Principal, target: str) -> Debater:
        if target not in self.debaters:
            raise DebaterNotFound(target)
        if not self.debaters[target].available:
            raise DebaterUnavailable(target, "it is switched off.")
        return self.debaters[target].debater

    async def ask(
        self, caller: Principal, ask: DebaterRequest, hear: Callable[[str], None]
    ) -> DebaterReply:
        self.asks.append(ask)
        if not ask.debater.clearance.covers(ask.label):
            raise DebaterNotCleared(ask.debater.name, ask.label)
        base = ask.debater.name.partition("#")[0]
        await asyncio.sleep(0)
        reply = await self.debaters[base].reply(ask)
        hear(reply.text)
        return reply

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Who was asked what, by name and key."""
        return [(ask.debater.name, ask.key.partition(":")[2]) for ask in self.asks]


# ruff: noqa: ARG002 # a double need not look at all that it is given


class MemoryDebateTasks:
    """`DebateContexts`, over the task contexts of a world."""

    def __init__(
        self, world: InMemoryStore, clock: Clock | None = None, entropy: Entropy | None = None
    ) -> None:
        self._contexts = MemoryTaskContexts(world)
        self._clock = clock or TickingClock()
        self._entropy = entropy or SeededEntropy("debate tasks")

    async def open(self, caller: Principal, name: str, label: Label) -> ContextId:
        task, now = await self._contexts.get(caller), self._clock.now()
        context = OpenedContext(
            id=ContextId.mint(now, self._entropy),
            principal=caller.id,
            name=name,
            opened_at=now,
            label=join([task.label, label]),
            untrusted=task.untrusted,
        )
        await self._contexts.open(caller, context)
        return context.id

    async def at(self, caller: Principal) -> TaintContext:
        return await self._contexts.get(caller)

    async def read(self, caller: Principal, label: Label, *, untrusted: bool) -> None:
        await self._contexts.raise_taint(caller, label, untrusted=untrusted)


class MemoryDebateEvents:
    """All that was told of each debate, in order; what was spoken live beside it."""

    def __init__(self) -> None:
        self.told: dict[DebateId, list[DebateEvent]] = {}
        self.spoken: list[DebaterSpoke] = []
        self.labels: dict[DebateId, Label] = {}
        self._news = asyncio.Condition()

    async def publish(
        self, caller: Principal, debate: DebateId, *happenings: DebateEvent, label: Label
    ) -> None:
        self.labels[debate] = join([self.labels.get(debate, PUBLIC), label])
        self.told.setdefault(debate, []).extend(happenings)
        async with self._news:
            self._news.notify_all()

    def speak(
        self, caller: Principal, debate: DebateId, piece: DebaterSpoke, *, label: Label
    ) -> None:
        self.spoken.append(piece)

    async def follow(
        self, caller: Principal, debate: DebateId, *, after: str | None
    ) -> AsyncGenerator[DebateStreamItem, None]:
        place = int(after or 0)
        while True:
            for happening in self.told.get(debate, [])[place:]:
                place += 1
                yield DebateStreamItem(str(place), happening, self.labels.get(debate, PUBLIC))
            async with self._news:
                while len(self.told.get(debate, [])) <= place:
                    await self._news.wait()


class MemoryMaterial:
    """Projects and what they remember, each text with its label."""

    def __init__(
        self,
        projects: Mapping[str, Label] | None = None,
        memories: Mapping[str, tuple[str, Label, bool]] | None = None,
    ) -> None:
        self.projects = dict(projects or {})
        self.memories = dict(memories or {})

    async def project(self, caller: Principal, which: str) -> tuple[str, Label]:
        label = self.projects.get(which)
        if label is None or not caller.clearance.covers(label):
            raise ProjectNotFound(which)
        return which, label

    async def of(
        self, caller: Principal, project: str, keys: Sequence[str]
    ) -> tuple[str, Label, bool]:
        found = []
        for key in keys:
            text, label, strange = self.memories.get(key, ("", PUBLIC, False))
            if not text or not caller.clearance.covers(label):
                raise MemoryNotFound(key)
            found.append((text, label, strange))
        texts = "\n\n".join(text for text, _, _ in found)
        return texts, join(label for _, label, _ in found), any(each[2] for each in found)


class SpellingMeaning:
    """Texts are as near as they are spelt alike; nothing can tell where it is switched off."""

    def __init__(self, *, on: bool = True) -> None:
        self.on = on

    async def alike(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if not self.on:
            return []
        return [
            [SequenceMatcher(None, one.lower(), other.lower()).ratio() for other in texts]
            for one in texts
        ]


class MemoryPromotion:
    """Remembers what was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[DebateId, Label]] = []

    async def propose(self, caller: Principal, whole: WholeDebate, to: Label) -> ApprovalId:
        self.asked.append((whole.debate.id, to))
        return ApprovalId.mint(BEGINNING, SeededEntropy(f"{whole.debate.id} {to}"))


class MemoryDebateLogs:
    def __init__(self, most: int = 100) -> None:
        self.files: dict[DebateId, str] = {}
        self.limit = most

    def write(self, space: SpaceId, whole: WholeDebate) -> str | None:  # there is one space
        self.files[whole.debate.id] = log_text(whole)
        return f"memory/{whole.debate.id}"

    def remove(self, space: SpaceId, debate: DebateId) -> None:  # there is one space
        self.files.pop(debate, None)

    def purge(self, now: datetime) -> int:
        old = list(self.files)[: max(len(self.files) - self.limit, 0)]
        for debate in old:
            del self.files[debate]
        return len(old)
