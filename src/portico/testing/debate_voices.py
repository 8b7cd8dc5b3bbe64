"""Voices of debates, in memory: each says what it was told to say."""

# ruff: noqa: ARG002 # a double need not look at all that it is given

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from portico.debate.core.debaters import Voice, VoiceAsk, VoiceKind, VoiceReply, VoiceState
from portico.debate.core.errors import VoiceAway, VoiceNotCleared, VoiceNotFound
from portico.kernel.json import JsonValue
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

Saying = Callable[[VoiceAsk], Awaitable[VoiceReply]]
HIGHEST = Label(Level.RESTRICTED)


def a_voice(name: str = "alpha:one", **changes: object) -> Voice:
    voice = Voice(
        name=name,
        kind=VoiceKind.MODEL,
        target=name,
        family=name.partition(":")[0],
        most_output=200,
        clearance=HIGHEST,
    )
    return replace(voice, **changes)  # type: ignore[arg-type] # each by its field's name


def a_vote(answer: JsonValue, **fields: JsonValue) -> str:
    """As a voice writes it."""
    return json.dumps({"rationale": "it follows.", "answer": answer, **fields})


def a_reply(text: str, *, prompt: int = 50, output: int = 20, **changes: object) -> VoiceReply:
    reply = VoiceReply(text=text, prompt_tokens=prompt, output_tokens=output)
    return replace(reply, **changes)  # type: ignore[arg-type] # each by its field's name


@dataclass(kw_only=True)
class ScriptedVoice:
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
    voice: Voice = field(init=False)
    changes: Mapping[str, object] = field(default_factory=dict)
    available: bool = True

    def __post_init__(self) -> None:
        self.voice = a_voice(self.name, **self.changes)

    async def reply(self, ask: VoiceAsk) -> VoiceReply:
        if isinstance(self.says, Exception):
            raise self.says
        if isinstance(self.says, str):
            return a_reply(self.says)
        if self.says is not None:
            return await self.says(ask)
        return a_reply(self._words(ask))

    def _words(self, ask: VoiceAsk) -> str:
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


class ScriptedVoices:
    def __init__(self, *voices: ScriptedVoice) -> None:
        self.voices = {each.name: each for each in voices}
        self.asks: list[VoiceAsk] = []
        """All that was asked, in order."""

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[VoiceState]:
        return [
            VoiceState(
                voice=each.voice,
                available=each.available,
                why=None if each.available else "It is switched off. Switch it on.",
            )
            for each in self.voices.values()
        ]

    async def named(self, caller: Principal, target: str) -> Voice:
        if target not in self.voices:
            raise VoiceNotFound(target)
        if not self.voices[target].available:
            raise VoiceAway(target, "it is switched off.")
        return self.voices[target].voice

    async def ask(
        self, caller: Principal, ask: VoiceAsk, hear: Callable[[str], None]
    ) -> VoiceReply:
        self.asks.append(ask)
        if not ask.voice.clearance.covers(ask.label):
            raise VoiceNotCleared(ask.voice.name, ask.label)
        base = ask.voice.name.partition("#")[0]
        await asyncio.sleep(0)
        reply = await self.voices[base].reply(ask)
        hear(reply.text)
        return reply

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Who was asked what, by name and key."""
        return [(ask.voice.name, ask.key.partition(":")[2]) for ask in self.asks]
