"""A tool as the gateway knows it: where it lives, what it wants, what it can break."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from portico.gateway.core.errors import BadToolRef
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.tokens import Tokens


@dataclass(frozen=True, slots=True, order=True)
class ToolRef:
    """`server.tool`, the name of a tool everywhere in the house. A server's name has no dot."""

    server: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        server, _, name = text.partition(".")
        if not server or not name:
            raise BadToolRef(text)
        return cls(server, name)

    def __str__(self) -> str:
        return f"{self.server}.{self.name}"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a server says of a tool: `raw` is all of it as it came, and what the pin is over."""

    name: str
    title: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    annotations: JsonObject
    raw: JsonObject


class Standing(StrEnum):
    """May this be found and called, and if not, why not."""

    LIVE = "live"
    PENDING = "pending"
    """Its server has not been approved yet."""
    NEW = "new"
    """It came after its server was approved."""
    CHANGED = "changed"
    """Its definition is not the one that was approved."""
    REFUSED = "refused"
    """Its definition cannot be used: a name with hidden letters, a schema that is none."""
    GONE = "gone"
    """Its server does not have it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    ref: ToolRef
    definition: Definition
    """As last seen."""
    pin: str
    tokens: Tokens
    """Of its definition as a client without a gateway would be given it."""
    effect: Effect = Effect.UNKNOWN
    """What an operator accepted, for exactly the accepted definition."""
    accepted: Definition | None = None
    accepted_pin: str | None = None
    refused: str | None = None
    gone: bool = False

    @property
    def agreed(self) -> bool:
        """Seen now as it was when somebody approved it."""
        return self.accepted_pin == self.pin and not self.gone and self.refused is None
