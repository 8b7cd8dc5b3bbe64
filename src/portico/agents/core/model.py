"""Models as agents know them: where they are, what they can do, what they cost."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Self

from portico.agents.core.errors import BadModelRef
from portico.kernel.label import Label

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelRef:
    """`ollama:llama3.2:3b`: the provider as it is called here, and the model as that calls it."""

    provider: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `BadModelRef`."""
        provider, _, name = text.partition(":")
        if not provider or not name:
            raise BadModelRef(text)
        return cls(provider, name)

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


class Support(StrEnum):
    """Whether a model can do something. What nobody says is not taken for a yes or a no."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ToldBy(StrEnum):
    """Where what is known of a model comes from."""

    SERVER = "server"
    SETTINGS = "settings"
    LIST = "list"
    """A list that is shipped with a library: right when it was made."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """In US dollars, of a million tokens."""

    input: Decimal
    output: Decimal

    def of(self, *, input_tokens: int, output_tokens: int) -> Decimal:
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


FREE: Final = Price(input=Decimal(0), output=Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    ref: ModelRef
    window: int | None = None
    """Tokens of prompt and answer together, as it is served: not what it could have elsewhere."""
    most_output: int | None = None
    tools: Support = Support.UNKNOWN
    vision: Support = Support.UNKNOWN
    structured: Support = Support.UNKNOWN
    """Whether its answer can be held to a JSON schema."""
    price: Price | None = None
    """None if nobody knows; what runs on this machine is free."""
    local: bool = False
    """On this machine."""
    clearance: Label
    """How secret what is sent to it may be."""
    told_by: ToldBy = ToldBy.NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """How it was when it was last asked."""

    name: str
    kind: str
    url: str
    local: bool
    clearance: Label
    reachable: bool
    why: str | None = None
    """What is wrong, and what to do about it, where something is."""
    models: int = 0
    took: timedelta | None = None
    asked_at: datetime
