"""The durable steps of a run that calls tools for somebody: what went wrong in one is noted by its
kind, and its words are kept where what the run gave is kept."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from portico.engine.core.runs import Discreet
from portico.gateway.core.errors import ToolSaidNo
from portico.gateway.core.plan.private_words import discreet, words_of
from portico.gateway.workflows.outputs import Outputs
from portico.gateway.workflows.through_durable import ThroughDurable
from portico.kernel.durable import Action, Begun
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class PrivateSteps(ThroughDurable):
    """`Durable`, which tells nobody what only its caller may read."""

    outputs: Outputs
    asker: Callable[[], Awaitable[Principal]]

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        return await self.inner.step(name, self._private(action), tries=tries)

    def begin(self, name: str, action: Action, *, tries: int = 1) -> Begun:
        return self.inner.begin(name, self._private(action), tries=tries)

    def _private(self, action: Action) -> Action:
        async def private(key: str) -> JsonValue:
            try:
                return await action(key)
            except ToolSaidNo:  # says where its words are already
                raise
            except Exception as error:  # any error may quote what it was given
                raise Discreet(discreet(error, None, await self._kept(error))) from error

        return private

    async def _kept(self, error: Exception) -> str | None:
        """None if they cannot be: whoever it is for may not any more, or the vault is closed."""
        try:
            kept = await self.outputs.keep(await self.asker(), words_of(error))
        except PorticoError:
            return None
        return str(kept.result)
