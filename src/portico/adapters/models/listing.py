"""Asking a provider which models it has, and what each of them can."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ValidationError

from portico.adapters.models.connection import Connection
from portico.adapters.models.failures import Answered, message_in, refusal, torn
from portico.adapters.models.listing_wire import (
    AnthropicInfo,
    AnthropicInfos,
    PlainModel,
    PlainModels,
    Props,
    RoutedModels,
    StudioModels,
)
from portico.adapters.models.ollama_facts import show
from portico.adapters.models.ollama_wire import Shown, Tags
from portico.adapters.models.provider import Provider, ProviderKind
from portico.adapters.models.said import Said, passes_on, support
from portico.agents.core.errors import ModelNotFound, ModelUnavailable
from portico.agents.core.model_requests import Support, ToldBy
from portico.kernel.clock import Clock
from portico.sandbox.core.errors import AddressRefused

_AT_ONCE: Final = 8
_BY_LISTS: Final = frozenset({ProviderKind.OPENAI, ProviderKind.ANTHROPIC})
_LISTS: Final = "portico.adapters.models.profiles"
_SOMETHING_ELSE: Final = re.compile(
    r"embed|whisper|tts|dall-e|moderation|image|realtime|audio|transcribe|sora|babbage|davinci"
)
"""What OpenAI lists beside models that one can talk to."""

Wire = TypeVar("Wire", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Listing:
    clock: Clock

    async def begin(self, provider: Provider) -> None:
        """What is to be loaded for it first takes seconds that nobody waits for it in."""
        if provider.kind in _BY_LISTS:
            await asyncio.to_thread(import_module, _LISTS)

    async def all(self, there: Connection) -> Sequence[Said]:
        """Raises `ModelUnavailable`, `ModelRefused`, `ModelNotFound`."""
        match there.provider.kind:
            case ProviderKind.OLLAMA:
                return await self._ollama(there)
            case ProviderKind.OPENROUTER:
                found = await self._get(there, "/models", RoutedModels)
                return [each.said() for each in found.data if each.talks]
            case ProviderKind.ANTHROPIC:
                infos = await self._get(there, "/v1/models?limit=1000", AnthropicInfos)
                return await self._with_lists(there, [each.said() for each in infos.data])
            case ProviderKind.OPENAI:
                plain = await self._get(there, "/models", PlainModels)
                listed = [m.said() for m in plain.data if not _SOMETHING_ELSE.search(m.id)]
                return await self._with_lists(there, listed)
            case ProviderKind.COMPATIBLE:
                return await self._compatible(there)

    async def one(self, there: Connection, name: str) -> Said:
        """That it does not list. Raises `ModelNotFound`, `ModelUnavailable`, `ModelRefused`."""
        match there.provider.kind:
            case ProviderKind.OLLAMA:
                shown = await show(there, name)
                if shown is None:
                    raise _no_such(there, name)
                return _shown(name, shown)
            case ProviderKind.OPENROUTER:
                raise _no_such(there, name)
            case ProviderKind.ANTHROPIC:
                path = f"/v1/models/{quote(name, safe='')}"
                info = await self._get(there, path, AnthropicInfo, name)
                return (await self._with_lists(there, [info.said()]))[0]
            case ProviderKind.OPENAI | ProviderKind.COMPATIBLE:
                path = f"/models/{quote(name, safe='')}"
                plain = await self._get(there, path, PlainModel, name)
                return (await self._with_lists(there, [plain.said()]))[0]

    async def _ollama(self, there: Connection) -> Sequence[Said]:
        tags = await self._get(there, "/api/tags", Tags)
        few = asyncio.Semaphore(_AT_ONCE)

        async def shown(name: str) -> Shown | None:
            async with few:
                return await show(there, name)

        async with asyncio.TaskGroup() as asked:
            tasks = {tag.name: asked.create_task(shown(tag.name)) for tag in tags.models}
        found = {name: task.result() or Shown() for name, task in tasks.items()}
        return [
            _shown(name, each)
            for name, each in found.items()
            if each.can("completion") is not False
        ]

    async def _compatible(self, there: Connection) -> Sequence[Said]:
        models = (await self._get(there, "/models", PlainModels)).data
        owners = {each.owned_by for each in models}
        plain = [each.said() for each in models]
        root = there.provider.url.removesuffix("/v1")
        if "llamacpp" in owners:
            props = await self._maybe(there, f"{root}/props", Props)
            return [said if props is None else props.said(said.name).filled(said) for said in plain]
        if "organization_owner" in owners:
            studio = await self._maybe(there, f"{root}/api/v0/models", StudioModels)
            told = {} if studio is None else {each.id: each for each in studio.data}
            return [
                told[said.name].said() if said.name in told else said
                for said in plain
                if said.name not in told or told[said.name].type != "embeddings"
            ]
        return plain

    async def _with_lists(self, there: Connection, said: Iterable[Said]) -> Sequence[Said]:
        if there.provider.kind not in _BY_LISTS:
            return [*said]
        lists = await asyncio.to_thread(import_module, _LISTS)
        kind, now = there.provider.kind, self.clock.now()
        return [each.filled(lists.by_lists(kind, each.name, now)) for each in said]

    async def _get(
        self, there: Connection, path: str, wire: type[Wire], model: str | None = None
    ) -> Wire:
        """Raises what `refusal` gives, and `ModelUnavailable`."""
        asked = there.provider.name if model is None else f"{there.provider.name}:{model}"
        try:
            answer = await _fetch(there, f"{there.provider.url}{path}")
            if answer.status_code == httpx2.codes.OK:
                return wire.model_validate_json(answer.content)
        except (httpx2.HTTPError, AddressRefused) as error:
            raise torn(there.provider, asked, error, begun=False) from error
        except ValidationError as error:
            raise _another(there, asked) from error
        if model is None and answer.status_code == httpx2.codes.NOT_FOUND:
            raise _another(there, asked)
        raise refusal(there.provider, asked, self._answered(answer))

    async def _maybe(self, there: Connection, url: str, wire: type[Wire]) -> Wire | None:
        try:
            answer = await _fetch(there, url)
            return wire.model_validate_json(answer.content) if answer.is_success else None
        except (httpx2.HTTPError, AddressRefused, ValidationError):
            return None

    def _answered(self, answer: httpx2.Response) -> Answered:
        try:
            said = message_in(answer.json())
        except ValueError:
            said = ""
        headers: Mapping[str, str] = {name.lower(): it for name, it in answer.headers.items()}
        return Answered(status=answer.status_code, said=said, headers=headers, at=self.clock.now())


async def _fetch(there: Connection, url: str) -> httpx2.Response:
    return await there.client.get(url, headers=there.authorization)


def _shown(name: str, shown: Shown) -> Said:
    told = shown.capabilities is not None or shown.window is not None
    return Said(
        name,
        window=shown.window,
        tools=support(shown.can("tools")),
        vision=support(shown.can("vision")),
        structured=Support.YES if told else Support.UNKNOWN,
        told_by=ToldBy.SERVER if told else ToldBy.NOBODY,
        elsewhere=passes_on(shown.remote_host),
    )


def _another(there: Connection, asked: str) -> ModelUnavailable:
    return ModelUnavailable(
        asked,
        f"what answers at {there.provider.url} is no server of models of this kind.",
        fix=f"Check models.providers.{there.provider.name}: its kind and its url.",
    )


def _no_such(there: Connection, name: str) -> ModelNotFound:
    if there.provider.kind is ProviderKind.OLLAMA:
        return ModelNotFound(f"{there.provider.name}:{name}", f"Fetch it: ollama pull {name[:200]}")
    return ModelNotFound(f"{there.provider.name}:{name}")
