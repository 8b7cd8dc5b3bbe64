"""The models there are: listed by each provider, remembered for a while, and asked."""

import asyncio
import re
import threading
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Final, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, Field, ValidationError

from portico.adapters.models.connections import (
    Answered,
    Connection,
    Connections,
    message_in,
    refusal,
    torn,
)
from portico.adapters.models.ollama import OllamaModels, Shown, Tags, show
from portico.adapters.models.provider import (
    DeclaredCapabilities,
    Provider,
    ProviderKind,
    known,
    passes_on,
    support,
)
from portico.agents.core.errors import ModelNotFound, ModelUnavailable
from portico.agents.core.model_requests import (
    ModelAsk,
    ModelInfo,
    ModelInfoSource,
    ModelRef,
    Price,
    ProviderState,
    ResponseChunk,
    Support,
)
from portico.guard.core.secrets import Source
from portico.kernel.clock import Clock, Entropy
from portico.kernel.errors import PorticoError
from portico.kernel.principal import Principal
from portico.sandbox.core.errors import AddressRefused

if TYPE_CHECKING:
    from portico.adapters.models.pydantic_ai import LayerModels

_MILLION: Final = 1_000_000
_Tokens = Annotated[int, Field(gt=0)] | None
_Name = Annotated[str, Field(min_length=1, max_length=300)]


class _Meta(BaseModel):
    n_ctx: _Tokens = None


class PlainModel(BaseModel):
    """As OpenAI lists one, and what servers that are like it add."""

    id: _Name
    owned_by: str = ""
    max_model_len: _Tokens = None
    """vLLM's."""
    context_length: _Tokens = None
    meta: _Meta | None = None
    """llama.cpp's."""

    @property
    def window(self) -> int | None:
        served = None if self.meta is None else self.meta.n_ctx
        return self.max_model_len or served or self.context_length

    def said(self) -> DeclaredCapabilities:
        told_by = ModelInfoSource.NOBODY if self.window is None else ModelInfoSource.SERVER
        held = Support.YES if self.owned_by in {"vllm", "llamacpp"} else Support.UNKNOWN
        return DeclaredCapabilities(self.id, window=self.window, structured=held, told_by=told_by)


class PlainModels(BaseModel):
    data: list[PlainModel]


class _Supported(BaseModel):
    supported: bool = False


class _Capabilities(BaseModel):
    image_input: _Supported | None = None
    structured_outputs: _Supported | None = None


class AnthropicInfo(BaseModel):
    id: _Name
    max_input_tokens: _Tokens = None
    max_tokens: _Tokens = None
    capabilities: _Capabilities | None = None

    def said(self) -> DeclaredCapabilities:
        can = self.capabilities
        return DeclaredCapabilities(
            self.id,
            window=self.max_input_tokens,
            max_output_tokens=self.max_tokens,
            tools=Support.YES,
            vision=_said_of(None if can is None else can.image_input),
            structured=_said_of(None if can is None else can.structured_outputs),
            told_by=ModelInfoSource.NOBODY
            if self.max_input_tokens is None
            else ModelInfoSource.SERVER,
        )


class AnthropicInfos(BaseModel):
    data: list[AnthropicInfo]


class _Pricing(BaseModel):
    prompt: str = ""
    completion: str = ""

    @property
    def price(self) -> Price | None:
        """Of a million, from that of one; what it says of models that it chooses itself is none."""
        try:
            read, written = Decimal(self.prompt), Decimal(self.completion)
        except InvalidOperation:
            return None
        if not (read.is_finite() and written.is_finite()) or min(read, written) < 0:
            return None
        return Price(input=read * _MILLION, output=written * _MILLION)


class _Architecture(BaseModel):
    input_modalities: list[str] = Field(default_factory=list)
    output_modalities: list[str] = Field(default_factory=lambda: ["text"])


class _TopProvider(BaseModel):
    context_length: _Tokens = None
    max_completion_tokens: _Tokens = None


class RoutedModel(BaseModel):
    """OpenRouter's."""

    id: _Name
    context_length: _Tokens = None
    pricing: _Pricing = Field(default_factory=_Pricing)
    architecture: _Architecture = Field(default_factory=_Architecture)
    top_provider: _TopProvider = Field(default_factory=_TopProvider)
    supported_parameters: list[str] | None = None

    @property
    def talks(self) -> bool:
        return "text" in self.architecture.output_modalities

    def said(self) -> DeclaredCapabilities:
        return DeclaredCapabilities(
            self.id,
            window=self.top_provider.context_length or self.context_length,
            max_output_tokens=self.top_provider.max_completion_tokens,
            tools=self._takes("tools"),
            vision=support("image" in self.architecture.input_modalities),
            structured=self._takes("structured_outputs"),
            price=self.pricing.price,
            told_by=ModelInfoSource.SERVER,
        )

    def _takes(self, what: str) -> Support:
        told = self.supported_parameters
        return support(None if told is None else what in told)


class RoutedModels(BaseModel):
    data: list[RoutedModel]


class _Generation(BaseModel):
    n_ctx: _Tokens = None


class _TemplateCaps(BaseModel):
    supports_tools: bool | None = None


class _Modalities(BaseModel):
    vision: bool | None = None


class Props(BaseModel):
    """llama.cpp's, of the one model that it serves."""

    default_generation_settings: _Generation = Field(default_factory=_Generation)
    chat_template_caps: _TemplateCaps = Field(default_factory=_TemplateCaps)
    modalities: _Modalities = Field(default_factory=_Modalities)

    def said(self, name: str) -> DeclaredCapabilities:
        return DeclaredCapabilities(
            name,
            window=self.default_generation_settings.n_ctx,
            tools=support(self.chat_template_caps.supports_tools),
            vision=support(self.modalities.vision),
            structured=Support.YES,
            told_by=ModelInfoSource.SERVER,
        )


class StudioModel(BaseModel):
    """LM Studio's own list."""

    id: _Name
    type: str = "llm"
    max_context_length: _Tokens = None
    loaded_context_length: _Tokens = None
    capabilities: list[str] = Field(default_factory=list)

    def said(self) -> DeclaredCapabilities:
        return DeclaredCapabilities(
            self.id,
            window=self.loaded_context_length or self.max_context_length,
            tools=support("tool_use" in self.capabilities),
            vision=support(self.type == "vlm"),
            structured=Support.YES,
            told_by=ModelInfoSource.SERVER,
        )


class StudioModels(BaseModel):
    data: list[StudioModel]


def _said_of(told: _Supported | None) -> Support:
    return support(None if told is None else told.supported)


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

    async def preload(self, provider: Provider) -> None:
        """What is to be loaded for it first takes seconds that nobody waits for it in."""
        if provider.kind in _BY_LISTS:
            await asyncio.to_thread(import_module, _LISTS)

    async def all(self, there: Connection) -> Sequence[DeclaredCapabilities]:
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

    async def one(self, there: Connection, name: str) -> DeclaredCapabilities:
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

    async def _ollama(self, there: Connection) -> Sequence[DeclaredCapabilities]:
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

    async def _compatible(self, there: Connection) -> Sequence[DeclaredCapabilities]:
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

    async def _with_lists(
        self, there: Connection, said: Iterable[DeclaredCapabilities]
    ) -> Sequence[DeclaredCapabilities]:
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


def _shown(name: str, shown: Shown) -> DeclaredCapabilities:
    told = shown.capabilities is not None or shown.window is not None
    return DeclaredCapabilities(
        name,
        window=shown.window,
        tools=support(shown.can("tools")),
        vision=support(shown.can("vision")),
        structured=Support.YES if told else Support.UNKNOWN,
        told_by=ModelInfoSource.SERVER if told else ModelInfoSource.NOBODY,
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


# The models there are: each provider is asked when somebody wants to know, and not too often.
#
# All are asked at once, and none waits for another: who does not answer in time is said to be away.

_AWAY_FOR: Final = timedelta(seconds=10)
"""Who did not answer is not asked again at once."""


@dataclass(frozen=True, slots=True)
class _Page:
    """What one provider said, and when."""

    at: float
    state: ProviderState
    models: Mapping[str, ModelInfo]
    last: Mapping[str, ModelInfo]
    """The same, or what it said when it last answered."""
    problem: PorticoError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModelRegistry:
    connections: Connections
    listing: Listing
    clock: Clock
    good_for: timedelta
    wait_timeout: timedelta
    _pages: dict[tuple[str, str], _Page] = field(default_factory=dict)
    _asking: dict[tuple[str, str], asyncio.Lock] = field(default_factory=dict)

    async def all(self, caller: Principal, *, fresh: bool = False) -> Sequence[ModelInfo]:
        pages = await self._all_pages(caller, fresh=fresh)
        return [model for page in pages for model in page.models.values()]

    async def providers(self, caller: Principal, *, fresh: bool = False) -> Sequence[ProviderState]:
        """Of those that nobody has named, only those that answer."""
        pages = await self._all_pages(caller, fresh=fresh)
        providers = self.connections.providers
        return [
            page.state
            for page in pages
            if page.state.reachable or not providers[page.state.name].found
        ]

    async def get(self, caller: Principal, ref: ModelRef) -> ModelInfo:
        provider = self.connections.provider(ref.provider)
        page = await self._page(caller, provider, fresh=False)
        for model in (page.models.get(ref.name), page.last.get(ref.name)):
            if model is not None:
                return model
        if not page.state.reachable:
            raise _unreachable(ref, page.problem)
        return await self._unlisted(caller, provider, ref)

    async def _unlisted(self, caller: Principal, provider: Provider, ref: ModelRef) -> ModelInfo:
        """Raises `ModelNotFound`, `ModelUnavailable`."""
        there = await self.connections.to(caller, provider.name)
        try:
            async with asyncio.timeout(self.wait_timeout.total_seconds()):
                said = await self.listing.one(there, ref.name)
        except TimeoutError as error:
            raise ModelUnavailable(str(ref), "its server takes too long to answer.") from error
        except ModelNotFound as error:
            raise ModelNotFound(str(ref), error.fix or "") from error
        found = known(provider, replace(said, name=ref.name))
        place = _place(caller, provider)
        if page := self._pages.get(place):
            self._pages[place] = replace(page, last={**page.last, ref.name: found})
        return found

    async def _all_pages(self, caller: Principal, *, fresh: bool) -> Sequence[_Page]:
        async with asyncio.TaskGroup() as asked:
            tasks = [
                asked.create_task(self._page(caller, provider, fresh=fresh))
                for provider in self.connections.providers.values()
            ]
        return [task.result() for task in tasks]

    async def _page(self, caller: Principal, provider: Provider, *, fresh: bool) -> _Page:
        place, wanted_at = _place(caller, provider), _now()
        async with self._asking.setdefault(place, asyncio.Lock()):
            page = self._pages.get(place)
            # whoever waited here for another's question takes the answer to that
            if page is not None and (page.at >= wanted_at or (not fresh and self._good(page))):
                return page
            page = self._pages[place] = await self._ask(caller, provider, page)
            return page

    def _good(self, page: _Page) -> bool:
        good_for = self.good_for if page.state.reachable else min(self.good_for, _AWAY_FOR)
        return _now() - page.at < good_for.total_seconds()

    async def _ask(self, caller: Principal, provider: Provider, before: _Page | None) -> _Page:
        began, asked_at = _now(), self.clock.now()
        problem: PorticoError | None = None
        said: Sequence[DeclaredCapabilities] = ()
        try:
            await self.listing.preload(provider)
            began = _now()
            async with asyncio.timeout(self.wait_timeout.total_seconds()):
                there = await self.connections.to(caller, provider.name)
                said = await self.listing.all(there)
        except TimeoutError:
            seconds = self.wait_timeout.total_seconds()
            problem = ModelUnavailable(provider.name, f"there was no answer within {seconds:g} s.")
        except PorticoError as error:
            problem = error
        listed = {each.name for each in said}
        named = [DeclaredCapabilities(name) for name in provider.models if name not in listed]
        models = {each.name: known(provider, each) for each in [*said, *named]}
        state = ProviderState(
            name=provider.name,
            kind=provider.kind.value,
            url=provider.url,
            local=provider.local,
            clearance=provider.clearance,
            reachable=problem is None,
            why=None if problem is None else _told(problem),
            models=len(models),
            took=timedelta(seconds=_now() - began),
            asked_at=asked_at,
        )
        if problem is not None:
            last = {} if before is None else before.last
            return _Page(_now(), state, {}, {**models, **last}, problem)
        return _Page(_now(), state, models, models)


def _unreachable(ref: ModelRef, problem: PorticoError | None) -> PorticoError:
    """What is wrong with its provider, said of the model."""
    if isinstance(problem, ModelUnavailable):
        return ModelUnavailable(str(ref), problem.why, fix=problem.fix)
    return problem or ModelUnavailable(str(ref), "its server does not answer.")


def _told(problem: PorticoError) -> str:
    return str(problem) if problem.fix is None else f"{problem} {problem.fix}"


def _place(caller: Principal, provider: Provider) -> tuple[str, str]:
    """A key that was given by name is another one in each space."""
    own = provider.key is not None and provider.key.source is Source.SECRET
    return provider.name, str(caller.space) if own else ""


def _now() -> float:
    return asyncio.get_running_loop().time()


_LAYER: Final = "portico.adapters.models.pydantic_ai"
_STEPS: Final = ("pydantic_ai.messages", "pydantic_ai.models", _LAYER)
_BREATH: Final = 0.2
"""Seconds between two of them, in which everybody else has the interpreter to themselves."""
_LOADING: Final = threading.Lock()


def load_ahead() -> threading.Thread:
    """The library, before anybody is asked by it: else the first answer would pay for it, and be
    late. In a thread that nobody waits for, also not whoever ends the process. It is not made
    nicer than others: one that waits for its turn while it has the interpreter holds up all."""
    thread = threading.Thread(target=_load, name="model library", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    with suppress(ImportError):  # whoever asks a model is told
        for each in _STEPS:
            _imported(each)
            time.sleep(_BREATH)


def _imported(name: str) -> ModuleType:
    """By one thread at a time: two that come into a library at two of its doors meet modules that
    are only half there."""
    with _LOADING:
        return import_module(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModels:
    connections: Connections
    ollama: OllamaModels
    clock: Clock
    entropy: Entropy
    _loaded: "list[LayerModels]" = field(default_factory=list)

    async def ask(self, caller: Principal, ask: ModelAsk) -> AsyncGenerator[ResponseChunk, None]:
        there = await self.connections.to(caller, ask.model.provider)
        if there.provider.kind is ProviderKind.OLLAMA:
            pieces = self.ollama.ask(there, ask)
        else:
            pieces = (await self._layer()).ask(there, ask)
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def _layer(self) -> "LayerModels":
        """In a thread, since loading it takes seconds; once, since even going there takes time."""
        if not self._loaded:
            layer = await asyncio.to_thread(_imported, _LAYER)
            self._loaded.append(layer.LayerModels(self.clock, self.entropy))
        return self._loaded[0]
