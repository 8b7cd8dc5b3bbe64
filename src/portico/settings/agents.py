"""Settings of agents, models, the bridge and debates."""

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
from portico.kernel.label import InvalidLabel, Label
from portico.settings.gateway import Seconds

# What the user decides about agents: how they run, and how long it is remembered.

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class AgentsSettings(BaseModel):
    """Runs of agents: what is kept of them, and for how long one waits."""

    model_config = _MODEL

    keep_days: Annotated[int, Strict(), Field(ge=1, le=36_500)] = 90
    """Days that the trace of a run is kept for: all that was said and done in it."""
    early_start: Annotated[bool, Strict()] = True
    """Whether a tool that only reads is called while the model is still speaking, as soon as all
    that it is to be called with has been said."""
    chat_patience_seconds: Annotated[int, Strict(), Field(ge=1, le=3_600)] = 120
    """Seconds that a chat over /v1 goes on while people are asked for their approval; then it ends
    and says how to go on."""


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
        except InvalidLabel as error:
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


# What the user decides about the bridge: how long what is said there is remembered.


class BridgeSettings(BaseModel):
    """Conversations of agents and people."""

    model_config = _MODEL

    keep_messages_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 0
    """Days that messages and their attachments are kept for; 0 is for ever."""

    keep_memory_history_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 365
    """Days that earlier versions of what projects remember are kept for, and what was forgotten or
    has expired; 0 is for ever. What is remembered stays."""


# What the user decides about debates: who is asked, what they may cost, what is written down.


class DebateSettings(BaseModel):
    """Questions that several voices are asked."""

    model_config = _MODEL

    voices: tuple[str, ...] = ()
    """Who is asked unless somebody else is named: `openai:gpt-5,agent:reviewer,program:claude`.
    Not set: the models that are found."""
    programs: Mapping[str, str] = Field(default_factory=dict)
    """Programs that can be asked, by the name that they are asked as: `claude = "claude"`. What
    speaks as one of the known ones, `claude`, `codex` or `gemini`, takes that name."""
    cap_tokens: Annotated[int, Strict(), Field(ge=1, le=1_000_000_000)] = 100_000
    """Tokens that one debate may spend, unless it is started with another cap in tokens."""
    cap_dollars: Annotated[float, Strict(), Field(ge=0, le=1_000_000, allow_inf_nan=False)] = 1.0
    """US dollars that one debate may spend, unless it is started with another cap in dollars; a cap
    in tokens changes nothing about it."""
    deadline_seconds: Annotated[int, Strict(), Field(ge=1, le=604_800)] = 300
    """Seconds after which a debate is decided with the answers in hand, unless it is started with
    another deadline."""
    thoroughness: Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)] = 0.5
    """How thorough a debate is unless it says so itself: 0 is quick and asks up to three voices, 1
    asks up to nine until it is nearly certain."""
    logs: Annotated[bool, Strict()] = True
    """Write a file about each debate that has ended, in the state folder, for whoever runs this
    server: it holds all that was said."""
    logs_most: Annotated[int, Strict(), Field(ge=0, le=1_000_000)] = 500
    """Files of debates that are kept, the newest; 0 is all."""
    logs_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 90
    """Days that a file of a debate is kept for; 0 is for ever."""
    logs_bytes: Annotated[int, Strict(), Field(ge=0)] = 100_000_000
    """Bytes that all files of debates may take together, the oldest go first; 0 is any number."""
    keep_days: Annotated[int, Strict(), Field(ge=0, le=36_500)] = 0
    """Days that a debate that is over is kept for; 0 is for ever. What voices have learnt from it
    goes with it."""

    @field_validator("voices")
    @classmethod
    def _are_named_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({each for each in value if value.count(each) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is named twice")
        return value
