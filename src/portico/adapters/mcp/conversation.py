"""A server that we are talking to: what it is, and everything that can be asked of it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcp.shared.inbound import mcp_param_headers
from mcp_types.jsonrpc import HEADER_MISMATCH

from portico.adapters.mcp import wire
from portico.adapters.mcp.answers import answered, objected
from portico.adapters.mcp.envelope import routing, stamped
from portico.adapters.mcp.exchange import Exchange, replied_by_anyone, unanswered
from portico.adapters.mcp.greeting import Greeting
from portico.adapters.mcp.listing import ParamHeaders, listed, wanted_headers
from portico.adapters.mcp.turns import Turns
from portico.adapters.mcp.veil import Veil
from portico.adapters.mcp.wire import Asked, Message, Refusal, Spoilt, Wire
from portico.gateway.core.calls import Answer
from portico.gateway.core.errors import InputRefused
from portico.gateway.core.servers import Era

_ROUNDS: Final = 10
"""So often a call may be answered with another question."""
_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.25
_WHOSE: Final = (
    "its server did not say which of several calls it meant; the next time there is only one"
)
_CHANGED: Final = frozenset(
    f"notifications/{what}/list_changed" for what in ("tools", "resources", "prompts")
)


@dataclass(slots=True)
class Learnt:
    """What is known of a server from one conversation to the next."""

    era: Era | None = None
    askers: set[str] = field(default_factory=set)
    """Names of what may have asked their caller something, in a way that does not say whom."""
    param_headers: dict[str, ParamHeaders] = field(default_factory=dict)
    """Which arguments of a tool are wanted in headers as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ears:
    """Who is told what a server says by itself."""

    changed: Callable[[], None]
    said: Callable[[str], None]


class Conversation:
    def __init__(
        self,
        way: Wire,
        greeting: Greeting,
        info: Message,
        learnt: Learnt,
        ears: Ears,
        *,
        veil: Veil,
    ) -> None:
        self.way = way
        self.greeting = greeting
        self.users = 0
        self.spent = False
        """Whether it is to end once it has no more users."""
        self.listed = False
        """Whether what it offers was looked at, or somebody told to."""
        self.ending: asyncio.Task[None] | None = None
        self.hearing: asyncio.Task[None] | None = None
        """Of changes, if it has to be asked for them."""
        self._info = info
        self._learnt = learnt
        self._ears = ears
        self._veil = veil
        self._modern = greeting.era is Era.MODERN
        self._headed = self._modern and way.process is None
        self._turns = Turns()
        self._ongoing: dict[Exchange, Asked] = {}
        way.stray = self.stray

    async def call(self, exchange: Exchange, arguments: Mapping[str, Any]) -> Answer:
        """Raises `Broken`, `Crowded`, `InputUnsupported`, `InputRefused`."""
        params = {"name": exchange.name, "arguments": arguments}
        try:
            try:
                result = await self.request(exchange, "tools/call", params)
            except Refusal as refusal:
                if refusal.code != HEADER_MISMATCH or not self._headed:
                    raise
                await self.tools()  # whose headers we do not know, or not any more
                result = await self.request(exchange, "tools/call", params)
        except Refusal as refusal:
            return objected(exchange, refusal)
        return answered(exchange, result)

    async def request(self, exchange: Exchange, method: str, params: Message) -> Message:
        """Under the veil. Raises `Refusal`, and as a call does."""
        try:
            return self._veil(await self._requested(exchange, method, params))
        except Refusal as refusal:
            raise self._veil.refusal(refusal) from refusal

    async def _requested(self, exchange: Exchange, method: str, params: Message) -> Message:
        if self._modern:
            return await self._rounds(exchange, method, params)
        alone = exchange.name in self._learnt.askers
        await self._turns.take(alone=alone)
        try:
            return await self._once(exchange, method, params)
        finally:
            self._turns.give(alone=alone)

    async def _rounds(self, exchange: Exchange, method: str, params: Message) -> Message:
        brought: Message = {}
        pause = _PAUSE
        for _ in range(_ROUNDS):
            result = await self._once(exchange, method, {**params, **brought})
            if result.get("resultType") != "input_required":
                return result
            brought = {key: result[key] for key in ("requestState",) if key in result}
            requests = result.get("inputRequests")
            if isinstance(requests, dict) and requests:
                answers = await exchange.answers(requests)
                if answers is None and exchange.refused is not None:
                    raise exchange.refused
                brought["inputResponses"] = answers
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        raise Spoilt("it answers with ever more questions")

    async def _once(self, exchange: Exchange, method: str, params: Message) -> Message:
        asked = self._asked(exchange, method, params)
        if not exchange.sent:
            exchange.sent = True
            exchange.words = self.way.words
        if self._modern:
            return await self.way.ask(asked)
        self._ongoing[exchange] = asked
        try:
            return await self.way.ask(asked)
        finally:
            del self._ongoing[exchange]

    async def plain(self, method: str, params: Message) -> Message:
        """For ourselves, not for a caller. Raises `Refusal`, `Broken`, `Crowded`."""
        nobody = Exchange(subject=method, name="")
        result = await self.way.ask(self._asked(nobody, method, params))
        return self._veil(result, but="nextCursor")

    async def tools(self) -> list[Message]:
        """Raises `Refusal`, `Broken`, `Crowded`."""
        tools = await listed(self.plain, "tools/list", "tools")
        if self._headed:
            self._learnt.param_headers = wanted_headers(tools)
        return tools

    def _asked(self, exchange: Exchange, method: str, params: Message) -> Asked:
        exchange.other = self.stray
        exchange.veil = self._veil
        asked = Asked(method, params, exchange.hear, progress=exchange.line is not None)
        if self._modern:
            self._stamp(asked, exchange)
        return asked

    def _stamp(self, asked: Asked, exchange: Exchange) -> None:
        version = self.greeting.version
        if self._headed:
            headers = routing(asked.method, asked.params, version)
            wanted = self._learnt.param_headers.get(exchange.name)
            if wanted and asked.method == "tools/call":
                headers |= mcp_param_headers(wanted, asked.params["arguments"])
            asked.headers = headers
        asked.params = stamped(asked.params, version, self._info, exchange.able, exchange.log_level)

    def stray(self, message: Message) -> None:
        """Said to nobody in particular."""
        method = message.get("method")
        if not isinstance(method, str):
            return
        if "id" in message:
            self._questioned(message)
        elif method in _CHANGED:
            self._ears.changed()
        elif method == wire.LOG:
            params = wire.params_of(message)
            self._ears.said(f"{params.get('level', 'info')}: {params.get('data')}")
            if self._owner is not None:
                self.way.deliver(self._ongoing[self._owner], message)

    def _questioned(self, question: Message) -> None:
        known = replied_by_anyone(question)
        owner = self._owner
        if known is not None:
            self.way.tell(known)
            return
        self._learnt.askers.update(exchange.name for exchange in self._ongoing)
        if owner is not None:
            self.way.deliver(self._ongoing[owner], question)
            return
        # It may mean any of several callers, or one who has gone: nobody is asked what another
        # should be. What could have asked is called alone from now on.
        for exchange in self._ongoing:
            exchange.refused = InputRefused(question["method"], _WHOSE)
        self.spent = self.spent or self.way.abandoned
        self.way.tell(unanswered(question))

    @property
    def _owner(self) -> Exchange | None:
        """The only one whom a stray can mean, if there is only one."""
        if len(self._ongoing) != 1 or self.way.abandoned:
            return None
        return next(iter(self._ongoing))
