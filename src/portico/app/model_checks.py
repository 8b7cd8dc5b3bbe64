"""Whether a model of Ollama's has room for the agents that are to be run by it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import httpx2

from portico.adapters.models.connections import Connection
from portico.adapters.models.ollama import OllamaFacts
from portico.adapters.models.provider import Provider, ProviderKind
from portico.adapters.postgres.agents.agents import PostgresAgents
from portico.adapters.tokens import O200k
from portico.agents.core.agent_checks import LEAST, room_for_talk
from portico.agents.core.agents import Agent, AgentFilter
from portico.agents.core.model_requests import ModelRef
from portico.app.entered import entered
from portico.app.ground import Ground
from portico.app.models import client_for, providers_of
from portico.engine.core.store import Finding, State
from portico.kernel.errors import PorticoError, many
from portico.sandbox.core.errors import AddressRefused
from portico.settings.load import process_environment

_MOST: Final = 200
_PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class CheckContext:
    ground: Ground

    async def __call__(self, *, mend: bool) -> Sequence[Finding]:  # noqa: ARG002 # whose model it is, decides
        settings = self.ground.loaded.settings.models
        providers = providers_of(settings, process_environment())
        try:
            agents = await self._agents()
        except (PorticoError, OSError):
            detail = "not known: no database, or no key"
            return [Finding(check="context", state=State.WARNING, detail=detail)]
        found = [each async for each in in_disguise(providers)]
        found += [each async for each in too_small(providers, agents)]
        detail = f"{many(len(agents), 'agent')}, none is short of it"
        return found or [Finding(check="context", state=State.GOOD, detail=detail)]

    async def _agents(self) -> Sequence[Agent]:
        async with entered(self.ground) as (transactions, caller):
            wanted = AgentFilter()
            return await PostgresAgents(transactions).page(caller, wanted, after=None, limit=_MOST)


async def in_disguise(providers: Mapping[str, Provider]) -> AsyncIterator[Finding]:
    """Ollama, asked in OpenAI's words: there nobody can say how much it is to read, and it reads
    4,096 tokens unless its own settings say otherwise, and leaves out the rest without a word."""
    for each in providers.values():
        if each.kind is ProviderKind.COMPATIBLE and not each.found and await _is_ollama(each):
            root = each.url.removesuffix("/v1")
            yield Finding(
                check="context",
                state=State.WARNING,
                detail=f"{each.name} is Ollama, asked in a way in which it cuts what is too long",
                fix=f'In [models.providers.{each.name}] set kind = "ollama" and url = "{root}"',
            )


async def too_small(
    providers: Mapping[str, Provider], agents: Sequence[Agent]
) -> AsyncIterator[Finding]:
    facts, count = OllamaFacts(), O200k().count
    for agent in agents:
        ref = ModelRef.parse(agent.spec.model)
        provider = providers.get(ref.provider)
        if provider is None or provider.kind is not ProviderKind.OLLAMA:
            continue
        async with _connected(provider) as there:
            window = (await facts.of(there, ref.name)).limit
        if window is not None and room_for_talk(agent.spec, window, count) < LEAST:
            yield _told(agent, provider, window)


def _told(agent: Agent, provider: Provider, window: int) -> Finding:
    name, model = agent.spec.name, agent.spec.model
    set_here = provider.window == window
    larger = f"Choose a model with a larger window: portico agents edit {name}"
    raised = f"Raise window in [models.providers.{provider.name}], or take it out"
    return Finding(
        check="context",
        state=State.WARNING,
        detail=f"{model} has {window:,} tokens, too few for the agent {name}",
        fix=raised if set_here else larger,
    )


async def _is_ollama(provider: Provider) -> bool:
    async with _connected(provider) as there:
        try:
            url = f"{provider.url.removesuffix('/v1')}/api/version"
            answer = await there.client.get(url, timeout=_PATIENCE)
            return answer.status_code == httpx2.codes.OK and "version" in answer.json()
        except (httpx2.HTTPError, AddressRefused, ValueError):
            return False


@asynccontextmanager
async def _connected(provider: Provider) -> AsyncIterator[Connection]:
    async with client_for(httpx2.create_ssl_context(), provider) as client:
        yield Connection(provider, client, None)
