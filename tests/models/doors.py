"""Models and their book on real doors, as the settings name them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import httpx2

from portico.adapters.models.connections import Connections
from portico.adapters.models.ollama import OllamaDetails, OllamaModels
from portico.adapters.models.registry import Listing, ServedModelRegistry, ServedModels
from portico.adapters.system.clock import SystemClock
from portico.adapters.tokens import O200k
from portico.agents.core.model_requests import (
    AssistantMessage,
    Message,
    ModelAsk,
    ModelRef,
    Reply,
    ResponseChunk,
    UserMessage,
)
from portico.app.models import client_for, providers_of
from portico.guard.core.secrets import SecretRef
from portico.kernel.principal import Principal
from portico.settings.agents import ModelsSettings
from portico.testing.guard import a_person
from portico.testing.memory_store import SeededEntropy

ANA = a_person("ana")
PATIENCE = timedelta(seconds=60)


@dataclass(frozen=True)
class Doors:
    models: ServedModels
    book: ServedModelRegistry
    connections: Connections
    learnt: list[str] = field(default_factory=list)
    caller: Principal = ANA

    async def pieces(self, ask: ModelAsk) -> list[ResponseChunk]:
        async with aclosing(self.models.ask(self.caller, ask)) as answer:
            return [piece async for piece in answer]

    async def reply(self, ask: ModelAsk) -> Reply:
        *_, last = await self.pieces(ask)
        assert isinstance(last, Reply)
        return last


@asynccontextmanager
async def opened(
    providers: Mapping[str, Mapping[str, Any]],
    *,
    keys: Mapping[str, str] | None = None,
    patience: float = 10.0,
    good_for: float = 300.0,
) -> AsyncIterator[Doors]:
    settings = ModelsSettings.model_validate({"discover": False, "providers": providers})
    learnt: list[str] = []

    def key(_space: str, ref: SecretRef) -> str | None:
        return (keys or {}).get(str(ref))

    connections = Connections(
        providers=providers_of(settings, {}),
        client=partial(client_for, httpx2.create_ssl_context()),
        key=key,
        learn=learnt.append,
    )
    clock, entropy = SystemClock(), SeededEntropy()
    models = ServedModels(
        connections=connections,
        ollama=OllamaModels(OllamaDetails(), O200k(), clock, entropy),
        clock=clock,
        entropy=entropy,
    )
    book = ServedModelRegistry(
        connections=connections,
        listing=Listing(clock),
        clock=clock,
        good_for=timedelta(seconds=good_for),
        wait_timeout=timedelta(seconds=patience),
    )
    try:
        yield Doors(models, book, connections, learnt)
    finally:
        await connections.close()


def asked(
    model: str,
    *messages: str | Message,
    instructions: str = "",
    most_output: int = 64,
    timeout: timedelta = PATIENCE,
    **more: Any,
) -> ModelAsk:
    said = [UserMessage(each) if isinstance(each, str) else each for each in messages]
    return ModelAsk(
        model=ModelRef.parse(model),
        instructions=instructions,
        messages=said,
        max_output_tokens=most_output,
        prompt_tokens=more.pop("prompt_tokens", counted([instructions, *map(_text, said)])),
        timeout=timeout,
        **more,
    )


def counted(texts: Sequence[str]) -> int:
    return sum(O200k().count(text) + 4 for text in texts)


def _text(message: Message) -> str:
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    return message.text + "".join(str(call.arguments) for call in calls)
