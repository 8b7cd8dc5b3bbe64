"""What each of Portico's own tools is: what it says of itself, what it can change, what it does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from portico.gateway.core.calls import Answer
from portico.gateway.core.errors import UpstreamDown
from portico.gateway.core.servers import BUILTIN
from portico.kernel.effect import Effect
from portico.kernel.ids import PrincipalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal


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
    acting: Principal | None = None
    """The caller with all that they may; nobody where something is read before it is asked for."""

    @property
    def asker(self) -> Principal:
        """Raises `UpstreamDown`."""
        if self.acting is None:
            raise UpstreamDown(BUILTIN, "nobody is calling")
        return self.acting


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


Door = TypeVar("Door")


@dataclass(frozen=True, slots=True)
class AboutTheHouse(Generic[Door]):
    """One that asks another part of Portico, which is put together after the tools are."""

    find: Callable[[], Door | None]
    offered: ClassVar[Offered]

    async def lacking(self) -> str | None:
        if self.find() is None:
            return f"There is no {self.offered.name}: this Portico has nothing that it could ask."
        return None

    @property
    def door(self) -> Door:
        """Raises `UpstreamDown`."""
        found = self.find()
        if found is None:
            raise UpstreamDown(BUILTIN, "it is not put together yet")
        return found


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
