"""From a target to a conversation: what it is given, how it is reached, and greeted."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

import httpx2

from portico.adapters.egress.dialer import Dialer
from portico.adapters.mcp import resolve
from portico.adapters.mcp.conversation import Conversation, Ears, Learnt
from portico.adapters.mcp.endpoint import Endpoint, NotLoggedIn, Status
from portico.adapters.mcp.environment import scrubbed
from portico.adapters.mcp.greeting import Greeting, greet
from portico.adapters.mcp.housing import Confine, Lodging
from portico.adapters.mcp.last_words import LastWords
from portico.adapters.mcp.sse import open_sse
from portico.adapters.mcp.stdio import Starting, start
from portico.adapters.mcp.streamable import Spawn, Streamable
from portico.adapters.mcp.terms import Terms
from portico.adapters.mcp.veil import Veil
from portico.adapters.mcp.watch import Watch
from portico.adapters.mcp.wire import Broken, Message, Refusal, Wire
from portico.gateway.core.calls import Target
from portico.gateway.core.servers import Era, Http, Inside, Stdio
from portico.kernel.errors import PorticoError

_OLDER_PERHAPS = frozenset({400, 404, 405})
"""What the first kind of HTTP server says to a POST."""
_NAMED = 3
"""Of the places that it was not let reach."""


_T = TypeVar("_T")


class Died(Broken):
    """While it was being greeted."""


class Secrets(Protocol):
    """What must not be told."""

    def learn(self, *values: str) -> None: ...

    def learn_passing(self, value: str) -> None: ...

    def clean(self, text: str) -> str: ...


Tokens: TypeAlias = Callable[[Target, str | None], Awaitable[str | None]]
"""The token of the person whose conversation it is, or, given one that was refused, another; None
if they have to log in."""


@dataclass(slots=True, kw_only=True)
class Opening:
    environment: Mapping[str, str]
    """Our own."""
    secrets: Secrets
    spawn: Spawn
    confine: Confine
    terms: Terms
    info: Message
    tokens: Tokens | None = None
    keeper: resolve.Keeper = resolve.NOBODY
    watch: Watch = field(default_factory=Watch)
    dialer: Dialer = field(default_factory=Dialer)
    _tls: ssl.SSLContext | None = None
    _known: set[str] = field(default_factory=set)

    async def __call__(
        self, target: Target, learnt: Learnt, words: LastWords, ears: Ears
    ) -> Conversation:
        """Raises `Broken`, `Crowded`."""
        hint, veil = learnt.era or target.era, Veil()
        try:
            way, greeting = await self._reached(target, hint, words, veil)
        except Refusal as refusal:
            raise Broken(f"it refused to talk to us: {refusal.message[:300]}") from refusal
        learnt.era = greeting.era
        return Conversation(way, greeting.under(veil), self.info, learnt, ears, veil=veil)

    async def _reached(
        self, target: Target, hint: Era | None, words: LastWords, veil: Veil
    ) -> tuple[Wire, Greeting]:
        match target.launch:
            case Stdio() as launch:
                return await self._process(target, launch, hint, words, veil)
            case Http() as launch:
                return await self._address(target, launch, hint, veil)
            case Inside():
                raise Broken("it is a part of Portico, and nothing to be reached", reached=False)

    async def _process(
        self, target: Target, launch: Stdio, hint: Era | None, words: LastWords, veil: Veil
    ) -> tuple[Wire, Greeting]:
        command = await resolve.command(launch, self._ours(target))
        self._keep(command.secrets)
        veil.learn(command.credentials)
        environment = scrubbed(self.environment, self.terms.inherited) | dict(command.environment)

        async def started() -> tuple[Wire, Lodging | None]:
            try:
                await self.watch.begin()
            except OSError as error:
                reason = f"no process can be started: {error.strerror}"
                raise Broken(reason, reached=False) from error
            room = await self.confine.cell(target, command, environment)
            lodging = None if room is None else Lodging(room, self.spawn)
            starting = Starting(command, environment, lodging, self.watch)
            return await start(starting, words, self.terms), lodging

        way, lodging = await started()
        try:
            return way, await self._greeted(way, hint)
        except Died as error:
            if hint is Era.LEGACY:
                raise _held_back(error, target, lodging) from error
        # Some old servers end when they are greeted in the modern way. Once more, in theirs.
        way, lodging = await started()
        try:
            return way, await self._greeted(way, Era.LEGACY)
        except Died as error:
            raise _held_back(error, target, lodging) from error

    async def _address(
        self, target: Target, launch: Http, hint: Era | None, veil: Veil
    ) -> tuple[Wire, Greeting]:
        address = await resolve.address(launch, self._ours(target))
        self._keep(address.secrets)
        veil.learn(address.credentials)
        endpoint = await self._endpoint(target, address, veil)
        if launch.transport != "sse":
            way: Wire = Streamable(endpoint, self.spawn)
            try:
                return way, await self._greeted(way, hint)
            except Status as status:
                if launch.transport is not None or status.number not in _OLDER_PERHAPS:
                    raise
            endpoint = await self._endpoint(target, address, veil)
        way = await self._in_time(open_sse(endpoint, self.spawn))
        return way, await self._greeted(way, Era.LEGACY)

    async def _endpoint(self, target: Target, address: resolve.Address, veil: Veil) -> Endpoint:
        bearer = partial(self._token, target, veil) if target.personal else None
        tls, largest = await self._context(), self.terms.largest
        return Endpoint(address, tls, self.dialer, largest=largest, bearer=bearer)

    async def _token(self, target: Target, veil: Veil, refused: str | None) -> str:
        """Of the one whose conversation it is, never of who happens to call. Raises
        `NotLoggedIn`, `Broken`."""
        try:
            found = None if self.tokens is None else await self.tokens(target, refused)
        except PorticoError as error:
            raise Broken(str(error), reached=False, fix=error.fix) from error
        if found is None:
            raise NotLoggedIn
        self.secrets.learn_passing(found)
        veil.learn_passing(found)
        return found

    async def _greeted(self, way: Wire, hint: Era | None) -> Greeting:
        try:
            return await self._in_time(greet(way, self.info, hint))
        except BaseException as error:
            over = way.over
            await way.close()
            if isinstance(error, Broken) and over is not None:
                raise Died(over, reached=False) from error
            raise

    async def _in_time(self, work: Awaitable[_T]) -> _T:
        seconds = self.terms.start.total_seconds()
        try:
            async with asyncio.timeout(seconds) as timer:
                return await work
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise Broken(f"it had not greeted after {seconds:g} s", reached=False) from error

    def _ours(self, target: Target) -> resolve.Ours:
        return resolve.Ours(self.environment, str(target.space), self.keeper)

    def _keep(self, secrets: frozenset[str]) -> None:
        new = secrets - self._known
        if new:
            self._known |= new
            self.secrets.learn(*new)

    async def _context(self) -> ssl.SSLContext:
        """Dear to build, so there is one for all."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(httpx2.create_ssl_context)
        return self._tls


def _held_back(error: Died, target: Target, lodging: Lodging | None) -> Died:
    """A program that fetches itself says little of a gate that it does not know of: we do."""
    refused = () if lodging is None else lodging.refused[:_NAMED]
    if not refused:
        return error
    ways = " ".join(f"--reach {place}" for place in refused)
    return Died(
        f"{error.reason}; Portico did not let it reach {', '.join(refused)}",
        reached=error.reached,
        fix=f"Let it, if it should: portico servers profile {target.server} {ways}",
    )
