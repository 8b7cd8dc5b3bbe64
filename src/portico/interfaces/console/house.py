"""What the console can call: what every other face can, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from portico.engine.event_log import Tails
from portico.engine.ports import EventLog
from portico.interfaces.http.agent_run_use_cases import AgentRunUseCases
from portico.interfaces.http.agent_use_cases import AgentUseCases
from portico.interfaces.http.bridge_use_cases import BridgeUseCases
from portico.interfaces.http.debate_use_cases import DebateUseCases
from portico.interfaces.http.gateway_use_cases import GatewayUseCases
from portico.interfaces.http.lasting import MANNERS, Manners
from portico.interfaces.http.model_use_cases import ModelUseCases
from portico.interfaces.http.use_cases import UseCases
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy

Room = TypeVar("Room")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class House:
    """Without a text of its own: that would hold every vector of every index."""

    use: UseCases
    gateway: GatewayUseCases
    rooms: Mapping[str, object]
    log: EventLog
    tails: Tails
    """What happens, in the words of pages."""
    clock: Clock
    entropy: Entropy
    secure: bool = False
    """Whether browsers reach this server by HTTPS."""
    manners: Manners = MANNERS

    @property
    def agents(self) -> AgentUseCases:
        return self._room("agents", AgentUseCases)

    @property
    def agent_runs(self) -> AgentRunUseCases:
        return self._room("agent_runs", AgentRunUseCases)

    @property
    def models(self) -> ModelUseCases:
        return self._room("models", ModelUseCases)

    @property
    def bridge(self) -> BridgeUseCases:
        return self._room("bridge", BridgeUseCases)

    @property
    def debates(self) -> DebateUseCases:
        return self._room("debates", DebateUseCases)

    def _room(self, name: str, kind: type[Room]) -> Room:
        found = self.rooms[name]
        if not isinstance(found, kind):
            raise TypeError(f"The room {name!r} is not a {kind.__name__}.")
        return found
