"""How a conversation begins: which era of the protocol a server speaks, and what it says it is."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import (
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from portico.adapters.mcp import wire
from portico.adapters.mcp.endpoint import Status
from portico.adapters.mcp.envelope import capabilities, routing, stamped
from portico.adapters.mcp.veil import Veil
from portico.adapters.mcp.wire import Asked, Broken, Crowded, Message, Refusal, Wire
from portico.gateway.core.calls import Wanted
from portico.gateway.core.servers import Era, Identity

_DISCOVER: Final = "server/discover"
_NOT_KNOWN: Final = frozenset({400, 404, 405, 406, 415, 422})
"""What HTTP servers answer to a request that they did not expect."""


@dataclass(frozen=True, slots=True)
class Greeting:
    era: Era
    version: str
    identity: Identity
    instructions: str | None
    offers: Message
    """Its capabilities, as it names them."""

    def under(self, veil: Veil) -> "Greeting":
        who = Identity(veil.text(self.identity.name), veil.text(self.identity.version))
        said = None if self.instructions is None else veil.text(self.instructions)
        return replace(self, identity=who, instructions=said, offers=veil(self.offers))


_Tried: TypeAlias = Greeting | Refusal | Broken | Crowded
_Way: TypeAlias = Callable[[Wire, Message], Awaitable[Greeting]]


async def greet(way: Wire, info: Message, hint: Era | None) -> Greeting:
    """The modern way first, unless we know better. Raises `Broken`, `Crowded`, `Refusal`."""
    first, second = (_shake, _discover) if hint is Era.LEGACY else (_discover, _shake)
    greeting = await _either(way, info, first, second)
    if isinstance(greeting, Exception):
        raise greeting
    way.version = greeting.version
    if greeting.era is Era.LEGACY:
        way.tell(wire.notification("notifications/initialized"))
    await way.settle()
    return greeting


async def _either(way: Wire, info: Message, first: _Way, second: _Way) -> _Tried:
    """The second if the first is refused; and beside it, if the first gets no answer at all: some
    old servers leave alone what they do not know, and some new ones take long to start."""
    async with asyncio.TaskGroup() as group:
        trying = group.create_task(_tried(first, way, info))
        await asyncio.wait({trying}, timeout=way.silence)
        if trying.done() and not _unknown(trying.result()):
            return trying.result()
        other = group.create_task(_tried(second, way, info))
        await asyncio.wait({trying, other}, return_when=asyncio.FIRST_COMPLETED)
        while not (trying.done() and other.done()):
            won = next(task for task in (trying, other) if task.done())
            if isinstance(won.result(), Greeting):
                trying.cancel()
                other.cancel()
                return won.result()
            await asyncio.wait({trying, other})
    return trying.result() if isinstance(trying.result(), Greeting) else other.result()


async def _tried(how: _Way, way: Wire, info: Message) -> _Tried:
    try:
        return await how(way, info)
    except (Refusal, Broken, Crowded) as error:
        return error


def _unknown(tried: _Tried) -> bool:
    """Whether the answer only says that this was not the right way to greet."""
    return isinstance(tried, Refusal) or (isinstance(tried, Status) and tried.number in _NOT_KNOWN)


async def _discover(way: Wire, info: Message) -> Greeting:
    version = LATEST_MODERN_VERSION
    asked = Asked(
        _DISCOVER,
        stamped({}, version, info, frozenset(Wanted)),
        headers=routing(_DISCOVER, {}, version),
        may_cancel=False,
    )
    result = await way.ask(asked)
    supported = result.get("supportedVersions")
    ours = [each for each in MODERN_PROTOCOL_VERSIONS if each in _texts(supported)]
    if not ours:
        raise Refusal(0, "it speaks no version of the modern era that we do")
    meta = result.get("_meta")
    who = meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None
    return Greeting(Era.MODERN, ours[-1], _identity(who), _instructions(result), _offers(result))


async def _shake(way: Wire, info: Message) -> Greeting:
    params: Message = {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": capabilities(frozenset(Wanted)),
        "clientInfo": info,
    }
    result = await way.ask(Asked("initialize", params, may_cancel=False))
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise Broken("it does not say which version of the protocol it speaks")
    who = result.get("serverInfo")
    return Greeting(Era.LEGACY, version, _identity(who), _instructions(result), _offers(result))


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _identity(who: object) -> Identity:
    said = who if isinstance(who, dict) else {}
    return Identity(str(said.get("name", ""))[:200], str(said.get("version", ""))[:100])


def _instructions(result: Message) -> str | None:
    said = result.get("instructions")
    return said if isinstance(said, str) else None


def _offers(result: Message) -> Message:
    offers = result.get("capabilities")
    return offers if isinstance(offers, dict) else {}
