"""One request for one caller: what the server asks of that caller meanwhile, and its answer."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from mcp_types import SERVER_INFO_META_KEY
from mcp_types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED

from portico.adapters.mcp import transport
from portico.adapters.mcp.transport import InvalidMessage, Message, Refusal
from portico.gateway.core.calls import ClientCapability, Question, ToolResult
from portico.gateway.core.errors import InputUnsupported, UpstreamRefused
from portico.gateway.ports import ClientChannel
from portico.kernel.errors import PorticoError

# One request on behalf of one caller, and what the server wants to know of that caller meanwhile.
#
# Both eras meet here. Of old a server sends a request of its own and waits for the reply; now it
# answers with what it wants to know, and is asked again. To the caller both are `line.ask`.

_REJECTED: Final = -1
"""What the protocol says for a model that was not asked."""
_METHOD_NOT_FOUND: Final = -32601
_CANCEL: Final[Message] = {"action": "cancel"}
_NOBODY: Final[AbstractSet[ClientCapability]] = frozenset()
WORDS: Final[Mapping[ClientCapability, str]] = {
    ClientCapability.ELICITATION: "an answer of its user",
    ClientCapability.SAMPLING: "an answer of its model",
    ClientCapability.ROOTS: "its folders",
}


def _unheard(_message: Message) -> None:
    pass


def _as_it_is(message: Message) -> Message:
    return message


@dataclass(slots=True, eq=False, kw_only=True)
class Exchange:
    subject: str
    """What is called, for people."""
    name: str
    """Of the tool, the prompt or the resource."""
    channel: ClientChannel | None = None
    timer: asyncio.Timeout | None = None
    other: Callable[[Message], None] = _unheard
    """Told what is said on the way, but not to this caller."""
    veil: Callable[[Message], Message] = _as_it_is
    """Over what is said to this caller on the way."""
    sent: bool = False
    """Whether it is on its way, and does not wait for its turn any more."""
    words: int | None = None
    """How much the server had said when it was sent."""
    refused: PorticoError | None = None
    """Why something was not answered that the server wanted to know."""
    _asking: int = 0
    _left: float = 0.0

    @property
    def able(self) -> AbstractSet[ClientCapability]:
        return _NOBODY if self.channel is None else self.channel.able

    @property
    def log_level(self) -> str | None:
        return None if self.channel is None else self.channel.log_level

    async def receive(self, message: Message) -> Message | None:
        message = self.veil(message)
        if "id" in message:
            return await self._replied(message)
        params = transport.params_of(message)
        match message["method"]:
            case transport.PROGRESS if self.channel is not None:
                await self._progress(self.channel, params)
            case transport.LOG if self.channel is not None:
                await self.channel.log(params)
            case transport.PROGRESS | transport.LOG:
                pass
            case _:
                self.other(message)
        return None

    async def _progress(self, line: ClientChannel, params: Message) -> None:
        done, said = _number(params.get("progress")), params.get("message")
        if done is not None:
            told = said if isinstance(said, str) else None
            await line.progress(done, _number(params.get("total")), told)

    async def _replied(self, message: Message) -> Message:
        """To a request of the server's own, which only servers of the older era send."""
        known = replied_by_anyone(message)
        if known is not None:
            return known
        try:
            answer = await self.ask(
                Question(ClientCapability(message["method"]), transport.params_of(message))
            )
        except PorticoError as error:
            self.refused = error
            return unanswered(message)
        return transport.reply(message, dict(answer))

    async def answers(self, requests: Mapping[str, object]) -> Message | None:
        """What the modern era wants to know, by the names under which it asks; several questions
        are put at once. None if one of them cannot even be declined."""
        requests = self.veil(dict(requests))
        if len(requests) == 1:
            answers = {key: await self._answer(key, each) for key, each in requests.items()}
        else:
            async with asyncio.TaskGroup() as group:
                asking = {
                    key: group.create_task(self._answer(key, each))
                    for key, each in requests.items()
                }
            answers = {key: task.result() for key, task in asking.items()}
        return None if None in answers.values() else answers

    async def _answer(self, key: str, wish: object) -> Message | None:
        request: Message = wish if isinstance(wish, dict) else {}
        method = request.get("method")
        try:
            wanted = ClientCapability(str(method))
            return await self.ask(Question(wanted, transport.params_of(request), key))
        except ValueError:
            self.refused = InputUnsupported(self.subject, str(method)[:80])
            return None
        except PorticoError as error:
            if method == ClientCapability.ROOTS:
                return {"roots": []}
            self.refused = error
            return _CANCEL if method == ClientCapability.ELICITATION else None

    async def ask(self, question: Question) -> Message:
        """Raises `InputUnsupported`, `InputRefused`."""
        if self.channel is None:
            raise InputUnsupported(self.subject, WORDS[question.wanted])
        if question.params.get("mode") == "url":
            # Whoever follows the link logs in on a connection that others share.
            raise InputUnsupported(self.subject, "a visit to an address")
        with self._clock_stopped():
            return dict(await self.channel.ask(question))

    @contextmanager
    def _clock_stopped(self) -> Iterator[None]:
        """The time that a person takes to answer is not the tool's."""
        loop = asyncio.get_running_loop()
        if not self._asking and self.timer is not None:
            due = self.timer.when()
            self._left = 0.0 if due is None else due - loop.time()
            with suppress(RuntimeError):  # it may be over already
                self.timer.reschedule(None)
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking and self.timer is not None:
                with suppress(RuntimeError):  # it may be over for other reasons
                    self.timer.reschedule(loop.time() + self._left)


def replied_by_anyone(request: Message) -> Message | None:
    """Where it matters to nobody who is calling; None for a question to a caller."""
    match request["method"]:
        case ClientCapability.ELICITATION | ClientCapability.SAMPLING:
            return None
        case ClientCapability.ROOTS:
            # What it learns of one caller's folders it would keep, and use for all.
            return transport.reply(request, {"roots": []})
        case "ping":
            return transport.reply(request, {})
        case _:
            return transport.objection(request, _METHOD_NOT_FOUND, "Method not found")


def unanswered(question: Message) -> Message:
    """The reply of someone who does not answer."""
    if question["method"] == ClientCapability.ELICITATION:
        return transport.reply(question, _CANCEL)
    return transport.objection(question, _REJECTED, "Nobody here can answer this")


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


_WANTED: Final = {
    "elicitation": ClientCapability.ELICITATION,
    "sampling": ClientCapability.SAMPLING,
    "roots": ClientCapability.ROOTS,
}


def answered(exchange: Exchange, result: Message) -> ToolResult:
    """Raises `InputUnsupported` or `InputRefused` if the tool failed, and that may be why; a tool
    that went on without an answer has done what it has done."""
    if result.get("resultType", "complete") != "complete":
        raise InvalidMessage("it answered with a kind of result that we did not say we know")
    failed = result.get("isError") is True
    if failed and exchange.refused is not None:
        raise exchange.refused
    content = result.get("content")
    return ToolResult(
        content=_blocks(content) if isinstance(content, list) else [],
        structured=result.get("structuredContent"),
        failed=failed,
        meta=_meta(result.get("_meta")),
    )


def objected(exchange: Exchange, refusal: Refusal) -> ToolResult:
    """An error of the protocol is how some servers say that a tool has failed. Raises
    `InputUnsupported`, `InputRefused`."""
    wanting = _wanting(exchange, refusal)
    if wanting is not None:
        raise wanting
    text = refusal.message or f"Error {refusal.code}"
    return ToolResult(content=[{"type": "text", "text": text}], failed=True)


def refused(server: str, exchange: Exchange, refusal: Refusal) -> PorticoError:
    """The same for what is no tool, and so has no answer that says it failed."""
    wanting = _wanting(exchange, refusal)
    return wanting or UpstreamRefused(server, refusal.code, refusal.message)


def passed_on(result: Message) -> Message:
    """As it came, but for what only concerns us."""
    kept = {key: value for key, value in result.items() if key not in {"resultType", "_meta"}}
    meta = _meta(result.get("_meta"))
    return kept if meta is None else {**kept, "_meta": meta}


def _wanting(exchange: Exchange, refusal: Refusal) -> PorticoError | None:
    """If something was asked for, and not given."""
    if exchange.refused is not None:
        return exchange.refused
    if refusal.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        return InputUnsupported(exchange.subject, _required(refusal.data))
    if refusal.code == URL_ELICITATION_REQUIRED:
        return InputUnsupported(exchange.subject, "a visit to an address")
    return None


def _blocks(content: list[object]) -> list[Message]:
    return [block for block in content if isinstance(block, dict)]


def _meta(meta: object) -> Message | None:
    """Without the name of who answers: to the caller, that is us."""
    if not isinstance(meta, dict):
        return None
    return {key: value for key, value in meta.items() if key != SERVER_INFO_META_KEY} or None


def _required(data: object) -> str:
    wanted = data.get("requiredCapabilities") if isinstance(data, dict) else None
    names = wanted if isinstance(wanted, dict | list) else ()
    named = [WORDS[wish] for name, wish in _WANTED.items() if name in names]
    return " and ".join(named) or "something"
