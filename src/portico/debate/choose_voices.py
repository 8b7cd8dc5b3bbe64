"""Choose who is asked: those who are named, else those of the settings, else a few of different
families that are there. Who is named and cannot be asked is refused; who is not named is left out,
and it is said why."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from portico.debate.core.errors import (
    VoiceAway,
    VoiceNotCleared,
    VoiceNotFound,
    VoiceUnbounded,
)
from portico.debate.core.rules import MOST_USUAL, Rules
from portico.debate.core.skip_words import VOICE, skip_words
from portico.debate.core.voice import Voice, VoiceKind, VoiceState
from portico.debate.core.wish import NOBODY, DebateWish, Usual
from portico.debate.ports import Voices
from portico.kernel.errors import PorticoError
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One that was not named and cannot be asked, or is told less than others."""

    voice: str
    why: str
    kind: str = VOICE

    @property
    def what(self) -> str:
        """As it is written down that it was not asked."""
        return f"{self.kind}:{self.voice}"

    def __str__(self) -> str:
        return skip_words(self.what, self.why)


@dataclass(frozen=True, slots=True)
class Chosen:
    voices: tuple[Voice, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseVoices:
    voices: Voices
    usual: Usual

    async def __call__(
        self, caller: Principal, wish: DebateWish, label: Label, rules: Rules
    ) -> Chosen:
        """Raises `VoiceNotFound`, `VoiceAway`, `VoiceUnbounded`, `VoiceNotCleared`."""
        if wish.voices == NOBODY:
            chosen = Chosen(())
        elif wish.voices:
            named = [await self._named(caller, target) for target in wish.voices]
            for voice in named:
                check(voice, label, unbounded=wish.unbounded)
            chosen = Chosen(tuple(named))
        elif self.usual.voices:
            chosen = await self._usual(caller, wish, label)
        else:
            chosen = await self._there(caller, wish, label, rules)
        return chosen

    async def _named(self, caller: Principal, target: str) -> Voice:
        try:
            return await self.voices.named(caller, target)
        except VoiceNotFound as error:
            if error.near:
                raise
            known = [each.voice.name for each in await self.voices.all(caller)]
            raise VoiceNotFound(target, difflib.get_close_matches(target, known, n=2)) from error

    async def _usual(self, caller: Principal, wish: DebateWish, label: Label) -> Chosen:
        voices, left_out = [], []
        for target in self.usual.voices:
            try:
                voice = await self.voices.named(caller, target)
                check(voice, label, unbounded=wish.unbounded)
            except (VoiceNotFound, VoiceAway, VoiceNotCleared, VoiceUnbounded) as error:
                left_out.append(LeftOut(target, str(error)))
            else:
                voices.append(voice)
        return Chosen(tuple(voices), tuple(left_out))

    async def _there(
        self, caller: Principal, wish: DebateWish, label: Label, rules: Rules
    ) -> Chosen:
        """Models alone: agents and programs do more than answer, and are asked when named."""
        states = [
            each for each in await self.voices.all(caller) if each.voice.kind is VoiceKind.MODEL
        ]
        able, left_out = [], []
        for state in states:
            why = _why_not(state, label, unbounded=wish.unbounded)
            if why is None:
                able.append(state.voice)
            else:
                left_out.append(LeftOut(state.voice.name, why))
        return Chosen(_mixed(able, min(rules.voices_most, MOST_USUAL)), tuple(left_out[:5]))


def check(voice: Voice, label: Label, *, unbounded: bool) -> None:
    """Raises `VoiceNotCleared`, `VoiceUnbounded`."""
    if not voice.clearance.covers(label):
        raise VoiceNotCleared(voice.name, label)
    if not voice.bounded and not unbounded:
        raise VoiceUnbounded(voice.name)


def _why_not(state: VoiceState, label: Label, *, unbounded: bool) -> str | None:
    if not state.available:
        return state.why or "it is not there."
    try:
        check(state.voice, label, unbounded=unbounded)
    except PorticoError as error:
        return str(error)
    return None


def _mixed(voices: Sequence[Voice], most: int) -> tuple[Voice, ...]:
    """One of each family, then a second one, as many as are asked at most."""
    turns: list[tuple[int, int, Voice]] = []
    seen: dict[str, int] = {}
    for place, voice in enumerate(voices):
        seen[voice.family] = seen.get(voice.family, 0) + 1
        turns.append((seen[voice.family], place, voice))
    ordered = [voice for _, _, voice in sorted(turns, key=lambda each: each[:2])]
    return tuple(ordered[:most])
