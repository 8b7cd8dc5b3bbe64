"""Whoever can be asked in a debate: models, agents, programs. Guests are asked at their seats."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from portico.adapters.cli_debaters.voices import PREFIX as PROGRAM
from portico.adapters.cli_debaters.voices import ProgramVoices
from portico.adapters.cross_domain.debate_agents import PREFIX as AGENT
from portico.adapters.cross_domain.debate_agents import AgentVoices
from portico.adapters.cross_domain.debate_models import ModelVoices
from portico.debate.core.debaters import Voice, VoiceAsk, VoiceKind, VoiceReply, VoiceState
from portico.debate.core.errors import VoiceAway, VoiceNotFound
from portico.kernel.principal import Principal

_NEAR: Final = 3
_LIKE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateVoices:
    """The room's `Voices`."""

    models: ModelVoices
    agents: AgentVoices
    programs: ProgramVoices

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[VoiceState]:
        return [
            *await self.models.all(caller, fresh=fresh),
            *await self.agents.all(caller, fresh=fresh),
            *await self.programs.all(caller, fresh=fresh),
        ]

    async def named(self, caller: Principal, target: str) -> Voice:
        """Raises `NotPermitted`, `VoiceNotFound`, `VoiceAway`."""
        try:
            if target.startswith(AGENT):
                return await self.agents.named(caller, target)
            if target.startswith(PROGRAM):
                return await self.programs.named(caller, target)
            return await self.models.named(caller, target)
        except VoiceNotFound as error:
            raise VoiceNotFound(target, await self._near(caller, target)) from error

    async def ask(
        self, caller: Principal, ask: VoiceAsk, hear: Callable[[str], None]
    ) -> VoiceReply:
        match ask.voice.kind:
            case VoiceKind.MODEL:
                return await self.models.ask(caller, ask, hear)
            case VoiceKind.AGENT:
                return await self.agents.ask(caller, ask, hear)
            case VoiceKind.PROGRAM:
                return await self.programs.ask(ask, hear)
            case VoiceKind.GUEST:
                raise VoiceAway(ask.voice.name, "a guest answers at their seat.")

    async def _near(self, caller: Principal, target: str) -> Sequence[str]:
        """Whom was meant, perhaps: by the whole name, or by what stands behind the provider. No
        program is started to find out."""
        states = [*await self.models.all(caller), *await self.agents.all(caller)]
        names = [each.voice.name for each in states]
        names += [f"{PROGRAM}{name}" for name in self.programs.programs]
        short = {name.partition(":")[2]: name for name in names}
        found = get_close_matches(target, names, n=_NEAR, cutoff=_LIKE)
        also = get_close_matches(target.rpartition(":")[2], short, n=_NEAR, cutoff=_LIKE)
        return [*dict.fromkeys([*found, *(short[name] for name in also)])][:_NEAR]
