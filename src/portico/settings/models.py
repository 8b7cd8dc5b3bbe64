"""What the user decides about models: who provides them, and what each may be told."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from portico.adapters.models.provider import NAME
from portico.guard.core.secrets import parse_ref
from portico.kernel.label import BadLabel, Label
from portico.settings.gateway import Seconds

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

_Tokens = Annotated[int, Strict(), Field(ge=256, le=100_000_000)]
_Dollars = Annotated[float, Strict(), Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class ProviderEntry(BaseModel):
    """A provider of models, by a table of its own: `[models.providers.NAME]`. Its models are then
    called NAME:model."""

    model_config = _MODEL

    kind: Literal["openai", "anthropic", "openrouter", "ollama", "compatible"]
    """How it is spoken to. `compatible`: any server that speaks OpenAI's `/v1/chat/completions`,
    such as llama.cpp, vLLM or LM Studio."""
    url: str | None = None
    """Where it is; of a compatible one up to and with its `/v1`. Not set: where its makers have
    it, or where Ollama listens on this machine."""
    key: str | None = None
    """Where its key is, never the key itself: `env:OPENAI_API_KEY`, `file:PATH`, or `secret:NAME`
    for one that was given with `portico secrets set`."""
    enabled: Annotated[bool, Strict()] = True
    """Off: it is not there, even if it would be found by itself."""
    clearance: str | None = None
    """How secret what is sent to it may be, as in team+finance. Not set: restricted if it is on
    this machine, else team."""
    models: tuple[str, ...] = ()
    """Models that it has although it does not list them. In a list parted by commas where it is a
    text."""
    window: _Tokens | None = None
    """Tokens of prompt and answer together, at most, whatever its models say. For Ollama this
    bounds the memory that a long conversation takes."""
    price_in: _Dollars | None = None
    """US dollars of a million tokens that it reads, instead of what it or a list says."""
    price_out: _Dollars | None = None
    """US dollars of a million tokens that it writes. Both or neither."""
    tools: Annotated[bool, Strict()] | None = None
    """Whether its models can call tools, instead of what it or a list says."""
    vision: Annotated[bool, Strict()] | None = None
    """Whether its models can see pictures."""
    structured: Annotated[bool, Strict()] | None = None
    """Whether the answers of its models can be held to a form."""

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            usable = parts.hostname and parts.port != 0 and parts.username is None
        except ValueError:
            usable = False
        if not usable or parts.scheme not in {"http", "https"} or set(value) & set("?#@\\ "):
            raise ValueError(
                "must be an address, its port from 1 to 65535 and an IPv6 host in brackets, "
                "as in http://127.0.0.1:8080/v1 or http://[::1]:8080/v1"
            )
        return value.rstrip("/")

    @field_validator("key")
    @classmethod
    def _is_a_reference(cls, value: str | None) -> str | None:
        """Does not repeat it: it may be the key itself."""
        if value is not None and parse_ref(value) is None:
            raise ValueError("must say where the key is, as in env:OPENAI_API_KEY")
        return value

    @field_validator("clearance")
    @classmethod
    def _is_a_label(cls, value: str | None) -> str | None:
        try:
            return None if value is None else str(Label.parse(value))
        except BadLabel as error:
            raise ValueError("must be a level and compartments, as in team+finance") from error

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if self.kind == "compatible" and self.url is None:
            raise ValueError("must have a url, as in http://127.0.0.1:8080/v1")
        if (self.price_in is None) != (self.price_out is None):
            raise ValueError("must have both of price_in and price_out, or neither")
        return self


def _have_names(providers: Mapping[str, ProviderEntry]) -> Mapping[str, ProviderEntry]:
    for name in providers:
        if not NAME.fullmatch(name):
            raise PydanticCustomError(
                "no_provider_name",
                "must be small letters, digits, - and _, at most 32, beginning with a letter",
                {"setting": name},
            )
    return providers


class ModelsSettings(BaseModel):
    """The models that agents are run by."""

    model_config = _MODEL

    discover: Annotated[bool, Strict()] = True
    """Look for models without being told: Ollama, llama.cpp, LM Studio and vLLM at their usual
    ports on this machine; and OpenAI, Anthropic and OpenRouter if the variable OPENAI_API_KEY,
    ANTHROPIC_API_KEY or OPENROUTER_API_KEY is set."""
    refresh_seconds: Annotated[int, Strict(), Field(ge=1, le=86_400)] = 300
    """Seconds that what a provider has said of its models is good for."""
    timeout: Seconds = 5.0
    """Seconds that a provider may take to say which models it has."""
    providers: Annotated[Mapping[str, ProviderEntry], AfterValidator(_have_names)] = Field(
        default_factory=dict
    )
    """Who provides models, each in a table of its own: `[models.providers.NAME]`."""
