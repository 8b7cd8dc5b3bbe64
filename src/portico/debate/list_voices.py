"""List who could be asked, and whether they are there."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.debate.core.voice import VoiceState
from portico.debate.ports import Voices
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListVoices:
    voices: Voices

    async def __call__(self, caller: Principal, fresh: bool = False) -> Sequence[VoiceState]:  # noqa: FBT002 # as the faces ask
        """Raises `NotPermitted`."""
        permit(caller, Scope.DEBATES_READ)
        return await self.voices.all(caller, fresh=fresh)
