"""What providers say of their models, each in its own way, as far as we read it."""

from decimal import Decimal, InvalidOperation
from typing import Annotated, Final

from pydantic import BaseModel, Field

from portico.adapters.models.said import Said, support
from portico.agents.core.model_requests import Price, Support, ToldBy

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

    def said(self) -> Said:
        told_by = ToldBy.NOBODY if self.window is None else ToldBy.SERVER
        held = Support.YES if self.owned_by in {"vllm", "llamacpp"} else Support.UNKNOWN
        return Said(self.id, window=self.window, structured=held, told_by=told_by)


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

    def said(self) -> Said:
        can = self.capabilities
        return Said(
            self.id,
            window=self.max_input_tokens,
            most_output=self.max_tokens,
            tools=Support.YES,
            vision=_said_of(None if can is None else can.image_input),
            structured=_said_of(None if can is None else can.structured_outputs),
            told_by=ToldBy.NOBODY if self.max_input_tokens is None else ToldBy.SERVER,
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

    def said(self) -> Said:
        return Said(
            self.id,
            window=self.top_provider.context_length or self.context_length,
            most_output=self.top_provider.max_completion_tokens,
            tools=self._takes("tools"),
            vision=support("image" in self.architecture.input_modalities),
            structured=self._takes("structured_outputs"),
            price=self.pricing.price,
            told_by=ToldBy.SERVER,
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

    def said(self, name: str) -> Said:
        return Said(
            name,
            window=self.default_generation_settings.n_ctx,
            tools=support(self.chat_template_caps.supports_tools),
            vision=support(self.modalities.vision),
            structured=Support.YES,
            told_by=ToldBy.SERVER,
        )


class StudioModel(BaseModel):
    """LM Studio's own list."""

    id: _Name
    type: str = "llm"
    max_context_length: _Tokens = None
    loaded_context_length: _Tokens = None
    capabilities: list[str] = Field(default_factory=list)

    def said(self) -> Said:
        return Said(
            self.id,
            window=self.loaded_context_length or self.max_context_length,
            tools=support("tool_use" in self.capabilities),
            vision=support(self.type == "vlm"),
            structured=Support.YES,
            told_by=ToldBy.SERVER,
        )


class StudioModels(BaseModel):
    data: list[StudioModel]


def _said_of(told: _Supported | None) -> Support:
    return support(None if told is None else told.supported)
