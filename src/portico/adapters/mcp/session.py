"""A session with an upstream server: opened, initialized, asked, listed."""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import httpx2
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.jsonrpc import HEADER_MISMATCH
from mcp_types.version import (
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from portico.adapters.egress.dialer import Dialer
from portico.adapters.mcp import secrets as resolve
from portico.adapters.mcp import transport
from portico.adapters.mcp.client_requests import (
    Exchange,
    answered,
    objected,
    replied_by_anyone,
    unanswered,
)
from portico.adapters.mcp.http import Endpoint, NotLoggedIn, Spawn, Status, Streamable, open_sse
from portico.adapters.mcp.processes import StderrTail, scrubbed
from portico.adapters.mcp.secrets import CredentialRedactor
from portico.adapters.mcp.stdio import Confine, Lodging, Starting, Terms, Watch, start
from portico.adapters.mcp.transport import (
    InvalidMessage,
    Message,
    Overloaded,
    PendingRequest,
    Refusal,
    TransportFailed,
    Wire,
)
from portico.gateway.core.calls import ClientCapability, ServerListing, ToolResult, UpstreamTarget
from portico.gateway.core.errors import InputRefused
from portico.gateway.core.servers import Http, Identity, Inside, ProtocolRevision, Stdio
from portico.kernel.errors import PorticoError

# What we say of ourselves, and what each request of the modern era carries along.

_ABLE: Final[Mapping[ClientCapability, tuple[str, Message]]] = {
    ClientCapability.ELICITATION: ("elicitation", {"form": {}}),
    ClientCapability.SAMPLING: ("sampling", {}),
    ClientCapability.ROOTS: ("roots", {}),
}
"""No links to be opened: whoever follows one logs in on a connection that others share."""


def capabilities(able: AbstractSet[ClientCapability]) -> Message:
    return dict(_ABLE[wanted] for wanted in ClientCapability if wanted in able)


def client_info(version: str) -> Message:
    return {"name": "portico", "title": "Portico", "version": version}


def stamped(
    params: Message,
    version: str,
    info: Message,
    able: AbstractSet[ClientCapability],
    log_level: str | None = None,
) -> Message:
    """Every request stands alone, so every request says who asks and what they could answer."""
    meta = {
        **params.get("_meta", {}),
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: info,
        CLIENT_CAPABILITIES_META_KEY: capabilities(able),
        **({} if log_level is None else {LOG_LEVEL_META_KEY: log_level}),
    }
    return {**params, "_meta": meta}


def routing(method: str, params: Message, version: str) -> dict[str, str]:
    """The headers by which a request is led to its place."""
    headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    if isinstance(name, str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    return headers


# Who may call at the same time: all at once, except for what must be alone.
#
# An old server's question over stdio does not say which call it belongs to. So a tool that has been
# seen to ask is called alone, and then there is only one whom it can mean.


class Turns:
    def __init__(self) -> None:
        self._together = 0
        self._alone = False
        self._queue: deque[tuple[asyncio.Future[None], bool]] = deque()

    async def take(self, *, alone: bool) -> None:
        if not self._queue and self._free(alone=alone):
            self._let_in(alone=alone)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (turn, alone)
        self._queue.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(alone=alone)
            else:
                with suppress(ValueError):
                    self._queue.remove(entry)
                self._next()
            raise

    def give(self, *, alone: bool) -> None:
        if alone:
            self._alone = False
        else:
            self._together -= 1
        self._next()

    def _free(self, *, alone: bool) -> bool:
        return not self._alone and not (alone and self._together)

    def _let_in(self, *, alone: bool) -> None:
        if alone:
            self._alone = True
        else:
            self._together += 1

    def _next(self) -> None:
        """In the order in which they came, so that who must be alone is not kept out for ever."""
        while self._queue and self._free(alone=self._queue[0][1]):
            turn, alone = self._queue.popleft()
            if not turn.done():
                self._let_in(alone=alone)
                turn.set_result(None)


# All that a server offers, page by page, as it says it: one bad entry spoils no other.

ParamHeaders: TypeAlias = Mapping[tuple[str, ...], str]
"""Where an argument stands, and the header in which it is wanted as well."""

_PAGES: Final = 200
_ENTRIES: Final = 20_000


async def listed(
    ask: Callable[[str, Message], Awaitable[Message]], method: str, field: str
) -> list[Message]:
    """Raises `Refusal`, `TransportFailed`, `Overloaded`."""
    found: list[Message] = []
    seen: set[str] = set()
    params: Message = {}
    for _ in range(_PAGES):
        page = await ask(method, params)
        entries = page.get(field)
        if isinstance(entries, list):
            found += [each for each in entries if isinstance(each, dict)]
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            return found
        if len(found) > _ENTRIES:
            break
        seen.add(cursor)
        params = {"cursor": cursor}
    raise TransportFailed(f"its list of {field} does not end")


def wanted_headers(tools: Iterable[Message]) -> dict[str, ParamHeaders]:
    """By tool; those that want them wrongly are not given any."""
    found: dict[str, ParamHeaders] = {}
    for tool in tools:
        name, schema = tool.get("name"), tool.get("inputSchema")
        if isinstance(name, str) and find_invalid_x_mcp_header(schema) is None:
            headers = x_mcp_header_map(schema)
            if headers:
                found[name] = headers
    return found


_DISCOVER: Final = "server/discover"
_NOT_KNOWN: Final = frozenset({400, 404, 405, 406, 415, 422})
"""What HTTP servers answer to a request that they did not expect."""


@dataclass(frozen=True, slots=True)
class Greeting:
    protocol_revision: ProtocolRevision
    version: str
    identity: Identity
    instructions: str | None
    offers: Message
    """Its capabilities, as it names them."""

    def under(self, veil: CredentialRedactor) -> "Greeting":
        who = Identity(veil.text(self.identity.name), veil.text(self.identity.version))
        said = None if self.instructions is None else veil.text(self.instructions)
        return replace(self, identity=who, instructions=said, offers=veil(self.offers))


_Tried: TypeAlias = Greeting | Refusal | TransportFailed | Overloaded
_Way: TypeAlias = Callable[[Wire, Message], Awaitable[Greeting]]


async def greet(way: Wire, info: Message, hint: ProtocolRevision | None) -> Greeting:
    """The modern way first, unless we know better. Raises `TransportFailed`, `Overloaded`,
    `Refusal`."""
    first, second = (_shake, _discover) if hint is ProtocolRevision.LEGACY else (_discover, _shake)
    greeting = await _either(way, info, first, second)
    if isinstance(greeting, Exception):
        raise greeting
    way.version = greeting.version
    if greeting.protocol_revision is ProtocolRevision.LEGACY:
        way.tell(transport.notification("notifications/initialized"))
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
    except (Refusal, TransportFailed, Overloaded) as error:
        return error


def _unknown(tried: _Tried) -> bool:
    """Whether the answer only says that this was not the right way to greet."""
    return isinstance(tried, Refusal) or (isinstance(tried, Status) and tried.number in _NOT_KNOWN)


async def _discover(way: Wire, info: Message) -> Greeting:
    version = LATEST_MODERN_VERSION
    asked = PendingRequest(
        _DISCOVER,
        stamped({}, version, info, frozenset(ClientCapability)),
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
    return Greeting(
        ProtocolRevision.MODERN, ours[-1], _identity(who), _instructions(result), _offers(result)
    )


async def _shake(way: Wire, info: Message) -> Greeting:
    params: Message = {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": capabilities(frozenset(ClientCapability)),
        "clientInfo": info,
    }
    result = await way.ask(PendingRequest("initialize", params, may_cancel=False))
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise TransportFailed("it does not say which version of the protocol it speaks")
    who = result.get("serverInfo")
    return Greeting(
        ProtocolRevision.LEGACY, version, _identity(who), _instructions(result), _offers(result)
    )


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
class ServerMemo:
    """What is known of a server from one conversation to the next."""

    protocol_revision: ProtocolRevision | None = None
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
        learnt: ServerMemo,
        ears: Ears,
        *,
        veil: CredentialRedactor,
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
        self._modern = greeting.protocol_revision is ProtocolRevision.MODERN
        self._headed = self._modern and way.process is None
        self._turns = Turns()
        self._ongoing: dict[Exchange, PendingRequest] = {}
        way.stray = self.stray

    async def call(self, exchange: Exchange, arguments: Mapping[str, Any]) -> ToolResult:
        """Raises `TransportFailed`, `Overloaded`, `InputUnsupported`, `InputRefused`."""
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
        raise InvalidMessage("it answers with ever more questions")

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
        """For ourselves, not for a caller. Raises `Refusal`, `TransportFailed`, `Overloaded`."""
        nobody = Exchange(subject=method, name="")
        result = await self.way.ask(self._asked(nobody, method, params))
        return self._veil(result, but="nextCursor")

    async def tools(self) -> list[Message]:
        """Raises `Refusal`, `TransportFailed`, `Overloaded`."""
        tools = await listed(self.plain, "tools/list", "tools")
        if self._headed:
            self._learnt.param_headers = wanted_headers(tools)
        return tools

    def _asked(self, exchange: Exchange, method: str, params: Message) -> PendingRequest:
        exchange.other = self.stray
        exchange.veil = self._veil
        asked = PendingRequest(
            method, params, exchange.receive, progress=exchange.channel is not None
        )
        if self._modern:
            self._stamp(asked, exchange)
        return asked

    def _stamp(self, asked: PendingRequest, exchange: Exchange) -> None:
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
        elif method == transport.LOG:
            params = transport.params_of(message)
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


_METHOD_NOT_FOUND: Final = -32601
_LISTEN: Final = "subscriptions/listen"
_FIRST_PAUSE: Final = 5.0
_LOOKING_LONGEST_PAUSE: Final = 300.0
_KINDS: Final = ("tools", "resources", "prompts")


async def look(conversation: Conversation) -> ServerListing:
    """Raises `TransportFailed`, `Overloaded`."""
    greeting = conversation.greeting
    offers = greeting.offers
    try:
        tools = await conversation.tools()
    except Refusal as refusal:
        if refusal.code != _METHOD_NOT_FOUND:
            raise TransportFailed(
                f"asked for its tools, it said: {refusal.message[:300]}"
            ) from refusal
        tools = []
    seen = ServerListing(
        identity=greeting.identity,
        protocol_revision=greeting.protocol_revision,
        instructions=greeting.instructions,
        tools=tools,
        resources=await _offered(conversation, "resources/list", "resources", offers),
        resource_templates=await _offered(
            conversation, "resources/templates/list", "resourceTemplates", offers
        ),
        prompts=await _offered(conversation, "prompts/list", "prompts", offers),
    )
    conversation.listed = True
    return seen


async def _offered(
    conversation: Conversation, method: str, field: str, offers: Message
) -> list[Message]:
    """Nothing if it does not say that it has any; what it then refuses to list is not there."""
    if method.partition("/")[0] not in offers:
        return []
    try:
        return await listed(conversation.plain, method, field)
    except Refusal:
        return []


async def hear_of_changes(conversation: Conversation) -> None:
    """A modern server tells of changes only to whoever has asked for it, until it is over. One of
    the older era tells everybody by itself."""
    wanted = _tellable(conversation.greeting.offers)
    pause = _FIRST_PAUSE
    if conversation.greeting.protocol_revision is not ProtocolRevision.MODERN or not wanted:
        return
    while conversation.way.over is None:
        try:
            await conversation.plain(_LISTEN, {"notifications": wanted})
            pause = _FIRST_PAUSE
        except Refusal:
            return
        except (TransportFailed, Overloaded):
            pause = min(2 * pause, _LOOKING_LONGEST_PAUSE)
        await asyncio.sleep(pause)


def _tellable(offers: Message) -> Message:
    return {
        f"{kind}ListChanged": True
        for kind in _KINDS
        if isinstance(offers.get(kind), dict) and offers[kind].get("listChanged") is True
    }


_OLDER_PERHAPS = frozenset({400, 404, 405})
"""What the first kind of HTTP server says to a POST."""
_NAMED = 3
"""Of the places that it was not let reach."""


_T = TypeVar("_T")


class Died(TransportFailed):
    """While it was being greeted."""


class Secrets(Protocol):
    """What must not be told."""

    def learn(self, *values: str) -> None: ...

    def learn_passing(self, value: str) -> None: ...

    def clean(self, text: str) -> str: ...


Tokens: TypeAlias = Callable[[UpstreamTarget, str | None], Awaitable[str | None]]
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
    keeper: resolve.SecretResolver = resolve.NOBODY
    watch: Watch = field(default_factory=Watch)
    dialer: Dialer = field(default_factory=Dialer)
    _tls: ssl.SSLContext | None = None
    _known: set[str] = field(default_factory=set)

    async def __call__(
        self, target: UpstreamTarget, learnt: ServerMemo, words: StderrTail, ears: Ears
    ) -> Conversation:
        """Raises `TransportFailed`, `Overloaded`."""
        hint, veil = learnt.protocol_revision or target.protocol_revision, CredentialRedactor()
        try:
            way, greeting = await self._reached(target, hint, words, veil)
        except Refusal as refusal:
            raise TransportFailed(f"it refused to talk to us: {refusal.message[:300]}") from refusal
        learnt.protocol_revision = greeting.protocol_revision
        return Conversation(way, greeting.under(veil), self.info, learnt, ears, veil=veil)

    async def _reached(
        self,
        target: UpstreamTarget,
        hint: ProtocolRevision | None,
        words: StderrTail,
        veil: CredentialRedactor,
    ) -> tuple[Wire, Greeting]:
        match target.launch:
            case Stdio() as launch:
                return await self._process(target, launch, hint, words, veil)
            case Http() as launch:
                return await self._address(target, launch, hint, veil)
            case Inside():
                raise TransportFailed(
                    "it is a part of Portico, and nothing to be reached", reached=False
                )

    async def _process(
        self,
        target: UpstreamTarget,
        launch: Stdio,
        hint: ProtocolRevision | None,
        words: StderrTail,
        veil: CredentialRedactor,
    ) -> tuple[Wire, Greeting]:
        command = await resolve.command(launch, self._ours(target))
        self._keep(command.secrets)
        veil.learn(command.credentials)
        environment = scrubbed(self.environment, self.terms.inherited) | dict(command.environment)

        async def started() -> tuple[Wire, Lodging | None]:
            try:
                await self.watch.start()
            except OSError as error:
                reason = f"no process can be started: {error.strerror}"
                raise TransportFailed(reason, reached=False) from error
            room = await self.confine.cell(target, command, environment)
            lodging = None if room is None else Lodging(room, self.spawn)
            starting = Starting(command, environment, lodging, self.watch)
            return await start(starting, words, self.terms), lodging

        way, lodging = await started()
        try:
            return way, await self._greeted(way, hint)
        except Died as error:
            if hint is ProtocolRevision.LEGACY:
                raise _held_back(error, target, lodging) from error
        # Some old servers end when they are greeted in the modern way. Once more, in theirs.
        way, lodging = await started()
        try:
            return way, await self._greeted(way, ProtocolRevision.LEGACY)
        except Died as error:
            raise _held_back(error, target, lodging) from error

    async def _address(
        self,
        target: UpstreamTarget,
        launch: Http,
        hint: ProtocolRevision | None,
        veil: CredentialRedactor,
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
        return way, await self._greeted(way, ProtocolRevision.LEGACY)

    async def _endpoint(
        self, target: UpstreamTarget, address: resolve.Address, veil: CredentialRedactor
    ) -> Endpoint:
        bearer = partial(self._token, target, veil) if target.personal else None
        tls, largest = await self._context(), self.terms.largest
        return Endpoint(address, tls, self.dialer, largest=largest, bearer=bearer)

    async def _token(
        self, target: UpstreamTarget, veil: CredentialRedactor, refused: str | None
    ) -> str:
        """Of the one whose conversation it is, never of who happens to call. Raises
        `NotLoggedIn`, `TransportFailed`."""
        try:
            found = None if self.tokens is None else await self.tokens(target, refused)
        except PorticoError as error:
            raise TransportFailed(str(error), reached=False, fix=error.fix) from error
        if found is None:
            raise NotLoggedIn
        self.secrets.learn_passing(found)
        veil.learn_passing(found)
        return found

    async def _greeted(self, way: Wire, hint: ProtocolRevision | None) -> Greeting:
        try:
            return await self._in_time(greet(way, self.info, hint))
        except BaseException as error:
            over = way.over
            await way.close()
            if isinstance(error, TransportFailed) and over is not None:
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
            raise TransportFailed(
                f"it had not greeted after {seconds:g} s", reached=False
            ) from error

    def _ours(self, target: UpstreamTarget) -> resolve.Ours:
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


def _held_back(error: Died, target: UpstreamTarget, lodging: Lodging | None) -> Died:
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
