"""What each of Portico's own tools is: what it says of itself, what it can change, what it does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from portico.gateway.core.call import Answer
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Offered:
    definition: JsonObject
    """In the protocol's own form."""
    effect: Effect
    """What the list that comes with Portico proposes for it."""

    @property
    def name(self) -> str:
        return str(self.definition["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """On whose behalf a tool is called, and for how long at most."""

    space: SpaceId
    caller: PrincipalId
    seconds: float


class BuiltinTool(Protocol):
    offered: ClassVar[Offered]

    async def lacking(self) -> str | None:
        """Why it cannot be offered on this machine, if it cannot."""
        ...

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        """`arguments` are as its schema asks for. Any `PorticoError` is its own failure."""
        ...


class Everywhere:
    """One that needs nothing of the machine."""

    async def lacking(self) -> str | None:
        return None


def schema(properties: Mapping[str, JsonValue], *, required: Sequence[str] = ()) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def hints(
    *, reads: bool = False, destroys: bool = False, again: bool = False, outside: bool = False
) -> JsonObject:
    """`again`: to do it twice is to do it once."""
    return {
        "readOnlyHint": reads,
        "destructiveHint": destroys,
        "idempotentHint": again,
        "openWorldHint": outside,
    }
